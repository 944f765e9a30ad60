"""Split-k of a product of few rows: the plan of matmul_split.ll.j2.

A B that comes from memory is read fastest from end to end. Two cores that take half of its columns
each read short pieces of its rows, and the hardware fetches what lies behind each in vain; two that
take half of its rows each do not. The sums of a slice of K are a block of out in a workspace, and a
second launch, of a single task, adds up those of all slices: few rows have few sums. Slices are the
schedule's, not the threads': results do not depend on how many there are.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import CpuMatmul, CpuSplitMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.kernels.blis import BlisPlan, plan_blis
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen

#: The workspace of the sums of each slice.
PARTIAL_SUMS = "partial.sums"


@frozen
class SplitPlan(BlisPlan):
    schedule: CpuSplitMatmul

    @property
    def scratch_besides_b(self) -> int:
        return self.packs_a * self.a_pack.bytes

    @property
    def slices_entry(self) -> str:
        return f"{self.spec.key}_slices"

    @property
    def slice_k(self) -> int:
        """K of a slice, in whole blocks; the last one may have less."""
        blocks = -(-self.spec.k // self.schedule.kc)
        return -(-blocks // self.schedule.split_k) * self.schedule.kc

    @property
    def slices(self) -> int:
        return -(-self.spec.k // self.slice_k)

    @property
    def partial_sums(self) -> str:
        """Pointer to the sums of the first slice."""
        return self.pointer(PARTIAL_SUMS)

    @property
    def further_slices(self) -> tuple[int, ...]:
        """Bytes to the sums of each slice but the first."""
        return tuple(number * self.acc.bytes for number in range(1, self.slices))

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *super().notes,
            f"split-k: a task of the first launch computes a slice of {self.slice_k} of K; the "
            "second launch adds the partial sums",
        )

    @property
    def scratch_map(self) -> tuple[str, ...]:
        order = f"{self.sum_vector.scalar} [{self.slices}][mc][nc], {self.acc.row} B per row"
        sums = f"{self.partial_sums}: {order}, {self.slices * self.acc.bytes} B, in a workspace"
        return (*(line for line in super().scratch_map if not line.startswith("%acc")), sums)


def plan_split(spec: Matmul, target: Target, schedule: CpuSplitMatmul) -> SplitPlan:
    """Raises ScheduleError as plan_blis does, and unless the block is all of out, and slices of K
    are several."""
    block = {"mc": spec.m, "nc": spec.n}
    for field, extent in block.items():
        if getattr(schedule, field) < extent:
            raise ScheduleError(
                f"{field}={getattr(schedule, field)} is less than {extent}; mainloop=split-k "
                f"computes a single block of the output; try {field}={extent}"
            )
    if spec.batch > 1 or spec.constant or spec.layout.b_transposed or schedule.pack_b:
        raise ScheduleError(
            "mainloop=split-k requires batch=1 and an unpacked row-major B (pack_b=0, no "
            f"constant); batch={spec.batch}, layout={spec.layout}, pack_b={schedule.pack_b:d}; "
            "try mainloop=blis"
        )
    if schedule.sums_in_out or schedule.tasks_per_pass > 1:
        raise ScheduleError(
            f"sums_in_out={schedule.sums_in_out:d}, tasks_per_pass={schedule.tasks_per_pass}: "
            "mainloop=split-k keeps partial sums in a workspace; "
            "try sums_in_out=0, tasks_per_pass=1"
        )
    same = {field.name: getattr(schedule, field.name) for field in dataclasses.fields(CpuMatmul)}
    plain = plan_blis(spec, target, CpuMatmul(**same))
    fields = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
    plan = SplitPlan(**fields | {"schedule": schedule, "template": "cpu/matmul_split.ll.j2"})
    if plan.slices < 2:
        raise ScheduleError(
            f"split_k={schedule.split_k} with kc={schedule.kc} leaves one slice of k={spec.k}; "
            f"try split_k=2, kc={-(-spec.k // 4)}"
        )
    return with_slices(plan)


def with_slices(plan: SplitPlan) -> SplitPlan:
    """The same with the launch of slices before it, and the memory of their sums."""
    (finish,) = plan.launches
    operands = ("a", "b")
    rest = tuple(name for name in finish.arguments if name not in operands)
    slices = Launch(
        entry_point=plan.slices_entry,
        grid=(plan.slices, 1, 1),
        arguments=(*operands, PARTIAL_SUMS),
    )
    finish = dataclasses.replace(finish, arguments=(*rest, PARTIAL_SUMS))
    sums = Workspace(name=PARTIAL_SUMS, nbytes=plan.slices * plan.acc.bytes)
    return dataclasses.replace(plan, launches=(slices, finish), workspaces=(sums,))
