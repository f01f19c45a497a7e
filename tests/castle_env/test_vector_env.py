"""The batched environment plays the games of the single, the synchronous and the AEC one."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from drivers import (
    NUM_ENVS,
    VectorDriver,
    assert_same_games,
    play_aec,
    play_aec_both_seats,
    play_single,
)
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from narrow import narrow
from scripted import BLOCKED, ONE_FACTION, QUICK_DEATH, name_of

from castle_env import ActionError, Game, IllegalActionError, OptionError, load_ruleset
from castle_env.board import PASS
from castle_env.env import CastleEnv
from castle_env.options import RulesetSource, Seat
from castle_env.position import Position, PositionArray, stack
from castle_env.vector_env import CastleVectorEnv

MODES = tuple(AutoresetMode)
RULESETS = ("storm", QUICK_DEATH, ONE_FACTION)


def make_batched(ruleset: RulesetSource, seat: Seat, mode: AutoresetMode) -> CastleVectorEnv:
    envs = gym.make_vec("castle_env/Castle-v1", NUM_ENVS, ruleset=ruleset, opponent="positional",
                        seat=seat, autoreset_mode=mode, text_info=True)
    assert isinstance(envs.unwrapped, CastleVectorEnv)
    return envs.unwrapped


def make_sync(ruleset: RulesetSource, seat: Seat, mode: AutoresetMode) -> "SyncVectorEnv[Any, Any]":
    def make() -> CastleEnv:
        return CastleEnv(ruleset, "positional", seat, text_info=True)

    return SyncVectorEnv([make] * NUM_ENVS, autoreset_mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seat", [0, 1, "alternate"])
@pytest.mark.parametrize("ruleset", RULESETS, ids=name_of)
def test_the_same_100_games_in_every_environment(
    ruleset: RulesetSource, seat: Literal[0, 1, "alternate"], mode: AutoresetMode
) -> None:
    expected = play_single(ruleset, seat)
    assert all(record.end for record in expected)
    assert_same_games(VectorDriver(make_batched(ruleset, seat, mode)).play(), expected)
    assert_same_games(VectorDriver(make_sync(ruleset, seat, mode)).play(), expected)
    if ruleset != ONE_FACTION:  # in AEC nobody passes for a player whose turn never came
        assert_same_games(play_aec(ruleset, seat), expected)
        assert len({tuple(record.moves) for record in expected}) > 30


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ruleset", RULESETS, ids=name_of)
def test_batched_and_synchronous_give_the_same_at_every_step(
    ruleset: RulesetSource, mode: AutoresetMode
) -> None:
    batched = make_batched(ruleset, "alternate", mode)
    sync = make_sync(ruleset, "alternate", mode)
    assert batched.observation_space == sync.observation_space
    assert batched.action_space == sync.action_space
    assert batched.metadata["autoreset_mode"] == sync.metadata["autoreset_mode"] == mode
    drivers = VectorDriver(batched), VectorDriver(sync)
    for _ in range(60):
        (*ours, our_info), (*theirs, their_info) = (driver.step() for driver in drivers)
        for one, other in zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
        assert_same_infos(our_info, their_info)


def assert_same_infos(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """The same keys, types, shapes and values; `final_obs` is a list here and an array there."""
    assert set(ours) == set(theirs)
    for key, values in ours.items():
        if key == "final_info":
            assert_same_infos(values, theirs[key])
        elif key == "final_obs":
            for one, other in zip(values, theirs[key], strict=True):
                assert np.array_equal(one, other) if one is not None else other is None
        else:
            assert (values.dtype, values.shape) == (theirs[key].dtype, theirs[key].shape), key
            assert np.array_equal(values, theirs[key]), key


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ruleset", RULESETS, ids=name_of)
def test_both_seats_as_in_aec(ruleset: RulesetSource, mode: AutoresetMode) -> None:
    envs = CastleVectorEnv(NUM_ENVS, ruleset, opponent=None, autoreset_mode=mode, text_info=True)
    played = VectorDriver(envs).play()
    assert_same_games(played, play_aec_both_seats(ruleset))


def test_margin_rewards() -> None:
    envs = CastleVectorEnv(NUM_ENVS, "storm", "positional", 1, "margin", text_info=True)
    for record in VectorDriver(envs).play():
        assert record.end is not None
        assert record.moves[-1][1] == -record.end["margin"] / 16


@pytest.mark.parametrize("opponent", ["positional", None])
def test_bytes_are_the_counts_that_shares_are_made_of(opponent: Any) -> None:
    kwargs: dict[str, Any] = {
        "ruleset": QUICK_DEATH, "opponent": opponent, "autoreset_mode": "SameStep"}
    plain = CastleVectorEnv(4, seat=0, **kwargs)
    whole = CastleVectorEnv(4, seat=0, observation_dtype="uint8", **kwargs)
    divisors = narrow(whole.single_observation_space, spaces.Box).high.astype(np.float64)
    assert divisors[[10, 12, 16, 17], 0, 0].tolist() == [4, 3, 24, 1]
    shares, counts = plain.reset(seed=1)[0], whole.reset(seed=1)[0]
    for _ in range(30):
        assert counts in whole.observation_space
        assert np.array_equal((counts / divisors).astype(np.float32), shares)
        actions = legal_actions(plain)
        (shares, _, ended, _, info), (counts, *_, whole_info) = (
            envs.step(actions) for envs in (plain, whole))
        for index in np.flatnonzero(ended):
            final = whole_info["final_obs"][index]
            assert final.dtype == np.uint8
            assert np.array_equal((final / divisors).astype(np.float32), info["final_obs"][index])


# Actions


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize("ruleset", ["storm", "sudden-death-step", QUICK_DEATH], ids=name_of)
def test_500_steps_of_samples_are_legal(
    ruleset: RulesetSource, opponent: Any, mode: AutoresetMode
) -> None:
    envs = gym.make_vec("castle_env/Castle-v1", 32, ruleset=ruleset, opponent=opponent,
                        autoreset_mode=mode)
    envs.action_space.seed(1)
    _, info = envs.reset(seed=1)
    waiting = np.zeros(32, dtype=np.bool_)
    games = 0
    for _ in range(500):
        mask = info["action_mask"]
        assert np.array_equal(mask.any(axis=1), ~waiting)
        assert (mask.sum(axis=1) == 1)[mask[:, PASS] == 1].all()
        actions = envs.action_space.sample()
        assert mask[np.arange(32), actions][~waiting].all()
        _, _, terminations, _, info = envs.step(actions)
        games += terminations.sum()
        if mode == AutoresetMode.DISABLED and terminations.any():
            _, info = envs.reset(options={"reset_mask": terminations})
        waiting = terminations & (mode == AutoresetMode.NEXT_STEP)
    assert games > 100


def snapshot(envs: CastleVectorEnv) -> tuple[Any, ...]:
    """Everything that a refused call must leave alone."""
    return (envs.states.tobytes(), envs.seats.tolist(), envs.action_masks().tolist(),
            envs._over.tolist(), envs._unheard.tolist(), envs._losers.tolist(),
            envs._episodes.tolist(), envs.np_random.bit_generator.state)


def legal_actions(envs: CastleVectorEnv) -> npt.NDArray[np.int64]:
    return np.asarray(np.argmax(envs.action_masks(), axis=1))


@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize("mode", MODES)
def test_an_illegal_action_in_one_game_changes_no_game(mode: AutoresetMode, opponent: Any) -> None:
    envs = CastleVectorEnv(5, "sudden-death", opponent, autoreset_mode=mode)
    envs.reset(seed=1)
    for turn in range(5):
        before = snapshot(envs)
        for action, error in ((PASS, IllegalActionError), (169, ActionError), (-1, ActionError)):
            actions = legal_actions(envs)
            actions[turn] = action
            with pytest.raises(error) as caught:
                envs.step(actions)
            assert str(action) in str(caught.value)
            assert snapshot(envs) == before
        envs.step(legal_actions(envs))


class Scribbler:
    """The first legal action; writes into the positions it is given, and fails when told to."""

    name = "scribbler"

    def __init__(self) -> None:
        self.game, self.fails = Game(load_ruleset("storm")), False

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        actions = self.game.legal_action_masks(states).argmax(axis=1)
        states["own"] = states["opposing"] = 0
        if self.fails:
            raise RuntimeError("failed")
        return np.asarray(actions, dtype=np.int64)


@pytest.mark.parametrize("mode", MODES)
def test_opponents_may_write_into_what_they_are_given(mode: AutoresetMode) -> None:
    envs = CastleVectorEnv(2, "storm", Scribbler(), seat=0, autoreset_mode=mode)
    env = CastleEnv("storm", Scribbler(), seat=0)
    envs.reset(seed=1)
    env.reset(seed=1)
    game = env.game
    state, over = game.initial_state(), False
    while not over:
        assert env.state == Position(*envs.states[0].item()) == state
        for _ in range(2):
            action = int(game.legal_action_masks(stack([state])).argmax())
            state = game.apply(state, action)
        over = env.step(int(legal_actions(envs)[0]))[2]
        envs.step(legal_actions(envs))
    assert env.state == state


def test_an_opponent_that_fails_at_a_start_starts_no_game() -> None:
    opponent = Scribbler()
    envs = CastleVectorEnv(3, "storm", opponent, seat=1)
    envs.reset(seed=1)
    envs.step(legal_actions(envs))
    before, opponent.fails = snapshot(envs), True
    for call in (envs.reset, lambda: envs.step(legal_actions(envs))):
        with pytest.raises(RuntimeError, match="failed"):
            call()
        assert snapshot(envs) == before
    opponent.fails = False
    envs.step(legal_actions(envs))
    assert envs.states["ply"].tolist() == [5, 5, 5]


@pytest.mark.parametrize("actions", [
    None, 2, 2.0, "Nc", [2], [2, 2], [2, 2, 2, 2], [[2, 2, 2]], [2, [2], 2], [2, None, 2],
    [2.0, 2.0, 2.0], [True, True, True], [2, 2, float("nan")], ["Nc", "Nc", "Nc"], [],
    [2, 10**30, 2], [2, 2, ...], np.zeros((3, 25), dtype=np.int8),
], ids=str)
def test_what_is_no_array_of_actions(actions: Any) -> None:
    envs = CastleVectorEnv(3)
    envs.reset(seed=1)
    before = snapshot(envs)
    with pytest.raises(ActionError, match=r"allowed: integers of shape \(3,\)"):
        envs.step(actions)
    assert snapshot(envs) == before


@pytest.mark.parametrize("kind", [list, tuple, np.int8, np.uint64, np.int32])
def test_any_integers_are_actions(kind: Any) -> None:
    envs = CastleVectorEnv(3, seat=0)
    envs.reset(seed=1)
    actions = legal_actions(envs)
    envs.step(kind(actions.tolist()))
    assert envs.states["ply"].tolist() == [2, 2, 2]


@pytest.mark.parametrize("mode", MODES)
def test_a_game_over_before_the_learner_moved_waits_for_a_pass(mode: AutoresetMode) -> None:
    envs = CastleVectorEnv(4, ONE_FACTION, "random", 1, autoreset_mode=mode)
    _, info = envs.reset(seed=1)
    assert (info["action_mask"].argmax(axis=1) == PASS).all()
    assert (info["action_mask"].sum(axis=1) == 1).all()
    before = snapshot(envs)
    for wrong, error in ((2, IllegalActionError), (999, ActionError)):
        with pytest.raises(error):
            envs.step(np.array([PASS, PASS, wrong, PASS]))
        assert snapshot(envs) == before
    _, rewards, terminations, _, _ = envs.step(np.full(4, PASS))
    assert rewards.tolist() == [-1.0] * 4
    assert terminations.all()


# Starting games


def test_a_finished_game_is_not_stepped_when_autoreset_is_disabled() -> None:
    envs = CastleVectorEnv(3, BLOCKED, seat=0, autoreset_mode="Disabled")
    envs.reset(seed=1)
    for _ in range(8):
        _, _, terminations, _, _ = envs.step(np.full(3, PASS))
    assert terminations.all()
    envs.reset(options={"reset_mask": np.array([True, False, True])})
    assert envs.states["ply"].tolist() == [0, 16, 0]
    before = snapshot(envs)
    with pytest.raises(IllegalActionError, match="game 1 is over; reset it"):
        envs.step(np.full(3, PASS))
    assert snapshot(envs) == before


def test_reset_mask_leaves_the_other_games_alone() -> None:
    envs = CastleVectorEnv(6)
    envs.reset(seed=1)
    envs.step(legal_actions(envs))
    states, seats = envs.states.copy(), envs.seats.copy()
    chosen = np.array([True, False, False, True, False, True])
    observations, info = envs.reset(options={"reset_mask": chosen})
    assert np.array_equal(envs.states[~chosen], states[~chosen])
    assert np.array_equal(envs.seats[~chosen], seats[~chosen])
    assert (envs.states["ply"][chosen] == envs.seats[chosen]).all()
    assert np.array_equal(observations, envs.game.observations(envs.states))
    assert np.array_equal(info["action_mask"], envs.game.legal_action_masks(envs.states))


@pytest.mark.parametrize("wrong", [None, True, [True], [1, 0, 1], "all", np.ones((3, 1), bool)])
def test_reset_mask_that_is_none_changes_nothing(wrong: Any) -> None:
    envs = CastleVectorEnv(3)
    envs.reset(seed=1)
    before = snapshot(envs)
    with pytest.raises(OptionError, match=r"reset_mask has .* allowed: bool of shape \(3,\)"):
        envs.reset(seed=5, options={"reset_mask": wrong})
    assert snapshot(envs) == before


def test_use_before_reset() -> None:
    envs = CastleVectorEnv(3, render_mode="ansi")
    for use in (lambda: envs.step(np.array([2, 2, 2])), envs.render, envs.action_masks,
                lambda: envs.reset(options={"reset_mask": np.array([True, False, False])})):
        with pytest.raises(ResetNeeded):
            use()


@pytest.mark.parametrize("mode", [*MODES, "NextStep", "SameStep", "Disabled"])
def test_autoreset_mode_is_declared(mode: Any) -> None:
    envs = gym.make_vec("castle_env/Storm-v1", 2, autoreset_mode=mode)
    assert envs.metadata["autoreset_mode"] is AutoresetMode(mode)
    assert CastleVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert gym.make_vec("castle_env/Storm-v1", 2).metadata["autoreset_mode"] == MODES[0]


@pytest.mark.parametrize(("option", "value"), [
    ("autoreset_mode", "never"), ("autoreset_mode", None), ("num_envs", 0), ("num_envs", True),
    ("num_envs", 2.0), ("num_envs", None), ("seat", 3), ("reward", "win"), ("render_mode", "4k"),
    ("observation_dtype", "int8"),
    ("observation", "text"), ("illegal", "ignore"), ("text_info", 1), ("num_threads", 0),
    ("num_threads", True), ("num_threads", 1.5),
])
def test_options_that_are_not_allowed(option: str, value: Any) -> None:
    with pytest.raises(OptionError, match=f"{option} is {value!r}; allowed: "):
        CastleVectorEnv(**{option: value})


def test_same_seed_same_games() -> None:
    def games(seed: int) -> list[Any]:
        envs = CastleVectorEnv(8, "sudden-death-step")
        envs.action_space.seed(seed)
        envs.reset(seed=seed)
        return [(envs.step(envs.action_space.sample())[1].tolist(), envs.states.tolist())
                for _ in range(100)]

    assert games(1) == games(1)
    assert games(1) != games(2)


class StartingElsewhere(CastleVectorEnv):
    """Games begin after `Nc`."""

    _own_starts = True

    def _first_states(self, count: int) -> PositionArray:
        return self.game.apply_actions(self.game.initial_states(count), np.full(count, 2))


@pytest.mark.parametrize("mode", MODES)
def test_every_game_of_a_class_with_own_starts_begins_there(mode: AutoresetMode) -> None:
    envs = StartingElsewhere(3, opponent=None, autoreset_mode=mode)
    _, info = envs.reset(seed=1)
    started = 0
    for _ in range(40):
        new = info["seat"] == -1
        started += int(new.sum())
        assert (envs.states["ply"][new] == 1).all()
        _, _, ended, _, info = envs.step(legal_actions(envs))
        if mode == AutoresetMode.DISABLED and ended.any():
            _, info = envs.reset(options={"reset_mask": ended})
    assert started == 9


def test_random_seats_are_even() -> None:
    envs = CastleVectorEnv(400)
    envs.reset(seed=1)
    assert 160 < envs.seats.sum() < 240
    assert np.array_equal(envs.states["ply"], envs.seats)


# Frames and copies


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_frames_are_those_of_single_environments(mode: AutoresetMode) -> None:
    kwargs: dict[str, Any] = {
        "ruleset": QUICK_DEATH, "opponent": "positional", "seat": "alternate",
        "render_mode": "svg"}
    batched = CastleVectorEnv(3, autoreset_mode=mode, **kwargs)
    sync = SyncVectorEnv([lambda: CastleEnv(**kwargs)] * 3, autoreset_mode=mode)
    batched.reset()
    sync.reset()
    for _ in range(25):
        assert batched.render() == sync.render()
        actions = legal_actions(batched)
        batched.step(actions)
        sync.step(actions)


def through_pickle(envs: Any) -> Any:
    return pickle.loads(pickle.dumps(envs))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, through_pickle])
def test_copies_in_the_middle_of_games_live_apart(
    duplicate: Callable[[Any], Any], render_mode: str | None, mode: AutoresetMode
) -> None:
    envs = CastleVectorEnv(4, "sudden-death", render_mode=render_mode, autoreset_mode=mode)
    envs.reset(seed=1)
    for _ in range(3):
        envs.step(legal_actions(envs))
    frames = envs.render()
    twin = duplicate(envs)
    before = snapshot(envs)
    assert snapshot(twin) == before
    assert np.array_equal(twin.render() or (), frames or ())

    def play_on(some: CastleVectorEnv) -> list[Any]:
        seen = []
        for _ in range(5):
            observations, rewards, *_ = some.step(legal_actions(some))
            seen.append((observations.tolist(), rewards.tolist(), snapshot(some)))
        return seen

    seen = play_on(twin)
    assert snapshot(envs) == before
    assert play_on(envs) == seen
    assert twin.action_space.sample().shape == (4,)
