"""Cost model of a CPU matmul: predict the cycles of all candidate schedules of a space at once.

The model counts events (steps of loops, lines read from each cache level, runs of contiguous lines,
lines packed, partial sums moved) and multiplies each count by the cycles that the event adds to the
arithmetic on a core. Arithmetic rates are published figures (`cores.toml`). Cycles per event are
fitted to measurements (`coefficients.toml`). Predictions only rank candidates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from kgen import schedule as kinds
from kgen.schedule import BlockedMatmul
from kgen.spec import Conv2d, DType, Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.contraction import implicit_gemm as gemms
from kgen.targets.contraction.candidate_table import (
    Column,
    Fixed,
    Mask,
    Space,
    ceil_div,
    cut,
    cut_evenly,
    ranked,
)
from kgen.targets.cpu.cores import TargetCore, coefficients, core_of, fitted, log_seconds
from kgen.targets.cpu.plan.amx.tiles import TILE_ROWS, tile_k
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.kernels.blis import has_pairs
from kgen.targets.cpu.plan.kernels.dot import COLUMNS, dot_of_split
from kgen.targets.cpu.plan.kernels.gemv import rows_of_b
from kgen.targets.cpu.plan.kernels.inner_operands import k_of_step
from kgen.targets.cpu.plan.kernels.limb_parts import GROUP, limb_count
from kgen.targets.cpu.plan.kernels.transformed_tiles import transform_cycles
from kgen.targets.cpu.plan.packing.mapped_b import maps_b
from kgen.targets.cpu.plan.packing.packed_windows import (
    depth_inside,
    mainloop_of_windows,
    reads_rows,
    row_step,
    segment_of,
)
from kgen.targets.cpu.plan.packing.split_groups import Array, unfit_groups
from kgen.targets.cpu.plan.tiles.dots import Dot, dot_for
from kgen.targets.cpu.rates import TILE_PRODUCT, products
from kgen.targets.cpu.schedule.space import MatmulSpace, spaces
from kgen_runtime.values import frozen

#: Array of float64 with one entry per candidate.
Cycles: TypeAlias = Any
#: Machine instructions per group and per vector of the loops in templates/cpu/lib/products/split.j2
#: that copy a group of B, and that replace a group that exceeds 16 bits.
SPLIT_COPY, SPLIT_REPLACE = (8, 12), (20, 25)
#: Instructions of a product of a split B (three), relative to those of other products (two).
SPLIT_PRODUCT = 3 / 2
#: Row stride in bytes whose multiples cause set conflicts: they use at most a quarter of the sets;
#: bytes per page; and pages that the first-level TLB of every core holds.
CONFLICT_BYTES, PAGE_BYTES, TLB_PAGES = 2048, 4096, 64


@frozen
class Prediction:
    """Predictions per candidate: cycles of one thread with warm caches, by term, and the weighted
    `seconds` by which candidates are ranked."""

    terms: Mapping[str, Cycles]
    seconds: Cycles


def predict(spec: Matmul, target: Target, space: MatmulSpace, held: int = 0) -> Prediction:
    """Predict the time of every candidate. `held` is the number of bytes that other kernels read
    between two calls with the same B."""
    per_event, batch = coefficients(target, space.kind), spec.batch * np.ones(len(space))
    states = (False, True) if per_event["error"] else (False,)
    every = [counts_of(spec, target, space, is_cold=is_cold, held=held) for is_cold in states]
    found = [_terms(counts, per_event, batch) for counts in every]
    times = [np.sum([*terms.values()], axis=0) / core_of(target).clock for terms in found]
    seconds = np.exp(log_seconds(times, partial(_busiest, spec, space)))
    return Prediction(terms=found[0], seconds=seconds)


def _terms(
    counts: EventCounts, per_event: Mapping[str, float], times: Cycles
) -> Mapping[str, Cycles]:
    terms = {"arithmetic": counts.arithmetic}
    terms |= {name: per_event.get(name, 0.0) * count for name, count in counts.events.items()}
    l3, memory = counts.lines
    transfer = l3 * per_event["l3_line"] + memory * per_event["memory_line"]
    busy = counts.arithmetic - counts.apart + terms["steps"] + terms["tiles"]
    terms["bandwidth"] = np.maximum(transfer - busy, 0.0)
    return {name: times * cycles for name, cycles in terms.items()}


def packed_operands(conv: Conv2d) -> Fixed:
    """Return the packing of the operands of a convolution that are no matrices."""
    gemm = gemms.implicit_gemm(conv)
    windows = {"pack_a": 1} if gemms.are_windows(gemm) and not reads_rows(conv) else {}
    return windows | ({"pack_b": 1} if maps_b(gemm) else {})


def choose(spec: Matmul | Conv2d, target: Target) -> BlockedMatmul:
    found = best(spec, target)
    assert found is not None, f"no main loop of {target.name} fits {spec.key}"
    return found


def best(
    spec: Matmul | Conv2d, target: Target, fixed: Fixed | None = None, mainloop: str | None = None
) -> BlockedMatmul | None:
    """Return the schedule with the least predicted time that has the `fixed` fields, or None."""
    found = candidates(spec, target, fixed, mainloop, most=1)
    return found[0].schedule if found else None


def candidates(
    spec: Matmul | Conv2d, target: Target, fixed: Fixed | None = None, mainloop: str | None = None,
    *, most: int | None, by_kind: bool = False,
) -> tuple[Candidate[BlockedMatmul], ...]:  # fmt: skip
    """Return the `most` schedules with the least predicted times, the best first. With `by_kind`,
    return only the best schedule for each main loop and choice of packing."""
    if isinstance(spec, Conv2d):
        if not gemms.is_matrix(spec):
            fixed, mainloop = packed_operands(spec), mainloop_of_windows(spec, target)
        spec = gemms.implicit_gemm(spec)
    every = [*spaces(spec, target, fixed, mainloop)]
    if not every:
        return ()
    found = [predict(spec, target, space) for space in every]
    packings = [_packing(space) for space in every] if by_kind else None
    order = ranked([each.seconds for each in found], most, packings)
    return tuple(_candidate(target, every[i], found[i], row) for i, row in order)


def predicted(
    spec: Matmul, target: Target, schedule: BlockedMatmul, held: int = 0
) -> Candidate[BlockedMatmul]:
    space = Space.of(schedule)
    return _candidate(target, space, predict(spec, target, space, held), 0)


def split_if_faster(
    spec: Matmul | Conv2d, target: Target, weights: Sequence[Array]
) -> BlockedMatmul | None:
    """Return a schedule that splits a prepacked B; None if another schedule is predicted to be
    faster. `weights` has the values of B of each call."""
    gemm, fixed = gemms.implicit_gemm(spec) if isinstance(spec, Conv2d) else spec, {"pack_b": 1}
    splits = dot_of_split(gemm, target) is not None
    space = next(spaces(gemm, target, fixed, kinds.DotMatmul.mainloop), None) if splits else None
    if space is None:
        return None
    if gemm.layout.b_transposed:
        weights = [each.T for each in weights]
    widths, which = np.unique(space.columns["nr"], return_inverse=True)
    beyond, halved = np.mean([unfit_groups(each, widths) for each in weights], axis=0)[which].T
    known = Space(kind=space.kind, columns={**space.columns, "beyond": beyond, "halved": halved})
    seconds, whole = predict(gemm, target, known).seconds, Space.of(choose(spec, target))
    row = int(np.argmin(seconds))
    is_faster = seconds[row] < predict(gemm, target, whole).seconds[0]
    return space.schedule(row) if is_faster else None


def doubt(spec: Matmul, target: Target, schedule: BlockedMatmul, distance: float) -> float:
    """Return log(time of `schedule` / least time) - error / distance, from predicted times. The
    error is a fitted coefficient of the schedule's main loop; the result is 0 if it is 0."""
    error = coefficients(target, type(schedule))["error"]
    if not error:
        return 0.0
    both = (Space.of(each) for each in (schedule, choose(spec, target)))
    (own,), (least,) = (predict(spec, target, space).seconds for space in both)
    return math.log(own / least) - error / distance


