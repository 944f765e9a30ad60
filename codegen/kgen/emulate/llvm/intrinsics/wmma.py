"""WMMA: matrix instructions of a wave of 32 lanes (gfx11, gfx12).

A WMMA computes D = A B + C with 16x16 results and K of 16 or 32. A lane holds elements of one row
of A and of one column of B, and half a column of C and D.

Layouts for lane l, element e of an operand, and register r of the accumulator ("AMD matrix
instruction calculator"; RDNA3 and RDNA4 instruction set manuals, "WMMA"):

- gfx11 A: row ``l mod 16``, k = e. Lanes 16-31 must repeat lanes 0-15.
- gfx11 D: column ``l mod 16``, row ``2 * r + l / 16``. A 16-bit D occupies the lower or the upper
  halves of the registers, as the last operand says; the other halves keep the value of C.
- gfx12 A: row ``l mod 16``. With 16-bit elements, lanes 0-15 hold the first four and lanes 16-31
  the last four of every 8 values of k. With narrower elements, lanes 0-15 hold the first half of k
  and lanes 16-31 the second.
- gfx12 D: column ``l mod 16``, row ``8 * (l / 16) + r``. A 16-bit D is packed.

B has the layout of A with columns for rows. Rounding is that of
:mod:`~kgen.emulate.llvm.intrinsics.matrix`; a 16-bit D is rounded once more.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.lexer import words
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.intrinsics.matrix import accumulate
from kgen.emulate.llvm.intrinsics.matrix_operands import fragments
from kgen.emulate.llvm.numbers import narrow, widen
from kgen.emulate.llvm.types import BFLOAT, HALF, Array
from kgen_runtime.values import frozen

_SHAPES = (
    "f32.16x16x16.f16 f32.16x16x16.bf16 f16.16x16x16.f16 bf16.16x16x16.bf16"
    " f16.16x16x16.f16.tied bf16.16x16x16.bf16.tied i32.16x16x16.iu8 i32.16x16x16.iu4"
    " i32.16x16x32.iu4 f32.16x16x16.fp8.fp8 f32.16x16x16.fp8.bf8 f32.16x16x16.bf8.fp8"
    " f32.16x16x16.bf8.bf8"
)
_SHAPE = re.compile(r"wmma\.(\w+)\.16x16x(\d+)\.([a-z]+\d+)(?:\.(fp8|bf8))?")
_BITS = {"f16": 16, "bf16": 16, "iu8": 8, "iu4": 4, "fp8": 8, "bf8": 8}
_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1


@frozen
class _WmmaForm:
    """WMMA instruction as decoded from its name, types and immediates."""

    ins: LlvmInstruction
    result: str
    depth: int
    kinds: tuple[str, str]
    operands: tuple[int, int, int]
    """Indices of A, B and C among the operands."""
    is_signed: tuple[bool, bool]
    clamp: bool
    upper: bool
    is_gfx11: bool


def _form(ins: LlvmInstruction) -> _WmmaForm:
    match = _SHAPE.search(ins.callee)
    assert match is not None
    result, depth, kind = match[1], int(match[2]), match[3]
    is_integer = result == "i32"
    a, b, c = (1, 3, 4) if is_integer else (0, 1, 2)
    elements = ins.operands[a].type.bits // _BITS[kind]
    is_gfx11 = elements == depth
    registers = {"i32": 8, "f32": 8}.get(result, 16 if is_gfx11 else 8)
    if ins.type.lanes != registers or (2 * elements != depth and not is_gfx11):
        raise TypeError("a WMMA form of a wave of 64")
    last = immediate(ins.operands[-1]) if len(ins.operands) > c + 1 else 0
    return _WmmaForm(
        ins=ins,
        result=result,
        depth=depth,
        kinds=(kind, match[4] or kind),
        operands=(a, b, c),
        is_signed=(_flag(ins, 0, is_integer), _flag(ins, 2, is_integer)),
        clamp=is_integer and bool(last),
        upper=not is_integer and bool(last),
        is_gfx11=is_gfx11,
    )


def _flag(ins: LlvmInstruction, at: int, has_flags: bool) -> bool:
    return has_flags and bool(immediate(ins.operands[at]))


def _wmma(ins: LlvmInstruction) -> Callable[..., Array]:
    form = _form(ins)
    a, b, c = form.operands

    def multiply(m: Machine, *operands: Array) -> Array:
        m.whole_waves(ins)
        left = _matrix(m, form, operands[a], 0)
        right = _matrix(m, form, operands[b], 1)
        product = right @ left.transpose(0, 2, 1)  # [wave, column, row]
        if form.is_gfx11:
            rows = product.reshape(-1, 16, 8, 2).transpose(0, 3, 1, 2)
        else:
            rows = product.reshape(-1, 16, 2, 8).transpose(0, 2, 1, 3)
        by_lane = rows.reshape(len(product), 32, 8)
        if form.result in ("f16", "bf16"):
            return _add_halves(m, form, operands[c], by_lane)
        if form.clamp:
            return _add_clamped(m, operands[c], by_lane)
        return accumulate(m, operands[c], by_lane, form.kinds[0])

    return multiply


def _matrix(m: Machine, form: _WmmaForm, value: Array, which: int) -> Array:
    """Return operand A (``which`` 0) or B (1) as [wave, row, k].

    Raises a fault on gfx11 if lanes 16-31 do not repeat lanes 0-15.
    """
    fragment = fragments(m, value, form.kinds[which], is_signed=form.is_signed[which])
    count = len(fragment)
    if not form.is_gfx11:
        run = 4 if _BITS[form.kinds[which]] == 16 else fragment.shape[2]
        parts = fragment.reshape(count, 2, 16, -1, run)
        return parts.transpose(0, 2, 3, 1, 4).reshape(count, 16, form.depth)
    low, high = fragment[:, :16], fragment[:, 16:]
    if m.checks and m.mask is None and not np.array_equal(low, high, equal_nan=True):
        lanes = np.zeros((1, m.lanes), np.bool_)
        lanes[0, 16:32] = True
        name = "AB"[which]
        raise fault(m, "trap", f"lanes 16-31 of {name} do not repeat lanes 0-15", form.ins, lanes)
    return low


def _add_halves(m: Machine, form: _WmmaForm, c: Array, product: Array) -> Array:
    """Return a 16-bit C plus the product [wave, lane, register]."""
    type_ = HALF if form.result == "f16" else BFLOAT
    by_lane = product.reshape(-1, m.lanes, 8)
    if not form.is_gfx11:
        return narrow(widen(c, type_) + by_lane, type_)
    half = slice(int(form.upper), None, 2)
    sums = narrow(widen(c[..., half], type_) + by_lane, type_)
    total = np.array(np.broadcast_to(c, (*sums.shape[:2], c.shape[2])))
    total[..., half] = sums
    return total


def _add_clamped(m: Machine, c: Array, product: Array) -> Array:
    """Return an i32 C plus the product, clamped to the range of i32."""
    total = c.view(np.int32).astype(np.float64) + product.reshape(-1, m.lanes, 8)
    return np.clip(total, _LOWEST, _HIGHEST).astype(np.int64).astype(np.uint32)


EFFECTS: dict[str, Build] = {f"llvm.amdgcn.wmma.{shape}": _wmma for shape in words(_SHAPES)}
