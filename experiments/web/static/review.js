// One's own mistakes, one after another: what was better here?

import { get, poll } from "./api.js";
import { byId } from "./dom.js";
import { announce } from "./panel.js";

export class Review {
  constructor(play, onChange) {
    Object.assign(this, { play, onChange, line: "", mistakes: [], index: 0, text: "" });
    play.answer = (move) => this.#answer(move);
  }

  // Begin with the mistakes of a line of moves, by its key.
  async start(line, mistakes) {
    Object.assign(this, { line, mistakes, index: -1 });
    await this.next();
  }

  // Where another line is shown there is nothing to review.
  check(line) {
    if (line === this.line) return;
    if (this.text) this.play.promptWith("");
    Object.assign(this, { line: "", mistakes: [], text: "" });
  }

  async next() {
    this.index++;
    const mistake = this.mistakes[this.index];
    if (!mistake) return this.end();
    await this.play.go(mistake.at);
    byId("board").scrollIntoView({ block: "nearest" });
    this.#say(`Mistake ${this.index + 1} of ${this.mistakes.length}: ${mistake.move.name} threw away ${mistake.lost}. `
      + "What was better here? Try a move.");
  }

  end() {
    Object.assign(this, { mistakes: [], text: "" });
    this.play.promptWith("");
    this.onChange();
  }

  // Beside the graph, and under the board where the answer is given.
  #say(text) {
    this.text = text;
    this.play.promptWith(text);
    this.onChange();
    announce(text);
  }

  // A move tried in review is judged and not made; whether this was such a move.
  #answer(move) {
    const mistake = this.text && this.mistakes[this.index];
    if (!mistake || this.play.at !== mistake.at) return false;
    this.#judge(move, mistake).catch((error) => this.play.fail(error));
    return true;
  }

  async #judge(move, mistake) {
    const { game, at } = this.play;
    const { found } = await poll(() => get(`/games/${game.id}/analysis/${at}`), (answer) => answer.done, () => true);
    const lost = found.regrets[move.action];
    const end = found.exact ? "." : ", as far as the search sees.";
    if (lost === 0) this.#say(`Yes, ${move.name} is best${end}`);
    else if (lost < mistake.lost) this.#say(`${move.name} is better than ${mistake.move.name}, but throws away ${lost}${end} Try another.`);
    else this.#say(`${move.name} throws away ${lost}${end} Try another.`);
  }
}
