"""mma.sync (PTX ISA 9.7.14.5.14). :mod:`tensor_core` models the rounding of sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.asynchronous.tensor_core import multiply_add
from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.operations import Collective
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.matrix.fragments import ELEMENTS, FragmentCache, accumulate, accumulate_by
from kgen.emulate.ptx.types import TYPES
from kgen_runtime.values import frozen


@frozen
class _Shape:
    """Shape of a product with eight columns: m rows, depth k."""

    m: int
    k: int


_SHAPES = {f"m{m}n8k{k}": _Shape(m=m, k=k) for m in (8, 16) for k in (4, 8, 16, 32, 64)}
#: Supported depths by element type and number of rows.
_DEPTHS = {
    **dict.fromkeys([("f16", 16), ("bf16", 16)], (8, 16)),
    ("tf32", 16): (4, 8),
    **dict.fromkeys([("e4m3", 16), ("e5m2", 16)], (16, 32)),
    **dict.fromkeys([("s8", 16), ("u8", 16)], (16, 32)),
    **dict.fromkeys([("s8", 8), ("u8", 8)], (16,)),
    **dict.fromkeys([("s4", 16), ("u4", 16)], (32, 64)),
    **dict.fromkeys([("s4", 8), ("u4", 8)], (32,)),
    ("f64", 8): (4,),
    ("f64", 16): (4, 8, 16),
}
#: Types that A and B may have together, and types of C and D.
_FAMILIES = {
    **{name: (name,) for name in ("f16", "bf16", "tf32", "f64")},
    **dict.fromkeys(("s8", "u8"), ("s8", "u8")),
    **dict.fromkeys(("s4", "u4"), ("s4", "u4")),
    **dict.fromkeys(("e4m3", "e5m2"), ("e4m3", "e5m2")),
}
_ACCUMULATORS = {
    **dict.fromkeys(("f16", "e4m3", "e5m2"), ("f16", "f32")),
    **dict.fromkeys(("bf16", "tf32"), ("f32",)),
    **dict.fromkeys(("s8", "u8", "s4", "u4"), ("s32",)),
    "f64": ("f64",),
}


def _multiply(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    require(words.flag("sync") and words.flag("aligned"))
    shape = _SHAPES.get(words.choice(*_SHAPES) or "")
    if shape is None or not (words.flag("row") and words.flag("col")) or len(operands) != 4:
        raise Unsupported
    c_type, b_type, a_type, d_type = (words.ending(*_FAMILIES, "f32", "s32") for _ in range(4))
    saturate = c_type == "s32" and words.flag("satfinite")
    words.finish()
    require(c_type == d_type and shape.k in _DEPTHS.get((a_type, shape.m), ()))
    require(c_type in _ACCUMULATORS[a_type] and b_type in _FAMILIES[a_type])
    register = TYPES["b64" if a_type == "f64" else "b32"]
    accumulator = TYPES["b32" if c_type == "f16" else c_type]
    a, b = (decoder.sources(decoder.elements(o), register) for o in operands[1:3])
    c = decoder.sources(decoder.elements(operands[3]), accumulator)
    targets = [decoder.target(e, accumulator) for e in decoder.elements(operands[0])]
    heights, halves = shape.m // 8, 2 if c_type == "f16" else 1
    per_lane = shape.k // (4 * ELEMENTS[a_type])
    require((len(a), len(b)) == (heights * per_lane, per_lane))
    require(len(c) == len(targets) == 2 * heights // halves)
    cache = decoder.engine(FragmentCache)
    adder = multiply_add(decoder.machine.launch.numerics, a_type)

    def run(mask: Mask) -> None:
        left = cache.matrix([read() for read in a], a_type, heights)
        right = cache.matrix([read() for read in b], b_type, 1)
        start = [read() for read in c]
        if adder is not None:
            results = accumulate_by(adder, left, right, start, c_type)
        else:
            product = np.matmul(left, right.swapaxes(-1, -2))
            results = accumulate(product, start, c_type, saturate=saturate)
        for target, value in zip(targets, results, strict=True):
            target(value, mask)

    return Collective(action=run)


BUILDERS: dict[str, Builder] = {"mma": _multiply}
