"""Whole games in the Gymnasium environment: rewards, ends, seats and what the learner sees."""

from typing import Any, Literal

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from scripted import (
    BLOCKED,
    ONE_FACTION,
    QUICK_DEATH,
    Positional,
    Scripted,
    game_of_source,
    name_of,
    named,
    random_game,
)

from castle_env import Game, IllegalActionError, Ruleset, load_ruleset
from castle_env.board import ENTRIES, PASS
from castle_env.env import CastleEnv
from castle_env.observation import ObservationDtype
from castle_env.options import Reward, RulesetSource, Seat
from castle_env.position import stack

RULESETS = ("storm", "storm-towers", "sudden-death", "sudden-death-step", QUICK_DEATH, ONE_FACTION,
            BLOCKED)
DUEL: dict[str, Any] = {"mode": "storm", "factions_per_player": 1}
SQUARES = [[0] * 6, [0] * 6, [0, 0, 3, 2, 0, 0], [0] * 6, [0] * 6, [0] * 6]
DUEL_FOR_SQUARES = DUEL | {
    "victory_points": {"besieging": 0, "controlled": 0, "squares": SQUARES}}


KEYS = {"action_mask", "seat", "played_action", "illegal_action", "end_reason", "winner", "margin",
        "victory_points", "points_by_row"}


def play(env: CastleEnv, actions: list[int]) -> tuple[list[float], dict[str, Any]]:
    """Rewards of a whole game and the info at its end; all rewards but the last are 0."""
    _, info = env.reset(seed=0)
    rewards = []
    terminated = False
    while not terminated:
        assert set(info) == KEYS
        assert (info["end_reason"], info["winner"], info["margin"]) == (0, -1, 0)
        action = actions.pop(0) if actions else PASS
        _, reward, terminated, truncated, info = env.step(action)
        assert truncated is False
        rewards.append(reward)
    assert not actions
    assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    return rewards, info


# Rewards, worked out by hand. A on c4 and B on c3, d3 or d4 among the strongholds that they
# pushed: "Nc W3" is 3:5, "Nc Sd" 1:1; with SQUARES "Nc Nd" is 3:2.


@pytest.mark.parametrize(("rules", "game_played", "margin"), [
    (DUEL, "Nc W3", -2), (DUEL, "Nc Sd", 0), (DUEL_FOR_SQUARES, "Nc Nd", 1),
])
@pytest.mark.parametrize("reward", ["outcome", "margin"])
@pytest.mark.parametrize("seat", [0, 1])
def test_the_move_that_ends_the_game_carries_the_reward(
    rules: dict[str, Any], game_played: str, margin: int, reward: Reward, seat: Seat
) -> None:
    first, second = named(game_of_source(rules), game_played)
    own, reply = (second, first) if seat else (first, second)
    env = CastleEnv(rules, opponent=Scripted([reply]), seat=seat, reward=reward)
    env.reset(seed=0)
    _, given, terminated, truncated, info = env.step(own)
    of_player_0 = np.sign(margin) if reward == "outcome" else margin / 2
    assert given == (-of_player_0 if seat else of_player_0)
    assert isinstance(given, float)
    assert (terminated, truncated) == (True, False)
    assert info["margin"] == margin


@pytest.mark.parametrize("reward", ["outcome", "margin"])
@pytest.mark.parametrize("source", RULESETS, ids=name_of)
def test_the_two_seats_share_the_game_and_their_returns_sum_to_zero(
    source: RulesetSource, reward: Reward
) -> None:
    game = game_of_source(source)
    for seed in range(8):
        actions = random_game(game, seed)
        results = []
        for seat in (0, 1):
            env = CastleEnv(source, Scripted(actions[1 - seat::2]), seat, reward)
            rewards, info = play(env, actions[seat::2])
            assert info["seat"] == seat
            results.append((sum(rewards), info["margin"], info["winner"],
                            info["points_by_row"].tolist(), env.position))
        assert results[0][0] + results[1][0] == 0
        assert results[0][1:] == results[1][1:]
        margin = results[0][1]
        scale = 2 * game.rules.factions_per_player
        assert results[0][0] == (np.sign(margin) if reward == "outcome" else margin / scale)


def test_info_at_the_end_says_how_it_ended() -> None:
    game = game_of_source(DUEL)
    env = CastleEnv(DUEL, Scripted(named(game, "W3")), 0)
    _, info = play(env, named(game, "Nc"))
    assert set(info) == KEYS
    assert {key: info[key] for key in ("seat", "end_reason", "winner", "margin")} == {
        "seat": 0, "end_reason": 1, "winner": 1, "margin": -2}
    assert (info["played_action"], info["illegal_action"]) == (named(game, "Nc")[0], 0)
    assert info["victory_points"].tolist() == [3, 5]
    assert info["points_by_row"].tolist() == [[0, 1, 0, 2, 0, 0], [0, 1, 0, 4, 0, 0]]
    assert env.position == "6/6/2A#2/2B##1/2#3/6 A c3 0,0 0,0 2"
    assert not info["action_mask"].any()


