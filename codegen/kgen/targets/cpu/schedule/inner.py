"""The schedule of inner products, and for which products they are the way."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kgen.schedule import InnerMatmul
from kgen.spec import DType, Layout, Matmul, Spec
from kgen.targets.base import Target
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.kernels.inner_vectors import (
    column_bytes,
    is_inner,
    k_of_step,
    may_transpose_b,
    tile_registers,
)
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.schedule.block_sizes import balanced, rounded_up
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.place import (
    WALKED_NEAR,
    gains_by_pairs,
    is_near,
    walks_lines,
)
from kgen.targets.cpu.schedule.inner_short import NEVER, is_short

#: Up to this many rows or columns nothing is packed: both operands are multiplied as they lie.
#: AMX tiles, whose B must be packed, pay from fewer rows on, if B is in the second-level cache.
FEW, FEW_WITH_TILES = 16, 8
#: Rows or columns of a tile, at most, that come from memory, a stream each; and how many where
#: memory binds. One row by 4096 x 4096 in f32 reads B at 26 GB/s in one stream, 29 in two, 33 in
#: four, 29 in eight, where each goes on with the row behind; and at 24 to 26 if they begin in rows
#: side by side (Zen 4, whose prefetchers follow several streams better than one).
STREAMS, BEST_STREAMS = 8, 4
#: Cycles from a multiply-add to the next that needs its result, and how many start per cycle.
FMA_LATENCY, PER_CYCLE = 4, 2
#: Bytes per cycle that a core gets from memory and from the last-level cache, and cycles for a
#: vector of the shorter side's operand where that is larger than the first-level cache (Zen 4:
#: 40 and 75 GB/s at 3.7 GHz; 32 bytes per cycle from the second level).
MEMORY_BYTES, L3_BYTES, FAR_LOAD = 11, 20, 2
#: Tiles that follow of which one fetches B, where K is cut into blocks: twice, as prefetches are
#: lost where many are on their way (4 rows by 4096 x 4096: 1.2x in f32 and bf16, Zen 4), once on
#: cores that find them by themselves as well (f32: 2.7 ms, 3.0 if twice; Golden Cove).
PREFETCH, PREFETCH_FOUND = 2, 1
#: Where the hardware walks rows of B, of f32 and of pairs of bf16, and by the bytes of a vector
#: (Zen 5): for so many rows of A at most; rows of a tile, and how many columns it has by its rows,
#: and where it fetches the next part of K from memory. In f32 with AVX-512 5 x 4096 x 4096 takes
#: 1.84 ms by two columns, 2.38 by four, 8 x 5120 x 5120 3.7 ms, 5.3 by tiles of 4 x 4, in bf16 8 x
#: 4096 x 4096 0.86 ms, 1.26 by tiles of 4 x 4, but 16 x 2000 x 4096 in f32 3.3 and 2.3; on AVX2 8 x
#: 5120 x 5120 4.8 ms, 6.5 by tiles of 2 x 4.
WALKED_MOST = {32: 16, 64: 9}
WALKED_ROWS = {32: 5, 64: 8}
WALKED_COLUMNS = {32: {2: 4, 3: 3, 5: 2}, 64: {6: 4, 8: 3}}
WALKED_COLUMNS_FAR = {**WALKED_COLUMNS, 64: {3: 4, 8: 2}}
#: The part of the first-level cache that a block of a tile's rows of A may take.
WALKED_SHARE = {32: 3 / 8, 64: 2 / 3}
#: Tiles of rows and columns there, by the columns of out, of which the last tile has those that are
#: left, as long as the rows stay in such a part of the first-level cache: 228 x 13 x 621 in f32
#: takes 20 us so, 33 by tiles of 4 x 2, 500 x 6 x K 1.1 to 1.2 times as long by 3 x 3, in bf16 1.3
#: to 1.5; on AVX2 500 x 8 x 300 1.2 by 2 x 2, 500 x 7 x 300 1.4 by 8 x 1 (Zen 5).
#: On Zen 3 1357 x 14 x 128 takes 82 us by tiles of 6 x 2, 100 by 2 x 2, 1024 x 2 x 768 60 and 65,
#: but 300 x 3 x 1500 70 and 57.
COLUMN_TILES: Mapping[tuple[str, int], Mapping[int, tuple[int, int]]] = {
    ("Zen 3", 32): dict.fromkeys((2, 4, 6, *range(8, 15)), (6, 2)),
    ("Zen 5", 32): dict.fromkeys((4, 7, 8, 10, 13, 14, 16), (6, 2)),
    ("Zen 5", 64): {**dict.fromkeys((6, 12), (4, 6)), **dict.fromkeys((13, 14), (5, 5))},
}
TILE_SHARE = 2 / 3
#: Columns from which tiles fetch the rows of A that those below read, by the bytes of a vector:
#: 1024 x 2 x 768 takes 59 us so and 102 without, from memory 132 and 205 (AVX2), with AVX-512 61
#: and 77, 115 and 119, but 4096 x 1 x 256 71 and 58 (Zen 5).
FETCHED_BY = {32: 1, 64: 2}
#: Rows of a tile, at most, that are fetched on cores that read whole columns, as a part of the
#: first-level cache, of an A that leaves the second one: 4096 x 10 x 512 takes 641 us so and 712
#: without, from memory 966 and 1184, 2000 x 9 x 256 137 both and 224 and 317, but 512 x 8 x 1024
#: 220 and 124, 64 x 12 x 512 12.5 and 11 (Zen 3).
FETCHED_SHARE = 3 / 8
#: Rows up to which all of K is one block, which fetches nothing, of a B that leaves some of the
#: last-level cache, and from memory; and bytes below which a row is, too: 2 x 4096 x 4096
#: takes 1.51 ms so, 2.06 in halves, 3 x 5120 x 640 147 and 209 us, but 7 x 5120 x 2304 in bf16 903
#: and 571 (AVX-512).
WALKED_WHOLE, WALKED_SHORT = {32: (1, 2), 64: (2, 3)}, 4096
#: There, what is fetched goes to the first-level cache: 16 x 5120 x 2048 in bf16 takes 1.16 ms so,
#: 1.43 into the second-level one, 4 rows of f32 on AVX2 gain 13 % (Zen 5).
WALKED_LEVEL, LEVEL = 1, 2
#: The part of the stack that a transposed B may take.
TRANSPOSED_SHARE = 3 / 4
#: Multiply-adds of a task, and tasks that keep the cores of a common machine busy to the end.
TASK_WORK, ENOUGH_TASKS = 1 << 20, 32


def uses_inner(spec: Spec, target: Target) -> bool:
    if not isinstance(spec, Matmul):
        return False
    if not is_inner(spec):
        return transposes_b(spec, target)
    if spec.has_blocks:
        return True
    longer = max(spec.m, spec.n) * spec.k * spec.dtype.itemsize
    tiles = tile_product(spec.dtype, target) and longer <= target.limits["l2_bytes"]
    most = FEW_WITH_TILES if tiles else FEW
    if is_short(spec, target):
        return False
    if spec.accumulate.is_integer:
        # B, which is longer, is the one that an instruction takes for unsigned.
        return spec.m <= min(spec.n, most) and dot_for(spec.dtype, target) is not None
    return min(spec.m, spec.n) <= most


def transposes_b(spec: Matmul, target: Target) -> bool:
    """Its columns are few, and K is long, but not so long that the copy has no room."""
    fits = spec.n * column_bytes(spec) <= TRANSPOSED_SHARE * target.limits["stack_bytes"]
    few = fits and spec.n <= FEW and may_transpose_b(spec, target)
    return few and not is_short(spec, target)


def inner_matmul(spec: Matmul, target: Target) -> InnerMatmul:
    """Tasks are blocks of the longer side of out, the other side in all of them; of rows where B is
    transposed."""
    mr, nr, kc, prefetch = (walked if walks_inner(spec, target) else followed)(spec, target)
    count = vector_for(target, spec.accumulate, spec.n).count
    mc, nc = rounded_up(spec.m, mr), rounded_up(spec.n, nr)
    packs_b = not is_inner(spec)
    room = target.limits["stack_bytes"] - packs_b * spec.n * column_bytes(spec)
    # Half of it: every width of a block is rounded up to whole vectors.
    sums = max(room, 0) // 2 // spec.accumulate.itemsize
    if packs_b or spec.m > spec.n:
        longest = min(task_length(spec.m, spec.n * spec.k), sums // rounded_up(nc, count))
        # Each panel of columns reads the rows of A, which stay in the first-level cache if they are
        # those of one tile: 4096 x 16 x 512 in f32 takes 317 us so, 429 in blocks of 128 rows and
        # 378 of 8, on AVX2 611, 727 and 679 (Zen 5).
        mc = mr if nc > nr else min(mc, rounded_up(longest, mr))
    else:
        longest = min(task_length(spec.n, spec.m * spec.k), sums // mc)
        nc = min(nc, rounded_up(longest, math.lcm(nr, count)))
    unroll = chains(spec, target, mr, nr)
    return InnerMatmul(
        mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=False, pack_b=packs_b, unroll=unroll,
        prefetch=prefetch, level=WALKED_LEVEL if core_of(target).walks_rows else LEVEL,
    )  # fmt: skip


def followed(spec: Matmul, target: Target) -> tuple[int, int, int, int]:
    """mr, nr and K of a block, and how often what the next tile reads of the longer side is asked
    for."""
    mr, nr = inner_tile(spec, target)
    if spec.m > spec.n or not is_inner(spec):
        mr, nr = column_tile(spec, target) or (mr, nr)
        return mr, nr, spec.k, int(fetches_rows(spec, target, mr))
    kc = k_block(spec, target, mr, nr)
    return mr, nr, kc, PREFETCH_FOUND if core_of(target).finds_rows else PREFETCH


def fetches_rows(spec: Matmul, target: Target, mr: int) -> bool:
    """A tile of so many rows of A asks for what the next one reads."""
    if core_of(target).walks_rows:
        return spec.n >= FETCHED_BY.get(target.limits["vector_bytes"], NEVER)
    row = spec.k * spec.dtype.itemsize
    is_far = spec.m * row > target.limits["l2_bytes"]
    fits = mr * row <= FETCHED_SHARE * target.limits["l1_bytes"]
    return core_of(target).reads_whole and is_far and fits


def k_block(spec: Matmul, target: Target, mr: int, nr: int) -> int:
    """The longest part of K for which a tile's rows of A stay in half of the first-level cache
    (4 rows by 4096 x 4096 in f32: 1.6x as fast as from the second level, Zen 4); all of it for
    one row, which is read once, if there is room for the columns too, or if it cannot be cut into
    equal parts."""
    step = k_of_step(spec, target) * chains(spec, target, mr, nr)
    near = target.limits["l1_bytes"] // 2 // spec.dtype.itemsize
    fits = spec.k * (mr + nr - 1) <= near
    if spec.has_blocks or spec.m == 1 or fits or core_of(target).reads_whole:
        return spec.k
    return equal_part(spec, min(near // mr, spec.k - 1), step)


def walks_inner(spec: Matmul, target: Target) -> bool:
    """Of several rows, as it was measured."""
    most = WALKED_MOST.get(target.limits["vector_bytes"], 0)
    if not (core_of(target).walks_rows and is_inner(spec) and 1 < spec.m <= min(spec.n, most)):
        return False
    plain = spec.dtype is spec.b_type and spec.layout is Layout.NT and not spec.has_blocks
    pairs = bool(dot_for(spec.dtype, target)) and walks_lines(target) and gains_by_pairs(target)
    return plain and (spec.dtype is DType.F32 or (spec.dtype is DType.BF16 and pairs))


def walked(spec: Matmul, target: Target) -> tuple[int, int, int, int]:
    """The same where the hardware walks rows of B, by where it comes from."""
    width = target.limits["vector_bytes"]
    prefetch = 0 if is_near(spec, target) else 1 if is_near(spec, target, WALKED_NEAR) else PREFETCH
    mr, kc = balanced(spec.m, WALKED_ROWS[width], 1), spec.k
    if prefetch == 0 or spec.m > WALKED_WHOLE[width][prefetch - 1]:
        room = int(WALKED_SHARE[width] * target.limits["l1_bytes"]) // spec.dtype.itemsize // mr
        is_cut = prefetch and spec.k * spec.dtype.itemsize >= WALKED_SHORT
        most = min(room, spec.k // 2 if is_cut else spec.k)
        kc = equal_part(spec, most, k_of_step(spec, target))
    is_far = prefetch == PREFETCH and kc < spec.k
    columns = (WALKED_COLUMNS_FAR if is_far else WALKED_COLUMNS)[width]
    nr = next(found for most, found in columns.items() if mr <= most)
    return mr, min(nr, spec.n), kc, prefetch


def equal_part(spec: Matmul, most: int, step: int) -> int:
    """The longest of equal blocks of K, or all of it if they are all short."""
    parts = (depth for depth in range(most // step * step, 0, -step) if spec.k % depth == 0)
    return next((depth for depth in parts if depth >= most // 4), spec.k)


def inner_tile(spec: Matmul, target: Target) -> tuple[int, int]:
    """mr and nr of the fewest cycles for a vector of the longer side's operand, whichever binds:
    multiply-adds, loads or memory. Of equals the one with the best number of streams where memory
    binds; else the squarest: 4 x 4 leaves room for longer blocks of K than 8 x 3 (8 rows by 4096 x
    4096: 1.1x in f32, 1.5x in bf16, Zen 4)."""
    registers = target.limits["vector_registers"]
    short, long = sorted((spec.m, spec.n))
    row, near = spec.k * spec.dtype.itemsize, target.limits["l1_bytes"] // 2
    narrow = spec.b_shape[1] * spec.b_type.itemsize / row if spec.m <= spec.n else 1.0
    cached = 2 * long * row * narrow <= target.limits["l3_bytes"]
    memory = narrow * target.limits["vector_bytes"] / (L3_BYTES if cached else MEMORY_BYTES)

    def cycles(held: int, streams: int) -> float:
        step = max(held * streams, held * (FAR_LOAD if short * row > near else 1) + streams)
        return max(step * math.ceil(short / held) / streams, memory)

    tiles = (
        (held, streams)
        for held in range(1, min(short, registers) + 1)
        for streams in range(1, min(long, STREAMS) + 1)
        if tile_registers(spec, target, held, streams, 1) <= registers
    )

    def cost(tile: tuple[int, int]) -> tuple[float, int, int]:
        found, (held, streams) = cycles(*tile), tile
        return found, abs(streams - (BEST_STREAMS if found == memory else held)), -held

    held, streams = min(tiles, key=cost)
    return (streams, held) if spec.m > spec.n else (held, streams)


def column_tile(spec: Matmul, target: Target) -> tuple[int, int] | None:
    """The one that was measured, if it was."""
    kind = (core_of(target).name, target.limits["vector_bytes"])
    found = COLUMN_TILES.get(kind, {}).get(spec.n)
    if found is None or spec.m < found[0]:
        return None
    near = found[0] * spec.k * spec.dtype.itemsize <= TILE_SHARE * target.limits["l1_bytes"]
    registers = tile_registers(spec, target, *found, 1)
    return found if near and registers <= target.limits["vector_registers"] else None


def chains(spec: Matmul, target: Target, mr: int, nr: int) -> int:
    """Vectors of K to a step, so that multiply-adds need not wait for each other."""
    unroll = -(-FMA_LATENCY * PER_CYCLE // (mr * nr))
    while tile_registers(spec, target, mr, nr, unroll) > target.limits["vector_registers"]:
        unroll //= 2
    return unroll


def task_length(extent: int, work: int) -> int:
    """How much of the longer side a task takes; `work` is that of one row or column."""
    return max(-(-extent // ENOUGH_TASKS), TASK_WORK // work, 1)
