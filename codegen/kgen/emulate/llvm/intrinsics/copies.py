"""Direct loads from global memory to LDS, and waits for their completion.

For ``global.load.lds``, ``load.to.lds`` and ``raw.ptr.buffer.load.lds`` each lane loads 4, 12 or 16
bytes. Lane n writes its bytes at the wave's LDS pointer + offset + n * size. The offset is added to
the global address too (LLVM "User Guide for AMDGPU Backend"). A lane whose buffer access is out of
range copies zeros.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.intrinsics.buffers import load_in_range, place_of
from kgen.emulate.llvm.memory.codec import raw_dtype
from kgen.emulate.llvm.memory.copies import Copies
from kgen.emulate.llvm.types import Array, Pointer

_SIZES = (4, 12, 16)
#: Bytes per lane that every processor with these loads supports, and the only processor that
#: supports more.
_ANYWHERE, _WIDE_COPIES = 4, "gfx950"


def _size(ins: LlvmInstruction) -> int:
    size = immediate(ins.operands[2])
    if size not in _SIZES:
        raise TypeError(f"a copy of {size} bytes per lane")
    return size


def _copy(ins: LlvmInstruction) -> Callable[..., None]:
    """Build a load to LDS.

    The operands are ``(from, to, size, offset, aux)``.
    """
    size, offset = _size(ins), immediate(ins.operands[3])
    pointer = ins.operands[0].type
    assert isinstance(pointer, Pointer)
    space = pointer.space

    def copy(m: Machine, source: Array, base: Array, *_: Array) -> None:
        raw = m.memory.load(m, ins, source + offset, size, 4, space)
        _start(m, ins, base, offset, raw)

    return copy


def _copy_buffer(ins: LlvmInstruction) -> Callable[..., None]:
    """Build a buffer load to LDS.

    The operands are ``(resource, to, size, voffset, soffset, offset, aux)``.
    """
    size, offset = _size(ins), immediate(ins.operands[5])
    of_resource = ins.operands[0].type

    def copy(
        m: Machine, value: Array, base: Array, _: Array, voffset: Array, soffset: Array, *__: Array
    ) -> None:
        place = place_of(value, of_resource, voffset, soffset, offset)
        found = load_in_range(m, ins, place, size)
        _start(m, ins, base, offset, found.view(raw_dtype(size))[..., 0])

    return copy


def _start(m: Machine, ins: LlvmInstruction, base: Array, offset: int, raw: Array) -> None:
    if raw.dtype.itemsize > _ANYWHERE and m.processor != _WIDE_COPIES:
        text = f"{m.processor} copies {_ANYWHERE} bytes per lane; only {_WIDE_COPIES} copies more"
        raise fault(m, "trap", text, ins, m.selected())
    lanes = m.waves(np.broadcast_to(base, (len(base), m.lanes)))
    active = m.waves(np.ones((1, m.lanes), np.bool_) if m.mask is None else m.mask)
    first = np.broadcast_to(active, (max(len(active), len(lanes)), *active.shape[1:])).argmax(
        axis=2
    )
    of_wave = np.take_along_axis(
        np.broadcast_to(lanes, (len(first), *lanes.shape[1:])), first[..., None], axis=2
    )
    start = m.of_wave(of_wave[..., 0]) + offset
    to = start + m.lane_numbers() % m.wave * raw.dtype.itemsize
    if m.copies is None:
        m.copies = Copies(m, m.memory.lds)
    m.copies.start(m, ins, to, raw)


def _vmcnt(processor: str, bits: int) -> int:
    """Return the vmcnt field of s_waitcnt's operand (LLVM, AMDGPUBaseInfo, "getVmcntBitMask")."""
    if processor.startswith("gfx11"):
        return bits >> 10 & 0x3F
    return bits & 0xF | bits >> 10 & 0x30


def _wait(ins: LlvmInstruction) -> Callable[[Machine, Array], None]:
    bits = immediate(ins.operands[0])

    def wait(m: Machine, _: Array) -> None:
        if m.copies is not None:
            m.copies.land(m, _vmcnt(m.processor, bits))

    return wait


def _wait_for_loads(ins: LlvmInstruction) -> Callable[[Machine, Array], None]:
    later = immediate(ins.operands[0])

    def wait(m: Machine, _: Array) -> None:
        if m.copies is not None:
            m.copies.land(m, later)

    return wait


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.global.load.lds": _copy,
    "llvm.amdgcn.load.to.lds": _copy,
    "llvm.amdgcn.raw.ptr.buffer.load.lds": _copy_buffer,
    "llvm.amdgcn.raw.buffer.load.lds": _copy_buffer,
    "llvm.amdgcn.s.waitcnt": _wait,
    "llvm.amdgcn.s.wait.loadcnt": _wait_for_loads,
}
