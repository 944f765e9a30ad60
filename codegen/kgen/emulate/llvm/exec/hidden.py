"""Hidden arguments of a launch: the implicit arguments and the dispatch packet.

The implicit arguments are those of code object version 5 (LLVM "User Guide for AMDGPU Backend",
"Code object V5 metadata": hidden_block_count_x and on); the packet is HSA's kernel dispatch packet.
Fields for services of the runtime (queues, hostcalls, heaps) are zero.
"""

from __future__ import annotations

import struct

import numpy as np

from kgen.emulate.llvm.frontend.module import Module
from kgen.emulate.llvm.memory.global_memory import GlobalBuffer, GlobalMemory
from kgen.emulate.report import Index3

#: hidden_block_count, hidden_group_size, hidden_remainder, ..., hidden_grid_dims at byte 64.
_IMPLICIT, _IMPLICIT_BYTES, _DIMENSIONS_AT = "<3I3H3H", 256, 64
#: header, setup, workgroup size, reserved, grid size in lanes.
_PACKET, _PACKET_BYTES = "<2H3HH3I", 64
#: Intrinsics that return one of the two, and which one.
ASKS = {"llvm.amdgcn.implicitarg.ptr": "implicit", "llvm.amdgcn.dispatch.ptr": "dispatch"}


def place_hidden(
    module: Module, memory: GlobalMemory, grid: Index3, workgroup: Index3
) -> dict[str, int]:
    """Place the hidden arguments in memory and return their addresses; none if no function of the
    module uses them."""
    blocks = (block for function in module.functions.values() for block in function.blocks)
    asked = (ins.callee for block in blocks for ins in block.instructions)
    if not any(callee in ASKS for callee in asked):
        return {}
    dimensions = max((i + 1 for i in range(3) if grid[i] * workgroup[i] > 1), default=1)
    implicit = bytearray(_IMPLICIT_BYTES)
    struct.pack_into(_IMPLICIT, implicit, 0, *grid, *workgroup, 0, 0, 0)
    struct.pack_into("<H", implicit, _DIMENSIONS_AT, dimensions)
    packet = bytearray(_PACKET_BYTES)
    lanes = (g * b for g, b in zip(grid, workgroup, strict=True))
    struct.pack_into(_PACKET, packet, 0, 0, dimensions, *workgroup, 0, *lanes)
    return {
        "implicit": _add(memory, "the implicit arguments", implicit),
        "dispatch": _add(memory, "the dispatch packet", packet),
    }


def _add(memory: GlobalMemory, name: str, content: bytearray) -> int:
    return memory.add(
        GlobalBuffer(name=name, data=np.frombuffer(bytes(content), np.uint8).copy(), writable=False)
    )
