"""What every CPU matmul shares: the block of a task, byte strides, and the epilogue's steps."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import CpuMatmul
from kgen.spec import Epilogue, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.addresses import Origin, origin
from kgen.targets.cpu.plan.base import CpuPlan
from kgen.targets.cpu.plan.functions import Functions, functions_for
from kgen.targets.cpu.plan.steps import Step, epilogue_steps
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.manifest import Launch

#: Steps that call a function of many instructions: unrolled over a register tile they would be
#: most of the kernel, so such an epilogue is a loop over the block.
LONG_STEPS = frozenset({Epilogue.GELU, Epilogue.GELU_TANH, Epilogue.SILU})


@dataclass(frozen=True, kw_only=True)
class MatmulPlan(CpuPlan):
    """A block of mc x nc of out per task; sums in a scratch block, then the epilogue.

    Properties that are texts are LLVM operands: a constant where the extent is the same for all
    tasks, else the name of the value that the template computes.
    """

    spec: Matmul
    schedule: CpuMatmul

    # -- blocks -------------------------------------------------------------------------------

    @property
    def blocks_m(self) -> int:
        return -(-self.spec.m // self.schedule.mc)

    @property
    def blocks_n(self) -> int:
        return -(-self.spec.n // self.schedule.nc)

    @property
    def splits_m(self) -> bool:
        return self.blocks_m > 1

    @property
    def splits_n(self) -> bool:
        return self.blocks_n > 1

    @property
    def blocks_per_batch(self) -> int:
        return self.blocks_m * self.blocks_n

    @property
    def task_words(self) -> str:
        s = self.schedule
        return (
            f"{s.mc} x {s.nc}: {self.spec.batch} batches x {self.blocks_m} x {self.blocks_n} blocks"
        )

    @property
    def rows_vary(self) -> bool:
        return self.blocks_m > 1 and self.m_edge_block

    @property
    def m_edge_block(self) -> bool:
        return self.spec.m % self.schedule.mc != 0

    @property
    def m_edge(self) -> bool:
        """The last register tile has rows past M."""
        return self.spec.m % self.schedule.mr != 0

    @property
    def has_whole_rows(self) -> bool:
        """Some register tile is whole."""
        return self.spec.m >= self.schedule.mr

    @property
    def rows_whole(self) -> str:
        """Rows of the block in whole register tiles."""
        if self.rows_vary and self.m_edge:
            return "%rows.whole"
        if self.rows_vary:
            return "%rows"
        rows = min(self.spec.m, self.schedule.mc)
        return str(rows - rows % self.schedule.mr)

    @property
    def rows(self) -> str:
        return "%rows" if self.rows_vary else str(min(self.spec.m, self.schedule.mc))

    @property
    def columns_vary(self) -> bool:
        return self.blocks_n > 1 and self.spec.n % self.schedule.nc != 0

    @property
    def columns(self) -> str:
        return "%columns" if self.columns_vary else str(min(self.spec.n, self.schedule.nc))

    @property
    def columns_whole(self) -> str:
        """Columns in whole vectors."""
        if self.columns_vary:
            return "%columns.whole"
        return str(self._whole(min(self.spec.n, self.schedule.nc)))

    @property
    def has_whole_vectors(self) -> bool:
        return min(self.spec.n, self.schedule.nc) >= self.compute.count

    @property
    def n_tail(self) -> int:
        """Columns of the last, partial vector."""
        return self.spec.n % self.compute.count

    @property
    def has_edge_panel(self) -> bool:
        """The last panel has columns past N."""
        return self.spec.n % self.schedule.nr != 0

    @property
    def only_edge_panel(self) -> bool:
        return self.spec.n < self.schedule.nr

    @property
    def has_whole_panel(self) -> bool:
        return not self.only_edge_panel

    @property
    def panels_whole(self) -> str:
        """Columns of the block in whole panels."""
        if self.columns_vary and self.has_edge_panel:
            return "%panels.whole"
        if self.columns_vary:
            return "%columns"
        columns = min(self.spec.n, self.schedule.nc)
        return str(columns - columns % self.schedule.nr)

    @property
    def depth_varies(self) -> bool:
        return self.k_blocked and self.spec.k % self.schedule.kc != 0

    @property
    def k_blocked(self) -> bool:
        """Sums are carried from one block of K to the next."""
        return self.spec.k > self.schedule.kc

    @property
    def depth(self) -> str:
        """K of the current block."""
        return "%depth" if self.depth_varies else str(min(self.spec.k, self.schedule.kc))

    def _whole(self, elements: int) -> int:
        return elements - elements % self.compute.count

    # -- tensors, in bytes --------------------------------------------------------------------

    @property
    def a_strides(self) -> tuple[int, ...]:
        """Batch, m, k."""
        return tuple(s * self.spec.dtype.itemsize for s in self.spec.a_strides)

    @property
    def b_strides(self) -> tuple[int, ...]:
        """Batch, k, n."""
        return tuple(s * self.spec.dtype.itemsize for s in self.spec.b_strides)

    @property
    def out_strides(self) -> tuple[int, ...]:
        """Batch, m, n of out, C and the residual."""
        return tuple(s * self.spec.out.itemsize for s in self.spec.out_strides)

    @property
    def a_origin(self) -> Origin:
        return self._origin("a", self.a_strides[0], m=self.a_strides[1])

    @property
    def b_origin(self) -> Origin:
        return self._origin("b", self.b_strides[0], n=self.b_strides[2])

    @property
    def input_origins(self) -> tuple[Origin, ...]:
        """Those of A and B that need steps."""
        return tuple(place for place in (self.a_origin, self.b_origin) if place.terms)

    @property
    def out_origins(self) -> dict[str, Origin]:
        """Of every tensor that the epilogue reads or writes."""
        batch, m, n = self.out_strides
        origins = {name: self._origin(name, batch, m=m, n=n) for name in self.out_like}
        return origins | ({"bias": self._origin("bias", 0, n=n)} if self.has_bias else {})

    def _origin(self, tensor: str, batch: int, m: int = 0, n: int = 0) -> Origin:
        """The block's corner: strides in bytes, of what varies from task to task."""
        terms = []
        if self.spec.batch > 1 and batch:
            terms.append(("batch", batch))
        if self.splits_m and m:
            terms.append(("m0", m))
        if self.splits_n and n:
            terms.append(("n0", n))
        return origin(tensor, terms)

    @property
    def out_like(self) -> tuple[str, ...]:
        """Tensors of out's shape and strides."""
        names = self.launches[0].arguments
        return tuple(name for name in ("c", "residual", "out") if name in names)

    @property
    def has_bias(self) -> bool:
        return Epilogue.BIAS in self.spec.epilogue

    @property
    def has_gelu(self) -> bool:
        return Epilogue.GELU in self.spec.epilogue

    # -- the scratch block of sums ------------------------------------------------------------

    @property
    def accumulator_bytes(self) -> int:
        return self.spec.accumulate.itemsize

    @property
    def accumulator_alignment(self) -> int:
        """Of a whole vector in scratch."""
        return self.compute.count * self.accumulator_bytes

    @property
    def acc_row(self) -> int:
        return self.schedule.nc * self.accumulator_bytes

    @property
    def acc_bytes(self) -> int:
        return self.schedule.mc * self.acc_row

    @property
    def vector_bytes(self) -> int:
        return self.accumulator_alignment

    @property
    def vector_mask(self) -> int:
        """Rounds a count down to whole vectors, by `and`."""
        return -self.compute.count

    # -- epilogue -----------------------------------------------------------------------------

    @property
    def has_functions(self) -> bool:
        """The epilogue has a step that takes an exponential."""
        return not LONG_STEPS.isdisjoint(self.spec.epilogue)

    @property
    def functions(self) -> Functions:
        return functions_for(self.target, self.compute)

    @property
    def steps(self) -> tuple[Step, ...]:
        return epilogue_steps(self.spec)

    @property
    def steps_result(self) -> str:
        """The value that is stored, where there are steps."""
        return self.steps[-1].result

    @property
    def out_masked_types(self) -> set[Vector]:
        return {self.out.stored} if self.n_tail > 1 else set()


def matmul_launch(spec: Matmul, schedule: CpuMatmul) -> Launch:
    blocks = -(-spec.m // schedule.mc) * -(-spec.n // schedule.nc)
    return Launch(
        entry_point=spec.key,
        grid=(spec.batch * blocks, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
    )


def check_multiple(schedule: CpuMatmul, field: str, unit: int, reason: str) -> None:
    value = getattr(schedule, field)
    if value % unit:
        raise ScheduleError(
            f"{field}={value} is not a multiple of {unit}, {reason}; "
            f"try {field}={-(-value // unit) * unit}"
        )


def check_stack(target: Target, nbytes: int) -> None:
    """The packing buffers of a task must fit a thread's stack."""
    limit = target.limits["stack_bytes"]
    if nbytes > limit:
        raise ScheduleError(
            f"mc, kc and nc need {nbytes} bytes of scratch; {target.name} allows {limit}; "
            "try a smaller kc, mc or nc"
        )
