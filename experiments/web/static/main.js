// Start of the page: what the buttons do, and which game it begins with.

import { get, post } from "./api.js";
import { Board } from "./board.js";
import { byId } from "./dom.js";
import { Editor } from "./editor.js";
import { isDisabled } from "./focus.js";
import { adviseOn } from "./hints.js";
import { fileOf, restore, waitForServer } from "./keeper.js";
import { showLessons } from "./lessons.js";
import { announce, toast } from "./panel.js";
import { Play } from "./play.js";
import { remember, remembered, setTheme, toggleTheme } from "./settings.js";
import { Study } from "./study.js";
import { askForGame, askWhichGame } from "./setup.js";

const BEGINNER = "greedy";

const on = (id, type, action) => byId(id).addEventListener(type, (event) => {
  if (!isDisabled(byId(id))) action(event);
});

const board = new Board(byId("board"), {
  onPlay: (move) => play.move(move),
  onPreview: (move, armed) => play.look(move, armed),
  onSelect: (square, steps) => play.choose(square, steps),
  onClosed: (cell, chosen, tapped) => play.closed(cell, chosen, tapped),
});
const play = new Play(board, () => ask(true));
const editor = new Editor(board, byId("editor"), {
  onPlay: begin,
  onClose: () => edit(false),
});
let options = null;
let guided = null;

async function begin(request) {
  const game = await post("/games", request);
  edit(false);
  play.open(game);
}

async function ask(onlySeats = false) {
  const { rules, players } = play.game;
  const fitting = await post("/positions", { ruleset: rules.keys, text: play.game.position.text }).then((answer) => answer.agents, () => []);
  askForGame({
    options, onlySeats, rules, players, fitting,
    start: async ({ players: seats, ...request }) => {
      if (!onlySeats) await begin({ players: seats, ...request });
      else play.open(await play.ask("seats", { players: seats }));
    },
  });
}

function edit(isOn) {
  if (isOn === !byId("editor").hidden) return;
  byId("editor").hidden = !isOn;
  byId("panel").hidden = isOn;
  byId("edit").setAttribute("aria-pressed", String(isOn));
  document.body.classList.toggle("editing", isOn);
  if (isOn) {
    play.turn++;
    editor.open(play.game.rules.keys, play.position, options, play.game.players);
  } else {
    editor.close();
    play.render();
    play.goOn();
    byId("edit").focus({ preventScroll: true });
  }
}

// Files

async function read(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} cannot be read as UTF-8 text.`);
  }
}

async function load(file) {
  try {
    const text = await read(file);
    const open = async (number) => {
      const game = await post("/games/load", { text, name: file.name.slice(0, 200), number });
      edit(false);
      play.open(game);
      return game;
    };
    const { games } = await open(1);
    if (games.length > 1) askWhichGame(games, (number) => open(number).catch((error) => toast(error.message)));
  } catch (error) {
    toast(error.message);
  }
}

async function save() {
  const file = await fileOf(play.game);
  if (!file) return toast("This game cannot be saved: the server does not answer, and the page has no copy.");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([file.text], { type: "text/plain" }));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Learning

const rules = () => showLessons(play.game, firstGame).catch((error) => toast(error.message));

// A game against an easy opponent, in which each turn of the person comes with a hint.
async function firstGame() {
  try {
    await begin({ ruleset: play.game.rules.keys, players: ["human", BEGINNER] });
    guided = play.game.id;
    await hint();
  } catch (error) {
    toast(error.message);
  }
}

async function hint() {
  if (!play.isPersons) return;
  const { game, at, position, turn } = play;
  play.say("Looking for a good move …");
  try {
    const advice = await adviseOn(game, at, position, play.people, () => turn === play.turn);
    if (!advice || turn !== play.turn) return;
    board.advise(advice.move);
    play.showHint(advice.words);
    announce(advice.words);
  } catch (error) {
    toast(error.message);
  }
}

const study = new Study(play);

play.onShown = () => {
  study.show();
  if (guided === play.game.id && play.atEnd && play.isPersons) hint();
};

function setLaneNames(isOn) {
  byId("board").classList.toggle("lanes-named", isOn);
  byId("lane-names").setAttribute("aria-pressed", String(isOn));
  remember("lane-names", isOn ? "yes" : "no");
}

const toggleLaneNames = () => setLaneNames(!byId("board").classList.contains("lanes-named"));

// Keys, and the address

const KEYS = { u: "undo", a: "analyse", "[": "back", "]": "forward", p: "pause", n: "new", h: "hint", l: "lane-names", "?": "help" };

function keyboard(event) {
  const isTyping = event.target.closest("input:not([type=checkbox], [type=range]), select, textarea, dialog");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !byId("editor").hidden) return;
  if (KEYS[event.key]) byId(KEYS[event.key]).click();
}

// The game with an id: the server's or, where it knows none, the page's own copy of it.
async function find(id) {
  try {
    return await get(`/games/${encodeURIComponent(id)}`);
  } catch (error) {
    const own = error.status === 404 ? await restore(id) : null;
    if (own) return own;
    throw error;
  }
}

// Open the game that the address names, after Back or when somebody wrote it there.
async function follow() {
  const id = location.hash.slice(1);
  if (!id || id === play.game?.id) return;
  try {
    const game = await find(id);
    if (location.hash.slice(1) !== id) return;
    edit(false);
    play.open(game);
  } catch (error) {
    toast(error.message);
    history.replaceState(null, "", `#${play.game.id}`);
  }
}

async function start() {
  await ready();
  options = await get("/options");
  const id = location.hash.slice(1);
  try {
    if (id) return play.open(await find(id));
  } catch (error) {
    toast(error.message);
    history.replaceState(null, "", location.pathname);
  }
  await begin({ ruleset: options.first.rules.keys, players: options.first.players });
  if (!remembered("rules-seen")) {
    remember("rules-seen", "yes");
    rules();
  }
}

// Wait until the server has compiled the rules, and say so meanwhile.
async function ready() {
  while (!(await get("/ready")).ready) {
    byId("turn").textContent = "Getting ready …";
    byId("lastmove").textContent = "The rules are being compiled. That takes a while only the first time.";
    await new Promise((resolve) => { setTimeout(resolve, 300); });
  }
}

on("new", "click", () => ask());
on("load", "click", () => byId("file").click());
on("file", "change", () => {
  const [file] = byId("file").files;
  if (file) load(file).finally(() => { byId("file").value = ""; });
});
on("save", "click", save);
on("edit", "click", () => edit(byId("editor").hidden));
on("help", "click", rules);
on("theme", "click", toggleTheme);
on("lane-names", "click", toggleLaneNames);
on("undo", "click", () => play.change("undo"));
on("first", "click", () => play.go(0));
on("back", "click", () => play.go(play.place - 1));
on("forward", "click", () => (play.atEnd ? play.goOn() : play.go(play.place + 1)));
on("last", "click", () => (play.atEnd ? play.goOn() : play.go(play.game.moves.length)));
on("stop", "click", () => play.stop());
on("pause", "click", () => play.pause());
on("hint", "click", hint);
on("analyse", "change", () => {
  play.analyse();
  if (!byId("analyse").checked) post(`${play.url}/analysis/stop`).catch((error) => toast(error.message));
});
document.addEventListener("keydown", keyboard);
addEventListener("hashchange", follow);
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files.length) load(event.dataTransfer.files[0]);
});

setTheme(remembered("theme"));
setLaneNames(remembered("lane-names") === "yes");
start().catch((error) => {
  toast(error.message);
  if (error.offline) waitForServer(() => location.reload());
});
