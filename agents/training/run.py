"""Training as a resumable run: evaluations, logs and checkpoints on schedule.

All of these happen between two iterations of the learner, at the first pause after their number of
learner steps is reached. There the state of a run is small and whole.
"""

import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, process_time
from typing import Any, Final, TypeAlias

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from torch.utils.tensorboard import SummaryWriter

from agents.locks import locked
from agents.networks.checkpoint import Checkpoint, CheckpointError, save_checkpoint
from agents.networks.network import NetworkFactory, count_weights, import_path
from agents.runs import RunError, environment_info
from agents.training.config import RunConfig
from agents.training.learner import Learner
from agents.training.learners import make_learner
from agents.training.resuming import StateError, check_weights, take_up
from agents.training.tags import config_hparams, config_text, tag
from castle_env.agent import Agent
from castle_env.game import Game

# What a card keeps of the run whose weights its own run began with.
_OF_AN_ORIGIN: Final = ("algorithm", "steps", "hours", "cpu_minutes", "device", "config", "seed",
                        "environment", "command", "sha256", "init_from")

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

    @property
    def seconds_left(self) -> float:
        """Until the end at this speed; infinite before it is known."""
        steps_left = max(0, self.total - self.steps)
        return steps_left / self.steps_per_second if self.steps_per_second else float("inf")


class Schedule:
    """Does what is due at each pause of a learner, and stops the run there when asked to.

    `evaluations` is the history of the run, each with its "steps", and with the "cpu_minutes" that
    training, not measuring, has taken. `steps` are those at the newest pause.
    """

    def __init__(
        self, learner: Learner, logger: Logger, folder: Path, evaluate: Evaluate,
        show: Callable[[Progress], None], until: int, card: dict[str, Any],
    ) -> None:
        self.stop_asked = False
        self.steps = learner.steps
        self.evaluations: Final[list[Evaluation]] = list(card["results"]["evaluations"])
        self._learner: Final = learner
        self._logger: Final = logger
        self._folder: Final = folder
        self._evaluate: Final = evaluate
        self._show: Final = show
        self._until: Final = until
        self._card: Final = card
        self._last = learner.steps if self.evaluations else -1
        self._saved = self._last
        self._first: Final = learner.steps
        self._started: Final = monotonic()
        self._cpu_started: Final = process_time()
        self._measuring = 0.0

    def pause(self) -> bool:
        """Do what is due; whether training goes on."""
        self.steps = self._learner.steps
        stopping = self.stop_asked
        if self.steps > self._last:
            self._do_what_is_due(stopping)
        self._last = self.steps
        self._show(self._progress())
        return not stopping

    def finish(self) -> None:
        """Save where a callback has ended the run between two checkpoints."""
        if self.steps > self._saved:
            self._save()

    def _do_what_is_due(self, stopping: bool) -> None:
        config, end = self._learner.config, self.steps >= self._until
        if self._due(config.evaluate_every) or end:
            self._run_evaluation()
        self._learner.log(self._logger)
        self._logger.record("time/total_timesteps", self.steps)
        self._logger.dump(self.steps)
        if self._due(config.checkpoint_every) or end or stopping:
            self._save()

    def _due(self, every: int) -> bool:
        return self.steps // every > self._last // every

    def _run_evaluation(self) -> None:
        minutes, began = self._cpu_minutes(), process_time()
        evaluation = self._evaluate(self._learner.current_agent())
        self._measuring += process_time() - began
        is_first = not self.evaluations
        self.evaluations.append({"steps": self.steps, "cpu_minutes": minutes, **evaluation})
        scalars = {tag("eval", row["opponent"], key): row[key]
                   for row in evaluation["rows"] for key in ("win_rate", "margin")}
        if evaluation["regret"] is not None:
            scalars["eval/regret"] = evaluation["regret"]["estimate"]
        for name, value in scalars.items():
            self._logger.record(name, value)
        if is_first:
            self._record_config(scalars)

    def _record_config(self, metrics: Collection[str]) -> None:
        config = {"algorithm": self._card["algorithm"], **self._learner.config.to_dict()}
        self._logger.record("config", config_text(config))
        if metrics:
            self._logger.record("hparams", config_hparams(config, metrics))

    def _cpu_minutes(self) -> float:
        minutes = (process_time() - self._cpu_started - self._measuring) / 60
        return float(round(self._card["cpu_minutes"] + minutes, 4))

    def _save(self) -> None:
        learner, self._saved = self._learner, self.steps
        path = self._folder / "checkpoints" / f"step-{learner.steps:010d}.pt"
        save_checkpoint(path, learner.get_state(), learner.game, {
            **self._card,
            "steps": learner.steps,
            "hours": round(self._card["hours"] + (monotonic() - self._started) / 3600, 4),
            "cpu_minutes": self._cpu_minutes(),
            "device": learner.device,
            "environment": environment_info(),
            "results": {"evaluations": self.evaluations, **learner.results()},
        })

    def _progress(self) -> Progress:
        seconds = max(monotonic() - self._started, 1e-9)
        newest = self.evaluations[-1] if self.evaluations else None
        return Progress(self.steps, self._until, (self.steps - self._first) / seconds, newest)


