"""A game while it is played: its record so far, who chooses, and taking moves back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Final

import numpy as np

from castle_env import Agent, Game, OptionError, Position, Ruleset
from castle_env.board import PASS
from castle_env.game_record import GameRecord, Note, record_game
from castle_env.position import stack
from experiments.play.game_tree import Node, NoteOf, record_of, tree_of

HUMAN: Final = "human"


@dataclass(frozen=True)
class Turn:
    """A position in which an agent chooses, and the seed of its choice; any thread may have it."""

    state: Position
    seed: tuple[int, ...]

    def choose(self, agent: Agent) -> int:
        """The agent's action."""
        rng = np.random.default_rng(self.seed)
        return int(agent.select_actions(stack([self.state]), rng)[0])


class GameInPlay:
    """A game in the terminal or on the page.

    record: the line that is played, without variations; `whole` has all moves that were ever made.
    players: for each seat `HUMAN` or an agent's name. number: counts the games that one program
    plays from the record's seed. An agent's choice depends on seed, number and ply alone, so that
    the same moves bring the same replies, also after moves were taken back.
    """

    def __init__(self, record: GameRecord, players: tuple[str, str], number: int = 0) -> None:
        self.game: Final[Game] = record.game
        self.record = replace(record, variations=())
        self.players = players
        self._number: Final = number
        self._states = list(record.states())
        self._nodes = [tree_of(record)]
        self._nodes.extend(self._nodes[0].main_line())

    def another(self, players: tuple[str, str] | None = None) -> "GameInPlay":
        """The next game of the same or of other players, with no move made."""
        players = players or self.players
        record = replace(self.record.cut(0), players=players, date=date.today().isoformat())
        return GameInPlay(record, players, self._number + 1)

    # What it is

    @property
    def states(self) -> Sequence[Position]:
        """All positions so far, the last one that of now."""
        return self._states

    @property
    def state(self) -> Position:
        """The position now."""
        return self._states[-1]

    @property
    def plies(self) -> int:
        """Number of moves made."""
        return self.record.plies

    @property
    def is_over(self) -> bool:
        """Whether the game is over by its rules."""
        return self.record.outcome is not None

    @property
    def is_forced(self) -> bool:
        """Whether a pass is the only legal move."""
        return self.game.legal_actions(self.state) == [PASS]

    @property
    def player_to_move(self) -> str:
        """Who sits where it is the turn."""
        return self.players[self.game.current_player(self.state)]

    def awaits_choice(self, at: int | None = None) -> bool:
        """Whether a person has a choice now, or had one after `at` moves; a forced pass is none."""
        state = self._states[self.plies if at is None else at]
        return (self.players[self.game.current_player(state)] == HUMAN
                and self.game.legal_actions(state) not in ([], [PASS]))

    def turn(self) -> Turn:
        """What an agent needs in order to choose now."""
        return Turn(self.state, (self.record.seed or 0, self._number, self.state.ply))

    @property
    def nodes(self) -> Sequence[Node]:
        """The start and each move of the line, with the moves that were made in their place."""
        return self._nodes

    def whole(self, note_of: NoteOf = lambda state, node: node.note) -> GameRecord:
        """The game with everything that was tried in it; `note_of` says what to note on a move."""
        return record_of(self._nodes[0], self.record, note_of)

    # Changes

    def play(self, action: int) -> None:
        """Make a move; raises `IllegalActionError`, and then changes nothing."""
        self._extend(action, main=True)

    def branch(self, at: int, action: int) -> int:
        """Make a move after the first `at`; the number of moves before the position it leads to.

        The line goes on from there as it did when the move was made before. Another move than the
        line's is a variation, and the line is kept. Raises `IllegalActionError`, and then changes
        nothing.
        """
        if at == self.plies:
            self.play(action)
        elif action != self.record.actions[at]:
            self.game.apply(self._states[at], action)
            self.cut(at)
            self._extend(action, main=False)
            for node in list(self._nodes[-1].main_line()):
                self._extend(node.action, main=False)
        return at + 1

    def _extend(self, action: int, main: bool) -> None:
        after = self.game.apply(self.state, action)
        node = self._nodes[-1].grow(action, main)
        self._states.append(after)
        self._nodes.append(node)
        self.record = self.record.extended(action, self.game.outcome(after), node.note)

    def note(self, at: int, note: Note) -> None:
        """Say something about the move with this index."""
        self._nodes[at + 1].note = note
        notes = [self.record.note(index) for index in range(self.plies)]
        notes[at] = note
        self.record = replace(self.record, notes=tuple(notes))

    def promote(self) -> None:
        """Make the line the main one, and those that it branched from variations of it."""
        for node, following in pairwise(self._nodes):
            node.grow(following.action, main=True)

    def cut(self, at: int) -> None:
        """Let the line end after its first `at` moves; the others stay in the whole game."""
        del self._states[at + 1:], self._nodes[at + 1:]
        self.record = self.record.cut(at)

    def undo(self) -> int:
        """Go back to the last choice of a person, or by one move where no person plays.

        Gives the number of moves taken back. Raises `OptionError`, and changes nothing, if there is
        none to take back.
        """
        at = next((at for at in range(self.plies - 1, -1, -1)
                   if HUMAN not in self.players or self.awaits_choice(at)), None)
        if at is None:
            raise OptionError("no move of yours to take back; allowed: after you have moved")
        taken = self.plies - at
        self._nodes[at].children.remove(self._nodes[at + 1])
        self.cut(at)
        return taken

    def seat(self, players: tuple[str, str]) -> None:
        """Let others go on with the game."""
        self.players = players
        self.record = replace(self.record, players=players)


def new_game(
    rules: Ruleset, players: tuple[str, str], seed: int, start: Position | None = None
) -> GameInPlay:
    """A game of today without moves."""
    record = record_game(rules, start=start, players=players, seed=seed,
                         date=date.today().isoformat())
    return GameInPlay(record, players)
