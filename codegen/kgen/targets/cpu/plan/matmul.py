"""Common part of all CPU matmul plans: prepacked B, byte strides, and the block of accumulators."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, Self

from kgen.errors import ScheduleError
from kgen.schedule import BlockedMatmul, CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.addresses import Tensors
from kgen.targets.cpu.plan.byte_results import ByteResults
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES, Buffer, CpuPlan
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.finishing import Finish
from kgen.targets.cpu.plan.packing.compensation import Starts
from kgen.targets.cpu.plan.packing.lanes import Interleaving
from kgen.targets.cpu.plan.packing.panel import PanelFormat, b_is_packed
from kgen.targets.cpu.plan.tiles.dots import Dot
from kgen.targets.cpu.plan.vectors import Access, Vector, VectorPart, scalar_type
from kgen.targets.device import Multiplied
from kgen.targets.epilogue import FusedEpilogue
from kgen_runtime.manifest import TensorParam, Tile, Walk
from kgen_runtime.values import frozen

#: Bytes of padding after a row of accumulators in scratch, which keep rows in different cache sets.
#: The padding is doubled if the padded row would be a multiple of CONFLICT_BYTES.
SUMS_PADDING, CONFLICT_BYTES = 64, 1024
MOST_PADDING = 2 * SUMS_PADDING


def padded(row: int) -> int:
    """Return the bytes from one row of accumulators to the next; `row` is their size in bytes."""
    return row + (SUMS_PADDING if (row + SUMS_PADDING) % CONFLICT_BYTES else MOST_PADDING)


@frozen
class Accumulators:
    """Block of `rows` rows of accumulators, `row` bytes apart, in vectors of type `vector`. `base`
    is the pointer to the first accumulator. With `in_out`, the output holds the partial sums
    between two blocks of K."""

    vector: Vector
    rows: int
    row: int
    base: str = "%acc"
    in_out: bool = False

    @property
    def bytes(self) -> int:
        return self.rows * self.row

    @property
    def buffer(self) -> Buffer:
        order = f"{self.vector.scalar} [mc][nc], {self.row} B per row"
        return Buffer(name="%acc", holds=order, bytes=self.bytes)


@frozen
class MatmulPlan(CpuPlan):
    """Plan of a matmul in which each task computes an mc x nc block of the output. `results` says
    how results of one byte are packed; None for results that are stored vector by vector."""

    spec: Matmul
    schedule: BlockedMatmul
    dot: Dot | None = None
    results: ByteResults | None = None

    @classmethod
    def of(
        cls,
        spec: Matmul,
        target: Target,
        schedule: BlockedMatmul,
        compute: Vector,
        *,
        mainloop: str,
        **fields: Any,
    ) -> Self:
        """Return the plan of a main loop's kernel, with a task for each block of the output."""
        blocks = -(-spec.m // schedule.mc) * -(-spec.n // schedule.nc)
        tasks, template = spec.batch * blocks, f"matmul_{mainloop}"
        return cls.single(spec, target, schedule, compute, template=template, tasks=tasks, **fields)

    @property
    def starts(self) -> Starts | None:
        """Start values of each row's accumulators; None unless the instruction reads B unsigned."""
        return None

    def starts_along(self, k: int, run: Access, sums: Vector, pointer: str) -> Starts | None:
        """Return the start values for `k` elements of each unpacked row of A at `pointer`. `run` is
        the access to A. The result is None unless the instruction reads B as unsigned."""
        if self.dot is None or not self.dot.b_is_unsigned:
            return None
        tail = k % run.compute.count
        return Starts(
            blocking=self.blocking,
            dot=self.dot,
            run=run,
            pointer=pointer,
            a_row=self.tensors.a_strides[1],
            sums=sums,
            depth=str(k - tail),
            tail=tail,
        )

    @property
    def interleaving(self) -> Interleaving | None:
        return None

    @cached_property
    def blocking(self) -> Blocking:
        return Blocking(spec=self.spec, schedule=self.schedule, lanes=self.compute.count)

    @cached_property
    def finish(self) -> Finish:
        return Finish(spec=self.spec, target=self.target, compute=self.compute, out=self.out)

    @cached_property
    def tensors(self) -> Tensors:
        return Tensors(
            spec=self.spec, blocking=self.blocking, epilogue=self.epilogue, packed_b=self.packed_b
        )

    @cached_property
    def acc(self) -> Accumulators:
        in_out = isinstance(self.schedule, CpuMatmul) and self.schedule.sums_in_out
        return Accumulators(
            vector=self.sum_vector,
            rows=self.schedule.mc,
            row=self.tensors.out_strides[1] if in_out else self.scratch_row,
            base=self.tensors.out_origins["out"].base if in_out else "%acc",
            in_out=in_out,
        )

    @property
    def sum_vector(self) -> Vector:
        """Vector of accumulators, with as many columns as a vector of the epilogue."""
        return self.compute.of(scalar_type(self.spec.accumulate))

    @property
    def scratch_row(self) -> int:
        """Bytes from one row of accumulators in scratch to the next."""
        return self.schedule.nc * self.spec.accumulate.itemsize

    @property
    def epilogue(self) -> FusedEpilogue:
        return self.finish.epilogue

    def pointer(self, name: str) -> str:
        return self.finish.pointer(name)

    @property
    def rows_are_fastest(self) -> bool:
        """Whether consecutive tasks have consecutive blocks of rows; otherwise of columns."""
        return False

    @property
    def task_words(self) -> str:
        return self.blocking.grid

    @property
    def masked_accesses(self) -> set[Vector]:
        return self.finish.types if self.blocking.vectors.tail > 1 else set()

    @property
    def multiplied(self) -> Multiplied:
        """Type of the multiplied operands: the accumulator type unless `dot` multiplies them."""
        return Multiplied(operands=str(self.spec.dtype if self.dot else self.spec.accumulate))

    @property
    def fetches(self) -> bool:
        return False

    def fetches_at(self, vector: VectorPart, dtype: DType) -> bool:
        """Return whether a vector starts a cache line, in rows or columns of type `dtype`."""
        return vector.first * dtype.itemsize % LINE_BYTES == 0

    @property
    def b_format(self) -> PanelFormat:
        """Order of B if it is prepacked."""
        return PanelFormat(width=self.compute.count)

    @cached_property
    def packed_b(self) -> TensorParam | None:
        return self.b_format.of(self.spec) if b_is_packed(self.spec) else None

    @property
    def b_is_packed(self) -> bool:
        return self.packed_b is not None

    @property
    def parameters(self) -> tuple[TensorParam, ...]:
        packed = self.packed_b
        return tuple(packed if packed and p.name == "b" else p for p in self.operation.parameters)


def with_tile(plan: MatmulPlan) -> MatmulPlan:
    """Return the plan with the block of the output that each task of its last launch writes. Raises
    ScheduleError unless its buffers fit a thread's stack."""
    check_stack(plan)
    spec, schedule = plan.spec, plan.schedule
    tile = Tile(
        shape=(spec.batch, spec.m, spec.n),
        extent=(1, min(schedule.mc, spec.m), min(schedule.nc, spec.n)),
        axes=(0, 0, 0),
        walk=Walk(group=plan.blocking.m.blocks if plan.rows_are_fastest else 1),
    )
    *before, multiply = plan.launches
    launches = (*before, dataclasses.replace(multiply, tile=tile))
    return dataclasses.replace(plan, launches=launches)


def check_prepacked(spec: Matmul, schedule: BlockedMatmul) -> None:
    """Raise ScheduleError if the schedule packs a B that is prepacked."""
    if spec.constant and schedule.pack_b:
        raise ScheduleError("pack_b=1 is not supported for a prepacked B; try pack_b=0")


def check_stack(plan: MatmulPlan) -> None:
    """Raise ScheduleError unless the packing buffers of a task fit a thread's stack."""
    schedule, limit = plan.schedule, plan.target.limits["stack_bytes"]
    if plan.scratch_bytes > limit:
        raise ScheduleError(
            f"mc={schedule.mc}, kc={schedule.kc} and nc={schedule.nc} need {plan.scratch_bytes} "
            f"bytes of scratch; {plan.target.name} allows {limit}; try a smaller kc, mc or nc"
        )
