"""Indices of elements: sums of coordinates times strides, with the names of intermediate values."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.targets.stream import Dimension
from kgen_runtime.values import frozen


@frozen
class IndexTerm:
    """Coordinate times its stride.

    `product` names the product, which is the coordinate itself if the stride is 1; `sum` names the
    sum of the terms up to this one.
    """

    coordinate: str
    stride: int
    product: str
    sum: str

    @property
    def is_scaled(self) -> bool:
        return self.product != self.coordinate


@frozen
class Index:
    """Sum of `terms`, 0 if there are none."""

    terms: tuple[IndexTerm, ...]

    @property
    def name(self) -> str:
        return self.terms[-1].sum if self.terms else "uint_0"


def index_of(name: str, terms: Sequence[tuple[str, int]]) -> Index:
    """Return the sum of coordinates times strides.

    `name` is the name of the sum, unless that is a coordinate itself, and the prefix of
    intermediate names.
    """
    found: list[IndexTerm] = []
    for i, (coordinate, stride) in enumerate(terms):
        alone = len(terms) == 1
        product = coordinate if stride == 1 else name if alone else f"{name}_term{i}"
        last = i == len(terms) - 1
        total = product if i == 0 else name if last else f"{name}_sum{i}"
        found.append(IndexTerm(coordinate=coordinate, stride=stride, product=product, sum=total))
    return Index(terms=tuple(found))


def coordinate_names(number: str, dimensions: Sequence[Dimension]) -> dict[int, str]:
    """Return the names of a number's coordinates, by dimension."""
    return {d.number: number if d.is_whole else f"{number}_{d.number}" for d in dimensions}
