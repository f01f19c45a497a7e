"""A batched Castle environment as a Stable-Baselines3 `VecEnv`."""

import time
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from agents.networks.symmetry import symmetry_maps
from castle_env.errors import OptionError
from castle_env.vector_env import CastleVectorEnv

Planes: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]


class SB3VecEnv(VecEnv):
    """Hands a `CastleVectorEnv` in SAME_STEP mode to Stable-Baselines3.

    All games are stepped in single calls. Observations are the env's, (n, PLANES, 6, 6); with
    `random_symmetry` each game is shown under a symmetry of its rules, drawn when it starts.
    `infos` of finished games hold `terminal_observation` and `episode` (r: reward, l: decisions of
    the learner, t: seconds since the start), as `Monitor` would write them.
    """

    def __init__(self, env: CastleVectorEnv, random_symmetry: bool = False) -> None:
        if env.autoreset_mode != AutoresetMode.SAME_STEP:
            raise OptionError(f"autoreset_mode is {env.autoreset_mode}; allowed here: "
                              f"{AutoresetMode.SAME_STEP}")
        self.env = env
        self._maps: Final = symmetry_maps(env.game) if random_symmetry else None
        self.symmetries = np.zeros(env.num_envs, dtype=np.int64)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.lengths = np.zeros(env.num_envs, dtype=np.int64)
        self._actions = np.zeros(env.num_envs, dtype=np.int64)
        self._started = time.monotonic()

    def reset(self) -> Planes:
        """Start new games everywhere; the first observations."""
        self.lengths[:] = 0
        observations, _ = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._turn(np.arange(self.num_envs))
        return self.shown(observations)

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Legal action masks as the learner sees the games, shape (n, num_actions), int8."""
        masks = self.env.action_masks()
        if self._maps is None:
            return masks
        return np.take_along_axis(masks, self._maps[1][self.symmetries], axis=1)

    def _turn(self, started: Ints) -> None:
        if self._maps is not None:
            self.symmetries[started] = self.env.np_random.integers(len(self._maps[0]),
                                                                   size=len(started))

    def shown(self, planes: Planes) -> Planes:
        """What the learner sees of the games, (n, PLANES, 6, 6), from their planes as they stand.
        """
        return self._shown(np.arange(self.num_envs), planes)

    def _shown(self, games: Ints, planes: Planes) -> Planes:
        if self._maps is None:
            return planes
        flat = planes.reshape(len(planes), -1)
        mapped = np.take_along_axis(flat, self._maps[0][self.symmetries[games]], axis=1)
        return mapped.reshape(planes.shape)

    def step_async(self, actions: Ints) -> None:
        """Keep the actions, shape (n,), for `step_wait`."""
        self._actions = (actions if self._maps is None
                         else self._maps[1][self.symmetries, actions])

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Play the actions; finished games have started anew."""
        planes, rewards, dones, _, info = self.env.step(self._actions)
        self.lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if dones.any():
            self._add_ends(infos, info, rewards, np.flatnonzero(dones))
            self.lengths[dones] = 0
            self._turn(np.flatnonzero(dones))
        return self.shown(planes), rewards.astype(np.float32), dones, infos

    def _add_ends(
        self,
        infos: list[dict[str, Any]],
        info: dict[str, Any],
        rewards: npt.NDArray[np.float64],
        ended: Ints,
    ) -> None:
        seconds = round(time.monotonic() - self._started, 6)
        finals = self._shown(ended, np.stack(info["final_obs"][ended]))
        for index, final in zip(ended, finals, strict=True):
            infos[index] = {
                "terminal_observation": final,
                "TimeLimit.truncated": False,
                "episode": {"r": float(rewards[index]), "l": int(self.lengths[index]),
                            "t": seconds},
            }

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the batched env; of what it returns, one row belongs to each game."""
        owner = self if method_name == "action_masks" else self.env
        rows = getattr(owner, method_name)(*method_args, **method_kwargs)
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
