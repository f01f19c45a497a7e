// The dialogs: a new game, who sits where, which of the games in a file.

import { element, playerName } from "./panel.js";

const byId = (id) => document.getElementById(id);
const OTHER = "…";

// Whether an agent is for a ruleset with these keys.
const plays = ({ only }, keys) => !only || keys[only[0]] === only[1];

// Choices of agents for a ruleset as options of a <select>.
function seatField(player, agents, keys, chosen) {
  const names = agents.filter((agent) => plays(agent, keys));
  const select = element("select", { id: `seat${player}` }, [
    element("option", { value: "human", textContent: "Person" }),
    ...names.map(({ name, about }) => element("option", { value: name, textContent: `${name} – ${about}` })),
    element("option", { value: OTHER, textContent: "Another, by its name …" })]);
  const other = element("input", { id: `other${player}`, placeholder: "mcts:1000", hidden: true });
  other.setAttribute("aria-label", `Player ${player}'s agent by name`);
  const known = [...select.options].some((option) => option.value === chosen);
  select.value = known ? chosen : OTHER;
  other.value = known ? "" : chosen;
  const toggle = () => { other.hidden = select.value !== OTHER; };
  select.addEventListener("change", toggle);
  toggle();
  return element("div", { className: "field" }, [
    element("label", { textContent: `Player ${player} (${"AB"[player]})`, htmlFor: select.id }), select, other]);
}

function chosenSeat(player) {
  const value = byId(`seat${player}`).value;
  return value === OTHER ? byId(`other${player}`).value.trim() : value;
}

// Ask for a game; `start({ruleset, players, seed})` makes it, and its errors are shown here.
// With `onlySeats` the rules stay as they are.
export function askForGame({ options, rules, players, onlySeats, start }) {
  const choices = new Map(options.presets.map((preset) => [preset.name, preset.keys]));
  if (!choices.has(rules.name)) choices.set(rules.name, rules.keys);
  const select = byId("rules");
  select.replaceChildren(...[...choices.keys()].map((name) => element("option", { value: name, textContent: name })));
  select.value = rules.name;
  const fill = (seats) => byId("seats").replaceChildren(...[0, 1].map(
    (player) => seatField(player, options.agents, choices.get(select.value), seats[player])));
  select.onchange = () => fill([0, 1].map((player) => fitting(chosenSeat(player), options.agents, choices.get(select.value))));
  fill(players);
  byId("dialog-title").textContent = onlySeats ? "Who plays on" : "New game";
  byId("start").textContent = onlySeats ? "Play on" : "Start";
  select.parentElement.hidden = byId("seed").parentElement.hidden = onlySeats;
  byId("setup-error").textContent = "";
  byId("setup").onsubmit = (event) => submit(event, choices.get(select.value), start);
  byId("dialog").showModal();
}

// The name of an agent for a ruleset: this one, or a network, if there is one, where it is not.
function fitting(name, agents, keys) {
  if (agents.every((agent) => agent.name !== name || plays(agent, keys))) return name;
  return agents.find((agent) => agent.name.startsWith("ppo-") && plays(agent, keys))?.name ?? "alphabeta:4";
}

async function submit(event, keys, start) {
  if (event.submitter?.value === "cancel") return;
  event.preventDefault();
  const button = byId("start");
  button.disabled = true;
  try {
    const seed = byId("seed").value;
    await start({ ruleset: keys, players: [chosenSeat(0), chosenSeat(1)], ...(seed ? { seed: Number(seed) } : {}) });
    byId("dialog").close();
  } catch (error) {
    byId("setup-error").textContent = error.message;
  } finally {
    button.disabled = false;
  }
}

// Ask which of several games of a file to open; `open(number)` opens one.
export function askWhichGame(titles, open) {
  byId("pick-list").replaceChildren(...titles.map((title, index) => {
    const button = element("button", { value: String(index + 1), textContent: title.split(", ")
      .map((part, place) => (place ? part : part.split(" - ").map(playerName).join(" – "))).join(", ") });
    button.addEventListener("click", () => open(index + 1));
    return element("li", {}, [button]);
  }));
  byId("pick").showModal();
}
