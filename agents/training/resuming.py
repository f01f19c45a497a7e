"""What a checkpoint has to hold for a run to go on from it, checked before anything is taken up."""

import math
import warnings
from collections.abc import Mapping
from typing import Any, Final

import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from agents.networks.checkpoint import Checkpoint, CheckpointError
from agents.training.learner import Learner
from castle_env.board import SQUARES
from castle_env.errors import CastleError, quoted
from castle_env.game import Game
from castle_env.position import PositionArray, unstack

# Parts of a state whose contents differ from run to run; learners check these themselves.
_OPEN: Final = {f"state.{part}" for part in (
    "optimizer", "snapshots", "pool", "episodes", "random.cuda", "window.bitboards",
    "window.counts", "window.policies", "window.values", "selfplay.past", "selfplay.policies",
    "selfplay.values")}


class StateError(CastleError):
    """A part of a learner's state is missing, too much, or of another kind."""


class _Row(BaseModel):
    model_config = ConfigDict(strict=True)
    opponent: str
    win_rate: float
    margin: float


class _Evaluation(BaseModel):
    model_config = ConfigDict(strict=True)
    steps: int
    cpu_minutes: float
    rows: list[_Row]
    regret: dict[str, Any] | None


class _Results(BaseModel):
    model_config = ConfigDict(strict=True)
    evaluations: list[_Evaluation]


class _Card(BaseModel):
    model_config = ConfigDict(strict=True)
    command: str
    hours: float
    cpu_minutes: float
    results: _Results


def check_card(checkpoint: Checkpoint) -> None:
    """Raise `CheckpointError` for a card, or steps, that a run cannot go on with."""
    steps = checkpoint.tensors.get("steps")
    if type(steps) is not int or steps < 0:
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} has steps {quoted(steps)}; "
                              "allowed: an integer from 0 on")
    try:
        _Card.model_validate(checkpoint.card)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise CheckpointError(f"the card of checkpoint {str(checkpoint.path)!r} cannot be gone on "
                              f"from: {where}: {first['msg']}") from None


def take_up(learner: Learner, checkpoint: Checkpoint) -> None:
    """Let a learner go on from a checkpoint; raises `CheckpointError` for one that does not fit."""
    check_card(checkpoint)
    try:
        check_like(checkpoint.tensors, learner.get_state())
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # of numbers that no integer holds
            learner.set_state(checkpoint.tensors)
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError,
            RuntimeWarning, OverflowError) as error:
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} cannot be gone on from: "
                              f"{' '.join(str(error).split())}") from error


def check_like(given: Any, expected: Any, name: str = "state") -> None:
    """Raise `StateError` unless a state is made like another: keys, kinds, shapes, finite numbers.

    Integers are from 0 on.
    """
    if type(given) is not type(expected):
        raise StateError(f"{name} is {quoted(given)}; allowed: a {type(expected).__name__}")
    if name in _OPEN:
        return
    if isinstance(expected, dict):
        _check_keys(given, expected, name)
    elif isinstance(expected, list):
        if len(given) != len(expected):
            raise StateError(f"{name} has {len(given)} parts; allowed: {len(expected)}")
        for place, (part, like) in enumerate(zip(given, expected, strict=True)):
            check_like(part, like, f"{name}.{place}")
    elif isinstance(expected, torch.Tensor):
        _check_tensor(given, expected, name)
    elif isinstance(expected, int) and given < 0:
        raise StateError(f"{name} is {given}; allowed: an integer from 0 on")


def _check_keys(given: dict[Any, Any], expected: dict[Any, Any], name: str) -> None:
    for key in [*expected, *given]:
        if key not in given or key not in expected:
            fault = "lacks" if key in expected else "has an unknown"
            raise StateError(f"{name} {fault} {quoted(key)}; allowed: "
                             f"{', '.join(map(str, expected))}")
    for key, like in expected.items():
        check_like(given[key], like, f"{name}.{key}")


def _check_tensor(given: torch.Tensor, expected: torch.Tensor, name: str) -> None:
    if (given.dtype, given.shape) != (expected.dtype, expected.shape):
        raise StateError(f"{name} has shape {tuple(given.shape)} and {given.dtype}; allowed: "
                         f"{tuple(expected.shape)} and {expected.dtype}")
    if not torch.isfinite(given).all():
        raise StateError(f"{name} holds numbers that are not finite")


def check_weights(weights: Mapping[str, torch.Tensor]) -> None:
    """Raise `StateError` for weights that are not finite numbers."""
    for name, values in weights.items():
        if not torch.isfinite(values).all():
            raise StateError(f"{name} holds numbers that are not finite")


def check_positions(game: Game, states: PositionArray) -> None:
    """Raise `PositionError` for what is no position of the game."""
    for position in unstack(states):
        game.parse_position(game.format_position(position))


def check_boards(states: PositionArray) -> None:
    """Raise `StateError` for positions (n,) whose tokens share squares or lie beyond the board."""
    own, opposing, strongholds = states["own"], states["opposing"], states["strongholds"]
    shared = own & opposing | own & strongholds | opposing & strongholds
    beyond = (own | opposing | strongholds | states["bastion"]) >> SQUARES
    if shared.any() or beyond.any():
        raise StateError("positions hold tokens that share squares or lie beyond the board")


def check_optimizer(optimizer: torch.optim.Optimizer) -> None:
    """Raise `StateError` for what an optimizer has taken up and could not take a step with."""
    for group in optimizer.param_groups:
        for key, usual in optimizer.defaults.items():
            value = group.get(key)
            if (usual is not None and type(value) is not type(usual)) or (
                    isinstance(value, float) and not math.isfinite(value)):
                raise StateError(f"optimizer.{key} is {quoted(value)}; allowed: a finite "
                                 f"{type(usual).__name__}")
        for weights in group["params"]:
            for key, value in optimizer.state.get(weights, {}).items():
                if not isinstance(value, torch.Tensor) or not torch.isfinite(value).all() or (
                        value.ndim and value.shape != weights.shape):
                    raise StateError(f"optimizer.{key} is {quoted(value)}; allowed: finite numbers "
                                     f"of shape {tuple(weights.shape)}")
