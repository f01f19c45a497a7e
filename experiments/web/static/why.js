// Why a lane or a step is closed, and which pieces a row of points counts: asked from the server
// once for each position, and shown when somebody points there.

import { get } from "./api.js";
import { ownerOf, squareName } from "./words.js";

const NEAR = [-6, 6, -1, 1];

let current = { key: "", answer: null };

// What the server says of the position after the first `at` moves.
export function explain(game, at) {
  const key = `${game.id}/${game.version}/${at}`;
  if (current.key !== key) {
    current = { key, answer: get(`/games/${game.id}/positions/${at}/explained`) };
    current.answer.catch(() => { current = { key: "", answer: null }; });
  }
  return current.answer;
}

// Why nothing can be played at a cell, in words; `chosen` is the faction that was to step.
export function whyClosed({ illegal }, cell, chosen, position, people, hasSteps) {
  if (cell.square === undefined) return illegal[cell.name] ? `${cell.name} is closed: ${illegal[cell.name]}.` : "";
  if (chosen !== null && NEAR.includes(cell.square - chosen)) {
    const step = squareName(chosen) + cell.name;
    return illegal[step] ? `${step} is not allowed: ${illegal[step]}.` : "";
  }
  if (chosen !== null && chosen !== cell.square) return "A step goes one square up, down, left or right.";
  return whyNotThis({ illegal }, cell, position, people, hasSteps);
}

function whyNotThis({ illegal }, cell, position, people, hasSteps) {
  const token = position.tokens[cell.square];
  if (token === ".") return "";
  if (token === "#") return `${cell.name} is a stronghold: it moves only when it is pushed.`;
  if (!hasSteps) return `${cell.name}: factions on the board move only when they are pushed.`;
  const owner = "AB".indexOf(token);
  if (owner !== position.player) return `${cell.name} is ${ownerOf(people, owner)} faction.`;
  const reasons = NEAR.map((by) => cell.square + by).filter((to) => to >= 0 && to < 36)
    .map((to) => illegal[cell.name + squareName(to)]).filter(Boolean);
  return `${cell.name} cannot step: ${[...new Set(reasons)].join("; ")}.`;
}
