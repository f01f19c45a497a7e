// The list of moves: each leads to the position after it, and each variation into its own line.

import { element, keyed } from "./dom.js";
import { redraw } from "./focus.js";
import { signed } from "./marks.js";

const list = document.getElementById("moves");

// onGo(number of moves); onWalk(number of moves before it, action) for a variation.
export function showMoves(game, at, onGo, onWalk) {
  const before = game.position.ply - game.moves.length;
  const items = [];
  let others = [];
  for (let index = 0; index <= game.moves.length; index++) {
    const number = index + 1;
    const move = game.moves[index];
    if (move) items.push(element("li", {}, [moveButton(move, before, number, at, onGo)]));
    others.push(...(game.variations[index] ?? []).map((other) => variationItem(other, before + number, () => onWalk(index, other.action))));
    if (index % 2 === 1 || index >= game.moves.length - 1) {
      items.push(...others);
      others = [];
    }
  }
  if (!game.moves.length) items.unshift(element("li", { className: "quiet none", textContent: "None yet" }));
  redraw(list, ...items);
  scrollTo(list.querySelector("[aria-current]"));
}

function moveButton(move, before, number, at, onGo) {
  const button = keyed(element("button", { className: `move p${move.player}` }, [
    element("i", { textContent: `${before + number}.` }), element("span", { textContent: move.name })]), `move${number}`);
  if (move.regret !== null) button.append(regret(move));
  if (move.comment) {
    button.append(element("em", { textContent: "…", title: move.comment }));
    button.setAttribute("aria-description", move.comment);
  }
  if (number === at) button.setAttribute("aria-current", "step");
  button.addEventListener("click", () => onGo(number));
  return button;
}

// Moves that were made in the place of one above.
function variationItem({ action, name, following, goes_on: goesOn, main, comment }, number, onClick) {
  const button = keyed(element("button", { className: "variation" }, [
    element("i", { textContent: `${number}.` }), [name, ...following, ...(goesOn ? ["…"] : [])].join(" ")]), `variation-${number}-${action}`);
  button.setAttribute("aria-label", `${main ? "Main line" : "Variation"}: ${number}. ${[name, ...following].join(" ")}`);
  if (main) button.append(element("small", { textContent: "main line" }));
  if (comment) button.title = comment;
  button.addEventListener("click", onClick);
  return element("li", { className: "aside" }, [button]);
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
