"""Expert iteration: targets, window, and runs that go on as if they had never stopped."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from evaluators import guess
from minimax import GAMES, sample
from small_runs import Castle, checkpoint_steps, same, training_state, wait_until
from stable_baselines3.common.logger import Logger

from agents.networks.checkpoint import load_checkpoint
from agents.training.az.learner import AZLearner
from agents.training.az.replay import ReplayWindow, Samples, most_actions, pack, unpack
from agents.training.az.selfplay import SelfPlay
from agents.training.config import AZConfig
from agents.training.run import Evaluation, train
from castle_env import Game, OptionError, Ruleset, load_ruleset
from castle_env.options import rewards_of
from castle_env.position import PositionArray

STORM, SUDDEN_DEATH = GAMES["storm"], GAMES["sudden-death"]
LOPSIDED = Game(Ruleset.from_dict({
    "mode": "storm", "factions_per_player": 4,
    "strongholds": ["......", ".#....", "......", "....#.", "......", "......"]}))


def config(**changes: Any) -> AZConfig:
    small: dict[str, Any] = {
        "steps": 2048, "num_envs": 16, "visits": 4, "considered": 4, "window": 512,
        "batch_size": 32, "channels": 4, "blocks": 1, "hidden": 8, "device": "cpu",
    }
    return AZConfig(**small | changes)


class Watched(SelfPlay):
    """Keeps the final positions of its games."""

    finals: list[PositionArray]

    def _finish(self, games: Any) -> Samples:
        self.finals.append(self._states[games])
        return super()._finish(games)


def watched(game: Game, plies: int, **changes: Any) -> tuple[Samples, PositionArray]:
    """All samples of some self-play, in the order of games, and how these games ended."""
    Watched.finals = []
    player = Watched(game, config(**changes), 2, guess, np.random.default_rng(1))
    return player.play(plies), np.concatenate(player.finals)


def games_of(samples: Samples) -> list[slice]:
    """The samples of each game."""
    starts = np.flatnonzero(np.diff(samples.states["ply"], prepend=999) != 1)
    return [slice(*pair) for pair in zip(starts, [*starts[1:], len(samples.values)], strict=True)]


@pytest.mark.parametrize("reward", ["margin", "outcome"])
@pytest.mark.parametrize("name", ["storm", "passes", "enemy-only"])
def test_values_are_outcomes_of_the_mover(name: str, reward: Any) -> None:
    """With a share of 1: every position of a game has its end, as its mover sees it."""
    game = GAMES[name]
    samples, finals = watched(game, 60, reward=reward, outcome_share=1.0, exact_plies=0)
    rewards = rewards_of(game, game.margins(finals), reward)
    assert len(games_of(samples)) == len(finals) > 16
    assert len(set(np.sign(rewards).tolist())) > 1
    for rows, won in zip(games_of(samples), rewards, strict=True):
        sign = 1 - 2 * (samples.states["ply"][rows] & 1)
        assert np.allclose(samples.values[rows], sign * won)


def test_values_mix_outcome_and_search() -> None:
    """The recursion by hand: share x -successor's target + (1 - share) x what was found there."""
    searched, _ = watched(STORM, 40, outcome_share=0.0, exact_plies=0)
    mixed, finals = watched(STORM, 40, outcome_share=0.25, exact_plies=0)
    assert np.array_equal(searched.states, mixed.states)
    rewards = rewards_of(STORM, STORM.margins(finals), "margin")
    for rows, won in zip(games_of(mixed), rewards, strict=True):
        later = won  # of player 0, who would be to move after 16 plies
        for own, target in zip(searched.values[rows][::-1], mixed.values[rows][::-1], strict=True):
            later = 0.75 * own - 0.25 * later
            assert target == pytest.approx(later, abs=1e-6)


