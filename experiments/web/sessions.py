"""Games by id: their positions, who sits where, and what is being thought about them.

All of it is touched in the thread of the event loop alone; only jobs run elsewhere, and what they
find is taken over by whoever asks for it.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np

from agents.solve.analysis import MoveValues, analyse_moves
from castle_env import CastleError, Game, Position
from castle_env.game_file import SavedGame, SavedMove
from castle_env.position import stack
from experiments.play.live_game import HUMAN
from experiments.web.jobs import Job, Jobs, JobStoppedError
from experiments.web.opponents import agent_for
from experiments.web.wire import Json, position_json, rules_json, values_json

MOST_GAMES: Final = 500
_MOST_KEPT_VALUES: Final = 200
# A request waits so long for a search; then it tells how far the search has come.
SECONDS_TO_WAIT: Final = 0.25


class UnknownGameError(CastleError):
    """No game has this id (any more)."""


class ConflictError(CastleError):
    """The request is about a position that the game is no longer in."""


@dataclass(frozen=True)
class Known:
    """What a search of so many seconds found."""

    seconds: float
    final: MoveValues


@dataclass(frozen=True)
class Analysis:
    """The latest analysis: of which position, for how many seconds."""

    state: Position
    seconds: float
    job: Job[MoveValues]


@dataclass
class Session:
    """One game on the server; `saved` is what a file would hold, `states` its positions."""

    id: str
    game: Game
    saved: SavedGame
    players: tuple[str, str]
    seed: int
    states: list[Position]
    thinking: Job[int] | None = None
    analysis: Analysis | None = None
    values: OrderedDict[Position, Known] = field(default_factory=OrderedDict)

    @property
    def length(self) -> int:
        """Number of moves made."""
        return len(self.states) - 1

    @property
    def player_to_move(self) -> str:
        """Who sits where it is the turn: "human" or an agent."""
        return self.players[self.game.current_player(self.states[-1])]

    def to_json(self) -> Json:
        """The game with its last position."""
        over = self.game.is_terminal(self.states[-1])
        return {
            "id": self.id,
            "rules": rules_json(self.game),
            "players": self.players,
            "names": self.saved.players,
            "comment": self.saved.comment,
            "moves": [self._line_json(at) for at in range(self.length)],
            "waits_for": None if over else "human" if self.player_to_move == HUMAN else "agent",
            "position": self.position_json(self.length),
        }

    def _line_json(self, at: int) -> Json:
        move, state = self.saved.moves[at], self.states[at]
        known = self.values.get(state)
        player = self.game.current_player(state)
        return {
            "name": self.game.format_action(move.action),
            "player": player,
            "value": move.value,
            "comment": move.comment,
            "regret": None if known is None else known.final.regret(move.action, player),
            "exact": known is not None and known.final.exact,
        }

    def position_json(self, at: int) -> Json:
        """The position after so many moves; raises `ConflictError` if the game is shorter."""
        state = self.state_at(at)
        last = self.saved.moves[at - 1].action if at else None
        return position_json(self.game, state, last, self.states[at - 1] if at else None)

    def state_at(self, at: int) -> Position:
        """The position after so many moves; raises `ConflictError` if the game is shorter."""
        if not 0 <= at <= self.length:
            raise ConflictError(f"no position after {at} moves; allowed: 0 to {self.length}")
        return self.states[at]

    def annotated(self) -> SavedGame:
        """The game as a file holds it, with the values of moves that are known exactly."""
        moves = list(self.saved.moves)
        for at, (move, state) in enumerate(zip(moves, self.states, strict=False)):
            known = self.values.get(state)
            if move.value is None and known is not None and known.final.exact:
                moves[at] = replace(move, value=known.final.values[move.action])
        return replace(self.saved, moves=tuple(moves))

    # Changes

    def play(self, at: int, action: int) -> None:
        """Make a move in the position after `at` moves; later ones are taken back."""
        after = self.game.apply(self.state_at(at), action)
        self._cut(at)
        self._set_moves((*self.saved.moves, SavedMove(int(action))))
        self.states.append(after)

    def undo(self) -> None:
        """Take back moves to where a person last decided; one move if nobody does."""
        if self.length == 0:
            raise ConflictError("no move to take back")
        at = self.length - 1
        while at and HUMAN in self.players and self._is_idle(at):
            at -= 1
        self._cut(at)

    def _is_idle(self, at: int) -> bool:
        return self.players[self.game.current_player(self.states[at])] != HUMAN

    def seat(self, players: tuple[str, str]) -> None:
        """Let others go on with the game."""
        self.stop_thinking()
        self.players = players
        self.saved = replace(self.saved, players=players)

    def _cut(self, at: int) -> None:
        self.stop_thinking()
        del self.states[at + 1:]
        self._set_moves(self.saved.moves[:at])

    def _set_moves(self, moves: tuple[SavedMove, ...]) -> None:
        self.saved = replace(self.saved, moves=moves)

    # Thinking

    async def reply(self, jobs: Jobs, at: int) -> bool:
        """Let the agent to move think, and make its move when it has one; whether it has.

        Raises `ConflictError` where no agent is to move, and what the agent raises.
        """
        if at != self.length or self.game.is_terminal(self.states[-1]):
            raise ConflictError(f"no agent moves after {at} moves; the game has {self.length}")
        if self.player_to_move == HUMAN:
            raise ConflictError("a person is to move, not an agent")
        if self.thinking is None:
            heavy = self.player_to_move.startswith("exact")
            self.thinking = jobs.start(self._choose(), heavy)
        job = self.thinking
        await job.wait(SECONDS_TO_WAIT)
        if job is not self.thinking or not job.done:
            return False
        self.thinking = None
        self.play(at, job.result())
        return True

    def _choose(self) -> Callable[[Job[int]], int]:
        name, rules, state = self.player_to_move, self.game.rules, self.states[-1]
        rng = np.random.default_rng([self.seed, self.length])

        def choose(job: Job[int]) -> int:
            agent = agent_for(name, rules)
            job.on_stop = getattr(agent, "stop", None)
            if job.stopped():
                raise JobStoppedError
            return int(agent.select_actions(stack([state]), rng)[0])

        return choose

    async def analyse(self, jobs: Jobs, at: int, seconds: float) -> Json:
        """Values of all moves after `at` moves, as far as they are known.

        They are final once "done" is true: all proven, or searched for so many seconds. Asking
        again goes on with the same search. Raises `AnalysisError` for a game that is over.
        """
        state = self.state_at(at)
        known = self.values.get(state)
        if known is None or not (known.final.exact or known.seconds >= seconds):
            job = self._analysis_of(jobs, state, seconds)
            done = await job.wait(SECONDS_TO_WAIT)
            if self.state_at(at) != state:
                raise ConflictError("the position is no longer in the game")
            if not done:
                return self._analysis_json(at, job.partial, job.seconds, False)
            known = Known(seconds, job.result())
            self._remember(state, known)
        return self._analysis_json(at, known.final, known.seconds, True)

    def _analysis_of(self, jobs: Jobs, state: Position, seconds: float) -> Job[MoveValues]:
        running = self.analysis
        if running is not None:
            if (running.state, running.seconds) == (state, seconds) and not running.job.stopped():
                return running.job
            running.job.stop()
        game = self.game

        def analyse(job: Job[MoveValues]) -> MoveValues:
            return analyse_moves(game, state, seconds=seconds, stopped=job.unwanted,
                                 report=partial(setattr, job, "partial"))

        self.analysis = Analysis(state, seconds, jobs.start(analyse, heavy=True))
        return self.analysis.job

    def _remember(self, state: Position, known: Known) -> None:
        self.values[state] = known
        while len(self.values) > _MOST_KEPT_VALUES:
            self.values.popitem(last=False)

    def _analysis_json(
        self, at: int, values: MoveValues | None, seconds: float, done: bool
    ) -> Json:
        player = self.game.current_player(self.states[at])
        played = self.saved.moves[at].action if at < self.length else None
        found = None if values is None else values_json(values, player, played)
        return {"at": at, "done": done, "seconds": seconds, "found": found}

    def stop_thinking(self) -> None:
        """End the agent's search; it begins anew when it is asked for again."""
        if self.thinking is not None:
            self.thinking.stop()
            self.thinking = None

    def stop(self) -> None:
        """End all searches."""
        self.stop_thinking()
        self.stop_analysis()

    def stop_analysis(self) -> None:
        """End the analysis."""
        if self.analysis is not None:
            self.analysis.job.stop()
            self.analysis = None


class Sessions:
    """The games of one server; where there are too many, those left alone longest are dropped."""

    def __init__(self) -> None:
        self.jobs: Final = Jobs()
        self._sessions: Final[OrderedDict[str, Session]] = OrderedDict()

    def add(self, saved: SavedGame, players: tuple[str, str], seed: int) -> Session:
        """A new session that goes on from the end of `saved`."""
        session = Session(secrets.token_urlsafe(9), Game(saved.rules), saved, players, seed,
                          list(saved.states()))
        self._sessions[session.id] = session
        while len(self._sessions) > MOST_GAMES:
            self._sessions.popitem(last=False)[1].stop()
        return session

    def get(self, name: str) -> Session:
        """The session with an id; raises `UnknownGameError`."""
        session = self._sessions.get(name)
        if session is None:
            raise UnknownGameError(f"no game {name!r} on this server; allowed: one begun since the "
                                   f"server started, among the {MOST_GAMES} used last")
        self._sessions.move_to_end(name)
        return session

    def close(self) -> None:
        """End all searches."""
        for session in self._sessions.values():
            session.stop()
        self.jobs.close()
