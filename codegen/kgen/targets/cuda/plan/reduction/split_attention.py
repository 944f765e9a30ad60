"""Attention whose keys are divided: parts by the first kernel, combined by the second.

The first kernel is an ordinary one that stores results and states of rows in workspaces
(targets/attention/key_parts.py). Both kernels are in one module.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import MmaAttention
from kgen.spec import Attention, DType
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.attention.key_parts import STATES, PartedRows
from kgen.targets.attention.softmax_units import SoftmaxUnits
from kgen.targets.base import Target
from kgen.targets.contraction.partial_sums import PARTS
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.constants import float_bits
from kgen.targets.cuda.plan.cuda_plan import ptx_version
from kgen.targets.cuda.plan.epilogue.output import OutputPlan
from kgen.targets.cuda.plan.matrix import MAX_IMMEDIATE
from kgen.targets.cuda.plan.mma.fused_attention import MmaAttentionPlan, plan_attention
from kgen.targets.cuda.plan.reduction.joined_outputs import JoinedOutputs, share_outputs
from kgen.targets.cuda.plan.reduction.two_kernels import TwoKernelPlan
from kgen_runtime.values import frozen

#: Registers of a thread for the state of a row in a part.
STATE_REGISTERS = 1


@frozen
class KeyPart:
    """Registers with the results of part `number`, and offsets of its results and of its row's
    state in bytes from the first part's."""

    number: int
    results: tuple[str, ...]
    results_at: int
    state_at: int

    @property
    def sums(self) -> tuple[tuple[str, str], ...]:
        """Pairs of registers: a combined result, and this part's result."""
        return tuple((f"acc_m0_n{n}", result) for n, result in enumerate(self.results))


@frozen
class CombinationPlan(OutputPlan):
    """Plan of the second kernel, whose threads combine the parts of their results."""

    spec: Attention
    schedule: MmaAttention
    parted: PartedRows
    threads: JoinedOutputs

    @property
    def units(self) -> SoftmaxUnits:
        return SoftmaxUnits(spec=self.spec, literal=float_bits)

    @property
    def batched(self) -> bool:
        return self.parted.heads.count > 1

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        return tuple(
            KeyPart(
                number=number,
                results=tuple(f"part{number}_n{i}" for i in range(self.threads.width)),
                results_at=self.parted.results_at(number),
                state_at=self.parted.state_at(number),
            )
            for number in range(self.schedule.split_k)
        )


@frozen
class SplitAttentionPlan(TwoKernelPlan):
    """Plan of both kernels."""

    spec: Attention
    schedule: MmaAttention
    part: MmaAttentionPlan
    combination: CombinationPlan

    @property
    def notes(self) -> tuple[str, ...]:
        return self.part.notes

    @property
    def remarks(self) -> tuple[str, ...]:
        parts = self.schedule.split_k
        return (
            *self.part.remarks,
            f"split-k: {parts} parts of the keys, combined by a second kernel",
        )


def plan_split_attention(
    spec: Attention, target: Target, schedule: MmaAttention
) -> SplitAttentionPlan:
    """Return the plan. Raises ScheduleError for blocks or parts that do not fit."""
    part = plan_attention(spec, target, schedule)
    # One module has both kernels, and only the second converts to the output's type.
    version = max(part.ptx_version, ptx_version(target, spec))
    combination = _plan_combination(part, version)
    (launch,) = part.launches
    return SplitAttentionPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/attention_split.ptx.j2",
        launches=(combination.parted.first_launch(launch), *combination.launches),
        workspaces=combination.parted.workspaces,
        num_threads=part.num_threads,
        shared_bytes=part.shared_bytes,
        ptx_version=version,
        part=part,
        combination=combination,
    )


def check_combination(matrices: HeadMatrices, target: Target) -> None:
    """Check that the second kernel can combine all parts. Raises ScheduleError."""
    spec, parts = matrices.spec, matrices.parts
    needed = parts * matrices.rows * spec.out_head * DType.F32.itemsize
    if needed > MAX_IMMEDIATE:
        raise ScheduleError(
            f"split_k={parts} needs {needed} B of workspace per matrix; the limit is "
            f"{MAX_IMMEDIATE} B; try split_k={max(1, parts * MAX_IMMEDIATE // needed)}"
        )
    threads = share_outputs(HeadMatrices(spec=spec).output)
    # Loads of all parts are under way at once.
    registers = parts * (threads.width + STATE_REGISTERS)
    what, remedy = f"split_k={parts}", f"split_k={max(1, parts // 2)}"
    cuda_plan.check_registers(registers, what, threads.num_threads, target, remedy)


def _plan_combination(part: MmaAttentionPlan, version: int) -> CombinationPlan:
    spec, parted = part.spec, PartedRows(matrices=part.matrices)
    check_combination(part.matrices, part.target)
    threads = share_outputs(parted.heads.output)
    names = (p.name for p in spec.parameters if p.is_output)
    launch = threads.launch(spec.key, (PARTS, STATES, *names))
    return CombinationPlan(
        spec=spec,
        target=part.target,
        schedule=part.schedule,
        template="ptx/attention_split.ptx.j2",
        launches=(dataclasses.replace(launch, tile=None) if spec.lse else launch,),
        num_threads=threads.num_threads,
        ptx_version=version,
        parted=parted,
        threads=threads,
        output=threads.tile,
    )
