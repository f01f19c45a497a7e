"""Code that is compiled and loaded ahead, so that nobody waits for it without knowing why.

The first use of a kernel compiles it, which takes minutes on a new machine, and the first network
loads PyTorch. One thread does all of it: what somebody at the board waits for comes first.
"""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock
from typing import Final

import numpy as np

from agents.solve.analysis import analyse_moves
from castle_env import Game, Ruleset, load_ruleset
from castle_env.position import Position, stack
from castle_env.ruleset import STORM
from experiments.play.game_in_play import HUMAN
from experiments.web.jobs import Job, Jobs
from experiments.web.opponents import agent_for
from experiments.web.wire import explained_json, position_json

# A request waits so long for what is being loaded; then it tells that it is.
SECONDS_TO_WAIT: Final = 0.25
_PRESETS: Final = ("storm", "sudden-death")
# An agent of the same kind that needs the same code and chooses at once.
_QUICK: Final = ((r"mcts:\d+", "mcts:2"), (r"(.*\+search):.*", r"\1:2"),
                 (r"alphabeta:\d+", "alphabeta:2"),
                 (r"alphabeta:.*(ms|nodes=\d+)", "alphabeta:1ms"))
_PLIES_LEFT: Final = 6
_Key = tuple[str, str]


class Warming:
    """What is loaded and what is not yet.

    doing: what is being loaded now, in words; empty when there is nothing left to load.
    """

    def __init__(self, jobs: Jobs) -> None:
        self.doing = ""
        self.rules_ready: Final = asyncio.Event()
        self._jobs: Final = jobs
        self._tasks: Final = deque[tuple[str, Callable[[], None]]]()
        self._loading: Final[dict[_Key, asyncio.Event]] = {}
        self._lock: Final = Lock()
        self._works = False

    def start(self, rules: Ruleset, players: Iterable[str] | None) -> None:
        """Load the rules, then what these players need, then the analysis; without `players` only
        the rules."""
        self._loop = asyncio.get_running_loop()
        self._tasks.append(("the rules", self._load_rules))
        if players is not None:
            self._tasks.append(("the analysis", partial(_load_analysis, rules)))
        self.ask(players or (), rules)

    def ask(self, players: Iterable[str], rules: Ruleset) -> None:
        """Load what these players need to move, after the rules and before all else."""
        for name in set(players) - {HUMAN}:
            key = _key(name, rules)
            if key not in self._loading:
                self._loading[key] = asyncio.Event()
                place = 0 if self.rules_ready.is_set() else 1
                self._tasks.insert(place, (name, partial(self._load_agent, key, rules)))
        with self._lock:
            begins = not self._works and bool(self._tasks)
            self._works = self._works or begins
        if begins:
            self._jobs.start(self._work)

    async def wait_for_rules(self) -> None:
        """Wait until positions can be told without compiling anything."""
        await self.rules_ready.wait()

    async def wait_for(self, name: str, rules: Ruleset) -> bool:
        """Whether a player's first move needs nothing more to be loaded; waits a moment for it."""
        loaded = self._loading.get(_key(name, rules))
        if loaded is None or loaded.is_set():
            return True
        try:
            await asyncio.wait_for(loaded.wait(), SECONDS_TO_WAIT)
        except TimeoutError:
            return False
        return True

    def stop(self) -> None:
        """Load nothing more after what is being loaded now."""
        self._tasks.clear()

    # In the thread that loads

    def _work(self, job: Job[None]) -> None:
        while (task := self._next()) is not None:
            task()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            self._works = bool(self._tasks)
            if not self._works:
                self.doing = ""
                return None
            self.doing, task = self._tasks.popleft()
            return task

    def _load_rules(self) -> None:
        for preset in _PRESETS:
            game = Game(load_ruleset(preset))
            start = game.initial_state()
            action = game.legal_actions(start)[0]
            position_json(game, game.apply(start, action), action, start)
            explained_json(game, start)
        self._tell(self.rules_ready)

    def _load_agent(self, key: _Key, rules: Ruleset) -> None:
        try:
            agent, position = agent_for(key[0], rules), _late_position(Game(rules))
            agent.select_actions(stack([position]), np.random.default_rng(0))
        except (Exception, SystemExit):
            pass  # whoever seats the agent, or asks it for a move, is told
        finally:
            self._tell(self._loading[key])

    def _tell(self, event: asyncio.Event) -> None:
        self._loop.call_soon_threadsafe(event.set)


def _load_analysis(rules: Ruleset) -> None:
    game = Game(rules)
    analyse_moves(game, _late_position(game), seconds=0.1)


def _key(name: str, rules: Ruleset) -> _Key:
    for pattern, quick in _QUICK:
        if match := re.fullmatch(pattern, name):
            return match.expand(quick), rules.mode
    return name, rules.mode


def _late_position(game: Game) -> Position:
    """A position that no book knows, and from which storm ends in a few plies."""
    position = game.initial_state()
    for _ in range(game.rules.max_plies - _PLIES_LEFT if game.rules.mode == STORM else 1):
        after = game.apply(position, game.legal_actions(position)[0])
        position = position if game.is_terminal(after) else after
    return position
