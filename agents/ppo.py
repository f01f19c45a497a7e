"""`ppo:PATH`: a policy network trained by self-play, read from a checkpoint."""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from agents.checkpoint import load_checkpoint
from castle_env.agent import Agent
from castle_env.errors import AgentError
from castle_env.game import Game
from castle_env.options import observation_space
from castle_env.position import PositionArray
from castle_env.spaces import LegalDiscrete

SAMPLE: Final = "sample"


def build_policy(
    game: Game, hidden: tuple[int, ...], device: str | torch.device
) -> MaskableActorCriticPolicy:
    """The network of a PPO agent with fresh weights: separate MLPs for policy and value."""
    policy = MaskableActorCriticPolicy(
        observation_space(), LegalDiscrete(game.num_actions), lambda _: 0.0,
        net_arch=list(hidden), activation_fn=torch.nn.ReLU,
    )
    return policy.to(device)


class PPOAgent:
    """Plays by a policy network, called once for the whole batch.

    With `sample` it draws from the policy, else it plays the most probable legal action.
    """

    def __init__(
        self, name: str, game: Game, policy: MaskableActorCriticPolicy, sample: bool = False
    ) -> None:
        self.name = name
        self.policy = policy
        self._game: Final = game
        self._sample: Final = sample

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position, shape (n,)."""
        observations, masks = self._game.encode(states)
        logits = self._logits(observations)
        if self._sample:
            # The greatest of logits plus Gumbel noise is a draw from their softmax.
            logits += rng.gumbel(size=logits.shape)
        actions: npt.NDArray[np.int64] = np.where(masks == 1, logits, -np.inf).argmax(axis=1)
        return actions

    def _logits(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        policy = self.policy
        with torch.inference_mode():
            inputs = torch.as_tensor(observations, device=policy.device).flatten(1)
            logits = policy.action_net(policy.mlp_extractor.forward_actor(inputs))
            array: npt.NDArray[np.float32] = logits.cpu().numpy()
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
    policy = build_policy(game, checkpoint.hidden, "cpu")
    policy.load_state_dict(checkpoint.tensors["policy"])
    policy.eval()
    return PPOAgent(f"ppo:{arguments}", game, policy, sample)
