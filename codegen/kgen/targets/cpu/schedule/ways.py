"""The ways of a blocked product of vectors, and which of them the cost model ranks first."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

from kgen.schedule import AheadMatmul, BlockedMatmul, CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.plan.kernels.blis import ROW_PADDING, may_sum_in_out
from kgen.targets.cpu.plan.tiles.tile import parts
from kgen.targets.cpu.schedule.block_sizes import CACHE_WAY_BYTES, balanced, rounded_up
from kgen.targets.cpu.schedule.blocking import (
    ENOUGH_TASKS,
    PACK_UNIT,
    WIDENED_COLUMNS,
    Packing,
    blocks,
    enough_tasks,
    register_tile,
)
from kgen.targets.cpu.schedule.completion import NEXT_PANEL_K
from kgen.targets.cpu.schedule.core import Grid, ShortBlocks, core_of
from kgen.targets.cpu.schedule.cost_model import predict
from kgen.targets.cpu.schedule.few_rows.packed import (
    bytes_ahead,
    level_ahead,
    next_lines_matmul,
    reads_next_lines,
)
from kgen.targets.cpu.schedule.few_rows.panels import panels_matmul, uses_panels
from kgen.targets.cpu.schedule.few_rows.place import (
    STREAM_ROWS,
    is_large,
    streams,
)
from kgen.targets.cpu.schedule.few_rows.slices import in_slices
from kgen.targets.cpu.schedule.few_rows.streams import stream_matmul
from kgen.targets.cpu.schedule.few_rows.walked import packs_rows_of_a, walks_stream
from kgen.targets.cpu.schedule.short import short_matmul

#: A B that leaves the second-level cache is packed if it is used by more rows than this: 128 rows
#: lose 4 % by packing, 1024 gain 8 % (Zen 4).
PACK_ROWS = 256
#: Of panels of a single line, whose rows no prefetcher follows, B pays for being packed from so
#: many register tiles on: 256 x 256 x 256 in f32 on AVX2 gains 7 %, 64 x 64 x 64 nothing (Zen 4).
NARROW_TILES = 3
#: If such a B is large, and used by more rows than these and at most STREAM_ROWS, all is packed in
#: blocks of so much K and so many columns, each fetched while the one before it is multiplied: 12
#: rows gain nothing (Zen 4).
NARROW_LEAST, NARROW_K, NARROW_COLUMNS = 12, 64, (1024, 512, 256)
#: Rows up to which a B narrower than A is widened wherever it is multiplied; for more, once.
NARROW_IN_PLACE = 16
#: Rows that use a B often enough to pack it where K is short (17 x 1000 x 2 takes 1.2 times as long
#: packed; Zen 5).
SHORT_PACK_ROWS = 32
#: Seconds under which a task is not cut for the sake of more than two.
TASK_SECONDS = 100e-6
#: As many products, each of several tasks, or more come out even.
EVEN_BATCH = 8


def blis_matmul(spec: Matmul, target: Target) -> CpuMatmul:
    """The only way of few rows by a large B, or the one that the model ranks first."""
    return only_way(spec, target) or ranked(spec, target)[0].schedule


def only_way(spec: Matmul, target: Target) -> CpuMatmul | None:
    """Of few rows by a large B: no other one is worth a comparison."""
    if reads_next_lines(spec, target):
        return next_lines_matmul(spec, target)
    if uses_panels(spec, target):
        way = panels_matmul(spec, target)
        level = level_ahead(spec, target, way)
        return ahead(spec, target, way, level) if level else way
    if streams(spec, target) and not has_short_blocks(spec, target):
        widened = spec.dtype is not spec.accumulate
        stream = stream_matmul(spec, target, packs_a=widened or packs_rows_of_a(spec, target))
        return in_slices(spec, stream)
    widened = spec.dtype is not spec.accumulate
    packs_b = widened or spec.layout.b_transposed or spec.m >= SHORT_PACK_ROWS
    packs_b &= not spec.constant
    packing = Packing(a=widened, b=packs_b, itemsize=spec.accumulate.itemsize)
    return short_matmul(spec, target, packing)


def ranked(spec: Matmul, target: Target) -> tuple[Candidate[CpuMatmul], ...]:
    """The ways of a blocked product: the first one, unless the model has a faster one, then the
    others."""
    first, *others = predicted(spec, target, ways(spec, target))
    others.sort(key=lambda candidate: candidate.seconds)
    grid = core_of(target).grid
    faster = [c for c in others if c.seconds <= first.seconds]
    if not faster:
        return (first, *others)
    best = spread(spec, grid, faster)
    if best.schedule.pack_b and not packs_ahead(spec, target):
        most = grid.packs_cost * best.seconds
        in_place = [c for c in others if not c.schedule.pack_b and c.seconds <= most]
        best = spread(spec, grid, in_place) if in_place else best
    rest = sorted((c for c in (first, *others) if c is not best), key=lambda c: c.seconds)
    return (best, *rest)


def predicted(
    spec: Matmul, target: Target, schedules: Iterable[CpuMatmul]
) -> list[Candidate[CpuMatmul]]:
    """Each once."""
    found = ((way, predict(spec, target, way)) for way in dict.fromkeys(schedules))
    return [Candidate(schedule=way, seconds=p.seconds, terms=p.terms) for way, p in found]


def spread(
    spec: Matmul, grid: Grid, candidates: Sequence[Candidate[CpuMatmul]]
) -> Candidate[CpuMatmul]:
    """Of those that cost one core little more than the best, the one whose tasks keep more cores
    busy; tasks that two cores have as much to do with may cost more than further ones."""
    least = candidates[0].seconds
    wanted = max(1 + (least >= grid.second_least), min(ENOUGH_TASKS, int(least / TASK_SECONDS)))

    def tasks(candidate: Candidate[CpuMatmul]) -> int:
        schedule = candidate.schedule
        count = spec.batch * -(-spec.m // schedule.mc) * -(-spec.n // schedule.nc)
        return min(count, wanted)

    def suits(candidate: Candidate[CpuMatmul]) -> bool:
        return wanted > 1 and is_even(spec, grid, candidate)

    even = [c for c in candidates if c.seconds <= least * grid.second_cost and suits(c)]
    pool = even or list(candidates)
    most = max(pool[0].seconds, least * grid.tasks_cost)
    near = [c for c in candidates if c.seconds <= most]
    return max(near, key=lambda c: (suits(c), tasks(c), -c.seconds))


def is_even(spec: Matmul, grid: Grid, candidate: Candidate[CpuMatmul]) -> bool:
    """Two cores have as much to do."""
    return busiest(spec, candidate.schedule, 2) <= grid.even


def busiest(spec: Matmul, schedule: BlockedMatmul, cores: int) -> float:
    """The part of the work that the busiest of so many cores has, each of which takes the next task
    when it is done with one."""
    busy = [0] * cores
    rows, columns = (
        [size for size, count in parts(extent, part) for _ in range(count)]
        for extent, part in ((spec.m, schedule.mc), (spec.n, schedule.nc))
    )
    for width, height in itertools.product(columns * min(spec.batch, EVEN_BATCH), rows):
        busy[busy.index(min(busy))] += height * width
    return max(busy) / sum(busy)


def ways(spec: Matmul, target: Target) -> Iterator[CpuMatmul]:
    """All of K and those of the grid; for few rows of a large B in panels of one line, short blocks
    of K with sums in scratch."""
    if has_short_blocks(spec, target):
        yield from narrow_matmuls(spec, target)
        return
    if in_grid(spec, target, core_of(target).grid, target.limits["vector_bytes"]):
        found = every_block(spec, target)
    else:
        found = iter([unblocked_matmul(spec, target)])
    yield from with_panels_ahead(spec, target, in_short_blocks(spec, target, found))


def in_short_blocks(
    spec: Matmul, target: Target, found: Iterable[CpuMatmul]
) -> Iterator[CpuMatmul]:
    """The same in blocks of less of K, where several tiles of rows gain by those."""
    short = short_blocks(spec, target)
    if short is None:
        yield from found
        return
    kc = balanced(spec.k, short.depth, PACK_UNIT)
    for way in found:
        several = min(way.mc, spec.m) > way.mr and way.pack_b is short.is_packed
        is_long = way.kc > kc if way.pack_b else way.kc >= spec.k
        yield dataclasses.replace(way, kc=kc) if several and is_long else way


def short_blocks(spec: Matmul, target: Target) -> ShortBlocks | None:
    """Those that were measured to gain, of a B as it lies."""
    grid = core_of(target).grid
    short = grid.short.get(target.limits["vector_bytes"])
    plain = spec.dtype is spec.b_type is DType.F32 and not spec.constant
    if short is None or not plain or not may_sum_in_out(spec) or spec.k < 2 * NEXT_PANEL_K:
        return None
    if short.is_large and not is_large(spec, target):
        return None
    return short if short.rows_least < spec.m <= grid.rows_most else None


def every_way(spec: Matmul, target: Target) -> list[CpuMatmul]:
    """What the model knows, whether or not it is asked for such a product, the best first."""
    found = with_panels_ahead(spec, target, every_block(spec, target))
    candidates = sorted(predicted(spec, target, found), key=lambda c: c.seconds)
    return [candidate.schedule for candidate in candidates]


def every_block(spec: Matmul, target: Target) -> Iterator[CpuMatmul]:
    yield unblocked_matmul(spec, target)
    yield from matmuls_in_blocks(spec, target)


def with_panels_ahead(
    spec: Matmul, target: Target, found: Iterable[CpuMatmul]
) -> Iterator[CpuMatmul]:
    """Tiles fetch what is packed next, where that is so; all of K of what is widened both ways. And
    what came packed."""
    is_ahead, widened = packs_ahead(spec, target), spec.b_type is not spec.accumulate
    for way in found:
        level = 2 if is_ahead and way.pack_b else level_ahead(spec, target, way)
        if not level or (widened and not spec.constant and way.kc >= spec.k):
            yield way
        if level:
            yield ahead(spec, target, way, level)


def packs_ahead(spec: Matmul, target: Target) -> bool:
    """Tiles fetch the next panel of a large B in panels of one line, whose rows no hardware follows
    by itself: 128 x 2048 x 2048 in f32 on AVX2 takes 10.2 ms, 11.4 if they fetch the next block of
    K, and 128 x 768 x 3072 5.5, 5.9 if a panel is fetched as it is packed (Zen 4)."""
    as_it_lies = not (spec.constant or spec.layout.b_transposed)
    follows = core_of(target).finds_rows
    gains = is_large(spec, target) or short_blocks(spec, target) is not None
    return as_it_lies and gains and has_narrow_panels(target) and not follows


def ahead(spec: Matmul, target: Target, way: CpuMatmul, level: int) -> AheadMatmul:
    """The same, whose tiles fetch B into the cache of that level."""
    fields = {field.name: getattr(way, field.name) for field in dataclasses.fields(way)}
    return AheadMatmul(**fields, level=level, ahead=bytes_ahead(spec, target))


def unblocked_matmul(spec: Matmul, target: Target) -> CpuMatmul:
    """Packed is what is widened or transposed on the way, a large B that many rows use, and an A
    whose columns meet in a set of the cache."""
    widened = spec.dtype is not spec.accumulate
    gathered = spec.layout.b_transposed
    reused = is_large(spec, target) and spec.m > PACK_ROWS
    widened_often = spec.b_type is not spec.accumulate and (widened or spec.m > NARROW_IN_PLACE)
    packs_b = not spec.constant and (gathered or widened_often or reused)
    packs_a = widened or columns_meet(spec, target)
    packing = Packing(a=packs_a, b=packs_b, itemsize=spec.accumulate.itemsize)
    mr, nr = register_tile(spec, target, packing)
    if has_narrow_panels(target) and not spec.constant and spec.m >= NARROW_TILES * mr:
        packing = dataclasses.replace(packing, b=True)
    schedule, unit = blocks(spec, target, mr, nr, packing), packing.unit(spec, target, mr)
    return enough_tasks(spec, schedule, unit, columns=WIDENED_COLUMNS if widened else 1)


def columns_meet(spec: Matmul, target: Target) -> bool:
    """Those of an A that is transposed, of which a tile reads a line each: 1024 x 512 x 256 in
    layout tn takes 2.94 ms, 2.15 if A is packed, 1000 x 512 x 256 2.09 either way; columns of a
    single vector lose, and AVX-512, whose panels take fewer tiles, gains nothing (Zen 5)."""
    meets = spec.a_strides[2] * spec.dtype.itemsize % CACHE_WAY_BYTES == 0
    wide = spec.n * spec.accumulate.itemsize > target.limits["vector_bytes"]
    return spec.layout.a_transposed and meets and wide and has_narrow_panels(target)


def matmuls_in_blocks(spec: Matmul, target: Target) -> Iterator[CpuMatmul]:
    """Blocks of K so short that a panel of B stays in the first-level cache; their sums pass
    through out, or through scratch if there is room for them. In bf16 on AVX2 2048 x 2048 x 2048
    takes 172 ms in blocks of 256 of K and 192 columns, by the longest K that fits 194 (Zen 4)."""
    grid, width = core_of(target).grid, target.limits["vector_bytes"]
    widened = spec.dtype is not spec.accumulate
    far = width in grid.in_place and not is_tall(spec, grid, width)
    in_place = (far or not is_large(spec, target)) and not widened
    in_scratch = not may_sum_in_out(spec)
    block_rows, most = blocks_compared(spec, grid, width)
    if in_scratch and not packs_ahead(spec, target):  # elsewhere that was not measured
        most = ()
    for packs_a, packs_b, vectors in itertools.product(
        (True,) if widened or spec.layout.a_transposed else (False, True),
        (False,) if spec.constant else (True, False) if in_place else (True,),
        grid.vectors[width],
    ):
        packing = Packing(a=packs_a, b=packs_b, itemsize=spec.accumulate.itemsize)
        mr, nr = register_tile(spec, target, packing, widths=[vectors])
        unit = packing.unit(spec, target, mr)
        for kc, rows, columns in itertools.product(
            depths(spec, most, packing.k_unit), block_rows, grid.parts
        ):
            mc = balanced(spec.m, rows, unit)
            room = target.limits["stack_bytes"] - packing.b * kc * nr * packing.itemsize
            room -= packs_a * copied_a(spec, packing, mc, kc)
            nc = rounded_up(-(-spec.n // columns), nr)
            if in_scratch and kc < spec.k:
                widest = room // (mc * packing.itemsize)
                nc = nc if nc <= widest else balanced(spec.n, widest, nr)
                room -= mc * nc * packing.itemsize
            if room >= 0:
                yield CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packs_a, pack_b=packing.b)


def in_grid(spec: Matmul, target: Target, grid: Grid, width: int) -> bool:
    if spec.layout.b_transposed:
        return False
    if spec.constant:
        return spec.m > grid.rows_least
    least = STREAM_ROWS if is_large(spec, target) else grid.rows_least
    few = spec.m <= grid.rows_most or packs_ahead(spec, target)
    return least < spec.m and (few or is_tall(spec, grid, width))


def is_tall(spec: Matmul, grid: Grid, width: int) -> bool:
    """Blocks of so many rows are compared that packing B is no matter."""
    return width in grid.tall and spec.m > grid.tall_least and not spec.constant


def blocks_compared(
    spec: Matmul, grid: Grid, width: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows and K of blocks, at most."""
    if is_tall(spec, grid, width):
        rows, depth = grid.tall[width]
        return (rows,), (depth,)
    return grid.rows[width], grid.depths[width]


