"""`ppo:PATH`: a policy network trained by self-play, read from a checkpoint.

`ppo:PATH+search:N` lets it guide a tree search, see `agents.search.puct`.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from agents.networks.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from agents.networks.encoding import Encoding, Rows
from agents.networks.network import BoardPolicy, build_policy, logits_and_values
from agents.search.puct import SEARCH, Limits, PUCTAgent, network_evaluator, split_search
from agents.training.config import TrainConfig
from castle_env.agent import Agent, BaseAgent
from castle_env.errors import AgentError
from castle_env.game import Game
from castle_env.position import PositionArray

SAMPLE: Final = "sample"


class PPOAgent(BaseAgent):
    """Plays by a policy network, called once for the whole batch.

    With `sample` it draws from the policy. Else it looks at each position from all sides, that is
    under every symmetry of the ruleset, and plays the legal action that is most probable in the
    (geometric) mean of what it sees. The policy reads rows of `encoding`.
    """

    thread_safe = True

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
        self._symmetries: Final = encoding.symmetry_maps()

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position, shape (n,)."""
        rows, masks = self._encoding.encode(states)
        if self._sample:
            logits = self._logits(rows)
            # The greatest of logits plus Gumbel noise is a draw from their softmax.
            logits += rng.gumbel(size=logits.shape)
        else:
            logits = self._mean_logits(rows)
        actions: npt.NDArray[np.int64] = np.where(masks == 1, logits, -np.inf).argmax(axis=1)
        return actions

    def _mean_logits(self, rows: Rows) -> npt.NDArray[np.float32]:
        row_maps, action_maps = self._symmetries
        images = self._logits(np.concatenate([rows[:, row_map] for row_map in row_maps]))
        total = np.zeros((len(rows), images.shape[1]), dtype=np.float32)
        for action_map, logits in zip(action_maps, np.split(images, len(action_maps)), strict=True):
            total[:, action_map] += logits
        return total

    def _logits(self, rows: Rows) -> npt.NDArray[np.float32]:
        policy = self.policy
        with torch.inference_mode():
            tensor = torch.as_tensor(rows, device=policy.device)
            array: npt.NDArray[np.float32] = logits_and_values(policy, tensor)[0].cpu().numpy()
        return array


def make(arguments: str, game: Game) -> Agent:
    """The agent of a checkpoint: `ppo:PATH`, or `ppo:PATH:sample` to draw from its policy, or
    `ppo:PATH+search:N` and `ppo:PATH+search:Tms` to search with it.

    PATH is a checkpoint file or a run's folder, which stands for its newest checkpoint. Raises
    `AgentError` without a path or for wrong limits, and `CheckpointError` for a file that cannot be
    used.
    """
    before, limits = split_search(arguments)
    path, _, suffix = before.rpartition(":")
    sample = suffix == SAMPLE and bool(path)
    source = path if sample else before
    if not source or (sample and limits):
        raise AgentError(f"agent {'ppo:' + arguments!r}; allowed: ppo:PATH, ppo:PATH:{SAMPLE}, "
                         f"ppo:PATH{SEARCH}:N or ppo:PATH{SEARCH}:Tms")
    checkpoint = load_checkpoint(source, game)
    return make_from_checkpoint(f"ppo:{arguments}", checkpoint, game, sample, limits)


def make_from_checkpoint(
    name: str, checkpoint: Checkpoint, game: Game, sample: bool, limits: Limits | None
) -> Agent:
    """The agent of a checkpoint that searches where it has limits, and else plays by its policy.

    Raises `CheckpointError` as `load_policy` does.
    """
    encoding, policy = load_policy(checkpoint, game)
    if limits is None:
        return PPOAgent(name, encoding, policy, sample)
    reward = TrainConfig.from_dict(checkpoint.card["config"]).reward
    return PUCTAgent(name, game, network_evaluator(encoding, policy), reward, limits)


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
