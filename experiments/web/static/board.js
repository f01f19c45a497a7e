// The board: 36 squares and 24 lanes as buttons, pieces drawn above them. It knows no rules: it
// shows the legal moves that come with a position.

import { KEYS, cellAt, clamp, followPointer } from "./cells.js";
import { adviceRing, coordinates, laneNames, lastMove, plates, rings, signed, stepHints } from "./marks.js";
import { animate } from "./motion.js";
import { EXTENT, SIZE, UNITS, centre, faction, piece, svg } from "./pieces.js";
import { SHAPES, futureOf, ownerOf, squareName } from "./words.js";

const PLAIN = [{ name: "Blue", you: false }, { name: "Orange", you: false }];

export { signed, squareName };

export class Board {
  // onPlay(move); onPreview(move or null, whether it waits for a second tap); onSelect(square, its
  // moves); onClosed(cell, chosen square, whether it was tapped) for what cannot be played.
  constructor(root, { onPlay, onPreview, onSelect, onClosed }) {
    Object.assign(this, { root, onPlay, onPreview, onSelect, onClosed });
    Object.assign(this, { cells: new Map(), moves: [], selected: null, armed: null, values: null,
      paint: null, people: PLAIN, reasons: {}, interactive: false });
    this.#build();
    root.addEventListener("keydown", (event) => this.#key(event));
    root.addEventListener("pointerleave", () => {
      this.hovered = null;
      if (!this.armed && this.position) this.preview(null);
    });
  }

  #build() {
    for (let row = 0; row <= SIZE + 1; row++) {
      for (let column = 0; column <= SIZE + 1; column++) {
        const cell = cellAt(row, column);
        const element = document.createElement(cell ? "button" : "span");
        if (cell) this.#wire(Object.assign(cell, { element, row, column }));
        else element.className = "corner";
        this.root.append(element);
      }
    }
    this.layers = Object.fromEntries(["names", "lanes", "lit", "marks", "pieces", "hints", "badges", "advice"].map(
      (name) => [name, svg("g", { class: name })]));
    this.layers.names.append(...coordinates());
    this.layers.lanes.append(...laneNames());
    this.drawing = svg("svg", { viewBox: `0 0 ${EXTENT} ${EXTENT}`, "aria-hidden": "true",
      class: "drawing" }, Object.values(this.layers));
    this.root.append(this.drawing);
    this.#focusable(this.cells.get("Nc"));
  }

  #wire(cell) {
    const { element } = cell;
    element.type = "button";
    element.className = cell.className;
    element.dataset.name = cell.name;
    element.tabIndex = -1;
    element.addEventListener("click", (event) => this.#click(cell, event));
    element.addEventListener("focus", () => {
      this.#focusable(cell);
      if (element.matches(":focus-visible")) this.#look(cell);
    });
    element.addEventListener("pointerenter", (event) => {
      this.hovered = event.pointerType === "touch" ? null : cell;
      if (this.hovered) this.#look(cell);
    });
    element.addEventListener("pointerdown", (event) => this.#drag(cell, event));
    this.cells.set(cell.name, cell);
  }

  // What is shown

  // Show a position; `interactive` if its moves may be played here.
  show(position, interactive, people = PLAIN) {
    Object.assign(this, { position, interactive, people, moves: interactive ? position.moves : [],
      selected: null, armed: null, reasons: {}, values: null });
    this.#drawPieces();
    this.layers.marks.replaceChildren(...lastMove(position.last));
    for (const cell of this.cells.values()) {
      cell.element.classList.toggle("crossed", Boolean(position.last?.path.includes(cell.square)));
    }
    this.light(null);
    this.advise(null);
    this.setValues(null);
    this.preview(null);
    if (this.hovered) this.#look(this.hovered);
  }

  // Why lanes and steps are closed, by name.
  explain(reasons) {
    this.reasons = reasons;
    this.#label();
  }

  // Move the pieces of the position shown to where `move` puts them.
  async play(move) {
    this.preview(null);
    for (const layer of ["marks", "hints", "badges", "lit", "advice"]) this.layers[layer].replaceChildren();
    if (move.kind === "enter") {
      const mover = faction(move.player, false);
      this.pieces.set(null, mover);
      this.layers.pieces.append(mover);
    }
    await animate(this.pieces, move);
  }

  #drawPieces() {
    const { tokens, bastion, controllers } = this.position;
    this.pieces = new Map();
    [...tokens].forEach((token, square) => {
      if (token === ".") return;
      const element = piece(token, square === bastion, controllers[square]);
      place(element, centre(square));
      this.pieces.set(square, element);
    });
    this.layers.pieces.replaceChildren(...this.pieces.values());
  }

