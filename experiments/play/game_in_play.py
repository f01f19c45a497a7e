"""A game while it is played: its record so far, who chooses, and taking moves back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

import numpy as np

from castle_env import Agent, Game, OptionError, Position, Ruleset
from castle_env.board import PASS
from castle_env.game_record import GameRecord, record_game
from castle_env.position import stack

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

    record: the game so far. players: for each seat `HUMAN` or an agent's name. number: counts the
    games that one program plays from the record's seed. An agent's choice depends on seed, number
    and ply alone, so that the same moves bring the same replies, also after moves were taken back.
    """

    def __init__(self, record: GameRecord, players: tuple[str, str], number: int = 0) -> None:
        self.game: Final[Game] = record.game
        self.record = record
        self.players = players
        self._number: Final = number
        self._states = list(record.states())

    def another(self) -> "GameInPlay":
        """The next game of the same players, with no move made."""
        record = replace(self.record.cut(0), date=date.today().isoformat())
        return GameInPlay(record, self.players, self._number + 1)

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

    # Changes

    def play(self, action: int) -> None:
        """Make a move; raises `IllegalActionError`, and then changes nothing."""
        after = self.game.apply(self.state, action)
        self._states.append(after)
        self.record = self.record.extended(action, self.game.outcome(after))

    def cut(self, at: int) -> None:
        """Take back all moves after the first `at`."""
        del self._states[at + 1:]
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
