// The game shown: walking through it, moves of persons and agents, what stands beside the board.

import { analyse, stopAnalysis } from "./analysis.js";
import { get, poll, post } from "./api.js";
import { byId } from "./dom.js";
import { setDisabled, setHidden } from "./focus.js";
import { keep, restore, waitForServer } from "./keeper.js";
import { showMoves } from "./moves.js";
import { announce, showHead, showPlayers, showPoints, showTurn, toast } from "./panel.js";
import { futureOf, pastOf, peopleOf, squareName, statusOf } from "./words.js";
import { explain, whyClosed } from "./why.js";

const PAUSES = [2500, 1500, 800, 300, 0];

const wait = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

export class Play {
  constructor(board, onSeat) {
    Object.assign(this, { board, onSeat, game: null, at: 0, turn: 0, paused: false, busyWith: "", prompt: "", hint: null, looks: 0 });
    Object.assign(this, { onShown: () => {}, onJudged: () => {}, verdict: "", version: 0, going: { at: 0, turn: -1 }, asked: Promise.resolve(), returning: null });
  }

  get url() {
    return `/games/${this.game.id}`;
  }

  get atEnd() {
    return this.at === this.game.moves.length;
  }

  // Where the person is or, while its position is on the way, is going.
  get place() {
    return this.going.turn === this.turn ? this.going.at : this.at;
  }

  get isWatched() {
    return !this.game.players.includes("human");
  }

  get isPersons() {
    return this.game.players[this.position.player] === "human" && !this.position.outcome;
  }

  // Show a game from the server as it stands, and let it go on.
  open(game) {
    this.paused = false;
    this.#address(game.id);
    showHead(game);
    this.#take(game);
    announce(statusOf(game.position, this.people));
    this.goOn();
  }

