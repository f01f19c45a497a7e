// The analysis switch: values of all moves of the position shown, and what the last one cost.

import { get, poll } from "./api.js";
import { element } from "./dom.js";
import { redraw } from "./focus.js";
import { verdictOf } from "./words.js";

const box = document.getElementById("analysis");
const DEEPER_SECONDS = 20;

let current = 0;

export function stopAnalysis() {
  current++;
  box.hidden = true;
}

// Ask for the values of the position shown until they are final, then for the last move's.
export async function analyse({ game, at, position, people }, onFound, onRegret, seconds = 2) {
  const mine = ++current;
  const goesOn = () => mine === current;
  const follow = (place, onAnswer) => poll(
    () => get(`/games/${game.id}/analysis/${place}?seconds=${seconds}`),
    (answer) => answer.done, goesOn, onAnswer);
  const deeper = () => analyse({ game, at, position, people }, onFound, onRegret, DEEPER_SECONDS);
  box.hidden = false;
  if (position.outcome) {
    show(position, people, null);
  } else {
    show(position, people, { done: false, seconds: 0, found: null });
    await follow(at, (answer) => {
      show(position, people, answer, deeper);
      onFound(answer.found);
    });
  }
  if (!goesOn() || at === 0) return;
  const before = await follow(at - 1, () => {});
  if (before?.found && before.found.regret !== null) {
    box.append(regretLine(position, before.found));
    onRegret(before.found);
  }
}

function show(position, people, answer, onDeeper) {
  const lines = [element("h2", { textContent: "Analysis" })];
  if (answer === null) {
    lines.push(element("p", { textContent: "The game is over." }));
  } else {
    lines.push(...verdict(position, people, answer));
    if (answer.done && !answer.found.exact) {
      const button = element("button", { textContent: `Look for ${DEEPER_SECONDS} s` });
      button.addEventListener("click", onDeeper);
      lines.push(button);
    }
  }
  redraw(box, ...lines);
}

function verdict(position, people, { done, found, seconds }) {
  const lines = [];
  if (found) {
    const best = position.moves.filter((move) => found.regrets[move.action] === 0);
    lines.push(element("p", { className: "verdict" }, [element("b", { textContent: verdictOf(found.words, people[position.player]) })]));
    lines.push(element("p", { className: "quiet", textContent: `Best: ${best.map((move) => move.name).join(" ")}` }));
    lines.push(element("p", { className: "quiet", textContent: found.exact ? "Exact: proven to the end of the game."
      : found.value_exact ? "Exact: proven from the position before."
      : `Not proven: margins ${found.depth} ${found.depth === 1 ? "ply" : "plies"} ahead.` }));
  }
  if (!done) {
    const bar = element("progress", {});
    bar.setAttribute("aria-label", "Searching");
    lines.push(element("p", { className: "searching" }, [bar, ` ${seconds.toFixed(1)} s`]));
  }
  return lines;
}

function regretLine(position, found) {
  const lost = found.regret;
  const words = lost === 0 ? "was a best move" : `threw away ${lost} VP`;
  return element("p", { className: `regret ${lost === 0 ? "best" : lost <= 2 ? "fair" : "poor"}`,
    textContent: `${position.last.name} ${words}${found.exact ? "." : ", as far as the search sees."}` });
}
