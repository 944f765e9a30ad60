"""Common plan of AMD's attention kernels: the batch, and the units of the softmax."""

from __future__ import annotations

from kgen.schedule import MmaAttention
from kgen.spec import Attention, DType, Matmul
from kgen.targets.amdgpu.plan.amdgpu_plan import AmdgpuPlan
from kgen.targets.attention.softmax_units import SoftmaxUnits
from kgen.targets.batch import BatchCoordinate, batch_coordinates
from kgen.targets.llvm_ir import float_literal
from kgen_runtime.values import frozen


def f32_literal(value: float) -> str:
    return float_literal(value, DType.F32)


@frozen
class AmdgpuAttentionPlan(AmdgpuPlan):
    """Plan of a kernel whose workgroups compute parts of matrices of queries."""

    spec: Attention
    schedule: MmaAttention

    @property
    def output(self) -> Matmul:
        """Batched matmul whose output has the kernel's results."""
        raise NotImplementedError

    @property
    def batched(self) -> bool:
        return self.output.batch > 1

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.output)

    @property
    def units(self) -> SoftmaxUnits:
        return SoftmaxUnits(spec=self.spec, literal=f32_literal)

    @property
    def zeroes(self) -> str:
        """fcmp predicate between a row's sum and 0; if it holds, the row's results are zeros."""
        return {"eq": "oeq", "equ": "ueq"}[self.units.zeroes]

    @property
    def zero(self) -> str:
        return f32_literal(0.0)
