"""Matrix instructions of a wave: MFMA (gfx90a, gfx942, gfx950) and WMMA (gfx11, gfx12).

D = A B + C with A [M, K], B [K, N]. Every lane holds consecutive elements of one row of A and of
one column of B, and a few rows of one column of C and D. Layouts, with lane l, element e of a
fragment, and register r of the accumulator, after "AMD matrix instruction calculator" and the
"MFMA" and "WMMA" sections of the CDNA3 and RDNA3/RDNA4 instruction set manuals:

- MFMA: A row l % M, k = E * (l / M) + e for E elements per lane; D column l % N, rows in groups
  of four, row = 4 * (64 / N) * (r / 4) + 4 * (l / N) + r % 4.
- WMMA gfx11: A row l % 16, k = e, lanes 16-31 repeat 0-15; D column l % 16, row 2 * r + l / 16.
- WMMA gfx12: A row l % 16, k = 8 * (e / 4) + 4 * (l / 16) + e % 4; D column l % 16,
  row 8 * (l / 16) + r.

B has the layout of A with columns for rows. Products are exact in float32; the sum over k and the
addition of C are rounded to float32, the order of additions is numpy's.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.literals import immediate
from kgen.emulate.llvm.machine import Machine
from kgen.emulate.llvm.module import Instruction
from kgen.emulate.llvm.numbers import bfloat_to_float, widen
from kgen.emulate.llvm.program import Build
from kgen.emulate.llvm.types import HALF, Array

_MFMA = (
    *("32x32x8f16", "16x16x16f16", "32x32x8bf16.1k", "16x16x16bf16.1k"),
    *("32x32x16.f16", "16x16x32.f16", "32x32x16.bf16", "16x16x32.bf16"),
    *("32x32x2f32", "16x16x4f32"),
)
_WMMA = ("16x16x16.f16", "16x16x16.bf16")
_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)\.?(bf16|f16|f32)")

Fragment = Array
"""[wave, lane, element], float32"""


def _shape(ins: Instruction) -> tuple[int, int, int, str]:
    match = _SHAPE.search(ins.callee)
    assert match is not None
    return int(match[1]), int(match[2]), int(match[3]), match[4]


def _fragments(m: Machine, value: Array, kind: str) -> Fragment:
    if kind == "bf16":
        value = bfloat_to_float(value)
    elif kind == "f16":
        value = widen(value, HALF)
    elif value.ndim == 2:
        value = value[..., None]
    waves = m.waves(value)
    return waves.reshape(-1, *waves.shape[2:])


def _mfma(ins: Instruction) -> Callable[..., Array]:
    rows, columns, depth, kind = _shape(ins)
    if any(immediate(modifier) for modifier in ins.operands[3:]):
        raise TypeError("MFMA with cbsz, abid or blgp")
    groups = 64 // columns  # of lanes, each with its own part of K

    def as_matrix(fragment: Fragment) -> Array:
        """[wave, lane, element] -> [wave, row, k]"""
        count = len(fragment)
        return (
            fragment.reshape(count, groups, rows, -1)
            .transpose(0, 2, 1, 3)
            .reshape(count, rows, depth)
        )

    def multiply(m: Machine, a: Array, b: Array, c: Array, *_: Array) -> Array:
        m.whole_waves(ins)
        left, right = (as_matrix(_fragments(m, x, kind)) for x in (a, b))
        # Columns first, as the lanes have them.
        product = right @ left.transpose(0, 2, 1)
        quads = product.reshape(len(product), columns, -1, groups, 4).transpose(0, 3, 1, 2, 4)
        return _add(m, c, quads)

    return multiply


def _wmma(ins: Instruction) -> Callable[..., Array]:
    *_, kind = _shape(ins)
    elements = ins.operands[0].type.lanes
    if ins.type.lanes != 8 or elements not in (8, 16):
        raise TypeError("a WMMA form other than wave32 with a float accumulator")
    is_gfx11 = elements == 16

    def as_matrix(m: Machine, fragment: Fragment, operand: str) -> Array:
        """[wave, lane, element] -> [wave, row, k]"""
        count = len(fragment)
        if is_gfx11:
            low, high = fragment[:, :16], fragment[:, 16:]
            if m.checks and m.mask is None and not np.array_equal(low, high, equal_nan=True):
                lanes = np.zeros((1, m.lanes), np.bool_)
                lanes[0, 16:32] = True
                raise m.fault(
                    "trap", f"lanes 16-31 of {operand} do not repeat lanes 0-15", ins, lanes
                )
            return low
        return fragment.reshape(count, 2, 16, 2, 4).transpose(0, 2, 3, 1, 4).reshape(count, 16, 16)

    def multiply(m: Machine, a: Array, b: Array, c: Array) -> Array:
        m.whole_waves(ins)
        left = as_matrix(m, _fragments(m, a, kind), "A")
        right = as_matrix(m, _fragments(m, b, kind), "B")
        product = right @ left.transpose(0, 2, 1)  # [wave, column, row]
        if is_gfx11:
            rows = product.reshape(-1, 16, 8, 2).transpose(0, 3, 1, 2)
        else:
            rows = product.reshape(-1, 16, 2, 8).transpose(0, 2, 1, 3)
        return _add(m, c, rows)

    return multiply


def _add(m: Machine, c: Array, product: Array) -> Array:
    """C plus the product [wave, lane group, column, registers...] as the lanes hold it."""
    workgroups = len(product) // (m.lanes // m.wave)
    accumulator = m.waves(c)
    total = accumulator.reshape(len(c), -1, *product.shape[1:]) + product.reshape(
        workgroups, -1, *product.shape[1:]
    )
    return total.reshape(len(total), m.lanes, -1)


EFFECTS: dict[str, Build] = {
    **{f"llvm.amdgcn.mfma.f32.{shape}": _mfma for shape in _MFMA},
    **{f"llvm.amdgcn.wmma.f32.{shape}": _wmma for shape in _WMMA},
}
