"""The schedule for a spec on a target: a small cost model of register tiles, then block sizes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TypeVar

from kgen.schedule import CpuMatmul, DotMatmul, Schedule
from kgen.spec import DType, Elementwise, Layout, Matmul, Rowwise, Spec
from kgen.targets.base import Target
from kgen.targets.cpu.plan.amx.tiles import tile_product
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.kernels.blis import ROW_PADDING
from kgen.targets.cpu.plan.kernels.dot import COLUMNS, GROUP_BYTES, must_pack_a, must_pack_b
from kgen.targets.cpu.plan.tiles.dots import Dot, dot_for
from kgen.targets.cpu.plan.tiles.tiled import registers_needed
from kgen.targets.cpu.schedule.amx_blocks import amx_matmul, in_place
from kgen.targets.cpu.schedule.block_sizes import balanced, parts, rounded_up, rows_in_cache
from kgen.targets.cpu.schedule.gemv import (
    STREAM_A_ROWS,
    STREAM_ROWS,
    STREAM_VECTORS_FEW,
    is_large,
    is_outer,
    outer_matmul,
    stream_matmul,
    streams,
)
from kgen.targets.cpu.schedule.inner import inner_matmul, uses_inner
from kgen.targets.cpu.schedule.rowwise import elementwise_schedule, rowwise_schedule
from kgen_runtime.values import frozen

#: Cycles from a fused multiply-add to the next that needs its result (Intel and AMD: 4).
FMA_LATENCY = 4
#: Multiply-adds, and loads, that a core starts per cycle.
PER_CYCLE = 2
#: Cycles of a register tile besides its steps of K: the call, the first loads, the last stores; and
#: the share of it that each vector of sums costs.
TILE_CYCLES, SUM_CYCLES = 20, 2
#: A B that leaves the second-level cache is packed if it is used by more rows than this: 128 rows
#: lose 4 % by packing, 1024 gain 8 % (Zen 4).
PACK_ROWS = 256
#: Of panels of a single line, whose rows no prefetcher follows, B pays for being packed from so
#: many register tiles on: 256 x 256 x 256 in f32 on AVX2 gains 7 %, 64 x 64 x 64 nothing (Zen 4).
NARROW_TILES = 3
#: If such a B is large, and used by more rows than these and at most PACK_ROWS, all is packed in
#: blocks of so much K, each fetched while the one before it is multiplied: 128 x 768 x 3072 takes
#: 6.9 ms, 7.5 with B packed along all of K and 12.1 in place; 12 rows gain nothing (Zen 4).
NARROW_LEAST, NARROW_K = 12, 64
#: Columns of such a block at least, lest the rows of B are cut too short (96 cost 8 %), and tasks
#: at least where there are more columns.
NARROW_COLUMNS, NARROW_TASKS = 192, 8
#: And where there are so few rows that reading B is what takes the time: 192 instead of 1024 cost
#: a quarter of 16 x 1024 x 4096.
NARROW_STREAM = 1024
#: Rows of such a block at most, which leave room for the sums.
NARROW_ROWS = 132
#: Rows up to which a B narrower than A is widened wherever it is multiplied; for more, once.
NARROW_IN_PLACE = 16
#: Up to this many rows or columns bf16 is widened and multiplied as f32, not in pairs.
DOT_ROWS, DOT_COLUMNS = 8, 8
#: What it costs to carry sums over several blocks of K: 4 % at 1024 x 1024 x 1024 (Zen 4).
BLOCKED_K = 1.04
#: Tiles whose costs differ by less than this factor are equal as far as the model goes.
MODEL_ERROR = 1.015
#: Elements that a row of packed A is rounded up to, and that blocks of K are a multiple of; more,
#: if a cache line has more.
PACK_UNIT = 32
#: Largest step of mc that leaves a choice of block sizes.
ROW_UNIT_MOST = 128
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

S = TypeVar("S", bound=CpuMatmul)


def uses_dot(spec: Matmul, target: Target) -> bool:
    """Products of pairs pay where B need not be packed for them, or is used by several rows; those
    of bytes always, against one at a time."""
    dot = dot_for(spec.dtype, target)
    if dot is None or spec.dtype is DType.S8 or is_outer(spec, target):
        return dot is not None
    few = spec.m <= DOT_ROWS and must_pack_b(spec, dot) and not spec.layout.b_transposed
    return spec.n > DOT_COLUMNS and (not few or bool(spec.constant))


def choose(spec: Spec, target: Target) -> Schedule:
    """A schedule that always fits."""
    if isinstance(spec, Matmul):
        if uses_inner(spec, target):
            return inner_matmul(spec, target)
        if tile_product(spec.dtype, target) and not in_place(spec, target):
            return amx_matmul(spec, target)
        if is_outer(spec, target):
            return outer_matmul(spec, target)
        dot = dot_for(spec.dtype, target)
        if dot and uses_dot(spec, target):
            return dot_matmul(spec, target, dot)
        return blis_matmul(spec, target)
    if isinstance(spec, Elementwise):
        return elementwise_schedule(spec, target)
    assert isinstance(spec, Rowwise)
    return rowwise_schedule(spec, target)


def blis_matmul(spec: Matmul, target: Target) -> CpuMatmul:
    """Packed is what is widened or transposed on the way, and a large B that many rows use."""
    widened = spec.dtype is not spec.accumulate
    gathered = spec.layout.b_transposed
    if narrow := narrow_matmul(spec, target):
        return narrow
    if streams(spec, target):
        return stream_matmul(spec, target, packs_a=widened or spec.m > STREAM_A_ROWS)
    reused = is_large(spec, target) and spec.m > PACK_ROWS
    widened_often = spec.b_type is not spec.accumulate and (widened or spec.m > NARROW_IN_PLACE)
    packs_b = not spec.constant and (gathered or widened_often or reused)
    packing = Packing(a=widened, b=packs_b, itemsize=spec.accumulate.itemsize)
    mr, nr = register_tile(spec, target, packing)
    if has_narrow_panels(target) and not spec.constant and spec.m >= NARROW_TILES * mr:
        packing = dataclasses.replace(packing, b=True)
    return enough_tasks(spec, blocks(spec, target, mr, nr, packing), packing.unit(spec, target, mr))


def has_narrow_panels(target: Target) -> bool:
    """A tile that is as high as its multiply-adds want has panels of one line: 6 x 16 on AVX2."""
    return (
        target.limits["vector_registers"] <= 16 and target.limits["vector_bytes"] == LINE_BYTES // 2
    )


def narrow_matmul(spec: Matmul, target: Target) -> CpuMatmul | None:
    """All packed in short blocks of K, for a large B in panels of one line; None for others."""
    few = NARROW_LEAST < spec.m <= PACK_ROWS and spec.k > NARROW_K and is_large(spec, target)
    if spec.constant or spec.layout.b_transposed or not (few and has_narrow_panels(target)):
        return None
    packing = Packing(a=True, b=True, itemsize=spec.accumulate.itemsize)
    mr, nr = register_tile(spec, target, packing, widths=[2])
    mc = balanced(spec.m, NARROW_ROWS, packing.unit(spec, target, mr))
    runs, length = (NARROW_K, mc) if spec.layout.a_transposed else (mc, NARROW_K)
    copies = runs * (length * packing.itemsize + ROW_PADDING) + NARROW_K * nr * packing.itemsize
    room = target.limits["stack_bytes"] - copies
    few_rows = spec.m <= STREAM_ROWS
    wanted = NARROW_STREAM if few_rows else max(NARROW_COLUMNS, spec.n // NARROW_TASKS)
    most = min(room // (mc * packing.itemsize), wanted)
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=NARROW_K, nc=balanced(spec.n, most, nr))


def dot_matmul(spec: Matmul, target: Target, dot: Dot) -> DotMatmul:
    """A only where its groups do not lie side by side; B unless it comes packed or has few uses."""
    must_pack = must_pack_a(spec, dot)
    if streams(spec, target) and not must_pack_b(spec, dot):
        packs_a = must_pack or spec.m > STREAM_A_ROWS
        return in_groups(stream_matmul(spec, target, packs_a=packs_a))
    packs_b = not spec.constant and (must_pack_b(spec, dot) or spec.m > DOT_ROWS)
    packing = Packing(
        a=must_pack,
        b=packs_b,
        itemsize=GROUP_BYTES // dot.group,
        start_bytes=GROUP_BYTES * dot.b_is_unsigned,
        extra_registers=int(packs_b and not must_pack_b(spec, dot)),
    )
    mr, nr = register_tile(spec, target, packing, dot)
    schedule = in_groups(blocks(spec, target, mr, nr, packing))
    return enough_tasks(spec, schedule, mr, has_starts=dot.b_is_unsigned)


def in_groups(schedule: CpuMatmul) -> DotMatmul:
    fields = dataclasses.fields(schedule)
    return DotMatmul(**{field.name: getattr(schedule, field.name) for field in fields})


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
    unblocked = spec.k <= kc_most or not (packing.a or packing.b)
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
    with the fewest loads for its products.
    A row needs no more vectors than hide the latency, or than there are good streams; `widths`, in
    vectors, takes the place of that.
    """
    vector = vector_for(target, spec.accumulate, COLUMNS if dot else spec.n).count
    registers = target.limits["vector_registers"] - packing.extra_registers
    if dot:
        registers -= dot.extra_registers
    rows_most = min(spec.m, registers, registers if packing.a else rows_in_cache(spec))

    def tile_cycles(rows: int, vectors: int) -> float:
        step = max(rows * vectors / PER_CYCLE, (rows + vectors) / PER_CYCLE, FMA_LATENCY)
        return (step + 0.5) * spec.k + TILE_CYCLES + SUM_CYCLES * rows * vectors

    def cycles(rows: int, vectors: int) -> float:
        across = parts(math.ceil(spec.n / vector), vectors)
        total = sum(
            down_count * across_count * tile_cycles(height, width)
            for height, down_count in parts(spec.m, rows)
            for width, across_count in across
        )
        depth = deepest(spec, target, rows, vectors * vector, packing)
        return total * BLOCKED_K if packing.b and spec.k > depth else total

    vectors_most = STREAM_VECTORS_FEW if spec.constant else FMA_LATENCY * PER_CYCLE
    costs = {
        (rows, vectors): cycles(rows, vectors)
        for vectors in widths or range(1, min(math.ceil(spec.n / vector), vectors_most) + 1)
        for rows in range(1, rows_most + 1)
        if registers_needed(rows, vectors) <= registers
        and packing.unit(spec, target, rows) <= ROW_UNIT_MOST
    }
    near = [tile for tile, cost in costs.items() if cost <= min(costs.values()) * MODEL_ERROR]
    rows, vectors = min(near, key=lambda tile: (sum(tile) / math.prod(tile), costs[tile]))
    return rows, vectors * vector


def enough_tasks(spec: Matmul, schedule: S, unit: int, *, has_starts: bool = False) -> S:
    """The blocks made smaller where there are few tasks and each is long: narrower first, since a
    task packs its columns of B; but an A that is packed or added up, once for every block of
    columns, wants many of them, and all where B is not packed, down to PACKED_ROWS rows (twice as
    many if both are done). One task alone that does so is halved where that comes out even: 127 x
    131 x 113 in bf16 takes two threads 10.8 us instead of 11.9, and one as long as before (Zen 4).
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
        elif nc > schedule.nr:
            nc = balanced(spec.n, nc // 2, schedule.nr)
        else:
            break
    return dataclasses.replace(schedule, mc=mc, nc=nc)


def is_half(part: int, extent: int) -> bool:
    return 1 <= 2 * part / extent <= EVEN_HALVES
