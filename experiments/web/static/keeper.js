// The page's own copy of its game, as a file, for when the server goes away.

import { get, getText, post } from "./api.js";
import { byId } from "./dom.js";
import { setHidden } from "./focus.js";

const MILLISECONDS = 2000;

let copy = null;
let waits = false;

// Keep what the server would save now, once for each change of the game.
export async function keep(game) {
  if (copy?.id === game.id && copy.version === game.version) return;
  const text = await getText(`/games/${game.id}/file`).catch(() => null);
  if (text === null) return;
  copy = { id: game.id, version: game.version, text, players: game.players, name: nameOf(game) };
  try {
    sessionStorage.setItem(`game-${game.id}`, JSON.stringify(copy));
  } catch { /* Then a reload cannot bring it back. */ }
}

// The newest file of a game: the server's or, without it, the page's own.
export async function fileOf(game) {
  const text = await getText(`/games/${game.id}/file`).catch(() => null);
  return text === null ? kept(game.id) : { name: nameOf(game), text };
}

const nameOf = ({ id, rules }) => `${rules.name}-${id}.castle`;

export function kept(id) {
  if (copy?.id === id) return copy;
  try {
    return JSON.parse(sessionStorage.getItem(`game-${id}`));
  } catch {
    return null;
  }
}

// Begin a game on the server anew from the page's copy; null if there is none.
export async function restore(id) {
  const own = kept(id);
  if (!own) return null;
  const game = await post("/games/load", { text: own.text, name: own.name.slice(0, 200), number: 1 });
  if (String(own.players) === String(game.players)) return game;
  return post(`/games/${game.id}/seats`, { players: own.players, version: game.version });
}

// Say that the server does not answer until it does again and `onBack` is done.
export async function waitForServer(onBack) {
  if (waits) return;
  waits = true;
  byId("away").hidden = false;
  while (!await get("/ready").then((answer) => answer.ready, () => false)) {
    await new Promise((resolve) => { setTimeout(resolve, MILLISECONDS); });
  }
  waits = false;
  await onBack();
  if (!waits) setHidden(byId("away"), true);
}
