"""`ppo:PATH`: a policy network trained by self-play, read from a checkpoint."""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from agents.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from agents.encoding import Encoding
from agents.network import BoardPolicy, build_policy, logits_and_values
from agents.train_config import TrainConfig
from castle_env.agent import Agent
from castle_env.errors import AgentError
from castle_env.game import Game
from castle_env.position import PositionArray

SAMPLE: Final = "sample"


class PPOAgent:
    """Plays by a policy network, called once for the whole batch.

    With `sample` it draws from the policy, else it plays the most probable legal action. The
    policy reads rows of `encoding`.
    """

    def __init__(
        self,
        name: str,
        encoding: Encoding,
        policy: MaskableActorCriticPolicy,
        sample: bool = False,
    ) -> None:
        self.name = name
        self.policy = policy
        self._encoding: Final = encoding
        self._sample: Final = sample

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position, shape (n,)."""
        observations, masks = self._encoding.encode(states)
        logits = self._logits(observations)
        if self._sample:
            # The greatest of logits plus Gumbel noise is a draw from their softmax.
            logits += rng.gumbel(size=logits.shape)
        actions: npt.NDArray[np.int64] = np.where(masks == 1, logits, -np.inf).argmax(axis=1)
        return actions

    def _logits(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        policy = self.policy
        with torch.inference_mode():
            rows = torch.as_tensor(observations, device=policy.device)
            array: npt.NDArray[np.float32] = logits_and_values(policy, rows)[0].cpu().numpy()
        return array


def make(arguments: str, game: Game) -> Agent:
    """The agent of a checkpoint: `ppo:PATH`, or `ppo:PATH:sample` to draw from its policy.

    PATH is a checkpoint file or a run's folder, which stands for its newest checkpoint. Raises
    `AgentError` without a path and `CheckpointError` for a file that cannot be used.
    """
    path, _, suffix = arguments.rpartition(":")
    sample = suffix == SAMPLE and bool(path)
    source = path if sample else arguments
    if not source:
        raise AgentError(f"agent {'ppo:' + arguments!r}; allowed: ppo:PATH or ppo:PATH:{SAMPLE}")
    checkpoint = load_checkpoint(source, game)
    return PPOAgent(f"ppo:{arguments}", *load_policy(checkpoint, game), sample)


def load_policy(checkpoint: Checkpoint, game: Game) -> tuple[Encoding, BoardPolicy]:
    """The network of a checkpoint and what it reads.

    Raises `CheckpointError` if it is not the network that its card describes.
    """
    try:
        config = checkpoint.card["config"]
        encoding = Encoding(game, config["lookahead"])
        policy = build_policy(encoding, TrainConfig.from_dict(config).network, "cpu")
        policy.load_state_dict(checkpoint.tensors["policy"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} does not hold the network that "
                              "its card describes") from error
    policy.eval()
    return encoding, policy
