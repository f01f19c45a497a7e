// A game looked at as a whole: variations, every move judged, best play, one's own mistakes.

import { get, poll, post } from "./api.js";
import { byId, element } from "./dom.js";
import { graph, isMistake } from "./graph.js";
import { Review } from "./review.js";
import { announce, toast } from "./panel.js";

const SECONDS = 1;

export class Study {
  constructor(play) {
    Object.assign(this, { play, judged: new Map(), asked: 0, lines: new Map() });
    this.review = new Review(play, () => this.show());
    byId("study").addEventListener("click", (event) => {
      const action = event.target.closest("[data-study]")?.dataset.study;
      if (action) this[action]().catch((error) => toast(error.message));
    });
  }

  // What belongs to the position shown; called whenever another one is.
  show() {
    const { game, at } = this.play;
    const line = this.#line();
    const parts = [];
    if (line) {
      parts.push(graph(line.places, at, this.play.people.map((one) => one.name), (place) => this.play.go(place)), verdictOf(line, at));
    }
    if (this.review.text) parts.push(element("p", { className: "review", role: "status", textContent: this.review.text }));
    parts.push(this.#buttons(game, line), this.#bestLine(at), this.#comment(game, at));
    byId("study-parts").replaceChildren(...parts.filter(Boolean));
    this.#showVariations(game);
    this.#showVerdict(line, at);
  }

  // The values found for this very line of moves.
  #line() {
    const { game } = this.play;
    return this.judged.get(`${game.id} ${game.moves.map((move) => move.name)}`);
  }

  #buttons(game, line) {
    const buttons = [];
    const add = (study, textContent) => {
      const made = element("button", { type: "button", textContent });
      made.dataset.study = study;
      made.dataset.key = `study-${study}`;
      buttons.push(made);
    };
    if (game.moves.length && !line?.done) add("judge", line ? `Judging … ${line.judged} of ${line.of}` : "Judge the whole game");
    if (line?.done && !this.review.text && this.#mistakes(line).length) add("startReview", "What was better?");
    if (this.review.text) add("nextMistake", "Next mistake");
    if (this.review.text) add("endReview", "End the review");
    if (!this.play.position.outcome) add("best", "Best line");
    if (!game.is_main) add("promote", "Make this the main line");
    if (game.position.outcome && game.players.includes("human")) add("rematch", "Rematch");
    return element("div", { className: "study-buttons" }, buttons);
  }

  async judge() {
    const { game } = this.play;
    const key = `${game.id} ${game.moves.map((move) => move.name)}`;
    const mine = ++this.asked;
    await poll(() => post(`/games/${game.id}/judge?seconds=${SECONDS}`), (answer) => answer.done,
      () => mine === this.asked && this.play.game.id === game.id,
      (answer) => {
        this.judged.set(key, { ...answer, places: answer.line });
        this.#mark(answer.line);
        this.show();
      });
    const line = this.#line();
    if (line?.done) announce(`The game is judged. ${this.#mistakes(line).length} moves threw points away.`);
  }

  // Regrets into the list of moves.
  #mark(places) {
    const { game } = this.play;
    places.slice(1).forEach((place, index) => {
      if (place && place.regret !== null) Object.assign(game.moves[index], { regret: place.regret, exact: place.regret_exact });
    });
    this.play.showMoves();
  }

  // Moves of persons that threw something away, or of all where no person plays.
  #mistakes(line) {
    const { game } = this.play;
    const persons = game.players.includes("human");
    return game.moves.flatMap((move, index) => (isMistake(line.places[index + 1])
      && (!persons || game.players[move.player] === "human") ? [{ at: index, move, lost: line.places[index + 1].regret }] : []));
  }

  async startReview() {
    await this.review.start(this.#mistakes(this.#line()));
  }

  async nextMistake() {
    await this.review.next();
  }

  async endReview() {
    this.review.end();
  }

  async best() {
    const { game, at, position } = this.play;
    const wanted = () => this.play.position === position;
    const line = await poll(() => get(`/games/${game.id}/best/${at}?seconds=${SECONDS}`), (answer) => answer.done, wanted,
      (answer) => { this.lines.set(position.text, answer); this.show(); });
    if (line) announce(`Best line: ${line.names.join(" ")}`);
  }

  #bestLine(at) {
    const line = this.lines.get(this.play.position.text);
    if (!line) return null;
    const walk = element("button", { type: "button", textContent: "Play it through" });
    walk.dataset.key = "study-walk";
    walk.addEventListener("click", () => this.play.change("walk", { at, actions: line.actions }));
    return element("p", { className: "best-line" }, [
      line.exact ? "Best play: " : "Best play as far as seen: ",
      element("b", { textContent: line.names.join(" ") || "…" }), " ", ...(line.done && line.names.length ? [walk] : [])]);
  }

  async promote() {
    await this.play.change("promote");
  }

  async rematch() {
    await this.play.change("rematch");
  }

  #comment(game, at) {
    if (!at) return null;
    const text = element("textarea", { rows: 1, maxLength: 2000, value: game.moves[at - 1].comment });
    text.setAttribute("aria-label", `Comment on ${game.moves[at - 1].name}`);
    text.placeholder = `Comment on ${game.moves[at - 1].name}`;
    text.addEventListener("change", () => this.play.change("comment", { at: at - 1, text: text.value }));
    return text;
  }

  // Other moves that were made along this line; each leads into its own.
  #showVariations(game) {
    const first = game.position.ply - game.moves.length;
    const items = Object.entries(game.variations ?? {}).flatMap(([at, others]) => others.map((other) => {
      const words = [other.name, ...other.following, ...(other.goes_on ? ["…"] : [])].join(" ");
      const button = element("button", { type: "button", className: "variation", textContent: `${first + Number(at) + 1}. ${words}` });
      button.dataset.key = `variation-${at}-${other.action}`;
      if (other.main) button.append(element("small", { textContent: "main line" }));
      button.addEventListener("click", () => this.play.change("walk", { at: Number(at), actions: [other.action] }));
      return element("li", {}, [button]);
    }));
    byId("variations").hidden = !items.length;
    byId("variations").querySelector("ul").replaceChildren(...items);
  }

  // Under the board, where a phone shows it too.
  #showVerdict(line, at) {
    const place = line?.places[at];
    const words = place?.words ? `${this.play.people[this.play.position.player].name} ${youForm(place.words, this.play)}` : "";
    byId("verdict").textContent = words;
    byId("verdict").hidden = !words;
  }
}

// "You win by 2", where others win.
const youForm = (words, play) => (play.people[play.position.player].you
  ? words.replace(/^(win|lose|draw)s/, "$1").replace(/^(ahead|behind|level)/, "are $1") : words.replace(/^(ahead|behind|level)/, "is $1"));

function verdictOf(line, at) {
  const place = line.places[at];
  if (!at || !place || place.regret === null) return null;
  const words = place.regret ? `threw away ${place.regret} ${place.regret === 1 ? "point" : "points"}` : "was a best move";
  return element("p", { className: "quiet", textContent: `This move ${words}${place.regret_exact ? "." : ", as far as the search sees."}` });
}