def _candidate(
    target: Target, space: MatmulSpace, prediction: Prediction, row: int
) -> Candidate[BlockedMatmul]:
    cycles = {name: float(term[row]) for name, term in prediction.terms.items()}
    terms = {
        term: sum(cycles.get(n, 0.0) for n in names) for term, names in fitted()["events"].items()
    }
    terms["arithmetic"] += cycles["arithmetic"]
    terms["memory"] += cycles["bandwidth"]
    seconds = sum(cycles.values()) / core_of(target).clock
    return Candidate(schedule=space.schedule(row), seconds=seconds, terms=terms)


def _packing(space: MatmulSpace) -> Column:
    """Return a code from 0 to 7 for the operands that a candidate packs and for B's prefetch."""
    c = space.columns
    return 4 * c["pack_a"] + 2 * c["pack_b"] + (c.get("ahead", 0 * c["mr"]) > 0)


def _busiest(spec: Matmul, space: MatmulSpace, threads: int) -> Cycles:
    """Return the fraction of the work that the busiest thread does. Threads take tasks until none
    is left: one does its part of the tasks, and no less than the largest task."""
    c = space.columns
    if "split_k" in c:
        return ceil_div(c["split_k"], threads) / c["split_k"]
    tasks = ceil_div(spec.m, c["mc"]) * ceil_div(spec.n, c["nc"]) * spec.batch
    largest = np.minimum(c["mc"] / spec.m, 1) * np.minimum(c["nc"] / spec.n, 1) / spec.batch
    return np.maximum(ceil_div(tasks, threads) / tasks, largest)


