"""The PettingZoo AEC environment: two agents, `player_0` and `player_1`, move in turn.

    env = castle_v1.env(mode="storm")
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        env.step(None if terminated else choose(observation["action_mask"]))
"""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from castle_env.board import DIRECTIONS
from castle_env.errors import OptionError
from castle_env.game import Action
from castle_env.info import END_REASONS, no_end_info, one_end_info
from castle_env.observation import FIRST_ENTRY_PLANE, ObservationDtype
from castle_env.options import (
    RENDER_MODES,
    Illegal,
    ObservationKind,
    Reward,
    RulesetSource,
    check_options,
    check_reset_options,
    load_game,
    observation_space,
    rewards_of,
    start_states,
)
from castle_env.position import Position, PositionArray
from castle_env.renderer import Renderer
from castle_env.ruleset import MODES, canonical_mode

AGENTS = ("player_0", "player_1")


def env(
    mode: str = "storm",
    ruleset: RulesetSource | None = None,
    reward: Reward = "outcome",
    render_mode: str | None = None,
    observation_dtype: ObservationDtype = "float32",
    illegal: Illegal = "raise",
    text_info: bool = False,
    observation: ObservationKind = "dict",
) -> OrderEnforcingWrapper:
    """The environment in PettingZoo's order-enforcing wrapper; illegal actions raise by themselves.

    mode: "storm" or "sudden_death" (or "sudden-death"), the preset that is played when no
    `ruleset` is given.
    """
    return OrderEnforcingWrapper(raw_env(mode, ruleset, reward, render_mode, observation_dtype,
                                         illegal, text_info, observation))


