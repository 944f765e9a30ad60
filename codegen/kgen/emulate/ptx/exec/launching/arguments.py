"""Arguments of a launch as the bytes of parameter space (PTX ISA 5.1.6.1), tensor maps included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kgen.emulate.ptx.asynchronous.descriptor import encode
from kgen.emulate.ptx.frontend.syntax import PtxKernel, PtxParameter
from kgen.emulate.ptx.memory.spaces import GlobalMemory
from kgen.emulate.tensor_map import TensorMap
from kgen.errors import EmulationError
from kgen_runtime.values import frozen

_POINTER_BYTES = 8


@frozen
class Arguments:
    """Bytes of parameter space, and element sizes (in bytes) of tensor maps."""

    parameters: bytes
    mapped_elements: frozenset[int]


def place(kernel: PtxKernel, memory: GlobalMemory, arguments: Sequence[Any]) -> Arguments:
    """Lay out the arguments: bytes of scalars, addresses of mapped buffers, tensor maps.

    A tensor map is passed as a parameter of 128 bytes, or as a pointer to its bytes.
    """
    if len(arguments) != len(kernel.parameters):
        wanted = ", ".join(f"{p.name} ({p.size} bytes)" for p in kernel.parameters)
        raise EmulationError(
            f"{kernel.name} takes these arguments: {wanted or 'none'}; it got {len(arguments)}; "
            f"pass {len(kernel.parameters)} in that order"
        )
    space = bytearray(max((p.offset + p.size for p in kernel.parameters), default=0))
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        if isinstance(argument, TensorMap):
            value = _place_map(parameter, memory, argument)
        elif isinstance(argument, np.ndarray):
            value = memory.add(parameter.name, argument).to_bytes(_POINTER_BYTES, "little")
        else:
            value = argument.tobytes()
        if len(value) != parameter.size:
            raise EmulationError(
                f"{kernel.name}: parameter {parameter.name} has {parameter.size} bytes, "
                f"its argument has {len(value)}; pass an array for a pointer, else a number of "
                "that size"
            )
        space[parameter.offset : parameter.offset + parameter.size] = value
    elements = frozenset(a.element_bytes for a in arguments if isinstance(a, TensorMap))
    return Arguments(parameters=bytes(space), mapped_elements=elements)


def _place_map(parameter: PtxParameter, memory: GlobalMemory, map_: TensorMap) -> bytes:
    value = encode(map_, memory.add(parameter.name, map_.buffer))
    if parameter.size == _POINTER_BYTES:
        opaque = np.frombuffer(bytearray(value), np.uint8)
        address = memory.add(f"the tensor map {parameter.name}", opaque)
        value = address.to_bytes(_POINTER_BYTES, "little")
    return value


def copies(arguments: Sequence[Any]) -> list[Any]:
    """Copy the buffers that a launch may write."""
    return [buffer.copy() for buffer in _buffers(arguments)]


def restore(arguments: Sequence[Any], before: Sequence[Any]) -> None:
    """Restore the buffers from the result of `copies`."""
    for buffer, held in zip(_buffers(arguments), before, strict=True):
        np.copyto(buffer, held)


def _buffers(arguments: Sequence[Any]) -> list[Any]:
    found = [a.buffer if isinstance(a, TensorMap) else a for a in arguments]
    return [b for b in found if isinstance(b, np.ndarray) and b.flags.writeable]