@frozen
class EventCounts:
    """Event counts of all candidates of a space. `lines` are lines of B from the last-level cache
    and from memory; `apart` are cycles of arithmetic that do not overlap their reads."""

    arithmetic: Cycles
    lines: tuple[Cycles, Cycles]
    events: Mapping[str, Cycles]
    apart: Cycles = 0.0


def counts_of(
    spec: Matmul, target: Target, space: MatmulSpace, *, is_cold: bool = False, held: int = 0
) -> EventCounts:
    """Count the events of every candidate of a space. With `is_cold`, B is read from memory."""
    core, whole = TargetCore(target=target), gemms.of_all_positions(spec)
    loop = _Loop(spec=whole, core=core, space=space, is_cold=is_cold, held=held)
    count = {kinds.InnerMatmul: _inner, kinds.OuterMatmul: _outer}.get(space.kind, _blocked)
    return count(loop)


@frozen
class _Loop:
    """Rates and reads of operands that the counts of all main loops share."""

    spec: Matmul
    core: TargetCore
    space: MatmulSpace
    is_cold: bool
    held: int

    @cached_property
    def dot(self) -> Dot | None:
        packs = self.space.kind is kinds.DotMatmul and bool(np.any(self.space.columns["pack_b"]))
        split = dot_of_split(self.spec, self.core.target) if packs else None
        return split or dot_for(self.spec.dtype, self.core.target)

    @property
    def splits(self) -> bool:
        """Whether tasks split B in groups whose products fit in 16 bits."""
        return self.dot is not None and bool(self.dot.adds_pairs)

    @cached_property
    def group(self) -> int:
        """Elements of K in a step of a register tile."""
        if self.space.kind is kinds.AmxMatmul:
            return tile_k(self.spec.dtype)
        if self.space.kind is kinds.LimbsMatmul:
            return GROUP
        return self.dot.group if self.dot and self.space.kind is kinds.DotMatmul else 1

    @cached_property
    def lanes(self) -> int:
        """Accumulators per vector."""
        if self.dot and not issubclass(self.space.kind, kinds.CpuMatmul | kinds.InnerMatmul):
            return vector_for(self.core.target, DType.F32, COLUMNS).count
        return finishing_vector(self.spec, self.core.target, self.spec.n).count

    @cached_property
    def products(self) -> float:
        """Vectors of products per cycle; each lane multiplies one k or one group of k."""
        each = products(self.spec.dtype, self.core.target)
        return each / SPLIT_PRODUCT if self.splits else each

    @property
    def b_stride(self) -> int:
        return self.spec.b_strides[1] * self.spec.b_type.itemsize

    @property
    def matrix_bytes(self) -> int:
        return self.spec.m * self.spec.k * self.spec.dtype.itemsize

    @cached_property
    def b_bytes(self) -> int:
        """Bytes of the operand that is read once: B, or the larger operand of an inner product."""
        a_bytes = self.matrix_bytes * (self.space.kind is kinds.InnerMatmul)
        return max(self.spec.k * self.spec.n * self.spec.b_type.itemsize, a_bytes)

    @property
    def b_lines(self) -> float:
        return self.b_bytes / LINE_BYTES

    def runs_of_blocks(self, columns: Column) -> dict[str, Cycles]:
        """Return the number of contiguous runs of B that blocks of `columns` columns read. The runs
        of a prepacked or transposed B are rows of the blocks. Those of an unpacked row-major B end
        at page boundaries ("pieces"); whole rows follow each other without a gap."""
        spec, across = self.spec, ceil_div(self.spec.n, columns)
        if spec.constant or spec.layout.b_transposed:
            return {"rows": spec.k * across, "pieces": 0.0}
        pages = columns * spec.b_type.itemsize / PAGE_BYTES
        return {"rows": 0.0, "pieces": spec.k * across * (pages + (columns < spec.n))}

    def straddling(self, stride: int) -> float:
        """Return the fraction of vectors that straddle two lines, in rows `stride` bytes apart."""
        return max(self.core.width - math.gcd(stride, LINE_BYTES), 0) / LINE_BYTES

    def counts(
        self, arithmetic: Cycles, events: Mapping[str, Cycles], ways: Mapping[str, Mask],
        reads: Mapping[str, Cycles], times: Cycles = 1.0, apart: Cycles = 0.0,
    ) -> EventCounts:  # fmt: skip
        """Return the event counts, with the first reads of operands added from `reads`. `ways` maps
        each way to read B first (multiply-adds, packing, software prefetches) to a mask of the
        candidates that use it."""
        spec, first_read = self.spec, partial(self.core.first_read, is_cold=self.is_cold)
        # Operands of all batch elements share the caches.
        whole_b = spec.parameter("b").nbytes if spec.batch > 1 else self.b_bytes
        place = first_read(max(whole_b, self.b_bytes, self.held))
        packs_a, lines = self.space.columns["pack_a"] > 0, self.b_lines + 0.0 * reads["runs"]
        l2, from_memory = self.core.target.limits["l2_bytes"], place == "memory"
        far, again = float(self.b_bytes > l2), np.maximum(times - 1, 0) * lines
        # Each task of a kernel that transforms tiles reads B from as far away as the first task.
        anew, found = again * far * (gemms.positions_of(spec) > 1), dict[str, Cycles]()
        for way, mask in ways.items():
            found |= {f"{way}_far": anew * mask, f"{way}_runs_{place}": reads["runs"] * mask}
            found[f"{way}_{place}"] = (lines + anew * (place == "far")) * mask
            for name in ("waits", "rows", "pieces", "streams"):
                found[f"{way}_{name}"] = reads[name] * mask * from_memory
        # Rows of A may be windows or tiles of images.
        has_images = isinstance(spec, gemms.ImplicitGemm)
        whole_a, whole_out = spec.parameter("a").nbytes, spec.m * spec.n * spec.out.itemsize
        a_bytes = whole_a / spec.batch if has_images else self.matrix_bytes
        a_place, out_place = map(first_read, (whole_a, spec.batch * whole_out))
        found[f"packed_a_first_{a_place}"] = packs_a * a_bytes / LINE_BYTES
        for way, mask in (("a", ~packs_a), ("packed_a", packs_a)):
            found[f"{way}_runs_{a_place}"] = reads["a_runs"] * mask
        found |= {f"out_runs_{out_place}": reads["out_runs"], f"pages_{place}": reads["pages"]}
        found |= {"b_l2": (1 - far) * again, "b_far": far * again}
        found |= {name: count + found.get(name, 0.0) for name, count in events.items()}
        from_both = (far * again + lines * (place == "far"), lines * from_memory)
        return EventCounts(arithmetic=arithmetic, lines=from_both, events=found, apart=apart)


