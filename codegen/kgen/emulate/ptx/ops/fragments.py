"""Fragments of mma.sync: which lane holds which element (PTX ISA 9.7.14.5.1 to .14).

With g = lane / 4 and t = lane % 4, and E elements of a register side by side along k:

- register r of A holds row g + 8 (r % H), k = (r / H) 4 E + t E + 0 .. E-1, for 8 H rows
- register r of B holds k = r 4 E + t E + 0 .. E-1 of column g
- C and D: elements (g + 8 h, 2 t) and (g + 8 h, 2 t + 1) are registers 2 h and 2 h + 1, or the
  halves of register h for f16
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.ptx.types import F16_TO_F32, TYPES, Array, canonical, narrow, pack, unpack, widen

_GROUPS, _IN_GROUP = 8, 4
_F16 = TYPES["f16"]


def _halves(register: Array, element: str) -> list[Array]:
    if element == "f16":
        return [F16_TO_F32.take(half) for half in unpack(register)]
    return [widen(TYPES["bf16"], half) for half in unpack(register)]


def _tf32(register: Array) -> list[Array]:
    """The tensor cores read the upper 19 bits."""
    return [(register & np.uint32(0xFFFFE000)).view(np.float32)]


def _bytes(register: Array, dtype: type[np.int8] | type[np.uint8]) -> list[Array]:
    parts = np.ascontiguousarray(register)[..., None].view(dtype)
    return [parts[..., i] for i in range(4)]


#: The elements of a 32-bit register (64-bit for f64), as numbers that a matrix product takes.
DECODERS: dict[str, Callable[[Array], list[Array]]] = {
    "f16": lambda register: _halves(register, "f16"),
    "bf16": lambda register: _halves(register, "bf16"),
    "tf32": _tf32,
    "s8": lambda register: _bytes(register, np.int8),
    "u8": lambda register: _bytes(register, np.uint8),
    "f64": lambda register: [register.view(np.float64)],
}
#: Elements of a register.
ELEMENTS = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4, "f64": 1}


def matrix(registers: Sequence[Array], element: str, heights: int) -> Array:
    """[C, W, 8 heights, k]: the matrix A of an mma, or with heights = 1 the transpose of its B."""
    shape = np.broadcast_shapes(*(register.shape for register in registers))
    ctas, warps, _ = shape
    depth, count = len(registers) // heights, ELEMENTS[element]
    dtype = np.float64 if element == "f64" else np.float32
    out = np.empty((ctas, warps, heights, _GROUPS, depth, _IN_GROUP, count), dtype)
    for r, register in enumerate(registers):
        whole = np.broadcast_to(register, (*register.shape[:2], 32))
        for e, part in enumerate(DECODERS[element](whole)):
            lanes = part.reshape(*part.shape[:2], _GROUPS, _IN_GROUP)
            out[:, :, r % heights, :, r // heights, :, e] = lanes
    return out.reshape(ctas, warps, heights * _GROUPS, depth * _IN_GROUP * count)


class FragmentCache:
    """Matrices of registers that were used lately: a kernel multiplies each fragment many times.

    Register arrays are never changed in place, so that an array's identity stands for its content
    as long as it is kept alive here.
    """

    def __init__(self, capacity: int = 48) -> None:
        self.capacity = capacity
        self._found: OrderedDict[tuple[object, ...], tuple[list[Array], Array]] = OrderedDict()

    def matrix(self, registers: Sequence[Array], element: str, heights: int) -> Array:
        key = (element, heights, *map(id, registers))
        found = self._found.get(key)
        if found is None:
            found = (list(registers), matrix(registers, element, heights))
            self._found[key] = found
            if len(self._found) > self.capacity:
                self._found.popitem(last=False)
        return found[1]


def accumulate(product: Array, accumulators: Sequence[Array], type_: str) -> list[Array]:
    """The registers of D = product + C, from the registers of C; product is [C, W, 8 H, 8]."""
    ctas, warps, rows, _ = product.shape
    parts = product.reshape(ctas, warps, rows // 8, _GROUPS, _IN_GROUP, 2)
    result = []
    for h in range(rows // 8):
        pair = [parts[:, :, h, :, :, e].reshape(ctas, warps, 32) for e in (0, 1)]
        if type_ == "f16":
            halves = (
                narrow(_F16, F16_TO_F32.take(c) + p)
                for c, p in zip(unpack(accumulators[h]), pair, strict=True)
            )
            result.append(pack(*halves))
            continue
        for e in (0, 1):
            c = accumulators[2 * h + e]
            if type_ == "s32":
                result.append(c + pair[e].astype(np.int32))
            else:
                result.append(canonical(c + pair[e]))
    return result
