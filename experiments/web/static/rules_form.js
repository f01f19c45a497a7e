// A ruleset as a form. The server checks it; here is only which keys there are.

import { element } from "./dom.js";

const POINTS = ["captured", "besieging", "contact", "controlled", "survivor"];

export class RulesForm {
  constructor(keys, choices, onChange) {
    this.strongholds = keys.strongholds;
    this.squares = keys.victory_points.squares;
    this.onChange = onChange;
    this.fields = new Map();
    const points = keys.victory_points;
    this.root = element("div", { className: "rules" }, [
      this.#text("name", keys.name),
      this.#choice("mode", choices.mode, keys.mode),
      this.#number("factions_per_player", keys.factions_per_player, 1),
      element("div", { className: "only-sudden-death" }, [
        this.#number("max_plies", keys.max_plies, 1),
        this.#choice("entry_lanes", choices.entry_lanes, keys.entry_lanes),
        this.#choice("entry_style", choices.entry_style, keys.entry_style),
      ]),
      this.#check("steps_must_push", keys.steps_must_push),
      this.#choice("capture_credit", choices.capture_credit, keys.capture_credit),
      element("fieldset", { className: "vp" }, [element("legend", { textContent: "Victory Points for each" }),
        ...POINTS.map((name) => this.#number(name, points[name], -100))]),
      this.#squares(points.squares),
    ]);
    this.#fit();
  }

  setStrongholds(rows) {
    this.strongholds = rows;
    this.#changed();
  }

  // All keys as the server takes them; in storm those that follow from others are left out.
  keys() {
    const value = (name) => this.fields.get(name)();
    const storm = value("mode") === "storm";
    const own = storm ? [] : ["max_plies", "entry_lanes", "entry_style"];
    const names = ["name", "mode", "factions_per_player", "steps_must_push", "capture_credit", ...own];
    const points = Object.fromEntries(POINTS.map((name) => [name, value(name)]));
    if (this.squares) points.squares = this.squares;
    return { ...Object.fromEntries(names.map((name) => [name, value(name)])), strongholds: this.strongholds, victory_points: points };
  }

  #fit() {
    this.root.classList.toggle("storm", this.fields.get("mode")() === "storm");
  }

  #changed() {
    this.#fit();
    if (!this.renamed) {
      this.renamed = true;
      const name = this.root.querySelector("[name=name]");
      if (!name.value.startsWith("my ")) name.value = `my ${name.value}`;
    }
    this.onChange();
  }

  #field(name, input, read) {
    input.name = name;
    this.fields.set(name, () => read(input));
    input.addEventListener("change", () => this.#changed());
    return element("label", { className: input.type === "checkbox" ? "check" : "" }, [`${name.replaceAll("_", " ")} `, input]);
  }

  #text(name, value) {
    return this.#field(name, element("input", { value, maxLength: 60 }), (input) => input.value);
  }

  #number(name, value, min) {
    return this.#field(name, element("input", { type: "number", value, min }), (input) => Number(input.value));
  }

  #check(name, checked) {
    return this.#field(name, element("input", { type: "checkbox", checked }), (input) => input.checked);
  }

  #choice(name, names, value) {
    const select = element("select", {}, names.map((text) => element("option", { value: text, textContent: text.replaceAll("_", " ") })));
    select.value = value;
    return this.#field(name, select, () => select.value);
  }

  #squares(squares) {
    const area = element("textarea", { rows: 6, spellcheck: false, value: squares?.map((row) => row.join(" ")).join("\n") ?? "" });
    area.addEventListener("change", () => {
      const rows = area.value.trim().split("\n").map((row) => row.trim().split(/[\s,]+/).map(Number));
      this.squares = area.value.trim() ? rows.map((row) => row.map((cell) => (Number.isFinite(cell) ? cell : "?"))) : undefined;
      this.#changed();
    });
    return element("details", { open: Boolean(squares) }, [element("summary", { textContent: "Victory Points of squares" }),
      element("label", {}, ["Six lines of six numbers, rank 6 first; empty for none ", area])]);
  }
}
