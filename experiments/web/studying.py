"""A game looked at as a whole: every move judged, and best play from a position on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from agents.solve.analysis import analyse_moves
from agents.solve.move_values import MoveValues
from castle_env import Game, Position
from experiments.web.jobs import Job, Jobs
from experiments.web.judging import line_json
from experiments.web.sessions import SECONDS_TO_WAIT, Known, Session
from experiments.web.wire import Json

# Best play is followed so far, or to the end of the game.
MAX_PLIES: Final = 16

# What a search of several positions has found, in the order in which it was found.
Found: TypeAlias = list[tuple[Position, MoveValues]]


@dataclass
class Task:
    """Analyses of several positions for one session; each request takes over what is new."""

    states: Sequence[Position]
    seconds: float
    job: Job[None]
    found: Found = field(default_factory=list)
    taken: int = 0


class Desk:
    """Work on whole games, one piece for each session at most."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs: Final = jobs
        self._tasks: Final[dict[str, Task]] = {}

    async def judge(self, session: Session, seconds: float) -> Json:
        """Analyse every position of the line, the last one first; what is known by now.

        What is exact, or was searched for as long, is not searched again. Asking again goes on with
        the same search.
        """
        live = session.live
        places = [state for state in reversed(live.states) if not live.game.is_terminal(state)]
        if left := _unsettled(session, places, seconds):
            await self._search(session, left, seconds)
            left = _unsettled(session, places, seconds)
        return {"done": not left, "judged": len(places) - len(left), "of": len(places),
                "line": line_json(session.live, session.found)}

    async def best_line(self, session: Session, at: int, seconds: float) -> Json:
        """Best play by both from the position after `at` moves, as far as it is known by now."""
        game, state = session.live.game, session.state_at(at)
        actions: list[int] = []
        exact = True
        while len(actions) < MAX_PLIES and not game.is_terminal(state):
            if _unsettled(session, [state], seconds):
                await self._search(session, [state], seconds)
            values = session.found(state)
            if values is None or _unsettled(session, [state], seconds):
                return _line_json(game, actions, exact, done=False)
            exact = exact and values.exact
            actions.append(values.best_actions[0])
            state = game.apply(state, actions[-1])
        return _line_json(game, actions, exact, done=True)

    async def _search(self, session: Session, states: Sequence[Position], seconds: float) -> None:
        """Go on with the search of these positions, for a moment; keep what it has found."""
        task = self._tasks.get(session.id)
        if task is None or task.job.stopped() or (
                task.seconds != seconds or not set(states) <= set(task.states)):
            self.stop(session)
            found: Found = []
            job = self._jobs.start(_analyses(session.live.game, states, seconds, found), heavy=True)
            task = self._tasks[session.id] = Task(states, seconds, job, found)
        done = await task.job.wait(SECONDS_TO_WAIT)
        while task.taken < len(task.found):
            state, values = task.found[task.taken]
            session.remember(state, Known(seconds, values))
            task.taken += 1
        if done and self._tasks.get(session.id) is task:
            del self._tasks[session.id]
            task.job.result()

    def stop(self, session: Session) -> None:
        """End what is done for a session."""
        task = self._tasks.pop(session.id, None)
        if task is not None:
            task.job.stop()


def _unsettled(session: Session, states: Sequence[Position], seconds: float) -> list[Position]:
    """Those that have neither exact values nor been searched for so long."""
    def is_settled(state: Position) -> bool:
        known = session.values.get(state)
        return known is not None and (known.final.exact or known.seconds >= seconds)

    return [state for state in states if not is_settled(state)]


def _analyses(
    game: Game, states: Sequence[Position], seconds: float, out_found: Found
) -> Callable[[Job[None]], None]:
    def analyse(job: Job[None]) -> None:
        for state in states:
            values = analyse_moves(game, state, seconds=seconds, stopped=job.unwanted)
            if job.stopped():
                return
            out_found.append((state, values))

    return analyse


def _line_json(game: Game, actions: list[int], exact: bool, done: bool) -> Json:
    return {"done": done, "actions": actions, "exact": exact,
            "names": [game.format_action(action) for action in actions]}
