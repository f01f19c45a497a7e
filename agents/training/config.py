"""What a training run is made of."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

from agents.networks.checkpoint import Checkpoint, CheckpointError
from agents.networks.network import NetworkConfig
from agents.training.opponent_pool import Sampling
from castle_env.errors import OptionError
from castle_env.options import REWARDS, Reward

# The greatest seed of NumPy's global generator, from which SB3 draws minibatches.
MAX_SEED: Final = 2**32 - 1
# So many positions stay below 30 MB in a checkpoint, see `agents.training.az.replay`.
MAX_WINDOW: Final = 180_000
# With more plies left, exact targets take longer than searches.
MAX_EXACT_PLIES: Final = 6

Algorithm: TypeAlias = Literal["ppo", "az"]
Opponents: TypeAlias = Literal["self"] | Sampling


@dataclass(frozen=True)
class RunConfig:
    """What every training run has, whatever its algorithm."""

    steps: int
    """Learner steps in all."""
    seed: int = 0
    """Seed of network, games and minibatches."""
    reward: str = "margin"
    """What the learner wants: "margin", the VP margin at the end / (2 x factions per player),
    "outcome", +1, 0 or -1, or MODULE:FUNCTION of your own (see docs/training.md)."""
    num_envs: int = 512
    """Games played at once."""
    opening_plies: int = 12
    """Games start after 0 to this many random plies, fewer where the rules make games short."""
    batch_size: int = 128
    """Decisions in one minibatch."""
    learning_rate: float = 1e-3
    """Step size of Adam at the start."""
    last_learning_rate: float = 2e-5
    """Step size of Adam at the end; it falls evenly over the steps of the run."""
    network: str = "lanes"
    """What the network is: lanes, lines, convolution or dense, or MODULE:FUNCTION of your own,
    which takes the game and gives a PyTorch module."""
    channels: int = 32
    """Numbers of each square between the network's layers."""
    blocks: int = 2
    """Layers of the network."""
    hidden: int = 64
    """Numbers of each lane inside a layer and the heads, or width of the dense layer behind."""
    random_symmetry: bool = True
    """Show positions to the learner under random symmetries of the board, where its network does
    not see all sides alike anyhow."""
    evaluate_every: int = 200_000
    """Learner steps between two evaluations against the panel; the first is before training."""
    evaluation_games: int = 200
    """Games against each opponent of the panel in one evaluation."""
    regret_positions: int = 4
    """Positions of each ply in which an evaluation in storm measures the exact regret, where no
    truth set is shipped; 0: none anywhere."""
    report_games: int = 1000
    """Games against each opponent of the panel in the report at the end."""
    checkpoint_every: int = 500_000
    """Learner steps between two checkpoints; there is one at the end in any case."""
    threads: int = 1
    """Threads of PyTorch on the CPU; for a small network, more gain little on a free machine and
    lose much on a busy one."""
    device: str = "auto"
    """PyTorch device; "auto" takes a GPU where there is one."""

    algorithm: ClassVar[Algorithm]

    def __post_init__(self) -> None:
        self._check_counts("steps", "num_envs", "batch_size", "channels", "blocks", "hidden",
                           "threads", "evaluate_every", "evaluation_games", "report_games",
                           "checkpoint_every")
        for name in ("opening_plies", "regret_positions"):
            if getattr(self, name) < 0:
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: an integer from 0 on")
        if not 0 <= self.seed <= MAX_SEED:
            raise OptionError(f"seed is {self.seed}; allowed: an integer from 0 to {MAX_SEED}")
        self._check_numbers(("learning_rate", "last_learning_rate"), above_zero=True)

    def _check_counts(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: an integer from 1 on")

    def _check_numbers(self, names: tuple[str, ...], above_zero: bool = False) -> None:
        for name in names:
            value = getattr(self, name)
            if not (0 <= value <= 1 and (value or not above_zero)):
                allowed = "above 0, up to 1" if above_zero else "from 0 to 1"
                raise OptionError(f"{name} is {value}; allowed: a number {allowed}")

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
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The config that `to_dict` gave, also after JSON; `OptionError` for unknown names."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise OptionError(f"unknown training option {name!r}; allowed: {', '.join(known)}")
        typed: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value
                                 for name, value in values.items()}
        return cls(**typed)