def train(
    game: Game,
    config: RunConfig,
    folder: Path,
    evaluate: Evaluate,
    show: Callable[[Progress], None] = lambda progress: None,
    checkpoint: Checkpoint | None = None,
    command: str = "",
    until: int | None = None,
    callbacks: Sequence[BaseCallback] = (),
    network: NetworkFactory | None = None,
    init_from: Checkpoint | None = None,
) -> tuple[int, list[Evaluation]]:
    """Train in a run's folder up to `until`, or else `config.steps`, learner steps.

    Returns the steps reached, fewer when the run was stopped, and the history of evaluations, each
    with its "steps" and "cpu_minutes"; the first is from before training. `checkpoint` is one
    of the same folder to go on from. `command` goes into the cards of a new run. `callbacks` are of
    Stable-Baselines3, for PPO. `network` makes another network than the config says; the run's
    agents can be made by name if it is a function that can be imported. `init_from` gives a new run
    its first weights; raises `CheckpointError` where they do not fit. Ctrl-C ends the run after the
    iteration that comes next, with a checkpoint; a second one at once, without. A callback that
    ends the run ends it with a checkpoint too. Writes `checkpoints/`, from step 0 on, and
    `tensorboard/`.
    """
    learner = make_learner(game, config, network, callbacks)
    if checkpoint is not None:
        card = checkpoint.card
        take_up(learner, checkpoint)
    else:
        card = _first_card(learner, command, network)
        if init_from is not None:
            _load_weights(learner, init_from)
            card["init_from"] = _origin(init_from.card)
    with locked(folder):
        return _train(learner, folder, evaluate, show, checkpoint, card, until)


def _train(
    learner: Learner, folder: Path, evaluate: Evaluate, show: Callable[[Progress], None],
    checkpoint: Checkpoint | None, card: dict[str, Any], until: int | None,
) -> tuple[int, list[Evaluation]]:
    (folder / "checkpoints").mkdir(exist_ok=True)
    for leftover in (folder / "checkpoints").glob(".step-*"):
        leftover.unlink()  # half written when the run was killed
    with _logging_to(folder / "tensorboard", checkpoint) as logger:
        until = learner.config.steps if until is None else until
        schedule = Schedule(learner, logger, folder, evaluate, show, until, card)
        with _stopping_on_interrupt(schedule):
            learner.learn(until, logger, schedule.pause)
            schedule.finish()
    return schedule.steps, schedule.evaluations


def _load_weights(learner: Learner, checkpoint: Checkpoint) -> None:
    try:
        learner.load_weights(checkpoint.tensors["policy"])
        check_weights(learner.get_state()["policy"])
    except (AttributeError, KeyError, TypeError, RuntimeError, StateError) as error:
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} does not fit the network of "
                              f"this run: {' '.join(str(error).split())}") from error


def _first_card(
    learner: Learner, command: str, network: NetworkFactory | None
) -> dict[str, Any]:
    """What the card of a run's first checkpoint says besides the state of things."""
    config = learner.config
    described = config.network_config
    if network is not None:
        described = described._replace(kind=import_path(network))
    return {
        "algorithm": config.algorithm,
        "config": config.to_dict(),
        "network": described._asdict(),
        "weights": count_weights(learner.current_agent().policy.network),
        "reward": config.reward,
        "seed": config.seed,
        "command": command,
        "hours": 0.0,
        "cpu_minutes": 0.0,
        "results": {"evaluations": []},
    }


def _origin(card: Mapping[str, Any]) -> dict[str, Any]:
    """What the card of a run says of the one whose weights it began with, and so on back."""
    kept = {key: card[key] for key in _OF_AN_ORIGIN if key in card}
    return kept | {"evaluations": card.get("evaluations") or card["results"]["evaluations"]}


class _PurgingTensorBoard(TensorBoardOutputFormat):
    """SB3's output to TensorBoard, which drops what a folder holds from step `first` on.

    Raises `RunError` where the folder cannot be written.
    """

    def __init__(self, folder: Path, first: int | None) -> None:
        self._folder: Final = folder
        with self._naming_the_folder():
            self.writer = SummaryWriter(str(folder), purge_step=first)
        self._is_closed = False

    def write(self, *arguments: Any) -> None:
        """See SB3."""
        with self._naming_the_folder():
            super().write(*arguments)

    def close(self) -> None:
        """See SB3."""
        with self._naming_the_folder():
            super().close()

    @contextmanager
    def _naming_the_folder(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"cannot write {str(self._folder)!r}: "
                           f"{error.strerror or error}") from error


@contextmanager
def _logging_to(folder: Path, checkpoint: Checkpoint | None) -> Iterator[Logger]:
    """A logger whose curves go on after a checkpoint; what a killed run wrote beyond is dropped."""
    first = None if checkpoint is None else checkpoint.tensors["steps"] + 1
    with _quiet_threads():
        logger = Logger(str(folder), [_PurgingTensorBoard(folder, first)])
        try:
            yield logger
        finally:
            logger.close()


@contextmanager
def _quiet_threads() -> Iterator[None]:
    """Leave what TensorBoard's thread could not write to the next call, which raises it again."""
    usual = threading.excepthook
    threading.excepthook = lambda error: None if isinstance(error.exc_value, OSError) else (
        usual(error))
    try:
        yield
    finally:
        threading.excepthook = usual


@contextmanager
def _stopping_on_interrupt(schedule: Schedule) -> Iterator[None]:
    def stop(*_: object) -> None:
        schedule.stop_asked = True
        signal.signal(signal.SIGINT, previous)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
