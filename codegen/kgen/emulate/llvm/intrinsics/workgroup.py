"""Work-item and workgroup ids, barriers, and hidden arguments.

Source: LLVM "User Guide for AMDGPU Backend". ``s.barrier`` and ``s.barrier.wait`` suspend a wave,
so :mod:`~kgen.emulate.llvm.exec.flow` executes them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.exec.hidden import ASKS
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.types import Array

_AXES = {"x": 0, "y": 1, "z": 2}


def _workitem_id(ins: LlvmInstruction) -> Callable[[Machine], Array]:
    axis = _AXES[ins.callee[-1]]

    def workitem_id(m: Machine) -> Array:
        x, y, _ = m.block
        number = m.lane_numbers()
        of_axis = (number % x, number // x % y, number // (x * y))
        return of_axis[axis].astype(np.uint32)

    return workitem_id


def _workgroup_id(ins: LlvmInstruction) -> Callable[[Machine], Array]:
    axis = _AXES[ins.callee[-1]]
    return lambda m: m.coordinates[:, axis : axis + 1].astype(np.uint32)


def _wave_id(m: Machine) -> Array:
    """amdgcn.wave.id: return the number of the wave in its workgroup."""
    return (m.lane_numbers() // m.wave).astype(np.uint32)


def _wave_fence(ins: LlvmInstruction) -> Callable[[Machine], None]:
    return lambda m: m.fence(ins)


def _hidden(ins: LlvmInstruction) -> Callable[[Machine], Array]:
    """implicitarg.ptr and dispatch.ptr: return an address that the launch's memory provides."""
    which = ASKS[ins.callee]
    return lambda m: np.full((1, 1), m.memory.hidden[which], np.int64)


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.implicitarg.ptr": _hidden,
    "llvm.amdgcn.dispatch.ptr": _hidden,
    **dict.fromkeys((f"llvm.amdgcn.workitem.id.{axis}" for axis in _AXES), _workitem_id),
    **dict.fromkeys((f"llvm.amdgcn.workgroup.id.{axis}" for axis in _AXES), _workgroup_id),
    "llvm.amdgcn.wavefrontsize": fixed(lambda m: np.full((1, 1), m.wave, np.uint32)),
    "llvm.amdgcn.wave.id": fixed(_wave_id),
    "llvm.amdgcn.wave.barrier": _wave_fence,
    "llvm.amdgcn.s.barrier.signal": fixed(lambda m, _: m.signal()),
}


PURE: dict[str, Build] = dict.fromkeys(
    ("llvm.expect", "llvm.ssa.copy", "llvm.launder.invariant.group"), fixed(lambda value, *_: value)
)
