"""Block sizes of products on AMX tiles, by a model of the cycles that one core takes.

A step multiplies mr x nr sums by one tile of K. Its products take the tile unit; what else they
wait for is added, term by term:

- products: of tiles, 16 cycles each
- a: steps whose A meets in cache sets, or comes from beyond the second-level cache; copies
- b: steps whose B does not stay in the first-level cache; reading B for every block of rows
- packing: lines of B, by whoever packs them, and of an A that tiles cannot be loaded from
- tiles: register tiles that are stored, for the epilogue, and sums that come and go between blocks
  of K
- out: lines of an output that leaves the second-level cache
- tasks: what each begins with, and launches

The costs were fitted to measurements of GEMMs in bf16 and s8, prepacked and not. What they weigh:
docs/how-it-works/amx.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cached_property

from kgen.schedule import AmxMatmul
from kgen.spec import Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.cpu.plan.amx.beside import packs_between
from kgen.targets.cpu.plan.amx.tiles import ROW_BYTES, TILE_ROWS, tile_k
from kgen.targets.cpu.plan.kernels.dot import must_pack_b
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.schedule.block_sizes import balanced, rounded_up
from kgen.targets.cpu.schedule.few_rows.place import streams
from kgen_runtime.values import frozen

#: Cycles of a product of tiles, and cycles per second while they are multiplied: 2.3e9 to 3.1e9,
#: the more numbers change from one to the next the fewer.
PRODUCT, CLOCK = 16.0, 2.5e9
#: Cycles that a step of four products takes longer where rows of A lie further apart than that many
#: bytes, and beyond the part of the second-level cache in which they stay beside B and out.
ROWS_APART, SCATTERED, A_SPILLS, A_FAR = 512, 10.0, 18.0, 60.0
#: And where the panel of B takes more than two thirds of the first-level cache, and than all of it.
B_NEAR, B_BEYOND = 20.0, 15.0
#: Cycles per line of B that comes from the last-level cache for a block of rows.
B_AGAIN = 0.7
#: Cycles to copy a line of A as its tile is multiplied, and to pack it by vectors before.
COPY, PACK_A = 4.5, 17.0
#: Cycles to pack a line of B, of pairs and of fours (bytes): by itself, beside products, and more
#: where B leaves the second-level cache.
PACK, PACK_BESIDE, PACK_FAR = {2: 8.0, 4: 10.0}, {2: 1.0, 4: 5.0}, 1.5
#: Of four tiles of sums: to store them and finish their rows; to store and load them again between
#: two blocks of K.
FINISH, CARRY = 180.0, 290.0
#: Per line of an output beyond the second-level cache.
OUT_FAR = 9.0
#: Of a launch, at 0.3 us; and of a task, whose last register tile has none after it that hides its
#: epilogue.
LAUNCH, TASK = 1000.0, 200.0
#: Bytes of a column of B in a block of K: with two tiles side by side they take 32 KB of the
#: first-level cache, which A streams through; half of that where two of them are there, of which
#: one is packed.
COLUMN_BYTES = (1024, 512)
#: Rows up to which B is multiplied where it lies, if it comes from memory, and if it does not.
IN_PLACE_ROWS_FAR, IN_PLACE_ROWS = 16, 4
#: Tasks that keep the cores of a common machine busy to the end, cycles under which none is cut for
#: the sake of more, and what it may cost one core to have more.
ENOUGH_TASKS, TASK_CYCLES, TASKS_COST = 32, 16384, 1.02


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


def ranked_on_tiles(spec: Matmul, target: Target) -> tuple[Candidate[AmxMatmul], ...]:
    """What `amx_matmul` compared, the chosen one first."""
    chosen = amx_matmul(spec, target)
    found = [
        Candidate(schedule=schedule, seconds=sum(found.values()) / CLOCK, terms=found)
        for schedule in dict.fromkeys(candidates(spec, target))
        for found in [terms(spec, target, schedule)]
    ]
    return tuple(sorted(found, key=lambda c: (c.schedule != chosen, c.seconds)))


def candidates(spec: Matmul, target: Target) -> Iterator[AmxMatmul]:
    """Two by two tiles, fewer where the matrix has not that many rows or columns; equal blocks,
    whose sums, between blocks of K, take no more than half of the stack."""
    mr = TILE_ROWS if spec.m <= TILE_ROWS else 2 * TILE_ROWS
    nr = TILE_ROWS if spec.n <= TILE_ROWS else 2 * TILE_ROWS
    depths = {
        balanced(spec.k, nbytes // spec.dtype.itemsize, tile_k(spec.dtype))
        for nbytes in COLUMN_BYTES
    }
    heights = {rounded_up(-(-spec.m // parts), mr) for parts in _parts(spec.m, mr)}
    for kc, mc in itertools.product(depths, heights):
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


def tasks(spec: Matmul, schedule: AmxMatmul) -> int:
    return spec.batch * -(-spec.m // schedule.mc) * -(-spec.n // schedule.nc)


def cycles(spec: Matmul, target: Target, schedule: AmxMatmul) -> float:
    """Of one core for the whole product, the call apart."""
    return sum(terms(spec, target, schedule).values())


def terms(spec: Matmul, target: Target, schedule: AmxMatmul) -> Mapping[str, float]:
    """Those cycles by what they are for."""
    blocks = _Blocks(spec=spec, target=target, schedule=schedule)
    found = {
        "products": blocks.steps * blocks.fours * 4 * PRODUCT,
        "a": _a(blocks),
        "b": _b(blocks),
        "packing": _packing(blocks),
        "tiles": blocks.register_tiles * blocks.fours * (FINISH + CARRY * (blocks.deep - 1)),
        "out": _out(blocks),
        "tasks": TASK * blocks.down * blocks.across + LAUNCH * blocks.launches,
    }
    return {name: spec.batch * cycles for name, cycles in found.items()}


@frozen
class _Blocks:
    """A schedule's counts."""

    spec: Matmul
    target: Target
    schedule: AmxMatmul

    @cached_property
    def k_tiles(self) -> int:
        return -(-self.spec.k // tile_k(self.spec.dtype))

    @cached_property
    def register_tiles(self) -> int:
        return -(-self.spec.m // self.schedule.mr) * -(-self.spec.n // self.schedule.nr)

    @property
    def steps(self) -> int:
        return self.register_tiles * self.k_tiles

    @property
    def fours(self) -> float:
        """Products of a step, in fours."""
        return self.schedule.mr * self.schedule.nr / (2 * TILE_ROWS) ** 2

    @cached_property
    def down(self) -> int:
        return -(-self.spec.m // self.schedule.mc)

    @cached_property
    def across(self) -> int:
        return -(-self.spec.n // self.schedule.nc)

    @cached_property
    def deep(self) -> int:
        return -(-self.spec.k // self.schedule.kc)

    @cached_property
    def between(self) -> bool:
        return packs_between(self.spec, self.target, self.schedule)

    @property
    def a_lines(self) -> int:
        return rounded_up(self.spec.m, self.schedule.mr) * self.k_tiles

    @property
    def b_lines(self) -> int:
        return rounded_up(self.spec.n, self.schedule.nr) * self.k_tiles

    @property
    def is_far(self) -> bool:
        """B leaves the second-level cache."""
        return self.b_lines * ROW_BYTES > self.target.limits["l2_bytes"] // 2

    @property
    def alone(self) -> bool:
        """The only task packs B for itself."""
        most = self.target.limits["stack_bytes"] // 2
        return self.down == self.across == 1 and self.b_lines * ROW_BYTES <= most

    @property
    def launches(self) -> int:
        """Before the one that multiplies."""
        return int(not (self.spec.constant or self.between or self.alone))


def _a(blocks: _Blocks) -> float:
    """Beside B and out rows of A stay in a quarter of the second-level cache."""
    spec, schedule, near = blocks.spec, blocks.schedule, blocks.target.limits["l2_bytes"]
    held = min(schedule.mc, spec.m) * blocks.k_tiles * ROW_BYTES
    step = A_SPILLS * (held > near // 4) + A_FAR * (held > near // 4 * 3)
    stride = spec.a_strides[1] * spec.dtype.itemsize
    scattered = stride > ROWS_APART or stride % ROW_BYTES != 0
    step += SCATTERED * (scattered and not schedule.pack_a)
    copied = schedule.pack_a and not must_pack_a(spec)
    return step * blocks.steps * blocks.fours + COPY * blocks.a_lines * copied


def _b(blocks: _Blocks) -> float:
    spec, schedule, l1 = blocks.spec, blocks.schedule, blocks.target.limits["l1_bytes"]
    panel = schedule.nr * min(schedule.kc, spec.k) * spec.dtype.itemsize * (1 + blocks.between)
    step = B_NEAR * (panel > l1 // 3 * 2) + B_BEYOND * (panel > l1 // 3 * 4)
    again = 0 if blocks.between else blocks.down * blocks.is_far
    return step * blocks.steps * blocks.fours + B_AGAIN * blocks.b_lines * again


def _packing(blocks: _Blocks) -> float:
    spec, lines = blocks.spec, blocks.b_lines
    total = PACK_A * blocks.a_lines * must_pack_a(spec)
    if spec.constant:
        return total
    group = tile_k(spec.dtype) // TILE_ROWS
    if blocks.between:
        first = blocks.across * blocks.schedule.nr * blocks.k_tiles // blocks.deep
        total += PACK[group] * first + PACK_BESIDE[group] * lines
    else:
        total += PACK[group] * lines
    return total + PACK_FAR * lines * blocks.is_far


def _out(blocks: _Blocks) -> float:
    spec = blocks.spec
    nbytes = spec.m * spec.n * spec.out.itemsize
    return OUT_FAR * nbytes / ROW_BYTES * (nbytes > blocks.target.limits["l2_bytes"] // 2)


def product_cycles(spec: Matmul) -> float:
    """Of the tile unit alone: what the whole would take if nothing else ever held it up."""
    tiles = -(-spec.m // TILE_ROWS) * -(-spec.n // TILE_ROWS)
    return spec.batch * PRODUCT * tiles * -(-spec.k // tile_k(spec.dtype))
