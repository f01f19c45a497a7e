// The 36 squares and 24 lanes of the board, in a grid of 8 by 8 without its corners.

import { SIZE } from "./pieces.js";
import { squareName } from "./words.js";

export const FILES = "abcdef";
export const RANKS = "654321";
export const KEYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export const clamp = (place) => Math.max(0, Math.min(SIZE + 1, place));

// The lane or square in a row and column; null in the corners.
export function cellAt(row, column) {
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

// Follow the pointer from where it went down; `onMove(element under it)`, `onEnd(let go on purpose)`.
export function followPointer(element, start, onMove, onEnd) {
  element.setPointerCapture(start.pointerId);
  const move = (event) => {
    if (Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < 12) return;
    onMove(document.elementFromPoint(event.clientX, event.clientY));
  };
  const end = (event) => {
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", end);
    element.removeEventListener("pointercancel", end);
    onEnd(event.type === "pointerup");
  };
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}
