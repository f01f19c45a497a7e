"""Studies are checked whole before anything is computed."""

from pathlib import Path

import pytest

from castle_env.errors import CastleError
from experiments.backend import LocalBackend
from experiments.studies.load import load_study, parse_study, study_names
from experiments.studies.run import run_study

RULESETS = """
description = "a study"
base = { mode = "storm", factions_per_player = 3 }
exact = false
[played]
agents = ["random"]
games = 4
opening_plies = 2
"""
TRAININGS = """
description = "a study"
ruleset = "storm"
seeds = [0, 1]
games = 4
positions = 0
base = { steps = 128 }
[variants]
small = { channels = 4 }
"""
HUGE = f"0x{'f' * 4000}"
WRONG_RULESETS = {
    "negative games": ("games = 4", "games = -5"),
    "odd games": ("games = 4", "games = 5"),
    "games without end": ("games = 4", f"games = {10**12}"),
    "games of too many digits": ("games = 4", f"games = {HUGE}"),
    "games as text": ("games = 4", "games = 'many'"),
    "games as truth": ("games = 4", "games = true"),
    "a negative seed": ("games = 4", "games = 4\nseed = -1"),
    "an opening of a whole game": ("opening_plies = 2", "opening_plies = 5"),
    "no depth": ("games = 4", "games = 4\ndepth = 0"),
    "too much depth": ("games = 4", "games = 4\ndepth = 99"),
    "an agent that is no text": ('["random"]', "[3]"),
    "an agent twice": ('["random"]', '["random", "random"]'),
    "a skill of one agent": ('agents = ["random"]', 'skill = ["mcts:10"]'),
    "a budget twice": ('agents = ["random"]', 'skill = ["mcts:10", "mcts:10"]'),
    "nobody plays": ('agents = ["random"]', "agents = []"),
    "nothing to do": ('[played]\nagents = ["random"]\ngames = 4\nopening_plies = 2\n', ""),
    "an unknown key": ("games = 4", "games = 4\nhats = 1"),
    "an unknown restriction": ("games = 4", "games = 4\nrestrictions = ['never-wins']"),
    "values that read alike": ("[played]", "[[vary]]\nkey = 'name'\nvalues = ['1', 1]\n[played]"),
    "a value twice": ("[played]", "[[vary]]\nkey = 'max_plies'\nvalues = [6, 6]\n[played]"),
    "a value of too many digits": (
        "[played]", f"[[vary]]\nkey = 'max_plies'\nvalues = [{HUGE}]\n[played]"),
    "a base of too many digits": ("factions_per_player = 3", f"factions_per_player = {HUGE}"),
    "a base of another type": ('{ mode = "storm", factions_per_player = 3 }', HUGE),
    "sudden death solved": ('mode = "storm", factions_per_player = 3 }\nexact = false',
                            'mode = "sudden_death" }'),
}
WRONG_TRAININGS = {
    "no seeds": ("seeds = [0, 1]", "seeds = []"),
    "a seed twice": ("seeds = [0, 1]", "seeds = [0, 0]"),
    "a seed as text": ("seeds = [0, 1]", "seeds = ['a']"),
    "a seed as truth": ("seeds = [0, 1]", "seeds = [true]"),
    "a negative seed": ("seeds = [0, 1]", "seeds = [-1]"),
    "a seed without end": ("seeds = [0, 1]", f"seeds = [{HUGE}]"),
    "seeds that are no list": ("seeds = [0, 1]", "seeds = 3"),
    "odd games": ("games = 4", "games = 5"),
    "negative games": ("games = 4", "games = -4"),
    "negative positions": ("positions = 0", "positions = -1"),
    "no evaluations": ("positions = 0", "positions = 0\nevaluations = 0"),
    "a variant that is no table": ("{ channels = 4 }", "4"),
    "variants that are no table": ("[variants]\nsmall = { channels = 4 }", "variants = 4"),
    "a base that is no table": ("{ steps = 128 }", "128"),
    "no variant": ("base = { steps = 128 }\n[variants]\nsmall = { channels = 4 }", "[variants]"),
    "a variant called base": ("small =", "base ="),
    "steps as text": ("steps = 128", "steps = 'many'"),
    "steps of too many digits": ("steps = 128", f"steps = {HUGE}"),
    "opponents misspelt": ("channels = 4", "opponents = 'lastest'"),
    "truth as text": ("channels = 4", "random_symmetry = 'false'"),
    "an unknown option": ("channels = 4", "turned = 'false'"),
    "an algorithm that is none": ("channels = 4", "algorithm = 'magic'"),
    "an algorithm that is a list": ("channels = 4", "algorithm = ['ppo']"),
    "a ruleset that is none": ('"storm"', '"chess"'),
    "a description that is no text": ('"a study"', "3"),
}


@pytest.mark.parametrize("kind", WRONG_RULESETS)
def test_a_wrong_study_of_rulesets_is_refused(kind: str) -> None:
    wrong = RULESETS.replace(*WRONG_RULESETS[kind])
    assert wrong != RULESETS
    with pytest.raises(CastleError):
        parse_study(wrong, "wrong")


@pytest.mark.parametrize("kind", WRONG_TRAININGS)
def test_a_wrong_study_of_trainings_is_refused(kind: str) -> None:
    wrong = TRAININGS.replace(*WRONG_TRAININGS[kind])
    assert wrong != TRAININGS
    with pytest.raises(CastleError):
        parse_study(wrong, "wrong")


@pytest.mark.parametrize(("text", "given", "wrong"), [
    (RULESETS, '"random"', '"random", "stockfish"'), (RULESETS, '"random"', '"ppo-storm"'),
    (TRAININGS, "channels = 4", "network = 'hats'"),
    (TRAININGS, "channels = 4", "device = 'abacus'"),
    (TRAININGS, "channels = 4", "opponents = 'uniform', baselines = ['stockfish']"),
    (TRAININGS, "channels = 4", "algorithm = 'plain', opponent = 'stockfish'")])
def test_what_cannot_be_made_is_told_before_any_cell_is_computed(
    tmp_path: Path, text: str, given: str, wrong: str
) -> None:
    study = parse_study(text.replace(given, wrong), "wrong")
    with pytest.raises(CastleError):
        run_study(study, tmp_path, LocalBackend())
    assert list(tmp_path.iterdir()) == []


def test_studies_that_come_with_the_package_are_right() -> None:
    for text in (RULESETS, TRAININGS):
        assert parse_study(text, "right").cells()
    for name in study_names():
        assert load_study(name).cells()
