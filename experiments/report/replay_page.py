"""A game as one HTML page to click through, with everything that it needs inside."""

from html import escape
from pathlib import Path
from string import Template
from typing import Final

from agents.runs import write_text_atomic
from castle_env.board import PLAYER_NAMES
from castle_env.drawing import draw_board
from castle_env.game_record import NO_NOTE, GameRecord, Note
from castle_env.pieces import FACES
from castle_env.svg import svg_of_scene
from castle_env.view import View, last_move_text, status_text, view_position
from experiments.play.replay_pictures import Frame, frames

_PAGE: Final = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light dark; --ink: #23272f; --quiet: #5f6672; --paper: #f6f4ef;
  --card: #fff; --rule: #d8d3c6; --lit: #f7dc94; --on-lit: #23272f; }
@media (prefers-color-scheme: dark) { :root { --ink: #eceae4; --quiet: #a9afb9;
  --paper: #1b1e23; --card: #262a31; --rule: #3c424c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 90rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.45 Helvetica, Arial, sans-serif; }
h1 { font-size: 1.3rem; margin: 0; }
h1 i { font-style: normal; }
h1 i::before, dt::before { content: ""; display: inline-block; width: .7em; height: .7em;
  margin-right: .35em; background: $blue; border-radius: 50%; }
h1 i:last-of-type::before, dl div:last-of-type dt::before { background: $red; border-radius: 0;
  rotate: 45deg; }
h1 i:last-of-type::before { margin-left: .35em; }
p { margin: .2rem 0; color: var(--quiet); overflow-wrap: anywhere; }
main { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 1rem; }
#board { flex: 3 1 32rem; min-width: 0; }
figure { margin: 0; display: flex; flex-wrap: wrap; align-items: flex-start; gap: 1rem; }
figure[hidden] { display: none; }
figure svg { flex: 3 1 18rem; width: 100%; max-width: max(18rem, 100vh - 7rem); height: auto;
  min-width: 0; border-radius: .5rem; }
figure > div { flex: 1 1 13rem; overflow-wrap: anywhere; }
figure svg text { font-size: 19px; }
dl { margin: 0; display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
  gap: .6rem; }
dt { font-weight: bold; }
dd { margin: 0; color: var(--quiet); }
dd b { color: var(--ink); font-size: 1.5rem; }
#side { flex: 1 1 17rem; display: flex; flex-direction: column; min-width: 0; }
nav { display: flex; gap: .4rem; }
button { font: inherit; color: inherit; border: 1px solid var(--rule); border-radius: .4rem;
  background: var(--card); cursor: pointer; }
nav button { flex: 1; min-height: 2.75rem; }
button:disabled { opacity: .45; cursor: default; }
button:focus-visible { outline: 3px solid $blue; outline-offset: 1px; }
#note { min-height: 3rem; padding: .6rem 0; color: var(--ink); white-space: pre-wrap; }
ol { list-style: none; margin: 0; padding: 0; max-height: 30rem; overflow-y: auto;
  position: relative; }
li button { display: grid; grid-template-columns: 2.2rem 1.2rem 3.5rem 4rem 1fr; gap: .3rem;
  width: 100%; padding: .3rem .5rem; text-align: left; border-color: transparent;
  background: none; }
li button[aria-current] { background: var(--lit); color: var(--on-lit); }
li small { overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.value { text-align: right; font-variant-numeric: tabular-nums; }
</style>
</head>
<body>
<header>
<h1><i>$first</i> against <i>$second</i></h1>
$about
</header>
<main>
<div id="board">
$figures
</div>
<div id="side">
<nav aria-label="Steps through the game">
<button id="first" title="First position (Home)">First</button>
<button id="back" title="Back (left arrow)">Back</button>
<button id="next" title="Next (right arrow)">Next</button>
<button id="last" title="Last position (End)">Last</button>
</nav>
<p id="note" aria-live="polite"></p>
<ol id="moves">
$moves
</ol>
$legend
</div>
</main>
<script>
const figures = [...document.querySelectorAll("figure")];
const moves = [...document.querySelectorAll("#moves button")];
const button = id => document.getElementById(id);
let at = -1;
function show(index) {
  index = Math.max(0, Math.min(figures.length - 1, index));
  if (index === at) return;
  at = index;
  figures.forEach((figure, i) => { figure.hidden = i !== at; });
  moves.forEach((move, i) => {
    if (i === at) move.setAttribute("aria-current", "step");
    else move.removeAttribute("aria-current");
  });
  const list = button("moves"), row = moves[at].parentElement;
  if (row.offsetTop < list.scrollTop) list.scrollTop = row.offsetTop;
  const below = row.offsetTop + row.offsetHeight - list.clientHeight;
  if (below > list.scrollTop) list.scrollTop = below;
  button("note").textContent = figures[at].dataset.note;
  button("first").disabled = button("back").disabled = at === 0;
  button("next").disabled = button("last").disabled = at === figures.length - 1;
}
const steps = { first: () => 0, back: () => at - 1, next: () => at + 1,
                last: () => figures.length - 1 };
const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" };
for (const id in steps) button(id).addEventListener("click", () => show(steps[id]()));
moves.forEach((move, i) => move.addEventListener("click", () => show(i)));
addEventListener("keydown", event => {
  if (!(event.key in keys) || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  show(steps[keys[event.key]]());
});
show(0);
</script>
</body>
</html>
""")


def write_page(record: GameRecord, path: Path) -> None:
    """Write the page whole or not at all; raises `RunError`."""
    write_text_atomic(path, page(record))


def page(record: GameRecord) -> str:
    """HTML text of the page; whatever people wrote in the game is shown as plain text."""
    states = record.states()
    notes = (NO_NOTE, *map(record.note, range(record.plies)))
    points = [record.game.victory_points(state) for state in states]
    return _PAGE.substitute(
        title=escape(f"{record.players[0]} against {record.players[1]}"),
        first=escape(record.players[0]), second=escape(record.players[1]),
        blue=FACES[0], red=FACES[1],
        about="\n".join(f"<p>{escape(line)}</p>" for line in _about(record)),
        figures="\n".join(
            f'<figure data-note="{escape(_note(note, pair))}">{_figure(record, frame)}</figure>'
            for note, pair, frame in zip(notes, points, frames(record), strict=True)),
        moves="\n".join(_row(record, index) for index in range(len(states))),
        legend="<p>The numbers are values: the first player's margin in Victory Points that a move "
               "leads to.</p>" if any(note.value is not None for note in notes) else "",
    )


def _figure(record: GameRecord, frame: Frame) -> str:
    """A board, and beside it, or beneath it on a narrow screen, what both players have."""
    view = view_position(*frame)
    players = "\n".join(_player(view, player, name) for player, name in enumerate(record.players))
    ply = f"Ply {frame[1].ply} of {record.rules.max_plies}: {last_move_text(view.last_move)}."
    return (f"{svg_of_scene(draw_board(*frame))}<div><p>{status_text(view)}</p>\n"
            f"<dl>\n{players}\n</dl>\n<p>{ply}</p></div>")


def _player(view: View, player: int, name: str) -> str:
    points = " · ".join(f"{row} {both[player]}" for row, both in view.points.items())
    return (f"<div><dt>{escape(name)}</dt><dd>{PLAYER_NAMES[player]}<br>"
            f"<b>{view.totals[player]} VP</b><br>{points}<br>"
            f"in hand {view.hands[player]}, captured {view.captures[player]}</dd></div>")


def _about(record: GameRecord) -> list[str]:
    facts = [record.rules.name, record.date, "" if record.seed is None else f"seed {record.seed}",
             "" if record.outcome else "unfinished"]
    return [line for line in (", ".join(filter(None, facts)), record.comment) if line]


def _note(note: Note, points: tuple[int, int]) -> str:
    """Victory Points, and what the record says of the move that led here."""
    lines = [f"Victory Points {points[0]} to {points[1]}"]
    if note.value is not None:
        lines[0] += f", value {note.value:+g}"
    if note.comment:
        lines.append(note.comment)
    return "\n".join(lines)


def _row(record: GameRecord, index: int) -> str:
    """A line of the list of moves; the first stands for the start."""
    ply = record.states()[index].ply
    if index == 0:
        cells = [str(ply), "", "start", "", ""]
    else:
        note = record.note(index - 1)
        cells = [str(ply), "BA"[ply & 1], record.game.format_action(record.actions[index - 1]),
                 "" if note.value is None else f"{note.value:+g}", note.comment]
    number, player, name, value, comment = map(escape, cells)
    return (f"<li><button><span>{number}</span><span>{player}</span><b>{name}</b>"
            f'<span class="value">{value}</span><small>{comment}</small></button></li>')
