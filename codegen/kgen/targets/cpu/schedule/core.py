"""What the cost model knows of one core: its rates by microarchitecture, and the cycles that were
measured on it or on its next of kin.

A target names its core (`Target.device`); nothing but the choice of schedules depends on it. Rates
are per cycle, by the bytes of a vector. Sources: Intel's Optimization Reference Manual (248966),
tables of execution units and of load and store bandwidth of each microarchitecture; AMD's software
optimization guides of family 17h (56305), Zen 3 (56665), Zen 4 (57647) and Zen 5 (58455), sections
"Floating-point unit" and "Load-store unit"; Arm's of Neoverse N1. Clocks are those of one busy
core of a server: they scale predictions and rank nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import field

from kgen.targets.base import Target
from kgen.targets.cpu.plan.tiles.tile import parts, tile_heights
from kgen.targets.cpu.schedule.cycles import GOLDEN_COVE, ZEN, ZEN_5, Cycles
from kgen_runtime.values import frozen


@frozen
class ShortBlocks:
    """Several tiles of rows, of more than `rows_least` in all, take an f32 B in blocks of `depth`
    of K at most, in which they fetch the panel that is multiplied next, or what is packed next if B
    `is_packed`. Of a B in place blocks of the grid are short enough but all of K. `is_large`: only
    one that leaves the second-level cache."""

    rows_least: int
    depth: int
    is_packed: bool
    is_large: bool = False


@frozen
class Grid:
    """The blocks that are compared, of products of more than `rows_least` rows, and of at most
    `rows_most` unless B comes packed: `vectors` of a panel and, of a block at most, `depths` (K)
    and `rows`, by the bytes of a vector; `parts` of the columns. Of those of more than `tall_least`
    rows, `tall` has blocks of so many rows and so much K, by the bytes of a vector: packing B once
    more costs them most. B is compared in place as well, but one that leaves the second-level cache
    only with vectors of as many bytes as `in_place` has, and not in tall blocks. With those of
    `levels` register tiles are counted as high as the kernels make them, else as whole ones and a
    rest, which is what was measured. `tasks_cost` and `second_cost`: what it may cost one core to
    have more tasks, and to have even ones, of which the busier of two cores does at most the part
    `even`; products of less than `second_least` seconds are left in one task. `packs_cost`: what it
    may cost not to pack B, which is not asked with 0. `short`: blocks by the bytes of a vector.
    """

    vectors: Mapping[int, tuple[int, ...]]
    depths: Mapping[int, tuple[int, ...]]
    rows: Mapping[int, tuple[int, ...]]
    rows_least: int
    rows_most: int
    tall: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    tall_least: int = 264
    parts: tuple[int, ...] = (1, 2, 4)
    in_place: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()
    tasks_cost: float = 1.01
    second_cost: float = 1.04
    even: float = 0.54
    second_least: float = 200e-6
    packs_cost: float = 0.0
    short: Mapping[int, ShortBlocks] = field(default_factory=dict)


ZEN_GRID = Grid(
    vectors={16: (4,), 32: (2,), 64: (3, 4)},
    depths={
        **dict.fromkeys((16, 32), (96, 192, 256, 384, 768)),
        64: (128, 192, 256, 384, 768),
    },
    # 512 x 4096 x 1024 in blocks of 174 rows takes 40.2 ms, of 258 42.2, of 132 41.8 (AVX2).
    rows={**dict.fromkeys((16, 32), (66, 132, 210, 264)), 64: (66, 132, 264)},
    rows_least=32,
    rows_most=264,
    # 2048 x 2048 x 2048 takes 164 ms, 170 in blocks of 410 rows and 352 of K. 512 x 512 x 512 gains
    # 1 %, and two cores have 288 and 224 columns of it to do.
    tall={64: (520, 1024)},
    tall_least=520,
    # Of some 80 schedules for 128 x 2048 x 2048 the fastest took 10.0 ms in place, 10.9 packed.
    in_place=(64,),
    # With AVX2 17 products of 13 to 50 rows gain 3 to 10 % (50 x 768 x 768 556 us in tiles of 5
    # rows, 537 in 6 and 5; 31 x 512 x 384 124 in tiles of 4, 115).
    levels=(32,),
    # 128 x 128 x 128 takes two threads 22 us in two tasks and 40 in one with AVX-512, 25 and 46
    # with AVX2, and one thread as long.
    second_least=30e-6,
)
#: 49 x 512 x 4608 takes one thread 892 us in one task and 916 in four of 128 columns, which the
#: model thinks 5 % slower, and two threads 880 and 567.
#: From memory, 128 x 1536 x 384 takes 648 us in place, 693 packed, and 589 and 594 called again and
#: again on one B, which the model thinks half a percent slower; 128 x 384 x 384 159 us in short
#: blocks, 181 by all of K (AVX-512). On AVX2 50 x 768 x 768 takes 492 and 462 us in short blocks,
#: 571 and 490 in those of the grid.
ZEN_5_GRID = dataclasses.replace(
    ZEN_GRID,
    second_cost=1.05,
    packs_cost=1.02,
    short={
        32: ShortBlocks(rows_least=16, depth=128, is_packed=True),
        64: ShortBlocks(rows_least=32, depth=192, is_packed=False),
    },
)
#: 15 products of 40 to 250 rows, in turn (2026-11-28, geometric means of the least quarters of the
#: times, on one B again and again and from memory): blocks of 256 of K 1.03 and 1.01 times as fast
#: as blocks of 160, of 384 1.02 and 1.01; but 127 x 131 x 613, whose B stays in the second-level
#: cache, 301 and 322 us in those of the grid, 341 and 364 in blocks of 160.
ZEN_3_GRID = dataclasses.replace(
    ZEN_GRID,
    short={32: ShortBlocks(rows_least=32, depth=256, is_packed=True, is_large=True)},
)
GOLDEN_COVE_GRID = Grid(
    vectors={32: (2,), 64: (2, 3, 4)},
    depths={32: (64, 96, 128, 192, 256, 384), 64: (128, 192)},
    rows=dict.fromkeys((32, 64), (132, 264)),
    rows_least=6,
    rows_most=264,
    # 512 x 4096 x 1024 takes 25.5 ms, 30.8 in blocks of 182 rows and 128 of K.
    tall=dict.fromkeys((32, 64), (520, 1024)),
    # With wider ones it is as fast while the machine is quiet, and suffers more while it is not:
    # 128 x 768 x 768 then took 1.17 ms in place, 1.05 packed.
    in_place=(32,),
    # So much was measured: 58 % are 49 x 512 x 4608, which two cores do 1.57 times as fast.
    even=0.58,
)


@frozen
class Core:
    """CPU core of the cost model: its rates, measured costs and traits of its prefetchers."""

    name: str
    #: Vectors multiplied and added per cycle, by bytes of a vector.
    multiply_adds: Mapping[int, float]
    #: Vectors loaded from the first-level cache per cycle, by bytes of a vector.
    loads: Mapping[int, float]
    #: Cycles from a multiply-add to the next that needs its result.
    latency: float
    #: Cycles per second.
    clock: float
    #: Measured costs of the other terms of the cost model, by bytes of a vector.
    cycles: Mapping[int, Cycles] = field(default_factory=lambda: ZEN)
    #: Block sizes that are compared.
    grid: Grid = ZEN_GRID
    #: Products of pairs of bf16 (VDPBF16PS) per cycle, in vectors of 64 bytes.
    pairs: float = 1
    #: Whether the hardware prefetcher tracks several rows of a matrix, so that software prefetch of
    #: these rows slows the kernel down.
    finds_rows: bool = False
    #: The trait `finds_rows`, for outer products and panels of skinny GEMMs only.
    walks_rows: bool = False
    #: Whether inner products are fastest along all of K, whatever the first-level cache holds, and
    #: without prefetching rows of A that do not fit in it.
    reads_whole: bool = False

    @property
    def gains_by_pairs(self) -> bool:
        """Products of bf16 in pairs are faster than those of f32: two for each multiply-add."""
        return 2 * self.pairs > self.multiply_adds.get(64, 0)

    @property
    def gains_by_half_pairs(self) -> bool:
        """So are they in vectors of which half is used, than those of f32 in half vectors."""
        return self.gains_by_pairs and 2 * self.pairs > self.multiply_adds.get(32, 0)


def _server(
    name: str, loads: Mapping[int, float], clock: float, *, finds_rows: bool = True
) -> Core:
    """A server core of Intel's with two multiply-adds of 64 bytes a cycle."""
    return Core(
        name=name,
        multiply_adds={32: 2, 64: 2},
        loads=loads,
        latency=4,
        clock=clock,
        cycles=GOLDEN_COVE,
        grid=GOLDEN_COVE_GRID,
        # `peak` of bf16 measures 85 GFLOP/s on Golden Cove, that of f32 175.
        pairs=0.5,
        finds_rows=finds_rows,
    )