@dataclass(frozen=True)
class PPOConfig(RunConfig):
    """Self-play with MaskablePPO; steps are decisions of the learner over all games."""

    steps: int = 1_500_000
    """Learner steps in all."""
    n_steps: int = 16
    """Learner steps in each game between two updates."""
    n_epochs: int = 1
    """Passes over the decisions of a rollout in one update."""
    gamma: float = 1.0
    """Discount; games are short and only their end counts."""
    gae_lambda: float = 0.6
    """Trade-off of bias and variance in the advantages."""
    ent_coef: float = 0.4
    """Weight of the entropy over legal actions, against advantages whose spread is 1."""
    vf_coef: float = 8.0
    """Weight of the squared error of values, which is small since rewards by margin are."""
    clip_range: float = 0.2
    """Greatest change of a probability ratio that is rewarded."""
    baselines: tuple[str, ...] = ()
    """Agents that are in the opponent pool, where there is one, from start to end."""
    opponents: Opponents = "self"
    """Who the learner plays: itself, learning from both seats; or opponents from a pool of itself,
    past selves and baselines, drawn prioritised (those of about its strength more often), uniform,
    or latest (the newest past self alone)."""
    pool_size: int = 6
    """Past selves in the pool."""
    snapshot_every: int = 100_000
    """Learner steps between two snapshots for the pool."""
    algorithm: ClassVar[Algorithm] = "ppo"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_counts("n_steps", "n_epochs", "pool_size", "snapshot_every")
        self._check_numbers(("clip_range",), above_zero=True)
        self._check_numbers(("gamma", "gae_lambda", "ent_coef"))
        if not self.vf_coef >= 0:
            raise OptionError(f"vf_coef is {self.vf_coef}; allowed: a number from 0 on")
        if self.baselines and self.opponents == "self":
            raise OptionError(f"baselines are {', '.join(self.baselines)} and opponents is 'self'; "
                              "allowed: baselines in a pool, with opponents prioritised or uniform "
                              "or latest")
        # The advantages of a minibatch are divided by their spread, which a single one has not.
        rollout = self.num_envs * self.n_steps
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

    steps: int = 500_000
    """Positions of self-play in all."""
    batch_size: int = 256
    """Positions in one minibatch."""
    learning_rate: float = 2e-3
    """Step size of AdamW at the start."""
    last_learning_rate: float = 2e-5
    """Step size of AdamW at the end; it falls evenly over the steps of the run."""
    weight_decay: float = 1e-4
    """Weight decay of AdamW."""
    visits: int = 16
    """Positions that a search visits beyond the one to move in."""
    considered: int = 8
    """Actions among which a search shares out its visits at the root."""
    visit_offset: float = 50.0
    """c_visit of Gumbel AlphaZero: (c_visit + most visits) * c_scale is what values weigh."""
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
    value_weight: float = 1.0
    """Weight of the squared error of values, in units of 4 VP (or of a won game), against the
    cross-entropy of policies."""
    algorithm: ClassVar[Algorithm] = "az"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_counts("visits", "considered", "plies")
        self._check_numbers(("outcome_share", "weight_decay"))
        if self.reward not in REWARDS:
            raise OptionError(f"reward is {self.reward!r}; allowed: {', '.join(REWARDS)}, since "
                              "the searches of az have to know it")
        if not self.batch_size <= self.window <= MAX_WINDOW:
            raise OptionError(f"window is {self.window}; allowed: an integer from batch_size = "
                              f"{self.batch_size} to {MAX_WINDOW}")
        if not 0 <= self.exact_plies <= MAX_EXACT_PLIES:
            raise OptionError(f"exact_plies is {self.exact_plies}; allowed: an integer from 0 to "
                              f"{MAX_EXACT_PLIES}")
        for name in ("passes", "visit_offset", "value_scale", "exact_scale", "value_weight"):
            if not 0 < getattr(self, name) < float("inf"):
                raise OptionError(f"{name} is {getattr(self, name)}; allowed: a number above 0")

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
