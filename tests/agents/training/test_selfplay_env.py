"""What the learner is shown, in the rollouts of real training: masks, decisions, rewards, seats."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from narrow import narrow, present
from sb3_contrib import MaskablePPO
from scripted import BLOCKED, ONE_FACTION, QUICK_DEATH, Positional, game_of_source, name_of
from small_runs import POOL, ROLLOUT, config, quiet_learner
from stable_baselines3.common.callbacks import BaseCallback

from agents.training.opponent_pool import OpponentPool
from agents.training.rewards import load_reward
from agents.training.sb3_env import SB3VecEnv
from agents.training.selfplay_env import SelfPlayVectorEnv
from castle_env import Game, OptionError, Position, make_agent
from castle_env.board import PASS, SQUARES
from castle_env.observation import SEAT_PLANE
from castle_env.position import PositionArray, stack, unstack
from castle_env.vector_env import CastleVectorEnv

SOURCES = ["storm", "sudden-death", "sudden-death-step", QUICK_DEATH]
# A network that sees all sides alike is shown games as they are, another one turned.
KINDS = {"lanes": {"network": "lanes"}, "lines": {"network": "lines"}}
OPPONENTS: dict[str, dict[str, Any]] = {"self": {}, "pool": POOL}


@dataclass
class Rollout:
    """Copies of a rollout buffer's arrays; the first two axes are steps and games."""

    observations: Any
    actions: Any
    action_masks: Any
    rewards: Any
    episode_starts: Any
    values: Any
    advantages: Any
    returns: Any
    next_observations: Any
    next_values: Any
    next_starts: Any


