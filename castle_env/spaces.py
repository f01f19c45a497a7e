"""Action spaces that sample legal actions, so that generic tools never play an illegal one."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from castle_env.batch import choose_from_masks

Masks = npt.NDArray[np.int8]


class LegalDiscrete(spaces.Discrete):
    """`Discrete(num_actions)` whose `sample()` without a mask draws legal actions of the env."""

    def __init__(self, num_actions: int) -> None:
        super().__init__(num_actions)
        self.legal_action_mask: Masks | None = None

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """A random action: by `mask` or `probability` as in `Discrete`, else a legal one."""
        if mask is None and probability is None:
            mask = self.legal_action_mask
        return super().sample(mask, probability)


class LegalMultiDiscrete(spaces.MultiDiscrete):
    """`MultiDiscrete` of n games whose `sample()` without a mask draws a legal action in each."""

    def __init__(self, num_envs: int, num_actions: int) -> None:
        super().__init__(np.full(num_envs, num_actions))
        self.legal_action_masks: Masks | None = None

    def sample(self, mask: Any = None, probability: Any = None) -> npt.NDArray[np.int64]:
        """Random actions, shape (n,): by `mask` or `probability` as in `MultiDiscrete`, else legal.

        Games that are over get 0.
        """
        if mask is not None or probability is not None or self.legal_action_masks is None:
            return super().sample(mask, probability)
        actions = np.empty(len(self.legal_action_masks), dtype=np.int64)
        uniforms = self.np_random.random(len(actions))
        choose_from_masks(self.legal_action_masks, uniforms, actions)
        return actions
