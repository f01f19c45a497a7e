"""Configs let only values pass that mean something, and name those that do not."""

from dataclasses import fields
from typing import Any

import pytest

from agents.training.config import AZConfig, PPOConfig, RunConfig
from castle_env import OptionError

KINDS: list[type[RunConfig]] = [PPOConfig, AZConfig]


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_refuses_values_of_another_type(kind: type[RunConfig]) -> None:
    usual = kind()  # type: ignore[call-arg]
    for field in fields(kind):
        value = getattr(usual, field.name)
        wrong: list[Any] = [None, {}, ["x", 1], 1j]
        wrong += [[], "many"] if not isinstance(value, str | tuple) else [3, True, [1]]
        wrong += [True] if isinstance(value, int | float) and not isinstance(value, bool) else []
        wrong += ["false", 0, 1] if isinstance(value, bool) else []
        wrong += [0.5] if isinstance(value, int) else []
        wrong += [float("nan"), float("inf"), -1.0] if isinstance(value, float) else []
        wrong += [-1, 10**18, int("f" * 4000, 16)] if type(value) is int else []
        for given in wrong:
            with pytest.raises(OptionError, match=f"^{field.name} is .*; allowed: "):
                kind(**{field.name: given})


@pytest.mark.parametrize(("changes", "said"), [
    ({"opponents": "lastest"}, "opponents is 'lastest'; allowed: self, prioritised, uniform, lat"),
    ({"random_symmetry": "false"}, "random_symmetry is 'false'; allowed: true or false"),
    ({"num_envs": 0}, "num_envs is 0; allowed: an integer from 1 to 65536"),
    ({"gamma": 1.5}, "gamma is 1.5; allowed: a number from 0"),
    ({"learning_rate": 0.0}, "learning_rate is 0.0; allowed: a number above 0"),
    ({"baselines": ("random", 3)}, "allowed: a list of texts"),
    ({"num_envs": 60_000, "n_steps": 60_000}, "num_envs x n_steps is 3,600,000,000; allowed: up"),
])
def test_what_is_wrong_is_told_with_what_is_allowed(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError) as error:
        PPOConfig(**changes)
    assert said in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_config_comes_back_from_plain_values(kind: type[RunConfig]) -> None:
    usual = kind()  # type: ignore[call-arg]
    assert kind.from_dict(usual.to_dict()) == usual
    with pytest.raises(OptionError, match="unknown training option 'turned'"):
        kind.from_dict({"turned": "false"})


def test_lists_stand_for_tuples_in_plain_values() -> None:
    values = {"opponents": "uniform", "baselines": ["random"]}
    assert PPOConfig.from_dict(values).baselines == ("random",)