#: Those that a target may name. Zen 4 does a multiply-add of 64 bytes as two halves. "Golden Cove"
#: is the core of Sapphire Rapids and, little changed, of Emerald and Granite Rapids.
CORES: tuple[Core, ...] = (
    Core(name="Nehalem", multiply_adds={16: 1}, loads={16: 1}, latency=7, clock=3.4e9),
    Core(name="Haswell", multiply_adds={32: 2}, loads={32: 2}, latency=5, clock=3.0e9),
    Core(name="Skylake", multiply_adds={32: 2}, loads={32: 2}, latency=4, clock=3.5e9),
    _server("Skylake-SP", loads={32: 2, 64: 2}, clock=2.6e9, finds_rows=False),
    _server("Sunny Cove", loads={32: 2, 64: 2}, clock=2.8e9),
    _server("Golden Cove", loads={32: 3, 64: 2}, clock=2.8e9),
    Core(name="Zen", multiply_adds={32: 1}, loads={32: 1}, latency=5, clock=3.0e9),
    Core(name="Zen 2", multiply_adds={32: 2}, loads={32: 2}, latency=5, clock=3.3e9),
    Core(
        name="Zen 3",
        multiply_adds={32: 2},
        loads={32: 2},
        latency=4,
        clock=3.7e9,
        grid=ZEN_3_GRID,
        reads_whole=True,
    ),
    Core(
        name="Zen 4",
        multiply_adds={32: 2, 64: 1},
        loads={32: 2, 64: 1.5},
        latency=4,
        clock=3.7e9,
    ),
    Core(
        name="Zen 5",
        multiply_adds={32: 2, 64: 2},
        loads={32: 2, 64: 2},
        latency=4,
        clock=4.25e9,
        cycles=ZEN_5,
        grid=ZEN_5_GRID,
        # `peak` of bf16 measures 550 GFLOP/s, that of f32 275.
        pairs=2,
        walks_rows=True,
    ),
    Core(name="Neoverse", multiply_adds={16: 2}, loads={16: 2}, latency=4, clock=3.0e9),
)
_BY_NAME = {core.name: core for core in CORES}


def core_of(target: Target) -> Core:
    return _BY_NAME[target.device]


def heights_for(target: Target) -> Callable[[int, int], list[tuple[int, int]]]:
    """How many register tiles of which rows are counted, of so many rows and mr."""
    levels = target.limits["vector_bytes"] in core_of(target).grid.levels
    return tile_heights if levels else parts
