"""The game for OpenSpiel: importing this module registers `storm_the_castle` with pyspiel.

    import pyspiel
    import castle_env.openspiel_game

    game = pyspiel.load_game("storm_the_castle(ruleset=sudden-death,reward=margin)")

Parameters, all of them optional:

    ruleset               a preset's name, "storm" by default, or a TOML file's path
    factions_per_player   another number of factions than the ruleset's, for smaller games
    max_plies             another limit of turns, in sudden death
    reward                "outcome" (+1, 0 or -1) or "margin" (VP margin / (2 x factions))

Actions are those of `castle_env.board`, a forced `pass` among them; observation tensors are the
planes of `castle_env.observation`, as the observing player sees them.
"""

from typing import Any, Final

import numpy as np

from castle_env.errors import MissingPackageError
from castle_env.game import Game
from castle_env.imports import explain_import_error
from castle_env.observation import OBSERVATION_SHAPE
from castle_env.options import check_options, margin_scale, rewards_of
from castle_env.position import Position
from castle_env.ruleset import STORM, Ruleset, load_ruleset

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError as error:
    explanation = explain_import_error(error, __name__)
    if explanation is None:
        raise
    raise MissingPackageError(explanation) from error

NAME: Final = "storm_the_castle"
PLAYERS: Final = 2

GAME_TYPE: Final = pyspiel.GameType(
    short_name=NAME,
    long_name="Storm the Castle",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=PLAYERS,
    min_num_players=PLAYERS,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    # Numbers that are 0 stand for the ruleset's own.
    parameter_specification={"ruleset": "storm", "factions_per_player": 0, "max_plies": 0,
                             "reward": "outcome"},
)


class OpenSpielGame(pyspiel.Game):  # type: ignore[misc]
    """One ruleset as OpenSpiel sees it; `castle` is the same as our own `Game`."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = {**GAME_TYPE.parameter_specification, **(params or {})}
        check_options(reward=given["reward"])
        self.castle = Game(_ruleset(given))
        self.reward = given["reward"]
        most = 1.0 if self.reward == "outcome" else _greatest_margin(self.castle)
        super().__init__(GAME_TYPE, pyspiel.GameInfo(
            num_distinct_actions=self.castle.num_actions, max_chance_outcomes=0,
            num_players=PLAYERS, min_utility=-most, max_utility=most, utility_sum=0.0,
            max_game_length=self.castle.rules.max_plies), params or {})

    def new_initial_state(self) -> "OpenSpielState":
        """The start of a game."""
        return OpenSpielState(self, self.castle.initial_state())

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        """The planes of a position, or with perfect recall the moves that led to it."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return PlanesObserver()
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class OpenSpielState(pyspiel.State):  # type: ignore[misc]
    """A position that `apply_action` moves on; `position` is its value in our own terms."""

    def __init__(self, game: OpenSpielGame, position: Position) -> None:
        super().__init__(game)
        self.position = position

    @property
    def _castle(self) -> Game:
        castle: Game = self.get_game().castle  # kept there, since a clone copies what is kept here
        return castle

    def current_player(self) -> int:
        """0 or 1, or `pyspiel.PlayerId.TERMINAL`."""
        if self.is_terminal():
            return int(pyspiel.PlayerId.TERMINAL)
        return self._castle.current_player(self.position)

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self._castle.is_terminal(self.position)

    def returns(self) -> list[float]:
        """Rewards of both players, 0 until the game is over."""
        if not self.is_terminal():
            return [0.0] * PLAYERS
        points = self._castle.victory_points(self.position)
        margins = np.array([points[0] - points[1], points[1] - points[0]])
        rewards: list[float] = rewards_of(self._castle, margins, self.get_game().reward).tolist()
        return rewards

    def __str__(self) -> str:
        return self._castle.format_position(self.position)

    def _legal_actions(self, player: int) -> list[int]:
        return self._castle.legal_actions(self.position)

    def _apply_action(self, action: int) -> None:
        self.position = self._castle.apply(self.position, action)

    def _action_to_string(self, player: int, action: int) -> str:
        return self._castle.format_action(action)


class PlanesObserver:
    """Writes what a player sees into `tensor`, which `dict` shows by name and shape."""

    def __init__(self) -> None:
        self.tensor = np.zeros(int(np.prod(OBSERVATION_SHAPE)), dtype=np.float32)
        self.dict = {"observation": self.tensor.reshape(OBSERVATION_SHAPE)}

    def set_from(self, state: OpenSpielState, player: int) -> None:
        """The planes of a state as `player` sees them."""
        castle: Game = state.get_game().castle
        self.dict["observation"][:] = castle.observation(state.position, player)

    def string_from(self, state: OpenSpielState, player: int) -> str:
        """The position's text, which is the same for both players."""
        return str(state)


def _ruleset(given: dict[str, Any]) -> Ruleset:
    keys = load_ruleset(given["ruleset"]).to_dict()
    if given["factions_per_player"]:
        keys["factions_per_player"] = given["factions_per_player"]
        if keys["mode"] == STORM:
            del keys["max_plies"]
    if given["max_plies"]:
        keys["max_plies"] = given["max_plies"]
    return Ruleset.from_dict(keys)


def _greatest_margin(game: Game) -> float:
    """A bound on rewards with "margin": each term at its most for one player, none for the other.

    Terms of either sign count, since a player's negative points are the other's margin.
    """
    rules, points = game.rules, game.rules.victory_points
    strongholds = sum(row.count("#") for row in rules.strongholds)
    per_faction = (abs(points.captured) + abs(points.besieging) + 4 * abs(points.contact)
                   + abs(points.survivor)
                   + max((abs(value) for row in points.squares or () for value in row), default=0))
    most = rules.factions_per_player * per_faction + strongholds * abs(points.controlled)
    return 2 * most / margin_scale(game)


pyspiel.register_game(GAME_TYPE, OpenSpielGame)
