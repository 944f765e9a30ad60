"""Split-k of a skinny GEMM with a single block of the output.

An unpacked B is read fastest from end to end. If two cores take half of its columns each, they read
short pieces of its rows, and the hardware prefetcher loads lines behind each piece in vain. If they
take half of its rows each, they read it in order. The sums of a slice of K are a block of the
output in a workspace, and a second launch, of a single task, adds up those of all slices. The
schedule sets the slices: results do not depend on the number of threads.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import CpuMatmul, CpuSplitMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.accumulators import PARTIAL_SUMS
from kgen.targets.cpu.plan.kernels.blis import BlisPlan, plan_blis
from kgen_runtime.manifest import Launch, Workspace


def plan_split(spec: Matmul, target: Target, schedule: CpuSplitMatmul) -> BlisPlan:
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
    template = "cpu/matmul_split.ll.j2"
    plan = dataclasses.replace(plain, schedule=schedule, template=template)
    assert plan.slices is not None
    if plan.slices.count < 2:
        raise ScheduleError(
            f"split_k={schedule.split_k} with kc={schedule.kc} leaves one slice of k={spec.k}; "
            f"try split_k=2, kc={-(-spec.k // 4)}"
        )
    (finish,) = plan.launches
    operands = ("a", "b")
    rest = tuple(name for name in finish.arguments if name not in operands)
    slices = Launch(
        entry_point=plan.slices.entry,
        grid=(plan.slices.count, 1, 1),
        arguments=(*operands, PARTIAL_SUMS),
    )
    finish = dataclasses.replace(finish, arguments=(*rest, PARTIAL_SUMS))
    sums = Workspace(name=PARTIAL_SUMS, nbytes=plan.slices.bytes)
    return dataclasses.replace(plan, launches=(slices, finish), workspaces=(sums,))