class raw_env(AECEnv[str, Any, int]):  # type: ignore[misc]  # noqa: N801
    """One game for two agents.

    ## Action space
    `Discrete(25)` in storm, `Discrete(169)` in sudden death, numbered in `castle_env.board`.
    `sample(mask)` draws legal actions, `sample()` does not. Illegal actions raise
    `IllegalActionError` and change nothing; with `illegal="random"` a random legal action is
    played in their place, with `illegal="lose"` the game ends and the agent has lost.

    ## Observation space
    {"observation": (18, 6, 6) of `observation_dtype`, the planes of `CastleEnv` relative to the
    observing agent, "action_mask": (num_actions,) int8}. The mask of the agent whose turn it is
    not, and both after the end, are all zero. With `observation="planes"` it is the planes alone,
    and the mask is in the info alone.

    ## Rewards
    +1, 0, -1 or, with `reward="margin"`, the agent's VP margin / (2 x factions per player), on the
    step that ends the game; the two add up to 0. A game lost by an illegal action is -1 and +1.

    ## Starting state
    The empty board. `reset` takes `options={"position": text}`; the agent to move there begins.

    ## Episode end
    Both agents are terminated when the game is over by its rules; never truncated. Then each is
    stepped once more with `None`, first the one whose turn would have been next.

    ## Info
    The keys of `castle_env.info`, at every step; `seat` is the agent's own, `played_action` and
    `illegal_action` tell of the last step, whoever made it.

    ## Arguments
    mode: the preset that is played without a `ruleset`. The others are those of `CastleEnv`.

    ## Version history
    As in `CastleEnv`.
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
        illegal: Illegal = "raise",
        text_info: bool = False,
        observation: ObservationKind = "dict",
    ) -> None:
        super().__init__()
        check_options(reward=reward, render_mode=render_mode, illegal=illegal,
                      observation_dtype=observation_dtype, text_info=text_info,
                      observation=observation)
        if not isinstance(mode, str) or canonical_mode(mode) not in MODES:
            raise OptionError(f"mode is {mode!r}; allowed: {', '.join(MODES)}")
        self.game = load_game(mode if ruleset is None else ruleset)
        self.render_mode = render_mode
        self.renderer = Renderer(self.game, render_mode, self.metadata["render_fps"])
        self.possible_agents = list(AGENTS)
        self.action_spaces = {agent: spaces.Discrete(self.game.num_actions) for agent in AGENTS}
        self.observation_spaces = {
            agent: observation_space(self.game, observation_dtype, observation) for agent in AGENTS
        }
        self._reward: Reward = reward
        self._dtype: ObservationDtype = observation_dtype
        self._as_dict = observation == "dict"
        self._illegal = illegal
        self._text_info = text_info
        self._states: PositionArray = self.game.initial_states(1)
        self._rng = np.random.default_rng()
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
        """Start a new game; `seed` matters only where `illegal="random"` draws actions.

        options: {"position": text} for another start than the empty board.
        """
        # PettingZoo's own tests hand an option of this name to every environment.
        check_reset_options(options, ("position", "options"))
        start = start_states(self.game, options, 1)
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._states = self.game.initial_states(1) if start is None else start
        self.renderer.start()
        self.agents = list(AGENTS)
        self.agent_selection = AGENTS[int(self._states["ply"][0]) & 1]
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._update(self.game.legal_action_masks(self._states)[0], -1, 0, no_end_info())

    def step(self, action: Action | None) -> None:
        """Play an action of `agent_selection`, or remove it with `None` after the end."""
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        player = AGENTS.index(self.agent_selection)
        number, wrong = self._legalised(self.game.check_action(action))
        lost = wrong and self._illegal == "lose"
        over = lost
        if not lost:
            before = self._states
            self._states, ended = self.game.advance(before, np.array([number]))
            over = bool(ended[0])
            self.renderer.record(before, number)
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.agent_selection = AGENTS[1 - player]
        ends = (one_end_info(self.game, self._states, player if lost else -1) if over
                else no_end_info())
        mask = self._no_action if over else self.game.legal_action_masks(self._states)[0]
        self._update(mask, number, int(wrong), ends)
        if over:
            self._finish(ends["margin"], player if lost else -1)

    def _legalised(self, number: int) -> tuple[int, bool]:
        """The action to play, and whether the one that was given is illegal."""
        if self._legal[number]:
            return number, False
        if self._illegal == "raise":
            raise self.game.illegal(self._position(), number)
        if self._illegal == "random":
            number = int(self._rng.choice(np.flatnonzero(self._legal)))
        return number, True

    def observe(self, agent: str) -> Any:
        """The agent's own view of the position, with its mask unless only planes are wanted."""
        player = AGENTS.index(agent)
        planes = self.game.observation(self._position(), player, self._dtype)
        mask = self._mask(player).copy()
        if not mask.any():  # also where the rules would allow moves, after an illegal one
            planes[FIRST_ENTRY_PLANE:FIRST_ENTRY_PLANE + DIRECTIONS] = 0
        return {"observation": planes, "action_mask": mask} if self._as_dict else planes

    def state(self) -> npt.NDArray[Any]:
        """The planes as player 0 sees them, shape (18, 6, 6)."""
        return self.game.observation(self._position(), 0, self._dtype)

    def _update(
        self, mask: npt.NDArray[np.int8], action: int, illegal: int, ends: dict[str, Any]
    ) -> None:
        self._legal = mask
        told = {"played_action": action, "illegal_action": illegal}
        texts = {"position": self.position,
                 "end_reason_text": END_REASONS[ends["end_reason"]]} if self._text_info else {}
        self.infos: dict[str, dict[str, Any]] = {
            agent: {"action_mask": self._mask(player).copy(), "seat": player, **told,
                    **copy.deepcopy(ends), **texts}
            for player, agent in enumerate(AGENTS)
        }
        if self.render_mode == "human":
            self.render()

    def _finish(self, margin: int, loser: int) -> None:
        rewards: list[float] = rewards_of(self.game, np.array([margin, -margin]),
                                          self._reward).tolist()
        if loser >= 0:
            rewards = [1.0, -1.0] if loser else [-1.0, 1.0]
        self.rewards = dict(zip(AGENTS, rewards, strict=True))
        self.terminations = dict.fromkeys(AGENTS, True)
        self._accumulate_rewards()

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
