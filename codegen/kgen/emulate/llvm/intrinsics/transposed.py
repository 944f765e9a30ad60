"""Transposing loads of AMD GPUs: DS_READ_*_TR from LDS and GLOBAL_LOAD_TR.

Element n that lane l receives is an element that another lane of the wave loaded:

| instruction                | source lane                                              | element |
| -------------------------- | -------------------------------------------------------- | ------- |
| ds.read.tr16.b64 (gfx950)  | 16 * (l / 16) + 4 * n + l mod 16 / 4                     | l mod 4 |
| ds.read.tr8.b64 (gfx950)   | 16 * (l / 16) + 2 * n + l mod 16 / 8                     | l mod 8 |
| global.load.tr.b128 (gfx12)| 8 * (l / 8) + n                                          | l mod 8 |
| global.load.tr.b64 (gfx12) | 16 * (l / 16) + 8 * (n / 4) + 4 * (l / 8 mod 2) + n mod 4| l mod 8 |

- gfx950: 16 lanes load rows of 16 elements, and each lane receives part of a column.
- global.load.tr.b128: 8 lanes load rows of 8 elements, and each lane receives a column.
- global.load.tr.b64: 32 lanes load a 16x16 square of bytes, and each lane receives the half column
  that V_WMMA takes as an 8-bit operand.

Sources: "DS_READ_B64_TR_B16" and "DS_READ_B64_TR_B8" in the CDNA4 and "GLOBAL_LOAD_TR" in the RDNA4
instruction set manual. The manuals do not define the lanes; these sources observed them on devices:
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
    """Permutation that one transposing load applies, for waves of one width."""

    wave: int
    bits: int
    """Bits per element."""
    size: int
    """Bytes per lane."""
    lane: Callable[[Array, Array], Array]
    """Source lane of an element, from (lane, element)."""

    @property
    def elements(self) -> int:
        return self.size * 8 // self.bits

    def sources(self) -> Array:
        """Return source indices, into all elements that the wave loaded: [lane, element]."""
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
