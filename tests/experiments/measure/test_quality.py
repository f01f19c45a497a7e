"""Measures of games: each against a value worked out by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from castle_env import Game, Position, load_ruleset, make_agent
from castle_env.position import stack, unstack
from experiments.measure.match import play_match
from experiments.measure.quality import METRICS, Trace, leads, quality, skill_trace, trace_games

STORM, SUDDEN_DEATH = (Game(load_ruleset(name)) for name in ("storm", "sudden-death"))


def trace(winner: int | None, leads: list[float], **changes: Any) -> Trace:
    whole = Trace(winner, 0 if winner is None else 3 - 6 * winner, False, len(leads) + 3,
                  np.array(leads, dtype=np.float64), np.zeros((2, len(leads))),
                  np.full(len(leads) - 1, 5), 0.5, 0.25)
    return replace(whole, **changes)


def of_one(game: Trace) -> dict[str, float]:
    return {name: value.estimate for name, value in quality([game, game], 0).items()}


def test_lead_of_one_game() -> None:
    # Player 1 wins after leads of 2 and 0 by player 0; from the fourth ply on nobody catches up.
    found = of_one(trace(1, [2, 0, -1, -3, -4, -4]))
    assert found["drama"] == pytest.approx(2 / 5)
    assert found["decisiveness"] == pytest.approx(2 / 5)
    assert found["lead changes"] == pytest.approx(2 / 5)
    assert (found["branching factor"], found["score difference"]) == (5, 3)
    assert (found["duration"], found["entries"], found["board coverage"]) == (9, 0.5, 0.25)
    other = of_one(trace(0, [-2, 0, 1, 3, 4, 4]))
    assert all(other[name] == pytest.approx(found[name]) for name in ("drama", "decisiveness"))


def test_a_draw_is_not_dramatic_and_not_decided() -> None:
    found = of_one(trace(None, [2, 0, -1, 0]))
    assert "drama" not in found
    assert "decisiveness" not in found
    assert (found["drawishness"], found["completion"], found["time-outs"]) == (1, 0, 0)
    late = of_one(trace(None, [2, 0, -1, 0], timed_out=True))
    assert (late["drawishness"], late["completion"], late["time-outs"]) == (0, 0, 1)


def test_results_of_many_games() -> None:
    games = [trace(winner, [0, 1]) for winner in (0, 0, 0, None, 1)]
    found = quality(games, 0)
    assert found["advantage"].estimate == pytest.approx(3 / 5)
    assert found["balance"].estimate == pytest.approx(1 - (3 / 5 - 1 / 5))
    # Results +1 +1 +1 0 -1: their mean is 2/5 and their variance 4/5 - 4/25, for either player.
    assert found["outcome uniformity"].estimate == pytest.approx(1 - (4 / 5 - 4 / 25))
    assert list(found) == list(METRICS)
    for name, value in found.items():
        assert value.low <= value.estimate <= value.high or not value.is_known, name
    assert quality(games, 0) == found


def test_skill_trace() -> None:
    assert skill_trace([[(9, 0, 0)]] * 3).estimate == pytest.approx(1)
    assert skill_trace([[(4, 1, 4)]] * 3).estimate == pytest.approx(0)
    assert skill_trace([[(1, 0, 3), (1, 0, 3)]] * 2).estimate == pytest.approx(0)
    # The line through 0.2 and 0.4 gives 0.6 next; the mean is 0.3.
    found = skill_trace([[(6, 0, 4), (3, 0, 2)], [(4, 6, 0), (2, 3, 0)]])
    assert found.estimate == pytest.approx(0.6 + 0.4 * 0.3)
    assert found.low < found.estimate < found.high


def forced(game: Game, state: Position, plies: int) -> int:
    """Player 0's margin by plain minimax."""
    if plies == 0 or game.is_terminal(state):
        first, second = game.victory_points(state)
        return first - second
    values = [forced(game, game.apply(state, action), plies - 1)
              for action in game.legal_actions(state)]
    return min(values) if state.ply & 1 else max(values)


@pytest.mark.parametrize("game", [STORM, SUDDEN_DEATH], ids=repr)
def test_leads_are_those_of_minimax(game: Game) -> None:
    rng = np.random.default_rng(1)
    states = game.initial_states(6)
    for _ in range(5):
        states = game.apply_actions(states, game.random_actions(states, rng))
    before = states.copy()
    for plies in (0, 1, 2):
        assert leads(game, states, plies).tolist() == [
            forced(game, state, plies) for state in unstack(states)]
    assert (states == before).all()
    one_ply_left = stack([game.initial_state()._replace(ply=game.rules.max_plies - 1)])
    assert leads(game, one_ply_left, 1) == leads(game, one_ply_left, 3)


@pytest.mark.parametrize("game", [STORM, SUDDEN_DEATH], ids=repr)
def test_traces_are_those_of_the_games(game: Game) -> None:
    agents = make_agent("greedy", game), make_agent("random", game)
    records = play_match(game, agents, 6, 3, seed=2)
    for record, seen in zip(records, trace_games(game, records), strict=True):
        state, choices, occupied, entries = game.initial_state(), [], 0, 0
        for ply, action in enumerate(record.actions):
            if ply >= 3:
                choices.append(len(game.legal_actions(state)))
                occupied |= state.own | state.opposing | state.strongholds
                entries += len(game.format_action(action)) == 2
            state = game.apply(state, action)
        occupied |= state.own | state.opposing | state.strongholds
        assert seen.choices.tolist() == choices
        assert len(seen.leads) == len(choices) + 1
        assert seen.after.mean(axis=0) == pytest.approx(seen.leads)
        middle = game.initial_state()
        for action in record.actions[:5]:
            middle = game.apply(middle, action)
        assert seen.after[:, 2].tolist() == [leads(game, stack([middle]), plies)[0]
                                             for plies in (2, 3)]
        assert seen.leads[-1] == seen.margin == record.final.margin
        assert seen.coverage == pytest.approx(occupied.bit_count() / 36)
        assert seen.entries == pytest.approx(entries / len(choices))
        assert (seen.winner, seen.plies) == (record.final.winner, record.plies)
