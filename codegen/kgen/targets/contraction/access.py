"""Access map: how the elements of an operand of a contraction are addressed.

A contraction multiplies A, whose elements have a row m and a k, with B, whose elements have a row n
and a k. Each of these two indices is a list of digits. A matrix has one digit on each side. The
input of a convolution has (image, y, x) as rows and (filter y, filter x, channel) as k. Guards say
which elements exist; all others are zero, or the zero point of quantised images.

Plans that copy tiles take an access map instead of the operation. They ask for the contiguous run
(how wide an access may be), the pointer's steps from K-tile to K-tile, and the guards of a tile.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from kgen.spec import Conv2d, DType, Matmul, WeightLayout
from kgen.spec.shapes import packed
from kgen.targets.batch import BatchTerm, batch_terms
from kgen.targets.contraction.implicit_gemm import (
    ImplicitGemm,
    has_channels_first,
    implicit_gemm,
)
from kgen_runtime.values import frozen

#: Index of an operand's element: its row (m of A, n of B), or k.
Axis = Literal["row", "k"]


@frozen
class Digit:
    """Digit of an index: it has `extent` values, whose elements are `stride` elements apart."""

    extent: int
    stride: int


@frozen
class NumberDigit(Digit):
    """Digit of a number. Digit 0, the outermost, is the quotient by the extents of all others."""

    number: int

    @property
    def is_outermost(self) -> bool:
        return self.number == 0


def innermost_first(digits: Sequence[Digit], itemsize: int = 1) -> tuple[NumberDigit, ...]:
    """Return the digits of a number, the innermost one first, with strides times `itemsize`."""
    found = [
        NumberDigit(number=i, extent=digit.extent, stride=digit.stride * itemsize)
        for i, digit in enumerate(digits)
    ]
    return tuple(reversed(found))


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

    - `start`: offset of that element from the tensor's first one. It is negative if padding comes
      first, and the element does not exist then.
    - `row`, `k`: digits of both indices, outermost first.
    - `inner`: the index along whose last digit memory is contiguous.
    - `batch`: terms that add the offset of a matrix of the batch.
    - `guards`: conditions within the extents of both indices; no element exists past the extents.
    """

    name: str
    dtype: DType
    row: tuple[Digit, ...]
    k: tuple[Digit, ...]
    inner: Axis
    batch: tuple[BatchTerm, ...] = ()
    guards: tuple[Guard, ...] = ()
    start: int = 0
    #: Value of elements that a guard excludes.
    fill: int = 0

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
        """Return the address of an element, in elements."""
        return _offset(self.row, row) + _offset(self.k, k)

    def values(self, axis: Axis, index: int) -> tuple[int, ...]:
        return _values(self.digits(axis), index)

    @property
    def is_affine(self) -> bool:
        """Whether this is a matrix: one digit for each index, contiguous along `inner`, and nothing
        is padded."""
        is_plain = len(self.row) == len(self.k) == 1 and not self.guards and not self.start
        (*_, last) = self.digits(self.inner)
        return is_plain and (last.stride == 1 or last.extent == 1)

    @property
    def run(self) -> int:
        """Number of contiguous elements along `inner` of which all exist or none.

        Runs begin at multiples of this length. An access lies in one run if its width divides the
        length. Windows along x have runs of one element, because each k begins elsewhere.
        """
        return 1 if self.inner == "row" and not self.is_affine else self._run[0]

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

    def row_span(self, rows: int) -> tuple[int, int]:
        """Return bounds of the distance in elements from the first row of a tile to another."""
        *outer, inner = self.row
        low, high, unit = 0, inner.stride * (rows - 1), inner.extent
        for number in reversed(range(len(outer))):
            # When a digit advances, the digits inside of it return to zero.
            inside = self.row[number + 1]
            carry = outer[number].stride - inside.extent * inside.stride
            carries = -(-(rows - 1) // unit)
            low, high = low + min(0, carry) * carries, high + max(0, carry) * carries
            unit *= outer[number].extent
        return low, high

    @property
    def k_span(self) -> int:
        """Distance in elements from the first k to the farthest."""
        return sum(digit.stride * (digit.extent - 1) for digit in self.k)

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
    def simplified(self) -> AccessMap:
        """Copy of this map with as few digits as possible: digits of extent 1 are dropped, and
        digits that count on in memory are joined, unless a guard depends on one of them."""
        row, row_of = _joined(self.row, [guard.row for guard in self.guards])
        k, k_of = _joined(self.k, [guard.k for guard in self.guards])
        guards = tuple(
            dataclasses.replace(guard, row=row_of[number], k=k_of[number])
            for number, guard in enumerate(self.guards)
        )
        return dataclasses.replace(self, row=row, k=k, guards=guards)

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


def _values(digits: Sequence[Digit], index: int) -> tuple[int, ...]:
    """Return the values of an index's digits; past its end the outermost digit keeps growing."""
    found = []
    for digit in reversed(digits[1:]):
        index, own = divmod(index, digit.extent)
        found.append(own)
    return (index, *reversed(found))


def _offset(digits: Sequence[Digit], index: int) -> int:
    """Return the offset of an index in elements; past its end the outermost digit keeps growing."""
    values = _values(digits, index)
    return sum(digit.stride * value for digit, value in zip(digits, values, strict=True))


def _joined(
    digits: tuple[Digit, ...], coefficients: Sequence[tuple[int, ...]]
) -> tuple[tuple[Digit, ...], list[tuple[int, ...]]]:
    """Return the fewest digits of an index, and the coefficients of each guard for them."""
    kept: list[tuple[Digit, tuple[int, ...]]] = []
    for place, digit in enumerate(digits):
        own = tuple(each[place] for each in coefficients)
        if digit.extent == 1:
            continue
        if kept and not any(own) and not any(kept[-1][1]):
            before = kept[-1][0]
            if before.stride == digit.extent * digit.stride:
                extent = before.extent * digit.extent
                kept[-1] = (Digit(extent=extent, stride=digit.stride), own)
                continue
        kept.append((digit, own))
    if not kept:
        kept = [(digits[-1], (0,) * len(coefficients))]
    found = tuple(digit for digit, _ in kept)
    return found, [tuple(own[number] for _, own in kept) for number in range(len(coefficients))]


@lru_cache
def access_maps(spec: Matmul | Conv2d) -> tuple[AccessMap, AccessMap]:
    """Return the access maps of A and B.

    In a convolution, A is the images and B the weights; the reverse for images stored as nchw.
    """
    if isinstance(spec, Conv2d):
        spec = implicit_gemm(spec)
    if isinstance(spec, ImplicitGemm):
        a, b = images(spec.operation), weights(spec)
        return (b, a) if has_channels_first(spec.operation) else (a, b)
    return _matrix_a(spec), _matrix_b(spec)


def _matrix_a(spec: Matmul) -> AccessMap:
    _, row, k = spec.a_strides
    return AccessMap(
        name="a",
        dtype=spec.dtype,
        row=(Digit(extent=spec.m, stride=row),),
        k=(Digit(extent=spec.k, stride=k),),
        inner="row" if spec.layout.a_transposed else "k",
        batch=batch_terms(spec, "a"),
    )


def _matrix_b(spec: Matmul) -> AccessMap:
    _, k, row = spec.b_strides
    return AccessMap(
        name="b",
        dtype=spec.b_type,
        row=(Digit(extent=spec.n, stride=row),),
        k=(Digit(extent=spec.k, stride=k),),
        inner="k" if spec.layout.b_transposed else "row",
        batch=batch_terms(spec, "b"),
    )


def weights(spec: ImplicitGemm) -> AccessMap:
    """Return the access map of a convolution's weights. They are a matrix unless they are stored
    as oihw, and the images as nhwc: then k is (place of the kernel, channel of the group)."""
    conv = spec.operation
    if has_channels_first(conv):
        return _matrix_a(spec)
    found = _matrix_b(spec)
    if conv.product_layout is not None:
        return found
    places, depth = math.prod(conv.kernel), conv.weights[1]
    k = (Digit(extent=places, stride=1), Digit(extent=depth, stride=places))
    return dataclasses.replace(found, k=k).simplified


def images(spec: Conv2d) -> AccessMap:
    """Return the access map of a convolution's images.

    Rows are windows, and k is (place of the kernel, channel of the group). Images stored as nhwc
    count windows by (image, position). Images stored as nchw count them by position, and the image
    is in the batch; k is (channel, place) beside weights stored as oihw.
    """
    gemm, first = implicit_gemm(spec), has_channels_first(spec)
    depth, count = spec.channels // spec.groups, len(spec.sizes)
    if first:
        image, channel, *axes = packed((spec.images, spec.channels, *spec.sizes))
        row, before_axes = [], 0
    else:
        image, *axes, channel = packed((spec.images, *spec.sizes, spec.channels))
        row, before_axes = [Digit(extent=spec.images, stride=image)], 1
    channels = [Digit(extent=depth, stride=channel)]
    leads = first and spec.weight_layout is WeightLayout.OIHW
    k, guards, start = [*channels] if leads else [], [], 0
    for number, along in enumerate(axes):
        step, apart = spec.strides[number], spec.dilations[number]
        before, _ = spec.pads[number]
        row.append(Digit(extent=spec.out_sizes[number], stride=step * along))
        k.append(Digit(extent=spec.kernel[number], stride=apart * along))
        start -= before * along
        size = spec.sizes[number]
        last = (spec.out_sizes[number] - 1) * step + spec.reaches[number] - 1 - before
        if before or last >= size:
            rows, depths = [0] * (before_axes + count), [0] * (count + 1)
            rows[before_axes + number] = step
            depths[leads + number] = apart
            guards.append(Guard(row=tuple(rows), k=tuple(depths), start=-before, end=size))
    found = AccessMap(
        name=gemm.images,
        dtype=spec.dtype,
        row=tuple(row),
        k=tuple(k if leads else (*k, *channels)),
        inner="row" if first else "k",
        batch=batch_terms(gemm, gemm.images),
        guards=tuple(guards),
        start=start,
        fill=spec.padding_value if isinstance(spec.padding_value, int) else 0,
    )
    return found.simplified