  // Light squares, for each player its own; null for none.
  light(squares) {
    this.layers.lit.replaceChildren(...(squares ? rings(squares) : []));
    this.root.classList.toggle("lighting", Boolean(squares?.flat().length));
  }

  advise(move) {
    this.layers.advice.replaceChildren(...(move ? [adviceRing(move)] : []));
  }

  // Values of the moves as plates; null takes them away. `sign` is -1 to show them for player 1.
  setValues(found, sign = 1) {
    this.values = found && { found, sign };
    this.root.classList.toggle("valued", Boolean(found));
    this.layers.badges.replaceChildren(...(found ? plates(this.position.moves, found, sign) : []));
    this.#label();
  }

  #label() {
    const steppers = new Set(this.moves.map((move) => move.from));
    for (const cell of this.cells.values()) {
      const { element, square } = cell;
      const move = this.#moveAt(cell);
      const mine = square !== undefined && steppers.has(square);
      element.classList.toggle("legal", Boolean(move));
      element.classList.toggle("mine", mine);
      element.classList.toggle("selected", square !== undefined && square === this.selected);
      element.dataset.player = this.position.player;
      element.setAttribute("aria-label", this.#words(cell, move, mine));
      if (!this.paint && !move && !mine) element.setAttribute("aria-disabled", "true");
      else element.removeAttribute("aria-disabled");
    }
    this.layers.hints.replaceChildren(...stepHints(
      this.moves.filter((move) => move.kind === "step" && move.from === this.selected)));
  }

  #words(cell, move, mine) {
    const told = move && [futureOf(move, this.people), this.#value(move)].filter(Boolean).join(". ");
    if (cell.square === undefined) {
      return told ?? [`Lane ${cell.name}`, ...(this.interactive ? ["closed", this.reasons[cell.name]] : [])].filter(Boolean).join(", ");
    }
    const token = this.position.tokens[cell.square];
    const owner = "AB".indexOf(token);
    const words = [`${cell.name}: ${token === "#" ? "stronghold" : owner < 0 ? "free" : `${ownerOf(this.people, owner)} ${SHAPES[owner]}`}`];
    if (cell.square === this.position.bastion) words.push("bastion");
    const controller = this.position.controllers[cell.square];
    if (controller !== undefined) words.push(`held by ${this.people[controller].you ? "you" : this.people[controller].name}`);
    if (told) words.push(told);
    else if (mine) words.push(cell.square === this.selected ? "chosen to step" : "Enter to step");
    return words.join(", ");
  }

