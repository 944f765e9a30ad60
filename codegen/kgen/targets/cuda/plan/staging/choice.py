"""Choice of a tile's copy: width, asynchronous or through registers, with or without guards."""

from __future__ import annotations

import dataclasses
import math

from kgen.errors import ScheduleError
from kgen.targets.base import Target
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, MIN_ASYNC_BYTES, Matrix
from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen.targets.cuda.plan.staging.copy_units import Place
from kgen.targets.cuda.plan.staging.guarded_copy import GuardedCopy


def plan_copy(
    matrix: Matrix,
    *,
    rows: int,
    cols: int,
    num_threads: int,
    target: Target,
    allow_async: bool,
    place: Place,
    stages: int,
    part_k: int = 0,
) -> TileCopy:
    """Return the widest copy that the alignment of the strides allows, asynchronous if possible.

    Tensors are aligned to 16 bytes. `stages` is the number of K-tiles in flight or in use. Raises
    ScheduleError if the tile has less than one element per thread.
    """
    itemsize = matrix.dtype.itemsize
    share = rows * cols * itemsize // num_threads
    if share < itemsize:
        depth = cols if matrix.k_inner else rows
        raise ScheduleError(
            f"a tile of {rows}x{cols} elements of {matrix.name} has fewer elements than the "
            f"{num_threads} threads that load it; "
            f"try block_k={depth * -(-num_threads // (rows * cols))}"
        )
    width = min(matrix.aligned_bytes, share, cols * itemsize)
    asynchronous = allow_async and matrix.is_asynchronous(target) and width >= MIN_ASYNC_BYTES
    if not asynchronous:
        # A unit that is copied through registers must be wholly inside or outside of the matrix.
        width = min(width, math.gcd(MAX_ACCESS_BYTES, matrix.access.run * itemsize))
    plain = TileCopy(
        matrix=matrix,
        rows=rows,
        cols=cols,
        num_threads=num_threads,
        unit_bytes=width,
        asynchronous=asynchronous,
        place=place,
        part_k=part_k,
    )
    if matrix.access.is_affine:
        return plain
    fields = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
    copy = GuardedCopy(**fields, stages=stages)
    copy.check()
    return copy
