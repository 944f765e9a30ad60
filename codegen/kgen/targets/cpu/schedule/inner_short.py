"""From how long a K on inner products are worth it: they fold each sum at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.kernels.inner_vectors import is_inner, k_of_step
from kgen.targets.cpu.schedule.core import core_of

NEVER = sys.maxsize
#: Vectors of K, by the bytes of a row of sums and of a vector. A B that lies in rows, or comes
#: packed, is transposed: with AVX-512 64 x 4 x 256 in f32 takes 2.3 us in tiles of a vector's
#: columns and 0.8 so, 256 x 8 x 1024 37 and 20, but of K = 47 1.2 times as long; on AVX2 whole
#: vectors of 8 columns gain nothing. Where K lies side by side, 768 x 16 x 16 takes 4 times as long
#: as in tiles (Zen 5).
COLUMNS_K: Mapping[int, Mapping[int, int]] = {
    32: {8: 2, 16: 5, 24: 8, 32: NEVER, 40: 8, 48: 12, 56: 20, 64: NEVER},
    64: {16: 1, 20: 2, 24: 4, 32: 5, 40: 7, 48: 16, 56: 20, 64: 28, 96: 7},
}
#: At most, of an A that leaves the second-level cache, which tiles read in many more streams: 50000
#: x 16 x 128 takes 2.1 times as long in them (AVX-512), 50000 x 8 x 64 1.2 times (AVX2).
FAR_K: Mapping[int, Mapping[int, int]] = {
    32: {36: 8, 56: 16, 64: 32},
    64: {64: 8},
}
#: The same on Zen 3: 2000 x 16 x 256 takes 226 us in tiles, 357 so, from memory 517 and 593.
FAR_K_OF: Mapping[str, Mapping[int, int]] = {"Zen 3": {36: 8, 56: 16}}
#: Of a B in rows and fewer rows of A than FEW_ROWS, FEW_TIMES as many: 8 x 4 x 1024 1.4 us and 0.7.
FEW_ROWS, FEW_TIMES = 32, 4
#: The same by rows, where there are fewer of them: 16 x 768 x 16 takes 4.1 times as long as in
#: tiles, 4 x 768 x 32 1.5 times, 4 x 768 x 64 0.97 (AVX-512); and of s8.
ROWS_K: Mapping[int, Mapping[int, int]] = {
    32: {1: 0, 2: 2, 4: 4, 6: 6, 10: 8, 16: 14},
    64: {1: 0, 3: 2, 4: 4, 6: 6, 8: 7, 12: 8, 16: 10},
}
ROWS_K_S8: Mapping[int, Mapping[int, int]] = {**ROWS_K, 32: {1: 1, 2: 2, 4: 6, 16: 32}}


def is_short(spec: Matmul, target: Target) -> bool:
    """K, so that folding sums takes longer than what inner products gain; of tiles of AMX, and of
    vectors of 16 bytes, that was not measured."""
    lies = is_inner(spec)
    if tile_product(spec.dtype, target):
        return not lies
    core, width = core_of(target), target.limits["vector_bytes"]
    if width not in COLUMNS_K:
        return not lies
    if lies and spec.m <= spec.n:
        least = up_to((ROWS_K_S8 if spec.accumulate.is_integer else ROWS_K)[width], spec.m)
    elif lies and spec.n == 1:
        least = 0
    else:
        if core.multiply_adds.get(width, 1) < core.multiply_adds.get(width // 2, 0):
            width //= 2  # tiles of half a vector's columns are as fast as those of whole ones
        row = spec.n * spec.accumulate.itemsize
        least = up_to(COLUMNS_K[width], row)
        if spec.m * spec.k * spec.dtype.itemsize > target.limits["l2_bytes"]:
            least = min(least, up_to(FAR_K_OF.get(core.name, FAR_K[width]), row))
        if not lies and spec.m < FEW_ROWS:
            least *= FEW_TIMES
    return spec.k < least * k_of_step(spec, target)


def up_to(table: Mapping[int, int], found: int) -> int:
    """What holds up to the first of the table's numbers that is not less."""
    return next((least for most, least in table.items() if found <= most), NEVER)
