"""Matmul on tensor cores: ldmatrix feeds mma.sync.m16n8k16 (or two m16n8k8) from shared memory."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import MmaMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.plan import base
from kgen.targets.cuda.plan.copy import TileCopy, Unit, plan_copy, xor_suffix
from kgen.targets.cuda.plan.exchange import Exchange, plan_exchange
from kgen.targets.cuda.plan.matmul import (
    MatmulPlan,
    matrices,
    order_tiles,
    plan_launch,
    plan_pipeline,
)
from kgen.targets.cuda.plan.output import plan_output
from kgen.targets.cuda.plan.tiles import HALF_BYTES, SwizzledTile

#: One ldmatrix.x4 brings a 16x16 piece: four 8x8 matrices of 16-bit elements.
PIECE = 16
REGISTERS_PER_PIECE = 4
HALF = 8
MMA_N = 8
#: Fragments of one step are multiplied while those of the next are loaded.
FRAGMENT_SETS = 2


@dataclass(frozen=True, kw_only=True)
class FragmentLoad:
    """One ldmatrix.x4 of operand `name`, at (lane's address ^ xor) + offset.

    `modifier` is .trans where the fragment's rows are the tile's columns.
    """

    name: str
    modifier: str
    registers: tuple[str, ...]
    xor: int
    offset: int

    @property
    def at(self) -> str:
        """The suffix of the register with the address that its xor gives."""
        return xor_suffix(self.xor)


@dataclass(frozen=True, kw_only=True)
class Mma:
    """One mma.sync: d += a b, by register names."""

    d: tuple[str, ...]
    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Share:
    """Units of the next tile that are asked for together; `last` ends their operand's tile."""

    copy: TileCopy
    units: tuple[Unit, ...]
    last: bool


@dataclass(frozen=True, kw_only=True)
class KStep:
    """16 of k: the products that it adds, and what is brought meanwhile for later steps.

    `loads` are the fragments of the step after it. The last step `turns` to the next tile first.
    """

    k: int
    mmas: tuple[Mma, ...]
    loads: tuple[FragmentLoad, ...]
    shares: tuple[Share, ...]
    turns: bool

    @property
    def last(self) -> int:
        return self.k + PIECE - 1


@dataclass(frozen=True, kw_only=True)
class MmaOperand:
    """How a warp reads its strip (`extent` of m or n) of one operand's tile, 16x16 at a time.

    Lane l gives ldmatrix the address of row l % 8 of the 8x8 matrix l / 8. Matrices are numbered
    in the order of mma's registers: A (m, k), (m+8, k), (m, k+8), (m+8, k+8); B (k, n), (k+8, n),
    (k, n+8), (k+8, n+8). So bit 3 of the lane picks the half of m for A and of k for B, and bit 4
    the other. Where k is not the inner dimension, the matrices are transposed on the way.
    """

    copy: TileCopy
    tile: SwizzledTile
    extent: int
    k_steps: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.copy.name

    @property
    def origin(self) -> str:
        """The register with the block tile's first m or n."""
        return "m0" if self.name == "a" else "n0"

    @property
    def row_half_bit(self) -> int:
        """The bit of the lane that picks the half of a piece's stored rows."""
        return 3 if (self.name == "a") == self.copy.matrix.k_inner else 4

    @property
    def col_half_bit(self) -> int:
        return 7 - self.row_half_bit

    @property
    def warp_bytes(self) -> int:
        """From one warp's strip to the next."""
        return self.extent * (self.tile.row_bytes if self.copy.matrix.k_inner else HALF_BYTES)

    def offset(self, free: int, k: int) -> tuple[int, int]:
        """(xor, offset) from the strip's first 16x16 piece to the one at (free, k)."""
        row, col = (free, k) if self.copy.matrix.k_inner else (k, free)
        return self.tile.place(row, col)

    def load(self, free: int, k: int) -> FragmentLoad:
        letter = "m" if self.name == "a" else "n"
        halves = [(free, 0), (free + HALF, 0), (free, HALF), (free + HALF, HALF)]
        if self.name == "b":
            halves[1], halves[2] = halves[2], halves[1]
        xor, offset = self.offset(free, k)
        return FragmentLoad(
            name=self.name,
            modifier="" if self.copy.matrix.k_inner else ".trans",
            registers=tuple(f"{self.name}_{letter}{f}_k{self.set_of(k) + h}" for f, h in halves),
            xor=xor,
            offset=offset,
        )

    def loads(self, k: int) -> tuple[FragmentLoad, ...]:
        return tuple(self.load(free, k) for free in range(0, self.extent, PIECE))

    def set_of(self, k: int) -> int:
        """The first k of the registers for step k: two sets take turns, if there are two steps."""
        return k % (FRAGMENT_SETS * PIECE)

    @property
    def pieces(self) -> tuple[tuple[str, ...], ...]:
        """The registers of each 16x16 piece, for all sets."""
        return tuple(load.registers for k in self.k_steps[:FRAGMENT_SETS] for load in self.loads(k))

    @property
    def xors(self) -> tuple[int, ...]:
        """The distinct exclusive ors among all loads; the first is 0."""
        return tuple(sorted({load.xor for k in self.k_steps for load in self.loads(k)}))

    @property
    def at_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the registers with their addresses."""
        return tuple(map(xor_suffix, self.xors))


@dataclass(frozen=True, kw_only=True)
class MmaPlan(MatmulPlan):
    schedule: MmaMatmul
    mma_operands: tuple[MmaOperand, MmaOperand]
    exchange: Exchange | None

    @property
    def operands(self) -> tuple[MmaOperand, MmaOperand]:
        return self.mma_operands

    @property
    def warps_n_log2(self) -> int:
        return base.log2(self.schedule.block_n // self.schedule.warp_n)

    @property
    def warps_n_mask(self) -> int:
        return self.schedule.block_n // self.schedule.warp_n - 1

    @property
    def mma_k(self) -> int:
        """Depth of one mma.sync."""
        return 16 if self.target.has("mma_m16n8k16") else 8

    @property
    def instruction(self) -> str:
        dtype = self.spec.dtype
        return f"mma.sync.aligned.m16n8k{self.mma_k}.row.col.f32.{dtype}.{dtype}.f32"

    @property
    def single_step(self) -> bool:
        """Whether a tile is a single step, so that its fragments have one set of registers."""
        return self.schedule.block_k == PIECE

    @property
    def first_fragments(self) -> tuple[FragmentLoad, ...]:
        return self._fragments(0)

    def _fragments(self, k: int) -> tuple[FragmentLoad, ...]:
        a, b = self.operands
        return a.loads(k) + b.loads(k)

    @property
    def k_steps(self) -> tuple[KStep, ...]:
        depth = self.schedule.block_k
        shares = self._shares
        steps = []
        for k in range(0, depth, PIECE):
            turns = k + PIECE == depth and self.pipeline.loops
            loads = self._fragments((k + PIECE) % depth) if turns or k + PIECE < depth else ()
            steps.append(
                KStep(
                    k=k,
                    mmas=self._mmas(self.operands[0].set_of(k)),
                    loads=loads,
                    shares=shares.get(k, ()),
                    turns=turns,
                )
            )
        return tuple(steps)

    @property
    def _shares(self) -> dict[int, tuple[Share, ...]]:
        """The next tile's units spread evenly over all steps (by their k) but the last."""
        if not self.pipeline.loads_in_loop:
            return {}
        steps = max(1, self.schedule.block_k // PIECE - 1)
        units = [(o.copy, unit) for o in self.operands for unit in o.copy.units]
        bounds = [len(units) * i // steps for i in range(steps + 1)]
        return {
            step * PIECE: tuple(self._share(group) for group in self._by_copy(units[first:last]))
            for step, (first, last) in enumerate(itertools.pairwise(bounds))
        }

    def _by_copy(self, units: list[tuple[TileCopy, Unit]]) -> list[list[tuple[TileCopy, Unit]]]:
        groups = [[u for u in units if u[0].name == o.name] for o in self.operands]
        return [group for group in groups if group]

    @staticmethod
    def _share(group: list[tuple[TileCopy, Unit]]) -> Share:
        copy = group[0][0]
        units = tuple(unit for _, unit in group)
        return Share(copy=copy, units=units, last=units[-1].index == len(copy.units) - 1)

    def _mmas(self, fragment_set: int) -> tuple[Mma, ...]:
        schedule = self.schedule
        tiles = [
            (m, n)
            for m in range(0, schedule.warp_m, PIECE)
            for n in range(0, schedule.warp_n, MMA_N)
        ]
        return tuple(
            self._mma(m, n, tuple(fragment_set + half for half in halves))
            for halves in self._k_halves
            for m, n in tiles
        )

    @property
    def _k_halves(self) -> tuple[tuple[int, ...], ...]:
        """The halves of 16 k that one mma takes."""
        return ((0, HALF),) if self.mma_k == PIECE else ((0,), (HALF,))

    def _mma(self, m: int, n: int, halves: tuple[int, ...]) -> Mma:
        """Fragment layouts: PTX ISA, "Matrix Fragments for mma.m16n8k16" and "... m16n8k8"."""
        return Mma(
            d=tuple(f"acc_m{m + i}_n{n + j}" for i in (0, HALF) for j in (0, 1)),
            a=tuple(f"a_m{m + i}_k{k}" for k in halves for i in (0, HALF)),
            b=tuple(f"b_n{n}_k{k}" for k in halves),
        )


def plan_mma(spec: Matmul, target: Target, schedule: MmaMatmul) -> MmaPlan:
    """Raises ScheduleError if the schedule does not fit the instruction or the target."""
    num_threads = schedule.num_warps * target.subgroup
    _check(schedule, num_threads, target)
    tiles = _tiles(spec, schedule)
    copies = [
        plan_copy(
            matrix,
            rows=tile.rows,
            cols=tile.row_bytes // HALF_BYTES,
            num_threads=num_threads,
            target=target,
            allow_async=True,
            place=tile.place,
        )
        for matrix, tile in zip(matrices(spec), tiles, strict=True)
    ]
    copies = order_tiles(spec.k, schedule.block_k, copies)
    accumulators = schedule.warp_m * schedule.warp_n // target.subgroup
    sets = min(FRAGMENT_SETS, schedule.block_k // PIECE)
    pieces = (schedule.warp_m + schedule.warp_n) // PIECE
    fragments = sets * pieces * REGISTERS_PER_PIECE
    staging = sum(copy.staging_registers for copy in copies)
    base.check_registers(
        accumulators + fragments + staging,
        f"a warp tile of {schedule.warp_m}x{schedule.warp_n}",
        num_threads,
        target,
        f"warp_n={max(PIECE, schedule.warp_n // 2)}",
    )
    stage_bytes = sum(tile.nbytes for tile in tiles)
    base.check_shared(schedule, stage_bytes, target)
    pipeline = plan_pipeline(spec.k, schedule, stage_bytes)
    k_steps = tuple(range(0, schedule.block_k, PIECE))
    extents = (schedule.warp_m, schedule.warp_n)
    operands = [
        MmaOperand(copy=copy, tile=tile, extent=extent, k_steps=k_steps)
        for copy, tile, extent in zip(copies, tiles, extents, strict=True)
    ]
    features = ["ldmatrix", "mma_m16n8k16" if target.has("mma_m16n8k16") else "mma_m16n8k8"]
    exchange = plan_exchange(spec, schedule, pipeline.nbytes)
    exchange_bytes = schedule.num_warps * exchange.tile.nbytes if exchange else 0
    shared_bytes = max(pipeline.nbytes, exchange_bytes)
    return MmaPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/matmul_mma.ptx.j2",
        launches=(plan_launch(spec, schedule, num_threads, shared_bytes, target),),
        num_threads=num_threads,
        shared_bytes=shared_bytes,
        ptx_version=base.ptx_version(target, *features),
        pipeline=pipeline,
        output=plan_output(
            spec,
            schedule,
            rows=tuple(range(0, schedule.warp_m, HALF)),
            cols=tuple(n + j for n in range(0, schedule.warp_n, MMA_N) for j in (0, 1)),
            run=2,
        ),
        mma_operands=(operands[0], operands[1]),
        exchange=exchange,
    )


def _tiles(spec: Matmul, schedule: MmaMatmul) -> tuple[SwizzledTile, SwizzledTile]:
    """A's and B's tile: rows and columns as the matrices are stored."""

    def tile(block: int, k_inner: bool, base: int) -> SwizzledTile:
        rows, cols = (block, schedule.block_k) if k_inner else (schedule.block_k, block)
        return SwizzledTile(rows=rows, row_bytes=cols * HALF_BYTES, base=base)

    a, b = matrices(spec)
    a_tile = tile(schedule.block_m, a.k_inner, 0)
    return a_tile, tile(schedule.block_n, b.k_inner, a_tile.nbytes)


def _check(schedule: MmaMatmul, num_threads: int, target: Target) -> None:
    base.check_powers_of_two(schedule)
    for name in ("warp_m", "warp_n", "block_k"):
        value = getattr(schedule, name)
        if value < PIECE:
            raise ScheduleError(
                f"{name}={value} is less than the {PIECE} of one ldmatrix; try {PIECE}"
            )
    if schedule.num_stages < 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} leaves no stage to load while one computes; try 2"
        )
    base.check_threads(num_threads, target, f"warp_m={schedule.block_m}")


def supports(dtype: DType, target: Target) -> bool:
    """Whether the target's tensor cores take this dtype with f32 accumulators."""
    feature = {DType.F16: "mma_m16n8k8", DType.BF16: "bf16_mma"}.get(dtype)
    return feature is not None and target.has(feature)
