"""Floating-point arithmetic on f32, f64, f16, bf16 and packed pairs (PTX ISA 9.7.3 and 9.7.4).

Results are rounded once, to nearest even or as the rounding modifier says. Functions that the
hardware approximates are computed in f64 and rounded. The errors of the hardware, a few units in
the last place by the ISA's bounds, are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from kgen.emulate.floats import add_odd, flush, fma, round_towards
from kgen.emulate.ptx.exec.operations import Action, Operation
from kgen.emulate.ptx.frontend.decode import Builder, Decoder, apply, computed
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, Array, PtxType, canonical, narrow, pack, unpack, widen
from kgen_runtime.values import frozen

Function = Callable[..., Array]


@frozen
class Style:
    """Modifiers of an instruction besides its operation."""

    type: PtxType
    rounding: str = "rn"
    ftz: bool = False
    saturate: bool = False
    relu: bool = False


def _arithmetic(function: Function, inputs: int, *, rounds: bool = True) -> Builder:
    """Return the builder of an instruction that computes `function` of operands of one type."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
        type_ = words.type()
        style = Style(
            type=type_,
            rounding=words.choice("rn", "rz", "rm", "rp") or "rn" if rounds else "rn",
            ftz=words.flag("ftz"),
            saturate=words.flag("sat"),
            relu=words.flag("relu"),
        )
        words.finish()
        return apply(decoder, operands, styled(function, style), [type_] * inputs, type_)

    return build


def styled(function: Function, style: Style) -> Function:
    """Return the function on registers of the type: unpack, compute, round and modify, pack."""
    type_ = style.type
    if type_.lanes == 2:
        half = styled(function, replace(style, type=type_.element))

        def both(*values: Array) -> Array:
            pairs = [unpack(value) for value in values]
            return pack(half(*(low for low, _ in pairs)), half(*(high for _, high in pairs)))

        return both
    if type_.size == 2:
        return lambda *values: narrow(
            type_, _finish(function(*(widen(type_, v) for v in values)), style)
        )
    if style.rounding != "rn":
        return _rounded(function, style)
    if style.ftz and type_.name == "f32":
        return lambda *values: flush(_finish(function(*(flush(v) for v in values)), style))
    return lambda *values: _finish(function(*values), style)


def _rounded(function: Function, style: Style) -> Function:
    """Return f32 arithmetic with a rounding other than to nearest."""
    require(style.type.name == "f32")
    in_double = _in_double(function, style.rounding)

    def directed(*values: Array) -> Array:
        inputs = [flush(v) if style.ftz else v for v in values]
        wide = in_double(*(v.astype(np.float64) for v in inputs))
        result = _finish(round_towards(wide, np.float32, style.rounding), style)
        return flush(result) if style.ftz else result

    return directed


def _in_double(function: Function, rounding: str) -> Function:
    """Return an f32 function in f64 whose result may be rounded again, to f32, without error.

    Products are exact, and sums are rounded to odd. Quotients and roots are rounded to nearest,
    which is enough: unless they are an f32, f64 has numbers between them and the nearest f32.
    """
    add = partial(add_odd, down=rounding == "rm")
    sums: dict[Function, Function] = {
        np.add: add,
        np.subtract: lambda a, b: add(a, -b),
        fma: lambda a, b, c: add(a * b, c),
    }
    return sums.get(function, function)


def _finish(value: Array, style: Style) -> Array:
    result = canonical(value)
    if style.saturate:
        zero = result.dtype.type(0)
        result = np.fmin(np.fmax(result, zero), result.dtype.type(1))
    if style.relu:
        result = np.maximum(result, result.dtype.type(0))
    return result


def _fma(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
    """fma: 16-bit operands stay in f64, rounded to odd, until the single rounding."""
    if words.last in ("f32", "f64"):
        return _arithmetic(fma, 3)(decoder, words, operands)
    wide = _arithmetic(lambda a, b, c: add_odd(a.astype(np.float64) * b, c), 3)
    return wide(decoder, words, operands)


# ---------------------------------------------------------------------- minimum, maximum, signs


def _extremum(quiet: Function, propagating: Function) -> Builder:
    """Return the builder of min or max: a NaN loses against a number unless .NaN is present."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
        chosen = propagating if words.flag("NaN") else quiet
        sign = words.flag("xorsign")
        require(sign == words.flag("abs"))
        function = _with_xor_sign(chosen) if sign else chosen
        if len(operands) == 4:
            three = _arithmetic(lambda a, b, c: function(function(a, b), c), 3, rounds=False)
            return three(decoder, words, operands)
        return _arithmetic(function, 2, rounds=False)(decoder, words, operands)

    return build


def _with_xor_sign(function: Function) -> Function:
    def combined(a: Array, b: Array) -> Array:
        negative = np.signbit(a) ^ np.signbit(b)
        magnitude = function(np.abs(a), np.abs(b))
        return np.where(negative, -magnitude, magnitude)

    return combined


def _minimum(a: Array, b: Array) -> Array:
    """Return fmin with -0 below +0 (PTX ISA 9.7.3.13)."""
    return np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))


def _maximum(a: Array, b: Array) -> Array:
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))


def _minimum_nan(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, _minimum(a, b)).astype(a.dtype)


def _maximum_nan(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, _maximum(a, b)).astype(a.dtype)


def _sign(operation: str) -> Builder:
    """Return the builder of neg or abs, which changes one bit, also of a NaN."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
        type_ = words.type()
        ftz = words.flag("ftz") and type_.name == "f32"
        words.finish()
        bits = TYPES[f"b{type_.bits}"]
        sign = bits.dtype.type(0x80008000 if type_.lanes == 2 else 1 << (type_.bits - 1))

        def change(a: Array) -> Array:
            value = flush(a.view(np.float32)).view(np.uint32) if ftz else a
            changed: Array = value ^ sign if operation == "neg" else value & ~sign
            return changed

        return apply(decoder, operands, change, [bits], bits)

    return build


# ---------------------------------------------------------------------- division and functions


def _divide(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
    """div: with exact rounding; .approx and .full are computed exactly as well."""
    words.choice("approx", "full")
    return _arithmetic(np.divide, 2)(decoder, words, operands)


def _by_double(function: Function) -> Function:
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


def _unary(function: Function) -> Builder:
    """Return the builder of a function of one number, .approx or with a rounding modifier."""

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
        words.flag("approx")
        return _arithmetic(function, 1)(decoder, words, operands)

    return build


BUILDERS: dict[str, Builder] = {
    "add": _arithmetic(np.add, 2),
    "sub": _arithmetic(np.subtract, 2),
    "mul": _arithmetic(np.multiply, 2),
    "fma": _fma,
    "mad": _fma,
    "div": _divide,
    "min": _extremum(_minimum, _minimum_nan),
    "max": _extremum(_maximum, _maximum_nan),
    "neg": _sign("neg"),
    "abs": _sign("abs"),
}
FUNCTION_BUILDERS: dict[str, Builder] = {
    "rcp": _unary(_by_double(np.reciprocal)),
    "sqrt": _unary(np.sqrt),
    "rsqrt": _unary(_by_double(lambda a: 1 / np.sqrt(a))),
    "ex2": _unary(_by_double(np.exp2)),
    "lg2": _unary(_by_double(np.log2)),
    "sin": _unary(_by_double(np.sin)),
    "cos": _unary(_by_double(np.cos)),
    "tanh": _unary(_by_double(np.tanh)),
    # The magnitude of b with the sign of a.
    "copysign": computed(lambda type_: lambda a, b: np.copysign(b, a), None, None),
}
