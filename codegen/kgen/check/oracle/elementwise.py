"""Element-wise expressions in float64, with the error bound of a correct kernel.

Values come from the functions' definitions (:mod:`kgen_runtime.expressions.definitions`). An error
in an argument is propagated by evaluating the function at both ends of the interval; an undecided
comparison counts as either. Each function adds its own accuracy (:class:`kgen.ops.Accuracy`), and
any subnormal may be flushed to zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.check.oracle import views
from kgen.check.oracle.tolerance import Estimate, rounding_unit
from kgen.check.oracle.views import viewed
from kgen.check.tensors import Values, round_to
from kgen.ops import Accuracy, functions
from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.evaluators import Evaluator, Integers
from kgen_runtime.expressions.formulas import Formulas, behind
from kgen_runtime.expressions.views import INDEXED, TENSORS, is_view, parts
from kgen_runtime.manifest import Tolerance

ERF, ERFC = (np.vectorize(f, otypes=[np.float64]) for f in (math.erf, math.erfc))


class Arrays:
    """Mathematical functions of numpy arrays."""

    exp, expm1, log, log1p = (staticmethod(f) for f in (np.exp, np.expm1, np.log, np.log1p))
    # numpy.power takes a square root for 0.5, which -inf has none of.
    sqrt, pow, sin, cos = (staticmethod(f) for f in (np.sqrt, np.float_power, np.sin, np.cos))
    atan, tanh = staticmethod(np.arctan), staticmethod(np.tanh)
    div, isnan, where = (staticmethod(f) for f in (np.divide, np.isnan, np.where))
    floor, round = staticmethod(np.floor), staticmethod(np.rint)
    erf, erfc = staticmethod(ERF), staticmethod(ERFC)

    @staticmethod
    def fmod(x: Values, y: Values) -> Values:
        return np.asarray(np.fmod(x, y))

    @staticmethod
    def mod(x: Values, y: Values) -> Values:
        return np.asarray(np.mod(x, y))

    @staticmethod
    def floor_divide(x: Values, y: Values) -> Values:
        return np.asarray(np.floor_divide(x, y))

    @staticmethod
    def bitwise_and(x: Values, y: Values) -> Values:
        """Return the bitwise and of numbers rounded down, from -256 to 255; NaN counts as 0."""
        limited = (
            np.clip(np.nan_to_num(v, posinf=255.0, neginf=-256.0), -256.0, 255.0) for v in (x, y)
        )
        a, b = (np.floor(v).astype(np.int64) for v in limited)
        return np.bitwise_and(a, b).astype(np.float64)

    @staticmethod
    def nearest(x: Values, bits: int, least: int, largest: float) -> Values:
        exponent = np.maximum(np.frexp(x)[1] - 1, least) - bits
        found = np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent)
        beyond = np.abs(found) > largest
        return np.where(np.isfinite(x), np.where(beyond, np.copysign(np.inf, x), found), x)


class WholeArrays(Arrays):
    """Arithmetic on int64 arrays, which wraps around."""

    @staticmethod
    def pow(x: Values, y: Any) -> Values:
        base, exponent = np.broadcast_arrays(int64_of(x), int64_of(y))
        # numpy refuses negative exponents; for bases 1 and -1 only the last bit matters.
        found = np.power(base, np.where(exponent < 0, exponent & 1, exponent))
        return np.where((exponent < 0) & (abs(base) != 1), 0, found)

    @staticmethod
    def bitwise_and(x: Values, y: Values) -> Values:
        return np.bitwise_and(int64_of(x), int64_of(y))

    round = staticmethod(np.asarray)  # type: ignore[assignment]

    @staticmethod
    def where(condition: Values, x: Values, y: Values) -> Values:
        return np.where(condition, int64_of(x), int64_of(y))


def int64_of(x: Any) -> Values:
    """Return integers as int64; a single number is clamped."""
    least, largest = DType.S64.limits or (0, 0)
    one = x if isinstance(x, np.ndarray) else max(least, min(largest, int(x)))
    return np.asarray(one, np.int64)


class WholeNumbers(Integers):
    """Evaluator of int64 arrays that hold integers of 32 or 64 bits."""

    def value(self, at: Any) -> Any:
        if is_view(at):
            name, tensors, numbers = parts(at)
            return viewed(name, [self.value(tensor) for tensor in tensors], numbers)
        return np.asarray(super().value(at))

    def wrapped(self, x: Values) -> Values:
        if x.dtype == np.bool_:
            return x
        return x.astype(np.int64 if self.bits == 64 else np.int32).astype(np.int64)


class Bounded(Evaluator):
    """Evaluator of (value, error) pairs.

    For a truth value the error marks where it is undecided.
    """

    def __init__(
        self, values: Mapping[str, Values], target: Tolerance, compute: DType = DType.F32
    ) -> None:
        self.compute = compute
        self.flushes = target.subnormals == "flushed"
        pairs = {
            name: (value.astype(np.float64), self.flushed(value) + converted(value, compute))
            for name, value in values.items()
        }
        super().__init__(pairs, Arrays())
        self.target = target

    def flushed(self, value: Values) -> Values:
        """Return the error of a subnormal number that may have become zero."""
        size = np.abs(value)
        return np.where(self.flushes & (size < self.compute.smallest_normal), size, 0.0)

    def value(self, at: Any) -> Any:
        found = super().value(at)
        return found if isinstance(found, tuple) else self.constant(found, self.compute)

    @staticmethod
    def constant(value: float, dtype: DType = DType.F32) -> tuple[Values, Values]:
        """Return a constant with its error from rounding to the compute type."""
        number = np.asarray(value, np.float64)
        off = np.abs(round_to(number, dtype) - number) if np.isfinite(number) else 0.0
        return number, np.asarray(off)

    def apply(self, name: str, arguments: list[Any]) -> Any:
        values = [value for value, _ in arguments]
        if name in TENSORS:
            return self.moved(name, values, [error for _, error in arguments])
        result = np.asarray(DEFINITIONS[name](self.m, *values))
        ends = [_ends(value, error) for value, error in arguments]
        others = [
            np.asarray(DEFINITIONS[name](self.m, *corner)) for corner in itertools.product(*ends)
        ]
        if result.dtype == np.bool_:
            return result, np.logical_or.reduce([other != result for other in others])
        error = np.zeros(result.shape)
        for other in others:
            same = (other == result) | (np.isnan(other) & np.isnan(result))
            gap = np.where(same, 0.0, np.abs(other - result))
            error = np.maximum(error, np.where(np.isnan(gap), np.inf, gap))
        accuracy = functions()[name].accuracy
        own = self.own_error(accuracy, values, result, error)
        carried = sum((e for _, e in arguments), start=np.zeros(()))
        if accuracy.steady is not None:
            error = np.where((carried == 0.0) | accuracy.steady(*values), error, np.inf)
        if accuracy.slope:
            error = np.where(error > 0.0, error + accuracy.slope * carried, error)
        return result, error + own

    @staticmethod
    def moved(name: str, values: list[Values], errors: list[Values]) -> Any:
        """Apply a view to values and errors. An index is the same for both."""
        tensors, numbers = views.split(name, values)
        moved_errors, number_errors = views.split(name, errors)
        if name in INDEXED:
            moved_errors = [moved_errors[0], tensors[1], *moved_errors[2:]]
        number_errors = [*numbers[:3], number_errors[3]] if name == "pad" else numbers
        return viewed(name, tensors, numbers), viewed(name, moved_errors, number_errors)

    def own_error(
        self, accuracy: Accuracy, arguments: Sequence[Values], result: Values, error: Values
    ) -> Values:
        """Return the error that the function's own implementation adds.

        It is infinite where the function promises nothing, and where the result overflows the
        compute type but not float64.
        """
        if accuracy.roundings == 0.0:
            return np.zeros(result.shape)
        numbers = [np.abs(a) for a in arguments if a.dtype != np.bool_]
        largest = np.broadcast_to(np.max(np.broadcast_arrays(*numbers), axis=0), result.shape)
        size = np.abs(result) + error
        scale = {"result": size, "argument": np.maximum(size, largest), "one": np.maximum(size, 1)}
        unit = rounding_unit(self.compute)
        measure = largest if accuracy.measure is None else accuracy.measure(*arguments)
        # At infinity a finite result is a limit, such as exp(-inf).
        measure = np.where(np.isfinite(measure), measure, 0.0)
        relative = (accuracy.roundings + accuracy.growth * measure) * unit
        relative = relative + accuracy.transcendental * self.target.function_error
        if accuracy.amplified:
            relative = relative + accuracy.amplified * measure * self.target.function_error
        own = relative * scale[accuracy.scale] + self.compute.smallest_normal
        if accuracy.roundings == 1.0:
            exact = (error == 0.0) & (round_to(result, self.compute) == result)
            own = np.where(exact, self.flushed(result), own)
        # NaN and infinity have no error.
        own = np.where(np.isfinite(result), own, 0.0)
        if accuracy.holds is not None:
            own = np.where(accuracy.holds(*arguments), own, np.inf)
        overflow = np.isfinite(result) & np.isinf(round_to(result, self.compute))
        return np.where(overflow, np.inf, own)


def applied(tree: Any, x: Estimate, operands: Mapping[str, Values], target: Tolerance) -> Estimate:
    """Return the estimate of an expression of `x`, an estimate, and of operands."""
    bounded = Bounded(operands, target, x.accumulate)
    bounded.values = {**bounded.values, "x": (x.value, x.error)}
    value, error = bounded.value(tree)
    return Estimate(
        value=np.broadcast_to(value, x.value.shape).astype(np.float64),
        error=np.broadcast_to(error, x.value.shape).astype(np.float64),
        accumulate=x.accumulate,
        function_error=x.function_error,
    )


def _ends(value: Values, error: Values) -> list[Values]:
    """Return the least and the largest value of an interval; one value if the error is 0."""
    if not error.any():
        return [value]
    if value.dtype == np.bool_:
        return [value, np.logical_xor(value, error)]
    return [value - error, value + error]


def converted(value: Values | npt.NDArray[np.int64], dtype: DType) -> Values:
    """Return the error of int64 integers as floats, if they exceed the precision."""
    if value.dtype != np.int64:
        return np.zeros(value.shape)
    unit, size = dtype.unit_roundoff, np.abs(value.astype(np.float64))
    return np.where(size * unit > 1.0, size * unit, 0.0)


def estimate(
    formulas: Formulas,
    output: str,
    inputs: Mapping[str, Values],
    target: Tolerance,
    shape: tuple[int, ...],
    compute: DType = DType.F32,
    out: DType = DType.F32,
) -> Estimate:
    """Return an output's value and error, in the shape that inputs and views broadcast to.

    Integer results of integer computations are int64 and exact.
    """
    formulas = behind(formulas, output)
    if compute.is_integer:
        wholes = WholeNumbers(inputs, WholeArrays(), 8 * compute.itemsize)
        found = wholes.outputs(formulas)[output]
        return finished(found, np.zeros(()), shape, compute, out)
    value, error = Bounded(inputs, target, compute).outputs(formulas)[output]
    return finished(value, error, shape, compute, out)


def finished(
    value: Values, error: Values, shape: tuple[int, ...], compute: DType, out: DType
) -> Estimate:
    """Return the estimate of a value that is computed in one type and converted to the output's."""
    if compute.is_integer:
        whole = np.broadcast_to(value, shape).astype(np.int64)
        error = np.zeros(shape) if out.is_integer else converted(whole, DType.F32)
        kept = whole if out.is_integer else whole.astype(np.float64)
        return Estimate(value=kept, error=error, accumulate=compute)  # type: ignore[arg-type]
    if compute is DType.F64 and out.itemsize == 2:
        # The conversion goes through f32.
        error = error + np.abs(value) * DType.F32.unit_roundoff
    return Estimate(
        value=np.broadcast_to(value, shape).astype(np.float64),
        error=np.broadcast_to(error, shape).astype(np.float64),
        accumulate=compute,
    )
