// The board: 36 squares and 24 lanes as buttons, pieces drawn above them. It knows no rules: it
// shows the legal moves that come with a position.

import { animate, entrance } from "./motion.js";
import { EXTENT, RING, SIZE, UNITS, centre, faction, piece, svg, wedge } from "./pieces.js";

const FILES = "abcdef";
const RANKS = "654321";
const NAMES = ["faction A", "faction B", "stronghold"];
const KEYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export const squareName = (square) => FILES[square % SIZE] + RANKS[Math.floor(square / SIZE)];

export class Board {
  // onPlay(move), onPreview(move or null, whether it waits for a second tap), onSelect(square).
  constructor(root, { onPlay, onPreview, onSelect }) {
    Object.assign(this, { root, onPlay, onPreview, onSelect });
    this.cells = new Map();
    this.moves = [];
    this.selected = null;
    this.armed = null;
    this.values = null;
    this.paint = null;
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
    this.layers = Object.fromEntries(["names", "marks", "pieces", "hints", "badges"].map(
      (name) => [name, svg("g", { class: name })]));
    this.layers.names.append(...[...FILES].map((file, place) => name(file, RING + 100 * place + 90, EXTENT - RING - 8)),
      ...[...RANKS].map((rank, place) => name(rank, RING + 10, RING + 100 * place + 20)));
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
  show(position, interactive) {
    this.position = position;
    this.moves = interactive ? position.moves : [];
    this.selected = this.armed = null;
    this.#drawPieces();
    this.#drawLast(position.last);
    this.#label();
    this.preview(null);
    this.setValues(null);
    if (this.hovered) this.#look(this.hovered);
  }

  // Move the pieces of the position shown to where `move` puts them.
  async play(move) {
    this.preview(null);
    for (const layer of ["marks", "hints", "badges"]) this.layers[layer].replaceChildren();
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

  #drawLast(move) {
    const marks = [];
    if (move && move.target !== null) {
      const [dx, dy] = UNITS[move.direction];
      const [x, y] = centre(move.target);
      const [u, v] = move.kind === "enter" ? entrance(move) : centre(move.from);
      marks.push(svg("path", { d: `M${u} ${v}L${x - dx * 30} ${y - dy * 30}`, class: `trail p${move.player}` }));
      for (const [, to] of move.shifts.slice(1)) {
        if (to === null) continue;
        const [a, b] = centre(to);
        marks.push(wedge(a - dx * 50, b - dy * 50, move.direction, "pushed"));
      }
    }
    this.layers.marks.replaceChildren(...marks);
    for (const cell of this.cells.values()) {
      cell.element.classList.toggle("crossed",
        cell.square !== undefined && Boolean(move?.path.includes(cell.square)));
    }
  }

  #label() {
    const steppers = new Set(this.moves.map((move) => move.from));
    for (const cell of this.cells.values()) {
      const move = this.#moveAt(cell);
      const mine = cell.square !== undefined && steppers.has(cell.square);
      const { element } = cell;
      element.classList.toggle("legal", Boolean(move));
      element.classList.toggle("mine", mine);
      element.classList.toggle("selected", cell.square !== undefined && cell.square === this.selected);
      element.dataset.player = this.position.player;
      element.setAttribute("aria-label", this.#words(cell, move, mine));
      element.toggleAttribute("aria-disabled", false);
      if (!this.paint && !move && !mine) element.setAttribute("aria-disabled", "true");
    }
    this.#drawHints();
  }

  #words(cell, move, mine) {
    if (cell.square === undefined) return move ? move.promise : `${cell.name}, no legal slide`;
    const token = this.position.tokens[cell.square];
    const words = [`${cell.name}: ${NAMES["AB#".indexOf(token)] ?? "free"}`];
    if (cell.square === this.position.bastion) words.push("bastion");
    const controller = this.position.controllers[cell.square];
    if (controller !== undefined) words.push(`controlled by player ${controller}`);
    if (move) words.push(move.promise);
    else if (mine) words.push(cell.square === this.selected ? "chosen to step" : "Enter to step");
    return words.join(", ");
  }

