// The dialogs: a new game, who sits where, which of the games in a file.

import { byId, element } from "./dom.js";
import { openDialog } from "./focus.js";
import { icon } from "./pieces.js";
import { SHAPES, agentName } from "./words.js";

const OTHER = "…";
const MOVES = ["moves first", "moves second"];

// Choices of players as a <select>: a person, the agents that fit the rules, any other by its name.
// `read()` of what is returned gives the name that was chosen.
export function seatField(player, { agents, fitting, chosen, id }) {
  const names = agents.filter((agent) => fitting.includes(agent.name));
  const select = element("select", { id }, [
    element("option", { value: "human", textContent: "A person" }),
    ...names.map(({ name, level, about }) => element("option", { value: name,
      textContent: `${level ? `${level}: ` : ""}${about} (${name})` })),
    element("option", { value: OTHER, textContent: "Another, by its name …" })]);
  const other = element("input", { placeholder: "mcts:1000", hidden: true });
  other.setAttribute("aria-label", `Name of the agent that ${MOVES[player]}`);
  const known = [...select.options].some((option) => option.value === chosen);
  select.value = known ? chosen : OTHER;
  other.value = known ? "" : chosen;
  const toggle = () => { other.hidden = select.value !== OTHER; };
  select.addEventListener("change", toggle);
  toggle();
  const label = element("label", { htmlFor: id }, [icon(player), `${SHAPES[player]}, ${MOVES[player]}`]);
  const root = element("div", { className: "field" }, [label, select, other]);
  return { root, read: () => (select.value === OTHER ? other.value.trim() : select.value) };
}

// An agent for rules: this one, or where it does not fit, a network that does, or a searcher.
export function fittingSeat(name, agents, fitting) {
  if (fitting.includes(name) || agents.every((agent) => agent.name !== name)) return name;
  return fitting.find((other) => /^(ppo|az)-/.test(other)) ?? "alphabeta:4";
}

// Ask for a game; `start({ruleset, players, seed})` makes it, and its errors are shown here.
// With `onlySeats` the rules stay as they are.
export function askForGame({ options, rules, players, onlySeats, fitting, start }) {
  const choices = new Map(options.presets.map((preset) => [preset.rules.name, preset]));
  if (!choices.has(rules.name) || choices.get(rules.name).rules.digest !== rules.digest) choices.set(rules.name, { rules, agents: fitting });
  const select = byId("rules");
  select.replaceChildren(...[...choices.keys()].map((name) => element("option", { value: name, textContent: name })));
  select.value = rules.name;
  let seats = [];
  const fill = (names) => {
    const { agents } = choices.get(select.value);
    seats = [0, 1].map((player) => seatField(player, { agents: options.agents, fitting: agents,
      chosen: fittingSeat(names[player], options.agents, agents), id: `seat${player}` }));
    byId("seats").replaceChildren(...seats.map((seat) => seat.root));
  };
  select.onchange = () => fill(seats.map((seat) => seat.read()));
  fill(players);
  byId("dialog-title").textContent = onlySeats ? "Who plays on" : "New game";
  byId("start").textContent = onlySeats ? "Play on" : "Start";
  select.parentElement.hidden = byId("seed").parentElement.hidden = onlySeats;
  byId("setup-error").textContent = "";
  byId("setup").onsubmit = (event) => submit(event, choices.get(select.value).rules.keys, () => seats.map((seat) => seat.read()), start);
  openDialog(byId("dialog"));
}

async function submit(event, keys, seats, start) {
  if (event.submitter?.value === "cancel") return;
  event.preventDefault();
  const button = byId("start");
  const words = button.textContent;
  // An agent that is made for the first time takes seconds to load.
  const patience = setTimeout(() => { button.textContent = "Getting ready …"; }, 500);
  button.disabled = true;
  try {
    const seed = byId("seed").value;
    await start({ ruleset: keys, players: seats(), ...(seed ? { seed: Number(seed) } : {}) });
    byId("dialog").close();
  } catch (error) {
    byId("setup-error").textContent = error.message;
  } finally {
    clearTimeout(patience);
    button.textContent = words;
    button.disabled = false;
  }
}

// Ask which of several games of a file to open; `open(number)` opens one.
export function askWhichGame(titles, open) {
  byId("pick-list").replaceChildren(...titles.map((title, index) => {
    const button = element("button", { value: String(index + 1), textContent: title.split(", ")
      .map((part, place) => (place ? part : part.split(" - ").map(agentName).join(" – "))).join(", ") });
    button.addEventListener("click", () => open(index + 1));
    return element("li", {}, [button]);
  }));
  openDialog(byId("pick"));
}
