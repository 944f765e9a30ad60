"""MFMA: matrix instructions of a wave of 64 lanes (gfx90a, gfx942, gfx950).

An MFMA computes D = A B + C for one to sixteen independent blocks, with A [M, K], B [K, N] and
M = N. A lane holds E consecutive elements of one row of A and of one column of B of one block, and
several rows of one column of C and D.

Layouts for lane l, element e of an operand, and register r of the accumulator ("AMD matrix
instruction calculator"; CDNA3 instruction set manual, "Matrix arithmetic"):

- A: row ``l mod M``, block ``l / M mod blocks``, k = ``E * (l / (M * blocks)) + e``. B has the same
  layout with columns for rows.
- D: column ``l mod N``, block ``r / R`` for R registers per block, and row
  ``4 * (64 / N) * (s / 4) + 4 * (l / N) + s mod 4`` with s = ``r mod R``.
- D of 4x4 blocks: row r, column ``l mod 4``, block ``l / 4``.
- D of f64, 16x16: row ``4 * r + l / 16``, column ``l mod 16``.
- D of f64, 4x4: row ``l / 16``, column ``l mod 4``, block ``l / 4 mod 4``.
- A of f8f6f4: two runs of 16 elements; k = ``16 * (l / M) + e`` for e < 16, and
  ``K / 2 + 16 * (l / M) + e - 16`` for the second run (CDNA4 manual,
  "V_MFMA_SCALE_F32_16X16X128_F8F6F4").

Modifiers: cbsz and abid make block ``abid`` of each 2**cbsz blocks the A operand of all of them;
blgp makes lanes read B from other lanes. For f8f6f4 only fp8 and bf8 are supported, and only
without scales, which LLVM expresses as two scales of constant 0.

A product is exact in float32, or in float64 for integers and f64. The sum over k and the addition
of C round to that type, in numpy's order of additions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.lexer import words
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.intrinsics.matrix_operands import WIDE, flushed, fragments
from kgen.emulate.llvm.types import Array

_WAVE = 64
_SHAPES = {
    "f32": "32x32x1f32 16x16x1f32 4x4x1f32 32x32x2f32 16x16x4f32"
    " 32x32x4f16 16x16x4f16 4x4x4f16 32x32x8f16 16x16x16f16"
    " 32x32x2bf16 16x16x2bf16 4x4x2bf16 32x32x4bf16 16x16x8bf16"
    " 32x32x4bf16.1k 16x16x4bf16.1k 4x4x4bf16.1k 32x32x8bf16.1k 16x16x16bf16.1k"
    " 16x16x8.xf32 32x32x4.xf32 32x32x16.f16 16x16x32.f16 32x32x16.bf16 16x16x32.bf16"
    " 16x16x32.fp8.fp8 16x16x32.fp8.bf8 16x16x32.bf8.fp8 16x16x32.bf8.bf8"
    " 32x32x16.fp8.fp8 32x32x16.fp8.bf8 32x32x16.bf8.fp8 32x32x16.bf8.bf8",
    "f64": "16x16x4f64 4x4x4f64",
    "i32": "32x32x4i8 16x16x4i8 4x4x4i8 32x32x8i8 16x16x16i8 16x16x32.i8 32x32x16.i8"
    " 16x16x64.i8 32x32x32.i8",
}
_SHAPE = re.compile(r"(\d+)x\d+x(\d+)\.?([a-z]+\d+)(?:\.([a-z]+\d+))?")
#: Lane of B that each lane reads, by blgp. Patterns that are missing here are not supported.
_B_LANES = {
    1: np.arange(_WAVE) % 32,
    2: np.arange(_WAVE) % 32 + 32,
    **{4 + group: np.arange(_WAVE) % 16 + 16 * group for group in range(4)},
}


def _mfma(ins: LlvmInstruction) -> Callable[..., Array]:
    match = _SHAPE.search(ins.callee)
    assert match is not None
    rows, depth, kind = int(match[1]), int(match[2]), match[3]
    kind_b = match[4] or kind
    broadcast, source, pattern = (immediate(modifier) for modifier in ins.operands[3:])
    if pattern and (kind == "f64" or pattern not in _B_LANES):
        raise TypeError(f"MFMA with blgp {pattern}")

    def as_matrix(fragment: Array) -> Array:
        """Arrange [wave, lane, element] as [wave, block, row, k]."""
        count, _, elements = fragment.shape
        groups = depth // elements
        parts = fragment.reshape(count, groups, -1, rows, elements)
        return parts.transpose(0, 2, 3, 1, 4).reshape(count, -1, rows, depth)

    def multiply(m: Machine, a: Array, b: Array, c: Array, *_: Array) -> Array:
        m.whole_waves(ins)
        left = as_matrix(fragments(m, a, kind))
        if broadcast:
            block = np.arange(left.shape[1])
            left = left[:, (block >> broadcast << broadcast) + source]
        of_b = fragments(m, b, kind_b)
        right = as_matrix(of_b[:, _B_LANES[pattern]] if pattern else of_b)
        # Columns come first because a lane holds a column of D.
        product = right @ left.transpose(0, 1, 3, 2)
        return accumulate(m, c, _registers(product, kind), kind)

    return multiply


#: Supported element types by the format operands of f8f6f4.
_FORMATS = {0: "fp8", 1: "bf8"}
_RUN = 16


def _mfma_f8f6f4(ins: LlvmInstruction) -> Callable[..., Array]:
    """Build an f8f6f4 product.

    The operands are
    ``(a, b, c, format of A, format of B, select, scale of A, select, scale of B)``.
    """
    match = _SHAPE.search(ins.callee)
    assert match is not None
    rows, depth = int(match[1]), int(match[2])
    formats = [_FORMATS.get(immediate(ins.operands[at])) for at in (3, 4)]
    kind_a, kind_b = formats
    if kind_a is None or kind_b is None:
        raise TypeError("f8f6f4 of other than 8-bit types")
    if any(immediate(ins.operands[at]) for at in (6, 8)):
        raise TypeError("f8f6f4 with scales")

    def as_matrix(fragment: Array) -> Array:
        """Arrange [wave, lane, element] as [wave, row, k]."""
        parts = fragment.reshape(len(fragment), -1, rows, 2, _RUN)
        return parts.transpose(0, 2, 3, 1, 4).reshape(-1, rows, depth)

    def multiply(m: Machine, a: Array, b: Array, c: Array, *_: Array) -> Array:
        m.whole_waves(ins)
        left, right = as_matrix(fragments(m, a, kind_a)), as_matrix(fragments(m, b, kind_b))
        product = right @ left.transpose(0, 2, 1)
        return accumulate(m, c, _registers(product[:, None], kind_a), kind_a)

    return multiply


def _registers(product: Array, kind: str) -> Array:
    """Arrange [wave, block, column, row] as [wave, lane, register]."""
    count, blocks, columns, rows = product.shape
    groups = _WAVE // columns
    if kind == "f64" and rows == 4:
        by_lane = product.transpose(0, 3, 1, 2)
    elif kind == "f64":
        by_lane = product.reshape(count, columns, -1, groups).transpose(0, 3, 1, 2)
    elif rows == 4:
        by_lane = product
    else:
        quads = product.reshape(count, blocks, columns, -1, groups, 4)
        by_lane = quads.transpose(0, 4, 2, 1, 3, 5)
    return by_lane.reshape(count, _WAVE, -1)


def accumulate(m: Machine, c: Array, product: Array, kind: str) -> Array:
    """Return C plus the product [wave, lane, register], with the shape and storage type of C."""
    by_lane = product.reshape(len(product) * m.wave // m.lanes, m.lanes, -1)
    if c.ndim == 2:
        by_lane = by_lane[..., 0]
    if kind in WIDE and c.dtype == np.uint32:
        return np.asarray(c + by_lane.astype(np.int64).astype(np.uint32))
    return flushed(m, flushed(m, c, _result_of(kind)) + by_lane, _result_of(kind))


def _result_of(kind: str) -> str:
    """Return the type of sums whose subnormals are flushed: float32 for f16 and bf16, else none."""
    return "f32" if kind in ("f16", "bf16") else ""


EFFECTS: dict[str, Build] = {
    f"llvm.amdgcn.mfma.{result}.{shape}": _mfma
    for result, shapes in _SHAPES.items()
    for shape in words(shapes)
} | {
    f"llvm.amdgcn.mfma.scale.f32.{shape}.f8f6f4": _mfma_f8f6f4
    for shape in ("16x16x128", "32x32x64")
}