def test_the_last_plies_are_exact_whatever_follows() -> None:
    samples, _ = watched(STORM, 60, outcome_share=1.0, exact_plies=3)
    solver = SelfPlay(STORM, config(exact_plies=3, num_envs=1), 0, guess, np.random.default_rng())
    last = samples.states["ply"] >= 13
    solved = solver.solve(samples.states[last])
    assert np.array_equal(samples.values[last], solved.values)
    masks = STORM.legal_action_masks(samples.states)
    assert np.allclose(unpack(samples.policies, masks)[last], solved.policies, atol=1e-4)
    # Three plies from the end the exact value is that of all positions before, by their movers.
    for rows in games_of(samples):
        plies = samples.states["ply"][rows]
        first = samples.values[rows][plies == 13] * -1
        before = samples.values[rows][plies < 13] * (1 - 2 * (plies[plies < 13] & 1))
        assert np.allclose(before, first)


@pytest.mark.parametrize("game", [STORM, SUDDEN_DEATH], ids=repr)
def test_policies_survive_packing(game: Game) -> None:
    states = sample(game, 500)
    masks = game.legal_action_masks(states)
    assert masks.sum(axis=1).max() <= most_actions(game)
    policies = np.random.default_rng(0).random(masks.shape).astype(np.float32) ** 8 * masks
    policies /= policies.sum(axis=1, keepdims=True)
    back = unpack(pack(game, policies, masks), masks)
    assert np.abs(back - policies).max() < 1e-3
    assert np.allclose(back.sum(axis=1), 1)


def test_the_window_keeps_the_newest_and_no_more() -> None:
    window = ReplayWindow(STORM, 100)
    rng = np.random.default_rng(0)
    for number, count in enumerate((30, 60, 45, 250, 7)):
        states = sample(STORM, count)
        window.add(Samples(states, np.ones((count, 24), np.uint16),
                           np.full(count, number, np.float32)))
        assert window.filled == min(100, (30, 90, 135, 385, 392)[number])
    drawn = window.draw(3000, rng).values
    assert set(drawn.tolist()) == {3.0, 4.0}
    assert 0.03 < (drawn == 4).mean() < 0.12
    other = ReplayWindow(STORM, 100)
    other.set_state(window.get_state())
    assert all(map(np.array_equal, window.draw(50, np.random.default_rng(1)),
                   other.draw(50, np.random.default_rng(1))))


@pytest.mark.parametrize("game", [STORM, SUDDEN_DEATH], ids=repr)
def test_a_full_window_fits_into_a_small_checkpoint(game: Game) -> None:
    window = ReplayWindow(game, 1000)
    states = sample(game, 1000)
    window.add(Samples(states, np.ones((1000, most_actions(game)), np.uint16),
                       np.zeros(1000, np.float32)))
    size = sum(array.nbytes for array in window.get_state().values()
               if isinstance(array, np.ndarray))
    assert size / 1000 * AZConfig().window < 26e6


