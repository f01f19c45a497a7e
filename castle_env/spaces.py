"""Action spaces that sample legal actions, so that generic tools never play an illegal one."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from castle_env.batch import choose_from_masks
from castle_env.slices import Slices

Masks = npt.NDArray[np.int8]

# Seeded resets whose first mask is remembered.
REMEMBERED: Final = 8


class LegalDiscrete(spaces.Discrete):
    """`Discrete(num_actions)` whose `sample()` without a mask draws legal actions of the env.

    Some tools, Gymnasium's `check_env` among them, call `action_space.seed(n)` in the middle of a
    game, draw an action, and play it after `env.reset(seed=n)`. So that it is legal there too, a
    draw after `seed(n)` is one of the actions that are legal both now and after that reset. This
    holds until the env's next step or reset, and only where the env was lately reset with that
    seed; where no action is legal in both positions, any that is legal now is drawn.
    """

    def __init__(self, num_actions: int) -> None:
        super().__init__(num_actions)
        self.legal_action_mask: Masks | None = None
        self._at_start = True
        self._first_masks: dict[int, Masks] = {}
        self._coming_mask: Masks | None = None

    def begin(self, mask: Masks, seed: int | None) -> None:
        """Learn what is legal after a reset with `seed`."""
        self.legal_action_mask, self._at_start, self._coming_mask = mask, True, None
        if seed is not None:
            self._first_masks.pop(seed, None)
            self._first_masks[seed] = mask
            if len(self._first_masks) > REMEMBERED:
                del self._first_masks[next(iter(self._first_masks))]

    def go_on(self, mask: Masks) -> None:
        """Learn what is legal after a step."""
        self.legal_action_mask, self._at_start, self._coming_mask = mask, False, None

    def seed(self, seed: int | None = None) -> int:
        """Seed the random generator of `sample()`; see the class about what else it does."""
        used: int = super().seed(seed)
        self._coming_mask = None if self._at_start else self._first_masks.get(used)
        return used

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """A random action: by `mask` or `probability` as in `Discrete`, else a legal one.

        0 when the game is over.
        """
        now, coming = self.legal_action_mask, self._coming_mask
        if mask is not None or probability is not None or now is None:
            return super().sample(mask, probability)
        if coming is not None:
            now = now & coming if (now & coming).any() else now
        legal = now.nonzero()[0]
        if len(legal) == 0:
            return np.int64(0)
        action: np.int64 = legal[int(self.np_random.random() * len(legal))]
        return action


class LegalMultiDiscrete(spaces.MultiDiscrete):
    """`MultiDiscrete` of n games whose `sample()` without a mask draws a legal action in each."""

    def __init__(self, num_envs: int, num_actions: int, slices: Slices) -> None:
        super().__init__(np.full(num_envs, num_actions))
        self.legal_action_masks: Masks | None = None
        self._slices: Final = slices

    def sample(self, mask: Any = None, probability: Any = None) -> npt.NDArray[np.int64]:
        """Random actions, shape (n,): by `mask` or `probability` as in `MultiDiscrete`, else legal.

        Games that are over get 0.
        """
        if mask is not None or probability is not None or self.legal_action_masks is None:
            return super().sample(mask, probability)
        masks = self.legal_action_masks
        actions = np.empty(len(masks), dtype=np.int64)
        uniforms = self.np_random.random(len(actions))
        self._slices.run(choose_from_masks, masks, uniforms, actions)
        return actions