def test_texts_on_request() -> None:
    game = game_of_source(DUEL)
    env = CastleEnv(DUEL, Scripted(named(game, "W3")), 0, text_info=True)
    _, info = env.reset(seed=0)
    assert set(info) == KEYS | {"position", "end_reason_text"}
    assert (info["position"], info["end_reason_text"]) == (env.position, "")
    info = env.step(named(game, "Nc")[0])[-1]
    assert (info["position"], info["end_reason_text"]) == (env.position, "all_turns_played")


# Ends


def test_the_game_may_end_before_a_learner_in_seat_1_has_moved() -> None:
    env = CastleEnv(ONE_FACTION, "random", 1, render_mode="ansi")
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert np.flatnonzero(info["action_mask"]).tolist() == [PASS]
    assert env.action_masks().tolist() == info["action_mask"].tolist()
    assert env.action_space.sample() == PASS
    before = env.position
    for action in set(range(169)) - {PASS}:
        with pytest.raises(IllegalActionError):
            env.step(action)
    assert isinstance(env.render(), str)
    final, reward, terminated, truncated, info = env.step(PASS)
    assert (reward, terminated, truncated, env.position) == (-1.0, True, False, before)
    assert np.array_equal(final, observation)
    assert info["end_reason"] == 2
    with pytest.raises(IllegalActionError, match="after the end"):
        env.step(PASS)


def test_two_shufflers_are_stopped_by_the_turn_limit_and_that_is_no_truncation() -> None:
    game = Game(load_ruleset("sudden-death-step"))
    own = named(game, "Nb " + "b6c6 c6b6 " * 30)[:60]
    others = named(game, "W5 " + "a5a4 a4a5 " * 30)[:60]
    env = CastleEnv("sudden-death-step", Scripted(others), 0)
    rewards, info = play(env, own)
    assert len(rewards) == 60
    assert env.state.ply == 120
    assert info["end_reason"] == 3
    assert rewards[-1] == 0.0


@pytest.mark.parametrize("seat", [0, 1])
def test_an_outer_time_limit_alone_is_truncation(seat: int) -> None:
    env = gym.make("castle_env/Storm-v1", seat=seat, max_episode_steps=3)
    _, info = env.reset(seed=0)
    flags = []
    for _ in range(3):
        _, reward, terminated, truncated, info = env.step(int(np.argmax(info["action_mask"])))
        assert reward == 0.0
        flags.append((terminated, truncated))
    assert flags == [(False, False), (False, False), (False, True)]
    assert info["end_reason"] == 0
    assert info["action_mask"].any()


# Seats and seeds


def test_alternate_seats() -> None:
    env = CastleEnv(seat="alternate")
    seats = []
    for seed in (3, None, None, 4, None, None, None):
        env.reset(seed=seed)
        seats.append(env.seat)
        assert env.state.ply == env.seat
    assert seats == [0, 1, 0, 0, 1, 0, 1]


def test_random_seats_are_even_and_seeded() -> None:
    env, twin = CastleEnv(), CastleEnv()
    seats = []
    for seed in [11, *[None] * 399]:
        first, second = env.reset(seed=seed)[0], twin.reset(seed=seed)[0]
        assert np.array_equal(first, second)
        seats.append(env.seat)
    assert 160 < sum(seats) < 240
    assert [env.reset(seed=seed) and env.seat for seed in range(9)] == [
        twin.reset(seed=seed) and twin.seat for seed in range(9)]


@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_same_seed_same_games(opponent: str) -> None:
    def games(seed: int) -> list[Any]:
        env = CastleEnv("sudden-death-step", opponent)
        env.action_space.seed(seed)
        env.reset(seed=seed)
        seen = []
        for _ in range(150):
            _, reward, terminated, _, _ = env.step(env.action_space.sample())
            seen.append((env.position, reward))
            if terminated:
                env.reset()
        return seen

    assert games(1) == games(1)
    assert games(1) != games(2)


# Observations


def squares(names: str) -> npt.NDArray[np.uint8]:
    """A plane of zeros but for squares such as "c4", 1, or "c4*2", 2."""
    plane = np.zeros((6, 6), dtype=np.uint8)
    for name in names.split():
        plane[6 - int(name[1]), "abcdef".index(name[0])] = int(name[3:] or 1)
    return plane


def counts(places: list[str], numbers: list[int]) -> npt.NDArray[np.uint8]:
    """Twelve planes of squares and six of one number each."""
    assert (len(places), len(numbers)) == (12, 6)
    return np.stack([*map(squares, places),
                     *(np.full((6, 6), number, dtype=np.uint8) for number in numbers)])


def shares(planes: npt.NDArray[np.uint8], factions: int, plies: int) -> npt.NDArray[np.float32]:
    """Counts divided by the greatest values of their planes."""
    greatest = np.array([1] * 10 + [4, 4] + [factions] * 4 + [plies, 1])
    found: npt.NDArray[np.float32] = (planes / greatest[:, None, None]).astype(np.float32)
    return found


