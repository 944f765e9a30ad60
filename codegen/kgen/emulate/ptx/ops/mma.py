"""mma.sync (PTX ISA 9.7.14.5.14).

Products and sums are computed in f32 (exact for integers, f64 for f64) in the order of the host's
matrix product; tensor cores sum in an order and with guard bits that no document gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgen.emulate.ptx.decode import Builder, Decoder
from kgen.emulate.ptx.machine import Mask
from kgen.emulate.ptx.operations import Collective
from kgen.emulate.ptx.ops.fragments import ELEMENTS, FragmentCache, accumulate
from kgen.emulate.ptx.syntax import Operand
from kgen.emulate.ptx.types import TYPES
from kgen.emulate.ptx.words import Unsupported, Words


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """Rows m and depth k of a product with eight columns."""

    m: int
    k: int


_SHAPES = {
    f"m{m}n8k{k}": _Shape(m=m, k=k)
    for m, k in ((16, 16), (16, 8), (16, 4), (16, 32), (8, 16), (8, 4))
}
#: Depths that exist for each element type and number of rows.
_DEPTHS = {
    ("f16", 16): (8, 16),
    ("bf16", 16): (8, 16),
    ("tf32", 16): (4, 8),
    ("s8", 16): (16, 32),
    ("u8", 16): (16, 32),
    ("s8", 8): (16,),
    ("u8", 8): (16,),
    ("f64", 8): (4,),
    ("f64", 16): (4, 8, 16),
}
_ACCUMULATORS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "s8": ("s32",),
    "u8": ("s32",),
    "f64": ("f64",),
}


def _multiply(decoder: Decoder, words: Words, operands: Sequence[Operand]) -> Collective:
    if not (words.flag("sync") and words.flag("aligned")):
        raise Unsupported
    shape = _SHAPES.get(words.choice(*_SHAPES) or "")
    if shape is None or not (words.flag("row") and words.flag("col")) or len(operands) != 4:
        raise Unsupported
    c_type, b_type, a_type, d_type = (words.type().name for _ in range(4))
    words.finish()
    if c_type != d_type or shape.k not in _DEPTHS.get((a_type, shape.m), ()):
        raise Unsupported
    integers = {"s8", "u8"}
    if c_type not in _ACCUMULATORS[a_type] or (a_type != b_type and {a_type, b_type} != integers):
        raise Unsupported
    register = TYPES["b64" if a_type == "f64" else "b32"]
    accumulator = TYPES["b32" if c_type == "f16" else c_type]
    a, b = (decoder.sources(decoder.elements(o), register) for o in operands[1:3])
    c = decoder.sources(decoder.elements(operands[3]), accumulator)
    targets = [decoder.target(e, accumulator) for e in decoder.elements(operands[0])]
    heights, halves = shape.m // 8, 2 if c_type == "f16" else 1
    per_lane = shape.k // (4 * ELEMENTS[a_type])
    if (len(a), len(b)) != (heights * per_lane, per_lane):
        raise Unsupported
    if not len(c) == len(targets) == 2 * heights // halves:
        raise Unsupported
    cache = decoder.one(FragmentCache)

    def run(mask: Mask) -> None:
        left = cache.matrix([read() for read in a], a_type, heights)
        right = cache.matrix([read() for read in b], b_type, 1)
        product = np.matmul(left, right.swapaxes(-1, -2))
        results = accumulate(product, [read() for read in c], c_type)
        for target, value in zip(targets, results, strict=True):
            target(value, mask)

    return Collective(action=run)


BUILDERS: dict[str, Builder] = {"mma": _multiply}
