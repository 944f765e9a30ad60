"""Loads that transpose among neighbouring lanes.

- ``ds.read.tr16.b64`` (gfx950): in each 16 lanes, element n of lane l is element l % 4 of what lane
  4 * n + l / 4 loaded: of rows of 16 elements of 16 bits, each in four lanes, every lane gets a
  column (github.com/ROCm/rocm-systems/pull/10175).
- ``global.load.tr.b128`` in a wave of 32 (gfx12): in each 8 lanes, element n of lane l is element
  l % 8 of what lane n loaded (github.com/iree-org/iree/pull/24467).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import Instruction
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.memory.codec import decode
from kgen.emulate.llvm.types import Array, Pointer


def _transposed(lanes: int) -> Callable[[Instruction], Callable[[Machine, Array], Array]]:
    """A builder for blocks of ``lanes`` lanes."""

    def build(ins: Instruction) -> Callable[[Machine, Array], Array]:
        type_ = ins.type
        count = type_.lanes
        pointer = ins.operands[0].type
        assert isinstance(pointer, Pointer)
        if type_.element.bits != 16:
            raise TypeError(f"a transposing load of {type_}")
        space = pointer.space
        columns = lanes // count

        def load(m: Machine, address: Array) -> Array:
            m.whole_waves(ins)
            if m.wave * count % 256:
                raise fault(m, "trap", "a wave of another width is needed", ins, m.selected())
            raw = m.memory.load(m, ins, address, type_.size, type_.size, space)
            whole = np.broadcast_to(raw, (len(raw), m.lanes))
            values = decode(np.ascontiguousarray(whole), type_)
            block = values.reshape(len(values), -1, count, columns, count)
            # [row, column block, element of it] -> [column block, element of it, row]
            turned: Array = block.transpose(0, 1, 3, 4, 2).reshape(values.shape)
            return turned

        return load

    return build


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.ds.read.tr16.b64": _transposed(16),
    "llvm.amdgcn.global.load.tr.b128": _transposed(8),
}
