"""Reading of the size and the memory of workgroups from a SPIR-V module.

SPIR-V 1.6, sections 2.3 ("Physical Layout of a SPIR-V Module") and 3.49 for the instructions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kgen_runtime.manifest import Extent3
from kgen_runtime.values import frozen

_HEADER_WORDS = 5
_EXECUTION_MODE, _LOCAL_SIZE = 16, 17
_TYPE_INT, _TYPE_FLOAT, _TYPE_VECTOR, _TYPE_ARRAY, _TYPE_POINTER = 21, 22, 23, 28, 32
_CONSTANT, _VARIABLE, _WORKGROUP = 43, 59, 4


@frozen
class WorkgroupUsage:
    """Invocations of a workgroup in each dimension, and the bytes of its variables."""

    local_size: Extent3
    shared_bytes: int


def workgroup_usage(module: bytes) -> WorkgroupUsage:
    """Return the workgroup usage of a module with one entry point, in little-endian words as our
    assembler writes it."""
    local_size: Extent3 = (1, 1, 1)
    shared_bytes = 0
    sizes: dict[int, int] = {}
    constants: dict[int, int] = {}
    pointees: dict[int, int] = {}
    for code, operands in _instructions(module):
        if code == _EXECUTION_MODE and operands[1] == _LOCAL_SIZE:
            local_size = (operands[2], operands[3], operands[4])
        elif code in (_TYPE_INT, _TYPE_FLOAT):
            sizes[operands[0]] = operands[1] // 8
        elif code == _TYPE_VECTOR:
            sizes[operands[0]] = sizes.get(operands[1], 0) * operands[2]  # bool has none
        elif code == _TYPE_ARRAY:
            sizes[operands[0]] = sizes.get(operands[1], 0) * constants[operands[2]]
        elif code == _CONSTANT:
            constants[operands[1]] = operands[2]
        elif code == _TYPE_POINTER:
            pointees[operands[0]] = operands[2]
        elif code == _VARIABLE and operands[2] == _WORKGROUP:
            shared_bytes += sizes[pointees[operands[0]]]
    return WorkgroupUsage(local_size=local_size, shared_bytes=shared_bytes)


def _instructions(module: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the code and operands of each instruction."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    at = _HEADER_WORDS
    while at < len(words):
        length, code = words[at] >> 16, words[at] & 0xFFFF
        yield code, words[at + 1 : at + length]
        at += length
