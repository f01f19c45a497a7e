"""A game while it is played: its positions, who chooses for each player, and taking moves back."""

from datetime import date
from typing import Final

import numpy as np

from castle_env import Agent, Game, OptionError, Position
from castle_env.board import PASS
from castle_env.position import stack
from castle_env.saved_game import SavedGame, SavedMove

HUMAN: Final = "human"


class LiveGame:
    """One game, and others after it with the same players.

    names: of players 0 and 1; agents: who chooses for them, None for a person. An agent's choice
    depends on the seed, the game's number and the ply, so that after moves were taken back the same
    ones bring the same reply.
    """

    def __init__(
        self,
        game: Game,
        names: tuple[str, str],
        agents: tuple[Agent | None, Agent | None],
        seed: int,
        start: Position | None = None,
    ) -> None:
        self.game: Final = game
        self._names: Final = names
        self._agents: Final = agents
        self._seed: Final = seed
        self._start: Final = start
        self._number = -1
        self.begin()

    def begin(self) -> None:
        """Begin the next game."""
        self._number += 1
        self.actions: list[int] = []
        self._states = [self.game.initial_state() if self._start is None else self._start]

    @property
    def state(self) -> Position:
        """The position now."""
        return self._states[-1]

    @property
    def previous(self) -> Position | None:
        """The position before the last move."""
        return self._states[-2] if self.actions else None

    @property
    def is_over(self) -> bool:
        """Whether the game is over by its rules."""
        return self.game.is_terminal(self.state)

    @property
    def has_persons(self) -> bool:
        """Whether a person plays."""
        return None in self._agents

    def awaits_person(self, state: Position | None = None) -> bool:
        """Whether a person has to choose, now or in an earlier position; a pass is no choice."""
        state = self.state if state is None else state
        return (self._agents[state.ply & 1] is None
                and self.game.legal_actions(state) not in ([], [PASS]))

    def choose(self) -> int:
        """The action of the agent to move, or the pass where nothing else is legal."""
        agent = self._agents[self.state.ply & 1]
        if agent is None or self.game.legal_actions(self.state) == [PASS]:
            return PASS
        rng = np.random.default_rng([self._seed, self._number, self.state.ply])
        return int(agent.select_actions(stack([self.state]), rng)[0])

    def play(self, action: int) -> None:
        """Make a move; raises `IllegalActionError`, and then changes nothing."""
        self._states.append(self.game.apply(self.state, action))
        self.actions.append(action)

    def undo(self) -> int:
        """Go back to the last choice of a person; the number of plies taken back.

        Raises `OptionError`, and changes nothing, if there was none.
        """
        plies = next((index for index in range(len(self.actions) - 1, -1, -1)
                      if self.awaits_person(self._states[index])), None)
        if plies is None:
            raise OptionError("no move of yours to take back; allowed: after you have moved")
        taken = len(self.actions) - plies
        del self.actions[plies:], self._states[plies + 1:]
        return taken

    def saved(self) -> SavedGame:
        """The game as it goes into a file."""
        return SavedGame(self.game.rules, tuple(map(SavedMove, self.actions)), self._names,
                         self._seed, date.today().isoformat(), self._start)

    def summary(self) -> str:
        """How far the game has come, its points and its moves."""
        points = " to ".join(map(str, self.game.victory_points(self.state)))
        outcome = self.game.outcome(self.state)
        if outcome is None:
            result = f"Left at ply {self.state.ply}, A to B {points} VP"
        else:
            winner = "a draw" if outcome.winner is None else f"{'AB'[outcome.winner]} wins"
            result = f"Over at ply {self.state.ply}, {winner}, A to B {points} VP"
        return " ".join([f"{result}:", *map(self.game.format_action, self.actions)])
