"""What a test knows of a value's type and the type checker cannot: said here, it is checked too."""

from typing import Any, TypeVar

Kind = TypeVar("Kind")


def narrow(value: Any, kind: type[Kind]) -> Kind:
    assert isinstance(value, kind)
    return value


def present(value: Kind | None) -> Kind:
    assert value is not None
    return value
