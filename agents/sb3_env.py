"""A batched Castle environment as a Stable-Baselines3 `VecEnv`."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from castle_env.errors import OptionError
from castle_env.vector_env import CastleVectorEnv


class SB3VecEnv(VecEnv):
    """Hands a `CastleVectorEnv` in SAME_STEP mode to Stable-Baselines3.

    All games are stepped in single calls. `infos` of finished games hold `terminal_observation`
    and `episode` (r: reward, l: decisions of the learner, t: seconds since the start), as
    `Monitor` would write them.
    """

    def __init__(self, env: CastleVectorEnv) -> None:
        if env.autoreset_mode != AutoresetMode.SAME_STEP:
            raise OptionError(f"autoreset_mode is {env.autoreset_mode}; allowed here: "
                              f"{AutoresetMode.SAME_STEP}")
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.lengths = np.zeros(env.num_envs, dtype=np.int64)
        self._actions = np.zeros(env.num_envs, dtype=np.int64)
        self._started = time.monotonic()

    def reset(self) -> npt.NDArray[np.float32]:
        """Start new games everywhere; shape (n, 18, 6, 6)."""
        self.lengths[:] = 0
        observations, _ = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Keep the actions, shape (n,), for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Play the actions; finished games have started anew."""
        observations, rewards, dones, _, info = self.env.step(self._actions)
        self.lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        seconds = round(time.monotonic() - self._started, 6)
        for index in np.flatnonzero(dones):
            infos[index] = {
                "terminal_observation": info["final_obs"][index],
                "TimeLimit.truncated": False,
                "episode": {"r": float(rewards[index]), "l": int(self.lengths[index]),
                            "t": seconds},
            }
        self.lengths[dones] = 0
        return observations, rewards.astype(np.float32), dones, infos

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the batched env; of what it returns, one row belongs to each game."""
        rows = getattr(self.env, method_name)(*method_args, **method_kwargs)
        return [rows[index] for index in self._get_indices(indices)]

    def has_attr(self, attr_name: str) -> bool:
        """Whether the batched env has an attribute."""
        return hasattr(self.env, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the batched env, which all games share."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the batched env, for all games at once."""
        setattr(self.env, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """The games are in no wrapper."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """One frame for each game."""
        return self.env.render() or ()

    def close(self) -> None:
        """Close the batched env."""
        self.env.close()
