"""Block sizes of products on AMX tiles, by a model of the cycles that one core takes.

A step multiplies mr x nr sums by one tile of K. Its products take the tile unit; loads of the next
tiles, copies of A and the epilogue run beside it as long as they take less. What they take more,
and what runs alone, is added. Cycles and rates are those measured on one CPU with AMX (products of
bf16 16 to 17 cycles, tile loads 8.5, stores 16; at 3.7 GHz 121 GB/s from the second-level cache and
28 from the third); nothing has been measured with these kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kgen.schedule import AmxMatmul, CpuMatmul
from kgen.spec import Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.cpu.plan.amx.beside import packs_between
from kgen.targets.cpu.plan.amx.tiles import ROW_BYTES, TILE_ROWS, tile_k
from kgen.targets.cpu.plan.kernels.dot import must_pack_b
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.schedule.block_sizes import balanced, rounded_up
from kgen.targets.cpu.schedule.gemv import streams

#: Cycles of a product, of loading a tile from the first-level cache and of storing one.
PRODUCT, LOAD, STORE = 16.0, 8.5, 16.0
#: Cycles per second at which that was measured.
CLOCK = 3.7e9
#: Bytes per cycle from the second-level and the third-level cache.
L2_RATE, L3_RATE = 33.0, 7.6
#: Cycles to pack a line of B or A (Zen 4: 6 for what is in the second-level cache, 8 to 9 beyond).
PACK = 6.0
#: Of the tile stores that copy A, and of those and the loads that carry sums from one block of K to
#: the next, the share that the tile unit waits for; and of packing beside the products.
EXPOSED, EXPOSED_PACKING = 0.5, 0.25
#: Of a launch, at 0.3 us; and of a task, whose last register tile has none after it that hides its
#: epilogue.
LAUNCH, TASK = 1100.0, 300.0
#: Bytes of a column of B in a block of K: with two tiles side by side 32 KB of the first-level
#: cache, which A streams through.
COLUMN_BYTES = 1024
#: Distances of rows whose tiles meet in cache sets: 16 rows in four sets or fewer. They take this
#: share of B with them out of the first-level cache.
ALIASING, EVICTED = 1024, 0.5
#: Rows up to which B is multiplied where it lies, if it comes from memory, and if it does not.
IN_PLACE_ROWS_FAR, IN_PLACE_ROWS = 16, 4
#: Tasks that keep the cores of a common machine busy to the end, cycles under which none is cut for
#: the sake of more, and what it may cost one core to have more.
ENOUGH_TASKS, TASK_CYCLES, TASKS_COST = 32, 16384, 1.05


def in_place(spec: Matmul, target: Target) -> bool:
    """Few rows, with a B whose rows vectors multiply where they lie: tiles want it packed, which
    moves a B that comes from memory three times, and takes longer than one to four rows of a B that
    does not."""
    dot = dot_for(spec.dtype, target)
    if spec.constant or spec.layout.b_transposed or (dot and must_pack_b(spec, dot)):
        return False
    return spec.m <= (IN_PLACE_ROWS_FAR if streams(spec, target) else IN_PLACE_ROWS * bool(dot))


def amx_matmul(spec: Matmul, target: Target) -> AmxMatmul:
    """The blocks of the fewest cycles; of those that cost a little more, those of enough tasks."""
    costs = {schedule: cycles(spec, target, schedule) for schedule in candidates(spec, target)}
    least = min(costs.values())
    enough = min(ENOUGH_TASKS, math.ceil(least / TASK_CYCLES))

    def preference(schedule: AmxMatmul) -> tuple[int, float]:
        return -min(tasks(spec, schedule), enough), costs[schedule]

    return min((s for s, cost in costs.items() if cost <= least * TASKS_COST), key=preference)


def ranked_on_tiles(spec: Matmul, target: Target) -> tuple[Candidate[CpuMatmul], ...]:
    """What `amx_matmul` compared, the chosen one first; `besides`: what the tile unit waits for."""
    products, chosen = product_cycles(spec), amx_matmul(spec, target)
    found = [
        Candidate(
            schedule=schedule,
            seconds=total / CLOCK,
            terms={"products": products, "besides": total - products},
        )
        for schedule in dict.fromkeys(candidates(spec, target))
        for total in [cycles(spec, target, schedule)]
    ]
    return tuple(sorted(found, key=lambda c: (c.schedule != chosen, c.seconds)))


def candidates(spec: Matmul, target: Target) -> Iterator[AmxMatmul]:
    """Two by two tiles, fewer where the matrix has not that many rows or columns; equal blocks,
    whose sums, between blocks of K, take no more than half of the stack."""
    mr = TILE_ROWS if spec.m <= TILE_ROWS else 2 * TILE_ROWS
    nr = TILE_ROWS if spec.n <= TILE_ROWS else 2 * TILE_ROWS
    unit = tile_k(spec.dtype)
    kc = balanced(spec.k, COLUMN_BYTES // spec.dtype.itemsize, unit)
    for mc in {rounded_up(-(-spec.m // parts), mr) for parts in _parts(spec.m, mr)}:
        sums = mc * nr * spec.accumulate.itemsize * (kc < spec.k)
        if 0 < spec.m % mc < min(spec.m, mr) or sums > target.limits["stack_bytes"] // 2:
            continue
        for nc in {rounded_up(-(-spec.n // parts), nr) for parts in _parts(spec.n, nr)}:
            for pack_a in (False, True):
                if pack_a or not must_pack_a(spec):
                    yield AmxMatmul(
                        mr=mr,
                        nr=nr,
                        mc=mc,
                        kc=kc,
                        nc=nc,
                        pack_a=pack_a,
                        pack_b=not spec.constant,
                    )


def _parts(extent: int, unit: int) -> Iterator[int]:
    """1, 2, 3, 4, 6, 8, 12, ... as many as there are units at most."""
    most, part = -(-extent // unit), 1
    while part <= most:
        yield part
        if part > 1 and 3 * part // 2 <= most:
            yield 3 * part // 2
        part *= 2


def must_pack_a(spec: Matmul) -> bool:
    """Tiles cannot be loaded from A: it is transposed, or K no whole number of tiles."""
    return spec.layout.a_transposed or spec.k % tile_k(spec.dtype) != 0


def meets_in_sets(spec: Matmul) -> bool:
    """Rows of A push each other out of the first-level cache, or lie across lines."""
    stride = spec.a_strides[1] * spec.dtype.itemsize
    return stride % ALIASING == 0 or stride % ROW_BYTES != 0


def tasks(spec: Matmul, schedule: AmxMatmul) -> int:
    return spec.batch * -(-spec.m // schedule.mc) * -(-spec.n // schedule.nc)


def cycles(spec: Matmul, target: Target, schedule: AmxMatmul) -> float:
    """Of one core for the whole product, the call apart."""
    mr, nr, mc, nc = schedule.mr, schedule.nr, schedule.mc, schedule.nc
    blocks_m, blocks_n = -(-spec.m // mc), -(-spec.n // nc)
    steps = -(-spec.k // tile_k(spec.dtype))
    down, across = -(-spec.m // mr), -(-spec.n // nr)
    tiles = mr // TILE_ROWS * (nr // TILE_ROWS)
    a_bytes, b_bytes = mr * ROW_BYTES, nr * ROW_BYTES
    near = target.limits["l2_bytes"] // 2

    # A step of the first register tile of a panel loads B, which is then near.
    products = PRODUCT * tiles
    a_rate = L2_RATE if mc * steps * ROW_BYTES <= near else L3_RATE
    evicted = EVICTED if meets_in_sets(spec) and not schedule.pack_a else 0.0
    loads = LOAD * (mr + nr) / TILE_ROWS
    step = max(products, loads, a_bytes / a_rate + evicted * b_bytes / L2_RATE)
    first = max(step, a_bytes / a_rate + b_bytes / L2_RATE)
    total = across * steps * (down * step + blocks_m * (first - step))
    total += blocks_m * blocks_n * TASK

    # Sums between blocks of K.
    carried = -(-spec.k // schedule.kc) - 1
    total += across * down * tiles * carried * (LOAD + STORE) * EXPOSED

    if schedule.pack_a:
        lines = down * mr * steps
        copy = STORE * EXPOSED / TILE_ROWS
        total += lines * (PACK if must_pack_a(spec) else copy)
    if not spec.constant:
        packed = across * nr * steps
        if packs_between(spec, target, schedule):
            first = blocks_m * blocks_n * nr * steps
            return spec.batch * (total + PACK * (first + EXPOSED_PACKING * blocks_m * packed))
        alone = (
            blocks_m == blocks_n == 1 and packed * ROW_BYTES <= target.limits["stack_bytes"] // 2
        )
        total += packed * PACK + (0.0 if alone else LAUNCH)
    return spec.batch * total


def product_cycles(spec: Matmul) -> float:
    """Of the tile unit alone: what the whole would take if nothing else ever held it up."""
    tiles = -(-spec.m // TILE_ROWS) * -(-spec.n // TILE_ROWS)
    return spec.batch * PRODUCT * tiles * -(-spec.k // tile_k(spec.dtype))
