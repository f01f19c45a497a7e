"""A network of ours as a policy of Stable-Baselines3."""

from collections.abc import Callable
from typing import Any, Final

import gymnasium as gym
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

# Of illegal actions; small enough for a probability of 0, and a number, so that 0 times it is 0.
ILLEGAL_LOGIT: Final = -1e8


class _Outputs(BaseFeaturesExtractor):
    """What a network gives, side by side: logits, then the value, (batch, num_actions + 1)."""

    def __init__(
        self, observation_space: gym.Space[Any], num_actions: int, network: nn.Module
    ) -> None:
        super().__init__(observation_space, num_actions + 1)
        self.network: Final = network

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Call the network."""
        logits, values = self.network(observations)
        return torch.cat((logits, values[:, None]), dim=1)


class _Columns(nn.Module):
    """Some columns of a matrix, as they are."""

    def __init__(self, columns: slice) -> None:
        super().__init__()
        self._columns: Final = columns

    def forward(self, outputs: torch.Tensor) -> torch.Tensor:
        """The columns, (batch, columns)."""
        return outputs[:, self._columns]


class NetworkPolicy(MaskableActorCriticPolicy):
    """SB3's masked actor-critic policy whose logits and values are those of a network.

    make_network: called once; gives a module as `agents.networks.network` describes it.
    """

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: "gym.spaces.Discrete",
        lr_schedule: Any,
        make_network: Callable[[], nn.Module],
        **kwargs: Any,
    ) -> None:
        self._num_actions: Final = int(action_space.n)
        super().__init__(
            observation_space, action_space, lr_schedule, **kwargs, net_arch=[], ortho_init=False,
            features_extractor_class=_Outputs,
            features_extractor_kwargs={"num_actions": self._num_actions,
                                       "network": make_network()})

    @property
    def network(self) -> nn.Module:
        """The network itself."""
        network: nn.Module = self.features_extractor.network  # type: ignore[assignment]
        return network

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = _Columns(slice(self._num_actions))
        self.value_net = _Columns(slice(self._num_actions, None))  # type: ignore[assignment]
        # SB3's has the weights of the heads that are replaced here.
        self.optimizer = self.optimizer_class(  # type: ignore[call-arg]
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class LearnerPolicy(NetworkPolicy):
    """The same policy with its own `evaluate_actions` and a fused Adam, for `castle train`."""

    def evaluate_actions(
        self, obs: Any, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """What SB3's gives, to rounding, in a third of the passes over the logits.

        obs: (batch, PLANES, 6, 6). actions: (batch,). action_masks: (batch, num_actions), 1 =
        legal, or None where all are. Values (batch, 1), and of what the policy draws the
        log-probabilities of the actions and its entropies in nats, (batch,).
        """
        outputs = self.extract_features(obs)
        logits, values = self.action_net(outputs), self.value_net(outputs)
        if action_masks is not None:
            legal = torch.as_tensor(action_masks, device=logits.device).view(logits.shape) > 0
            logits = logits.masked_fill(~legal, ILLEGAL_LOGIT)
        logs = torch.log_softmax(logits, dim=1)
        entropies = -(logs.exp() * logs).sum(1)
        return values, logs.gather(1, actions.long().view(-1, 1)).flatten(), entropies

    def _build(self, lr_schedule: Any) -> None:
        # Fused, a step of the optimizer takes a quarter of the time.
        self.optimizer_kwargs = {"fused": True} | self.optimizer_kwargs
        super()._build(lr_schedule)
