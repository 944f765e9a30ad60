"""Attention whose keys are divided: parts by the first kernel, combined by the second.

The first kernel is an ordinary one that stores results and states of rows in workspaces
(targets/attention/key_parts.py). In the second, each thread combines one element of a result.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import MmaAttention
from kgen.spec import Attention, DType, Matmul
from kgen.targets.amdgpu.plan.amdgpu_plan import AmdgpuPlan, check_grid
from kgen.targets.amdgpu.plan.attention.head_staging import MAX_BUFFER
from kgen.targets.amdgpu.plan.attention.matrix_attention import MatrixAttentionPlan, plan_attention
from kgen.targets.amdgpu.plan.attention.query_matrix_plan import AmdgpuAttentionPlan
from kgen.targets.amdgpu.plan.matmul.epilogue import MAKE_BUFFER
from kgen.targets.attention.key_parts import STATES, PartedRows
from kgen.targets.base import Target
from kgen.targets.contraction.partial_sums import PARTS
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import Remainder
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen


@frozen
class CombinedPartsPlan(AmdgpuAttentionPlan):
    """Plan of the second kernel: a thread for each element of the output."""

    parted: PartedRows

    @property
    def attributes(self) -> int:
        return 2

    def pointers(self, suffix: str = "") -> tuple[str, ...]:
        outputs = (p.name for p in self.spec.parameters if p.is_output)
        return (
            *(f"noalias readonly %{name}" for name in (PARTS, STATES)),
            *(f"noalias writeonly %{name}{suffix}" for name in outputs),
        )

    @property
    def output(self) -> Matmul:
        return self.parted.heads.output

    @property
    def parts(self) -> range:
        return range(self.schedule.split_k)

    @property
    def buffer_bytes(self) -> int:
        """Bytes from a head's results in the first part to the end of those in the last."""
        return self.parted.results_at(self.parts[-1]) + self.spec.queries * self.parted.row_bytes

    @property
    def outside(self) -> int:
        """Offset outside the buffer of results."""
        return -MAX_BUFFER

    @property
    def out_row_stride(self) -> int:
        return self.output.out_strides[1]

    @property
    def out_type(self) -> FloatType:
        return FloatType(dtype=self.spec.out)

    @property
    def rounds(self) -> bool:
        return self.spec.out is not DType.F32

    @property
    def outputs(self) -> int:
        """Elements of a head's output."""
        return self.spec.queries * self.spec.out_head

    @property
    def declarations(self) -> tuple[str, ...]:
        return (
            "i32 @llvm.amdgcn.workgroup.id.z()",
            "float @llvm.amdgcn.exp2.f32(float)",
            "float @llvm.amdgcn.rcp.f32(float)",
            "float @llvm.amdgcn.log.f32(float)",
            "float @llvm.maxnum.f32(float, float)",
            "float @llvm.fma.f32(float, float, float)",
            MAKE_BUFFER,
            "float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8), i32, i32, i32 immarg)",
        )


@frozen
class DividedAttentionPlan(AmdgpuPlan):
    """Plan of both kernels, which are in one module."""

    spec: Attention
    schedule: MmaAttention
    part: MatrixAttentionPlan
    combination: CombinedPartsPlan

    @property
    def declarations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.part.declarations, *self.combination.declarations)))

    @property
    def exponentials(self) -> tuple[FloatType, ...]:
        return self.part.exponentials

    @property
    def remainders(self) -> tuple[Remainder, ...]:
        return self.part.remainders

    @property
    def division_ulps(self) -> str:
        return self.part.division_ulps

    @property
    def has_barriers(self) -> bool:
        return True

    @property
    def target_features(self) -> tuple[str, ...]:
        return self.part.target_features

    @property
    def notes(self) -> tuple[str, ...]:
        return self.part.notes

    @property
    def memory_map(self) -> tuple[str, ...]:
        return self.part.memory_map


def plan_divided_attention(
    spec: Attention, target: Target, schedule: MmaAttention
) -> DividedAttentionPlan:
    """Return the plan. Raises ScheduleError for blocks or parts that do not fit."""
    part = plan_attention(spec, target, schedule)
    combination = _plan_combination(part)
    (launch,) = part.launches
    return DividedAttentionPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="amdgpu/attention_split.ll.j2",
        launches=(combination.parted.first_launch(launch), *combination.launches),
        workspaces=combination.parted.workspaces,
        part=part,
        combination=combination,
    )


def _plan_combination(part: MatrixAttentionPlan) -> CombinedPartsPlan:
    spec, threads, parted = part.spec, part.target.subgroup, PartedRows(matrices=part.matrices)
    heads = parted.heads
    outputs = spec.queries * spec.out_head
    names = (p.name for p in spec.parameters if p.is_output)
    launch = Launch(
        entry_point=spec.key,
        grid=(-(-outputs // threads), 1, heads.count),
        block=(threads, 1, 1),
        arguments=(PARTS, STATES, *names),
        # A tile is one of `out`; `lse` has other axes.
        tile=None
        if spec.lse
        else Tile(shape=(heads.count, outputs), extent=(1, threads), axes=(2, 0)),
    )
    check_grid(launch.grid, threads, part.target, "split_k=1")
    plan = CombinedPartsPlan(
        spec=spec,
        target=part.target,
        schedule=part.schedule,
        template=part.template,
        launches=(launch,),
        parted=parted,
    )
    if plan.buffer_bytes >= MAX_BUFFER:
        parts = part.schedule.split_k
        raise ScheduleError(
            f"split_k={parts} needs {plan.buffer_bytes} B of workspace per matrix; "
            f"{part.target.name} allows {MAX_BUFFER - 1}; try "
            f"split_k={max(1, parts * MAX_BUFFER // plan.buffer_bytes)}"
        )
    return plan
