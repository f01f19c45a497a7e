"""Trained networks as functions: from what an environment shows to probabilities and values."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.networks.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from agents.networks.network import NetworkConfig, build_network, is_symmetric
from agents.networks.shipped import SHIPPED, shipped_path
from agents.networks.symmetry import symmetry_maps
from castle_env.errors import OptionError
from castle_env.game import Game
from castle_env.observation import OBSERVATION_SHAPE, PLANES
from castle_env.options import margin_scale
from castle_env.position import PositionArray
from castle_env.ruleset import Ruleset

Floats = npt.NDArray[np.float32]
Masks = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]


class Policy:
    """A network with the rules of its game.

    reward: what its values count, "margin", "outcome", or the import path of another reward;
    value_scale: what the network's values are multiplied by to be VP, or such rewards. symmetries:
    the sides from which it looks at a position, as `symmetry_maps` gives them.
    A network that is not symmetric by construction is shown each position from all sides, and the
    means of logits and values count, unless `one_side` is set.
    """

    def __init__(
        self, game: Game, network: nn.Module, reward: str, one_side: bool = False
    ) -> None:
        self.game: Final = game
        self.network: Final = network
        self.reward: Final = reward
        self.value_scale: Final = margin_scale(game) if reward == "margin" else 1.0
        maps = symmetry_maps(game)
        few = one_side or is_symmetric(network)
        self.symmetries: Final = (maps[0][:1], maps[1][:1]) if few else maps

    @property
    def device(self) -> torch.device:
        """Where the network's weights are."""
        return next(self.network.parameters()).device

    def evaluate(self, observations: npt.ArrayLike, masks: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Probabilities (n, num_actions) of actions and values (n,) of positions, float32.

        observations: (n, PLANES, 6, 6), as float32 environments show them. masks: (n, num_actions),
        1 = legal; illegal actions get 0. Values are what the player to move expects of the game's
        end: its VP margin, its result from -1 to 1, or rewards of another kind, by `reward`.
        Raises `OptionError` for other shapes, counts of uint8, or a position without a legal
        action.
        """
        planes, legal = self._checked(observations, masks)
        logits, values = self.logits_and_values(planes)
        logits = np.where(legal, logits, -np.inf).astype(np.float64)
        weights: npt.NDArray[np.float64] = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return weights.astype(np.float32), (values * self.value_scale).astype(np.float32)

    def evaluate_states(self, states: PositionArray) -> tuple[Floats, Floats]:
        """`evaluate` for positions (n,), none of them over."""
        return self.evaluate(*self.game.encode(states))

    def logits_and_values(self, observations: Floats) -> tuple[Floats, Floats]:
        """Logits (n, num_actions) of all actions, legal or not, and values (n,) in rewards."""
        flat = observations.reshape(len(observations), -1)
        images, action_maps = self.symmetries
        shown = np.concatenate([flat[:, image] for image in images]) if len(images) > 1 else flat
        with torch.inference_mode():
            tensor = torch.as_tensor(shown, device=self.device).view(-1, *OBSERVATION_SHAPE)
            outputs: list[Floats] = [output.cpu().numpy() for output in self.network(tensor)]
        logits, values = outputs
        if len(images) == 1:
            return logits, values
        total = np.zeros((len(flat), logits.shape[1]), dtype=np.float32)
        for actions, part in zip(action_maps, np.split(logits, len(action_maps)), strict=True):
            total[:, actions] += part
        mean_values: Floats = values.reshape(len(images), -1).mean(axis=0)
        return total / np.float32(len(images)), mean_values

    def look_at(self, states: PositionArray) -> tuple[Floats, Floats]:
        """`logits_and_values` of positions (n,), as a tree search asks for them."""
        return self.logits_and_values(self.game.encode(states)[0])

    def predict(
        self,
        observation: npt.ArrayLike,
        state: None = None,
        episode_start: None = None,
        deterministic: bool = True,
        action_masks: npt.ArrayLike | None = None,
        rng: np.random.Generator | None = None,
    ) -> tuple[npt.NDArray[np.int64], None]:
        """An action for one observation (PLANES, 6, 6), or actions (n,) for a batch of them.

        Arguments and result are those of Stable-Baselines3's `predict`; there is no state. The mask
        of legal actions must be given. With `deterministic` off, actions are drawn with `rng`.
        """
        if action_masks is None:
            raise OptionError("action_masks is None; allowed: the mask of legal actions, in "
                              "info['action_mask'] of an environment")
        single = np.ndim(observation) == len(OBSERVATION_SHAPE)
        batch = np.asarray(observation)[None] if single else observation
        planes, legal = self._checked(batch, np.atleast_2d(np.asarray(action_masks)))
        drawn = None if deterministic else rng or np.random.default_rng()
        actions = self.choose(planes, legal, drawn)
        return (actions[0] if single else actions), None

    def choose(
        self, observations: Floats, masks: npt.NDArray[Any], rng: np.random.Generator | None
    ) -> Ints:
        """Actions (n,): the most probable legal ones, or with `rng` such as the policy draws."""
        logits, _ = self.logits_and_values(observations)
        if rng is not None:
            # The greatest of logits plus Gumbel noise is a draw from their softmax.
            logits += rng.gumbel(size=logits.shape)
        actions: Ints = np.where(masks == 1, logits, -np.inf).argmax(axis=1)
        return actions

    def _checked(
        self, observations: npt.ArrayLike, masks: npt.ArrayLike
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        given = np.asarray(observations)
        if given.dtype == np.uint8:
            raise OptionError("observations are uint8; allowed: float32, as environments with "
                              'observation_dtype="float32" show them')
        planes, legal = given.astype(np.float32, copy=False), np.asarray(masks) == 1
        shapes = (len(planes), *OBSERVATION_SHAPE), (len(planes), self.game.num_actions)
        if (planes.shape, legal.shape) != shapes:
            raise OptionError(f"observations and masks have shapes {planes.shape} and "
                              f"{legal.shape}; allowed: (n, {PLANES}, 6, 6) and (n, "
                              f"{self.game.num_actions}) with the same n")
        if not legal.any(axis=1).all():
            raise OptionError("a mask without a legal action; allowed: positions of games that "
                              "are not over")
        return planes, legal


def load_policy(source: str | Path, game: Game | None = None) -> Policy:
    """The policy of a shipped agent such as "ppo-storm", of a checkpoint file or of a run's folder.

    Raises `CheckpointError` for a file that cannot be used or, if a game is given, one that was
    trained under other rules.
    """
    return policy_of(load_checkpoint(checkpoint_path(source), game))


def checkpoint_path(source: str | Path) -> Path:
    """The file of a shipped agent's weights for its name; any other path as it is."""
    return shipped_path(str(source)) if str(source) in SHIPPED else Path(source)


def policy_of(checkpoint: Checkpoint) -> Policy:
    """The policy of a loaded checkpoint; `CheckpointError` if it is not what its card describes."""
    try:
        card = checkpoint.card
        game = Game(Ruleset.from_dict(card["ruleset"]))
        network = build_network(game, NetworkConfig(**card["network"]))
        network.load_state_dict(checkpoint.tensors["policy"])
        reward = str(card["reward"])
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} does not hold the network that "
                              f"its card describes: {' '.join(str(error).split())}") from error
    if not all(torch.isfinite(weights).all() for weights in network.parameters()):
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} holds weights that are not "
                              "finite numbers")
    network.eval()
    return Policy(game, network, reward)
