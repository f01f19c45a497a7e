"""Agents by name: wrong names, and what others bring along."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from minimax import GAMES, random_positions, rng

from castle_env import ActionError, AgentError, Game, PolicyAgent
from castle_env import agent as registry
from castle_env.agent import Agent, as_agent, make_agent
from castle_env.position import PositionArray


@pytest.mark.parametrize("spec", [
    "alphabeta", "alphabeta:", "alphabeta:x", "alphabeta:0", "alphabeta:-1", "alphabeta:+2",
    "alphabeta: 2", "alphabeta:2.0", "alphabeta:17", "alphabeta:2:3", "alphabeta:1_0",
    "alphabeta:２", "alphabeta:²", "mcts", "mcts:-3", "mcts:0", "mcts:1e3", "mcts:٣",
    "mcts:1000001", "mcts:" + "9" * 5_000, "random:3", "greedy:x", "minimax", "", ":", "Random"])
def test_wrong_names_are_one_clear_error(spec: str) -> None:
    with pytest.raises(AgentError, match="allowed: ") as caught:
        make_agent(spec, GAMES["storm"])
    assert repr(spec if spec == ":" else spec.removesuffix(":")) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_installed_agent_is_found_at_once_and_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is installed while the process runs; none that has gone with its folder."""
    game, installed = GAMES["storm"], tmp_path / "newcomer-1.dist-info"
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        with pytest.raises(AgentError):
            make_agent("newcomer", game)
        installed.mkdir()
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: newcomer\nVersion: 1\n")
        (installed / "entry_points.txt").write_text(
            "[castle_env.agents]\nnewcomer = agents.search.alphabeta:make\n")
        importlib.invalidate_caches()
        assert make_agent("newcomer:2", game).name == "alphabeta:2"
        patch.setattr(registry, "entry_points", None)
        assert make_agent("newcomer:1", game).name == "alphabeta:1"
    with pytest.raises(AgentError):
        make_agent("newcomer", game)


def test_an_agent_of_a_policy_sees_what_environments_show() -> None:
    game = GAMES["storm"]
    states = random_positions(game, 2)[:20]
    planes, masks = game.encode(states)
    seen: list[Any] = []

    def choose(*given: Any) -> Any:
        seen.extend(given)
        return given[1].argmax(axis=1).tolist()  # also a list of integers, of any kind

    actions = PolicyAgent("first", game, choose).select_actions(states, rng())
    assert actions.dtype == np.int64
    np.testing.assert_array_equal(actions, masks.argmax(axis=1))
    np.testing.assert_array_equal(seen[0], planes)
    np.testing.assert_array_equal(seen[1], masks)
    with pytest.raises(ActionError, match=r"shape \(20,\)"):
        PolicyAgent("wrong", game, lambda planes, masks: planes).select_actions(states, rng())


class Minimal:
    """Somebody's agent with nothing but what an agent must have."""

    name = "minimal"

    def __init__(self, game: Game) -> None:
        self._game = game

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Any:
        return self._game.legal_action_masks(states).argmax(axis=1)


class Stoppable(Minimal):
    """The same with a way to stop it."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.told = False

    def stop(self) -> None:
        self.told = True


def test_a_minimal_agent_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {"minimal": lambda _, game: Minimal(game)})
    agent = make_agent("minimal", GAMES["storm"])
    assert isinstance(agent, Agent)
    assert (agent.name, agent.thread_safe) == ("minimal", False)
    agent.stop()
    states = random_positions(GAMES["storm"], 5)
    assert np.array_equal(agent.select_actions(states, rng()),
                          Minimal(GAMES["storm"]).select_actions(states, rng()))


def test_an_agent_that_is_whole_stays_itself() -> None:
    class Whole(Stoppable):
        thread_safe = True

    agent = Whole(GAMES["storm"])
    assert as_agent(agent, "opponent") is agent


@pytest.mark.parametrize(("source", "missing"), [
    (3, "no name and no select_actions"), (Stoppable(GAMES["storm"]), "no thread_safe;")])
def test_half_an_agent_is_refused(
    source: object, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_registered", {"half": lambda *_: source})
    with pytest.raises(AgentError, match=f"agent 'half' is .*{missing}"):
        make_agent("half", GAMES["storm"])
    with pytest.raises(AgentError, match=f"opponent is .*{missing}"):
        as_agent(source, "opponent")