def stored(state: dict[str, Any]) -> Any:
    """What a checkpoint gives back."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


@pytest.mark.parametrize("game", [STORM, SUDDEN_DEATH, LOPSIDED], ids=repr)
def test_a_run_goes_on_bit_for_bit(game: Game) -> None:
    """From a point at which games are under way, in a learner made anew."""
    whole, first = AZLearner(game, config()), AZLearner(game, config())
    for _ in range(8):
        whole.iterate()
    for _ in range(5):
        first.iterate()
    state = stored(first.get_state())
    torch.manual_seed(99)
    second = AZLearner(game, config())
    second.set_state(state)
    assert same(stored(second.get_state()), state)
    for _ in range(3):
        second.iterate()
    assert whole.updates > 0 or game is SUDDEN_DEATH
    assert same(stored(second.get_state()), stored(whole.get_state()))
    assert not same(stored(second.get_state())["policy"], state["policy"]) or game is SUDDEN_DEATH


def logged(learner: AZLearner) -> dict[str, float]:
    """What is logged after the iterations so far."""
    logger = Logger(None, [])
    learner.log(logger)
    return dict(logger.name_to_value)


def test_learning_keeps_to_its_ratio() -> None:
    learner = AZLearner(STORM, config(passes=3.0))
    for _ in range(10):
        learner.iterate()
    assert learner.steps == 16 * 8 * 10
    assert 512 < learner.window.added < learner.steps
    assert learner.updates == int(learner.window.added * 3.0 / 32)
    shown = logged(learner)
    assert shown["selfplay/window"] == 512
    assert shown["train/n_updates"] == learner.updates
    assert shown["train/policy_loss"] > shown["train/target_entropy"] > 0


def test_the_network_learns_what_the_window_says() -> None:
    learner = AZLearner(LOPSIDED, config(window=4000, num_envs=64, learning_rate=0.01))
    for _ in range(4):
        learner.iterate()
    samples = learner.window.draw(2000, np.random.default_rng(0))
    planes, masks = LOPSIDED.encode(samples.states)
    targets = unpack(samples.policies, masks)

    def losses() -> tuple[float, float]:
        policy = learner.current_agent().policy
        logits, values = policy.logits_and_values(planes)
        logits = np.where(masks == 1, logits, -np.inf)
        log_sums = np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
        logs = np.where(masks == 1, logits - logits.max(1, keepdims=True) - log_sums, 0.0)
        return (float(-(targets * logs).sum(axis=1).mean()),
                float(((values - samples.values) ** 2).mean()))

    before = losses()
    learner.updates -= 100
    learner.iterate()
    after = losses()
    assert after[0] < before[0]
    assert after[1] < before[1]


def test_learn_pauses_between_iterations_and_ends_on_time() -> None:
    learner = AZLearner(STORM, config())
    seen: list[int] = []

    def pause() -> bool:
        seen.append(learner.steps)
        return True

    learner.learn(500, Logger(None, []), pause)
    assert seen == [0, 128, 256, 384, 512]
    learner.learn(10_000, Logger(None, []), lambda: False)
    assert learner.steps == 512


@pytest.mark.parametrize("changes", [
    {"steps": 0}, {"window": 31}, {"window": 10**7}, {"exact_plies": 7}, {"exact_plies": -1},
    {"outcome_share": 1.5}, {"passes": 0.0}, {"learning_rate": -1.0}, {"visits": 0},
    {"reward": "module:function"}, {"value_scale": float("nan")}])
def test_wrong_options_are_one_clear_error(changes: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(changes))} is .*; allowed: "):
        config(**changes)


# A run of the command


SMALL_RUN = {
    "num_envs": 16, "plies": 8, "visits": 4, "considered": 4, "batch_size": 32, "window": 256,
    "channels": 4, "blocks": 1, "hidden": 8, "device": "cpu", "evaluation_games": 4,
    "report_games": 4, "regret_positions": 0, "steps": 10**8, "checkpoint_every": 128,
    "evaluate_every": 10**9,
}
ITERATION = 128


def newest_steps(folder: Path) -> int:
    """Steps of the newest complete checkpoint, -1 before there is one."""
    cards = folder.glob("checkpoints/step-*.json")
    return max((int(card.stem.removeprefix("step-")) for card in cards), default=-1)


@pytest.mark.parametrize("mode", ["storm", "sudden-death"])
def test_a_killed_run_goes_on_as_if_it_never_was(tmp_path: Path, mode: str) -> None:
    """SIGKILL, --resume, and in the end the straight run bit for bit."""
    folder = tmp_path / "killed"
    options = [part for name, value in SMALL_RUN.items()
               for part in (f"--{name.replace('_', '-')}", value)]
    process = Castle("train", "--algorithm", "az", "--ruleset", mode, "--runs", tmp_path,
                           "--name", "killed", *options)
    wait_until(lambda: newest_steps(folder) >= 3 * ITERATION, process)
    process.kill()
    process.communicate()
    done = newest_steps(folder)
    end = done + 2 * ITERATION
    process = Castle("train", "--resume", folder, "--until", end)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert f"resuming {folder} at {done:,} steps" in output
    assert checkpoint_steps(folder) == list(range(0, end + 1, ITERATION))
    card = load_checkpoint(folder).card
    assert (card["algorithm"], card["config"]["visits"]) == ("az", 4)
    settings, straight = AZConfig.from_dict(card["config"]), tmp_path / "straight"
    straight.mkdir()
    nobody: Evaluation = {"rows": [], "regret": None}
    train(Game(load_ruleset(mode)), settings, straight, lambda agent: dict(nobody), until=end)
    assert same(training_state(folder), training_state(straight))
