// Drawn pieces: a circle for player 0, a diamond for player 1, a tower for a stronghold.
// Lengths are in units of the board's drawing, where a square is 100 wide.

const SVG = "http://www.w3.org/2000/svg";

export const SQUARE = 100;
export const RING = 64;
export const SIZE = 6;
export const EXTENT = SIZE * SQUARE + 2 * RING;

// North, south, west, east.
export const UNITS = [[0, -1], [0, 1], [-1, 0], [1, 0]];

const SHIELD = [[-0.78, -0.85], [0, -1], [0.78, -0.85], [0.78, 0.05], [0.55, 0.55], [0, 1],
  [-0.55, 0.55], [-0.78, 0.05]];
const TOWER = [[-0.9, 1], [-0.72, 0.7], [-0.72, -0.2], [-0.9, -0.38], [-0.9, -1], [-0.52, -1],
  [-0.52, -0.68], [-0.19, -0.68], [-0.19, -1], [0.19, -1], [0.19, -0.68], [0.52, -0.68],
  [0.52, -1], [0.9, -1], [0.9, -0.38], [0.72, -0.2], [0.72, 0.7], [0.9, 1]];

export function svg(tag, attributes = {}, children = []) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const centre = (square) => [
  RING + (square % SIZE + 0.5) * SQUARE,
  RING + (Math.floor(square / SIZE) + 0.5) * SQUARE,
];

export const points = (outline, size, x = 0, y = 0) =>
  outline.map(([u, v]) => `${x + u * size},${y + v * size}`).join(" ");

function body(player, radius, attributes) {
  if (player === 0) return svg("circle", { r: radius, ...attributes });
  const reach = radius * 1.06;
  return svg("polygon", {
    points: `0,${-reach} ${reach},0 0,${reach} ${-reach},0`, class: `diamond ${attributes.class}`,
    ...(attributes.cy ? { transform: `translate(0 ${attributes.cy})` } : {}),
  });
}

export function faction(player, isBastion = false) {
  const parts = [body(player, 35, { class: "rim", cy: 4 }), body(player, 35, { class: "face" }),
    body(player, 25, { class: "shine" })];
  if (isBastion) {
    parts.push(svg("polygon", { points: points(SHIELD, 17), class: "shield" }),
      svg("polygon", { points: points(SHIELD, 11), class: "crest" }));
  }
  return svg("g", { class: `faction p${player}` }, parts);
}

export function tower(controller) {
  const door = controller === undefined
    ? [svg("path", { d: "M-9 31V14a9 9 0 0 1 18 0V31Z", class: "door" })]
    : [svg("circle", { r: 16, cy: 6, class: "flag" }),
      svg("g", { class: `faction p${controller}`, transform: "translate(0 6) scale(.3)" },
        [body(controller, 34, { class: "face" })])];
  return svg("g", { class: "tower" }, [
    svg("polygon", { points: points(TOWER, 33, 0, 3), class: "rim" }),
    svg("polygon", { points: points(TOWER, 33, 0, -1), class: "face" }),
    ...door,
  ]);
}

export const piece = (token, isBastion, controller) =>
  token === "#" ? tower(controller) : faction("AB".indexOf(token), isBastion);

// A small picture of a faction for text and lists.
export function icon(player, className = "") {
  const picture = svg("svg", { viewBox: "-47 -46 94 94", class: `icon ${className}`,
    "aria-hidden": "true" });
  picture.append(faction(player));
  return picture;
}

export function wedge(x, y, direction, className) {
  const angle = [0, 180, -90, 90][direction];
  return svg("path", { d: "M-13 6L0 -7L13 6", class: className,
    transform: `translate(${x} ${y}) rotate(${angle})` });
}
