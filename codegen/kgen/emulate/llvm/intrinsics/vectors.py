"""Vector intrinsics (reductions, subvectors, masked access), memcpy and memset, and AVX-512."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.memory.codec import decode, encode
from kgen.emulate.llvm.numbers import float_to_bfloat, floating, lifted, narrow, signed, widen, wrap
from kgen.emulate.llvm.types import Array, LlvmInteger, Pointer

_INTEGER: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "umin": np.minimum,
    "umax": np.maximum,
    "smin": np.minimum,
    "smax": np.maximum,
}
_FLOATING: dict[str, Any] = {
    "fmin": np.fmin,
    "fmax": np.fmax,
    "fminimum": np.minimum,
    "fmaximum": np.maximum,
}


def _reduce(ins: LlvmInstruction) -> Callable[[Array], Array]:
    name = ins.callee.split(".")[3]
    element = ins.operands[0].type.element
    if name in _FLOATING:
        pick = _FLOATING[name]
        return lifted(lambda a: pick.reduce(a, axis=2), floating(element))
    operation = _INTEGER[name]
    assert isinstance(element, LlvmInteger)
    if element.width == 1:
        operation = {np.add: np.bitwise_xor, np.multiply: np.bitwise_and}.get(operation, operation)
    if name[0] == "s":
        return lambda a: wrap(operation.reduce(signed(a, element), axis=2), element)
    dtype = element.dtype
    return lambda a: wrap(operation.reduce(a, axis=2).astype(dtype), element)


def _reduce_in_order(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """Build the fadd or fmul reduction: element after element, from the start value on.

    ``reassoc`` allows any order, this one included.
    """
    type_ = floating(ins.type)
    operation: Any = np.add if "fadd" in ins.callee else np.multiply

    def reduce(start: Array, vector: Array) -> Array:
        total = widen(start, type_)
        elements = widen(vector, type_)
        for index in range(vector.shape[2]):
            total = narrow(operation(total, elements[..., index]), type_)
            total = widen(total, type_)
        return narrow(total, type_)

    return reduce


def _insert_part(ins: LlvmInstruction) -> Callable[[Array, Array, Array], Array]:
    at = immediate(ins.operands[2])

    def insert(whole: Array, part: Array, _: Array) -> Array:
        shape = np.broadcast_shapes(whole.shape[:2], part.shape[:2])
        result = np.empty((*shape, whole.shape[2]), whole.dtype)
        result[...] = whole
        result[..., at : at + part.shape[2]] = part
        return result

    return insert


def _extract_part(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    at, count = immediate(ins.operands[1]), ins.type.lanes
    return lambda whole, _: whole[..., at : at + count]


def _active_lane_mask(ins: LlvmInstruction) -> Callable[[Array, Array], Array]:
    """Build the mask whose element i says whether start + i, without overflow, is below the
    limit."""
    count = np.arange(ins.type.lanes, dtype=np.uint64)

    def mask(start: Array, limit: Array) -> Array:
        left = np.where(limit > start, limit - start, 0).astype(np.uint64)
        return count < left[..., None]

    return mask


def _step_vector(ins: LlvmInstruction) -> Callable[[Machine], Array]:
    values = np.arange(ins.type.lanes).astype(ins.type.dtype)[None, None]
    return lambda m: values


# -- memory -------------------------------------------------------------------------------------


def _of_one_lane(m: Machine, ins: LlvmInstruction, pointer: Array, mask: Array, size: int) -> Array:
    """Return the addresses of the enabled elements: [1, enabled element].

    Only the CPU has masked access, with one lane per chunk; more lanes are a fault.
    """
    if m.workgroups * m.lanes != 1:
        raise fault(m, "trap", "masked access by more than one lane", ins, m.selected())
    return pointer + np.flatnonzero(mask)[None, :] * size


def _masked(ins: LlvmInstruction, position: int) -> tuple[int, int]:
    """Return the alignment of one element and the index of the mask operand.

    LLVM 22 has no alignment operand; the alignment is 1 then.
    """
    has_align = not ins.operands[position].type.lanes
    return (immediate(ins.operands[position]), position + 1) if has_align else (1, position)


def _masked_load(ins: LlvmInstruction) -> Callable[..., Array]:
    """Build a masked load, whose operands are ``(pointer[, align], mask, passthru)``."""
    align, at = _masked(ins, 1)
    element = ins.type.element
    space = ins.operands[0].type
    assert isinstance(space, Pointer)

    def load(m: Machine, *operands: Array) -> Array:
        pointer, mask, otherwise = operands[0], operands[at], operands[at + 1]
        result = np.array(np.broadcast_to(otherwise, (1, 1, ins.type.lanes)))
        addresses = _of_one_lane(m, ins, pointer, mask, element.size)
        if addresses.size:
            each = min(align, element.size)
            raw = m.memory.load(m, ins, addresses, element.size, each, space.space)
            result[0, 0, mask[0, 0]] = decode(raw, element)[0]
        return result

    return load


def _masked_store(ins: LlvmInstruction) -> Callable[..., None]:
    """Build a masked store, whose operands are ``(value, pointer[, align], mask)``."""
    align, at = _masked(ins, 2)
    element = ins.operands[0].type.element
    space = ins.operands[1].type
    assert isinstance(space, Pointer)

    def store(m: Machine, *operands: Array) -> None:
        value, pointer, mask = operands[0], operands[1], operands[at]
        addresses = _of_one_lane(m, ins, pointer, mask, element.size)
        if addresses.size:
            raw = encode(value[:, :, mask[0, 0]][0], element)
            each = min(align, element.size)
            m.memory.store(m, ins, addresses, raw, each, space.space)

    return store


def _copy(ins: LlvmInstruction) -> Callable[..., None]:
    """Build a memcpy or memmove of a constant number of bytes."""
    to, of = ins.operands[0].type, ins.operands[1].type
    size = immediate(ins.operands[2])
    assert isinstance(to, Pointer) and isinstance(of, Pointer)

    def copy(m: Machine, destination: Array, source: Array, *_: Array) -> None:
        if size:
            raw = m.memory.load(m, ins, source, size, 1, of.space)
            m.memory.store(m, ins, destination, raw, 1, to.space)

    return copy


def _fill(ins: LlvmInstruction) -> Callable[..., None]:
    """Build a memset of a constant number of bytes."""
    to = ins.operands[0].type
    size = immediate(ins.operands[2])
    assert isinstance(to, Pointer)

    def fill(m: Machine, destination: Array, value: Array, *_: Array) -> None:
        if size:
            whole = np.repeat(value[..., None], size, axis=2).astype(np.uint8)
            m.memory.store(m, ins, destination, whole.view(f"V{size}")[..., 0], 1, to.space)

    return fill


# -- AVX-512 ------------------------------------------------------------------------------------


def _flushed_to_bfloat(value: Array) -> Array:
    """Convert float32 to BF16 as VCVTNEPS2BF16 does: subnormal numbers become zero (Intel SDM)."""
    subnormal = np.abs(value) < np.finfo(np.float32).tiny
    return float_to_bfloat(np.where(subnormal, np.copysign(np.float32(0), value), value))


def _two_to_bfloat(high: Array, low: Array) -> Array:
    """VCVTNE2PS2BF16: convert two vectors; the second operand fills the lower half of the
    result."""
    return _flushed_to_bfloat(np.concatenate([low, high], axis=2))


def _scalef(ins: LlvmInstruction) -> Callable[..., Array]:
    """VSCALEFPS: return a * 2**floor(b) where the mask has a bit, else the third operand."""

    def scale(a: Array, b: Array, otherwise: Array, mask: Array, *_: Array) -> Array:
        product = a.astype(np.float64) * np.exp2(np.floor(b.astype(np.float64)))
        bits = mask[..., np.newaxis] >> np.arange(ins.type.lanes, dtype=mask.dtype)
        scaled: Array = np.where(bits & 1, product.astype(np.float32), otherwise)
        return scaled

    return scale


def _reduced_argument(ins: LlvmInstruction) -> Callable[..., Array]:
    """VREDUCEPS: return what rounding to the nearest whole number removes; 0 for infinity.

    Only the unmasked form is supported.
    """
    if immediate(ins.operands[3]) not in (-1, 0xFFFF) or immediate(ins.operands[1]) != 0:
        raise TypeError("reduce under a mask, or to other than the nearest integer")

    def left(a: Array, *_: Array) -> Array:
        with np.errstate(invalid="ignore"):
            found: Array = np.where(np.isinf(a), np.float32(0.0), a - np.rint(a))
        return found

    return left


def _look_up(table: Array, index: Array) -> Array:
    """VPERMPS: return the table's element for each index, whose high bits are ignored."""
    table, index = np.broadcast_arrays(table, index & (table.shape[2] - 1))
    found: Array = np.take_along_axis(table, index, axis=2)
    return found


