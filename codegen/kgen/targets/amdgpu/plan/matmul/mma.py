"""Matmul on matrix instructions: every wave computes a warp tile of several MMA tiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import ClassVar, TypeVar

import numpy as np

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul, MmaMatmul
from kgen.spec import Matmul
from kgen.targets.amdgpu import matrix
from kgen.targets.amdgpu.matrix import MatrixInstruction
from kgen.targets.amdgpu.plan.amdgpu_plan import check_grid, check_threads, larger_blocks
from kgen.targets.amdgpu.plan.lds.addressed_tiles import addressed, place
from kgen.targets.amdgpu.plan.lds.banks import WIDEST, Lanes
from kgen.targets.amdgpu.plan.lds.tile import LdsTile
from kgen.targets.amdgpu.plan.matmul.epilogue import epilogue
from kgen.targets.amdgpu.plan.matmul.k_loop import KLoop, check_stages, walked
from kgen.targets.amdgpu.plan.matmul.matmul_plan import MatmulPlan, check_lds, launch
from kgen.targets.amdgpu.plan.matmul.shared_k import check_whole, plan_shares, raster_of
from kgen.targets.amdgpu.plan.staging import layout
from kgen.targets.amdgpu.plan.staging.chunks import power_of_two_divisor
from kgen.targets.amdgpu.plan.staging.layout import Loads
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.base import Target
from kgen.targets.contraction.access import AccessMap, access_maps
from kgen_runtime.values import frozen

#: Wait states of the longest S_NOP.
MOST_NOPS = 16


@frozen
class MmaStep:
    """Matrix instruction `number` of those that add the products of an LDS tile to one
    accumulator."""

    number: int
    first: bool
    last: bool

    @property
    def before(self) -> int:
        return self.number - 1


@frozen
class Slice:
    """Products of a K-tile that are computed together: a group of fragments in some rows of MMA
    tiles. `columns` are the columns whose fragments are loaded for it; all others are loaded
    already."""

    number: int
    group: int
    rows: range
    columns: range


@frozen
class MmaPlan(MatmulPlan):
    """Plan of a matmul with `tiles_m` x `tiles_n` MMA tiles per wave.

    A lane's columns of `interleave` adjacent MMA tiles are neighbours.
    """

    #: Whether A may be an operand that is not a matrix (:class:`GuardedStaging`).
    takes_guards: ClassVar[bool] = True

    schedule: MmaMatmul
    instruction: MatrixInstruction

    @property
    def waves_m(self) -> int:
        return self.schedule.block_m // self.schedule.warp_m

    @property
    def waves_n(self) -> int:
        return self.schedule.block_n // self.schedule.warp_n

    @property
    def tiles_m(self) -> int:
        return self.schedule.warp_m // self.instruction.m

    @property
    def tiles_n(self) -> int:
        return self.schedule.warp_n // self.instruction.n

    @property
    def tiles(self) -> tuple[tuple[int, int], ...]:
        return tuple((m, n) for m in range(self.tiles_m) for n in range(self.tiles_n))

    @property
    def tile_rows(self) -> tuple[int, ...]:
        """First row of each MMA tile of A of a wave."""
        return tuple(tile * self.instruction.m for tile in range(self.tiles_m))

    @property
    def tile_columns(self) -> tuple[int, ...]:
        """Position of B at which each MMA tile of a wave begins."""
        return tuple(tile * self.instruction.n for tile in range(self.tiles_n))

    def addressed(self, s: Staging, tiles: tuple[int, ...]) -> tuple[int, ...]:
        return addressed(s.tile.swizzle, tiles)

    def place(self, s: Staging, tiles: tuple[int, ...], tile: int) -> tuple[int, int]:
        return place(s.tile.swizzle, tiles, tile)

    def first_depth(self, lines: tuple[int, ...]) -> int:
        return lines[0] * self.a.tile.slot_k

    @property
    def accumulators(self) -> tuple[str, ...]:
        return tuple(f"%acc.m{m}.n{n}" for m, n in self.tiles)

    @property
    def row_mask(self) -> int:
        """Mask of the lane number that gives the lane's column of B and D, and its row of A except
        for dot products."""
        return self.instruction.n - 1

    @property
    def row_shift(self) -> int:
        return self.instruction.n.bit_length() - 1

    @property
    def lane_row_of_a(self) -> str:
        """Name of the value with the lane's row of A in an MMA tile."""
        return "%lane_group" if self.instruction.by_lane else "%lane_row"

    @property
    def slot_lanes(self) -> int:
        """Number of the instruction's words (or elements) in a slot."""
        return self.instruction.slot_k // self.instruction.packed

    @property
    def slot_type(self) -> str:
        return f"<{self.slot_lanes} x {self.instruction.element}>"

    @property
    def lane_lines(self) -> int:
        """Lines of LDS from one lane group's first to the next one's."""
        return 0 if self.instruction.whole_depth else 1

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Lines of LDS that the first lane group loads together, for each group of fragments."""
        return line_groups(self.instruction, self.wave, self.a.tile.lines)

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(line for group in self.groups for line in group)

    @property
    def joined(self) -> bool:
        """Whether a matrix instruction takes two slots."""
        return self.instruction.elements > self.instruction.slot_k

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Elements of the loaded fragments that each of their matrix instructions takes."""
        i = self.instruction
        size, loaded = i.lanes, i.slot_k // i.packed * len(self.groups[0])
        return tuple(tuple(range(first, first + size)) for first in range(0, loaded, size))

    @property
    def split(self) -> bool:
        """Whether a slot feeds more than one matrix instruction."""
        return len(self.parts) > 1

    @property
    def slices(self) -> tuple[Slice, ...]:
        """Slices of a K-tile, in order."""
        rows, columns = range(self.tiles_m), range(self.tiles_n)
        return tuple(
            Slice(number=group, group=group, rows=rows, columns=columns)
            for group in range(len(self.groups))
        )

    def tiles_of(self, part: Slice) -> tuple[tuple[int, int], ...]:
        return tuple((m, n) for m in part.rows for n in range(self.tiles_n))

    def step(self, group: int, part: int) -> MmaStep:
        """Return the step that multiplies one part of the fragments of a group of lines."""
        number, steps = group * len(self.parts) + part, len(self.groups) * len(self.parts)
        return MmaStep(number=number, first=number == 0, last=number == steps - 1)

    @property
    def interleave(self) -> int:
        return self.b.tile.interleave

    @property
    def columns(self) -> tuple[int, ...]:
        """First column of each piece of a row that lane 0 holds."""
        return tuple(range(0, self.schedule.warp_n, self.b.tile.interleaved_rows))

    @classmethod
    def most_neighbours(cls, b: AccessMap) -> int:
        """Return the most MMA tiles from which a lane can have neighbouring columns of B."""
        return WIDEST

    @property
    def neighbours(self) -> tuple[range, ...]:
        """MMA tiles whose results are neighbouring columns, for each piece of a row."""
        several = self.interleave
        return tuple(range(i * several, (i + 1) * several) for i in range(len(self.columns)))

    @property
    def late_products(self) -> tuple[int, ...]:
        """Operands of the S_NOPs after the last products; each waits one state more than its
        operand says."""
        states = self.instruction.late_by
        return tuple(min(MOST_NOPS, states - first) - 1 for first in range(0, states, MOST_NOPS))

    @property
    def declarations(self) -> tuple[str, ...]:
        i = self.instruction
        late = ("void @llvm.amdgcn.s.nop(i16 immarg)",) if self.late_products else ()
        return (
            *super().declarations,
            *late,
            "i32 @llvm.amdgcn.readfirstlane.i32(i32)",
            f"{i.accumulator} @{i.intrinsic}({i.signature})",
        )

    @property
    def m_rows(self) -> tuple[tuple[int, int, int], ...]:
        """Triples (MMA tile, result register, row) of all rows that lane 0 holds."""
        return tuple(
            (tile, register, tile * self.instruction.m + row)
            for tile in range(self.tiles_m)
            for register, row in enumerate(self.instruction.register_rows)
        )


