// Beside the board: whose turn it is, both players, and the Victory Points by row of the table.

import { icon } from "./pieces.js";

const REASONS = {
  all_turns_played: "All turns are played.",
  last_faction_entered: "The last faction has entered.",
  turn_limit: "The turn limit is reached.",
};

export const element = (tag, properties = {}, children = []) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const byId = (id) => document.getElementById(id);

export const playerName = (name) => (name === "human" ? "Person" : name);

// What the game is; of one from a file also who played it, and the file's comment.
export function showHead({ rules, names, players, comment }) {
  const played = names.some((name, player) => name !== players[player]) && names.map(playerName).join(" – ");
  byId("mode").textContent = rules.mode;
  byId("ruleset").textContent = [`rules: ${rules.name}`, played, comment].filter(Boolean).join(" · ");
  document.title = rules.mode;
}

export function showTurn(position, rules, thinking, comment = "") {
  const over = position.outcome;
  byId("turn").replaceChildren(
    ...(over && over.winner < 0 ? [] : [icon(over ? over.winner : position.player)]),
    thinking ? `${position.status.replace(" to move", "")} thinks …` : position.status);
  const last = over ? REASONS[over.reason] : position.last?.words ?? `Ply ${position.ply} of ${rules.max_plies}`;
  byId("lastmove").textContent = [last, comment].filter(Boolean).join(" · ");
  byId("track").style.width = `${Math.min(100, 100 * position.ply / rules.max_plies)}%`;
  byId("track").title = `Ply ${position.ply} of ${rules.max_plies}`;
}

export function showPlayers(position, players, factions, onSeat) {
  byId("players").replaceChildren(...[0, 1].map((player) => {
    const lit = position.outcome ? position.outcome.winner === player : position.player === player;
    const seat = element("button", { className: "seat", title: "Change who plays",
      textContent: playerName(players[player]) });
    seat.setAttribute("aria-label", `Player ${player} is ${playerName(players[player])}. Change`);
    seat.addEventListener("click", onSeat);
    return element("article", { className: `player p${player}${lit ? " lit" : ""}` }, [
      element("div", { className: "who" }, [icon(player), element("div", {}, [
        element("strong", {}, [`Player ${player} `, element("i", { textContent: `(${"AB"[player]})` })]), seat])]),
      element("p", { className: "score" }, [element("b", { textContent: position.totals[player] }), " VP"]),
      stock("In hand", position.hands[player], factions, player),
      stock("Captured", position.captures[player], 0, 1 - player),
    ]);
  }));
}

function stock(label, count, places, player) {
  const row = element("div", { className: "stock" }, [element("span", { textContent: `${label} ${count}` })]);
  const pictures = element("span", { className: "icons" });
  for (let place = 0; place < Math.max(count, places); place++) {
    pictures.append(icon(player, place < count ? "" : "empty"));
  }
  row.append(pictures);
  return row;
}

export function showPoints({ points, totals }) {
  const line = (tag, name, [first, second]) => element("tr", {}, [
    element("th", { scope: "row", textContent: name }),
    element(tag, { textContent: first }), element(tag, { textContent: second })]);
  const heads = [element("th", { scope: "col", textContent: "Victory Points" }), ...[0, 1].map((player) => {
    const head = element("th", { scope: "col" }, [icon(player)]);
    head.setAttribute("aria-label", `Player ${player}`);
    return head;
  })];
  byId("points").replaceChildren(
    element("thead", {}, [element("tr", {}, heads)]),
    element("tbody", {}, Object.entries(points).map(([name, pair]) => line("td", name, pair))),
    element("tfoot", {}, [line("td", "total", totals)]));
}

let timer = 0;

export function toast(message) {
  const box = byId("toast");
  box.textContent = message;
  box.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => { box.hidden = true; }, 7000);
}

export function announce(message) {
  byId("live").textContent = message;
}
