"""A person's commands at a game in the terminal, and what they answer."""

from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Final

from agents.runs import RunError, check_writable, write_text_atomic
from agents.solve.analysis import analyse_moves
from agents.solve.move_values import MoveValues, in_words
from castle_env import ActionError, Agent, CastleError, IllegalActionError, OptionError
from castle_env.ansi import draw_ansi
from castle_env.board import ACTION_NUMBERS, PASS
from castle_env.game_file import format_game
from castle_env.game_record import GameRecord
from experiments.play.game_in_play import HUMAN, GameInPlay
from experiments.play.games_file import Save
from experiments.play.terminal import WIDTH, Terminal, interruptible

HELP: Final = """\
W3, c3c4    play this move: a slide onto a lane from north, south, west or east, or
            a step from square to square; or its number in `moves`
moves       all legal moves with their numbers
hint        a best move
why         the value of every move
undo        back to your last choice
board       the position again (the same: an empty line)
save FILE   write the game to a new file
new         leave this game and begin another
help        this list
quit        leave (the same: the end of the input)"""


class Dialogue:
    """Reads commands and carries them out until the person quits or the input ends.

    agents: who chooses for players 0 and 1, None for a person. However the dialogue ends, by Ctrl-C
    too, games that were begun are handed to `save`. `seconds` bound the analysis of a position, and
    `pause` is the time between moves where no person plays.
    """

    def __init__(
        self, live: GameInPlay, agents: tuple[Agent | None, Agent | None], terminal: Terminal,
        save: Save, seconds: float, pause: float,
    ) -> None:
        self._live = live
        self._agents: Final = agents
        self._terminal: Final = terminal
        self._save: Final = save
        self._seconds: Final = seconds
        self._pause: Final = pause
        self._written: Final = set[Path]()
        self._wrong: Final = list[str]()
        self._commands: Final[dict[str, Callable[[], None]]] = {
            "moves": self._list_moves, "hint": self._hint, "why": self._why, "undo": self._undo,
            "board": self._show, "": self._show, "new": self._begin, "help": self._help}

    def run(self) -> None:
        """Play."""
        try:
            self._show()
            self._go_on()
            while (line := self._terminal.ask(self._prompt())) is not None:
                if line.strip().lower() in ("quit", "exit", "q"):
                    break
                self._obey(line)
        finally:
            self._keep()

    def check_input(self) -> None:
        """Raise `OptionError` if lines of a piped input were wrong."""
        if self._wrong and not self._terminal.interactive:
            raise OptionError(f"lines of the input that changed nothing: {len(self._wrong)}, the "
                              f"first {self._wrong[0][:80]!r}; allowed: what `help` lists")

    # Commands

    def _obey(self, line: str) -> None:
        """Carry out a command; one that is wrong gets a message and changes nothing."""
        words = line.split(maxsplit=1)
        name = words[0].lower() if words else ""
        try:
            if name == "save":
                self._write(words[1].strip() if len(words) > 1 else "")
            elif len(words) < 2 and name in self._commands:
                self._commands[name]()
            else:
                self._play(self._action(line.strip()))
                self._show()
                self._go_on()
        except CastleError as error:
            self._wrong.append(line.strip())
            self._terminal.tell(str(error))

    def _play(self, action: int) -> None:
        """Make a move; raises `IllegalActionError` that says what stands in its way."""
        game = self._live.game
        reason = game.why_illegal(self._live.state, action)
        if reason is not None:
            raise IllegalActionError(f"{game.format_action(action)} is illegal: {reason}; allowed: "
                                     "what `moves` lists")
        self._live.play(action)

    def _action(self, text: str) -> int:
        """The action of a move or of its number; raises `ActionError`."""
        game = self._live.game
        legal = game.legal_actions(self._live.state)
        if text.isascii() and text.isdigit():
            if not 1 <= int(text[:9]) <= len(legal) or len(text) > 9:
                raise ActionError(f"no move has number {text!r}; allowed: "
                                  + (f"1 to {len(legal)}" if legal else "none, the game is over"))
            return legal[int(text) - 1]
        names = {name.lower(): name for name in ACTION_NUMBERS}
        try:
            return game.parse_action(names.get(text.lower(), text))
        except ActionError as error:
            raise ActionError(f"{error}, or a command, which `help` lists") from None

    def _list_moves(self) -> None:
        game = self._live.game
        names = map(game.format_action, game.legal_actions(self._live.state))
        self._terminal.say(columns([f"{number:>2} {name}" for number, name in enumerate(names, 1)])
                           or "No moves: the game is over.")

    def _hint(self) -> None:
        values, player = self._values(), self._live.state.ply & 1
        action = values.best_actions[0]
        self._terminal.tell(f"{self._live.game.format_action(action)}: {'AB'[player]} "
                            f"{in_words(values.values[action], values.depth)}")

    def _why(self) -> None:
        values, player = self._values(), self._live.state.ply & 1
        best = values.best_actions
        self._terminal.say(f"{'AB'[player]} {in_words(values.best_value, values.depth)}.")
        ranked = sorted(values.values, key=lambda action: values.regret(action))
        self._terminal.say(f"Margin for {'AB'[player]} in VP after each move, the best with *: "
                           f"{_certainty(values)}")
        self._terminal.say(columns([
            f"{self._live.game.format_action(action):<4} {values.values[action]:>+3}"
            f"{'*' if action in best else ''}" for action in ranked]))

    def _undo(self) -> None:
        taken = self._live.undo()
        self._show()
        self._terminal.say(f"Taken back: {taken} {'ply' if taken == 1 else 'plies'}")

    def _begin(self) -> None:
        self._keep()
        self._live = self._live.another()
        self._show()
        self._go_on()

    def _help(self) -> None:
        self._terminal.say(HELP)

    def _write(self, name: str) -> None:
        """Write the game to a file that is new, or that was written before in this dialogue."""
        path = Path(name).expanduser()
        if not name:
            raise OptionError("save needs the name of a file, as in: save game.castle")
        if path.exists() and path.resolve() not in self._written:
            raise RunError(f"{name!r} exists already and is left as it is; choose another name")
        check_writable(path)
        write_text_atomic(path, format_game(self._live.whole()))
        self._written.add(path.resolve())
        self._terminal.say(f"Saved: {path}")

    # Inside

    def _go_on(self) -> None:
        """Make the moves that are no choice of a person's."""
        live = self._live
        while not live.is_over and not live.awaits_choice():
            if HUMAN not in live.players and self._terminal.is_screen:
                sleep(self._pause)
            live.play(PASS if live.is_forced else self._agents_choice())
            self._show()

    def _agents_choice(self) -> int:
        turn = self._live.turn()
        agent = self._agents[turn.state.ply & 1]
        assert agent is not None
        with self._terminal.sign(f"{'AB'[turn.state.ply & 1]} is thinking"):
            return interruptible(lambda: turn.choose(agent))

    def _values(self) -> MoveValues:
        with self._terminal.sign("analysing") as tell:
            return analyse_moves(self._live.game, self._live.state, seconds=self._seconds,
                                 report=lambda values: tell(_certainty(values)))

    def _show(self) -> None:
        live = self._live
        last, previous = ((live.record.actions[-1], live.states[-2]) if live.plies
                          else (None, None))
        self._terminal.say(draw_ansi(live.game, live.state, last, previous, self._terminal.colour,
                                     show_lanes=True))

    def _prompt(self) -> str:
        return "over> " if self._live.is_over else f"{'AB'[self._live.state.ply & 1]}> "

    def _keep(self) -> None:
        """Save and sum up the game, if one was begun."""
        if self._live.plies:
            self._save([self._live.whole()])
            self._terminal.tell(summary(self._live.record))


def summary(record: GameRecord) -> str:
    """How far a game has come, its points and its moves."""
    game, last = record.game, record.states()[-1]
    points = " to ".join(map(str, game.victory_points(last)))
    if record.outcome is None:
        result = f"Left at ply {last.ply}, A to B {points} VP"
    else:
        winner = record.outcome.winner
        words = "a draw" if winner is None else f"{'AB'[winner]} wins"
        result = f"Over at ply {last.ply}, {words}, A to B {points} VP"
    return " ".join([f"{result}:", *map(game.format_action, record.actions)])


def columns(cells: list[str]) -> str:
    """Cells in lines of equal columns, as many as fit."""
    width = max(map(len, cells), default=0) + 2
    count = WIDTH // width
    return "\n".join("".join(cell.ljust(width) for cell in cells[first:first + count]).rstrip()
                     for first in range(0, len(cells), count))


def _certainty(values: MoveValues) -> str:
    return "exact" if values.exact else f"looking {values.depth} plies ahead"
