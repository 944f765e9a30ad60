"""Multiplication of vectors by a constant matrix, as a list of multiply-adds.

Two rows that are the sum and the difference of parts without a column in common share the parts.
Two columns with the same absolute values share the sum and the difference of their vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from kgen.spec.winograd import Rows
from kgen_runtime.values import frozen

#: Factors of vectors, by the vectors' names.
Terms = dict[str, Fraction]


@frozen
class LinearStep:
    """`result` = `added` + `factor` * `x`, or without `added` = `factor` * `x`."""

    result: str
    x: str
    factor: Fraction
    added: str = ""

    @property
    def is_sum(self) -> bool:
        return bool(self.added) and self.factor == 1

    @property
    def is_difference(self) -> bool:
        return bool(self.added) and self.factor == -1

    @property
    def is_multiply_add(self) -> bool:
        return bool(self.added) and abs(self.factor) != 1


@frozen
class LinearMap:
    """Steps in order, and the names of the results, one per row."""

    steps: tuple[LinearStep, ...]
    results: tuple[str, ...]

    @property
    def roundings(self) -> int:
        """Most steps from a vector to a result."""
        found: dict[str, int] = {}
        for step in self.steps:
            found[step.result] = 1 + max(found.get(step.x, 0), found.get(step.added, 0))
        return max(found.get(name, 0) for name in self.results)


def linear_map(rows: Rows, vectors: Sequence[str], prefix: str) -> LinearMap:
    """Return the steps that multiply `vectors` by a matrix; names of results begin with
    `prefix`."""
    steps: list[LinearStep] = []
    terms = [dict(zip(vectors, row, strict=True)) for row in rows]
    for left, right in _paired_columns(rows, vectors):
        added, less = f"{prefix}{left}.sum", f"{prefix}{left}.difference"
        steps += [
            LinearStep(result=added, x=right, factor=Fraction(1), added=left),
            LinearStep(result=less, x=right, factor=Fraction(-1), added=left),
        ]
        for row in terms:
            first, second = row.pop(left), row.pop(right)
            row[added if first == second else less] = first
    results: list[str] = []
    for number, row in enumerate(terms):
        if len(results) > number:
            continue
        halves = _halves(row, terms[number + 1]) if number + 1 < len(terms) else None
        name = f"{prefix}{number}"
        if halves is None:
            results.append(_combined(row, name, steps))
            continue
        even, odd = (
            _combined(half, f"{name}.{part}", steps)
            for half, part in zip(halves, ("even", "odd"), strict=True)
        )
        for sign, result in ((1, name), (-1, f"{prefix}{number + 1}")):
            steps.append(LinearStep(result=result, x=odd, factor=Fraction(sign), added=even))
            results.append(result)
    return LinearMap(steps=tuple(steps), results=tuple(results))


def _paired_columns(rows: Rows, vectors: Sequence[str]) -> Iterator[tuple[str, str]]:
    for (left, right), names in zip(
        pairwise(zip(*rows, strict=True)), pairwise(vectors), strict=True
    ):
        if [*map(abs, left)] == [*map(abs, right)] and left != right:
            yield names


def _halves(row: Terms, following: Terms) -> tuple[Terms, Terms] | None:
    """Half the sum and half the difference of two rows, if no vector is in both."""
    names = dict.fromkeys([*row, *following])
    both = {name: (row.get(name, 0), following.get(name, 0)) for name in names}
    even = {name: Fraction(x + y) / 2 for name, (x, y) in both.items() if x + y}
    odd = {name: Fraction(x - y) / 2 for name, (x, y) in both.items() if x - y}
    return (even, odd) if even and odd and not even.keys() & odd.keys() else None


def _combined(terms: Mapping[str, Fraction], result: str, steps: list[LinearStep]) -> str:
    """Add the steps of a row, and return the name of their result."""
    found = [(name, factor) for name, factor in terms.items() if factor]
    # A vector whose factor is 1 is what the others are added to.
    found.sort(key=lambda term: term[1] != 1)
    at, (added, factor) = 0, found[0]
    if factor != 1:
        steps.append(LinearStep(result=f"{result}.0", x=added, factor=factor))
        added = f"{result}.0"
    for at, (name, factor) in enumerate(found[1:], start=1):
        last = result if at + 1 == len(found) else f"{result}.{at}"
        steps.append(LinearStep(result=last, x=name, factor=factor, added=added))
        added = last
    return added