PURE: dict[str, Build] = {
    **{f"llvm.vector.reduce.{name}": _reduce for name in (*_INTEGER, *_FLOATING)},
    "llvm.vector.reduce.fadd": _reduce_in_order,
    "llvm.vector.reduce.fmul": _reduce_in_order,
    "llvm.vector.insert": _insert_part,
    "llvm.vector.extract": _extract_part,
    "llvm.get.active.lane.mask": _active_lane_mask,
    "llvm.x86.avx512bf16.cvtneps2bf16.512": fixed(_flushed_to_bfloat),
    "llvm.x86.avx512bf16.cvtneps2bf16.256": fixed(_flushed_to_bfloat),
    **{
        f"llvm.x86.avx512bf16.cvtne2ps2bf16.{bits}": fixed(_two_to_bfloat)
        for bits in (128, 256, 512)
    },
    "llvm.x86.avx512.mask.reduce.ps.512": _reduced_argument,
    "llvm.x86.avx512.mask.scalef.ps.512": _scalef,
    "llvm.x86.avx512.permvar.sf.512": fixed(_look_up),
}
EFFECTS: dict[str, Build] = {
    "llvm.masked.load": _masked_load,
    "llvm.masked.store": _masked_store,
    "llvm.memcpy": _copy,
    "llvm.memcpy.inline": _copy,
    "llvm.memmove": _copy,
    "llvm.memset": _fill,
    "llvm.memset.inline": _fill,
    "llvm.stepvector": _step_vector,
}
