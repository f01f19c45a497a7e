// The game shown: walking through it, moves of persons and agents, what stands beside the board.

import { analyse, stopAnalysis } from "./analysis.js";
import { get, poll, post } from "./api.js";
import { showMoves } from "./moves.js";
import { announce, showHead, showPlayers, showPoints, showTurn, toast } from "./panel.js";

const byId = (id) => document.getElementById(id);
const PAUSES = [2500, 1500, 800, 300, 0];

const wait = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

export class Play {
  constructor(board, onSeat) {
    Object.assign(this, { board, onSeat, game: null, at: 0, turn: 0, paused: false, thinking: false });
  }

  get url() {
    return `/games/${this.game.id}`;
  }

  get atEnd() {
    return this.at === this.game.moves.length;
  }

  get isWatched() {
    return !this.game.players.includes("human");
  }

  // Show a game from the server as it stands, and let it go on.
  open(game) {
    this.paused = false;
    this.#address(game.id);
    showHead(game);
    this.#take(game);
    announce(game.position.status);
    this.goOn();
  }

  // The game is in the address, so that the browser's Back leads to the one before it.
  #address(id) {
    const { hash } = location;
    if (hash !== `#${id}`) history[hash ? "pushState" : "replaceState"](null, "", `#${id}`);
  }

  #take(game) {
    this.turn++;
    this.game = game;
    this.at = game.moves.length;
    this.position = game.position;
    this.thinking = false;
    this.render();
  }

  // A person's move on the position shown.
  async move(move) {
    if (this.busy) return;
    this.busy = true;
    const turn = ++this.turn;
    try {
      const [game] = await Promise.all([post(`${this.url}/moves`, { at: this.at, action: move.action }), this.board.play(move)]);
      if (turn === this.turn) this.#moved(game);
    } catch (error) {
      this.fail(error);
    } finally {
      this.busy = false;
    }
    this.goOn();
  }

  #moved(game) {
    this.#take(game);
    announce(`${game.position.last.words}. ${game.position.status}`);
  }

  // Let agents move until a person is to move, the game is over, or something else happens.
  async goOn() {
    const turn = this.turn;
    const goesOn = () => turn === this.turn && !(this.isWatched && this.paused);
    if (!goesOn() || this.game.waits_for !== "agent" || !this.atEnd) return;
    this.#setThinking(true);
    try {
      const answer = await poll(() => post(`${this.url}/reply`, { at: this.at }), (reply) => reply.moved, goesOn);
      if (!answer) return;
      await this.board.play(answer.game.position.last);
      if (turn !== this.turn) return;
      this.#moved(answer.game);
      if (this.isWatched) await wait(PAUSES[byId("speed").value]);
      if (this.turn === turn + 1) this.goOn();
    } catch (error) {
      // The server may have gone on while nobody listened.
      if (turn === this.turn) await (error.status === 409 ? this.#refresh().catch((other) => this.fail(other)) : this.fail(error));
    } finally {
      if (turn === this.turn) this.#setThinking(false);
    }
  }

  #setThinking(thinking) {
    this.thinking = thinking;
    this.#showTurn();
    clearTimeout(this.patience);
    byId("stop").hidden = true;
    if (thinking && !this.isWatched) this.patience = setTimeout(() => { byId("stop").hidden = !this.thinking; }, 600);
  }

  #showTurn() {
    showTurn(this.position, this.game.rules.keys, this.thinking, this.game.moves[this.at - 1]?.comment);
  }

  async #refresh() {
    const turn = ++this.turn;
    const game = await get(this.url);
    if (turn !== this.turn) return;
    this.#take(game);
    this.goOn();
  }

  // Say what went wrong and show what the server has.
  async fail(error) {
    toast(error.message);
    const turn = ++this.turn;
    this.#setThinking(false);
    try {
      const game = await get(this.url);
      if (turn === this.turn) this.#take(game);
    } catch { /* The message is on the screen. */ }
  }

  // Walk to the position after the first `at` moves.
  async go(at) {
    if (at < 0 || at > this.game.moves.length || at === this.at) return;
    const turn = ++this.turn;
    this.#setThinking(false);
    const isNext = at === this.at + 1;
    try {
      const position = at === this.game.moves.length ? this.game.position : await get(`${this.url}/positions/${at}`);
      if (turn !== this.turn) return;
      if (isNext) await this.board.play(position.last);
      if (turn !== this.turn) return;
      Object.assign(this, { at, position });
      this.render();
      announce(`${position.last?.words ?? "The start"}. ${position.status}`);
    } catch (error) {
      this.fail(error);
    }
    if (!this.isWatched) this.goOn();
  }

  async change(path, body) {
    ++this.turn;
    this.#setThinking(false);
    try {
      this.open(await post(`${this.url}/${path}`, body));
    } catch (error) {
      this.fail(error);
    }
  }

  // End the agent's search; the person may take back, or let it think again.
  async stop() {
    this.turn++;
    this.#setThinking(false);
    try {
      this.#take(await post(`${this.url}/stop`));
    } catch (error) {
      this.fail(error);
    }
    byId("preview").textContent = "Stopped. Undo, or step on with ▶ to let the agent think again.";
  }

  pause() {
    this.paused = !this.paused;
    this.turn++;
    this.render();
    if (!this.paused && !this.atEnd) this.#take(this.game);
    if (!this.paused) this.goOn();
  }

  render() {
    const { game, at, position } = this;
    const isPersons = game.players[position.player] === "human" && !position.outcome;
    this.board.show(position, isPersons);
    this.#showTurn();
    showPlayers(position, game.players, game.rules.keys.factions_per_player, this.onSeat);
    showPoints(position);
    showMoves(game, at, (place) => this.go(place));
    byId("undo").disabled = game.moves.length === 0;
    byId("first").disabled = byId("back").disabled = at === 0;
    byId("forward").disabled = byId("last").disabled = this.atEnd && !(game.waits_for === "agent" && !this.isWatched);
    byId("watch").hidden = !this.isWatched || Boolean(game.position.outcome && this.atEnd);
    byId("pause").textContent = this.paused ? "Go on" : "Pause";
    this.analyse();
  }

  analyse() {
    stopAnalysis();
    this.board.setValues(null);
    if (!byId("analyse").checked) return;
    const { game, at } = this;
    analyse(game, at, this.position, this.board, (found) => {
      Object.assign(game.moves[at - 1], { regret: found.regret, exact: found.exact });
      showMoves(game, this.at, (place) => this.go(place));
    }).catch((error) => toast(error.message));
  }

  // What the strip under the board says: the move looked at, or what can be done.
  hint(move, armed) {
    const pass = this.board.moves.find((other) => other.kind === "pass");
    const play = byId("confirm");
    play.hidden = !(armed || pass);
    play.textContent = pass ? "Pass" : `Play ${move?.name ?? ""}`;
    play.onclick = () => this.move(pass ?? move);
    byId("preview").textContent = move ? `${move.promise}.` : this.#advice(pass);
  }

  #advice(pass) {
    if (!this.game || this.position?.outcome || this.thinking) return "";
    if (pass) return "No move is legal but to pass.";
    if (!this.board.moves.length) return this.atEnd ? "" : "An agent moved here.";
    const again = this.atEnd ? "" : " Later moves will be taken back.";
    if (this.board.selected !== null) return `Choose where it steps. Escape lets go.${again}`;
    const steps = this.board.moves.some((move) => move.kind === "step");
    return `Choose a lane to slide in${steps ? ", or a faction to step" : ""}.${again}`;
  }
}