def _blocked(loop: _Loop) -> EventCounts:
    """Count main loops of register tiles in blocks: blis, ahead, split-k, dot, amx, limbs."""
    spec, c, none = loop.spec, loop.space.columns, np.zeros(len(loop.space), np.int64)
    mr, nr, mc, nc, kc = (c[name] for name in ("mr", "nr", "mc", "nc", "kc"))
    packs_a, packs_b = c["pack_a"] > 0, c["pack_b"] > 0
    in_rows = ~packs_b & (not spec.constant)
    is_amx, group = loop.space.kind is kinds.AmxMatmul, loop.group
    positions, steps = gemms.positions_of(spec), -(-spec.k // group)
    depth, rows = np.minimum(kc, spec.k), np.minimum(mc, spec.m)
    columns = np.minimum(nc * c.get("tasks_per_pass", 1), spec.n)
    deep, down, across = ceil_div(spec.k, kc), ceil_div(spec.m, mc), ceil_div(spec.n, columns)
    # Kernels use tiles of mr and mr - 1 rows if all blocks have equally many rows.
    heights = cut_evenly(spec.m, mr, ~((spec.m > mc) & (spec.m % mc > 0)))
    lanes = TILE_ROWS if is_amx else loop.lanes
    widths = cut(-(-spec.n // lanes), nr // lanes)
    row_tiles, panels = (sum((n for _, n in cut), none) for cut in (heights, widths))
    pairs = [(r, v, n * w) for r, n in heights for v, w in widths]
    inside = _inside(loop)
    busy, longer = (
        inside * steps * sum((n * _step(loop, r, v, twice) for r, v, n in pairs), np.zeros(1))
        for twice in (0.0, in_rows * loop.straddling(loop.b_stride))
    )

    itemsize, packed = spec.accumulate.itemsize, max(spec.accumulate.itemsize // group, 1)
    # Tasks of the same columns follow each other, and the first packs B for all of them.
    in_stack = kc * nc * itemsize // group <= loop.core.target.limits["stack_bytes"]
    kept_by_amx = is_amx & (deep == 1) & in_stack & (~packs_a | (across == 1))
    keeps_b = packs_b & (kept_by_amx | (c.get("keep_b", none) > 0))
    times = np.where(keeps_b, 1, down).astype(np.float64)
    b_lines = spec.k * spec.n * np.where(packs_b, packed, spec.b_type.itemsize) / LINE_BYTES
    again = (row_tiles - down) * b_lines
    row = np.maximum(nr * spec.b_type.itemsize, 1)
    unpacked_level = loop.core.level_of_rows(depth, np.maximum(row, LINE_BYTES), loop.b_stride)
    panel_level: Column = np.where(in_rows, unpacked_level, loop.core.level(depth * row))
    in_page = min(1.0, loop.b_stride / PAGE_BYTES)
    misses = in_rows * (depth * in_page > TLB_PAGES)
    a_item = np.where(packs_a, packed, spec.dtype.itemsize)
    # Windows that tiles read in place overlap.
    in_place, a_step = ~packs_a & (segment_of(spec) > 0), _a_step(spec)
    own = np.where(in_place, np.minimum(a_step / depth, 1.0), 1.0)
    a_lines, a_row = own * spec.m * spec.k * a_item / LINE_BYTES, own * spec.k * spec.dtype.itemsize
    a_stride = a_step * spec.dtype.itemsize
    # Tasks that split B pack A one after the other, in the same place.
    held = np.where(keeps_b & ~(packs_a & loop.splits), spec.m, rows)
    run = own * depth * a_item
    a_level = loop.core.level_of_rows(held, run, np.where(packs_a, run, a_stride), depth * row)
    a_again = a_lines * (panels - 1)
    # The tiles at both ends of an image row read a padded copy of theirs.
    ends = spec.m / mc * deep * np.minimum(mc / mr, 2)
    strips = ends * ((mr - 1) * a_step + depth) * spec.dtype.itemsize / LINE_BYTES
    leaves = (loop.core.level(held * a_row) == 2) & ~keeps_b

    # Unless sums are in out or in AMX tiles, a pass over scratch memory finishes them.
    in_out = (deep == 1) | (c.get("sums_in_out", none) > 0)
    in_pass = ~(in_out | is_amx | (positions > 1))
    kept = spec.m * spec.n * itemsize / LINE_BYTES * np.where(deep > 1, deep + in_pass, 0)
    # Tiles prefetch B: their own panel, the next one, or the next block.
    own, ahead = (c.get(name, none) > 0 for name in ("ahead", "prefetch_panel"))
    next_block = (deep > 1) & in_rows & ~own & ~ahead
    block, two = positions * rows * (columns + depth) + columns * depth, 2.0 * depth * columns
    kept_level = loop.core.level(block * itemsize)
    vectors, loads = sum((r * v * n for r, v, n in pairs), none), loop.core.loads
    sums = np.where(deep > positions, 2, 1) * deep * vectors
    moved = transform_cycles(spec, across, loop.lanes, loop.core.multiply_adds, loads)
    moved = moved + 2 * vectors / loads * in_pass
    taken = steps * row_tiles * panels
    if loop.splits:
        # Without values of B, no group is expected to fit.
        beyond, parts = c.get("beyond", 1 + none), 1 + c.get("halved", 1 + none)
        busy, longer, taken = busy * parts, longer * parts, taken * parts * SPLIT_PRODUCT
        across_n = ceil_div(spec.n, lanes)
        for share, (group, vector) in ((1.0, SPLIT_COPY), (beyond, SPLIT_REPLACE)):
            executed = share * times * steps * (group * panels + vector * across_n)
            moved = moved + executed / loop.core.multiply_adds
    busy, longer = busy + moved, longer + moved
    events = {
        "steps": inside * taken,
        "tiles": deep * row_tiles * panels,
        "sums": sums,
        "straddles": longer - busy,
        "straddled_sums": sums * in_out * loop.straddling(spec.n * spec.out.itemsize),
        "a_l2": a_again * (a_level == 1),
        "a_far": a_again * (a_level == 2) + np.where(leaves, across - 1, 0) * a_lines,
        "b_l2": again * (panel_level == 1),
        "b_far": again * (panel_level == 2),
        "conflicts": a_again * (a_level > 0) * ~packs_a * (a_stride % CONFLICT_BYTES == 0)
        + loop.b_lines * (row_tiles - down) * in_rows * (loop.b_stride % CONFLICT_BYTES == 0),
        "pack_a": across * ((1 + loop.splits) * packs_a * a_lines + in_place * strips),
        "pack_b": packs_b * times * b_lines,
        "kept_l2": kept * (kept_level == 1),
        "kept_far": kept * (kept_level == 2),
        "into_l2": loop.b_lines * own * ~packs_b * (c.get("level", none) == 2),
        "lost": next_block * loop.b_lines * (loop.core.level(two * itemsize) == 2),
        "tasks": c["split_k"] + 1 if "split_k" in c else down * across,
    }
    runs = 1.0 * panels * (deep if spec.constant else spec.k)
    # Lines that tiles prefetch past the end of a run are read after all other positions.
    panel = depth * loop.lanes * spec.b_type.itemsize
    late = own * (positions > 1) * (positions < deep) * np.minimum(c.get("ahead", none) / panel, 1)
    ways = {
        "first": ~(packs_b | own | ahead | next_block) + late, "packed": packs_b & ~own,
        "packed_ahead": packs_b & own, "fetched": (own & ~packs_b) - late, "blocks": next_block,
        "panels": ahead,
    }  # fmt: skip
    reads = {
        "runs": runs * times,
        "waits": loop.b_lines * np.minimum(mr, spec.m),
        "streams": runs * np.log2(1 if spec.constant else depth),
        "pages": misses * spec.k * panels * in_page * (row_tiles - down + 1),
        "a_runs": spec.m * deep / np.where(in_place, mc, 1), "out_runs": spec.m * panels,
    }  # fmt: skip
    reads |= {name: times * runs for name, runs in loop.runs_of_blocks(columns).items()}
    return loop.counts(busy, events, ways, reads, times, apart=moved)


def _a_step(spec: Matmul) -> int:
    """Return the elements from one row of A to the next in memory; rows may be windows."""
    if not segment_of(spec):
        return spec.a_strides[1]
    assert isinstance(spec, gemms.ImplicitGemm)
    return row_step(spec.operation)


def _inside(loop: _Loop) -> Cycles:
    """Return the share of K that tiles multiply: they leave out rows of the kernel in padding."""
    spec, mr = loop.spec, loop.space.columns["mr"]
    if not (issubclass(loop.space.kind, kinds.CpuMatmul) and segment_of(spec)) or has_pairs(spec):
        return 1.0
    assert isinstance(spec, gemms.ImplicitGemm)
    inside = depth_inside(spec.operation)
    heights, which = np.unique(mr, return_inverse=True)
    return np.array([inside.share(int(rows)) if inside else 1.0 for rows in heights])[which]


def _step(loop: _Loop, rows: Column, vectors: Column, straddling: Column | float) -> Cycles:
    """Return the cycles of a register tile's step: the most of multiply-adds, loads and latency.
    The fraction `straddling` of B's vectors lies in two lines and counts as two loads."""
    spec, kind, has_halves = loop.spec, loop.space.kind, has_pairs(loop.spec)
    if kind is kinds.AmxMatmul:
        return ceil_div(rows, TILE_ROWS) * vectors * TILE_PRODUCT
    packs_b = loop.space.columns["pack_b"] > 0
    each = limb_count(spec) if kind is kinds.LimbsMatmul else 1
    converts: Cycles = np.zeros(1)
    if kind is kinds.DotMatmul:
        converts = ~packs_b * (not spec.constant) * vectors * loop.group / 2
    elif has_halves:
        converts = vectors / 2
    elif spec.b_type is not spec.accumulate:
        converts = ~packs_b * vectors
    rate = loop.products if kind is kinds.DotMatmul else loop.core.multiply_adds
    adds = (rows * vectors * each + converts) / rate
    # A step of a split B reads its place in A.
    loads = (rows * each + vectors * (1 + straddling) + loop.splits) / loop.core.loads
    latency = np.where(rows > 0, loop.core.rates.latency / (1 + has_halves), 0)
    return np.maximum(np.maximum(adds, loads), latency)


def _inner(loop: _Loop) -> EventCounts:
    """Count inner products: vectors along K, folded at the end of each block of K."""
    spec, c = loop.spec, loop.space.columns
    mr, nr, kc, unroll = (c[name] for name in ("mr", "nr", "kc", "unroll"))
    deep = spec.k // kc
    steps = deep * ceil_div(kc, k_of_step(spec, loop.core.target) * unroll)
    widened = spec.dtype is not spec.accumulate and not loop.dot
    straddling = loop.straddling(spec.k * spec.dtype.itemsize)
    tiles, cycles, straddled = np.zeros(1), np.zeros(1), np.zeros(1)
    for r, n in cut(spec.m, mr):
        for v, w in cut(spec.n, nr):
            products = (r * v + widened * (r + v)) * unroll / loop.products
            loads = (r + v) * unroll / loop.core.loads
            least = np.maximum(products, np.where(r * v > 0, loop.core.rates.latency, 0))
            tiles, cycles = tiles + n * w, cycles + n * w * np.maximum(least, loads)
            straddled = straddled + n * w * np.maximum(least, loads * (1 + straddling))
    # The operand with fewer rows or columns is read again for each panel of the other one.
    few, many, panel = (spec.n, spec.m, mr) if spec.m > spec.n else (spec.m, spec.n, nr)
    held = ceil_div(few, nr if spec.m > spec.n else mr) - 1
    again = few * spec.k * spec.dtype.itemsize / LINE_BYTES * (ceil_div(many, panel) - 1)
    level, panel_level = (loop.core.level(n * kc * spec.dtype.itemsize) for n in (few, panel))
    sums = deep * spec.m * spec.n * 1.0
    events = {
        "steps": steps * tiles,
        "tiles": deep * tiles,
        "folds": sums,
        "straddles": steps * (straddled - cycles),
        "sums": sums / loop.lanes,
        "a_l2": again * (level == 1),
        "a_far": again * (level == 2),
        "b_l2": held * loop.b_lines * (panel_level == 1),
        "b_far": held * loop.b_lines * (panel_level == 2),
        "pack_b": c["pack_b"] * spec.k * spec.n * spec.b_type.itemsize / LINE_BYTES * 4,
        "tasks": ceil_div(spec.m, c["mc"]) * ceil_div(spec.n, c["nc"]),
    }
    runs, fetched = many * deep * 1.0, c["prefetch"] > 0
    reads = {
        "runs": runs, "waits": 0.0, "rows": runs, "pieces": 0.0, "streams": runs * np.log2(panel),
        "pages": 0.0, "a_runs": few * deep, "out_runs": spec.m * ceil_div(spec.n, nr),
    }  # fmt: skip
    return loop.counts(steps * cycles, events, {"first": ~fetched, "fetched": fetched}, reads)


def _outer(loop: _Loop) -> EventCounts:
    """Count outer products: each group of B's rows is multiplied with all rows of A; accumulators
    stay in a cache."""
    spec, c = loop.spec, loop.space.columns
    parts, nr, kc, halves = c["parts"], c["nr"], c["kc"], c["halves"] > 0
    rows = rows_of_b(spec, loop.core.target)
    assert rows is not None
    words = (c["words"] > 0) | rows.by_words
    group, parted = np.where(words, 1, rows.group), np.where(halves, 2, 1)
    width, vectors = loop.core.width // parted, nr / (loop.lanes // parted)
    steps = ceil_div(spec.k, parts) * ceil_div(spec.n, nr)
    rate = np.where(words, loop.core.multiply_adds, loop.products)
    rate = np.where(halves, loop.core.rates.multiply_adds.get(loop.core.width // 2, rate), rate)
    products = spec.m * (parts / group) * vectors + parts * vectors * ((group > 1) | words)
    b_vectors = parts * nr * spec.b_type.itemsize / width
    loads = (b_vectors + spec.m * vectors) / loop.core.loads
    in_lines = b_vectors / loop.core.loads * loop.straddling(loop.b_stride)
    least = np.maximum(products / rate, spec.m * vectors)
    busy = np.maximum(least, loads)
    fetched, whole = c["prefetch"] > 0, kc == parts
    columns = np.minimum(c["nc"] * c["tasks_per_pass"], spec.n)
    across = ceil_div(spec.n, columns)
    pages = spec.n * spec.b_type.itemsize / PAGE_BYTES
    level = loop.core.level(spec.m * columns * spec.accumulate.itemsize + 4.0 * LINE_BYTES)
    kept = spec.m * spec.n * spec.accumulate.itemsize / LINE_BYTES * ceil_div(spec.k, parts)
    events = {
        "into_l2": loop.b_lines * fetched * (c["level"] == 2),
        "late": loop.b_lines * (fetched & whole & (c["prefetch"] * c["apart"] < parts)),
        "steps": steps * 1.0,
        "tiles": ceil_div(spec.k, kc) * across * 1.0,
        "moved": steps * spec.m * vectors,
        "straddles": steps * (np.maximum(least, loads + in_lines) - busy),
        "kept_l2": kept * (level == 1),
        "kept_far": kept * (level == 2),
        "tasks": ceil_div(spec.n, c["nc"]) * 1.0,
    }
    runs = spec.k * np.where(whole & (across == 1), pages, across * 1.0)
    reads = {
        "runs": runs, "waits": loop.b_lines * spec.m, "pages": 0.0,
        "streams": runs * np.log2(parts), "a_runs": spec.m, "out_runs": spec.m * across,
    } | loop.runs_of_blocks(columns)  # fmt: skip
    # The products of a sum follow each other, and only those of other sums hide their latency.
    chain = spec.k / group * loop.core.rates.latency
    cycles = np.maximum(steps * busy, chain)
    return loop.counts(cycles, events, {"first": ~fetched, "fetched": fetched}, reads)
