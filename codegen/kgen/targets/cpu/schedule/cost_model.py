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

Nothing here is a claim: the model ranks schedules, and its terms say why. The cycles were set by
1800 schedules of 58 products on Zen 4, with AVX-512 and with AVX2 (f32, one thread, 2026-11-22);
other CPUs have not been measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kgen.schedule import CpuMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, vector_for
from kgen.targets.cpu.schedule.block_sizes import parts
from kgen.targets.cpu.schedule.core import Core, core_of
from kgen_runtime.values import frozen

#: Cycles of a step of K besides its instructions; of a call of a register tile; of a vector of sums
#: that is loaded or stored.
STEP, TILE, SUM = 0.1, 25.0, 0.5
#: Of a line of A, by the cache that holds a task's, and more where its rows meet in a cache set.
A_LINES, A_ALIAS = (0.0, 0.8, 1.5), 0.8
#: Distances of rows of A that meet: a quarter of the sets or fewer hold all of them.
ALIAS_BYTES = 2048
#: Of a line of B read again: of a packed panel, by the cache that holds it; of rows far apart in
#: the second-level cache, and where B leaves that.
B_AGAIN, B_STRIDED, B_STRIDED_FAR = (0.0, 0.5, 1.5), 0.4, 0.8
#: Of a line of B that is read first, and of the beginning of a run of them: in the second-level
#: cache, beyond it, beyond it but fetched into it a block of K ahead.
NEAR, NEAR_RUN = 0.5, 0.5
FAR, FAR_RUN = 3.0, 13.0
AHEAD, AHEAD_RUN = 1.5, 300.0
#: More of a line that is fetched ahead where the block has no room in half of that cache.
SPILL = 1.0
#: Of a line that another task reads after the first one, which finds it in the last-level cache.
ONCE_MORE = 2.0
#: Of a line that is packed, of B by the tile that reads it, of A by itself.
PACK_B, PACK_A = 3.0, 3.0
#: Of a line of sums that is loaded and stored, by the cache that holds a task's: first, second and
#: last.
SUM_LINES = (0.5, 2.5, 14.0)
#: Of a task.
TASK = 800.0
#: The part of a cache that one operand of several has to itself.
SHARE = 0.6


@frozen
class Prediction:
    """`seconds`, and the cycles of each term."""

    seconds: float
    terms: Mapping[str, float]


def predict(spec: Matmul, target: Target, schedule: CpuMatmul) -> Prediction:
    core = core_of(target)
    blocks = _Blocks(spec=spec, target=target, schedule=schedule)
    terms = {
        "products": _products(blocks, core),
        "tiles": _tiles(blocks),
        "a": _a(blocks),
        "b": _b(blocks),
        "memory": _memory(blocks),
        "packing": _packing(blocks),
        "sums": _sums(blocks),
        "tasks": TASK * blocks.down * blocks.across,
    }
    terms = {name: spec.batch * cycles for name, cycles in terms.items()}
    return Prediction(seconds=sum(terms.values()) / core.clock, terms=terms)


