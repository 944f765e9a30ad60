"""Matmul on matrix instructions: every wave owns a warp tile, made of MMA tiles."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul, MmaMatmul
from kgen.spec import Matmul
from kgen.targets.amdgpu import matrix
from kgen.targets.amdgpu.matrix import MatrixInstruction
from kgen.targets.amdgpu.plan import staging
from kgen.targets.amdgpu.plan.base import check_grid, check_threads
from kgen.targets.amdgpu.plan.matmul import MatmulPlan, check_lds, epilogue, k_loop, launch
from kgen.targets.amdgpu.plan.staging import Staging
from kgen.targets.base import Target

#: Elements that a lane reads from LDS at once: 16 bytes.
FRAGMENT_LOAD = 8
#: Elements behind each row of an LDS tile: 16 bytes more than a multiple of 64 spread the rows that
#: a wave reads together over all banks, and keep 16-byte alignment.
PADDING = 8


@dataclass(frozen=True, kw_only=True)
class Step:
    """One of the matrix instructions in a row on an accumulator, for one LDS tile."""

    number: int
    first: bool
    last: bool

    @property
    def before(self) -> int:
        return self.number - 1


@dataclass(frozen=True, kw_only=True)
class MmaPlan(MatmulPlan):
    """`tiles_m` x `tiles_n` MMA tiles per wave; `fragment` elements are loaded at once."""

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
    def accumulators(self) -> tuple[str, ...]:
        return tuple(f"%acc.m{m}.n{n}" for m, n in self.tiles)

    @property
    def row_mask(self) -> int:
        """Of the lane: its row of A, column of B and column of D."""
        return self.instruction.m - 1

    @property
    def row_shift(self) -> int:
        return self.instruction.m.bit_length() - 1

    @property
    def fragment(self) -> int:
        return fragment_elements(self.instruction)

    @property
    def lane_depth(self) -> int:
        """Depth of the first element of a lane group, in multiples of the group's number."""
        return 0 if self.instruction.replicated else self.fragment

    @property
    def fragment_type(self) -> str:
        return f"<{self.fragment} x {self.instruction.element}>"

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Which elements of a loaded fragment each of its matrix instructions takes."""
        size = self.instruction.elements
        return tuple(tuple(range(first, first + size)) for first in range(0, self.fragment, size))

    @property
    def split(self) -> bool:
        """A loaded fragment feeds more than one matrix instruction."""
        return len(self.parts) > 1

    @property
    def fragment_alignment(self) -> int:
        return staging.WIDEST

    @property
    def groups(self) -> tuple[int, ...]:
        """Depths inside an LDS tile at which fragments are loaded."""
        return tuple(range(0, self.schedule.block_k, group_depth(self.instruction, self.wave)))

    def step(self, group: int, part: int) -> Step:
        """Of the part of the fragments of the group-th depth."""
        number, steps = group * len(self.parts) + part, len(self.groups) * len(self.parts)
        return Step(number=number, first=number == 0, last=number == steps - 1)

    def fragment_offset(self, operand: Staging, tile: int, group: int) -> int:
        """Elements from the wave's first fragment to that of an MMA tile, at a depth."""
        return tile * self.instruction.m * operand.pitch + group

    @property
    def declarations(self) -> tuple[str, ...]:
        i = self.instruction
        return (
            *super().declarations,
            "i32 @llvm.amdgcn.readfirstlane.i32(i32)",
            f"{i.accumulator} @{i.intrinsic}({i.signature})",
        )

    @property
    def m_rows(self) -> tuple[tuple[int, int, int], ...]:
        """(MMA tile, result register, row) of all rows that lane 0 holds."""
        return tuple(
            (tile, register, tile * self.instruction.m + row)
            for tile in range(self.tiles_m)
            for register, row in enumerate(self.instruction.register_rows)
        )


def group_depth(instruction: MatrixInstruction, wave: int) -> int:
    """Depth that one round of fragment loads covers, over all lanes."""
    return fragment_elements(instruction) * instruction.lane_groups(wave)


def fragment_elements(instruction: MatrixInstruction) -> int:
    return max(FRAGMENT_LOAD, instruction.elements)


def choose_instruction(spec: Matmul, target: Target, schedule: MmaMatmul) -> MatrixInstruction:
    """The best one whose shape divides the warp tile. Raises ScheduleError if none does."""
    known = matrix.available(target, spec.dtype)
    for instruction in known:
        if schedule.warp_m % instruction.m == 0 and schedule.warp_n % instruction.n == 0:
            return instruction
    if not known:
        raise ScheduleError(
            f"{target.name} has no matrix instruction for {spec.dtype}; "
            "give a schedule with thread_m and thread_n instead of warp_m and warp_n"
        )
    smallest = min(known, key=lambda i: i.m)
    raise ScheduleError(
        f"warp_m={schedule.warp_m} x warp_n={schedule.warp_n} is not made of {target.name}'s "
        f"matrix tiles of {smallest.m}x{smallest.n}; "
        f"try warp_m={-(-schedule.warp_m // smallest.m) * smallest.m}, "
        f"warp_n={-(-schedule.warp_n // smallest.n) * smallest.n}"
    )


def plan(spec: Matmul, target: Target, schedule: MmaMatmul) -> MmaPlan:
    """Raises ScheduleError, with a value that fits, if the schedule does not."""
    instruction = choose_instruction(spec, target, schedule)
    threads = schedule.num_warps * target.subgroup
    check_threads(target, threads, "warp_m", schedule.warp_m)
    _check_registers(target, schedule)
    depth = group_depth(instruction, target.subgroup)
    if schedule.block_k % depth:
        raise ScheduleError(
            f"block_k={schedule.block_k} is not a multiple of the {depth} that a round of "
            f"{instruction.name} covers; try block_k={-(-schedule.block_k // depth) * depth}"
        )
    loop = k_loop(spec, schedule)
    check_lds(schedule, target, lambda s: lds_bytes(spec, s), depth)
    b_batch, b_k, b_n = spec.b_strides
    a, b = (
        staging.make(
            name=name,
            memory=spec.dtype,
            lds=spec.dtype,
            shape=(rows, spec.k),
            block=(block, schedule.block_k),
            threads=threads,
            stages=schedule.num_stages,
            strides=strides,
            lds_axis="k",
            padding=PADDING,
        )
        for name, rows, block, strides in (
            ("a", spec.m, schedule.block_m, spec.a_strides),
            ("b", spec.n, schedule.block_n, (b_batch, b_n, b_k)),
        )
    )
    launched = launch(spec, schedule, threads)
    check_grid(launched.grid, threads, "a larger block")
    return MmaPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="amdgpu/matmul_mma.ll.j2",
        launches=(launched,),
        a=a,
        b=b,
        k_loop=loop,
        epilogue=epilogue(spec, schedule, lanes=1),
        instruction=instruction,
    )


def lds_bytes(spec: Matmul, schedule: GpuMatmul) -> int:
    """Bytes of the LDS tiles of A and B, all stages."""
    lines = schedule.num_stages * (schedule.block_m + schedule.block_n)
    return lines * (schedule.block_k + PADDING) * spec.dtype.itemsize


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
