"""What a training run is made of."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import Field

from agents.networks.checkpoint import Checkpoint, CheckpointError
from agents.networks.network import NetworkConfig
from agents.training.fields import (
    Blocks,
    Count,
    FromZero,
    Games,
    Rate,
    Scale,
    Seed,
    Share,
    Steps,
    Threads,
    Weight,
    Width,
    check_fields,
    from_keys,
)
from agents.training.opponent_pool import Sampling
from castle_env.errors import OptionError
from castle_env.options import REWARDS, Reward

# So many decisions of a rollout take about 3 GB.
MAX_ROLLOUT: Final = 2**20
# So many positions stay below 30 MB in a checkpoint, see `agents.training.az.replay`.
MAX_WINDOW: Final = 180_000
# With more plies left, exact targets take longer than searches.
MAX_EXACT_PLIES: Final = 6

Algorithm: TypeAlias = Literal["ppo", "az"]
Opponents: TypeAlias = Literal["self"] | Sampling
ExactPlies: TypeAlias = Annotated[int, Field(ge=0, le=MAX_EXACT_PLIES)]
Visits: TypeAlias = Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True)
class RunConfig:
    """What every training run has, whatever its algorithm."""

    steps: Steps
    """Learner steps in all."""
    seed: Seed = 0
    """Seed of network, games and minibatches."""
    reward: str = "margin"
    """What the learner wants: "margin", the VP margin at the end / (2 x factions per player),
    "outcome", +1, 0 or -1, or MODULE:FUNCTION of your own (see docs/training.md)."""
    num_envs: Games = 512
    """Games played at once."""
    opening_plies: FromZero = 12
    """Games start after 0 to this many random plies, fewer where the rules make games short."""
    batch_size: Count = 128
    """Decisions in one minibatch."""
    learning_rate: Rate = 1e-3
    """Step size of Adam at the start."""
    last_learning_rate: Rate = 2e-5
    """Step size of Adam at the end; it falls evenly over the steps of the run."""
    network: str = "lanes"
    """What the network is: lanes, lines, convolution or dense, or MODULE:FUNCTION of your own,
    which takes the game and gives a PyTorch module."""
    channels: Width = 32
    """Numbers of each square between the network's layers."""
    blocks: Blocks = 2
    """Layers of the network."""
    hidden: Width = 64
    """Numbers of each lane inside a layer and the heads, or width of the dense layer behind."""
    random_symmetry: bool = True
    """Show positions to the learner under random symmetries of the board, where its network does
    not see all sides alike anyhow."""
    evaluate_every: Steps = 200_000
    """Learner steps between two evaluations against the panel; the first is before training."""
    evaluation_games: Count = 200
    """Games against each opponent of the panel in one evaluation."""
    regret_positions: FromZero = 4
    """Positions of each ply in which an evaluation in storm measures the exact regret, where no
    truth set is shipped; 0: none anywhere."""
    report_games: Count = 1000
    """Games against each opponent of the panel in the report at the end."""
    checkpoint_every: Steps = 500_000
    """Learner steps between two checkpoints; there is one at the end in any case."""
    threads: Threads = 1
    """Threads of PyTorch on the CPU; for a small network, more gain little on a free machine and
    lose much on a busy one."""
    device: str = "auto"
    """PyTorch device; "auto" takes a GPU where there is one."""

    algorithm: ClassVar[Algorithm]

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def network_config(self) -> NetworkConfig:
        """What the network is made of."""
        return NetworkConfig(self.network, self.channels, self.blocks, self.hidden)

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of agents that training needs."""
        return ()

    def rate_after(self, steps: int) -> float:
        """The learning rate after so many learner steps; the last one from the run's end on."""
        share_left = max(0.0, 1.0 - steps / self.steps)
        fall = self.learning_rate - self.last_learning_rate
        return self.last_learning_rate + fall * share_left

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a card."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The config that `to_dict` gave, also after JSON; `OptionError` for all that is wrong."""
        return from_keys(cls, values, "training option")


