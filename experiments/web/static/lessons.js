// The rules, on small boards that move; the server makes them from the ruleset in play.

import { get } from "./api.js";
import { byId, element } from "./dom.js";
import { openDialog } from "./focus.js";
import { animate, entrance } from "./motion.js";
import { EXTENT, RING, UNITS, centre, faction, piece, svg, wedge } from "./pieces.js";
import { rings } from "./marks.js";

const PAUSE = 1400;
const KEYS = [
  ["Arrow keys", "over lanes and squares"], ["Enter", "play, or choose a faction"], ["Escape", "let go"],
  ["h", "hint"], ["l", "names of the lanes"], ["u", "undo"], ["a", "analysis"], ["[ and ]", "a move back, a move on"],
  ["p", "pause"], ["n", "new game"], ["?", "these rules"],
];
const ROWS = { captured: "captured", besieging: "besieging", contact: "contact", controlled: "controlled", survivor: "survivors", squares: "squares" };

const wait = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Open the page of rules of a game; `onFirstGame()` begins a game with hints.
export async function showLessons(game, onFirstGame) {
  const lessons = await get(`/games/${game.id}/lessons`);
  const dialog = byId("lessons");
  byId("lessons-title").textContent = `How to play ${game.rules.mode}`;
  byId("lesson-list").replaceChildren(...lessons.map((lesson) => card(lesson, dialog)), keyCard());
  byId("first-game").onclick = () => {
    dialog.close();
    onFirstGame();
  };
  if (!dialog.open) openDialog(dialog);
  dialog.scrollTop = 0;
}

function card(lesson, dialog) {
  const parts = [element("h3", { textContent: lesson.title }), element("p", { textContent: lesson.text })];
  if (lesson.position) parts.unshift(miniature(lesson, dialog));
  if (lesson.illegal) parts.push(element("p", { className: "reason", textContent: `${lesson.illegal.name} is not allowed: ${lesson.illegal.reason}.` }));
  const made = element("article", { className: "lesson" }, parts);
  if (lesson.rows) made.append(rowButtons(lesson, made));
  return made;
}

const keyCard = () => element("article", { className: "lesson keys" }, [
  element("h3", { textContent: "Keys" }),
  element("dl", {}, KEYS.flatMap(([key, meaning]) => [
    element("dt", {}, key.split(" and ").flatMap((one, index) => [...(index ? [" "] : []), element("kbd", { textContent: one })])),
    element("dd", { textContent: meaning })]))]);

// A board without buttons; it plays its move again and again while it is in sight.
function miniature(lesson, dialog) {
  const { position } = lesson;
  const layer = svg("g", { class: "pieces" });
  const marks = svg("g", { class: "lit" }, (lesson.lanes ?? []).flatMap(laneMarks));
  const cross = svg("path", { d: "M-30 -30L30 30M30 -30L-30 30", class: "cross-out", visibility: "hidden" });
  const drawing = svg("svg", { viewBox: `10 10 ${EXTENT - 20} ${EXTENT - 20}`, class: "miniature", role: "img" },
    [svg("rect", { x: RING - 8, y: RING - 8, width: 616, height: 616, rx: 18, class: "mini-frame" }), ...squares(), marks, layer, cross]);
  drawing.setAttribute("aria-label", `A board: ${lesson.title}`);
  const draw = () => {
    const pieces = new Map();
    [...position.tokens].forEach((token, square) => {
      if (token === ".") return;
      const made = piece(token, square === position.bastion, position.controllers[square]);
      made.style.transform = `translate(${centre(square).join("px, ")}px)`;
      pieces.set(square, made);
    });
    layer.replaceChildren(...pieces.values());
    cross.setAttribute("visibility", "hidden");
    return pieces;
  };
  const pieces = draw();
  if (lesson.shown || lesson.illegal) repeat(drawing, dialog, lesson, { draw, layer, cross, pieces });
  return drawing;
}

// The lanes of a player; where both have one, they stand side by side.
const laneMarks = (lanes, player) => lanes.map((lane) => {
  const [side, place] = [Math.floor(lane / 6), lane % 6];
  const along = RING + 100 * place + 50 + (player ? 22 : -22);
  const across = side % 2 ? EXTENT - 32 : 32;
  const [x, y] = side < 2 ? [along, across] : [across, along];
  return wedge(x, y, side ^ 1, `hint p${player}`);
});

