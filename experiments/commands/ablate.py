"""`castle ablate`: what each part of training is worth, one change at a time."""

from dataclasses import dataclass

from experiments.options import StudyOptions
from experiments.studies.run import run_options


@dataclass(frozen=True, kw_only=True)
class Ablate(StudyOptions):
    """Train every variant of a study with every seed, and tell what each change is worth.

    Studies that come with the package: ablation, curves, shapes. Ctrl-C loses no
    training that was finished; --resume goes on.
    """


def run(options: Ablate) -> None:
    """Train what is missing, print the table and write the report."""
    run_options(options, "ablate", "ablation")
