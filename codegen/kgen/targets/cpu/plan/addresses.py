"""Where a task's block begins in each tensor."""

from __future__ import annotations

from collections.abc import Iterable

from kgen_runtime.values import frozen


@frozen
class Term:
    """Pointer `result` = pointer `source` + i64 `value` * `stride` bytes."""

    value: str
    stride: int
    source: str
    result: str


@frozen
class Origin:
    """The steps from a tensor to a block's corner; `base` is the pointer to it."""

    terms: tuple[Term, ...]
    base: str


def origin(tensor: str, terms: Iterable[tuple[str, int]]) -> Origin:
    """Add up `terms`, pairs of a value's name and a stride in bytes; those without an effect have
    been left out by the caller."""
    base, steps = f"%{tensor}", []
    for value, stride in terms:
        result = f"%{tensor}.{value}"
        steps.append(Term(value=f"%{value}", stride=stride, source=base, result=result))
        base = result
    return Origin(terms=tuple(steps), base=base)
