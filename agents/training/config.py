"""What a self-play training run is made of."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from agents.networks.network import ATTENTION_HEADS, Layer, NetworkShape
from agents.training.opponent_pool import Sampling
from castle_env.errors import OptionError

# The greatest seed of NumPy's global generator, from which SB3 draws minibatches.
MAX_SEED: Final = 2**32 - 1


@dataclass(frozen=True)
class TrainConfig:
    """What a training run is made of; steps are decisions of the learner over all games."""

    steps: int = 2_000_000
    """Learner steps in all."""
    seed: int = 0
    """Seed of network, games and minibatches."""
    reward: Literal["outcome", "margin"] = "margin"
    """+1, 0, -1 at the end of a game, or the VP margin / (2 x factions per player)."""
    num_envs: int = 512
    """Games played at once."""
    opening_plies: int = 12
    """Games start after 0 to this many random plies, fewer where the rules make games short."""
    n_steps: int = 16
    """Learner steps in each game between two updates."""
    batch_size: int = 1024
    """Decisions in one minibatch."""
    n_epochs: int = 2
    """Passes over the decisions of a rollout in one update."""
    learning_rate: float = 1e-3
    """Step size of Adam at the start."""
    last_learning_rate: float = 2e-5
    """Step size of Adam at the end; it falls evenly over the steps of the run."""
    gamma: float = 1.0
    """Discount; games are short and only their end counts."""
    gae_lambda: float = 0.95
    """Trade-off of bias and variance in the advantages."""
    ent_coef: float = 0.05
    """Weight of the entropy over legal actions."""
    clip_range: float = 0.2
    """Greatest change of a probability ratio that is rewarded."""
    lookahead: Literal[0, 1, 2, 3] = 2
    """Plies over which the network is told what each action gains; 0: it sees the board alone."""
    layer: Layer = "lines"
    """What the network's layers over the board do: map whole rows and columns, attend along them,
    look at 3x3 squares, or map the whole board."""
    channels: tuple[int, ...] = (16,)
    """Channels of each of these layers."""
    features: int = 128
    """Width of the dense layer behind them, shared by policy and value."""
    baselines: tuple[str, ...] = ("random", "greedy")
    """Agents that are in the opponent pool from start to end."""
    turned: bool = True
    """Show each game to the learner under a random symmetry of the board."""
    opponents: Sampling = "prioritised"
    """How opponents are drawn from the pool: those of about the learner's strength more often, all
    alike, or only the newest past self."""
    pool_size: int = 6
    """Past selves in the pool."""
    snapshot_every: int = 100_000
    """Learner steps between two snapshots for the pool."""
    evaluate_every: int = 200_000
    """Learner steps between two evaluations against the panel."""
    evaluation_games: int = 200
    """Games against each opponent of the panel in one evaluation."""
    regret_positions: int = 4
    """Positions of each ply in which an evaluation in storm measures the exact regret; 0: none."""
    report_games: int = 1000
    """Games against each opponent of the panel in the report at the end."""
    checkpoint_every: int = 500_000
    """Learner steps between two checkpoints; there is one at the end in any case."""
    threads: int = 1
    """Threads of PyTorch on the CPU; for a small network, more gain little on a free machine and
    lose much on a busy one."""
    device: str = "auto"
    """PyTorch device; "auto" takes a GPU where there is one."""

    def __post_init__(self) -> None:
        for name in ("steps", "num_envs", "n_steps", "batch_size", "n_epochs", "features",
                     "threads", "pool_size", "snapshot_every", "evaluate_every",
                     "checkpoint_every"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: an integer from 1 on")
        if not self.channels or min(self.channels) < 1:
            raise OptionError(f"channels is {self.channels}; allowed: one or more widths from 1 on")
        odd = [width for width in self.channels if width % ATTENTION_HEADS]
        if self.layer == "attention" and odd:
            raise OptionError(f"channels is {self.channels}; allowed for layers of attention: "
                              f"multiples of {ATTENTION_HEADS}")
        if self.opening_plies < 0:
            raise OptionError(f"opening_plies is {self.opening_plies}; allowed: an integer from 0 "
                              "on")
        if not 0 <= self.seed <= MAX_SEED:
            raise OptionError(f"seed is {self.seed}; allowed: an integer from 0 to {MAX_SEED}")
        for name in ("learning_rate", "last_learning_rate", "clip_range"):
            if not 0 < getattr(self, name) <= 1:
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: a number above 0, "
                                  "up to 1")
        for name in ("gamma", "gae_lambda", "ent_coef"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: a number from 0 to 1")
        # The advantages of a minibatch are divided by their spread, which a single one has not.
        rollout = self.num_envs * self.n_steps
        if self.batch_size == 1 or rollout % self.batch_size == 1:
            raise OptionError(f"batch_size is {self.batch_size}; allowed: an integer from 2 on "
                              f"that does not leave 1 of num_envs x n_steps = {rollout} over")

    @property
    def network(self) -> NetworkShape:
        """What the network is made of."""
        return NetworkShape(self.layer, self.channels, self.features)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a card."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainConfig":
        """The config that `to_dict` gave, also after JSON; `OptionError` for unknown names."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise OptionError(f"unknown training option {name!r}; allowed: {', '.join(known)}")
        typed: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value
                                 for name, value in values.items()}
        return cls(**typed)


STRONG_BASELINES: Final = ("random", "greedy", "alphabeta:2", "alphabeta:4")

Preset: TypeAlias = Literal["quick", "standard", "strong"]

# Ready-made configs; minutes are those of one mode on two free cores.
PRESETS: Final[Mapping[Preset, TrainConfig]] = MappingProxyType({
    "quick": TrainConfig(steps=500_000, evaluate_every=62_500, report_games=400),
    "standard": TrainConfig(),
    "strong": TrainConfig(
        steps=5_000_000, lookahead=3, channels=(24,), features=192, n_epochs=4,
        baselines=STRONG_BASELINES, pool_size=8, snapshot_every=200_000, evaluate_every=500_000,
        checkpoint_every=500_000, report_games=3000),
})
