"""Winograd convolution: tiles of images, and their transforms as multiply-adds of vectors.

A transform multiplies the columns and the rows of a tile by a constant matrix.

Two rows that are the sum and the difference of parts without a column in common share the parts.
Two columns with the same absolute values share the sum and the difference of their vectors.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from kgen.spec import Conv2d
from kgen.spec.winograd import Rows, Transforms
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
    """Return half the sum and half the difference of two rows, if no vector is in both."""
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


@frozen
class Element:
    """Vector of a tile before or after a transform: its row and column, and byte offset."""

    name: str
    row: int
    column: int
    at: int


@frozen
class TileTransform:
    """Both multiplications by a matrix: of each column of a tile, then of each row."""

    loads: tuple[Element, ...]
    steps: tuple[LinearStep, ...]
    stores: tuple[Element, ...]

    @classmethod
    def of(cls, rows: Rows, apart: int, result_apart: int) -> TileTransform:
        """Return the transform of vectors `apart` bytes apart to those `result_apart` bytes
        apart, numbered row by row."""
        count, size = len(rows), len(rows[0])
        loads = [_element("x", i, j, size, apart) for i in range(size) for j in range(size)]
        steps: list[LinearStep] = []
        columns: list[tuple[str, ...]] = []
        for j in range(size):
            names = [element.name for element in loads if element.column == j]
            found = linear_map(rows, names, f"column{j}.")
            steps += found.steps
            columns.append(found.results)
        stores = []
        for i in range(count):
            found = linear_map(rows, [column[i] for column in columns], f"row{i}.")
            steps += found.steps
            stores += [
                dataclasses.replace(_element("", i, j, count, result_apart), name=name)
                for j, name in enumerate(found.results)
            ]
        return cls(loads=tuple(loads), steps=tuple(steps), stores=tuple(stores))


def _element(stem: str, row: int, column: int, size: int, apart: int) -> Element:
    at = (row * size + column) * apart
    return Element(name=f"{stem}{row}_{column}", row=row, column=column, at=at)


@frozen
class TileAxis:
    """Axis of the image, `size` elements long: `count` tiles, numbers divided by `divisor`, whose
    inputs begin `before` elements in front of their outputs. `along` is the bytes from an element
    to the next, `out_size` the outputs, `out_along` the elements from an output to the next."""

    name: str
    divisor: int
    count: int
    size: int
    before: int
    along: int
    out_size: int
    out_along: int


@frozen
class ImageTiles:
    """Tiles of the images of a convolution. Elements have `itemsize` bytes, vectors of channels
    `vector_bytes`."""

    conv: Conv2d
    transforms: Transforms
    itemsize: int
    vector_bytes: int

    @property
    def axes(self) -> tuple[TileAxis, ...]:
        """Vertical axis of an image, then its horizontal axis."""
        conv, tile = self.conv, self.transforms.tile
        counts = [-(-size // tile) for size in conv.out_sizes]
        along = (conv.sizes[1] * conv.channels, conv.channels)
        out_along = (conv.out_sizes[1] * conv.outputs, conv.outputs)
        return tuple(
            TileAxis(
                name="yx"[i],
                divisor=math.prod(counts[i + 1 :]),
                count=counts[i],
                size=conv.sizes[i],
                before=conv.pads[i][0],
                along=along[i] * self.itemsize,
                out_size=conv.out_sizes[i],
                out_along=out_along[i],
            )
            for i in range(2)
        )

    @property
    def patch_row(self) -> int:
        """Bytes of a row of the patch: the inputs of a tile that reaches over the image, with zeros
        outside."""
        return self.transforms.size * self.vector_bytes

    @property
    def patch_bytes(self) -> int:
        return self.transforms.size * self.patch_row

    @property
    def block_row(self) -> int:
        """Bytes of a row of a tile's outputs."""
        return self.transforms.tile * self.vector_bytes

    @property
    def block_bytes(self) -> int:
        return self.transforms.tile * self.block_row

    @property
    def per_image(self) -> int:
        return math.prod(axis.count for axis in self.axes)

    @property
    def image_bytes(self) -> int:
        return math.prod(self.conv.sizes) * self.conv.channels * self.itemsize

    @property
    def out_image(self) -> int:
        """Elements of the outputs of an image."""
        return math.prod(self.conv.out_sizes) * self.conv.outputs
