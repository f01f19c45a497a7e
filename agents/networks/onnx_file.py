"""Policies as ONNX files, checked against PyTorch before they are written.

Input "observation": (batch, PLANES, 6, 6), float32, as float32 environments show it. Outputs
"logits": (batch, num_actions), of all actions, legal or not; and "value": (batch,), in the units of
`Policy.evaluate`. The batch may have any size. What a policy does about symmetries is in the file.
"""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from torch import nn

from agents.networks.policy import Policy
from agents.runs import write_bytes_atomic
from castle_env.errors import CastleError
from castle_env.game import Game
from castle_env.observation import OBSERVATION_SHAPE
from castle_env.position import PositionArray

OPSET: Final = 17
# Positions in which both must agree, and the greatest difference of float32 sums that counts as so.
CHECKED: Final = 40
TOLERANCE: Final = 1e-3


class ONNXError(CastleError):
    """A network cannot be written as ONNX, or computes other numbers there."""


class _Whole(nn.Module):
    """A policy's logits and values as one module, the mean over symmetries among it."""

    images: torch.Tensor
    actions: torch.Tensor

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        images, actions = policy.symmetries
        self.network: Final = policy.network
        self.register_buffer("images", torch.as_tensor(images))
        self.register_buffer("actions", torch.as_tensor(np.argsort(actions, axis=1)))
        self._count: Final = len(images)
        self._scale: Final = policy.value_scale

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values."""
        if self._count == 1:
            logits, values = self.network(observation)
            return logits, values * self._scale
        flat = observation.flatten(1)
        seen = [self.network(flat[:, self.images[index]].reshape(-1, *OBSERVATION_SHAPE))
                for index in range(self._count)]
        logits = sum(logits[:, self.actions[index]] for index, (logits, _) in enumerate(seen))
        values = sum(values for _, values in seen)
        return logits / self._count, values * (self._scale / self._count)


def write_onnx(policy: Policy, path: Path) -> None:
    """Write a policy to a file, whole or not at all.

    Raises `ONNXError` where its network cannot be written or the file would compute other numbers,
    and `RunError` where the disk cannot be written.
    """
    states = _positions(policy.game)
    observations = policy.game.encode(states)[0]
    data = _exported(_Whole(policy).to("cpu").eval(), torch.as_tensor(observations[:2]))
    model = onnx.load_from_string(data)
    rules = policy.game.rules
    onnx.helper.set_model_props(model, {
        "ruleset": rules.name, "ruleset_digest": rules.digest, "reward": policy.reward})
    _check(policy, model, observations)
    write_bytes_atomic(path, model.SerializeToString())


def _exported(whole: nn.Module, example: torch.Tensor) -> bytes:
    names = ("observation", "logits", "value")
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        file = Path(folder) / "network.onnx"
        warnings.simplefilter("ignore")  # the exporter's, about shapes that never change
        try:
            torch.onnx.export(
                whole, (example,), file, dynamo=False, opset_version=OPSET,
                input_names=names[:1], output_names=names[1:],
                dynamic_axes={name: {0: "batch"} for name in names})
        except Exception as error:  # a network of one's own can hold anything
            said = str(error).partition("\n")[0]
            raise ONNXError(f"this network cannot be written as ONNX: {said}") from error
        return file.read_bytes()


def _positions(game: Game) -> PositionArray:
    """Positions after 0, 1, … plies of random games, none of them over."""
    rng = np.random.default_rng(0)
    states = game.initial_states(CHECKED)
    for ply in range(min(CHECKED, game.rules.max_plies) - 1):
        later, over = game.advance(states[ply:], game.random_actions(states[ply:], rng))
        later[over] = game.initial_states(int(over.sum()))
        states[ply:] = later
    return states


def _check(policy: Policy, model: Any, observations: Any) -> None:
    logits, values = policy.logits_and_values(observations)
    found = ReferenceEvaluator(model).run(None, {"observation": observations})
    for name, mine, its in zip(("logits", "value"), (logits, values * policy.value_scale), found,
                               strict=True):
        if mine.shape != its.shape or not np.allclose(mine, its, TOLERANCE, TOLERANCE):
            raise ONNXError(f"this network computes another {name} as ONNX than in PyTorch")
