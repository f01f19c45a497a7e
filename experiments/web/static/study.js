// A game looked at as a whole: every move judged, best play, one's own mistakes, comments.

import { get, poll, post } from "./api.js";
import { byId, element, keyed } from "./dom.js";
import { home } from "./focus.js";
import { graph, isMistake, placeAt } from "./graph.js";
import { Review } from "./review.js";
import { announce, toast } from "./panel.js";
import { verdictOf } from "./words.js";

const SECONDS = 1;
const BUTTONS = {
  judge: "Judge the whole game", startReview: "What was better?", nextMistake: "Next mistake", endReview: "End the review",
  best: "Best line", walk: "Play it through", promote: "Make this the main line", rematch: "Rematch",
};

export class Study {
  constructor(play) {
    Object.assign(this, { play, judged: new Map(), asked: 0, lines: new Map(), commented: { id: "", at: 0 } });
    this.review = new Review(play, () => this.show());
    play.onJudged = () => this.#showVerdict();
    // Nothing that is clicked is made anew, or a click that comes just then would be lost.
    this.buttons = Object.entries(BUTTONS).map(([name, textContent]) => {
      const button = keyed(element("button", { type: "button", name, textContent }), `study-${name}`);
      button.addEventListener("click", () => this[name]().catch((error) => toast(error.message)));
      return button;
    });
    byId("study-buttons").append(...this.buttons);
    byId("graph").addEventListener("click", (event) => play.go(placeAt(event, byId("graph"), play.game.moves.length + 1)));
    byId("comment").addEventListener("change", () => this.#comment());
    byId("comment").addEventListener("blur", () => this.#showComment());
  }

  // What belongs to the position shown; called whenever another one is.
  show() {
    const { game, at } = this.play;
    const line = this.#line();
    this.review.check(this.#key());
    const names = this.play.people.map((one) => one.name);
    byId("graph").hidden = !line;
    byId("graph").replaceChildren(...(line ? [graph(line.places, at, names)] : []));
    byId("study-words").replaceChildren(...[line && costOf(line, at), this.#reviewed(), this.#bestLine()].filter(Boolean));
    this.#showButtons(game, line);
    this.#showComment();
    this.#showVerdict();
  }

  // The line of moves shown.
  #key() {
    const { game } = this.play;
    return `${game.id} ${game.moves.map((move) => move.name)}`;
  }

  // The values found for this very line.
  #line() {
    return this.judged.get(this.#key());
  }

  #showButtons(game, line) {
    const reviews = Boolean(this.review.text);
    const shown = {
      judge: game.moves.length > 0 && !line?.done,
      startReview: line?.done && !reviews && this.#mistakes(line).length > 0,
      nextMistake: reviews,
      endReview: reviews,
      best: !this.play.position.outcome,
      walk: this.#best?.done && this.#best.names.length > 0,
      promote: !game.is_main,
      rematch: game.position.outcome && game.players.includes("human"),
    };
    this.buttons[0].textContent = line ? `Judging … ${line.judged} of ${line.of}` : BUTTONS.judge;
    const used = this.buttons.find((button) => button === document.activeElement);
    for (const button of this.buttons) button.hidden = !shown[button.name];
    if (used?.hidden) (this.buttons.find((button) => !button.hidden) ?? home()).focus({ preventScroll: true });
  }

  async judge() {
    const { game } = this.play;
    const key = this.#key();
    const mine = ++this.asked;
    await poll(() => post(`/games/${game.id}/judge?seconds=${SECONDS}`), (answer) => answer.done,
      () => mine === this.asked && this.#key() === key,
      (answer) => {
        this.judged.set(key, { ...answer, places: answer.line });
        this.#mark(answer.line);
        this.show();
      });
    const line = this.#line();
    if (mine === this.asked && line?.done) announce(`The game is judged. Moves that threw points away: ${this.#mistakes(line).length}.`);
  }

  // Regrets into the list of moves.
  #mark(places) {
    const told = places.slice(1).map((place, index) => [place, this.play.game.moves[index]])
      .filter(([place, move]) => place && place.regret !== null && (move.regret !== place.regret || move.exact !== place.regret_exact));
    for (const [place, move] of told) Object.assign(move, { regret: place.regret, exact: place.regret_exact });
    if (told.length) this.play.showMoves();
  }

  // Moves of persons that threw something away, or of all where no person plays.
  #mistakes(line) {
    const { game } = this.play;
    const persons = game.players.includes("human");
    return game.moves.flatMap((move, index) => (isMistake(line.places[index + 1])
      && (!persons || game.players[move.player] === "human") ? [{ at: index, move, lost: line.places[index + 1].regret }] : []));
  }

  async startReview() {
    await this.review.start(this.#key(), this.#mistakes(this.#line()));
  }

  async nextMistake() {
    await this.review.next();
  }

  async endReview() {
    this.review.end();
  }

  async best() {
    const { game, at } = this.play;
    const place = this.#place;
    const wanted = () => this.#place === place;
    const line = await poll(() => get(`/games/${game.id}/best/${at}?seconds=${SECONDS}`), (answer) => answer.done, wanted,
      (answer) => { this.lines.set(place, answer); this.show(); });
    if (line) announce(`Best line: ${line.names.join(" ")}`);
  }

  get #place() {
    return `${this.play.game.id} ${this.play.position.text}`;
  }

  // The best line found from the position shown.
  get #best() {
    return this.lines.get(this.#place);
  }

  #bestLine() {
    const line = this.#best;
    return line && element("p", { className: "best-line" }, [
      line.exact ? "Best play: " : "Best play as far as seen: ", element("b", { textContent: line.names.join(" ") || "…" })]);
  }

  #reviewed() {
    return this.review.text && element("p", { className: "review", textContent: this.review.text });
  }

  async walk() {
    await this.play.change("walk", { at: this.play.at, actions: this.#best.actions });
  }

  async promote() {
    await this.play.change("promote");
  }

  async rematch() {
    await this.play.change("rematch");
  }

  // A comment that is being written stays that of its move, whatever is shown meanwhile.
  #showComment() {
    const { game, at } = this.play;
    const box = byId("comment");
    if (document.activeElement === box && this.commented.id === game.id) return;
    this.commented = { id: game.id, at };
    box.hidden = !at;
    if (!at) return;
    const { name, comment } = game.moves[at - 1];
    box.value = comment;
    box.placeholder = `Comment on ${name}`;
    box.setAttribute("aria-label", box.placeholder);
  }

  #comment() {
    const { at } = this.commented;
    const move = this.play.game.moves[at - 1];
    if (!move) return;
    move.comment = byId("comment").value;
    this.play.annotate("comment", { at: at - 1, text: move.comment });
  }

  // Under the board, where a phone shows it too.
  #showVerdict() {
    const { at, position, people, verdict } = this.play;
    const place = this.#line()?.places[at];
    const words = (place?.exact && place.words) || verdict || place?.words;
    byId("verdict").textContent = words && !position.outcome ? verdictOf(words, people[position.player]) : "";
    byId("verdict").hidden = !byId("verdict").textContent;
  }
}

function costOf(line, at) {
  const place = line.places[at];
  if (!at || !place || place.regret === null) return null;
  const words = place.regret ? `threw away ${place.regret} ${place.regret === 1 ? "point" : "points"}` : "was a best move";
  return element("p", { className: "quiet", textContent: `This move ${words}${place.regret_exact ? "." : ", as far as the search sees."}` });
}
