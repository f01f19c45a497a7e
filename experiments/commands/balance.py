"""`castle balance`: how fair rulesets are, solved or played, and what parts of a game are worth."""

from dataclasses import dataclass

from experiments.options import StudyOptions
from experiments.studies.run import run_options


@dataclass(frozen=True, kw_only=True)
class Balance(StudyOptions):
    """Solve or play every ruleset of a study and report how balanced they are.

    Studies that come with the package: storm-small, storm-full, storm-restricted,
    storm-restricted-full, played-storm, played-storm-exact, played-sudden-death,
    sudden-death-readings, sudden-death-values, sudden-death-seven. Ctrl-C loses no cell that was
    finished; --resume goes on.
    """


def run(options: Balance) -> None:
    """Compute all cells that are missing and write the report."""
    run_options(options, "balance", "balance")
