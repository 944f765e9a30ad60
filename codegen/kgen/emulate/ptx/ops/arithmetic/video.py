"""SIMD video instructions on the two halves or four bytes of a word (PTX ISA 9.7.18).

Byte selections (`a.b0123`) and result masks are not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.bits import parts
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import Builder, Decoder, apply
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, Array

_B32 = TYPES["b32"]
_SIGNED = {"u32": False, "s32": True}
_FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "absdiff": lambda a, b: np.abs(a - b),
    "min": np.minimum,
    "max": np.maximum,
}


def _simd(function: Callable[[Array, Array], Array], lanes: int) -> Builder:
    """Return the builder of v<op><lanes>.dtype.atype.btype{.sat}, which packs the results, or with
    .add adds all of them to c."""
    size = 4 // lanes

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
        accumulates, saturates = words.flag("add"), words.flag("sat")
        signs = [_SIGNED.get(words.type().name) for _ in range(3)]
        words.finish()
        require(None not in signs and (not accumulates or not saturates))
        second, first, result = (f"{'i' if sign else 'u'}{size}" for sign in signs)

        def run(a: Array, b: Array, c: Array) -> Array:
            found = function(parts(a, first).astype(np.int64), parts(b, second).astype(np.int64))
            if accumulates:
                total: Array = (found.sum(axis=-1) + c).astype(np.uint64).astype(np.uint32)
                return total
            if saturates:
                limits = np.iinfo(result)
                found = found.clip(limits.min, limits.max)
            merged: Array = np.ascontiguousarray(found.astype(result)).view(np.uint32)[..., 0]
            return merged

        return apply(decoder, operands, run, [_B32] * 3, _B32)

    return build


BUILDERS: dict[str, Builder] = {
    f"v{name}{lanes}": _simd(function, lanes)
    for name, function in _FUNCTIONS.items()
    for lanes in (2, 4)
}