const squares = () => Array.from({ length: 36 }, (_, square) => {
  const [x, y] = centre(square);
  const dark = (square + Math.floor(square / 6)) % 2;
  return svg("rect", { x: x - 48, y: y - 48, width: 96, height: 96, rx: 8, class: dark ? "mini dark" : "mini" });
});

async function repeat(drawing, dialog, lesson, stage) {
  let seen = false;
  new IntersectionObserver((entries) => { seen = entries.at(-1).isIntersecting; }).observe(drawing);
  const shown = lesson.position.moves.find((move) => move.name === lesson.shown);
  const play = () => (shown ? playMove(shown, lesson, stage) : tryInVain(lesson, stage));
  if (still()) return void showStill(shown, lesson, stage);
  await wait(PAUSE);
  while (drawing.isConnected && dialog.open) {
    if (seen) await play();
    await wait(PAUSE);
    if (drawing.isConnected) stage.pieces = stage.draw();
    await wait(PAUSE / 2);
  }
}

async function playMove(move, lesson, { pieces, layer }) {
  if (move.kind === "enter") {
    const mover = faction(move.player);
    pieces.set(null, mover);
    layer.append(mover);
  }
  await animate(pieces, move, 1.6);
}

// The mover comes up to the run that cannot be pushed, and goes back.
async function tryInVain(lesson, stage) {
  const { start, before, mover } = attempt(lesson, stage);
  const at = ([x, y]) => `translate(${x}px, ${y}px)`;
  mover.style.transform = at(start);
  await mover.animate([{ transform: at(start) }, { transform: at(before), offset: 0.55 },
    { transform: at(before), offset: 0.8 }, { transform: at(start) }], { duration: 1700, easing: "ease-in-out" }).finished.catch(() => {});
}

function attempt(lesson, { pieces, layer, cross }) {
  const { name } = lesson.illegal;
  const side = "NSWE".indexOf(name[0]);
  const isStep = side < 0;
  const direction = isStep ? stepDirection(name) : side ^ 1;
  const [dx, dy] = UNITS[direction];
  const from = isStep ? squareAt(name.slice(0, 2)) : edgeSquare(name);
  const step = dx + 6 * dy;
  let square = isStep ? from + step : from;
  const path = [];
  while (!isStep && !pieces.has(square)) { path.push(square); square += step; }
  const [x, y] = centre(square);
  const start = isStep ? centre(from) : entrance({ path, target: square, direction });
  const mover = isStep ? pieces.get(from) : faction(lesson.position.player);
  if (!isStep) layer.append(mover);
  cross.setAttribute("transform", `translate(${x} ${y})`);
  cross.setAttribute("visibility", "visible");
  return { start, before: [x - dx * 74, y - dy * 74], mover };
}

// Without motion: where the move ends, with its way.
function showStill(shown, lesson, stage) {
  if (shown) return void playMove(shown, lesson, stage);
  const { before, mover } = attempt(lesson, stage);
  mover.style.transform = `translate(${before[0]}px, ${before[1]}px)`;
}

const squareAt = (name) => "abcdef".indexOf(name[0]) + 6 * "654321".indexOf(name[1]);

function edgeSquare(name) {
  const along = "NS".includes(name[0]) ? "abcdef".indexOf(name[1]) : "654321".indexOf(name[1]);
  return { N: along, S: 30 + along, W: 6 * along, E: 6 * along + 5 }[name[0]];
}

function stepDirection(name) {
  const by = squareAt(name.slice(2)) - squareAt(name.slice(0, 2));
  return [-6, 6, -1, 1].indexOf(by);
}

// Rows of points as buttons that light what they count.
function rowButtons(lesson, root) {
  const lit = () => root.querySelector(".miniature .lit");
  return element("div", { className: "row" }, Object.entries(lesson.rows).map(([row, counted]) => {
    const [first, second] = lesson.position.points[row];
    const made = element("button", { type: "button", textContent: `${ROWS[row]} ${first} : ${second}` });
    const show = () => lit().replaceChildren(...rings(counted));
    for (const type of ["pointerenter", "focus", "click"]) made.addEventListener(type, show);
    for (const type of ["pointerleave", "blur"]) made.addEventListener(type, () => lit().replaceChildren());
    return made;
  }));
}
