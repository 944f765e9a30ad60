"""Fragments of mma.sync: the element of each register of each lane (PTX ISA 9.7.14.5.1 to .14).

With g = lane / 4, t = lane % 4, and E elements per register, adjacent along k:

- register r of A holds row g + 8 (r % H), k = (r / H) 4 E + t E + 0 .. E-1, for 8 H rows
- register r of B holds k = r 4 E + t E + 0 .. E-1 of column g
- C and D: elements (g + 8 h, 2 t) and (g + 8 h, 2 t + 1) are registers 2 h and 2 h + 1; for f16
  they are the halves of register h
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate import minifloat
from kgen.emulate.bits import parts
from kgen.emulate.floats import F16_TO_F32, bf16_to_f32
from kgen.emulate.ptx.asynchronous.tensor_core import MultiplyAdd
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.types import TYPES, Array, canonical, narrow, pack, unpack

_GROUPS, _IN_GROUP = 8, 4
_F16 = TYPES["f16"]
#: Matrices in the cache.
_CAPACITY = 48
_S32_RANGE = (-(1 << 31), (1 << 31) - 1)


def _halves(register: Array, element: str) -> list[Array]:
    widen = F16_TO_F32.take if element == "f16" else bf16_to_f32
    return [widen(half) for half in unpack(register)]


def _tf32(register: Array) -> list[Array]:
    """Decode tf32: tensor cores read the upper 19 bits."""
    return [(register & np.uint32(0xFFFFE000)).view(np.float32)]


def _bytes(register: Array, dtype: type[np.int8] | type[np.uint8]) -> list[Array]:
    return list(np.moveaxis(parts(register, dtype), -1, 0))


def _nibbles(register: Array, *, signed: bool) -> list[Array]:
    found = [(register >> np.uint32(4 * i)) & np.uint32(15) for i in range(8)]
    return [(part.astype(np.int8) ^ 8) - 8 if signed else part for part in found]


def _minifloats(register: Array, element: str) -> list[Array]:
    return [minifloat.decode(element, codes) for codes in _bytes(register, np.uint8)]


#: By element type, a function from a 32-bit register (64-bit for f64) to its elements as numbers.
DECODERS: dict[str, Callable[[Array], list[Array]]] = {
    "f16": lambda register: _halves(register, "f16"),
    "bf16": lambda register: _halves(register, "bf16"),
    "tf32": _tf32,
    "s8": lambda register: _bytes(register, np.int8),
    "u8": lambda register: _bytes(register, np.uint8),
    "s4": lambda register: _nibbles(register, signed=True),
    "u4": lambda register: _nibbles(register, signed=False),
    "e4m3": lambda register: _minifloats(register, "e4m3"),
    "e5m2": lambda register: _minifloats(register, "e5m2"),
    "f64": lambda register: [register.view(np.float64)],
}
#: Elements per register.
ELEMENTS = {
    **dict.fromkeys(("tf32", "f64"), 1),
    **dict.fromkeys(("f16", "bf16"), 2),
    **dict.fromkeys(("s8", "u8", "e4m3", "e5m2"), 4),
    **dict.fromkeys(("s4", "u4"), 8),
}


def matrix(registers: Sequence[Array], element: str, heights: int) -> Array:
    """Return matrix A of an mma, [C, W, 8 heights, k], or with heights = 1 the transpose of B."""
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
    """Cache of matrices by their registers: kernels multiply each fragment many times.

    Register arrays are never modified in place. An array's identity therefore represents its
    content while the cache keeps it alive.
    """

    def __init__(self, machine: Machine) -> None:
        self._found: OrderedDict[tuple[object, ...], tuple[list[Array], Array]] = OrderedDict()
        machine.on_reset.append(self._found.clear)

    def matrix(self, registers: Sequence[Array], element: str, heights: int) -> Array:
        key = (element, heights, *map(id, registers))
        found = self._found.get(key)
        if found is None:
            found = (list(registers), matrix(registers, element, heights))
            self._found[key] = found
            if len(self._found) > _CAPACITY:
                self._found.popitem(last=False)
        return found[1]


def accumulate(
    product: Array, accumulators: Sequence[Array], type_: str, *, saturate: bool = False
) -> list[Array]:
    """Return the registers of D = product + C from the registers of C; product is [C, W, 8 H, 8].

    Integers wrap around, or saturate with `saturate`.
    """
    added = _parts(product)
    if type_ == "s32":
        wide = np.int64 if saturate else np.int32
        sums = [
            c.astype(wide) + part.astype(wide) for c, part in zip(accumulators, added, strict=True)
        ]
        return [s.clip(*_S32_RANGE).astype(np.int32) for s in sums] if saturate else sums
    if type_ == "f16":
        accumulators = _widened(accumulators)
    return _rounded([c + part for c, part in zip(accumulators, added, strict=True)], type_)


def accumulate_by(
    adder: MultiplyAdd, a: Array, b: Array, accumulators: Sequence[Array], type_: str
) -> list[Array]:
    """Return the registers of D = A B + C, summed by `adder`; B is transposed."""
    if type_ == "f16":
        accumulators = _widened(accumulators)
    ctas, warps, rows, _ = a.shape
    c = np.empty((ctas, warps, rows // 8, _GROUPS, _IN_GROUP, 2), np.float32)
    for i, register in enumerate(accumulators):
        whole = np.broadcast_to(register, (*register.shape[:2], 32))
        c[:, :, i // 2, :, :, i % 2] = whole.reshape(*whole.shape[:2], _GROUPS, _IN_GROUP)
    return _rounded(_parts(adder(a, b, c.reshape(ctas, warps, rows, 8))), type_)


def _widened(registers: Sequence[Array]) -> list[Array]:
    return [F16_TO_F32.take(half) for register in registers for half in unpack(register)]


def _parts(matrix: Array) -> list[Array]:
    """Return the elements of a matrix [C, W, 8 H, 8] of each lane, in order."""
    ctas, warps, rows, _ = matrix.shape
    blocks = matrix.reshape(ctas, warps, rows // 8, _GROUPS, _IN_GROUP, 2)
    return [
        blocks[:, :, h, :, :, e].reshape(ctas, warps, 32) for h in range(rows // 8) for e in (0, 1)
    ]


def _rounded(parts: Sequence[Array], type_: str) -> list[Array]:
    """Round elements to registers of f32, f64 or pairs of f16."""
    if type_ != "f16":
        return [canonical(part) for part in parts]
    halves = [narrow(_F16, part) for part in parts]
    return [pack(low, high) for low, high in zip(halves[::2], halves[1::2], strict=True)]
