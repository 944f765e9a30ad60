"""The batch of products in addresses.

A kernel counts all products of a batch with one number. Where the batch has several dimensions,
that number is cut into a coordinate for each of them; a matrix then lies at the sum of coordinates
times strides, and along dimensions that share it there is no term.
"""

from __future__ import annotations

import math

from kgen.errors import ScheduleError
from kgen.spec import Matmul
from kgen.spec.shapes import by_x
from kgen_runtime.values import frozen

#: What kernels call the number of a product.
BATCH = "batch"


@frozen
class BatchCoordinate:
    """`name` = the product's number / `divisor`, modulo `size`; no modulo for the outermost, no
    division for the innermost."""

    name: str
    divisor: int
    size: int
    is_outermost: bool

    @property
    def is_innermost(self) -> bool:
        return self.divisor == 1


@frozen
class BatchTerm:
    """The coordinate `name` times `stride` is added to an address."""

    name: str
    stride: int


def batch_coordinates(spec: Matmul) -> tuple[BatchCoordinate, ...]:
    """Return the coordinates of a batch of several dimensions; with one, its number is the
    coordinate."""
    sizes = spec.batch_dims or ()
    return tuple(
        BatchCoordinate(
            name=f"{BATCH}{i}", divisor=math.prod(sizes[i + 1 :]), size=size, is_outermost=i == 0
        )
        for i, size in enumerate(sizes)
    )


def batch_terms(spec: Matmul, of: str, itemsize: int = 1) -> tuple[BatchTerm, ...]:
    """Return the terms of a tensor's addresses, in elements of `itemsize`."""
    if spec.batch == 1:
        return ()
    names = [c.name for c in batch_coordinates(spec)] or [BATCH]
    strides = spec.batch_strides(of)
    return tuple(
        BatchTerm(name=name, stride=stride * itemsize)
        for name, stride in zip(names, strides, strict=True)
        if stride
    )


def refuse_batch_dims(spec: Matmul, what: str, remedy: str) -> None:
    """Raise ScheduleError for a batch of several dimensions, which `what` does not support."""
    if spec.batch_dims is not None:
        raise ScheduleError(
            f"{what} supports a batch of one dimension, and batch_dims={by_x(spec.batch_dims)} has "
            f"{len(spec.batch_dims)}; try {remedy}"
        )
