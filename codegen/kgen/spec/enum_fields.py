"""Dataclass fields that hold a member of an enum and accept its name: ``dtype="bf16"``.

The fields are descriptors, so that type checkers see both types: the constructor takes what
`__set__` takes, a member or its name, and reading the field gives the member (Python's
documentation of dataclasses, "Descriptor-typed fields").
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Generic, TypeVar

from kgen import suggest
from kgen.errors import SpecError

E = TypeVar("E", bound=StrEnum)
#: Literal of the members' names, which the field takes as well.
N = TypeVar("N")


class Member(Generic[E, N]):
    """Field that holds a member of `enum`. Setting it raises SpecError for an unknown name."""

    def __init__(self, enum: type[E], default: E) -> None:
        self.enum, self.default = enum, default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> E:
        if instance is None:  # the dataclass asks its class for the default
            return self.default
        value: E = instance.__dict__[self.name]
        return value

    def __set__(self, instance: object, value: E | N) -> None:
        instance.__dict__[self.name] = member(self.enum, value, self.name)


class OptionalMember(Generic[E, N]):
    """Field that holds a member of `enum`, or None for a value that the spec fills in."""

    def __init__(self, enum: type[E]) -> None:
        self.enum = enum

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> E | None:
        return None if instance is None else instance.__dict__[self.name]

    def __set__(self, instance: object, value: E | N | None) -> None:
        found = None if value is None else member(self.enum, value, self.name)
        instance.__dict__[self.name] = found


class Members(Generic[E, N]):
    """Field that holds a tuple of members of `enum`, in the given order; empty by default."""

    def __init__(self, enum: type[E]) -> None:
        self.enum = enum

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> tuple[E, ...]:
        return () if instance is None else instance.__dict__[self.name]

    def __set__(self, instance: object, value: Iterable[E | N]) -> None:
        if isinstance(value, str) or not isinstance(value, Iterable):
            example = value if isinstance(value, str) else str(next(iter(self.enum)))
            raise SpecError(f"{self.name}={value!r} is not a tuple; give ({example!r},)")
        instance.__dict__[self.name] = tuple(member(self.enum, v, self.name) for v in value)


def member(enum: type[E], value: object, name: str) -> E:
    """Return the member with this value. Raises SpecError with a list of the members."""
    try:
        return enum(value)  # type: ignore[arg-type]
    except ValueError:
        known = [m.value for m in enum]
        raise SpecError(suggest.unknown(f"{name}={value}", value, known)) from None
