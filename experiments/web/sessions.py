"""Games by id, and what is being thought about them.

Sessions are read and changed in the thread of the event loop alone. Jobs run in other threads; the
request that asks for a job's result stores it.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from agents.solve.analysis import analyse_moves
from agents.solve.move_values import MoveValues, in_words
from castle_env import CastleError, OptionError, Position
from castle_env.game_record import GameRecord, Note
from experiments.play.game_in_play import HUMAN, GameInPlay
from experiments.play.game_tree import Node
from experiments.web.jobs import Job, Jobs, JobStoppedError
from experiments.web.judging import regret_of, worth_of
from experiments.web.opponents import agent_for
from experiments.web.variations import is_main_line, variations_json
from experiments.web.wire import Json, position_json, rules_json, values_json

MAX_GAMES: Final = 500
_MAX_KEPT_VALUES: Final = 400
# Agents whose choice costs less than a thread for it.
_AT_ONCE: Final = ("random", "greedy")
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
    """One game on the server, and what is being thought about it.

    version: counts the changes of moves and seats, so that a page that has missed one is known.
    """

    id: str
    live: GameInPlay
    version: int = 0
    thinking: Job[int] | None = None
    analysis: Analysis | None = None
    values: OrderedDict[Position, Known] = field(default_factory=OrderedDict)

    def to_json(self, at: int | None = None) -> Json:
        """The game with its last position; "shown" is that after `at` moves, if it is another."""
        live = self.live
        at = live.plies if at is None else at
        return {
            "id": self.id,
            "version": self.version,
            "rules": rules_json(live.game.rules),
            "players": live.players,
            "names": live.record.players,
            "comment": live.record.comment,
            "moves": [self._move_json(index) for index in range(live.plies)],
            "variations": variations_json(live),
            "is_main": is_main_line(live),
            "at": at,
            "shown": None if at == live.plies else self.position_json(at),
            "waits_for": None if live.is_over else "human" if live.player_to_move == HUMAN
            else "agent",
            "position": self.position_json(live.plies),
        }

    def _move_json(self, at: int) -> Json:
        game, record, state = self.live.game, self.live.record, self.live.states[at]
        note, regret = record.note(at), regret_of(self.live, self.found, at)
        return {
            "name": game.format_action(record.actions[at]),
            "player": game.current_player(state),
            "value": note.value,
            "comment": note.comment,
            "regret": None if regret is None else regret.value,
            "exact": regret is not None and regret.exact,
        }

    def found(self, state: Position) -> MoveValues | None:
        """What was found about the moves of a position."""
        known = self.values.get(state)
        return None if known is None else known.final

    def position_json(self, at: int) -> Json:
        """The position after so many moves; raises `ConflictError` if the game is shorter."""
        state = self.state_at(at)
        last, previous = ((self.live.record.actions[at - 1], self.live.states[at - 1]) if at
                          else (None, None))
        return position_json(self.live.game, state, last, previous)

    def state_at(self, at: int) -> Position:
        """The position after so many moves; raises `ConflictError` if the game is shorter."""
        if not 0 <= at <= self.live.plies:
            raise ConflictError(f"no position after {at} moves; allowed: 0 to {self.live.plies}")
        return self.live.states[at]

    def annotated(self) -> GameRecord:
        """The game as a file holds it, with the values of moves that are known exactly."""
        return self.live.whole(self._note)

    def _note(self, state: Position, node: Node) -> Note:
        known = self.found(state)
        if node.note.value is not None or known is None or not known.exact:
            return node.note
        value = known.values[node.action]
        return replace(node.note, value=-value if state.ply & 1 else value)

    # Changes

    def check_version(self, version: int) -> None:
        """Raise `ConflictError` unless a page with this version has seen every change."""
        if version != self.version:
            raise ConflictError("the game has changed in another window since this page showed it; "
                                "nothing was done, and this is the game now")

    def play(self, at: int, action: int) -> int:
        """Make a move in the position after `at` moves; how many lead to the one after it.

        Where the line has another move this one is a variation, and nothing is lost.
        """
        self.live.game.apply(self.state_at(at), action)  # an illegal one changes nothing
        self.stop_thinking()
        self.version += 1
        return self.live.branch(at, action)

    def walk(self, at: int, actions: Sequence[int]) -> int:
        """Make moves from the position after `at` on; how many lead to the first one's position."""
        state = self.state_at(at)
        for action in actions:  # an illegal one changes nothing
            state = self.live.game.apply(state, action)
        for index, action in enumerate(actions):
            self.play(at + index, action)
        return at + 1

    def promote(self) -> None:
        """Make the line the main one."""
        self.version += 1
        self.live.promote()

    def comment(self, at: int, text: str) -> None:
        """Say something about the move with this index."""
        if not 0 <= at < self.live.plies:
            raise ConflictError(f"no move {at}; allowed: 0 to {self.live.plies - 1}")
        self.version += 1
        self.live.note(at, replace(self.live.record.note(at), comment=text))

    def undo(self) -> None:
        """Take back moves to where a person last chose; raises `ConflictError` if nobody did."""
        try:
            self.live.undo()
        except OptionError as error:
            raise ConflictError(str(error)) from None
        self.version += 1
        self.stop_thinking()

    def seat(self, players: tuple[str, str]) -> None:
        """Let others go on with the game."""
        self.stop_thinking()
        self.version += 1
        self.live.seat(players)

    # Thinking

    async def reply(self, jobs: Jobs, at: int) -> bool:
        """Let the agent to move think, and make its move when it has one; whether it has.

        Raises `ConflictError` where no agent is to move, and what the agent raises.
        """
        if at != self.live.plies or self.live.is_over:
            raise ConflictError(f"no agent moves after {at} moves; the game has {self.live.plies}")
        if self.live.player_to_move == HUMAN:
            raise ConflictError("a person is to move, not an agent")
        if self.live.player_to_move in _AT_ONCE:
            agent = agent_for(self.live.player_to_move, self.live.game.rules)
            self.play(at, self.live.turn().choose(agent))
            return True
        if self.thinking is None:
            heavy = self.live.player_to_move.startswith("exact")
            self.thinking = jobs.start(self._choose(), heavy)
        job = self.thinking
        await job.wait(SECONDS_TO_WAIT)
        if job is not self.thinking or not job.done:
            return False
        self.thinking = None
        self.play(at, job.result())
        return True

    def _choose(self) -> Callable[[Job[int]], int]:
        name, rules, turn = self.live.player_to_move, self.live.game.rules, self.live.turn()

        def choose(job: Job[int]) -> int:
            agent = agent_for(name, rules)
            job.on_stop = agent.stop
            if job.stopped():
                raise JobStoppedError
            return turn.choose(agent)

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
            self.remember(state, known)
        return self._analysis_json(at, known.final, known.seconds, True)

    def _analysis_of(self, jobs: Jobs, state: Position, seconds: float) -> Job[MoveValues]:
        running = self.analysis
        if running is not None:
            if (running.state, running.seconds) == (state, seconds) and not running.job.stopped():
                return running.job
            running.job.stop()
        game = self.live.game

        def analyse(job: Job[MoveValues]) -> MoveValues:
            return analyse_moves(game, state, seconds=seconds, stopped=job.unwanted,
                                 report=partial(setattr, job, "partial"))

        self.analysis = Analysis(state, seconds, jobs.start(analyse, heavy=True))
        return self.analysis.job

    def remember(self, state: Position, known: Known) -> None:
        """Keep what was found, unless more is known."""
        before = self.values.get(state)
        if before is None or known.final.exact or not before.final.exact:
            self.values[state] = known
        while len(self.values) > _MAX_KEPT_VALUES:
            self.values.popitem(last=False)

    def _analysis_json(
        self, at: int, values: MoveValues | None, seconds: float, done: bool
    ) -> Json:
        player = self.live.game.current_player(self.live.states[at])
        played = self.live.record.actions[at] if at < self.live.plies else None
        found = None if values is None else values_json(values, player, played)
        worth = worth_of(self.live, self.found, at)
        if found is not None and worth is not None and worth.exact:
            # Proven from the position before, where this one's own search has not come so far.
            found |= {"value": worth.value, "value_exact": True, "words": in_words(
                -worth.value if player else worth.value, None)}
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

    def add(self, live: GameInPlay) -> Session:
        """A new session for a game."""
        session = Session(secrets.token_urlsafe(9), live)
        self._sessions[session.id] = session
        while len(self._sessions) > MAX_GAMES:
            self._sessions.popitem(last=False)[1].stop()
        return session

    def get(self, name: str) -> Session:
        """The session with an id; raises `UnknownGameError`."""
        session = self._sessions.get(name)
        if session is None:
            raise UnknownGameError(f"no game {name!r} on this server; allowed: one begun since the "
                                   f"server started, among the {MAX_GAMES} used last")
        self._sessions.move_to_end(name)
        return session

    def close(self) -> None:
        """End all searches."""
        for session in self._sessions.values():
            session.stop()
        self.jobs.close()
