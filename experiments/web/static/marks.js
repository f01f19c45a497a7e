// What is drawn over the pieces: the last move, steps to choose, values, and lit pieces.

import { entrance } from "./motion.js";
import { EXTENT, RING, SIZE, UNITS, centre, faction, svg, wedge } from "./pieces.js";
import { FILES, RANKS } from "./cells.js";

const CROSS = "M-24 -24L24 24M24 -24L-24 24";

export const signed = (number) => (number > 0 ? `+${number}` : `${number}`).replace("-", "\u2212");

export const coordinates = () => [
  ...[...FILES].map((file, place) => text(file, RING + 100 * place + 90, EXTENT - RING - 8)),
  ...[...RANKS].map((rank, place) => text(rank, RING + 10, RING + 100 * place + 20))];

// The names of the lanes, in the place of their arrows.
export const laneNames = () => [0, 1, 2, 3].flatMap((side) => Array.from({ length: SIZE }, (_, place) => {
  const along = RING + 100 * place + 50;
  const across = side % 2 ? EXTENT - 27 : 27;
  const name = "NSWE"[side] + (side < 2 ? FILES : RANKS)[place];
  return side < 2 ? text(name, along, across + 8, "lane-name") : text(name, across, along + 8, "lane-name");
}));

function text(letters, x, y, className = "") {
  const made = svg("text", { x, y, class: className });
  made.textContent = letters;
  return made;
}

// How the last move went: its way, what it pushed, and beyond the edge the token that it captured.
export function lastMove(move) {
  if (!move || move.target === null) return [];
  const [dx, dy] = UNITS[move.direction];
  const [x, y] = centre(move.target);
  const [u, v] = move.kind === "enter" ? entrance(move) : centre(move.from);
  const marks = [svg("path", { d: `M${u} ${v}L${x - dx * 30} ${y - dy * 30}`, class: `trail p${move.player}` })];
  for (const [from, to] of move.shifts.slice(1)) {
    const [a, b] = to === null ? centre(from).map((at, axis) => at + 100 * [dx, dy][axis]) : centre(to);
    marks.push(wedge(a - dx * 50, b - dy * 50, move.direction, "pushed"));
    if (to === null) marks.push(lost(move, a - dx * 16, b - dy * 16));
  }
  return marks;
}

const lost = (move, x, y) => svg("g", { class: "lost", transform: `translate(${x} ${y}) scale(.62)` }, [
  faction("AB".indexOf(move.captured)), svg("path", { d: CROSS, class: "cross-ground" }), svg("path", { d: CROSS, class: "cross-out" })]);

// Where a faction may step.
export const stepHints = (moves) => moves.map((move) => {
  const [x, y] = centre(move.from);
  const [dx, dy] = UNITS[move.direction];
  return wedge(x + dx * 54, y + dy * 54, move.direction, `hint p${move.player}`);
});

// Values of moves as plates; `sign` is -1 to show them for player 1.
export const plates = (moves, found, sign) => moves.filter((move) => move.kind !== "pass").map((move) => {
  const [x, y] = platePlace(move);
  const small = move.kind === "step";
  const words = svg("text", { y: small ? 7 : 9 });
  words.textContent = signed(sign * found.values[move.action]);
  return svg("g", { class: `badge ${grade(found.regrets[move.action])}${small ? " small" : ""}`, transform: `translate(${x} ${y})` }, [
    svg("rect", small ? { x: -21, y: -15, width: 42, height: 30, rx: 9 }
      : { x: -26, y: -20, width: 52, height: 40, rx: 11 }), words]);
});

export const grade = (regret) => (regret === 0 ? "best" : regret <= 2 ? "fair" : "poor");

function platePlace(move) {
  if (move.kind === "enter") return entrance(move);
  const [x, y] = centre(move.from);
  const [dx, dy] = UNITS[move.direction];
  return [x + dx * 34, y + dy * 34];
}

// Rings around squares, for each player's part of what is pointed at.
export const rings = (squares) => squares.flatMap((own, player) => own.map((square) => {
  const [x, y] = centre(square);
  return svg("rect", { x: x - 46, y: y - 46, width: 92, height: 92, rx: 12, class: `ring p${player}` });
}));

// A ring around the move that is advised: the lane or the square it starts from.
export function adviceRing(move) {
  const [x, y] = move.kind === "enter" ? entrance(move) : centre(move.from);
  return svg("circle", { cx: x, cy: y, r: move.kind === "enter" ? 30 : 46, class: `advised p${move.player}` });
}
