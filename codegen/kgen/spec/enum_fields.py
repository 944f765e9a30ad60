"""Dataclass fields that hold a member of an enum and accept its name: ``dtype="bf16"``.

Type checkers see a descriptor with both types: the constructor takes what `__set__` takes, a member
or its name, and reading the field gives the member (Python's documentation of dataclasses,
"Descriptor-typed fields"). At run time the constructor of a frozen class calls `converted` and
stores its result as an ordinary attribute, because attributes are read far more often than set.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from kgen import suggest
from kgen.errors import SpecError

E = TypeVar("E", bound=StrEnum)
#: Literal of the members' names, which the field takes as well.
N = TypeVar("N")
#: Types of what a field holds, and of what it is set to.
V = TypeVar("V")
G = TypeVar("G")


class ConvertedField(Generic[V, G]):
    """Field that stores `converted(value)` of the value that it is set to; `default` if none is."""

    default: V

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> V:
        # Only the class is asked, for the default: an instance has an attribute of its own.
        return self.default

    if TYPE_CHECKING:

        def __set__(self, instance: object, value: G) -> None: ...

    def converted(self, value: G) -> V:
        """Return the value to store. Raises SpecError."""
        raise NotImplementedError


class Member(ConvertedField[E, E | N]):
    """Field that holds a member of `enum`. Setting it raises SpecError for an unknown name."""

    def __init__(self, enum: type[E], default: E) -> None:
        self.enum, self.default = enum, default

    def converted(self, value: E | N) -> E:
        return member(self.enum, value, self.name)


class OptionalMember(ConvertedField[E | None, E | N | None]):
    """Field that holds a member of `enum`, or None for a value that the spec fills in."""

    default = None

    def __init__(self, enum: type[E]) -> None:
        self.enum = enum

    def converted(self, value: E | N | None) -> E | None:
        return None if value is None else member(self.enum, value, self.name)


class Members(ConvertedField[tuple[E, ...], Iterable[E | N]]):
    """Field that holds a tuple of members of `enum`, in the given order; empty by default."""

    default = ()

    def __init__(self, enum: type[E]) -> None:
        self.enum = enum

    def converted(self, value: Iterable[E | N]) -> tuple[E, ...]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            example = value if isinstance(value, str) else str(next(iter(self.enum)))
            raise SpecError(f"{self.name}={value!r} is not a tuple; give ({example!r},)")
        return tuple(member(self.enum, v, self.name) for v in value)


def member(enum: type[E], value: object, name: str) -> E:
    """Return the member with this value. Raises SpecError with a list of the members."""
    try:
        return enum(value)  # type: ignore[arg-type]
    except ValueError:
        known = [m.value for m in enum]
        raise SpecError(suggest.unknown(f"{name}={value}", value, known)) from None