  // The game is in the address, so that the browser's Back leads to the one before it.
  #address(id) {
    if (location.hash !== `#${id}`) history[location.hash ? "pushState" : "replaceState"](null, "", `#${id}`);
  }

  #take(game) {
    this.turn++;
    this.#setBusy("");
    Object.assign(this, { game, version: game.version, at: game.at ?? game.moves.length, position: game.shown ?? game.position, people: peopleOf(game) });
    this.render();
    keep(game);
  }

  // What the server answers with, once the page has a copy of it too.
  async #kept(answer) {
    const game = await answer;
    await keep(game);
    return game;
  }

  // What the server answers to a change of the game shown, one after another. While the game is
  // being put back there they wait; a server that has lost it gets the page's copy and is asked again.
  ask(path, body = {}) {
    const { turn, position: { text } } = this;
    const send = async () => {
      if (this.returning) {
        await this.returning;
        if (this.position.text !== text) throw new Error("The board has changed meanwhile; nothing was done.");
        this.turn = turn;
      }
      const game = await post(`${this.url}/${path}`, { version: this.version, ...body });
      if (game.id === this.game.id) this.version = game.version;
      return game;
    };
    const answer = this.asked.then(send).catch((error) => {
      if (error.status !== 404) throw error;
      this.#return();
      return send();
    });
    this.asked = answer.catch(() => {});
    return answer;
  }

  // What the game has become while something else is looked at.
  #learn(game) {
    if (game.id !== this.game.id || game.version <= this.game.version) return;
    Object.assign(this, { game: { ...game, at: null, shown: null }, version: Math.max(game.version, this.version) });
    this.render();
    keep(game);
  }

  // Change what is said about the game, wherever in it the person has gone meanwhile.
  async annotate(path, body) {
    try {
      this.#learn(await this.ask(path, body));
    } catch (error) {
      this.fail(error);
    }
  }

  // A person's move on the position shown.
  async move(move) {
    if (this.busy || this.answer?.(move)) return;
    this.busy = true;
    const turn = ++this.turn;
    const asked = { at: this.at, action: move.action };
    try {
      const [game] = await Promise.all([this.#kept(this.ask("moves", asked)), this.board.play(move)]);
      if (turn === this.turn) this.#moved(game);
      else this.#learn(game);
    } catch (error) {
      await this.fail(error);
    } finally {
      this.busy = false;
    }
    this.goOn();
  }

  #moved(game) {
    this.#take(game);
    announce(`${pastOf(this.position.last, this.people)}. ${statusOf(this.position, this.people)}`);
  }

  // Let agents move until a person is to move, the game is over, or something else happens.
  async goOn() {
    const turn = this.turn;
    const goesOn = () => turn === this.turn && !(this.isWatched && this.paused);
    if (!goesOn() || this.game.waits_for !== "agent" || !this.atEnd) return;
    this.#setBusy("thinking");
    try {
      const answer = await poll(() => this.#reply(goesOn), (reply) => reply.moved, goesOn,
        (reply) => { if (!reply.moved) this.#setBusy(reply.loading ? "loading" : "thinking"); });
      if (!answer) return;
      await Promise.all([this.#kept(answer.game), this.board.play(answer.game.position.last)]);
      if (turn !== this.turn) return this.#learn(answer.game);
      this.#moved(answer.game);
      if (this.isWatched) await wait(PAUSES[byId("speed").value]);
      if (this.turn === turn + 1) this.goOn();
    } catch (error) {
      // The server may have gone on while nobody listened.
      if (turn === this.turn) await (error.status === 409 ? this.#refresh().catch((other) => this.fail(other)) : this.fail(error));
    } finally {
      if (turn === this.turn) this.#setBusy("");
    }
  }

  async #reply(goesOn) {
    const reply = await post(`${this.url}/reply`, { at: this.at });
    if (reply.moved && !goesOn()) this.#learn(reply.game);
    return reply;
  }

  // What an agent is doing: "thinking", "loading", or "" for nothing.
  #setBusy(busy) {
    if (busy === this.busyWith) return;
    this.busyWith = busy;
    if (this.game) this.#showTurn();
    clearTimeout(this.patience);
    if (!busy || this.isWatched) setHidden(byId("stop"), true);
    else this.patience = setTimeout(() => { byId("stop").hidden = !this.busyWith; }, 600);
  }

  #showTurn() {
    showTurn(this.position, this.game.rules.keys, this.people, this.busyWith, this.game.moves[this.at - 1]?.comment);
  }

  async #refresh() {
    const turn = ++this.turn;
    const game = await get(this.url);
    if (turn !== this.turn) return;
    this.#take(game);
    this.goOn();
  }

  // Say what went wrong and show what the server has, or else what the page has.
  async fail(error) {
    if (error.status !== 404) toast(error.message);
    this.turn++;
    this.#setBusy("");
    this.render();
    await this.#return();
  }

  // Come to show the game as it stands on the server, or put it there; one such attempt at a time.
  #return() {
    this.returning ??= this.#catchUp().finally(() => { this.returning = null; });
    return this.returning;
  }

  async #catchUp() {
    const turn = ++this.turn;
    try {
      const game = await get(this.url);
      if (turn === this.turn) this.#take(game);
    } catch (error) {
      if (error.offline) waitForServer(() => this.#comeBack());
      else if (error.status === 404) await this.#bringBack();
    }
  }

  async #comeBack() {
    toast("The server is back.");
    await this.#return();
    this.goOn();
  }

  async #bringBack() {
    try {
      const game = await restore(this.game.id);
      if (!game) throw new Error("The server no longer knows this game.");
      toast("The server was started anew. The game goes on from this page\u2019s own copy.");
      this.open(game);
    } catch (error) {
      toast(error.message);
    }
  }

  // Walk to the position after the first `at` moves.
  async go(at) {
    if (at < 0 || at > this.game.moves.length || at === this.place) return;
    const turn = ++this.turn;
    this.going = { at, turn };
    this.#setBusy("");
    const isNext = at === this.at + 1;
    try {
      const position = at === this.game.moves.length ? this.game.position : await get(`${this.url}/positions/${at}`);
      if (turn !== this.turn) return;
      if (isNext) await this.board.play(position.last);
      if (turn !== this.turn) return;
      Object.assign(this, { at, position });
      this.render();
      announce(`${position.last ? pastOf(position.last, this.people) : "The start"}. ${statusOf(position, this.people)}`);
    } catch (error) {
      this.fail(error);
    }
    if (!this.isWatched) this.goOn();
  }

  async change(path, body = {}) {
    ++this.turn;
    this.#setBusy("");
    try {
      this.open(await this.ask(path, body));
    } catch (error) {
      this.fail(error);
    }
  }

  // End the agent's search; the person may take back, or let it think again.
  async stop() {
    this.turn++;
    this.#setBusy("");
    try {
      this.#take(await post(`${this.url}/stop`));
    } catch (error) {
      this.fail(error);
    }
    this.say("Stopped. Undo, or step on with ▶ to let the agent think again.");
  }

  pause() {
    this.paused = !this.paused;
    this.turn++;
    this.render();
    if (!this.paused && !this.atEnd) this.#take(this.game);
    if (!this.paused) this.goOn();
  }

  render() {
    const { game, at, position, people } = this;
    const { keys } = game.rules;
    this.board.show(position, this.isPersons, people);
    this.#showTurn();
    showPlayers(position, people, game.players, keys.factions_per_player, this.onSeat);
    showPoints(position, people, keys.victory_points, (row) => this.#light(row));
    this.showMoves();
    setDisabled(byId("undo"), game.moves.length === 0);
    for (const id of ["first", "back"]) setDisabled(byId(id), at === 0);
    for (const id of ["forward", "last"]) setDisabled(byId(id), this.atEnd && !(game.waits_for === "agent" && !this.isWatched));
    setDisabled(byId("hint"), !this.isPersons);
    setHidden(byId("watch"), !this.isWatched || Boolean(game.position.outcome && this.atEnd));
    byId("pause").textContent = this.paused ? "Go on" : "Pause";
    this.#explain();
    this.analyse();
    this.onShown();
  }

  showMoves() {
    showMoves(this.game, this.at, (place) => this.go(place), (at, action) => this.change("walk", { at, actions: [action] }));
  }

  // Let closed lanes say why, before anybody asks.
  async #explain() {
    if (!this.isPersons) return;
    const { position } = this;
    const answer = await explain(this.game, this.at).catch(() => null);
    if (answer && position === this.position) this.board.explain(answer.illegal);
  }

  async #light(row) {
    this.lit = row;
    if (!row) return this.board.light(null);
    byId("players").classList.toggle("lit-captured", row === "captured");
    const answer = await explain(this.game, this.at).catch(() => null);
    if (answer && this.lit === row) this.board.light(answer.rows[row]);
  }

  analyse() {
    stopAnalysis();
    this.board.setValues(null);
    this.verdict = "";
    if (!byId("analyse").checked) return;
    const { game, at, board } = this;
    const onFound = (found) => {
      board.setValues(found, this.position.player ? -1 : 1);
      this.verdict = found?.words ?? "";
      this.onJudged();
    };
    const onRegret = (found) => {
      Object.assign(game.moves[at - 1], { regret: found.regret, exact: found.exact });
      this.showMoves();
    };
    analyse(this, onFound, onRegret).catch((error) => toast(error.message));
  }

  // What the strip under the board says.

  say(text, isReason = false) {
    byId("preview").textContent = text;
    byId("preview").classList.toggle("reason", isReason);
  }

  // Say something whenever nothing is looked at; "" for what can be done.
  promptWith(text) {
    this.prompt = text;
    this.board.preview(null);
  }

  // A hint stays until its turn is over; where a lane is looked at, it makes room for a while.
  showHint(words) {
    this.hint = { words, turn: this.turn };
    this.say(words);
  }

  // The move looked at, or what can be done.
  look(move, armed) {
    this.looks++;
    const pass = this.board.moves.find((other) => other.kind === "pass");
    const play = byId("confirm");
    setHidden(play, !(armed || pass));
    play.textContent = pass ? "Pass" : `Play ${move?.name ?? ""}`;
    play.onclick = () => this.move(pass ?? move);
    this.say(move ? `${futureOf(move, this.people)}.` : this.#advice(pass));
  }

  choose(square, steps) {
    this.look(null, false);
    if (square === null) return;
    announce(`${squareName(square)} chosen. It may step to ${steps.map((move) => squareName(move.target)).join(", ")}. `
      + "Go there and press Enter, or Escape to let go.");
  }

  // Why nothing can be played there.
  async closed(cell, chosen, tapped) {
    const { position, looks } = this;
    const answer = await explain(this.game, this.at).catch(() => null);
    if (!answer || position !== this.position || looks !== this.looks) return;
    if (cell.square !== undefined && !tapped && chosen === null) return;
    const words = whyClosed(answer, cell, chosen, position, this.people, this.game.rules.keys.mode !== "storm");
    if (!words) return;
    this.say(words, true);
    if (tapped) announce(words);
  }

  #advice(pass) {
    if (!this.game || this.position?.outcome || this.busyWith) return "";
    if (this.prompt) return this.prompt;
    if (this.hint?.turn === this.turn) return this.hint.words;
    if (pass) return "No move is legal but to pass.";
    if (!this.board.moves.length) return this.atEnd ? "" : "An agent moved here.";
    const again = this.atEnd ? "" : " Another move than the next one starts a variation.";
    if (this.board.selected !== null) return `Choose where it steps. Escape lets go.${again}`;
    const steps = this.board.moves.some((move) => move.kind === "step");
    return `Choose a lane to slide in${steps ? ", or a faction to step" : ""}.${again}`;
  }
}
