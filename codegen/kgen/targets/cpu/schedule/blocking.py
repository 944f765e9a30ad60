"""Register tiles of the fewest cycles, and blocks around them that fit the stack."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TypeVar

from kgen.schedule import BlockedMatmul, CpuMatmul
from kgen.spec import Layout, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.kernels.blis import ROW_PADDING
from kgen.targets.cpu.plan.kernels.blis_pairs import PAIR, has_pairs, has_two_sums
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.tiles.dots import Dot
from kgen.targets.cpu.plan.tiles.tile import parts
from kgen.targets.cpu.plan.tiles.tiled import registers_needed
from kgen.targets.cpu.schedule.block_sizes import balanced, rounded_up, rows_in_cache
from kgen.targets.cpu.schedule.core import heights_for
from kgen.targets.cpu.schedule.few_rows.place import STREAM_A_ROWS
from kgen.targets.cpu.schedule.few_rows.streams import STREAM_VECTORS_FEW
from kgen_runtime.values import frozen

#: Cycles from a fused multiply-add to the next that needs its result (Intel and AMD: 4).
FMA_LATENCY = 4
#: Multiply-adds, and loads, that a core starts per cycle.
PER_CYCLE = 2
#: Cycles of a register tile besides its steps of K: the call, the first loads, the last stores; and
#: the share of it that each vector of sums costs.
TILE_CYCLES, SUM_CYCLES = 20, 2
#: What it costs to carry sums over several blocks of K: 4 % at 1024 x 1024 x 1024 (Zen 4).
BLOCKED_K = 1.04
#: Tiles whose costs differ by less than this factor are equal as far as the model goes.
MODEL_ERROR = 1.015
#: Elements that a row of packed A is rounded up to, and that blocks of K are a multiple of; more,
#: if a cache line has more.
PACK_UNIT = 32
#: Largest step of mc that leaves a choice of block sizes: of a transposed A 7 x 384 x 512 in bf16
#: takes 12.7 us by tiles of 7 rows, of which 112 are copied, and 9.4 by 4 (Zen 5).
ROW_UNIT_MOST = 96
#: Multiply-adds under which a task is not cut smaller for the sake of more tasks.
TASK_WORK = 1 << 20
#: As many times more where a task packs rows of A: two tasks for four gain 4 % of 127 x 131 x
#: 113 in bf16, and 6 % where B comes packed (Zen 4).
PACKED_A_WORK = 2
#: And where rows of A are added up beforehand (an unsigned B): four tasks instead of 28 gain 3 % of
#: 256 x 256 x 256 in s8, two instead of four 4 % of 128 x 128 x 128 (Zen 4).
STARTS_WORK = 5
#: So many times the rows two halves may have, rounded up: the second waits for the first.
EVEN_HALVES = 1.05
#: Tasks that keep the cores of a common machine busy to the end.
ENOUGH_TASKS = 32
#: Rows that a task which packs its columns of B keeps for them: 30 instead of 65 cost 15 % of
#: 128 x 384 x 384 in bf16, 130 gain 2 % (Zen 4).
PACKED_ROWS = 64
#: Columns that are not cut where A is widened for each block of them: 16 instead of 96 cost a fifth
#: of 128 x 384 x 1536 in bf16, by a prepacked B (Golden Cove).
WIDENED_COLUMNS = 96

S = TypeVar("S", bound=BlockedMatmul)


@frozen
class Packing:
    """What is copied before it is multiplied; `itemsize` is that of the copies."""

    a: bool
    b: bool
    itemsize: int
    #: Of what the sums of a row start from (an unsigned B), beside the copies.
    start_bytes: int = 0
    #: Vector registers for the shuffles of a tile that packs B.
    extra_registers: int = 0

    @property
    def k_unit(self) -> int:
        """What a row of packed A is rounded up to, and blocks of K are multiples of."""
        return max(PACK_UNIT, LINE_BYTES // self.itemsize)

    def unit(self, spec: Matmul, target: Target, mr: int) -> int:
        """What mc must be a multiple of: a transposed A is packed by vectors of rows."""
        if not (self.a and spec.layout.a_transposed):
            return mr
        return math.lcm(mr, vector_for(target, spec.accumulate, spec.n).count)


def blocks(spec: Matmul, target: Target, mr: int, nr: int, packing: Packing) -> CpuMatmul:
    """Block sizes whose scratch fits the stack: a panel of B first, then A, then sums."""
    unit = packing.unit(spec, target, mr)
    kc_most = deepest(spec, target, mr, nr, packing)
    unblocked = spec.k <= kc_most or has_room_alone(spec, target, packing, mr)
    kc = spec.k if unblocked else balanced(spec.k, kc_most // 2, packing.k_unit)
    left = target.limits["stack_bytes"] - packing.b * rounded_up(kc, 4) * nr * packing.itemsize
    sums = kc < spec.k
    sum_bytes = nr * spec.accumulate.itemsize
    mc, nc = rounded_up(spec.m, unit), rounded_up(spec.n, nr)
    if packing.a:
        left //= 2 if sums else 1
        row = rounded_up(kc, packing.k_unit) * packing.itemsize + ROW_PADDING
        mc = balanced(spec.m, left // max(row, sum_bytes), unit)
        if spec.layout.a_transposed and packing.itemsize == spec.accumulate.itemsize:
            mc = balanced(spec.m, (left // kc - ROW_PADDING) // packing.itemsize, unit)
    if sums:
        mc = min(mc, balanced(spec.m, left // sum_bytes, unit))
        nc = balanced(spec.n, left // (mc * spec.accumulate.itemsize), nr)
    if packing.start_bytes:
        mc = min(mc, balanced(spec.m, rows_beside_starts(spec, target, packing, nr, kc, nc), unit))
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packing.a, pack_b=packing.b)


def has_room_alone(spec: Matmul, target: Target, packing: Packing, mr: int) -> bool:
    """All of K fits without panels of B: nothing is packed, or a few rows of A only, whose sums
    then stay in registers (1 x 4096 x 4096 of prepacked bf16 takes 0.75 ms in one block of K,
    0.93 in nine in the same run, 4 rows 1.42 and 1.51; AVX2, Zen 4)."""
    if packing.b or spec.m > STREAM_A_ROWS:
        return not (packing.a or packing.b)
    rows, depth = spec.m, rounded_up(spec.k, packing.k_unit)
    if spec.layout.a_transposed:
        # A copy has the rows of each k side by side.
        rows, depth = depth, rounded_up(spec.m, packing.unit(spec, target, mr))
    copied = rows * (depth * packing.itemsize + ROW_PADDING)
    return not packing.a or copied <= target.limits["stack_bytes"] // 2


def rows_beside_starts(
    spec: Matmul, target: Target, packing: Packing, nr: int, kc: int, nc: int
) -> int:
    """Rows whose copies, sums and starts fit the stack beside a panel of B."""
    row = packing.start_bytes
    if packing.a:
        row += rounded_up(kc, packing.k_unit) * packing.itemsize + ROW_PADDING
    if kc < spec.k:
        row += nc * spec.accumulate.itemsize
    panel = packing.b * rounded_up(kc, packing.k_unit) * nr * packing.itemsize
    return (target.limits["stack_bytes"] - panel) // row


def deepest(spec: Matmul, target: Target, mr: int, nr: int, packing: Packing) -> int:
    """The longest block of K whose panel of B leaves room for the rest of the scratch memory."""
    step = nr * packing.itemsize
    if packing.a:
        unit = packing.unit(spec, target, mr)
        step = max(step, unit * packing.itemsize + ROW_PADDING)
    share = 2 if packing.a else 1
    return target.limits["stack_bytes"] // share // step - packing.k_unit


def register_tile(
    spec: Matmul,
    target: Target,
    packing: Packing,
    dot: Dot | None = None,
    widths: Iterable[int] | None = None,
) -> tuple[int, int]:
    """mr and nr of the fewest cycles over the whole matrix, edges included.

    A step of a tile costs its multiply-adds, its loads, or the latency of one multiply-add,
    whichever is most, and half a cycle for the loop. Of those that it cannot tell apart, the one
    with the fewest loads for its products. A tile that interleaves rows of B where they lie does so
    for itself, and has them in registers: 8 x 768 x 768 in s8 takes 27 us by two tiles, 17 by one,
    6 rows 23 us by four vectors, of which LLVM keeps some on the stack, and 14 by three (Zen 5).
    A row needs no more vectors than hide the latency, or than there are good streams; `widths`, in
    vectors, takes the place of that, for blocks whose K is chosen besides.
    """
    whole_k = widths is None
    vector = vector_for(target, spec.accumulate, COLUMNS if dot else spec.n).count
    registers = target.limits["vector_registers"] - packing.extra_registers
    if dot:
        registers -= dot.extra_registers
    rows_most = min(spec.m, registers, registers if packing.a else rows_in_cache(spec))
    pairs = has_pairs(spec) and not dot
    in_place = not (packing.b or spec.constant)
    rows_of_b = dot.group if dot and dot.adds and in_place else 0
    heights = parts if dot else heights_for(target)

    def fits(rows: int, vectors: int) -> bool:
        """Of pairs there are two registers more, a half and the mask, or one for each vector;
        beside a single vector LLVM has elements of several rows there as well, and sums of 8 rows
        in 16 registers on the stack: 128 x 768 x 3072 in bf16 takes 11 ms so on AVX2, 6.3 by 7
        rows, 5.2 by 5 of two vectors (Zen 5)."""
        needed = registers_needed(rows, vectors) + pairs * max(vectors, 2)
        if rows_of_b:  # of four, something of every vector
            needed += 1 if rows_of_b == PAIR else vectors
        spills = pairs and vectors == 1 and 2 * rows >= registers
        return needed <= registers and not spills

    def tile_cycles(rows: int, vectors: int) -> float:
        steps = PAIR if pairs else 1  # that a turn of the loop takes; each loads B once
        arithmetic = rows * vectors / PER_CYCLE
        loads, latency = (rows + vectors / steps) / PER_CYCLE, float(FMA_LATENCY)
        if pairs:
            arithmetic += vectors / steps / PER_CYCLE
            latency /= steps if has_two_sums(target, rows * vectors, vectors) else 1
        step = max(arithmetic, loads, latency) + 0.5 / steps
        return (step + rows_of_b * vectors) * spec.k + TILE_CYCLES + SUM_CYCLES * rows * vectors

    def cycles(rows: int, vectors: int) -> float:
        across = parts(math.ceil(spec.n / vector), vectors)
        total = sum(
            down_count * across_count * tile_cycles(height, width)
            for height, down_count in heights(spec.m, rows)
            for width, across_count in across
        )
        depth = deepest(spec, target, rows, vectors * vector, packing)
        return total * BLOCKED_K if whole_k and packing.b and spec.k > depth else total

    vectors_most = STREAM_VECTORS_FEW if spec.constant else FMA_LATENCY * PER_CYCLE
    costs = {
        (rows, vectors): cycles(rows, vectors)
        for vectors in widths or range(1, min(math.ceil(spec.n / vector), vectors_most) + 1)
        for rows in range(1, rows_most + 1)
        if fits(rows, vectors) and packing.unit(spec, target, rows) <= ROW_UNIT_MOST
    }
    near = [tile for tile, cost in costs.items() if cost <= min(costs.values()) * MODEL_ERROR]
    rows, vectors = min(near, key=lambda tile: (sum(tile) / math.prod(tile), costs[tile]))
    return rows, vectors * vector


def enough_tasks(
    spec: Matmul, schedule: S, unit: int, *, has_starts: bool = False, columns: int = 1
) -> S:
    """The blocks made smaller where there are few tasks and each is long: narrower first, since a
    task packs its columns of B; but an A that is packed or added up, once for every block of
    columns, wants many of them, and all where B is not packed, down to PACKED_ROWS rows (twice as
    many if both are done). One task alone that does so is halved where that comes out even: 127 x
    131 x 113 in bf16 takes two threads 10.8 us instead of 11.9, and one as long as before (Zen 4).
    Blocks of `columns` stay whole.
    """
    mc, nc = schedule.mc, schedule.nc
    reads_a = schedule.pack_a or has_starts
    rows = PACKED_ROWS * (2 if schedule.pack_b and has_starts else 1)
    fewest = max(unit, 2 * rows - 1 if reads_a or schedule.pack_b else 0)
    longest = TASK_WORK
    if reads_a:
        longest *= STARTS_WORK if has_starts else PACKED_A_WORK

    def tasks() -> int:
        return spec.batch * math.ceil(spec.m / mc) * math.ceil(spec.n / nc)

    def halved() -> int:
        """Rows: not thirds, which as many more tasks add up or pack for."""
        most = rounded_up(mc // 2, unit) if has_starts else mc // 2
        return balanced(spec.m, most, unit)

    packs_both = schedule.pack_a and schedule.pack_b and spec.layout is Layout.NN
    alone = tasks() == 1 and mc * nc * spec.k > (TASK_WORK if has_starts else longest)
    if alone and (packs_both or has_starts):
        if mc > fewest and is_half(halved(), spec.m):
            mc = halved()
        elif has_starts and is_half(half := balanced(spec.n, nc // 2, schedule.nr), spec.n):
            nc = half
    while tasks() < ENOUGH_TASKS and mc * nc * spec.k > longest:
        if nc > schedule.nr and (not reads_a or (schedule.pack_b and nc > mc)):
            nc = balanced(spec.n, nc // 2, schedule.nr)
        elif mc > fewest:
            mc = halved()
        elif nc > max(schedule.nr, columns):
            nc = balanced(spec.n, nc // 2, schedule.nr)
        else:
            break
    return dataclasses.replace(schedule, mc=mc, nc=nc)


def is_half(part: int, extent: int) -> bool:
    return 1 <= 2 * part / extent <= EVEN_HALVES
