// The editor: paint a position, change the ruleset, and play on from there. Whether it all fits is
// for the server to say.

import { post } from "./api.js";
import { element } from "./dom.js";
import { faction, icon, piece, svg } from "./pieces.js";
import { RulesForm } from "./rules_form.js";
import { fittingSeat, seatField } from "./setup.js";

const NAMES = ["Blue", "Orange"];
const BRUSHES = [["A", "Blue"], ["B", "Orange"], ["#", "Stronghold"], [".", "Free"], ["bastion", "Bastion"]];
const TURNS = ["Blue to move", "Orange to move"];

export class Editor {
  // onPlay({ruleset, start, players}) begins a game; onClose() leaves the editor.
  constructor(board, root, { onPlay, onClose }) {
    Object.assign(this, { board, root, onPlay, onClose, brush: "A", asked: 0 });
  }

  open(keys, position, options, players) {
    this.agents = options.agents;
    this.players = players;
    this.fitting = null;
    this.parts = { tokens: position.tokens, player: position.player, bastion: position.bastion,
      hands: [...position.hands], forfeits: [...position.forfeits] };
    this.ply = position.ply;
    this.seats = null;
    this.rules = new RulesForm(keys, options.choices, () => this.#changed());
    this.#build();
    this.board.paint = (square) => this.#paint(square);
    this.#changed();
  }

  close() {
    this.board.paint = null;
    this.asked++;
  }

  #build() {
    const brushes = element("fieldset", { className: "brushes" }, [element("legend", { textContent: "Paint" }),
      ...BRUSHES.map(([value, name]) => this.#brush(value, name))]);
    this.toMove = [0, 1].map((player) => radio("to-move", NAMES[player], player === this.parts.player, () => {
      this.parts.player = player;
      this.ply = null;
      this.#changed();
    }));
    this.handFields = [0, 1].map((player) => number(`${NAMES[player]} in hand`, 0, 8, (value) => { this.parts.hands[player] = value ?? 0; this.#changed(); }));
    this.plyField = number("Plies played (empty: the least that fits)", 0, 10000, (value) => { this.ply = value; this.#changed(); });
    this.text = element("input", { spellcheck: false, autocapitalize: "off", autocomplete: "off" });
    this.text.addEventListener("change", () => this.#read());
    this.message = element("p", { className: "message" });
    this.message.setAttribute("role", "status");
    this.playButton = button("Play from here", () => this.#play(), "main");
    this.seatsBox = element("div", { className: "pair" });
    this.root.replaceChildren(
      element("section", { className: "card" }, [
        element("h2", { textContent: "Position" }), brushes,
        element("fieldset", { className: "inline" }, [element("legend", { textContent: "To move" }), ...this.toMove]),
        element("div", { className: "pair" }, this.handFields), this.plyField,
        element("label", {}, ["As text ", this.text]),
        element("div", { className: "row" }, [button("Clear factions", () => this.#clear()), button("Start position", () => this.#reset())]),
      ]),
      element("section", { className: "card" }, [element("h2", { textContent: "Rules" }), this.rules.root,
        button("Start with the strongholds as painted", () => this.rules.setStrongholds(this.#rows()))]),
      element("section", { className: "card" }, [element("h2", { textContent: "Players" }), this.seatsBox]),
      element("section", { className: "card last" }, [this.message,
        element("div", { className: "row" }, [this.playButton, button("Leave", this.onClose)])]));
  }

  #brush(value, name) {
    const picture = svg("svg", { viewBox: "-47 -46 94 94", class: "icon", "aria-hidden": "true" });
    if (value === "A" || value === "B") picture.append(...icon("AB".indexOf(value)).childNodes);
    else if (value === "bastion") picture.append(faction(this.parts.player ^ 1, true));
    else if (value !== ".") picture.append(piece(value, false));
    else picture.append(svg("path", { d: "M-18 -18L18 18M18 -18L-18 18", class: "cross" }));
    const label = radio("brush", name, value === this.brush, () => { this.brush = value; });
    label.prepend(picture);
    return label;
  }

  #rows() {
    return Array.from({ length: 6 }, (_, row) => this.parts.tokens.slice(6 * row, 6 * row + 6).replace(/[AB]/g, "."));
  }

  #paint(square) {
    const { parts, brush } = this;
    const before = parts.tokens[square];
    if (brush === "bastion") {
      parts.bastion = parts.bastion === square ? null : square;
    } else {
      this.#toHand(before, 1);
      this.#toHand(brush, -1);
      parts.tokens = parts.tokens.slice(0, square) + brush + parts.tokens.slice(square + 1);
      if (parts.bastion === square) parts.bastion = null;
    }
    this.ply = null;
    this.#changed();
  }

  // A faction painted comes from the hand, and goes back there when it is wiped off.
  #toHand(token, change) {
    const player = "AB".indexOf(token);
    if (player >= 0) this.parts.hands[player] = Math.max(0, Math.min(8, this.parts.hands[player] + change));
  }

  #clear() {
    for (const token of this.parts.tokens) this.#toHand(token, 1);
    Object.assign(this.parts, { tokens: this.parts.tokens.replace(/[AB]/g, "."), bastion: null });
    this.ply = null;
    this.#changed();
  }

  #reset() {
    const keys = this.rules.keys();
    const factions = keys.factions_per_player;
    Object.assign(this.parts, { tokens: keys.strongholds.join(""), bastion: null, player: 0, hands: [factions, factions], forfeits: [0, 0] });
    this.ply = 0;
    this.#changed();
  }

  async #read() {
    await this.#ask({ ruleset: this.rules.keys(), text: this.text.value.trim() }, (position) => {
      this.parts = { tokens: position.tokens, player: position.player, bastion: position.bastion, hands: [...position.hands], forfeits: [...position.forfeits] };
      this.ply = position.ply;
      this.#changed();
    });
  }

  // Draw what is painted, and ask the server whether it is a position of the rules.
  async #changed() {
    const { parts } = this;
    this.board.show({ ...parts, controllers: {}, last: null, moves: [] }, false);
    this.toMove.forEach((label, player) => { label.querySelector("input").checked = player === parts.player; });
    this.handFields.forEach((label, player) => { label.querySelector("input").value = parts.hands[player]; });
    this.plyField.querySelector("input").value = this.ply ?? "";
    await this.#ask({ ruleset: this.rules.keys(), ...parts, ply: this.ply }, (position) => {
      this.start = position.text;
      this.text.value = position.text;
      this.#offerSeats(position.agents);
      this.#say(position.outcome ? "The game is over here." : `Fits the rules: ${TURNS[position.player]}, ${position.moves.length} legal moves.`, true);
    }, () => {
      this.text.value = "";
      this.text.placeholder = "No position of these rules";
    });
  }

  // Who may play on under the rules as they are now.
  #offerSeats(fitting) {
    if (String(fitting) === String(this.fitting)) return;
    const names = this.seats?.map((seat) => seat.read()) ?? this.players;
    this.fitting = fitting;
    this.seats = [0, 1].map((player) => seatField(player, { agents: this.agents, fitting,
      chosen: fittingSeat(names[player], this.agents, fitting), id: `editor-seat${player}` }));
    this.seatsBox.replaceChildren(...this.seats.map((seat) => seat.root));
  }

  async #ask(request, use, refuse = () => {}) {
    const mine = ++this.asked;
    try {
      const position = await post("/positions", request);
      if (mine === this.asked) use(position);
    } catch (error) {
      if (mine !== this.asked) return;
      this.#say(error.message, false);
      refuse();
    }
  }

  #say(message, fits) {
    this.message.textContent = message;
    this.message.classList.toggle("error", !fits);
    this.playButton.disabled = !fits;
  }

  async #play() {
    try {
      await this.onPlay({ ruleset: this.rules.keys(), start: this.start, players: this.seats.map((seat) => seat.read()) });
    } catch (error) {
      this.#say(error.message, false);
    }
  }
}

function button(textContent, action, className = "") {
  const made = element("button", { type: "button", textContent, className });
  made.addEventListener("click", action);
  return made;
}

function radio(name, text, checked, action) {
  const input = element("input", { type: "radio", name, checked });
  input.addEventListener("change", action);
  return element("label", { className: "radio" }, [input, element("span", { textContent: text })]);
}

function number(text, min, max, action) {
  const input = element("input", { type: "number", min, max });
  input.addEventListener("change", () => action(input.value === "" ? null : Number(input.value)));
  return element("label", {}, [`${text} `, input]);
}
