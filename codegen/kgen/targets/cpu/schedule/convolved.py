"""Schedules of convolutions: those of the product of windows and weights that pack A; of depthwise
ones, tiles of outputs that fit into registers."""

from __future__ import annotations

import math
from collections.abc import Collection

from kgen.schedule import BlockedMatmul, CpuDepthwise
from kgen.spec import Conv2d
from kgen.targets.base import Candidate, Target
from kgen.targets.contraction.implicit_gemm import implicit_gemm, is_matrix
from kgen.targets.cpu.plan.kernels import depthwise
from kgen.targets.cpu.plan.packing.packed_windows import mainloop_of_windows
from kgen.targets.cpu.schedule import adapt, cost_model
from kgen.targets.cpu.schedule.row_schedules import TASK_ELEMENTS

#: The field that says that windows are packed.
PACKS = {"pack_a": 1}


def candidates(conv: Conv2d, target: Target, *, most: int) -> tuple[Candidate[BlockedMatmul], ...]:
    """Return the legal schedules of the least predicted time, the best first."""
    if depthwise.takes(conv):
        return ()
    fixed = () if is_matrix(conv) else (PACKS, mainloop_of_windows(conv, target))
    return cost_model.candidates(implicit_gemm(conv), target, *fixed, most=most)


def choose(conv: Conv2d, target: Target) -> BlockedMatmul | CpuDepthwise:
    """Return the legal schedule of the least predicted time."""
    if depthwise.takes(conv):
        return _depthwise(conv, target)
    (found,) = candidates(conv, target, most=1)
    return found.schedule


def _depthwise(conv: Conv2d, target: Target) -> CpuDepthwise:
    """Return tiles of equal width, the widest whose sums are in registers beside the weights of a
    row of the kernel and an element. A task has as many products of channels as a stream's."""
    count, places = conv.out_sizes[-1], conv.kernel[-1]
    registers = target.limits["vector_registers"]
    most = max(registers - places - 1, registers // 2)
    products = count * conv.channels * math.prod(conv.kernel)
    return CpuDepthwise(task=max(1, TASK_ELEMENTS // products), tile=-(-count // -(-count // most)))


def alternatives(conv: Conv2d, target: Target) -> tuple[BlockedMatmul | CpuDepthwise, ...]:
    """Return the best schedule of each main loop and each choice of packing, the best first."""
    if is_matrix(conv):
        return cost_model.alternatives(implicit_gemm(conv), target)
    return (choose(conv, target),)


def completed(
    conv: Conv2d, target: Target, schedule: BlockedMatmul, given: Collection[str]
) -> BlockedMatmul:
    """Return the schedule with its dependent fields chosen by the model."""
    kept = given if is_matrix(conv) else {*given, *PACKS}
    return adapt.completed(implicit_gemm(conv), target, schedule, kept)
