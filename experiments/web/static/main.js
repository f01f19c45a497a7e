// Start of the page: what the buttons do, and which game it begins with.

import { get, getText, post } from "./api.js";
import { Board } from "./board.js";
import { Editor } from "./editor.js";
import { toast } from "./panel.js";
import { Play } from "./play.js";
import { askForGame, askWhichGame } from "./setup.js";

const byId = (id) => document.getElementById(id);
const on = (id, type, action) => byId(id).addEventListener(type, action);

const board = new Board(byId("board"), {
  onPlay: (move) => play.move(move),
  onPreview: (move, armed) => play.hint(move, armed),
  onSelect: () => play.hint(null, false),
});
const play = new Play(board, () => ask(true));
const editor = new Editor(board, byId("editor"), {
  onPlay: (request) => begin({ ...request, players: play.game.players }),
  onClose: () => edit(false),
});
let options = null;

async function begin(request) {
  const game = await post("/games", request);
  edit(false);
  play.open(game);
}

function ask(onlySeats = false) {
  askForGame({
    options, onlySeats, rules: play.game.rules, players: play.game.players,
    start: async ({ players, ...request }) => {
      if (!onlySeats) await begin({ players, ...request });
      else play.open(await post(`${play.url}/seats`, { players }));
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
    editor.open(play.game.rules.keys, play.position, options);
  } else {
    editor.close();
    play.render();
    play.goOn();
  }
}

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
  try {
    const text = await getText(`${play.url}/file`);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.download = `${play.game.rules.name}-${play.game.id}.castle`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  } catch (error) {
    toast(error.message);
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("theme", theme);
  } catch { /* A browser may forbid it; then it is not remembered. */ }
}

function keyboard(event) {
  const isTyping = event.target.closest("input, select, textarea, dialog");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !byId("editor").hidden) return;
  const action = { u: "undo", a: "analyse", "[": "back", "]": "forward", p: "pause", n: "new" }[event.key];
  if (action) byId(action).click();
}

// Open the game that the address names, after Back or when somebody wrote it there.
async function follow() {
  const id = location.hash.slice(1);
  if (!id || id === play.game?.id) return;
  try {
    const game = await get(`/games/${encodeURIComponent(id)}`);
    if (location.hash.slice(1) !== id) return;
    edit(false);
    play.open(game);
  } catch (error) {
    toast(error.message);
    history.replaceState(null, "", `#${play.game.id}`);
  }
}

async function start() {
  options = await get("/options");
  const id = location.hash.slice(1);
  try {
    if (id) return play.open(await get(`/games/${encodeURIComponent(id)}`));
  } catch (error) {
    toast(error.message);
    history.replaceState(null, "", location.pathname);
  }
  return begin({ ruleset: options.first.rules.keys, players: options.first.players });
}

on("new", "click", () => ask());
on("load", "click", () => byId("file").click());
on("file", "change", () => {
  const [file] = byId("file").files;
  if (file) load(file).finally(() => { byId("file").value = ""; });
});
on("save", "click", save);
on("edit", "click", () => edit(byId("editor").hidden));
on("theme", "click", () => {
  const { theme } = document.documentElement.dataset;
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(isDark ? "light" : "dark");
});
on("undo", "click", () => play.change("undo"));
on("first", "click", () => play.go(0));
on("back", "click", () => play.go(play.at - 1));
on("forward", "click", () => (play.atEnd ? play.goOn() : play.go(play.at + 1)));
on("last", "click", () => (play.atEnd ? play.goOn() : play.go(play.game.moves.length)));
on("stop", "click", () => play.stop());
on("pause", "click", () => play.pause());
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

try {
  const theme = localStorage.getItem("theme");
  if (theme) setTheme(theme);
} catch { /* Without a memory the system's choice holds. */ }
start().catch((error) => toast(error.message));
