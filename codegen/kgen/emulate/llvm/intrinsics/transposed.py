"""Loads that transpose among neighbouring lanes.

Each instruction takes element n of lane l from one element of what another lane loaded:

| instruction                | lane                                                 | element |
| -------------------------- | ---------------------------------------------------- | ------- |
| ds.read.tr16.b64 (gfx950)  | 16 * (l / 16) + 4 * n + l % 16 / 4                   | l % 4   |
| ds.read.tr8.b64 (gfx950)   | 16 * (l / 16) + 2 * n + l % 16 / 8                   | l % 8   |
| global.load.tr.b128 (gfx12)| 8 * (l / 8) + n                                      | l % 8   |
| global.load.tr.b64 (gfx12) | 16 * (l / 16) + 8 * (n / 4) + 4 * (l / 8 % 2) + n % 4| l % 8   |

So those of gfx950 give every lane a column of rows of 16 elements, in 16 lanes each; the first of
gfx12 one of rows of 8, in 8 lanes; the last, in a wave of 32, of a square of 16x16 bytes the column
and the half of the rows that V_WMMA takes of 8-bit operands.

Sources: "DS_READ_B64_TR_B16" and "DS_READ_B64_TR_B8" in the CDNA4 and "GLOBAL_LOAD_TR" in the RDNA4
instruction set manual, whose descriptions leave the lanes open; seen on devices:
github.com/ROCm/rocm-systems/pull/10175 (tr16), github.com/triton-lang/triton/pull/6018 (tr8),
github.com/iree-org/iree/pull/24467 (b128) and public kernels for gfx1201 (b64).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.bits import parts
from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.memory.codec import decode, raw_dtype
from kgen.emulate.llvm.types import Array, Pointer
from kgen_runtime.values import frozen


@frozen
class _Transpose:
    """Permutation of a transposing load in waves of one width."""

    wave: int
    bits: int
    """Bits of an element."""
    size: int
    """Bytes of a lane."""
    lane: Callable[[Array, Array], Array]
    """Source lane of (lane, element)."""

    @property
    def elements(self) -> int:
        return self.size * 8 // self.bits

    def sources(self) -> Array:
        """Which element of all that the wave loaded each lane's elements are: [lane, element]."""
        lane, element = np.arange(self.wave)[:, None], np.arange(self.elements)[None, :]
        return self.lane(lane, element) * self.elements + lane % self.elements


_TR16_LDS = _Transpose(
    wave=64, bits=16, size=8, lane=lambda lane, n: lane // 16 * 16 + 4 * n + lane % 16 // 4
)
_TR8_LDS = _Transpose(
    wave=64, bits=8, size=8, lane=lambda lane, n: lane // 16 * 16 + 2 * n + lane % 16 // 8
)
_TR16_GLOBAL = _Transpose(wave=32, bits=16, size=16, lane=lambda lane, n: lane // 8 * 8 + n)
_TR8_GLOBAL = _Transpose(
    wave=32,
    bits=8,
    size=8,
    lane=lambda lane, n: lane // 16 * 16 + n // 4 * 8 + lane // 8 % 2 * 4 + n % 4,
)


def _transposed(form: _Transpose) -> Callable[[LlvmInstruction], Callable[[Machine, Array], Array]]:
    sources = form.sources()

    def build(ins: LlvmInstruction) -> Callable[[Machine, Array], Array]:
        type_ = ins.type
        pointer = ins.operands[0].type
        assert isinstance(pointer, Pointer)
        if type_.size != form.size:
            raise TypeError(f"a transposing load of {type_}")
        space = pointer.space

        def load(m: Machine, address: Array) -> Array:
            m.whole_waves(ins)
            if m.wave != form.wave:
                raise fault(m, "trap", "a wave of another width is needed", ins, m.selected())
            raw = m.memory.load(m, ins, address, form.size, form.size, space)
            whole = np.ascontiguousarray(np.broadcast_to(raw, (len(raw), m.lanes)))
            loaded = parts(whole, np.dtype(f"u{form.bits // 8}"))
            by_wave = loaded.reshape(len(raw), -1, form.wave * form.elements)
            turned = np.ascontiguousarray(by_wave[:, :, sources].reshape(loaded.shape))
            found: Array = decode(turned.view(raw_dtype(form.size))[..., 0], type_)
            return found

        return load

    return build


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.ds.read.tr16.b64": _transposed(_TR16_LDS),
    "llvm.amdgcn.ds.read.tr8.b64": _transposed(_TR8_LDS),
    "llvm.amdgcn.global.load.tr.b128": _transposed(_TR16_GLOBAL),
    "llvm.amdgcn.global.load.tr.b64": _transposed(_TR8_GLOBAL),
}
