"""Access map: how the elements of an operand of a contraction are addressed.

A contraction multiplies A, whose elements have a row m and a k, with B, whose elements have a row n
and a k. Each of these two indices is a list of digits. A matrix has one digit on each side. The
input of a convolution has (image, y, x) as rows and (filter y, filter x, channel) as k. Guards say
which elements exist; all others are zero.

Plans that copy tiles take an access map instead of the operation. They ask for the contiguous run
(how wide an access may be), the pointer's steps from K-tile to K-tile, and the guards of a tile.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from kgen.spec import DType, Matmul
from kgen.targets.batch import BatchTerm, batch_terms
from kgen_runtime.values import frozen

#: Index of an operand's element: its row (m of A, n of B), or k.
Axis = Literal["row", "k"]


@frozen
class Digit:
    """Digit of an index: counts up to `extent`; neighbours are `stride` elements apart."""

    extent: int
    stride: int


@frozen
class Guard:
    """Condition for an element to exist: 0 <= start + row . digits + k . digits < end.

    `row` and `k` are the coefficients of the digits of both indices.
    """

    row: tuple[int, ...]
    k: tuple[int, ...]
    start: int = 0
    end: int

    def depends_on(self, axis: Axis) -> bool:
        return any(self.coefficients(axis))

    def coefficients(self, axis: Axis) -> tuple[int, ...]:
        return self.row if axis == "row" else self.k


@frozen
class AccessMap:
    """Addresses of operand `name`, in elements of `dtype` from the element whose digits are zero.

    `row` and `k` are the digits of both indices, outermost first. Memory is contiguous along the
    last digit of `inner`. The terms of `batch` add the offset of a matrix of the batch. `guards`
    apply within the extents of both indices; no element exists past the extents.
    """

    name: str
    dtype: DType
    row: tuple[Digit, ...]
    k: tuple[Digit, ...]
    inner: Axis
    batch: tuple[BatchTerm, ...] = ()
    guards: tuple[Guard, ...] = ()

    @property
    def rows(self) -> int:
        """Extent of the row index: M of A, N of B."""
        return _extent(self.row)

    @property
    def depth(self) -> int:
        """Extent of k."""
        return _extent(self.k)

    @property
    def outer(self) -> Axis:
        return "row" if self.inner == "k" else "k"

    def digits(self, axis: Axis) -> tuple[Digit, ...]:
        return self.row if axis == "row" else self.k

    def offset(self, row: int, k: int) -> int:
        """Address of an element, in elements."""
        return _offset(self.row, row) + _offset(self.k, k)

    @property
    def run(self) -> int:
        """Number of contiguous elements along `inner` of which all exist or none.

        Runs begin at multiples of this length. An access lies in one run if its width divides the
        length.
        """
        return self._run[0]

    @property
    def starts(self) -> tuple[int, ...]:
        """Distances between runs: strides of all other digits and of the batch.

        An access is aligned if its width divides all of them.
        """
        _, digits = self._run
        others = (*self.digits(self.inner)[: -digits or None], *self.digits(self.outer))
        return (*(digit.stride for digit in others), *(term.stride for term in self.batch))

    @property
    def _run(self) -> tuple[int, int]:
        """Length of a run, and the number of digits that it covers."""
        digits, length = self.digits(self.inner), 1
        for count, digit in enumerate(reversed(digits)):
            at = len(digits) - 1 - count
            guarded = any(guard.coefficients(self.inner)[at] for guard in self.guards)
            if digit.stride != length or guarded:
                return length, count
            length *= digit.extent
        return length, len(digits)

    def steps(self, depth: int) -> tuple[int, ...]:
        """Elements from each K-tile of `depth` to the next one.

        One number if all steps are equal; else a table with a step for each K-tile but the last.
        """
        if len(self.k) == 1:
            return (depth * self.k[0].stride,)
        begins = (self.offset(0, k) for k in range(0, self.depth, depth))
        found = tuple(after - before for before, after in itertools.pairwise(begins))
        return found[:1] if len(set(found)) == 1 else found

    def guards_of(self, rows: int, depth: int) -> tuple[Guard, ...]:
        """Return the guards of tiles of `rows` x `depth`, with those of the ends of the indices."""
        found = self.guards
        if self.rows % rows:
            found = (*found, self._end("row"))
        if self.depth % depth:
            found = (*found, self._end("k"))
        return found

    def _end(self, axis: Axis) -> Guard:
        """Return the guard of an index's end: the outermost digit stays below its extent."""
        row, k = ([0] * len(self.row), [0] * len(self.k))
        (row if axis == "row" else k)[0] = 1
        return Guard(row=tuple(row), k=tuple(k), end=self.digits(axis)[0].extent)

    @property
    def without_idle_strides(self) -> AccessMap:
        """Copy of this map with stride 0 for digits of `outer` that have extent 1.

        No address depends on such a stride, so it must not constrain the alignment.
        """
        outer = tuple(
            dataclasses.replace(digit, stride=0) if digit.extent == 1 else digit
            for digit in self.digits(self.outer)
        )
        if self.outer == "row":
            return dataclasses.replace(self, row=outer)
        return dataclasses.replace(self, k=outer)


def _extent(digits: Sequence[Digit]) -> int:
    extent = 1
    for digit in digits:
        extent *= digit.extent
    return extent


def _offset(digits: Sequence[Digit], index: int) -> int:
    """Return the offset of an index in elements; past its end the outermost digit counts on."""
    first, *others = digits
    found = 0
    for digit in reversed(others):
        index, own = divmod(index, digit.extent)
        found += own * digit.stride
    return found + index * first.stride


@lru_cache
def access_maps(spec: Matmul) -> tuple[AccessMap, AccessMap]:
    """Return the access maps of A and B: matrices, with one digit for each index."""
    _, a_row, a_k = spec.a_strides
    _, b_k, b_row = spec.b_strides
    a = AccessMap(
        name="a",
        dtype=spec.dtype,
        row=(Digit(extent=spec.m, stride=a_row),),
        k=(Digit(extent=spec.k, stride=a_k),),
        inner="row" if spec.layout.a_transposed else "k",
        batch=batch_terms(spec, "a"),
    )
    b = AccessMap(
        name="b",
        dtype=spec.b_type,
        row=(Digit(extent=spec.n, stride=b_row),),
        k=(Digit(extent=spec.k, stride=b_k),),
        inner="k" if spec.layout.b_transposed else "row",
        batch=batch_terms(spec, "b"),
    )
    return a, b
