// The margin over the game as a small picture, with mistakes marked.

const WIDTH = 320;
const HEIGHT = 132;
const EDGE = 10;
// The names of players stand in rows of their own above and below the curve.
const ROW = 22;

const shape = (tag, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};

export const isMistake = (place) => place !== null && place.regret > 0;

// `line` has a value or null for each position; players' names stand above and below the middle.
export function graph(line, at, people) {
  const most = Math.max(2, ...line.map((place) => Math.abs(place?.margin ?? 0)));
  const x = (index) => EDGE + (WIDTH - 2 * EDGE) * (line.length > 1 ? index / (line.length - 1) : 0.5);
  const y = (margin) => HEIGHT / 2 - (HEIGHT / 2 - ROW) * margin / most;
  const picture = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "graph", role: "img", "aria-label": inWords(line) });
  picture.append(shape("line", { x1: EDGE, x2: WIDTH - EDGE, y1: y(0), y2: y(0), class: "middle" }));
  picture.append(shape("line", { x1: x(at), x2: x(at), y1: ROW - 6, y2: HEIGHT - ROW + 6, class: "here" }));
  for (let index = 1; index < line.length; index++) {
    if (known(line[index - 1]) && known(line[index])) {
      picture.append(shape("line", { x1: x(index - 1), y1: y(line[index - 1].margin), x2: x(index), y2: y(line[index].margin),
        class: line[index].exact ? "sure" : "unsure" }));
    }
  }
  line.forEach((place, index) => { if (known(place)) picture.append(mark(place, x(index), y(place.margin))); });
  people.forEach((name, player) => {
    const words = shape("text", { x: EDGE, y: player ? HEIGHT - 4 : 11, class: `p${player}` });
    words.textContent = `${name} ahead`;
    picture.append(words);
  });
  return picture;
}

// The position whose place in the picture, which fills `box`, is nearest to an event.
export function placeAt(event, box, positions) {
  const { left, width } = box.getBoundingClientRect();
  const share = ((event.clientX - left) / width * WIDTH - EDGE) / (WIDTH - 2 * EDGE);
  return Math.max(0, Math.min(positions - 1, Math.round(share * (positions - 1))));
}

const known = (place) => place !== null && place.margin !== null;

function mark(place, x, y) {
  if (isMistake(place)) return shape("path", { d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10`, class: "mistake" });
  return shape("circle", { cx: x, cy: y, r: 3, class: place.exact ? "sure" : "unsure" });
}

function inWords(line) {
  const judged = line.filter(known).length;
  const mistakes = line.flatMap((place, index) => (isMistake(place) ? [`move ${index} by ${place.regret}`] : []));
  return `Margin over the game, ${judged} of ${line.length} positions judged. `
    + (mistakes.length ? `Points thrown away: ${mistakes.join(", ")}.` : "No points thrown away.");
}
