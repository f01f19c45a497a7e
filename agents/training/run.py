"""Self-play training as a resumable run: snapshots, evaluations and checkpoints on schedule.

All of these happen between two rollouts, at the first one after their number of learner steps is
reached. There the state of a run is small and whole.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from time import monotonic
from typing import Any, Final, TypeAlias

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from torch.utils.tensorboard import SummaryWriter

from agents.networks.checkpoint import Checkpoint, save_checkpoint
from agents.runs import environment_info
from agents.training.config import TrainConfig
from agents.training.trainer import Trainer
from castle_env.agent import Agent
from castle_env.game import Game

# Measures the learner. Plain values: "rows", one for each opponent of a panel with at least
# "opponent", "win_rate" and "margin", and "regret" in VP per move, None where it is not measured.
Evaluation: TypeAlias = dict[str, Any]
Evaluate: TypeAlias = Callable[[Agent], Evaluation]


@dataclass(frozen=True)
class Progress:
    """Where a run stands: learner steps, steps in all, steps per second, newest evaluation."""

    steps: int
    total: int
    steps_per_second: float
    evaluation: Evaluation | None


class Schedule(BaseCallback):
    """Does what is due between two rollouts, and stops the run there when asked to.

    `evaluations` is the history of the run, each with its "steps". `steps` are those at the newest
    pause between two rollouts. `hours` are those that the run has already taken,
    `command` is the one that began it.
    """

    def __init__(
        self,
        trainer: Trainer,
        folder: Path,
        evaluate: Evaluate,
        show: Callable[[Progress], None],
        evaluations: list[Evaluation],
        hours: float,
        command: str,
    ) -> None:
        super().__init__()
        self.stop_asked = False
        self.steps = trainer.steps
        self.evaluations = evaluations
        self._trainer: Final = trainer
        self._folder: Final = folder
        self._evaluate: Final = evaluate
        self._show: Final = show
        self._hours: Final = hours
        self._command: Final = command
        self._stopping = False
        self._last = trainer.steps if evaluations else -1
        self._first = trainer.steps
        self._started = monotonic()

    def _on_rollout_start(self) -> None:
        self._stopping = self.stop_asked
        self._between_rollouts()

    def _on_step(self) -> bool:
        return not self._stopping

    def _on_training_end(self) -> None:
        if not self._stopping:
            self._between_rollouts(end=True)

    def _between_rollouts(self, end: bool = False) -> None:
        self.steps = self._trainer.steps
        if self.steps > self._last:
            self._do_what_is_due(end)
        self._last = self.steps
        self._show(self._progress())

    def _do_what_is_due(self, end: bool) -> None:
        config = self._trainer.config
        if self._due(config.snapshot_every) and self.steps:
            self._trainer.add_snapshot()
        if self._due(config.evaluate_every) or end:
            self._run_evaluation()
        self._log()
        if self._due(config.checkpoint_every) or end or self._stopping:
            self._save()

    def _due(self, every: int) -> bool:
        return self.steps // every > self._last // every

    def _run_evaluation(self) -> None:
        evaluation = self._evaluate(self._trainer.current_agent())
        self.evaluations.append({"steps": self._trainer.steps, **evaluation})
        for row in evaluation["rows"]:
            for key in ("win_rate", "margin"):
                self.logger.record(f"evaluation/{row['opponent']}/{key}", row[key])
        if evaluation["regret"] is not None:
            self.logger.record("evaluation/regret", evaluation["regret"]["estimate"])

    def _log(self) -> None:
        for member in self._trainer.pool.active():
            self.logger.record_mean(f"pool/{member.kind}/average_result", member.average)
        for name, value in self._trainer.env.game_log.take().items():
            self.logger.record(name, value)
        values = self.logger.name_to_value
        if "train/entropy_loss" in values:
            self.logger.record("train/entropy", -values["train/entropy_loss"])
        self.logger.dump(self.steps)

    def _save(self) -> None:
        trainer = self._trainer
        path = self._folder / "checkpoints" / f"step-{trainer.steps:010d}.pt"
        save_checkpoint(path, trainer.get_state(), trainer.game, {
            "steps": trainer.steps,
            "hours": round(self._hours + (monotonic() - self._started) / 3600, 4),
            "config": trainer.config.to_dict(),
            "command": self._command,
            "seed": trainer.config.seed,
            "environment": environment_info(),
            "results": {"evaluations": self.evaluations, "pool": trainer.pool.table()},
        })

    def _progress(self) -> Progress:
        seconds = max(monotonic() - self._started, 1e-9)
        newest = self.evaluations[-1] if self.evaluations else None
        speed = (self._trainer.steps - self._first) / seconds
        return Progress(self._trainer.steps, self._trainer.config.steps, speed, newest)


def train(
    game: Game,
    config: TrainConfig,
    folder: Path,
    evaluate: Evaluate,
    show: Callable[[Progress], None],
    checkpoint: Checkpoint | None = None,
    command: str = "",
) -> tuple[int, list[Evaluation]]:
    """Train in a run's folder up to `config.steps`.

    Returns the steps reached, fewer when the run was stopped, and the history of evaluations, each
    with its "steps". `checkpoint` is one of the same folder to go on from. `command` goes into
    the cards of a new run. Ctrl-C ends the run after the update that comes next, with a checkpoint;
    a second one at once, without. Writes `checkpoints/`, from step 0 on, and `tensorboard/`.
    """
    trainer = Trainer(game, config)
    evaluations: list[Evaluation] = []
    hours = 0.0
    (folder / "checkpoints").mkdir(exist_ok=True)
    for leftover in (folder / "checkpoints").glob(".step-*"):
        leftover.unlink()  # half written when the run was killed
    with _logging_to(folder / "tensorboard", checkpoint) as logger:
        trainer.model.set_logger(logger)
        if checkpoint is not None:
            trainer.set_state(checkpoint.tensors)
            evaluations = list(checkpoint.card["results"]["evaluations"])
            hours, command = checkpoint.card["hours"], checkpoint.card["command"]
        schedule = Schedule(trainer, folder, evaluate, show, evaluations, hours, command)
        with _stopping_on_interrupt(schedule):
            trainer.model.learn(config.steps - trainer.steps, schedule, reset_num_timesteps=False)
    return schedule.steps, schedule.evaluations


class _PurgingTensorBoard(TensorBoardOutputFormat):
    """SB3's output to TensorBoard, which drops what a folder holds from step `first` on."""

    def __init__(self, folder: Path, first: int | None) -> None:
        self.writer = SummaryWriter(str(folder), purge_step=first)
        self._is_closed = False


@contextmanager
def _logging_to(folder: Path, checkpoint: Checkpoint | None) -> Iterator[Logger]:
    """A logger whose curves go on after a checkpoint; what a killed run wrote beyond is dropped."""
    first = None if checkpoint is None else checkpoint.tensors["steps"] + 1
    logger = Logger(str(folder), [_PurgingTensorBoard(folder, first)])
    try:
        yield logger
    finally:
        logger.close()


@contextmanager
def _stopping_on_interrupt(schedule: Schedule) -> Iterator[None]:
    def stop(*_: object) -> None:
        schedule.stop_asked = True
        signal.signal(signal.SIGINT, previous)

    if current_thread() is not main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
