"""How many cycles of one core a blocked product takes, as far as counting tells.

Each term is what its work adds to the time, in cycles; they are added up:

- products: multiply-adds of register tiles, or their loads or latency, whichever takes longest
- tiles: calls of register tiles, and their sums on the way from and to memory
- a: lines of A that do not stay in the first-level cache from one panel of B to the next; more
  where rows a power of two apart meet in a cache set
- b: lines of B that do not stay there from one register tile to the next; in place, rows far apart
- memory: reading B for the first time: a line, and the beginning of each run of lines that lie side
  by side, which the hardware must find out
- packing: lines of A and of B that are copied, by every task that needs them
- sums: lines of sums that come and go between blocks of K, by where they are meanwhile
- tasks: what each begins with

Nothing here is a claim: the model ranks schedules, and its terms say why. What each costs is
measured (:mod:`kgen.targets.cpu.schedule.cycles`), on the core that the target names or on its next
of kin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

from kgen.schedule import AheadMatmul, CpuMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.plan.tiles.tile import parts
from kgen.targets.cpu.schedule.completion import NEXT_PANEL_K, tasks_together
from kgen.targets.cpu.schedule.core import Core, core_of, heights_for
from kgen.targets.cpu.schedule.cycles import Cycles
from kgen_runtime.values import frozen

#: Bytes of a way of the first- and the second-level cache, 64 and 2048 lines: addresses a multiple
#: of so many apart meet in a set.
CACHE_WAYS = {"l1_bytes": 4096, "l2_bytes": 1 << 17}
#: Distances of rows of A that meet in a cache set: a quarter of the sets or fewer hold all of them.
ALIAS_BYTES = 2048
#: Bytes of a page, and pages that a first-level TLB holds at least (64 to 96 on the cores here).
PAGE_BYTES, TLB_PAGES = 4096, 64


@frozen
class Prediction:
    """`seconds`, and the cycles of each term."""

    seconds: float
    terms: Mapping[str, float]


def predict(spec: Matmul, target: Target, schedule: CpuMatmul) -> Prediction:
    core = core_of(target)
    cycles = core.cycles[target.limits["vector_bytes"]]
    blocks = _Blocks(spec=spec, target=target, schedule=schedule, cycles=cycles)
    terms = {
        "products": _products(blocks, core),
        "tiles": _tiles(blocks),
        "a": _a(blocks, core),
        "b": _b(blocks),
        "memory": _memory(blocks),
        "packing": _packing(blocks),
        "sums": _sums(blocks),
        "tasks": cycles.task * blocks.down * blocks.across,
    }
    terms = {name: spec.batch * found for name, found in terms.items()}
    return Prediction(seconds=sum(terms.values()) / core.clock, terms=terms)


@frozen
class _Blocks:
    """A schedule's counts."""

    spec: Matmul
    target: Target
    schedule: CpuMatmul
    cycles: Cycles

    @cached_property
    def itemsize(self) -> int:
        """Of what is multiplied."""
        return self.spec.accumulate.itemsize

    @cached_property
    def count(self) -> int:
        return vector_for(self.target, self.spec.accumulate, self.spec.n).count

    @property
    def depth(self) -> int:
        return min(self.schedule.kc, self.spec.k)

    @property
    def deep(self) -> int:
        """Blocks of K."""
        return -(-self.spec.k // self.schedule.kc)

    @property
    def down(self) -> int:
        return -(-self.spec.m // self.schedule.mc)

    @property
    def across(self) -> int:
        """Passes side by side, in one thread."""
        return -(-self.spec.n // self.columns)

    @cached_property
    def columns(self) -> int:
        """Of a pass."""
        several = tasks_together(self.spec, self.target, self.schedule)
        return min(self.schedule.nc * several, self.spec.n)

    @cached_property
    def heights(self) -> list[tuple[int, int]]:
        """Rows of register tiles, and how many are one below the other: blocks of different heights
        have whole ones and what is left."""
        spec, schedule = self.spec, self.schedule
        rows_vary = spec.m > schedule.mc and spec.m % schedule.mc
        return (parts if rows_vary else heights_for(self.target))(spec.m, schedule.mr)

    @cached_property
    def widths(self) -> list[tuple[int, int]]:
        """Vectors of panels, and how many are side by side."""
        vectors = math.ceil(self.spec.n / self.count)
        return parts(vectors, self.schedule.nr // self.count)

    @cached_property
    def panels(self) -> int:
        return sum(count for _, count in self.widths)

    @cached_property
    def a_lines(self) -> float:
        return self.spec.m * self.spec.k * self.itemsize / LINE_BYTES

    @cached_property
    def b_lines(self) -> float:
        return self.spec.k * self.spec.n * self.itemsize / LINE_BYTES

    @cached_property
    def panel_bytes(self) -> int:
        """Of the lines of a panel of B in a block of K."""
        return self.depth * max(self.schedule.nr * self.itemsize, LINE_BYTES)

    @cached_property
    def is_far(self) -> bool:
        """B leaves the second-level cache."""
        given = self.spec.k * self.spec.n * self.spec.b_type.itemsize
        return given > self.target.limits["l2_bytes"]

    @property
    def given_lines(self) -> float:
        """Of B before it is packed, or widened."""
        return self.spec.k * self.spec.n * self.spec.b_type.itemsize / LINE_BYTES

    @property
    def fetches_panels(self) -> bool:
        """The next panel of B comes from beyond while this one is multiplied."""
        if not self.is_far or self.schedule.mc <= self.schedule.mr:
            return False
        if self.schedule.pack_b:
            return isinstance(self.schedule, AheadMatmul) and not self.keeps_b
        return bool(self.spec.constant) or (self.deep > 1 and self.schedule.kc >= NEXT_PANEL_K)

    @property
    def packs_in_time(self) -> bool:
        """The tile that packs a panel of half a line has its rows in the first-level cache, fetched
        some ahead or with the panel before it, unless they meet in a set of it (54 x 768 x 768 in
        bf16 on AVX2 takes 572 us so, 588 if tiles fetch the next panel; 2048 x 2048 x 2048 184 ms
        and 172; Zen 4)."""
        row = self.schedule.nr * self.spec.b_type.itemsize
        stride = self.spec.b_strides[1] * self.spec.b_type.itemsize
        return self.schedule.pack_b and row < LINE_BYTES and stride % ALIAS_BYTES != 0

    @property
    def fetches_blocks(self) -> bool:
        """The next block of K does."""
        return self.deep > 1 and self.is_far and not self.spec.constant

    @property
    def b_crosses_lines(self) -> bool:
        """Most vectors of a B in place lie in two lines each."""
        stride = self.spec.b_strides[1] * self.spec.b_type.itemsize
        in_place = not (self.schedule.pack_b or self.spec.constant)
        return in_place and stride % self.target.limits["vector_bytes"] != 0

    @cached_property
    def keeps_b(self) -> bool:
        """Blocks of rows follow each other down the same columns of B, packed once for all."""
        schedule = self.schedule
        fits = schedule.kc * schedule.nc * self.itemsize <= self.target.limits["stack_bytes"]
        several = self.down > 1 and not (schedule.pack_a and self.across > 1)
        return schedule.pack_b and self.deep == 1 and fits and several

    @cached_property
    def panel_level(self) -> int:
        """Of the cache that a panel of B stays in."""
        rows = self.schedule.nr * self.itemsize
        if self.schedule.pack_b or self.spec.constant:
            return self.level(self.panel_bytes)
        stride = self.spec.b_strides[1] * self.spec.b_type.itemsize
        return self.level_of_rows(self.depth, max(rows, LINE_BYTES), stride)

    @cached_property
    def a_level(self) -> int:
        """Of the cache that what a task reads of A stays in, beside a panel of B."""
        rows = min(self.schedule.mc, self.spec.m)
        if self.keeps_b:
            rows = self.spec.m
        length = self.depth * self.itemsize
        stride = length if self.schedule.pack_a else self.spec.a_strides[1] * self.itemsize
        return self.level_of_rows(rows, length, stride, self.panel_bytes)

    @cached_property
    def a_leaves(self) -> bool:
        """A task's rows of A leave the second-level cache before the next pass over them."""
        held = min(self.schedule.mc, self.spec.m) * self.spec.k * self.spec.dtype.itemsize
        return not self.keeps_b and self.level(held) == len(CACHE_WAYS)

    def level(self, nbytes: float) -> int:
        """Of the caches: 0 the first, 1 the second, 2 the last."""
        return self.level_of_rows(1, nbytes, 1)

    def level_of_rows(self, rows: int, length: float, stride: int, beside: float = 0) -> int:
        """Of the cache with room for rows of so many bytes, `stride` bytes apart, beside others.
        Rows that begin at few places of a way leave the sets between them unused."""
        for level, (name, way) in enumerate(CACHE_WAYS.items()):
            taken = rows * max(length, math.gcd(stride, way))
            if taken + beside <= self.cycles.share[level] * self.target.limits[name]:
                return level
        return len(CACHE_WAYS)


def _products(blocks: _Blocks, core: Core) -> float:
    def step(rows: int, vectors: int) -> float:
        arithmetic = rows * vectors / core.multiply_adds[width]
        loads = (rows + vectors) / core.loads[width]
        crossing = blocks.cycles.b_crosses * vectors * blocks.b_crosses_lines
        return max(arithmetic, loads, core.latency) + blocks.cycles.step + crossing

    width = blocks.target.limits["vector_bytes"]

    return blocks.spec.k * sum(
        down * across * step(rows, vectors)
        for rows, down in blocks.heights
        for vectors, across in blocks.widths
    )


def _tiles(blocks: _Blocks) -> float:
    """Sums of a single block of K are only stored."""
    moved = blocks.cycles.sum * (2 if blocks.deep > 1 else 1)
    return blocks.deep * sum(
        down * across * (blocks.cycles.tile + moved * rows * vectors)
        for rows, down in blocks.heights
        for vectors, across in blocks.widths
    )


def _a(blocks: _Blocks, core: Core) -> float:
    spec, schedule = blocks.spec, blocks.schedule
    given_lines = spec.m * spec.k * spec.dtype.itemsize / LINE_BYTES
    level = blocks.a_level
    further = 0.0
    # Of a B that came packed, in one block of few enough rows, each panel reads A from there
    # anyway: 196 x 256 x 2304 takes 2.00 ms in passes of all columns or of a panel, by all of K,
    # and 2.02 in blocks of 256 of K (Zen 4).
    once = spec.constant and blocks.down == 1 and spec.m <= core.grid.rows_most
    if blocks.a_leaves and not (once and level == len(CACHE_WAYS)):
        further = (blocks.across - 1) * blocks.cycles.a_again * given_lines
    if level == 0:
        return further
    stride = spec.a_strides[1] * spec.dtype.itemsize
    meets = not schedule.pack_a and stride % ALIAS_BYTES == 0
    line = blocks.cycles.a_lines[level] + blocks.cycles.a_alias * meets
    return further + line * blocks.a_lines * blocks.panels


def _b(blocks: _Blocks) -> float:
    cycles = blocks.cycles
    level = blocks.panel_level
    again = sum(down for _, down in blocks.heights) - blocks.down
    if blocks.spec.constant and level > 0:
        return cycles.b_prepacked[level - 1] * again * blocks.b_lines
    if blocks.schedule.pack_b or blocks.spec.constant:
        return cycles.b_again[level] * again * blocks.b_lines
    stride = blocks.spec.b_strides[1] * blocks.spec.b_type.itemsize
    line = cycles.b_alias * (stride % ALIAS_BYTES == 0)
    if level > 0:
        line += cycles.b_strided_far if blocks.is_far else cycles.b_strided
    pages = blocks.depth * min(1.0, stride / PAGE_BYTES)
    rows = blocks.spec.k * blocks.panels * min(1.0, stride / PAGE_BYTES) * (pages > TLB_PAGES)
    return again * (line * blocks.b_lines + cycles.b_page * rows)


def _memory(blocks: _Blocks) -> float:
    cycles, lines = blocks.cycles, blocks.given_lines
    further = 0 if blocks.keeps_b else blocks.down - 1
    if blocks.fetches_panels:
        again = cycles.pack_again if blocks.schedule.pack_b else cycles.once_more
        return lines * (cycles.next_panel + further * again)
    if blocks.spec.constant:
        return (1 + further) * (cycles.far if blocks.is_far else cycles.near) * lines
    if blocks.fetches_blocks:
        block = blocks.depth * blocks.columns * blocks.spec.b_type.itemsize
        spills = 2 * block > blocks.target.limits["l2_bytes"]
        first = (cycles.ahead + cycles.spill * spills) * lines
        first += cycles.ahead_run * blocks.spec.k * blocks.across
        again = cycles.pack_again if blocks.schedule.pack_b else cycles.once_more
        return first + further * again * lines
    is_near = not blocks.is_far or blocks.packs_in_time
    line, run = (cycles.near, cycles.near_run) if is_near else (cycles.far, cycles.far_run)
    again = line
    if blocks.is_far:
        again = max(line, cycles.pack_again if blocks.schedule.pack_b else cycles.once_more)
    return (line + further * again) * lines + (1 + further) * run * blocks.spec.k * blocks.panels


def _packing(blocks: _Blocks) -> float:
    times = 1 if blocks.keeps_b else blocks.down
    found = blocks.schedule.pack_b * times * blocks.cycles.pack_b * blocks.b_lines
    return found + blocks.schedule.pack_a * blocks.across * blocks.cycles.pack_a * blocks.a_lines


def _sums(blocks: _Blocks) -> float:
    if blocks.deep == 1:
        return 0.0
    spec, schedule = blocks.spec, blocks.schedule
    rows = min(schedule.mc, spec.m)
    passing = (rows + blocks.columns) * blocks.depth
    held = (rows * blocks.columns + passing) * blocks.itemsize
    lines = spec.m * spec.n * blocks.itemsize / LINE_BYTES
    level = blocks.level(held)
    if isinstance(schedule, AheadMatmul):  # its tiles fetch them
        level = min(level, 1)
    return blocks.cycles.sum_lines[level] * lines * blocks.deep