def depths(spec: Matmul, wanted: Sequence[int], unit: int) -> list[int]:
    """K of a block, all of it last."""
    found = [balanced(spec.k, most, unit) for most in wanted]
    return [*(kc for kc in dict.fromkeys(found) if kc < spec.k), spec.k]


def copied_a(spec: Matmul, packing: Packing, mc: int, kc: int) -> int:
    """Bytes of a packed block of A, of whole vectors."""
    runs, length = (kc, mc) if spec.layout.a_transposed else (mc, kc)
    return runs * (rounded_up(length * packing.itemsize, LINE_BYTES) + ROW_PADDING)


def has_narrow_panels(target: Target) -> bool:
    """A tile that is as high as its multiply-adds want has panels of one line: 6 x 16 on AVX2."""
    return (
        target.limits["vector_registers"] <= 16 and target.limits["vector_bytes"] == LINE_BYTES // 2
    )


def has_short_blocks(spec: Matmul, target: Target) -> bool:
    """Several register tiles use a large B, in panels of one line; not where the hardware walks its
    rows, which are then multiplied in place."""
    few = NARROW_LEAST < spec.m <= STREAM_ROWS and spec.k > NARROW_K and is_large(spec, target)
    few &= not walks_stream(spec, target)
    as_it_lies = not (spec.constant or spec.layout.b_transposed)
    return few and as_it_lies and has_narrow_panels(target)


def narrow_matmuls(spec: Matmul, target: Target) -> Iterator[CpuMatmul]:
    """All packed in short blocks of K, sums in scratch, for a large B in panels of one line."""
    packing = Packing(a=True, b=True, itemsize=spec.accumulate.itemsize)
    mr, nr = register_tile(spec, target, packing, widths=[2])
    mc = rounded_up(spec.m, packing.unit(spec, target, mr))
    copies = copied_a(spec, packing, mc, NARROW_K) + NARROW_K * nr * packing.itemsize
    room = target.limits["stack_bytes"] - copies
    for wanted in NARROW_COLUMNS:
        most = min(room // (mc * packing.itemsize), wanted)
        yield CpuMatmul(mr=mr, nr=nr, mc=mc, kc=NARROW_K, nc=balanced(spec.n, most, nr))
