// A hint: a best move of the position shown, as the analysis finds it in a second.

import { get, poll } from "./api.js";
import { futureOf } from "./words.js";

const SECONDS = 1;

// The advice for a position: the move, and the words that tell it; null once `goesOn()` is false.
export async function adviseOn(game, at, position, people, goesOn) {
  const answer = await poll(() => get(`/games/${game.id}/analysis/${at}?seconds=${SECONDS}`), (one) => one.done, goesOn);
  if (!answer?.found) return null;
  const move = position.moves.find((one) => answer.found.regrets[one.action] === 0);
  const sure = answer.found.exact ? "Nothing is better." : `As far as ${answer.found.depth} ${answer.found.depth === 1 ? "turn" : "turns"} ahead show.`;
  return { move, words: `Hint: ${futureOf(move, people)}. ${sure}` };
}
