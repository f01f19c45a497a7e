"""What a self-play training run is made of."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from castle_env.errors import OptionError


@dataclass(frozen=True)
class TrainConfig:
    """What a training run is made of; steps are decisions of the learner over all games."""

    steps: int = 2_000_000
    """Learner steps in all."""
    seed: int = 0
    """Seed of network, games and minibatches."""
    reward: Literal["outcome", "margin"] = "outcome"
    """+1, 0, -1 at the end of a game, or the VP margin / (2 x factions per player)."""
    num_envs: int = 512
    """Games played at once."""
    n_steps: int = 16
    """Learner steps in each game between two updates."""
    batch_size: int = 2048
    """Decisions in one minibatch."""
    n_epochs: int = 3
    """Passes over the decisions of a rollout in one update."""
    learning_rate: float = 5e-4
    """Step size of Adam."""
    gamma: float = 1.0
    """Discount; games are short and only their end counts."""
    gae_lambda: float = 0.95
    """Trade-off of bias and variance in the advantages."""
    ent_coef: float = 0.01
    """Weight of the entropy over legal actions."""
    clip_range: float = 0.2
    """Greatest change of a probability ratio that is rewarded."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers of policy and value network."""
    baselines: tuple[str, ...] = ("random", "greedy")
    """Agents that are in the opponent pool from start to end."""
    pool_size: int = 6
    """Past selves in the pool."""
    snapshot_every: int = 100_000
    """Learner steps between two snapshots for the pool."""
    evaluate_every: int = 200_000
    """Learner steps between two evaluations against the panel."""
    checkpoint_every: int = 500_000
    """Learner steps between two checkpoints; there is one at the end in any case."""
    device: str = "auto"
    """PyTorch device; "auto" takes a GPU where there is one."""

    def __post_init__(self) -> None:
        for name in ("steps", "num_envs", "n_steps", "batch_size", "n_epochs", "pool_size",
                     "snapshot_every", "evaluate_every", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: an integer from 1 on")
        if not self.hidden or min(self.hidden) < 1:
            raise OptionError(f"hidden is {self.hidden}; allowed: one or more widths from 1 on")
        if not self.learning_rate > 0:
            raise OptionError(f"learning_rate is {self.learning_rate}; allowed: a number above 0")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a card."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainConfig":
        """The config that `to_dict` gave, also after JSON."""
        typed: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value
                                 for name, value in values.items()}
        return cls(**typed)