  #drawHints() {
    const steps = this.moves.filter((move) => move.kind === "step" && move.from === this.selected);
    this.layers.hints.replaceChildren(...steps.map((move) => {
      const [x, y] = centre(move.from);
      const [dx, dy] = UNITS[move.direction];
      return wedge(x + dx * 54, y + dy * 54, move.direction, `hint p${move.player}`);
    }));
  }

  // Values of the moves as plates; null takes them away. `sign` is -1 to show them for player 1.
  setValues(found, sign = 1) {
    this.values = found;
    this.root.classList.toggle("valued", Boolean(found));
    this.layers.badges.replaceChildren(...(found ? this.position.moves.filter((move) => move.kind !== "pass") : []).map((move) => {
      const [x, y] = badgePlace(move);
      const small = move.kind === "step";
      const regret = found.regrets[move.action];
      const kind = regret === 0 ? "best" : regret <= 2 ? "fair" : "poor";
      const text = svg("text", { y: small ? 7 : 9 });
      text.textContent = signed(sign * found.values[move.action]);
      return svg("g", { class: `badge ${kind}${small ? " small" : ""}`, transform: `translate(${x} ${y})` }, [
        svg("rect", small ? { x: -21, y: -15, width: 42, height: 30, rx: 9 }
          : { x: -26, y: -20, width: 52, height: 40, rx: 11 }), text]);
    }));
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
    const pushes = move.shifts.length > 1;
    const [x, y] = centre(move.target);
    const away = pushes ? 30 : 0;
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
    this.preview(this.#moveAt(cell) ?? null);
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
    if (!move) return void this.select(cell.square === this.selected ? null : cell.square);
    if (event.pointerType === "touch" && this.armed !== move) {
      this.armed = move;
      this.preview(move, true);
    } else {
      this.onPlay(move);
    }
  }

  // Choose the faction that is to step; null for none.
  select(square) {
    const can = this.moves.some((move) => move.kind === "step" && move.from === square);
    const before = this.selected;
    this.selected = can ? square : null;
    this.preview(null);
    this.#label();
    if (before !== this.selected) this.onSelect(this.selected);
  }

  // From an edge inwards, or from a faction to where it steps; let go outside it comes to nothing.
  #drag(cell, start) {
    const isFaction = this.moves.some((move) => move.from === cell.square && move.kind === "step");
    if (this.paint || start.button !== 0 || !(this.#moveAt(cell) || isFaction)) return;
    if (this.selected !== null && this.#moveAt(cell)) return;
    const { element } = cell;
    element.setPointerCapture(start.pointerId);
    let aim = null;
    const move = (event) => {
      if (Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < 12) return;
      if (!this.dragged && isFaction) this.select(cell.square);
      this.dragged = true;
      const over = this.cells.get(document.elementFromPoint(event.clientX, event.clientY)?.dataset?.name);
      aim = over?.square === undefined ? null : isFaction ? this.#moveAt(over) : this.#moveAt(cell);
      this.preview(aim ?? null);
    };
    const end = (event) => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", end);
      element.removeEventListener("pointercancel", end);
      if (!this.dragged) return;
      // The click that follows in this very moment is part of the drag.
      setTimeout(() => { this.dragged = false; }, 0);
      if (event.type === "pointerup" && aim) this.onPlay(aim);
      else this.select(null);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
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

const clamp = (place) => Math.max(0, Math.min(SIZE + 1, place));

// The lane or square in a row and column of the 8 by 8 grid; null in the corners.
function cellAt(row, column) {
  const inRow = row >= 1 && row <= SIZE;
  const inColumn = column >= 1 && column <= SIZE;
  if (inRow && inColumn) {
    const square = (row - 1) * SIZE + column - 1;
    return { name: squareName(square), square, className: `square ${(row + column) % 2 ? "dark" : "light"}` };
  }
  if (inColumn) return { name: (row ? "S" : "N") + FILES[column - 1], className: `lane ${row ? "south" : "north"}` };
  if (inRow) return { name: (column ? "E" : "W") + RANKS[row - 1], className: `lane ${column ? "east" : "west"}` };
  return null;
}

function badgePlace(move) {
  if (move.kind === "enter") return entrance(move);
  const [x, y] = centre(move.from ?? 14);
  const [dx, dy] = UNITS[move.direction];
  return [x + dx * 34, y + dy * 34];
}

function name(letter, x, y) {
  const text = svg("text", { x, y });
  text.textContent = letter;
  return text;
}

function place(element, [x, y]) {
  element.style.transform = `translate(${x}px, ${y}px)`;
}

export const signed = (number) => (number > 0 ? `+${number}` : `${number}`).replace("-", "\u2212");