# A few tokens that no symmetry of the board maps onto one another; B, to move, may enter on ranks
# 5 to 2 from west and east and may not push b3, which has just moved.
LOPSIDED = "A5/6/2##B1/1A#A2/3#2/B5 B b3 4,6 1,0 9"
SEEN_BY_B = counts(
    ["e4 a1", "a6 b3 d3", "c4 d4 c3 d2", "b3", "", "", "c4 d2", "e4 d2", "e4", "b3 d3",
     "d4", "d4 c3*2 d2"], [6, 4, 1, 0, 111, 1])
SEEN_BY_A = counts(
    ["a6 b3 d3", "e4 a1", "c4 d4 c3 d2", "b3", "", "", "", "", "b3 d3", "e4",
     "d4 c3*2 d2", "d4"], [4, 6, 0, 1, 111, 0])


def test_a_lopsided_position_from_both_seats() -> None:
    game = Game(load_ruleset("sudden-death"))
    position = game.parse_position(LOPSIDED)
    for player, seen in enumerate((SEEN_BY_A, SEEN_BY_B)):
        codes: dict[ObservationDtype, npt.NDArray[Any]] = {
            "uint8": seen, "float32": shares(seen, 8, 120)}
        for dtype, expected in codes.items():
            observation = game.observation(position, player, dtype)
            assert observation.dtype == expected.dtype == dtype
            assert np.array_equal(observation, expected)
            batch, _ = game.encode(stack([position] * 2), np.array([player] * 2), dtype)
            assert np.array_equal(batch, [expected] * 2)
    assert np.array_equal(game.observations(stack([position]))[0], shares(SEEN_BY_B, 8, 120))


def test_control_can_be_read_from_the_counts() -> None:
    game = Game(Ruleset.from_dict({"mode": "storm", "victory_points": {
        "captured": 0, "besieging": 0, "controlled": 1}}))
    for seed in range(20):
        position = game.initial_state()
        for action in random_game(game, seed):
            position = game.apply(position, action)
            own, opposing = game.observation(position, 0)[10:12]
            points = int((own > opposing).sum()), int((own < opposing).sum())
            assert points == game.victory_points(position)


def test_turns_left_stop_at_255_in_bytes() -> None:
    game = Game(Ruleset.from_dict({"mode": "sudden_death", "max_plies": 10_000}))
    for ply, left in ((0, 255), (9744, 255), (9745, 255), (9746, 254), (10_000, 0)):
        position = game.initial_state()._replace(ply=ply)
        assert (game.observation(position, 0, "uint8")[16] == left).all()
        share = np.float32((10_000 - ply) / 10_000)
        assert (game.observation(position, 0)[16] == share).all()


def test_tokens_that_score_for_nobody_are_not_captures() -> None:
    rules = Ruleset.from_dict({"mode": "sudden_death", "capture_credit": "enemy_only"})
    game = Game(rules)
    for forfeits, captured in (("0,0", 1 / 8), ("1,0", 0)):
        position = game.parse_position(f"{LOPSIDED} {forfeits}")
        assert (game.observation(position, 1)[14] == captured).all()
        assert (game.observation(position, 0)[15] == captured).all()


def test_what_the_learner_in_seat_1_sees_first() -> None:
    game = Game(load_ruleset("storm"))
    env = CastleEnv(opponent=Scripted(named(game, "Nc")), seat=1)
    observation, _ = env.reset(seed=0)
    assert np.array_equal(observation, shares(counts(
        ["", "c4", "d4 c3 d3 c2", "c4", "d4", "d3", "c3 c2", "d3 c2", "", "c4", "", "d4 c3"],
        [8, 7, 0, 0, 15, 1]), 8, 16))


@pytest.mark.parametrize(("seat", "own", "opposing", "beside"), [
    (0, "c4", "c3", ["d4", "d3 c2"]), (1, "c3", "c4", ["d3 c2", "d4"]),
])
def test_the_last_observation_is_the_learners_own(
    seat: Literal[0, 1], own: str, opposing: str, beside: list[str]
) -> None:
    actions = named(game_of_source(DUEL), "Nc W3")
    env = CastleEnv(DUEL, Scripted([actions[1 - seat]]), seat)
    env.reset(seed=0)
    observation, *_ = env.step(actions[seat])
    assert np.array_equal(observation, shares(counts(
        [own, opposing, "d4 d3 e3 c2", "c3", "", "", "", "", own, opposing, *beside],
        [0, 0, 0, 0, 0, seat]), 1, 2))


@pytest.mark.parametrize("source", RULESETS[:5], ids=name_of)
def test_planes_and_mask_speak_of_the_same_moves_in_the_same_frame(source: RulesetSource) -> None:
    game = game_of_source(source)
    env = CastleEnv(game.rules, Positional(game))
    observation, info = env.reset(seed=6)
    for _ in range(150):
        assert observation in env.observation_space
        assert (observation[17] == env.seat).all()
        for action in range(ENTRIES):
            side, lane = divmod(action, 6)
            plane = observation[4 + side]
            in_lane = plane[:, lane] if side < 2 else plane[lane]
            assert in_lane.sum() == info["action_mask"][action]
        observation, _, terminated, _, info = env.step(env.action_space.sample())
        assert (observation[17] == env.seat).all()
        if terminated:
            observation, info = env.reset()