@dataclass(frozen=True)
class PPOConfig(RunConfig):
    """Self-play with MaskablePPO; steps are decisions of the learner over all games."""

    steps: Steps = 1_500_000
    """Learner steps in all."""
    n_steps: Count = 16
    """Learner steps in each game between two updates."""
    n_epochs: Count = 1
    """Passes over the decisions of a rollout in one update."""
    gamma: Share = 1.0
    """Discount; games are short and only their end counts."""
    gae_lambda: Share = 0.6
    """Trade-off of bias and variance in the advantages."""
    ent_coef: Share = 0.4
    """Weight of the entropy over legal actions, against advantages whose spread is 1."""
    vf_coef: Weight = 8.0
    """Weight of the squared error of values, which is small since rewards by margin are."""
    clip_range: Rate = 0.2
    """Greatest change of a probability ratio that is rewarded."""
    baselines: tuple[str, ...] = ()
    """Agents that are in the opponent pool, where there is one, from start to end."""
    opponents: Opponents = "self"
    """Who the learner plays: itself, learning from both seats; or opponents from a pool of itself,
    past selves and baselines, drawn prioritised (those of about its strength more often), uniform,
    or latest (the newest past self alone)."""
    pool_size: Count = 6
    """Past selves in the pool."""
    snapshot_every: Steps = 100_000
    """Learner steps between two snapshots for the pool."""
    algorithm: ClassVar[Algorithm] = "ppo"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.baselines and self.opponents == "self":
            raise OptionError(f"baselines are {', '.join(self.baselines)} and opponents is 'self'; "
                              "allowed: baselines in a pool, with opponents prioritised or uniform "
                              "or latest")
        rollout = self.num_envs * self.n_steps
        if rollout > MAX_ROLLOUT:
            raise OptionError(f"num_envs x n_steps is {rollout:,}; allowed: up to "
                              f"{MAX_ROLLOUT:,}, since a rollout is held in memory")
        # The advantages of a minibatch are divided by their spread, which a single one has not.
        if self.batch_size == 1 or rollout % self.batch_size == 1:
            raise OptionError(f"batch_size is {self.batch_size}; allowed: an integer from 2 on "
                              f"that does not leave 1 of num_envs x n_steps = {rollout} over")

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of agents that training needs."""
        return self.baselines


@dataclass(frozen=True)
class AZConfig(RunConfig):
    """Expert iteration on searches; steps are positions of self-play, see `agents.training.az`."""

    steps: Steps = 500_000
    """Positions of self-play in all."""
    batch_size: Count = 256
    """Positions in one minibatch."""
    learning_rate: Rate = 2e-3
    """Step size of AdamW at the start."""
    last_learning_rate: Rate = 2e-5
    """Step size of AdamW at the end; it falls evenly over the steps of the run."""
    weight_decay: Share = 1e-4
    """Weight decay of AdamW."""
    visits: Visits = 16
    """Positions that a search visits beyond the one to move in."""
    considered: Visits = 8
    """Actions among which a search shares out its visits at the root."""
    visit_offset: Scale = 50.0
    """c_visit of Gumbel AlphaZero: (c_visit + most visits) * c_scale is what values weigh."""
    value_scale: Scale = 0.15
    """c_scale of Gumbel AlphaZero, for values in units of 4 VP (or of a won game)."""
    exact_plies: ExactPlies = 4
    """Positions with so few plies left before the turn limit get exact targets without a search;
    leaves of searches get their exact values one ply later."""
    exact_scale: Scale = 3.0
    """Exact targets are the softmax of the margins in VP times this."""
    outcome_share: Share = 0.5
    """Lambda: a position's value target is this share of its successor's target, negated, and the
    rest the value that its own search found; 1 is the outcome of the game alone."""
    plies: Count = 8
    """Plies played in each game between two times of learning."""
    window: Count = 150_000
    """Newest positions that the network learns from."""
    passes: Scale = 4.0
    """How many times each position is learned from, on average."""
    value_weight: Scale = 1.0
    """Weight of the squared error of values, in units of 4 VP (or of a won game), against the
    cross-entropy of policies."""
    algorithm: ClassVar[Algorithm] = "az"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reward not in REWARDS:
            raise OptionError(f"reward is {self.reward!r}; allowed: {', '.join(REWARDS)}, since "
                              "the searches of az have to know it")
        if not self.batch_size <= self.window <= MAX_WINDOW:
            raise OptionError(f"window is {self.window}; allowed: an integer from batch_size = "
                              f"{self.batch_size} to {MAX_WINDOW}")

    @property
    def reward_kind(self) -> Reward:
        """The reward, of which searches know what it is worth."""
        return "margin" if self.reward == "margin" else "outcome"


CONFIGS: Final[Mapping[str, type[RunConfig]]] = MappingProxyType({
    "ppo": PPOConfig, "az": AZConfig})

Preset: TypeAlias = Literal["quick", "standard", "strong"]

# Ready-made configs; `castle train --help` says how long they take.
PRESETS: Final[Mapping[Preset, PPOConfig]] = MappingProxyType({
    "quick": PPOConfig(steps=300_000, evaluate_every=75_000, report_games=400),
    "standard": PPOConfig(),
    "strong": PPOConfig(steps=6_000_000, evaluate_every=250_000, report_games=2000),
})

AZ_PRESETS: Final[Mapping[Preset, AZConfig]] = MappingProxyType({
    "quick": AZConfig(steps=40_000, evaluate_every=10_000, report_games=400),
    "standard": AZConfig(steps=200_000, evaluate_every=50_000),
    "strong": AZConfig(steps=600_000, evaluate_every=100_000, checkpoint_every=200_000,
                       report_games=2000),
})


def read_config(checkpoint: Checkpoint) -> RunConfig:
    """The config of the run that wrote a checkpoint; `CheckpointError` for one of no such run."""
    algorithm = str(checkpoint.card.get("algorithm"))
    if algorithm not in CONFIGS:
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} was trained by {algorithm!r}; "
                              f"allowed: {', '.join(CONFIGS)}")
    try:
        return CONFIGS[algorithm].from_dict(checkpoint.card["config"])
    except (OptionError, TypeError) as error:
        raise CheckpointError(f"the card of checkpoint {str(checkpoint.path)!r} holds a config "
                              f"that cannot be used: {error}") from error
