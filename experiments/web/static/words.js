// Who plays and what happens, in words. You are "You"; where two persons or two equal agents play,
// they are told by their colour.

const COLOURS = ["Blue", "Orange"];
export const SHAPES = ["blue circle", "orange diamond"];
const FILES = "abcdef";
const RANKS = "654321";

export const squareName = (square) => FILES[square % 6] + RANKS[Math.floor(square / 6)];

export const agentName = (name) => (name === "human" ? "Person" : name);

// The names of players 0 and 1, and whether each is "You".
export function peopleOf({ players, names }) {
  const persons = players.filter((name) => name === "human").length;
  const same = players[0] === players[1];
  return players.map((name, player) => {
    const written = names?.[player];
    if (name !== "human") return { name: same ? `${name} (${COLOURS[player].toLowerCase()})` : name, you: false };
    if (persons === 1) return { name: "You", you: true };
    return { name: written && written !== "human" && written !== "?" ? written : COLOURS[player], you: false };
  });
}

const article = (player) => (player ? "an " : "a ");
const lower = ({ you, name }) => (you ? "you" : name);

// The owner of what stands somewhere: "your blue circle", "ppo-storm's orange diamond".
export const ownerOf = (people, player) => (people[player].you ? "your" : `${people[player].name}\u2019s`);

export function statusOf(position, people) {
  const { outcome, totals, player } = position;
  if (!outcome) return people[player].you ? "Your turn" : `${people[player].name} to move`;
  const points = `${Math.max(...totals)} to ${Math.min(...totals)}`;
  if (outcome.winner < 0) return `Draw, ${points}`;
  return people[outcome.winner].you ? `You win, ${points}` : `${people[outcome.winner].name} wins, ${points}`;
}

// What a move has done.
export function pastOf(move, people) {
  const who = people[move.player].name;
  if (move.kind === "pass") return `${who} passed`;
  return `${who} played ${place(move)}${effects(move, "pushed", "captured", "lost")}`;
}

// What a move would do.
export function futureOf(move, people) {
  if (move.kind === "pass") return "Pass: no other move is legal";
  const [first, second] = move.totals;
  return `${place(move)}${effects(move, "pushes", "captures", "loses")}. `
    + `Then ${lower(people[0])} ${first}, ${lower(people[1])} ${second} points`;
}

const place = (move) => (move.kind === "enter" ? `${move.name} to ${squareName(move.target)}` : move.name);

function effects(move, pushes, captures, loses) {
  const words = [];
  const pushed = move.shifts.length - 1;
  if (pushed > 0) words.push(`${pushes} ${pushed}`);
  if (move.captured) {
    const owner = "AB".indexOf(move.captured);
    words.push(owner === move.player ? `${loses} ${article(owner)}${SHAPES[owner]} of its own`
      : `${captures} ${article(owner)}${SHAPES[owner]}`);
  }
  return words.map((word) => `, ${word}`).join("");
}

// "You win by 2 with best play", where others win.
export function verdictOf(words, { you, name }) {
  const verb = you ? words.replace(/^(win|lose|draw)s/, "$1").replace(/^(ahead|behind|level)/, "are $1")
    : words.replace(/^(ahead|behind|level)/, "is $1");
  return `${name} ${verb}`;
}