  // What a move is worth to the player to move, in words.
  #value({ action }) {
    if (!this.values) return "";
    const { found, sign } = this.values;
    return `Worth ${signed(sign * found.values[action])}${found.regrets[action] === 0 ? ", a best move" : ""}`;
  }

  // Show what a move would do to the pieces, or that none is looked at.
  preview(move, armed = false) {
    if (!armed) this.armed = null;
    for (const [square, element] of this.pieces ?? []) if (square !== null) place(element, centre(square));
    this.ghost?.remove();
    this.root.querySelectorAll(".way").forEach((element) => element.classList.remove("way"));
    this.drawing.querySelectorAll(".doomed").forEach((element) => element.classList.remove("doomed"));
    this.drawing.classList.toggle("previewing", Boolean(move));
    if (move && move.target !== null) this.#drawPreview(move);
    this.onPreview(move, armed);
  }

  #drawPreview(move) {
    const [dx, dy] = UNITS[move.direction];
    const [x, y] = centre(move.target);
    const away = move.shifts.length > 1 ? 30 : 0;
    this.ghost = faction(move.player, false);
    this.ghost.classList.add("ghost");
    place(this.ghost, [x - dx * away, y - dy * away]);
    this.layers.pieces.append(this.ghost);
    for (const [from, to] of move.shifts.slice(1)) {
      const [a, b] = centre(from);
      const element = this.pieces.get(from);
      place(element, [a + dx * 34, b + dy * 34]);
      element.classList.toggle("doomed", to === null);
    }
    for (const square of [...move.path, move.target]) this.cells.get(squareName(square)).element.classList.add("way");
  }

  // What is done

  #moveAt(cell) {
    if (cell.square === undefined) return this.moves.find((move) => move.name === cell.name);
    if (this.selected === null) return undefined;
    return this.moves.find((move) => move.from === this.selected && move.target === cell.square);
  }

  #look(cell) {
    if (this.armed || this.paint || !this.position) return;
    const move = this.#moveAt(cell);
    this.preview(move ?? null);
    if (!move && this.interactive) this.onClosed(cell, this.selected, false);
  }

  #click(cell, event) {
    if (this.dragged) {
      this.dragged = false;
      return;
    }
    if (this.paint) {
      if (cell.square !== undefined) this.paint(cell.square);
      return;
    }
    const move = this.#moveAt(cell);
    if (!move) this.#clickClosed(cell);
    else if (event.pointerType === "touch" && this.armed !== move) {
      this.armed = move;
      this.preview(move, true);
    } else {
      this.onPlay(move);
    }
  }

  #clickClosed(cell) {
    const chosen = this.selected;
    const mine = cell.element.classList.contains("mine");
    this.select(mine && cell.square !== chosen ? cell.square : null);
    if (!mine && this.interactive) this.onClosed(cell, chosen, true);
  }

  // Choose the faction that is to step; null for none.
  select(square) {
    const steps = this.moves.filter((move) => move.kind === "step" && move.from === square);
    const before = this.selected;
    this.selected = steps.length ? square : null;
    this.preview(null);
    this.#label();
    if (before !== this.selected) this.onSelect(this.selected, steps);
  }

  // From an edge inwards, or from a faction to where it steps; let go outside it comes to nothing.
  #drag(cell, start) {
    const isFaction = this.moves.some((move) => move.from === cell.square && move.kind === "step");
    if (this.paint || start.button !== 0 || !(this.#moveAt(cell) || isFaction)) return;
    if (this.selected !== null && this.#moveAt(cell)) return;
    let aim = null;
    followPointer(cell.element, start, (element) => {
      if (!this.dragged && isFaction) this.select(cell.square);
      this.dragged = true;
      const over = this.cells.get(element?.dataset?.name);
      aim = over?.square === undefined ? null : isFaction ? this.#moveAt(over) : this.#moveAt(cell);
      this.preview(aim ?? null);
    }, (onPurpose) => {
      if (!this.dragged) return;
      // The click that follows in this very moment is part of the drag.
      setTimeout(() => { this.dragged = false; }, 0);
      if (onPurpose && aim) this.onPlay(aim);
      else this.select(null);
    });
  }

  #key(event) {
    if (event.key === "Escape") this.select(null);
    const step = KEYS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = [clamp(this.focus[0] + step[0]), clamp(this.focus[1] + step[1])];
    if (cellAt(...next)) this.#cellOf(next).element.focus();
  }

  #focusable(cell) {
    if (this.focus) this.#cellOf(this.focus).element.tabIndex = -1;
    this.focus = [cell.row, cell.column];
    cell.element.tabIndex = 0;
  }

  #cellOf([row, column]) {
    return this.cells.get(cellAt(row, column).name);
  }
}

function place(element, [x, y]) {
  element.style.transform = `translate(${x}px, ${y}px)`;
}
