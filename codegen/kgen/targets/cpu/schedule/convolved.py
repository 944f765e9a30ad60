"""Schedules of convolutions: products of packed windows, and depthwise tiles of outputs."""

from __future__ import annotations

import math
from collections.abc import Collection

from kgen.schedule import BlockedMatmul, CpuDepthwise
from kgen.spec import Conv2d, Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.contraction.candidate_table import Fixed
from kgen.targets.contraction.implicit_gemm import implicit_gemm, is_matrix
from kgen.targets.cpu.plan.kernels import depthwise
from kgen.targets.cpu.plan.packing.packed_windows import mainloop_of_windows
from kgen.targets.cpu.schedule import adapt, cost_model
from kgen.targets.cpu.schedule.row_schedules import TASK_ELEMENTS

#: The field that says that windows are packed.
PACKS = {"pack_a": 1}


def candidates(conv: Conv2d, target: Target, *, most: int) -> tuple[Candidate[BlockedMatmul], ...]:
    """Return the legal schedules of the least predicted time, the best first."""
    return () if depthwise.takes(conv) else cost_model.candidates(*_packed(conv, target), most=most)


def choose(conv: Conv2d, target: Target) -> BlockedMatmul | CpuDepthwise:
    """Return the legal schedule of the least predicted time."""
    found = None if depthwise.takes(conv) else cost_model.best(*_packed(conv, target))
    assert found is not None or depthwise.takes(conv), f"no loop of {target.name} fits {conv.key}"
    return found or _depthwise(conv, target)


def _packed(conv: Conv2d, target: Target) -> tuple[Matmul, Target, Fixed | None, str | None]:
    fixed = (None, None) if is_matrix(conv) else (PACKS, mainloop_of_windows(conv, target))
    return implicit_gemm(conv), target, *fixed


def _depthwise(conv: Conv2d, target: Target) -> CpuDepthwise:
    """Return tiles of equal width, the widest whose sums are in registers beside weights of a row,
    an element and an integer product. A task has as many products of channels as a stream's."""
    count, registers = conv.out_sizes[-1], target.limits["vector_registers"]
    beside = conv.kernel[-1] + 1 + conv.dtype.is_integer
    most = min(max(registers - beside, registers // 2), depthwise.most_outputs(conv))
    products = count * conv.outputs * math.prod(conv.kernel)
    return CpuDepthwise(task=max(1, TASK_ELEMENTS // products), tile=-(-count // -(-count // most)))


def alternatives(conv: Conv2d, target: Target) -> tuple[BlockedMatmul | CpuDepthwise, ...]:
    """Return the best schedule of each main loop and each choice of packing, the best first."""
    own = (_depthwise(conv, target),) if depthwise.takes(conv) else ()
    ranked = cost_model.candidates(*_packed(conv, target), most=None, by_kind=True)
    return *own, *(each.schedule for each in ranked)


def completed(
    conv: Conv2d, target: Target, schedule: BlockedMatmul, given: Collection[str]
) -> BlockedMatmul:
    """Return the schedule with its dependent fields chosen by the model."""
    kept = given if is_matrix(conv) else {*given, *PACKS}
    return adapt.completed(implicit_gemm(conv), target, schedule, kept)
