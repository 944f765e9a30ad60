"""Cost model of a CPU matmul: predicted cycles of every candidate of a space at once.

The model counts events (steps of loops, lines read from each cache level, runs of contiguous lines,
lines packed, partial sums moved) and multiplies each count by the cycles that the event adds to the
arithmetic on a core. Rates of arithmetic are published (:mod:`kgen.targets.cpu.schedule.cores`);
cycles per event are fitted to measurements (`coefficients.toml`). A prediction ranks candidates; it
is not a measurement.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Any, TypeAlias

import numpy as np

from kgen.schedule import (
    AmxMatmul,
    BlockedMatmul,
    CpuMatmul,
    DotMatmul,
    InnerMatmul,
    LimbsMatmul,
    OuterMatmul,
)
from kgen.spec import DType, Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.cpu.plan.amx.tiles import TILE_ROWS, tile_k
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.finishing import finishing_type
from kgen.targets.cpu.plan.kernels.blis_pairs import has_pairs
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.kernels.gemv_strips import Taken, rows_of_b
from kgen.targets.cpu.plan.kernels.inner_vectors import k_of_step
from kgen.targets.cpu.plan.kernels.limb_parts import GROUP, limb_count
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.schedule.cores import Core, core_of
from kgen.targets.cpu.schedule.space import Column, Fixed, Mask, Space, ceil_div, spaces
from kgen_runtime.values import frozen

#: Array of float64 with one entry per candidate.
Cycles: TypeAlias = Any
#: Cycles that a product of two AMX tiles keeps the tile unit busy (Intel Optimization Reference
#: Manual 248966, "Intel AMX": 16 rows, one a cycle).
TILE_PRODUCT = 16.0
#: Bytes of a way of the first- and second-level cache: lines a multiple of these apart share a set.
WAY_BYTES = (4096, 1 << 17)
#: Distance of rows that share a quarter of the sets or fewer, bytes of a page, and pages that a
#: first-level TLB holds at least.
CONFLICT_BYTES, PAGE_BYTES, TLB_PAGES = 2048, 4096, 64
#: Part of a cache that one operand of several has to itself.
SHARE = 0.8
#: Threads that a schedule is chosen for, with the weight of each; and cycles until a further thread
#: has begun.
THREADS, START_CYCLES = ((1, 0.6), (2, 0.3), (8, 0.1)), 6000.0
#: Events of the model, in words.
EVENTS: Mapping[str, str] = {
    "steps": "iterations of the innermost loop",
    "tiles": "register tiles",
    "sums": "vectors of sums between registers and memory",
    "a_l2": "lines of A read again from the second-level cache",
    "a_far": "lines of A read again from beyond it",
    "b_l2": "lines of B read again from the second-level cache",
    "b_far": "lines of B read again from beyond it",
    "conflicts": "lines of rows that share cache sets",
    "pages": "rows of B that miss the first-level TLB",
    "first_l2": "lines of B read first from the second-level cache",
    "first_far": "lines of B read first from beyond it",
    "runs_l2": "runs of such lines in the second-level cache",
    "runs_far": "runs of such lines beyond it",
    "fetched": "lines of B that software prefetches",
    "pack_a": "lines of A that are packed",
    "pack_b": "lines of B that are packed",
    "moved": "vectors of sums of outer products loaded and stored in the first-level cache",
    "kept_l2": "lines of partial sums kept in the second-level cache",
    "kept_far": "lines of partial sums kept beyond it",
    "folds": "vectors of sums that are folded",
    "tasks": "tasks",
}
#: Terms of a prediction that `kgen build --explain` prints, and the events that each adds up.
TERMS: Mapping[str, tuple[str, ...]] = {
    "arithmetic": ("arithmetic", "steps", "tiles", "folds"),
    "sums": ("sums", "moved", "kept_l2", "kept_far"),
    "a": ("a_l2", "a_far", "conflicts"),
    "b": ("b_l2", "b_far", "pages"),
    "memory": ("first_l2", "first_far", "runs_l2", "runs_far", "fetched", "bandwidth"),
    "packing": ("pack_a", "pack_b"),
    "tasks": ("tasks",),
}


@frozen
class Prediction:
    """Cycles of one thread by term, and the objective: weighted seconds over numbers of threads."""

    terms: Mapping[str, Cycles]
    cycles: Cycles
    seconds: Cycles


@cache
def coefficients(name: str, kind: str) -> Mapping[str, float]:
    """Return the fitted cycles per event of a core, for vectors of `kind` bytes or for "amx"; those
    of the first core that has the kind if the core was not measured with it."""
    path = resources.files("kgen.targets.cpu.schedule") / "coefficients.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    cores: Mapping[str, Mapping[str, Mapping[str, float]]] = table["cores"]
    return next(c[kind] for c in (cores[name], *cores.values()) if kind in c)


def predict(spec: Matmul, target: Target, space: Space) -> Prediction:
    """Predict the time of every candidate of a space."""
    core = core_of(target)
    counts = counts_of(spec, target, space)
    kind = "amx" if space.kind is AmxMatmul else str(target.limits["vector_bytes"])
    per_event = coefficients(core.fitted_as, kind)
    terms = {"arithmetic": counts.arithmetic + np.zeros(len(space))}
    terms |= {name: per_event.get(name, 0.0) * count for name, count in counts.events.items()}
    busy = terms["arithmetic"] + terms["steps"] + terms["tiles"]
    transfer = (
        counts.lines_l3 * per_event["l3_line"] + counts.lines_memory * per_event["memory_line"]
    )
    terms["bandwidth"] = np.maximum(transfer * counts.slowdown - busy, 0.0)
    terms = {name: spec.batch * np.asarray(cycles, np.float64) for name, cycles in terms.items()}
    cycles = np.sum([*terms.values()], axis=0)
    weighted = np.zeros(len(space))
    for threads, weight in THREADS:
        share = _busiest(spec, space, threads)
        weighted += weight * np.log(threads * (cycles * share + START_CYCLES * (share < 1)))
    return Prediction(terms=terms, cycles=cycles, seconds=np.exp(weighted) / core.clock)


def best(
    spec: Matmul, target: Target, fixed: Fixed | None = None, mainloop: str | None = None
) -> BlockedMatmul | None:
    """Return the legal schedule of the least predicted time that has the `fixed` fields and the
    main loop, if one is named; None if there is none."""
    found = candidates(spec, target, fixed, mainloop, most=1)
    return found[0].schedule if found else None


def candidates(
    spec: Matmul,
    target: Target,
    fixed: Fixed | None = None,
    mainloop: str | None = None,
    *,
    most: int,
) -> tuple[Candidate[BlockedMatmul], ...]:
    """Return the legal schedules of the least predicted time, the best first."""
    found = list(spaces(spec, target, fixed, mainloop))
    if not found:
        return ()
    predictions = [predict(spec, target, space) for space in found]
    seconds = np.concatenate([each.seconds for each in predictions])
    starts = np.cumsum([0, *(len(space) for space in found)])
    ranked = []
    for place in np.argsort(seconds, kind="stable")[:most]:
        number = int(np.searchsorted(starts, place, side="right")) - 1
        row = int(place - starts[number])
        found_terms = predictions[number].terms
        terms = {
            term: sum(float(found_terms[name][row]) for name in names if name in found_terms)
            for term, names in TERMS.items()
        }
        ranked.append(
            Candidate(
                schedule=found[number].schedule(row),
                seconds=float(predictions[number].cycles[row]) / core_of(target).clock,
                terms=terms,
            )
        )
    return tuple(ranked)


def alternatives(spec: Matmul, target: Target) -> tuple[BlockedMatmul, ...]:
    """Return the best schedule of each main loop and way of packing, the best first."""
    found: list[tuple[float, int, BlockedMatmul]] = []
    for space in spaces(spec, target):
        seconds = predict(spec, target, space).seconds
        c, zeros = space.columns, np.zeros(len(space), np.int64)
        kinds = np.stack([c["pack_a"], c["pack_b"], c.get("ahead", zeros) > 0], axis=1)
        for kind in np.unique(kinds, axis=0):
            rows = np.flatnonzero((kinds == kind).all(axis=1))
            row = int(rows[np.argmin(seconds[rows])])
            found.append((float(seconds[row]), len(found), space.schedule(row)))
    return tuple(schedule for _, _, schedule in sorted(found, key=lambda each: each[:2]))


def _busiest(spec: Matmul, space: Space, threads: int) -> Cycles:
    """Return the part of the work that the busiest of some threads has."""
    if threads == 1:
        return np.ones(len(space))
    c = space.columns
    if "split_k" in c:
        return ceil_div(c["split_k"], threads) / c["split_k"]
    tasks = ceil_div(spec.m, c["mc"]) * ceil_div(spec.n, c["nc"]) * spec.batch
    block = np.minimum(c["mc"], spec.m) * np.minimum(c["nc"], spec.n)
    share = ceil_div(tasks, threads) * block / (spec.m * spec.n * spec.batch)
    return np.clip(share, 1 / threads, 1.0)


@frozen
class EventCounts:
    """Counts of a space: cycles of arithmetic, lines of B from beyond the second-level cache, the
    factor by which too few streams slow these down, and the events."""

    arithmetic: Cycles
    lines_l3: Cycles
    lines_memory: Cycles
    slowdown: Cycles
    events: Mapping[str, Cycles]


def counts_of(spec: Matmul, target: Target, space: Space) -> EventCounts:
    """Count the events of every candidate of a space."""
    core = core_of(target)
    if space.kind is InnerMatmul:
        return _Inner(spec=spec, target=target, space=space, core=core).counts
    if space.kind is OuterMatmul:
        return _Outer(spec=spec, target=target, space=space, core=core).counts
    return _Blocked(spec=spec, target=target, space=space, core=core).counts


@frozen
class _Loop:
    """Base of the counts of all main loops: cache levels, rates, and the reads of B."""

    spec: Matmul
    target: Target
    space: Space
    core: Core

    def __getitem__(self, name: str) -> Column:
        return self.space.columns[name]

    @cached_property
    def lanes(self) -> int:
        """Sums of a vector."""
        plain = issubclass(self.space.kind, CpuMatmul | InnerMatmul)
        if dot_for(self.spec.dtype, self.target) and not plain:
            return vector_for(self.target, DType.F32, COLUMNS).count
        return vector_for(self.target, finishing_type(self.spec), self.spec.n).count

    @property
    def width(self) -> int:
        return self.target.limits["vector_bytes"]

    @cached_property
    def rate(self) -> float:
        """Vectors of products per cycle, each of one K or one group of K."""
        dot = dot_for(self.spec.dtype, self.target)
        rate = self.core.multiply_adds.get(self.width, 1.0)
        if dot and self.spec.dtype is DType.BF16:
            return self.core.pairs * LINE_BYTES / self.width
        return rate if dot is None or dot.adds else rate / 2

    @property
    def loads(self) -> float:
        return self.core.loads.get(self.width, 1.0)

    @property
    def b_bytes(self) -> int:
        return self.spec.k * self.spec.n * self.spec.b_type.itemsize

    @cached_property
    def b_lines(self) -> float:
        return self.b_bytes / LINE_BYTES

    @property
    def is_far(self) -> bool:
        """B does not stay in the second-level cache."""
        return self.b_bytes > self.target.limits["l2_bytes"]

    @property
    def is_in_memory(self) -> bool:
        """B takes more of the last-level cache than one core of several may count on."""
        return self.b_bytes > self.target.limits["l3_bytes"] / 2

    def level(self, nbytes: Column | Cycles, beside: Column | Cycles | float = 0) -> Column:
        """Return 0, 1 or 2: the first, the second or a farther level holds so many bytes."""
        limits = self.target.limits
        near = nbytes + beside <= SHARE * limits["l1_bytes"]
        return np.where(near, 0, np.where(nbytes + beside <= SHARE * limits["l2_bytes"], 1, 2))

    def level_of_rows(
        self, rows: Column, length: Column, stride: Column | int, beside: Column | float = 0
    ) -> Column:
        """Return the level that holds rows of `length` bytes, `stride` bytes apart: rows that begin
        in few sets leave the others unused."""
        strides = np.broadcast_to(np.asarray(stride, np.int64), rows.shape)
        taken = [rows * np.maximum(length, np.gcd(strides, way)) + beside for way in WAY_BYTES]
        limits = self.target.limits
        near = taken[0] <= SHARE * limits["l1_bytes"]
        return np.where(near, 0, np.where(taken[1] <= SHARE * limits["l2_bytes"], 1, 2))

    def first(self, runs: Cycles, fetched: Mask, times: Cycles) -> dict[str, Cycles]:
        """Return the events of reading B for the first time, by all tasks that do: lines, and runs
        of lines that the hardware prefetcher must find; `fetched` by software instead."""
        lines = np.broadcast_to(self.b_lines, fetched.shape)
        missed, again = ~fetched, np.maximum(times - 1, 0)
        far = float(self.is_far)
        return {
            "first_l2": (1 - far) * lines * missed,
            "first_far": far * lines * missed,
            "runs_l2": (1 - far) * runs * missed * times,
            "runs_far": far * runs * missed * times,
            "fetched": lines * fetched,
            "b_far": far * again * lines,
            "b_l2": (1 - far) * again * lines,
        }

    def transfers(self, times: Cycles) -> tuple[Cycles, Cycles]:
        """Return the lines of B that come from the last-level cache and from memory."""
        again = np.maximum(times - 1, 0) * self.b_lines * self.is_far
        first = np.full(times.shape, self.b_lines)
        none = np.zeros(times.shape)
        if self.is_in_memory:
            return again, first
        return (first + again, none) if self.is_far else (none, none)


def _cut(extent: int, part: Column) -> tuple[tuple[Column, Column], tuple[Column, Column]]:
    """Cut an extent into parts, as (size, count) of whole ones and of the remainder."""
    rest = extent % part
    return (np.minimum(part, extent), extent // part), (rest, (rest > 0).astype(np.int64))


def _heights(extent: int, part: Column, whole: Column) -> tuple[tuple[Column, Column], ...]:
    """Cut rows into register tiles as kernels do: where that leaves no tile lower than one row less
    than `part`, in tiles of `part` rows and of one row less. `whole` blocks are cut alike."""
    tiles = ceil_div(extent, part)
    missing = tiles * part - extent
    even = (missing > 0) & (missing < tiles) & (whole > 0)
    (first, count), (rest, last) = _cut(extent, part)
    return (
        (first, np.where(even, tiles - missing, count)),
        (np.where(even, part - 1, rest), np.where(even, missing, last)),
    )


class _Blocked(_Loop):
    """Main loops of register tiles in blocks: blis, ahead, split-k, dot, amx, limbs."""

    @cached_property
    def depth(self) -> Column:
        return np.minimum(self["kc"], self.spec.k)

    @cached_property
    def deep(self) -> Column:
        return ceil_div(self.spec.k, self["kc"])

    @cached_property
    def down(self) -> Column:
        return ceil_div(self.spec.m, self["mc"])

    @cached_property
    def columns(self) -> Column:
        """Columns of a pass over A."""
        tasks = self.space.columns.get("tasks_per_pass", np.int64(1))
        return np.minimum(self["nc"] * tasks, self.spec.n)

    @cached_property
    def across(self) -> Column:
        return ceil_div(self.spec.n, self.columns)

    @cached_property
    def is_amx(self) -> bool:
        return self.space.kind is AmxMatmul

    @cached_property
    def heights(self) -> tuple[tuple[Column, Column], ...]:
        varies = (self.spec.m > self["mc"]) & (self.spec.m % self["mc"] > 0)
        return _heights(self.spec.m, self["mr"], ~varies)

    @cached_property
    def widths(self) -> tuple[tuple[Column, Column], ...]:
        lanes = TILE_ROWS if self.is_amx else self.lanes
        return _cut(-(-self.spec.n // lanes), self["nr"] // lanes)

    @cached_property
    def panels(self) -> Column:
        return sum((count for _, count in self.widths), np.int64(0))

    @cached_property
    def row_tiles(self) -> Column:
        return sum((count for _, count in self.heights), np.int64(0))

    @cached_property
    def group(self) -> int:
        """K of a step."""
        if self.is_amx:
            return tile_k(self.spec.dtype)
        if self.space.kind is LimbsMatmul:
            return GROUP
        dot = dot_for(self.spec.dtype, self.target)
        return dot.group if dot and self.space.kind is DotMatmul else 1

    @cached_property
    def arithmetic(self) -> Cycles:
        steps = -(-self.spec.k // self.group)
        pairs = [(r, n, v, w) for r, n in self.heights for v, w in self.widths]
        if self.is_amx:
            tiles = [ceil_div(r, TILE_ROWS) * n * v * w for r, n, v, w in pairs]
            return steps * TILE_PRODUCT * sum(tiles, np.zeros(1))
        return steps * sum((n * w * self._step(r, v) for r, n, v, w in pairs), np.zeros(1))

    def _step(self, rows: Column, vectors: Column) -> Cycles:
        """Return the cycles of a step: multiply-adds, loads or latency, whichever is most."""
        spec, in_place = self.spec, (self["pack_b"] == 0) & (not self.spec.constant)
        each = limb_count(spec) if self.space.kind is LimbsMatmul else 1
        rate = (
            self.rate
            if self.space.kind is DotMatmul
            else self.core.multiply_adds.get(self.width, 1.0)
        )
        converts = np.zeros(1)
        if self.space.kind is DotMatmul:
            converts = in_place * vectors * self.group / 2
        elif has_pairs(spec):
            converts = vectors / 2
        elif spec.b_type is not spec.accumulate:
            converts = (self["pack_b"] == 0) * vectors
        products = (rows * vectors * each + converts) / rate
        loads = (rows * each + vectors) / self.loads
        latency = self.core.latency / (2 if has_pairs(spec) else 1)
        return np.maximum(np.maximum(products, loads), np.where(rows > 0, latency, 0))

    @cached_property
    def counts(self) -> EventCounts:
        times = np.where(self.keeps_b, 1, self.down).astype(np.float64)
        l3, memory = self.transfers(times)
        tiles = self.row_tiles * self.panels
        vectors = sum((r * n * v * w for r, n in self.heights for v, w in self.widths), np.zeros(1))
        moved = np.where(self.deep > 1, 2, 1) * self.deep
        c = self.space.columns
        events = {
            "steps": -(-self.spec.k // self.group) * tiles,
            "tiles": self.deep * tiles,
            "sums": moved * vectors,
            "pack_a": self["pack_a"] * self.across * self.a_lines,
            "pack_b": self["pack_b"] * times * self.packed_lines,
            "tasks": c["split_k"] + 1 if "split_k" in c else self.down * self.across,
            **self._reads_of_a(),
            **self._kept_sums(),
        }
        conflicts = events.pop("a_conflicts") + self._b_conflicts()
        events |= {"conflicts": conflicts, "pages": self._pages()}
        again = (self.row_tiles - self.down) * self.packed_lines
        first = self.first(self._runs(), self._fetched(), times)
        first["b_l2"] = first["b_l2"] + again * (self.panel_level == 1)
        first["b_far"] = first["b_far"] + again * (self.panel_level == 2)
        return EventCounts(
            arithmetic=self.arithmetic,
            lines_l3=l3,
            lines_memory=memory,
            slowdown=np.ones(1),
            events=events | first,
        )

    @cached_property
    def itemsize(self) -> Column:
        """Bytes of an element of A as it is multiplied."""
        spec = self.spec
        return np.where(
            self["pack_a"] > 0, spec.accumulate.itemsize // self.group or 1, spec.dtype.itemsize
        )

    @cached_property
    def a_lines(self) -> Cycles:
        return self.spec.m * self.spec.k * self.itemsize / LINE_BYTES

    @cached_property
    def packed_lines(self) -> Cycles:
        """Lines of B as it is multiplied."""
        packed = max(self.spec.accumulate.itemsize // self.group, 1)
        given = self.spec.b_type.itemsize
        return self.spec.k * self.spec.n * np.where(self["pack_b"] > 0, packed, given) / LINE_BYTES

    @cached_property
    def keeps_b(self) -> Mask:
        """Tasks of the same columns follow each other, and the first packs B for all of them."""
        block = self["kc"] * self["nc"] * self.spec.accumulate.itemsize // self.group
        fits = block <= self.target.limits["stack_bytes"]
        alone = (self["pack_a"] == 0) | (self.across == 1)
        kept: Mask = (self["pack_b"] > 0) & (self.deep == 1) & fits & alone
        return kept

    @cached_property
    def panel_bytes(self) -> Column:
        row = self["nr"] * self.spec.b_type.itemsize
        return self.depth * np.maximum(row, 1)

    @cached_property
    def panel_level(self) -> Column:
        """Level of the caches that holds a panel of B between two register tiles."""
        stride = self.spec.b_strides[1] * self.spec.b_type.itemsize
        row = np.maximum(self["nr"] * self.spec.b_type.itemsize, LINE_BYTES)
        in_rows = self.level_of_rows(self.depth, row, stride)
        side_by_side = (self["pack_b"] > 0) | bool(self.spec.constant)
        return np.where(side_by_side, self.level(self.panel_bytes), in_rows)

    def _reads_of_a(self) -> dict[str, Cycles]:
        spec, packed = self.spec, self["pack_a"] > 0
        rows = np.where(self.keeps_b, spec.m, np.minimum(self["mc"], spec.m))
        length = self.depth * self.itemsize
        given = spec.a_strides[1] * spec.dtype.itemsize
        stride = np.where(packed, length, given)
        level = self.level_of_rows(rows, length, stride, self.panel_bytes)
        lines = self.a_lines * (self.panels - 1)
        leaves = self.level(rows * spec.k * spec.dtype.itemsize) == 2
        passes = np.where(leaves & ~self.keeps_b, self.across - 1, 0)
        conflicts = lines * (level > 0) * (~packed & (given % CONFLICT_BYTES == 0))
        return {
            "a_l2": lines * (level == 1),
            "a_far": lines * (level == 2) + passes * self.a_lines,
            "a_conflicts": conflicts,
        }

    def _b_conflicts(self) -> Cycles:
        stride = self.spec.b_strides[1] * self.spec.b_type.itemsize
        in_place = (self["pack_b"] == 0) & (not self.spec.constant)
        return (
            (stride % CONFLICT_BYTES == 0) * in_place * (self.row_tiles - self.down) * self.b_lines
        )

    def _pages(self) -> Cycles:
        stride = self.spec.b_strides[1] * self.spec.b_type.itemsize
        share = min(1.0, stride / PAGE_BYTES)
        in_place = (self["pack_b"] == 0) & (not self.spec.constant)
        misses = in_place * (self.depth * share > TLB_PAGES)
        return misses * self.spec.k * self.panels * share * (self.row_tiles - self.down + 1)

    def _runs(self) -> Cycles:
        if self.spec.constant:
            return (self.panels * self.deep).astype(np.float64)
        return (self.spec.k * self.panels).astype(np.float64)

    def _fetched(self) -> Mask:
        """Return whether tiles prefetch B: their own panel, the next one, or the next block."""
        c = self.space.columns
        none = np.zeros(len(self.space), np.int64)
        own = (c.get("ahead", none) > 0) | (c.get("prefetch_panel", none) > 0)
        block = (self.deep > 1) & (self["pack_b"] == 0) & (not self.spec.constant)
        found: Mask = own | block
        return found

    def _kept_sums(self) -> dict[str, Cycles]:
        """Return the lines of partial sums that are kept between blocks of K."""
        spec, itemsize = self.spec, self.spec.accumulate.itemsize
        rows = np.minimum(self["mc"], spec.m)
        held = (rows * self.columns + (rows + self.columns) * self.depth) * itemsize
        lines = spec.m * spec.n * itemsize / LINE_BYTES * np.where(self.deep > 1, self.deep, 0)
        level = self.level(held)
        return {"kept_l2": lines * (level == 1), "kept_far": lines * (level == 2)}


class _Inner(_Loop):
    """Inner products: vectors along K, folded at the end of each block of K."""

    @property
    def b_bytes(self) -> int:
        """Bytes of the operand that is read once: B, or A where the output has more rows."""
        spec = self.spec
        return max(spec.k * spec.n * spec.b_type.itemsize, spec.m * spec.k * spec.dtype.itemsize)

    @cached_property
    def counts(self) -> EventCounts:
        spec, unroll = self.spec, self["unroll"]
        deep, k = spec.k // self["kc"], k_of_step(spec, self.target)
        heights, widths = _cut(spec.m, self["mr"]), _cut(spec.n, self["nr"])
        steps = deep * ceil_div(self["kc"], k * unroll)
        pairs = [(r, n, v, w) for r, n in heights for v, w in widths]

        widened = spec.dtype is not spec.accumulate and not dot_for(spec.dtype, self.target)

        def step(rows: Column, columns: Column) -> Cycles:
            converts = widened * (rows + columns)
            products = (rows * columns + converts) * unroll / self.rate
            loads = (rows + columns) * unroll / self.loads
            latency = np.where(rows * columns > 0, self.core.latency, 0)
            return np.maximum(np.maximum(products, loads), latency)

        arithmetic = steps * sum((n * w * step(r, v) for r, n, v, w in pairs), np.zeros(1))
        tiles = sum((n * w for _, n in heights for _, w in widths), np.zeros(1))
        short, held = min(spec.m, spec.n), np.where(spec.m > spec.n, self["nr"], self["mr"])
        depth = self["kc"] * spec.dtype.itemsize
        level = self.level(short * depth)
        panels = ceil_div(max(spec.m, spec.n), np.where(spec.m > spec.n, self["mr"], self["nr"]))
        again = short * spec.k * spec.dtype.itemsize / LINE_BYTES * (panels - 1)
        ones = np.ones(len(self.space))
        l3, memory = self.transfers(ones)
        runs = max(spec.m, spec.n) * deep * 1.0
        events = {
            "steps": steps * tiles,
            "tiles": deep * tiles,
            "folds": deep * spec.m * spec.n * ones,
            "sums": deep * spec.m * spec.n / self.lanes * ones,
            "a_l2": again * (level == 1),
            "a_far": again * (level == 2),
            "pack_b": self["pack_b"] * spec.k * spec.n * spec.b_type.itemsize / LINE_BYTES * 4,
            "tasks": ceil_div(spec.m, self["mc"]) * ceil_div(spec.n, self["nc"]),
            **self.first(runs, self["prefetch"] > 0, ones),
        }
        panel = ceil_div(short, held) - 1
        stay = self.level(np.where(spec.m > spec.n, self["mr"], self["nr"]) * depth)
        events["b_l2"] = events["b_l2"] + panel * self.b_lines * (stay == 1)
        events["b_far"] = events["b_far"] + panel * self.b_lines * (stay == 2)
        return EventCounts(
            arithmetic=arithmetic, lines_l3=l3, lines_memory=memory, slowdown=ones, events=events
        )


class _Outer(_Loop):
    """Outer products: some rows of B at once pass by all rows of A; sums stay in a cache."""

    @cached_property
    def counts(self) -> EventCounts:
        spec, parts, halves = self.spec, self["parts"], self["halves"] > 0
        rows = rows_of_b(spec, self.target)
        assert rows is not None
        words = (self["words"] > 0) | (rows.taken is Taken.WORDS)
        group = np.where(words, 1, rows.group)
        lanes = np.where(halves, self.lanes // 2, self.lanes)
        vectors = self["nr"] / lanes
        steps = ceil_div(spec.k, parts) * ceil_div(spec.n, self["nr"])
        rate = np.where(words, self.core.multiply_adds.get(self.width, 1.0), self.rate)
        rate = np.where(halves, self.core.multiply_adds.get(self.width // 2, rate), rate)
        products = spec.m * (parts / group) * vectors + parts * vectors * ((group > 1) | words)
        loaded = (
            parts
            * self["nr"]
            * spec.b_type.itemsize
            / np.where(halves, self.width // 2, self.width)
        )
        loads = (loaded + spec.m * vectors) / self.loads
        arithmetic = steps * np.maximum(np.maximum(products / rate, loads), spec.m * vectors)
        columns = np.minimum(self["nc"] * self["tasks_per_pass"], spec.n)
        across = ceil_div(spec.n, columns)
        row = spec.n * spec.b_type.itemsize
        side_by_side = (self["kc"] == parts) & (across == 1)
        runs = spec.k * np.where(side_by_side, row / PAGE_BYTES, across * 1.0)
        ones = np.ones(len(self.space))
        l3, memory = self.transfers(ones)
        level = self.level(spec.m * columns * spec.accumulate.itemsize, 4.0 * LINE_BYTES)
        kept = spec.m * spec.n * spec.accumulate.itemsize / LINE_BYTES * ceil_div(spec.k, parts)
        events = {
            "steps": steps * 1.0,
            "tiles": ceil_div(spec.k, self["kc"]) * across * 1.0,
            "moved": steps * spec.m * vectors,
            "kept_l2": kept * (level == 1),
            "kept_far": kept * (level == 2),
            "tasks": ceil_div(spec.n, self["nc"]) * 1.0,
            **self.first(runs, self["prefetch"] > 0, ones),
        }
        return EventCounts(
            arithmetic=arithmetic,
            lines_l3=l3,
            lines_memory=memory,
            slowdown=1 + 0.15 / parts,
            events=events,
        )
