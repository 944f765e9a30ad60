"""Comparison and selection: setp, set, selp, slct, testp (PTX ISA 9.7.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.floats import flush
from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import PRED, Builder, Decoder, apply, computed
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, Array, PtxType, unpack, widen

Comparison = Callable[[Array, Array], Array]

_ORDERED: dict[str, Comparison] = {
    "eq": np.equal,
    "ne": lambda a, b: (a < b) | (a > b),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_INTEGER: dict[str, Comparison] = {
    **_ORDERED,
    "ne": np.not_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _or_unordered(compare: Comparison) -> Comparison:
    return lambda a, b: compare(a, b) | _unordered(a, b)


_FLOAT: dict[str, Comparison] = {
    **_ORDERED,
    **{f"{name}u": _or_unordered(compare) for name, compare in _ORDERED.items()},
    "num": lambda a, b: ~_unordered(a, b),
    "nan": _unordered,
}
_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _comparison(words: OpcodeWords, type_: PtxType) -> Comparison:
    """Return the comparison that the words name, on values of the type's registers."""
    floating = type_.kind in ("float", "bfloat")
    table = _FLOAT if floating else _INTEGER
    name = words.one_of(*table)
    compare = table[name]
    if words.flag("ftz") and type_.name == "f32":
        return lambda a, b: compare(flush(a), flush(b))
    if type_.size == 2 and floating:
        return lambda a, b: compare(widen(type_, a), widen(type_, b))
    return compare


def _set_predicate(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """setp: p = (a cmp b) op c and q = !(a cmp b) op c."""
    type_ = words.type()
    if type_.lanes == 2:
        return _set_predicate_packed(decoder, words, operands, type_)
    compare = _comparison(words, type_)
    combine = _combination(words, operands)
    words.finish()
    first, second = decoder.pair(operands[0])
    yes = decoder.target(first, PRED)
    no = decoder.target(second, PRED) if second is not None else None
    a, b = decoder.sources(operands[1:3], type_)
    other = decoder.predicate(operands[3]) if combine is not None else None

    def run(mask: Mask) -> None:
        result = compare(a(), b())
        opposite = ~result if no is not None else result
        if combine is not None and other is not None:
            third = other()
            result, opposite = combine(result, third), combine(opposite, third)
        yes(result, mask)
        if no is not None:
            no(opposite, mask)

    return run


def _combination(
    words: OpcodeWords, operands: Sequence[Operand]
) -> Callable[[Array, Array], Array] | None:
    name = words.choice(*_COMBINE)
    if (name is None) != (len(operands) == 3):
        raise Unsupported
    return None if name is None else _COMBINE[name]


def _set_predicate_packed(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], type_: PtxType
) -> Action:
    """setp on packed pairs: p for the low halves, q for the high halves."""
    compare = _comparison(words, type_.element)
    words.finish()
    first, second = decoder.pair(operands[0])
    if second is None or len(operands) != 3:
        raise Unsupported
    targets = [decoder.target(first, PRED), decoder.target(second, PRED)]
    a, b = decoder.sources(operands[1:], type_)

    def run(mask: Mask) -> None:
        results = [compare(x, y) for x, y in zip(unpack(a()), unpack(b()), strict=True)]
        for target, result in zip(targets, results, strict=True):
            target(result, mask)

    return run


def _set(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """set: all ones or 1.0 where the comparison holds, else zero."""
    type_ = words.type()
    output = words.type()
    compare = _comparison(words, type_)
    words.finish()
    one = 1.0 if output.name == "f32" else -1
    require(output.name in ("u32", "s32", "f32"))
    true = np.array(one, output.dtype if output.name == "f32" else np.int32).view(output.dtype)
    false = output.dtype.type(0)
    return apply(
        decoder, operands, lambda a, b: np.where(compare(a, b), true, false), [type_, type_], output
    )


def _select(a: Array, b: Array, p: Array) -> Array:
    return np.where(p, a, b)


def _select_by_sign(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """slct: a where c >= 0, else b."""
    condition = words.type()
    type_ = words.type()
    words.flag("ftz")
    words.finish()
    zero = condition.dtype.type(0)
    require(condition.name in ("s32", "f32"))

    def select(a: Array, b: Array, c: Array) -> Array:
        return np.where(c >= zero, a, b)

    return apply(decoder, operands, select, [type_, type_, condition], type_)


def _test(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """testp: properties of floating-point numbers (PTX ISA 9.7.3.2)."""
    type_ = words.type()
    kind = words.one_of(*_PROPERTIES)
    words.finish()
    require(type_ in (TYPES["f32"], TYPES["f64"]))
    return apply(decoder, operands, _PROPERTIES[kind], [type_], PRED)


def _subnormal(a: Array) -> Array:
    found: Array = (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny)
    return found


_PROPERTIES: dict[str, Callable[[Array], Array]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & (a != 0) & ~_subnormal(a),
    "subnormal": _subnormal,
}

BUILDERS: dict[str, Builder] = {
    "setp": _set_predicate,
    "set": _set,
    "selp": computed(lambda type_: _select, None, None, PRED),
    "slct": _select_by_sign,
    "testp": _test,
}
