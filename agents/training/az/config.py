"""What a run of expert iteration is made of."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal

from agents.networks.network import Layer, NetworkShape
from castle_env.errors import OptionError

# Under 30 MB in a checkpoint, see `agents.training.az.replay`.
MAX_WINDOW: Final = 200_000
MAX_EXACT_PLIES: Final = 6


@dataclass(frozen=True)
class AZConfig:
    """What a run of expert iteration is made of; steps are positions of self-play."""

    steps: int = 1_000_000
    """Positions of self-play in all."""
    seed: int = 0
    """Seed of network, games and minibatches."""
    reward: Literal["outcome", "margin"] = "margin"
    """+1, 0, -1 at the end of a game, or the VP margin / (2 x factions per player)."""
    num_envs: int = 512
    """Games played at once."""
    opening_plies: int = 12
    """Games start after 0 to this many random plies, fewer where the rules make games short."""
    visits: int = 16
    """Positions that a search visits beyond the one to move in."""
    considered: int = 8
    """Actions among which a search shares out its visits at the root."""
    visit_offset: float = 50.0
    """c_visit of Gumbel AlphaZero: values count (c_visit + most visits) * c_scale against logits."""
    value_scale: float = 0.15
    """c_scale of Gumbel AlphaZero, for values in units of 4 VP (or of a won game)."""
    exact_plies: int = 4
    """Positions with so few plies left before the turn limit get exact targets without a search;
    leaves of searches get their exact values one ply later."""
    exact_scale: float = 3.0
    """Exact targets are the softmax of the margins in VP times this."""
    outcome_share: float = 0.5
    """Lambda: a position's value target is this share of its successor's target, negated, and the
    rest the value that its own search found; 1 is the outcome of the game alone."""
    plies: int = 8
    """Plies played in each game between two times of learning."""
    window: int = 150_000
    """Newest positions that the network learns from."""
    passes: float = 4.0
    """How many times each position is learned from, on average."""
    batch_size: int = 1024
    """Positions in one minibatch."""
    value_weight: float = 1.0
    """Weight of the squared error of values, in units of 4 VP (or of a won game), against the
    cross-entropy of policies."""
    learning_rate: float = 2e-3
    """Step size of AdamW at the start."""
    last_learning_rate: float = 2e-5
    """Step size of AdamW at the end; it falls along half a cosine over the steps of the run."""
    weight_decay: float = 1e-4
    """Weight decay of AdamW."""
    layer: Layer = "lines"
    """What the network's layers over the board do."""
    channels: tuple[int, ...] = (32, 32)
    """Channels of each of these layers."""
    features: int = 256
    """Width of the dense layer behind them, shared by policy and value."""
    turned: bool = True
    """Learn from each position under a random symmetry of the board."""
    device: str = "auto"
    """PyTorch device; "auto" takes a GPU where there is one."""

    def __post_init__(self) -> None:
        for name in ("steps", "num_envs", "visits", "considered", "plies", "window"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: an integer from 1 on")
        if not self.batch_size <= self.window <= MAX_WINDOW:
            raise OptionError(f"window is {self.window}; allowed: an integer from batch_size = "
                              f"{self.batch_size} to {MAX_WINDOW}")
        if not 0 <= self.exact_plies <= MAX_EXACT_PLIES:
            raise OptionError(f"exact_plies is {self.exact_plies}; allowed: an integer from 0 to "
                              f"{MAX_EXACT_PLIES}")
        if not 0 <= self.outcome_share <= 1:
            raise OptionError(f"outcome_share is {self.outcome_share}; allowed: a number from 0 "
                              "to 1")
        for name in ("passes", "value_scale", "exact_scale", "learning_rate",
                     "last_learning_rate"):
            if not 0 < getattr(self, name):
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: a number above 0")

    @property
    def network(self) -> NetworkShape:
        """What the network is made of."""
        return NetworkShape(self.layer, self.channels, self.features)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a card."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "AZConfig":
        """The config that `to_dict` gave, also after JSON; `OptionError` for unknown names."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise OptionError(f"unknown training option {name!r}; allowed: {', '.join(known)}")
        typed: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value
                                 for name, value in values.items()}
        return cls(**typed)