P = TypeVar("P", bound=MmaPlan)


def group_depth(instruction: MatrixInstruction, wave: int) -> int:
    """Return the depth that one round of fragment loads covers, over all lanes."""
    return max(instruction.slot_k, instruction.elements) * instruction.lane_groups(wave)


def line_groups(
    instruction: MatrixInstruction, wave: int, lines: int
) -> tuple[tuple[int, ...], ...]:
    """Return the lines of each round of fragment loads in lane group 0; those of lane group g are g
    lines higher."""
    slots = max(1, instruction.elements // instruction.slot_k)
    lane_groups = instruction.lane_groups(wave)
    return tuple(
        tuple(range(first, first + slots * lane_groups, lane_groups))
        for first in range(0, lines, slots * lane_groups)
    )


def fragment_loads(
    instruction: MatrixInstruction, wave: int, tiles: int, lane_row: Callable[[int], int]
) -> Loads:
    """Return the loads of the first wave from an operand's tile. Its warp tile has `tiles` MMA
    tiles, of which each lane holds one row."""

    lane_rows = np.array([lane_row(lane) for lane in range(wave)])
    lane_depths = np.array([instruction.lane_depth(lane) for lane in range(wave)])

    def loads(tile: LdsTile) -> tuple[Lanes, Lanes, int]:
        block, i = np.divmod(np.arange(tiles), tile.interleave)
        first = (block * tile.interleaved_rows + i)[:, None, None]
        lines = np.array([*chain(*line_groups(instruction, wave, tile.lines))])[:, None]
        rows = first + lane_rows * tile.interleave
        depths = (lines + lane_depths) * instruction.slot_k
        rows, depths = np.broadcast_arrays(rows, depths)
        return rows, depths, WIDEST

    return loads


def choose_instruction(spec: Matmul, target: Target, schedule: MmaMatmul) -> MatrixInstruction:
    """Return the best matrix instruction whose shape divides the warp tile. Raises ScheduleError if
    none does."""
    known = matrix.instructions_of(spec, target)
    for instruction in known:
        if schedule.warp_m % instruction.m == 0 and schedule.warp_n % instruction.n == 0:
            return instruction
    if not known:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} needs a matrix instruction for {spec.dtype}, which "
            f"{target.name} does not have; try mainloop=fma"
        )
    smallest = min(known, key=lambda i: i.m)
    raise ScheduleError(
        f"warp_m={schedule.warp_m} x warp_n={schedule.warp_n} is not a multiple of the "
        f"{smallest.m}x{smallest.n} matrix instructions of {target.name}; "
        f"try warp_m={-(-schedule.warp_m // smallest.m) * smallest.m},"
        f"warp_n={-(-schedule.warp_n // smallest.n) * smallest.n}"
    )


