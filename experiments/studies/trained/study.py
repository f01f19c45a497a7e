"""Studies of trainings: one base, and variants that each change something, over several seeds.

    description = "What makes self-play stronger in storm"
    ruleset = "storm"
    seeds = [0, 1, 2]    # all different
    games = 600          # against each opponent of the panel
    positions = 8        # of each ply, for the regret in storm
    evaluations = 10     # of each training, evenly spaced; 1, the default, is the one at the end
    algorithm = "ppo"    # the default, or "az", or "plain": see `experiments.studies.trained.plain`

    [base]               # options of training, see `castle train --help`
    steps = 300_000

    [variants]
    "two blocks" = {blocks = 2}                  # what each differs in; "base" itself comes first

Without `base` there are only the variants. A variant may name another `algorithm`; its other keys
are then that algorithm's options, and those of the base are left aside.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from castle_env import Game, OptionError, Ruleset, load_ruleset
from castle_env.errors import quoted
from experiments.limits import MAX_SEED
from experiments.studies.cells import Cell
from experiments.studies.keys import (
    StudyError,
    check_keys,
    checked,
    checked_games,
    checked_integer,
    wrong,
)

if TYPE_CHECKING:
    from agents.training.config import RunConfig
    from experiments.studies.trained.plain import PlainConfig

BASE: Final = "base"
DEFAULT_ALGORITHM: Final = "ppo"
PLAIN: Final = "plain"
ALGORITHMS: Final = (DEFAULT_ALGORITHM, "az", PLAIN)
MAX_POSITIONS: Final = 10_000
MAX_EVALUATIONS: Final = 10_000

_KEYS: Final = ("description", "ruleset", "seeds", "games", "positions", "evaluations",
                "algorithm", "base", "variants")
_NEEDED: Final = ("description", "ruleset", "seeds", "games", "positions", "variants")


@dataclass(frozen=True)
class TrainingStudy:
    """A study file. variants: cells of each by its name, in the order of seeds; `text` as read."""

    command: ClassVar = "ablate"
    subject: ClassVar = "trainings"

    name: str
    description: str
    rules: Ruleset
    variants: Mapping[str, Sequence[Cell]]
    text: str

    def cells(self) -> list[Cell]:
        """All trainings, each once."""
        return list({cell.key: cell for cells in self.variants.values() for cell in cells}.values())

    def check(self, cells: Collection[Cell]) -> None:
        """Raise `CastleError` for cells that could not be trained: network, device, agents."""
        from experiments.studies.trained.plain import check_cell

        game = Game(self.rules)
        for cell in cells:
            check_cell(game, config_of(cell.params, cell.seed or 0))


def config_of(params: Mapping[str, Any], seed: int) -> "RunConfig | PlainConfig":
    """How a cell with these arguments is trained; raises `OptionError`."""
    # PyTorch comes with it, which studies of rulesets do without.
    from agents.training.config import CONFIGS
    from experiments.studies.trained.plain import PlainConfig

    kinds: dict[str, type[RunConfig | PlainConfig]] = {**CONFIGS, PLAIN: PlainConfig}
    algorithm = params.get("algorithm", DEFAULT_ALGORITHM)
    if algorithm not in kinds:
        raise OptionError(f"algorithm is {algorithm!r}; allowed: {', '.join(kinds)}")
    return kinds[algorithm].from_dict({**params["config"], "seed": seed})


def study_of_trainings(keys: Mapping[str, Any], text: str, name: str) -> TrainingStudy:
    """The study with these keys, which `text` holds; raises `StudyError` and `OptionError`."""
    check_keys(keys, _KEYS, _NEEDED, name)
    checked_games(keys["games"], "games", name)
    checked_integer(keys["positions"], "positions", name, 0, MAX_POSITIONS)
    checked_integer(keys.get("evaluations", 1), "evaluations", name, 1, MAX_EVALUATIONS)
    table = "a table with a table of options for each variant"
    variants = dict(checked(keys["variants"], dict, "variants", table, name))
    if BASE in variants and "base" in keys:
        raise wrong(name, f"variants.{BASE}", variants[BASE], "another name, as base is one")
    changes = {BASE: {}, **variants} if "base" in keys else variants
    if not changes:
        raise wrong(name, "variants", variants, "one or more, or a base")
    checked(keys["ruleset"], str, "ruleset", "a preset's name or a TOML file", name)
    rules, seeds = load_ruleset(keys["ruleset"]), _seeds(keys["seeds"], name)
    cells = {variant: [_cell(rules, keys, variant, changed, seed, name) for seed in seeds]
             for variant, changed in changes.items()}
    return TrainingStudy(name, checked(keys["description"], str, "description", "a text", name),
                         rules, cells, text)


def _seeds(value: Any, name: str) -> list[int]:
    allowed = "a list of different integers from 0 on"
    seeds = [checked_integer(seed, "seeds", name, 0, MAX_SEED)
             for seed in checked(value, list, "seeds", allowed, name)]
    if not seeds or len(set(seeds)) < len(seeds):
        raise wrong(name, "seeds", value, allowed)
    return seeds


def _cell(
    rules: Ruleset, keys: Mapping[str, Any], variant: str, changed: Any, seed: int, name: str
) -> Cell:
    changed = dict(checked(changed, dict, f"variants.{variant}", "a table of options", name))
    usual = _algorithm(keys, "algorithm", DEFAULT_ALGORITHM, name)
    algorithm = _algorithm(changed, f"variants.{variant}.algorithm", usual, name)
    changed.pop("algorithm", None)
    base = checked(keys.get("base", {}), dict, "base", "a table of training's options", name)
    given = (base if algorithm == usual else {}) | changed
    # The default goes without saying, so that its cells are those they were before the others.
    params = {} if algorithm == DEFAULT_ALGORITHM else {"algorithm": algorithm}
    try:
        config = config_of(params | {"config": given}, seed).to_dict()
    except OptionError as error:
        raise StudyError(f"study {name!r}, variant {quoted(variant)}: {error}") from error
    del config["seed"]
    # Nothing of the run is kept, so that the only checkpoint is that of the end.
    spacing = {"evaluate_every": -(-config["steps"] // keys.get("evaluations", 1)),
               "checkpoint_every": config["steps"]}
    config |= {name: steps for name, steps in spacing.items() if name in config}
    return Cell("training", rules, params | {
        "config": config, "games": keys["games"], "positions": keys["positions"]}, seed)


def _algorithm(keys: Mapping[str, Any], key: str, usual: str, name: str) -> str:
    algorithm: str = checked(keys.get("algorithm", usual), str, key, ", ".join(ALGORITHMS), name)
    if algorithm not in ALGORITHMS:
        raise wrong(name, key, algorithm, ", ".join(ALGORITHMS))
    return algorithm
