"""Who sits where when `castle play` begins."""

from typing import Final

from castle_env import OptionError, Ruleset, load_ruleset
from castle_env.game_record import GameRecord
from experiments.play.game_in_play import HUMAN
from experiments.web.opponents import Opponents

# Who plays where nobody is named: the networks that come with the package know one ruleset each.
NETWORKS: Final = {"storm": "ppo-storm", "sudden-death": "ppo-sudden-death"}
OPPONENT: Final = "alphabeta:4"


def players_of(
    rules: Ruleset, seat: str = "0", against: str | None = None, first: str | None = None
) -> tuple[str, str]:
    """Names of players 0 and 1; raises `OptionError` for agents that have no seat.

    seat: that of a person, "0", "1", "both" or "none". against: the person's opponent, or player 1
    where no person plays; first: then player 0.
    """
    if first is not None and seat != "none":
        raise OptionError(f"first is {first!r} with --seat {seat}; allowed: only with --seat none, "
                          "since the first player is you or --against")
    if against is not None and seat == "both":
        raise OptionError(f"against is {against!r} with --seat both; allowed: no agent, since both "
                          "players are persons")
    default = default_opponent(rules)
    opponent = against or default
    return {"0": (HUMAN, opponent), "1": (opponent, HUMAN), "both": (HUMAN, HUMAN),
            "none": (first or default, opponent)}[seat]


def seats_of(record: GameRecord) -> tuple[str, str]:
    """Who goes on with a game from a file: an agent against a person, or two persons.

    A file may come from anywhere: it seats agents that read no files alone. Two agents are not
    seated, since their game is there to be looked at.
    """
    allowed = Opponents()
    first, second = (name if allowed.is_agent(name, record.rules) else HUMAN
                     for name in record.players)
    return (first, second) if HUMAN in (first, second) else (HUMAN, HUMAN)


def default_opponent(rules: Ruleset) -> str:
    """The network for a ruleset, `OPPONENT` where there is none."""
    return next((name for preset, name in NETWORKS.items()
                 if load_ruleset(preset).digest == rules.digest), OPPONENT)
