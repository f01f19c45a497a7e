"""What the page may ask for; anything else is refused before it reaches a game."""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from castle_env import Ruleset, RulesetError, load_ruleset, preset_names

Name: TypeAlias = Annotated[str, Field(max_length=200)]
Number: TypeAlias = Annotated[int, Field(ge=0, le=99_999)]
Version: TypeAlias = Annotated[int, Field(ge=0, le=2**53)]
Pair: TypeAlias = Annotated[list[Annotated[int, Field(ge=0, le=9)]],
                            Field(min_length=2, max_length=2)]
Players: TypeAlias = Annotated[list[Name], Field(min_length=2, max_length=2)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class NewGame(_Request):
    """A game from a preset's name or a ruleset's keys; `start` is a position's text."""

    ruleset: Name | dict[str, Any]
    players: Players
    seed: Annotated[int, Field(ge=0, le=2**53)] | None = None
    start: Name | None = None


class LoadGame(_Request):
    """One of the games of a `.castle` file; `name` is the file's, `number` counts from 1."""

    text: str
    name: Name = "file"
    number: Annotated[int, Field(ge=1)] = 1


class MakeMove(_Request):
    """An action in the position after the first `at` moves; where the game went on with another one
    it starts a variation.

    `version` is that of the game that the page shows: one that is no longer true is refused.
    """

    at: Number
    action: int
    version: Version


class Change(_Request):
    """A change of the game that the page shows, whose `version` this is."""

    version: Version


class Reply(_Request):
    """The agent's move in the position after the first `at` moves, which is the last one."""

    at: Number


class Seats(_Request):
    """Who goes on with the game that the page shows, whose `version` this is."""

    players: Players
    version: Version


class Walk(_Request):
    """Moves in the position after the first `at` moves, the moves of a variation or new ones;
    `version` as for `MakeMove`.
    """

    at: Number
    version: Version
    actions: Annotated[list[int], Field(min_length=1, max_length=200)]


class Comment(_Request):
    """What to say about the move with this index; `version` as for `MakeMove`."""

    at: Number
    version: Version
    text: Annotated[str, Field(max_length=2_000)]


class EditPosition(_Request):
    """A position as text, or as its parts: 36 tokens "AB#.", square of the bastion, hands.

    Without `ply` the least that fits is taken.
    """

    ruleset: Name | dict[str, Any]
    text: Name | None = None
    tokens: Annotated[str, Field(pattern=r"^[AB#.]{36}$")] = "." * 36
    player: Annotated[int, Field(ge=0, le=1)] = 0
    bastion: Annotated[int, Field(ge=0, le=35)] | None = None
    hands: Pair = [0, 0]
    forfeits: Pair = [0, 0]
    ply: Number | None = None


def ruleset_of(source: str | dict[str, Any]) -> Ruleset:
    """The ruleset of a request; a name is that of a preset, never a file's."""
    if isinstance(source, dict):
        return Ruleset.from_dict(source)
    if source not in preset_names():
        raise RulesetError(f"no ruleset {source!r}; allowed: {', '.join(preset_names())}")
    return load_ruleset(source)
