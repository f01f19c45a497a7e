// The list of moves: each leads to the position after it.

import { element, keyed } from "./dom.js";
import { redraw } from "./focus.js";
import { signed } from "./marks.js";

const list = document.getElementById("moves");

export function showMoves(game, at, onGo) {
  const first = game.position.ply - game.moves.length;
  redraw(list, ...game.moves.map((move, index) => {
    const number = index + 1;
    const button = keyed(element("button", { className: `move p${move.player}` }, [
      element("i", { textContent: `${first + number}.` }), element("span", { textContent: move.name })]), `move${number}`);
    if (move.regret !== null) button.append(regret(move));
    if (move.comment) {
      button.append(element("em", { textContent: "…", title: move.comment }));
      button.setAttribute("aria-description", move.comment);
    }
    if (number === at) button.setAttribute("aria-current", "step");
    button.addEventListener("click", () => onGo(number));
    return element("li", {}, [button]);
  }));
  if (!game.moves.length) list.append(element("li", { className: "quiet none", textContent: "None yet" }));
  scrollTo(list.querySelector("[aria-current]"));
}

function regret(move) {
  const lost = move.regret;
  return element("small", {
    className: lost === 0 ? "best" : lost <= 2 ? "fair" : "poor",
    textContent: lost === 0 ? "✓" : signed(-lost),
    title: `${lost === 0 ? "A best move" : `Threw away ${lost} VP`}${move.exact ? "" : ", as far as the search sees"}`,
  });
}

function scrollTo(current) {
  if (!current) list.scrollTop = list.scrollHeight;
  else if (current.offsetTop < list.scrollTop || current.offsetTop + current.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = current.offsetTop - list.clientHeight / 2;
  }
}