@frozen
class _Blocks:
    """A schedule's counts."""

    spec: Matmul
    target: Target
    schedule: CpuMatmul

    @property
    def itemsize(self) -> int:
        """Of what is multiplied."""
        return self.spec.accumulate.itemsize

    @property
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
        return -(-self.spec.n // self.schedule.nc)

    @property
    def heights(self) -> list[tuple[int, int]]:
        """Rows of register tiles, and how many are one below the other."""
        return parts(self.spec.m, self.schedule.mr)

    @property
    def widths(self) -> list[tuple[int, int]]:
        """Vectors of panels, and how many are side by side."""
        vectors = math.ceil(self.spec.n / self.count)
        return parts(vectors, self.schedule.nr // self.count)

    @property
    def panels(self) -> int:
        return sum(count for _, count in self.widths)

    @property
    def a_lines(self) -> float:
        return self.spec.m * self.spec.k * self.itemsize / LINE_BYTES

    @property
    def b_lines(self) -> float:
        return self.spec.k * self.spec.n * self.itemsize / LINE_BYTES

    @property
    def panel_bytes(self) -> int:
        """Of the lines of a panel of B in a block of K."""
        return self.depth * max(self.schedule.nr * self.itemsize, LINE_BYTES)

    @property
    def is_far(self) -> bool:
        """B leaves the second-level cache."""
        given = self.spec.k * self.spec.n * self.spec.b_type.itemsize
        return given > self.target.limits["l2_bytes"]

    @property
    def given_lines(self) -> float:
        """Of B before it is packed, or widened."""
        return self.spec.k * self.spec.n * self.spec.b_type.itemsize / LINE_BYTES

    @property
    def fetches_ahead(self) -> bool:
        """The next block of K comes from beyond while this one is multiplied."""
        return self.deep > 1 and self.is_far and not self.spec.constant

    @property
    def packs_b_once(self) -> bool:
        return self.schedule.pack_b and self.deep == 1

    def level(self, nbytes: float) -> int:
        """Of the caches: 0 the first, 1 the second, 2 the last."""
        limits = self.target.limits
        if nbytes <= SHARE * limits["l1_bytes"]:
            return 0
        return 1 if nbytes <= SHARE * limits["l2_bytes"] else 2


def _products(blocks: _Blocks, core: Core) -> float:
    def step(rows: int, vectors: int) -> float:
        arithmetic = rows * vectors / core.multiply_adds
        return max(arithmetic, (rows + vectors) / core.loads, core.latency) + STEP

    return blocks.spec.k * sum(
        down * across * step(rows, vectors)
        for rows, down in blocks.heights
        for vectors, across in blocks.widths
    )


def _tiles(blocks: _Blocks) -> float:
    """Sums of a single block of K are only stored."""
    moved = SUM * (2 if blocks.deep > 1 else 1)
    return blocks.deep * sum(
        down * across * (TILE + moved * rows * vectors)
        for rows, down in blocks.heights
        for vectors, across in blocks.widths
    )


def _a(blocks: _Blocks) -> float:
    spec, schedule = blocks.spec, blocks.schedule
    held = min(schedule.mc, spec.m) * blocks.depth * blocks.itemsize
    level = blocks.level(held + blocks.panel_bytes)
    if level == 0:
        return 0.0
    stride = spec.a_strides[1] * spec.dtype.itemsize
    meets = not schedule.pack_a and stride % ALIAS_BYTES == 0
    return (A_LINES[level] + A_ALIAS * meets) * blocks.a_lines * blocks.panels


def _b(blocks: _Blocks) -> float:
    level = blocks.level(blocks.panel_bytes)
    if level == 0:
        return 0.0
    again = sum(down for _, down in blocks.heights) - blocks.down
    if blocks.schedule.pack_b or blocks.spec.constant:
        return B_AGAIN[level] * again * blocks.b_lines
    return (B_STRIDED_FAR if blocks.is_far else B_STRIDED) * again * blocks.b_lines


def _memory(blocks: _Blocks) -> float:
    lines, further = blocks.given_lines, 0 if blocks.packs_b_once else blocks.down - 1
    if blocks.spec.constant:
        return (1 + further) * (FAR if blocks.is_far else NEAR) * lines
    if blocks.fetches_ahead:
        block = blocks.depth * min(blocks.schedule.nc, blocks.spec.n) * blocks.spec.b_type.itemsize
        spills = 2 * block > blocks.target.limits["l2_bytes"]
        first = (AHEAD + SPILL * spills) * lines + AHEAD_RUN * blocks.spec.k * blocks.across
        return first + further * ONCE_MORE * lines
    line, run = (FAR, FAR_RUN) if blocks.is_far else (NEAR, NEAR_RUN)
    return (1 + further) * (line * lines + run * blocks.spec.k * blocks.panels)


def _packing(blocks: _Blocks) -> float:
    times = 1 if blocks.packs_b_once else blocks.down
    found = blocks.schedule.pack_b * times * PACK_B * blocks.b_lines
    return found + blocks.schedule.pack_a * blocks.across * PACK_A * blocks.a_lines


def _sums(blocks: _Blocks) -> float:
    if blocks.deep == 1:
        return 0.0
    spec, schedule = blocks.spec, blocks.schedule
    held = min(schedule.mc, spec.m) * min(schedule.nc, spec.n) * blocks.itemsize
    lines = spec.m * spec.n * blocks.itemsize / LINE_BYTES
    return SUM_LINES[blocks.level(held)] * lines * blocks.deep
