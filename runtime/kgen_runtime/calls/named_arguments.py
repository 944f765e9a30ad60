"""Keyword arguments of calls: some arguments by position, the others by name in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgen_runtime.errors import ArgumentError


def suit(names: Sequence[str], arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Return whether positional and named arguments are exactly those of a kernel with these
    names."""
    return named.keys() == set(names[len(arguments) :])


def in_order(
    kernel: str, names: Sequence[str], arguments: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments in the order of `names`.

    Raises ArgumentError for a name that is unknown, passed twice or missing.
    """
    rest = names[len(arguments) :]
    if not suit(names, arguments, named):
        raise ArgumentError(
            f"{kernel}: {_problem(names, rest, named)}; it takes {', '.join(names)}"
        )
    return (*arguments, *[named[name] for name in rest])


def by_name(
    program: str, names: Sequence[str], inputs: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the inputs of a program, passed as a mapping, as keywords, or both.

    Raises ArgumentError for a name that is unknown, passed twice or missing.
    """
    given = merged(program, names, inputs, named)
    in_order(program, names, (), given)
    return given


def merged(
    program: str, names: Sequence[str], inputs: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Merge a mapping of names and keyword arguments. Raises ArgumentError for a name in both."""
    if inputs is not None and not isinstance(inputs, Mapping):
        raise ArgumentError(
            f"{program}: the argument is of type {type(inputs).__name__}; pass arrays by name, "
            f"such as {names[0] if names else 'x'}=..., or one mapping from names to arrays"
        )
    if twice := named.keys() & (inputs or {}).keys():
        raise ArgumentError(
            f"{program}: {min(twice)} is given both in the mapping and by name; give it once"
        )
    return {**(inputs or {}), **named}


def _problem(names: Sequence[str], rest: Sequence[str], named: Mapping[str, Any]) -> str:
    for name in named:
        if name not in names:
            return f"no argument is called {name}"
        if name not in rest:
            return f"{name} is given both by position and by name"
    return f"missing: {', '.join(name for name in rest if name not in named)}"
