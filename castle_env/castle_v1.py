"""The PettingZoo AEC environment: two agents, `player_0` and `player_1`, move in turn.

    env = castle_v1.env(mode="storm")
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        env.step(None if terminated else choose(observation["action_mask"]))
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from castle_env.errors import OptionError
from castle_env.observation import ObservationDtype
from castle_env.options import (
    RENDER_MODES,
    Reward,
    RulesetSource,
    check_environment_options,
    load_game,
    observation_space,
    rewards_of,
)
from castle_env.position import Position, PositionArray
from castle_env.renderer import Renderer
from castle_env.ruleset import MODES

AGENTS = ("player_0", "player_1")


def env(
    mode: str = "storm",
    ruleset: RulesetSource | None = None,
    reward: Reward = "outcome",
    render_mode: str | None = None,
    observation_dtype: ObservationDtype = "float32",
) -> OrderEnforcingWrapper:
    """The environment in PettingZoo's order-enforcing wrapper; illegal actions raise by themselves.

    mode: "storm" or "sudden_death", the preset that is played when no `ruleset` is given.
    """
    return OrderEnforcingWrapper(raw_env(mode, ruleset, reward, render_mode, observation_dtype))


class raw_env(AECEnv[str, dict[str, Any], int]):  # type: ignore[misc]  # noqa: N801
    """One game for two agents.

    Observations: {"observation": (18, 6, 6) of `observation_dtype`, the planes of `CastleEnv`
    relative to the observing agent, "action_mask": (num_actions,) int8}. The mask is also in
    `infos`; that of the agent whose turn it is not, and both after the end, are all zero. Rewards:
    +1, 0, -1 or, with
    `reward="margin"`, the agent's VP margin / (2 x factions per player), on the step that ends the
    game; the two add up to 0. Then each agent is stepped once more with `None`, first the one whose
    turn would have been next, and `infos` hold `final_position` (text) and `outcome` (the fields of
    `castle_env.Outcome`, winner -1 for a draw).

    Version history: as in `CastleEnv`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "name": "castle_v1", "render_modes": list(RENDER_MODES), "render_fps": 2,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        mode: str = "storm",
        ruleset: RulesetSource | None = None,
        reward: Reward = "outcome",
        render_mode: str | None = None,
        observation_dtype: ObservationDtype = "float32",
    ) -> None:
        super().__init__()
        check_environment_options("random", reward, render_mode, observation_dtype)
        if mode not in MODES:
            raise OptionError(f"mode is {mode!r}; allowed: {', '.join(MODES)}")
        self.game = load_game(mode.replace("_", "-") if ruleset is None else ruleset)
        self.render_mode = render_mode
        self.renderer = Renderer(self.game, render_mode, self.metadata["render_fps"])
        self.possible_agents = list(AGENTS)
        self.action_spaces = {agent: spaces.Discrete(self.game.num_actions) for agent in AGENTS}
        mask_space = spaces.Box(0, 1, (self.game.num_actions,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({"observation": observation_space(self.game, observation_dtype),
                                "action_mask": mask_space})
            for agent in AGENTS
        }
        self._reward: Reward = reward
        self._dtype: ObservationDtype = observation_dtype
        self._states: PositionArray = self.game.initial_states(1)
        self._no_action = np.zeros(self.game.num_actions, dtype=np.int8)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at each call."""
        return self.action_spaces[agent]

    @property
    def position(self) -> str:
        """Text form of the position at this moment."""
        return self.game.format_position(self._position())

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new game; the game has no chance moves, so that `seed` changes nothing."""
        self._states = self.game.initial_states(1)
        self.renderer.start()
        self.agents = list(AGENTS)
        self.agent_selection = AGENTS[0]
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._update()

    def step(self, action: int | None) -> None:
        """Play an action of `agent_selection`, or remove it with `None` after the end."""
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        number = self.game.check_action(action)
        before = self._states
        self._states, over = self.game.advance(before, np.array([number]))
        self.renderer.record(before, number)
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.agent_selection = AGENTS[1 - AGENTS.index(self.agent_selection)]
        self._update()
        if over[0]:
            self._finish()

    def observe(self, agent: str) -> dict[str, Any]:
        """The agent's own view of the position, with its mask."""
        player = AGENTS.index(agent)
        return {"observation": self.game.observation(self._position(), player, self._dtype),
                "action_mask": self._mask(player).copy()}

    def state(self) -> npt.NDArray[Any]:
        """The planes as player 0 sees them, shape (18, 6, 6)."""
        return self.game.observation(self._position(), 0, self._dtype)

    def _update(self) -> None:
        self._legal = self.game.legal_action_masks(self._states)[0]
        self.infos: dict[str, dict[str, Any]] = {
            agent: {"action_mask": self._mask(player).copy()}
            for player, agent in enumerate(AGENTS)
        }
        if self.render_mode == "human":
            self.render()

    def _finish(self) -> None:
        outcome = self.game.outcome(self._position())
        assert outcome is not None
        margins = np.array([outcome.margin, -outcome.margin])
        rewards: list[float] = rewards_of(self.game, margins, self._reward).tolist()
        self.rewards = dict(zip(AGENTS, rewards, strict=True))
        self.terminations = dict.fromkeys(AGENTS, True)
        self._accumulate_rewards()
        for info in self.infos.values():
            info |= {"outcome": outcome.to_dict(), "final_position": self.position}

    def _position(self) -> Position:
        return Position(*self._states[0].item())

    def _mask(self, player: int) -> npt.NDArray[np.int8]:
        return self._legal if AGENTS[player] == self.agent_selection else self._no_action

    def render(self) -> Any:
        """The current frame: an array, text, SVG text, or None when shown in a window."""
        return self.renderer.render(self._states)

    def close(self) -> None:
        """Close the window, if there is one."""
        self.renderer.close()
