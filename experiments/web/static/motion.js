// How a move looks while it happens: the mover comes up to the run, then all go on together.

import { EXTENT, RING, UNITS, centre } from "./pieces.js";

const MILLISECONDS = 480;
const CONTACT = 0.55;

// Where a faction stands before it slides in: in its lane outside the board.
export function entrance(move) {
  const [x, y] = centre(move.path[0] ?? move.target);
  const [dx, dy] = UNITS[move.direction];
  const edge = RING * 0.43;
  if (dx) return [dx > 0 ? edge : EXTENT - edge, y];
  return [x, dy > 0 ? edge : EXTENT - edge];
}

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;

// Animate the pieces, by the square on which each stands (null: the one that enters); `slow` times
// as long as in play.
export async function animate(pieces, move, slow = 1) {
  if (move.target === null) return;
  const [dx, dy] = UNITS[move.direction];
  const pushes = move.shifts.length > 1;
  const runs = move.shifts.map(([from, to]) => {
    const start = from === null ? entrance(move) : centre(from);
    const end = to === null ? [start[0] + dx * 110, start[1] + dy * 110] : centre(to);
    const isMover = to === move.target && (from === null || from === move.from);
    const slides = isMover && from === null && pushes;
    const middle = slides ? [end[0] - dx * 72, end[1] - dy * 72] : start;
    const waits = pushes && move.kind === "enter";
    return run(pieces.get(from), waits ? [start, middle, end] : [start, end], to === null, slow);
  });
  await Promise.all(runs);
}

function run(element, places, leaves, slow) {
  const at = ([x, y]) => `translate(${x}px, ${y}px)`;
  element.style.transform = at(places.at(-1));
  if (still()) return Promise.resolve();
  const frames = places.map((place, index) => ({
    transform: at(place),
    opacity: leaves && index === places.length - 1 ? 0 : 1,
    ...(places.length === 3 && index === 1 ? { offset: CONTACT } : {}),
    easing: "ease-in-out",
  }));
  return element.animate(frames, { duration: slow * (places.length === 3 ? MILLISECONDS : MILLISECONDS * 0.6) })
    .finished.catch(() => {});
}
