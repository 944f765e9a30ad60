"""How extents are cut into blocks, and how many rows a first-level cache holds side by side."""

from __future__ import annotations

import math

from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.kernels.blis import ROW_PADDING
from kgen.targets.cpu.plan.matmul import MOST_PADDING

#: A first-level cache has this many lines for addresses a multiple of this many bytes apart (8
#: ways of 64 lines: Intel SDM volume 3, table "Cache parameters"; AMD Zen the same).
CACHE_WAYS, CACHE_WAY_BYTES = 8, 4096
#: Columns from which two tasks are better than one.
PAIRED_COLUMNS = 512


def rows_in_cache(spec: Matmul) -> int:
    """Rows of an A that is not packed whose lines do not push each other out of the cache."""
    return lines_in_cache(spec.a_strides[1] * spec.dtype.itemsize)


def lines_in_cache(stride: int, ways: int = CACHE_WAYS, way_bytes: int = CACHE_WAY_BYTES) -> int:
    """Lines so many bytes apart that do not push each other out of a cache, the first-level one
    unless said."""
    return ways * way_bytes // math.gcd(stride, way_bytes)


def rounded_up(extent: int, unit: int) -> int:
    return -(-extent // unit) * unit


def balanced(extent: int, most: int, unit: int) -> int:
    """The block, a multiple of `unit`, that cuts `extent` into equal blocks of at most `most`."""
    most = max(most // unit * unit, unit)
    blocks = -(-extent // most)
    return -(-extent // blocks // unit) * unit


def paired(extent: int, most: int, unit: int) -> int:
    """As `balanced`, but an even number of blocks, so that two cores have as much to do: 16 x 2048
    x 2048 in f32 takes one core 4 to 10 % longer in two blocks than in one (Golden Cove)."""
    if extent < PAIRED_COLUMNS:
        return balanced(extent, most, unit)
    blocks = -(-extent // max(most // unit * unit, unit))
    return rounded_up(-(-extent // (blocks + blocks % 2)), unit)


def room_for_sums(spec: Matmul, target: Target, mc: int, kc: int, *, packs_a: bool) -> int:
    """Bytes of the stack that so many rows of sums may take, without what is between them, beside a
    packed block of A."""
    vector = vector_for(target, spec.accumulate, spec.n).count
    copies = rounded_up(mc, vector) * kc * spec.accumulate.itemsize + max(mc, kc) * ROW_PADDING
    return target.limits["stack_bytes"] - packs_a * copies - mc * MOST_PADDING
