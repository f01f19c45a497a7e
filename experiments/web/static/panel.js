// Beside the board: whose turn it is, both players, and the Victory Points by row of the table.

import { byId, element, keyed } from "./dom.js";
import { redraw } from "./focus.js";
import { icon } from "./pieces.js";
import { agentName, pastOf, statusOf } from "./words.js";

export { element };

const REASONS = {
  all_turns_played: "All turns are played.",
  last_faction_entered: "The last faction has entered.",
  turn_limit: "The turn limit is reached.",
};
const ROWS = {
  captured: ["Captured", "tokens the opponent lost"],
  besieging: ["Besieging", "beside a stronghold"],
  contact: ["Contact", "pairs with a stronghold"],
  controlled: ["Controlled", "strongholds with a majority"],
  survivor: ["Survivors", "on the board"],
  squares: ["Squares", "by where factions stand"],
};

export const playerName = agentName;

// What the game is; of one from a file also who played it, and the file's comment.
export function showHead({ rules, names, players, comment }) {
  const played = names.some((name, player) => name !== players[player]) && names.map(agentName).join(" – ");
  byId("mode").textContent = rules.mode;
  byId("ruleset").textContent = [`rules: ${rules.name}`, played, comment].filter(Boolean).join(" · ");
  document.title = rules.mode;
}

// `busy` is "thinking" or "loading" where an agent is to move, and else "".
export function showTurn(position, rules, people, busy, comment = "") {
  const over = position.outcome;
  const who = people[position.player].name;
  const words = { thinking: `${who} is thinking …`, loading: `${who} is getting ready …`, "": statusOf(position, people) };
  byId("turn").replaceChildren(
    ...(over && over.winner < 0 ? [] : [icon(over ? over.winner : position.player)]),
    element("span", { textContent: words[busy] }));
  const ply = `Turn ${Math.min(position.ply + 1, rules.max_plies)} of ${rules.max_plies}`;
  const last = busy === "loading" ? "Its program is being compiled and loaded. That takes a while only the first time."
    : over ? REASONS[over.reason] : position.last ? pastOf(position.last, people) : ply;
  byId("lastmove").textContent = [last, comment].filter(Boolean).join(" · ");
  byId("track").style.width = `${Math.min(100, 100 * position.ply / rules.max_plies)}%`;
  byId("track").parentElement.title = ply;
}

export function showPlayers(position, people, players, factions, onSeat) {
  redraw(byId("players"), ...[0, 1].map((player) => {
    const lit = position.outcome ? position.outcome.winner === player : position.player === player;
    const seat = keyed(element("button", { className: "seat", title: "Change who plays", textContent: "Change" }), `seat${player}`);
    seat.setAttribute("aria-label", `${people[player].name}: change who plays`);
    seat.addEventListener("click", onSeat);
    const name = element("strong", { textContent: people[player].name, title: agentName(players[player]) });
    return element("article", { className: `player p${player}${lit ? " lit" : ""}` }, [
      element("div", { className: "who" }, [icon(player), element("div", {}, [name, seat])]),
      element("p", { className: "score" }, [element("b", { textContent: position.totals[player] }), " VP"]),
      stock("In hand", position.hands[player], factions, player),
      stock("Captured", position.captures[player], 0, 1 - player),
    ]);
  }));
}

function stock(label, count, places, player) {
  const row = element("div", { className: `stock ${label === "Captured" ? "taken" : ""}` }, [element("span", { textContent: `${label} ${count}` })]);
  const pictures = element("span", { className: "icons" });
  for (let place = 0; place < Math.max(count, places); place++) {
    pictures.append(icon(player, place < count ? "" : "empty"));
  }
  row.append(pictures);
  return row;
}

// The table of points; `onRow(row or null)` is told which row is pointed at or has the focus.
export function showPoints({ points, totals }, people, weights, onRow) {
  const heads = [element("th", { scope: "col", textContent: "Victory Points" }), ...[0, 1].map((player) => element("th", { scope: "col" }, [
    icon(player), element("span", { className: "hidden", textContent: people[player].name })]))];
  redraw(byId("points"),
    element("thead", {}, [element("tr", {}, heads)]),
    element("tbody", {}, Object.entries(points).map(([name, pair]) => pointsRow(name, pair, weights, onRow))),
    element("tfoot", {}, [element("tr", {}, [element("th", { scope: "row", textContent: "Total" }),
      ...totals.map((total) => element("td", { textContent: total }))])]));
}

function pointsRow(name, pair, weights, onRow) {
  const [title, meaning] = ROWS[name];
  const button = keyed(element("button", { className: "row-name", type: "button" }, [
    element("span", { textContent: title }), element("small", { textContent: meaning })]), `row-${name}`);
  const row = element("tr", {}, [element("th", { scope: "row" }, [button]), ...pair.map((points) => element("td", {}, sum(points, weights[name])))]);
  row.addEventListener("pointerenter", () => onRow(name));
  row.addEventListener("pointerleave", () => onRow(null));
  button.addEventListener("focus", () => onRow(name));
  button.addEventListener("blur", () => onRow(null));
  button.addEventListener("click", () => onRow(name));
  return row;
}

// "2 × 2 = 4": how many, what each is worth, and what that makes.
function sum(points, weight) {
  if (typeof weight !== "number" || !points) return [element("b", { textContent: points })];
  return [element("small", { textContent: `${points / weight} × ${weight} = ` }), element("b", { textContent: points })];
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
