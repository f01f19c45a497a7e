"""Types for the fields of configs, and the check of all of them at once, by pydantic.

`number: Count = 1` in a frozen dataclass whose `__post_init__` calls `check_fields(self)` lets only
integers from 1 on pass: no bool, no text, no float.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Final, TypeAlias, TypeVar, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from castle_env.errors import OptionError, quoted

Config = TypeVar("Config")

# The greatest seed of NumPy's global generator, from which SB3 draws minibatches.
MAX_SEED: Final = 2**32 - 1

Seed: TypeAlias = Annotated[int, Field(ge=0, le=MAX_SEED)]
Steps: TypeAlias = Annotated[int, Field(ge=1, le=10**15)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
FromZero: TypeAlias = Annotated[int, Field(ge=0, le=1_000_000)]
Games: TypeAlias = Annotated[int, Field(ge=1, le=2**16)]
Width: TypeAlias = Annotated[int, Field(ge=1, le=1024)]
Blocks: TypeAlias = Annotated[int, Field(ge=1, le=100)]
Threads: TypeAlias = Annotated[int, Field(ge=1, le=1024)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Rate: TypeAlias = Annotated[float, Field(gt=0, le=1)]
Weight: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Scale: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_KINDS: Final = {"integer": "an integer", "number": "a number", "boolean": "true or false",
                 "string": "a text"}


def check_fields(config: Any) -> None:
    """Raise `OptionError` for the first field of a dataclass that is not of its annotated type.

    It says what was given and what is allowed. An integer is a float too; a bool is neither.
    """
    kind: Any = type(config)
    for name, adapter in _adapters(kind).items():
        value = getattr(config, name)
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError:
            raise OptionError(f"{name} is {quoted(value)}; allowed: "
                              f"{_allowed(adapter.json_schema())}") from None


def from_keys(config: type[Config], values: Mapping[str, Any], what: str) -> Config:
    """The config with these values, lists standing for tuples; raises `OptionError`.

    what: what an unknown key is called, such as "training option".
    """
    assert is_dataclass(config)
    known = [field.name for field in fields(config)]
    for name in values:
        if name not in known:
            raise OptionError(f"unknown {what} {quoted(name)}; allowed: {', '.join(known)}")
    return config(**{name: tuple(value) if isinstance(value, list) else value
                     for name, value in values.items()})


@cache
def _adapters(config: Any) -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(config, include_extras=True)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(config)}


def _allowed(schema: Mapping[str, Any]) -> str:
    """What a JSON schema lets pass, in words such as "an integer from 1 to 5"."""
    if "anyOf" in schema:
        return ", ".join(map(_allowed, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return ", ".join(map(str, schema.get("enum", [schema.get("const")])))
    if schema["type"] == "array":
        return "a list of texts"
    return _KINDS[schema["type"]] + _range(schema)


def _range(schema: Mapping[str, Any]) -> str:
    low, above, most = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    begins = "" if low is above is None else f" above {above}" if low is None else f" from {low}"
    return begins + ("" if most is None else f" to {most}")