def plan(spec: Matmul, target: Target, schedule: MmaMatmul) -> MmaPlan:
    """Return the plan. Raises ScheduleError, with a value that fits, if the schedule does not."""
    return plan_of(MmaPlan, "amdgpu/matmul_mma.ll.j2", spec, target, schedule)


def plan_of(kind: type[P], template: str, spec: Matmul, target: Target, schedule: MmaMatmul) -> P:
    """Return the plan of any main loop of matrix instructions. Raises ScheduleError as `plan`
    does."""
    instruction = choose_instruction(spec, target, schedule)
    threads = schedule.num_warps * target.subgroup
    check_threads(target, threads, "warp_m", schedule.warp_m)
    _check_registers(target, schedule)
    depth = group_depth(instruction, target.subgroup)
    if schedule.block_k % depth:
        raise ScheduleError(
            f"block_k={schedule.block_k} is not a multiple of {depth}, the K of one group of "
            f"{instruction.name}; try block_k={-(-schedule.block_k // depth) * depth}"
        )
    check_stages(schedule)
    check_lds(schedule, target, lambda s: lds_bytes(spec, s), depth)
    tiles_n = schedule.warp_n // instruction.n
    # A piece of neighbouring columns is wholly inside or outside the output, and is one store.
    interleave = power_of_two_divisor(math.gcd(tiles_n, spec.n), WIDEST // spec.out.itemsize)
    a_map, b_map = access_maps(spec)
    if not (kind.takes_guards or a_map.is_affine):
        raise ScheduleError(
            f"mainloop={schedule.mainloop} copies tiles of matrices only, and {spec.key} reads "
            "operand a under guards; try mainloop=mma"
        )
    interleave = min(interleave, kind.most_neighbours(b_map))
    a, b = (
        layout.make(
            access,
            target=target,
            tile=LdsTile(
                dtype=spec.dtype,
                stages=schedule.num_stages,
                rows=block,
                depth=schedule.block_k,
                slot_rows=1,
                slot_k=instruction.slot_k,
                interleave=neighbours,
                fragment_rows=fragment_rows,
            ),
            threads=threads,
            loads=fragment_loads(instruction, target.subgroup, warp // fragment_rows, lane_row),
            overhang=True,
        )
        for access, block, warp, fragment_rows, lane_row, neighbours in (
            (a_map, schedule.block_m, schedule.warp_m, instruction.m, instruction.lane_row, 1),
            (
                b_map,
                schedule.block_n,
                schedule.warp_n,
                instruction.n,
                instruction.lane_column,
                interleave,
            ),
        )
    )
    loop, a, b = walked(schedule, a, b)
    launched = launch(spec, schedule, threads)
    raster = raster_of(spec, schedule)
    shares = plan_shares(
        spec,
        schedule,
        raster,
        waves=schedule.num_warps,
        wave=target.subgroup,
        accumulators=tuple(
            f"%acc.m{m}.n{n}"
            for m in range(schedule.warp_m // instruction.m)
            for n in range(tiles_n)
        ),
        registers=len(instruction.register_rows),
    )
    if raster is not None and shares is not None:
        check_whole(spec, loop.rest > 0)
        launched = shares.launch(launched, raster)
        loop = KLoop(full=shares.step_tiles, rest=0, stages=schedule.num_stages)
    check_grid(launched.grid, threads, target, larger_blocks(schedule))
    return kind(
        spec=spec,
        target=target,
        schedule=schedule,
        template=template,
        launches=(launched,),
        a=a,
        b=b,
        k_loop=loop,
        epilogue=epilogue(spec, schedule, lanes=interleave),
        instruction=instruction,
        raster=raster,
        shares=shares,
        workspaces=() if shares is None else shares.workspaces,
    )


def lds_bytes(spec: Matmul, schedule: GpuMatmul) -> int:
    """Return the bytes of the LDS tiles of A and B, for all stages."""
    rows = schedule.num_stages * (schedule.block_m + schedule.block_n)
    return rows * schedule.block_k * spec.dtype.itemsize


def _check_registers(target: Target, schedule: MmaMatmul) -> None:
    limit = target.limits["registers"]

    def accumulators(warp_m: int) -> int:
        return warp_m * schedule.warp_n // target.subgroup

    if accumulators(schedule.warp_m) >= limit:
        fits = schedule.warp_m
        while accumulators(fits) >= limit:
            fits //= 2
        raise ScheduleError(
            f"warp_m={schedule.warp_m} x warp_n={schedule.warp_n} needs "
            f"{accumulators(schedule.warp_m)} accumulators per lane; "
            f"{target.name} has {limit} registers; try warp_m={fits}"
        )
