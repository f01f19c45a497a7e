"""Studies of trainings: one base, and variants that each change something, over several seeds.

    description = "What makes self-play stronger in storm"
    ruleset = "storm"
    seeds = [0, 1, 2]
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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from castle_env import OptionError, Ruleset, load_ruleset
from experiments.studies.cells import Cell
from experiments.studies.keys import check_keys, checked, wrong

if TYPE_CHECKING:
    from agents.training.config import RunConfig
    from experiments.studies.trained.plain import PlainConfig

BASE: Final = "base"
DEFAULT_ALGORITHM: Final = "ppo"
PLAIN: Final = "plain"

_KEYS: Final[Mapping[str, tuple[type, str]]] = MappingProxyType({
    "description": (str, "a text"),
    "ruleset": (str, "a preset's name or a TOML file"),
    "seeds": (list, "a list of integers from 0 on"),
    "games": (int, "an even number from 2 on"),
    "positions": (int, "an integer from 0 on"),
    "evaluations": (int, "an integer from 1 on"),
    "algorithm": (str, "an algorithm's name"),
    "base": (dict, "a table of training's options"),
    "variants": (dict, "a table with a table for each variant"),
})
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
    for key, value in keys.items():
        checked(value, *_KEYS[key][:1], key, _KEYS[key][1], name)
    if keys.get("evaluations", 1) < 1:
        raise wrong(name, "evaluations", keys["evaluations"], _KEYS["evaluations"][1])
    rules = load_ruleset(keys["ruleset"])
    changes = {BASE: {}, **keys["variants"]} if "base" in keys else keys["variants"]
    variants = {variant: [_cell(rules, keys, variant, changed, seed, name)
                          for seed in keys["seeds"]] for variant, changed in changes.items()}
    return TrainingStudy(name, keys["description"], rules, variants, text)


def _cell(
    rules: Ruleset, keys: Mapping[str, Any], variant: str, changed: Any, seed: Any, name: str
) -> Cell:
    changed = dict(checked(changed, dict, f"variants.{variant}", "a table of options", name))
    checked(seed, int, "seeds", _KEYS["seeds"][1], name)
    usual = keys.get("algorithm", DEFAULT_ALGORITHM)
    algorithm = changed.pop("algorithm", usual)
    given = (keys.get("base", {}) if algorithm == usual else {}) | changed
    # The default goes without saying, so that its cells are those they were before the others.
    params = {} if algorithm == DEFAULT_ALGORITHM else {"algorithm": algorithm}
    config = config_of(params | {"config": given}, seed).to_dict()
    del config["seed"]
    # Nothing of the run is kept, so that the only checkpoint is that of the end.
    spacing = {"evaluate_every": -(-config["steps"] // keys.get("evaluations", 1)),
               "checkpoint_every": config["steps"]}
    config |= {name: steps for name, steps in spacing.items() if name in config}
    return Cell("training", rules, params | {
        "config": config, "games": keys["games"], "positions": keys["positions"]}, seed)