@dataclass(eq=False)
class Watch(BaseCallback):
    """Keeps every rollout, and opponent and seat of every game that follows a finished one."""

    rollouts: list[Rollout] = field(default_factory=list)
    seatings: Counter[tuple[int, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__()

    def _on_step(self) -> bool:
        env = narrow(narrow(self.training_env, SB3VecEnv).env, SelfPlayVectorEnv)
        dones = self.locals["dones"]
        self.seatings.update(zip(env.opponents[dones].tolist(), env.seats[dones].tolist(),
                                 strict=True))
        return True

    @property
    def ppo(self) -> MaskablePPO:
        return narrow(self.model, MaskablePPO)

    def _on_rollout_end(self) -> None:
        buffer: Any = self.ppo.rollout_buffer
        self.rollouts.append(Rollout(
            buffer.observations.copy(), buffer.actions[:, :, 0].astype(int).copy(),
            buffer.action_masks.reshape(*buffer.rewards.shape, -1).copy(), buffer.rewards.copy(),
            buffer.episode_starts.astype(bool), buffer.values.copy(), buffer.advantages.copy(),
            buffer.returns.copy(), np.array(self.model._last_obs), self._next_values(),
            np.array(self.model._last_episode_starts, dtype=np.bool_)))

    def _next_values(self) -> Any:
        """What the network that played the rollout says of the positions after it."""
        with torch.no_grad():
            seen = torch.as_tensor(self.model._last_obs)
            return self.ppo.policy.predict_values(seen).numpy().flatten()


def watched(game: Game, rollouts: int, **changes: Any) -> Watch:
    """What is seen in some rollouts; a past self is in the pool, where there is one, from half-way.

    From each rollout the learner learns in one step.
    """
    settings = config(**{"n_epochs": 1, "batch_size": ROLLOUT, **changes})
    learner, watch = quiet_learner(game, settings), Watch()
    learner.model.learn(rollouts // 2 * ROLLOUT, watch)
    if learner.pool:
        learner.add_snapshot()
    learner.model.learn((rollouts - rollouts // 2) * ROLLOUT, watch, reset_num_timesteps=False)
    return watch


def seats_in(observations: Any) -> Any:
    """Who is to move: the shape of observations without their last three axes."""
    return observations[..., SEAT_PLANE, 0, 0].astype(int)


def positions(game: Game, observations: Any) -> PositionArray:
    """The positions that observations of learners who are to move show, shape (n,).

    The first four planes are sets of squares, the last six single numbers.
    """
    planes = observations.reshape(len(observations), -1, SQUARES).astype(np.float64)
    bits = planes[:, :4].astype(np.int64) @ (1 << np.arange(SQUARES))
    factions, plies = game.rules.factions_per_player, game.rules.max_plies
    count = np.rint(planes[:, -6:-2, 0] * factions).astype(np.int64)
    left = np.rint(planes[:, -2, 0] * plies).astype(np.int64)
    on_board = planes[:, :2].sum(axis=2).astype(np.int64)
    states = stack([Position(*[0] * 9)] * len(planes))
    for index, name in enumerate(("own", "opposing", "strongholds", "bastion")):
        states[name] = bits[:, index]
    states["own_hand"], states["opposing_hand"] = count[:, 0], count[:, 1]
    # What is neither in the hand nor on the board nor scored by the other one is a forfeit.
    states["own_forfeits"] = factions - count[:, 0] - on_board[:, 0] - count[:, 3]
    states["opposing_forfeits"] = factions - count[:, 1] - on_board[:, 1] - count[:, 2]
    states["ply"] = plies - left
    return states


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
@pytest.mark.parametrize("opponents", OPPONENTS)
@pytest.mark.parametrize("kind", KINDS)
def test_masks_in_the_buffer_are_those_of_its_observations(
    source: dict[str, Any] | str, opponents: str, kind: str
) -> None:
    """An evaluation that moves the learner's own env would make them contradict each other."""
    game = game_of_source(source)
    watch = watched(game, 4, opening_plies=3, **OPPONENTS[opponents], **KINDS[kind])
    for rollout in watch.rollouts:
        seen = rollout.observations.reshape(ROLLOUT, *rollout.observations.shape[2:])
        states = positions(game, seen)
        masks = rollout.action_masks.reshape(ROLLOUT, -1)
        assert np.count_nonzero(masks != game.legal_action_masks(states)) == 0
        assert masks[np.arange(ROLLOUT), rollout.actions.reshape(-1)].all()
        assert np.array_equal(game.encode(states)[0], seen)
    assert len(watch.rollouts) == 4
    turned = narrow(watch.model.get_env(), SB3VecEnv).symmetries
    assert turned.any() == (kind == "lines" and len(game.symmetries()) > 1)


def replies(game: Game, position: Position) -> list[Position]:
    return [game.apply(position, action) for action in game.legal_actions(position)]


def reward_of(game: Game, end: Position, seat: int, reward: str) -> float:
    margin = present(game.outcome(end)).margin * (-1 if seat else 1)
    return margin / (2 * game.rules.factions_per_player) if reward == "margin" else np.sign(margin)


def table_of(watch: Watch) -> dict[str, Any]:
    """The rows of all rollouts one after the other, (steps, games) each."""
    return {name: np.concatenate([getattr(rollout, name) for rollout in watch.rollouts])
            for name in ("observations", "actions", "rewards", "episode_starts")}


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
@pytest.mark.parametrize(("kind", "reward"), [("lanes", "margin"), ("lines", "outcome")])
def test_rows_against_a_pool_are_the_decisions_of_the_learner_and_nothing_else(
    source: dict[str, Any] | str, kind: str, reward: str
) -> None:
    """Each row follows from the last by the learner's action and one reply."""
    game = game_of_source(source)
    watch = watched(game, 6, num_envs=8, opening_plies=0, reward=reward, **POOL, **KINDS[kind])
    table, ends = table_of(watch), 0
    for index in range(8):
        seats = seats_in(table["observations"])[:, index]
        states = unstack(positions(game, table["observations"][:, index]))
        starts = table["episode_starts"][:, index]
        for row in range(len(states) - 1):
            assert states[row].ply % 2 == seats[row]
            if starts[row]:
                start = game.initial_state()
                assert states[row] in (replies(game, start) if seats[row] else [start])
            after = game.apply(states[row], int(table["actions"][row, index]))
            given = table["rewards"][row, index]
            if not starts[row + 1]:
                assert (given, seats[row + 1]) == (0, seats[row])
                assert states[row + 1] in replies(game, after)
                continue
            ends += 1
            last = [after] if game.is_terminal(after) else replies(game, after)
            possible = [reward_of(game, end, seats[row], reward) for end in last
                        if game.is_terminal(end)]
            assert np.isclose(given, possible).any()
    assert ends > 20


@pytest.mark.parametrize("source", [*SOURCES, BLOCKED], ids=name_of)
@pytest.mark.parametrize(("kind", "reward"), [("lanes", "margin"), ("lines", "outcome")])
def test_rows_against_itself_are_the_decisions_of_both_seats(
    source: dict[str, Any] | str, reward: str, kind: str
) -> None:
    """Each row follows from the last by its action alone, and the last mover gets the reward."""
    game = game_of_source(source)
    watch = watched(game, 6, num_envs=8, opening_plies=0, reward=reward, **KINDS[kind])
    table, ends = table_of(watch), 0
    for index in range(8):
        seats = seats_in(table["observations"])[:, index]
        states = unstack(positions(game, table["observations"][:, index]))
        starts = table["episode_starts"][:, index]
        for row in range(len(states) - 1):
            assert states[row].ply % 2 == seats[row]
            assert not starts[row] or states[row] == game.initial_state()
            after = game.apply(states[row], int(table["actions"][row, index]))
            given = table["rewards"][row, index]
            assert game.is_terminal(after) == starts[row + 1]
            if starts[row + 1]:
                ends += 1
                assert given == pytest.approx(reward_of(game, after, seats[row], reward))
            else:
                assert given == 0
                assert states[row + 1] == after
    assert ends > 10


@pytest.mark.parametrize("source", ["storm", QUICK_DEATH, ONE_FACTION], ids=name_of)
@pytest.mark.parametrize(("gamma", "gae_lambda"), [(1.0, 0.95), (0.9, 0.7), (1.0, 1.0)])
def test_advantages_against_itself_are_those_of_the_first_player_with_the_movers_sign(
    source: dict[str, Any] | str, gamma: float, gae_lambda: float
) -> None:
    """A slow count from one viewpoint, in which nobody's value changes its sign on the way."""
    game = game_of_source(source)
    watch = watched(game, 4, gamma=gamma, gae_lambda=gae_lambda, learning_rate=0.01)
    for rollout in watch.rollouts:
        seats = np.vstack([seats_in(rollout.observations), seats_in(rollout.next_observations)])
        over = np.vstack([rollout.episode_starts, rollout.next_starts])[1:]
        signs = 1 - 2 * seats
        values = signs * np.vstack([rollout.values, rollout.next_values])
        rewards = signs[:-1] * rollout.rewards
        ahead = np.zeros(signs.shape[1])
        for row in reversed(range(len(rewards))):
            following = np.where(over[row], 0, gamma * values[row + 1])
            ahead = (rewards[row] + following - values[row]
                     + np.where(over[row], 0, gamma * gae_lambda * ahead))
            assert np.allclose(rollout.advantages[row], signs[row] * ahead, atol=1e-5)
            assert np.allclose(rollout.returns[row], signs[row] * (ahead + values[row]), atol=1e-5)
        assert (over[:-1].sum(), rewards.any(), values.any()) > (0, False, False)


@pytest.mark.parametrize("source", ["storm", QUICK_DEATH], ids=name_of)
def test_returns_of_both_seats_of_a_game_against_itself_sum_to_zero(
    source: dict[str, Any] | str
) -> None:
    """Without discount and bootstrapping, every decision's return is the game's result."""
    game, compared = game_of_source(source), 0
    for rollout in watched(game, 4, num_envs=4, gae_lambda=1.0).rollouts:
        seats = seats_in(rollout.observations)
        for index in range(4):
            ended = np.flatnonzero(rollout.rewards[:, index])
            for row in range(ended[-1] if len(ended) else 0):
                if not rollout.episode_starts[row + 1, index]:
                    assert seats[row, index] != seats[row + 1, index]
                    assert rollout.returns[row, index] == pytest.approx(
                        -rollout.returns[row + 1, index], abs=1e-5)
                    compared += rollout.returns[row, index] != 0
    assert compared > 50


@pytest.mark.parametrize("opponents", OPPONENTS)
def test_a_reward_of_ones_own_is_given_as_the_margin_is(
    opponents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function sees final positions and the margins of whoever the reward is for."""
    game, seen = game_of_source(QUICK_DEATH), []

    def own(game: Game, states: PositionArray, margins: Any) -> Any:
        seen.append((states.copy(), margins.copy()))
        return np.where(margins > 0, 0.75, -0.25)

    monkeypatch.setitem(globals(), "own_reward", own)
    watch = watched(game, 4, reward=f"{__name__}:own_reward", **OPPONENTS[opponents])
    given = np.concatenate([rollout.rewards for rollout in watch.rollouts])
    assert set(np.unique(given)) == {-0.25, 0.0, 0.75}
    for states, margins in seen:
        assert all(game.is_terminal(position) for position in unstack(states))
        mine = game.margins(states)
        assert (abs(margins) == abs(mine)).all()
        if opponents == "self":
            assert (margins == np.where(states["ply"] & 1, mine, -mine)).all()


def test_returns_of_the_two_seats_sum_to_zero() -> None:
    """Two players without chance, each of them once the learner in either seat."""
    game, margins = game_of_source(QUICK_DEATH), set()
    for salt in range(8):
        one, other = Salted(game, salt), Salted(game, salt + 100)
        first, second = seat_returns(game, one, other), seat_returns(game, other, one)
        assert first == [-second[1], -second[0]]
        margins |= set(first)
    assert min(margins) < 0 < max(margins)


class Salted(Positional):
    """One of many players whom the position alone decides."""

    def __init__(self, game: Game, salt: int) -> None:
        super().__init__(game)
        self._salt = salt

    def choose(self, position: Position) -> int:
        legal = self._game.legal_actions(position)
        return legal[hash((*position, self._salt)) % len(legal)]


def seat_returns(game: Game, learner: Positional, opponent: Positional) -> list[float]:
    """What the learner gets from seat 0 and from seat 1."""
    pool = OpponentPool([opponent], 1)
    env = SB3VecEnv(SelfPlayVectorEnv(16, game.rules, pool, load_reward("margin")))
    env.seed(1)
    env.reset()
    found: dict[int, set[float]] = {0: set(), 1: set()}
    for _ in range(60):
        seats = env.env.seats.copy()
        actions = learner.select_actions(env.env.states, np.random.default_rng(0))
        _, rewards, dones, infos = env.step(actions)
        for index in np.flatnonzero(dones):
            assert infos[index]["episode"]["r"] == rewards[index]
            found[int(seats[index])].add(float(rewards[index]))
        assert not rewards[~dones].any()
    assert [len(results) for results in found.values()] == [1, 1]
    assert pool.members[0].games > 32
    return [results.pop() for results in found.values()]


def test_a_game_that_ends_before_the_learner_moves_is_heard_of() -> None:
    """In seat 1 the only decision is a pass, and it carries the loss."""
    game = game_of_source(ONE_FACTION)
    watch = watched(game, 4, opening_plies=0, **POOL)
    for rollout in watch.rollouts:
        seats = seats_in(rollout.observations)
        assert rollout.episode_starts.all()
        assert np.array_equal(rollout.rewards, 1 - 2 * seats)
        assert (rollout.actions[seats == 1] == PASS).all()
        assert (rollout.action_masks[seats == 1].sum(axis=1) == 1).all()
        assert (rollout.actions[seats == 0] != PASS).all()
        assert set(seats.flat) == {0, 1}


def test_every_opponent_is_met_from_both_seats_about_equally() -> None:
    """A past self on a seat that it never trained for is no opponent."""
    game = game_of_source(QUICK_DEATH)
    watch = watched(game, 40, num_envs=64, opening_plies=2, **POOL)
    numbers = {number for number, _ in watch.seatings}
    assert len(numbers) == 4  # itself, random, greedy, a past self
    for number in numbers:
        games = watch.seatings[number, 0] + watch.seatings[number, 1]
        assert games > 50
        assert abs(watch.seatings[number, 0] / games - 0.5) < 2.5 / games ** 0.5


def test_decisions_against_itself_are_of_both_seats_about_equally() -> None:
    watch = watched(game_of_source(QUICK_DEATH), 10, num_envs=64, opening_plies=2)
    seats = np.concatenate([seats_in(rollout.observations) for rollout in watch.rollouts])
    assert 0.4 < seats.mean() < 0.6


@pytest.mark.parametrize("source", ["storm", "sudden-death"])
@pytest.mark.parametrize("opponents", OPPONENTS)
def test_probability_ratios_of_the_first_minibatch_are_one(
    source: str, opponents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The update sees the masks that acting saw; 1e-5 is what float32 leaves."""
    model = watched(game_of_source(source), 4, n_epochs=2, batch_size=64,
                    **OPPONENTS[opponents]).ppo
    old: list[torch.Tensor] = []
    new: list[torch.Tensor] = []
    policy, buffer = model.policy, model.rollout_buffer
    evaluate, get = policy.evaluate_actions, buffer.get

    def watched_get(*arguments: Any) -> Iterator[Any]:
        for minibatch in get(*arguments):
            old.append(minibatch.old_log_prob.clone())
            yield minibatch

    def watched_evaluate(observations: Any, actions: Any, action_masks: Any = None) -> Any:
        values, log_prob, entropy = evaluate(observations, actions, action_masks=action_masks)
        new.append(log_prob.detach().clone())
        return values, log_prob, entropy

    monkeypatch.setattr(buffer, "get", watched_get)
    monkeypatch.setattr(policy, "evaluate_actions", watched_evaluate)
    model.learn(ROLLOUT, reset_num_timesteps=False)
    ratios = torch.exp(new[0] - old[0])
    assert len(ratios) == 64
    assert torch.abs(ratios - 1).max() < 1e-5
    assert torch.abs(torch.exp(new[-1] - old[-1]) - 1).max() > 1e-5


def test_hundreds_of_masked_batches_of_169_actions() -> None:
    """Logits from flat to extreme, many legal actions or a single one."""
    game = game_of_source("sudden-death")
    policy: Any = quiet_learner(game, config()).model.policy
    rng = np.random.default_rng(0)
    states = game.initial_states(256)
    for batch in range(160):
        observations, masks = game.encode(states)
        if batch % 2:  # all but one action forbidden
            chosen = game.random_actions(states, rng)
            masks = np.eye(game.num_actions, dtype=np.int8)[chosen]
        with torch.no_grad():
            policy.network.policy.weight.mul_(1.12 if batch < 80 else 0.95)
            actions, _, log_prob = policy(torch.as_tensor(observations), action_masks=masks)
            distribution = policy.get_distribution(torch.as_tensor(observations), masks)
        probabilities = distribution.distribution.probs.numpy()
        assert masks[np.arange(256), actions].all()
        assert np.isfinite(log_prob.numpy()).all()
        assert np.isfinite(distribution.entropy().numpy()).all()
        assert (probabilities[masks == 0] == 0).all()
        assert np.abs(probabilities.sum(axis=1) - 1).max() < 1e-4
        states, over = game.advance(states, game.random_actions(states, rng))
        states[over] = game.initial_states(int(over.sum()))


def test_only_an_env_that_resets_at_once_can_be_learned_from() -> None:
    with pytest.raises(OptionError, match=r"autoreset_mode is .*NEXT_STEP.*SAME_STEP"):
        SB3VecEnv(CastleVectorEnv(2))


@pytest.mark.parametrize("plies", [-1, 5])
def test_openings_as_long_as_a_game_are_refused(plies: int) -> None:
    game = game_of_source(QUICK_DEATH)
    with pytest.raises(OptionError, match=f"opening_plies is {plies}; allowed: 0 to 4"):
        SelfPlayVectorEnv(2, game.rules, OpponentPool([make_agent("random", game)], 1),
                          load_reward("outcome"), plies)
