"""Error bounds of correct kernels, element by element.

The bound follows the computation (running error analysis: N. Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., section 3.3): every step amplifies it and adds its own rounding.
u_acc and u_out are the unit roundoffs of the types of the accumulator and the output. `factor` and
`function_error` belong to the target (:class:`kgen_runtime.manifest.Tolerance`, with its reason).

- A product of K terms starts at factor sqrt(K) u_acc (|A| |B|): rounding errors that are
  independent and zero-mean grow with the square root of their number (ibid., section 2.8). Operands
  that are rounded for a matrix unit (tf32) add operand_error (|A| |B|). Sums of s8 are exact, and
  are rounded when they become f32.
- A sum or product of two values adds u_acc of the rounded result, and half the accumulator's
  smallest subnormal.
- Functions of an epilogue add their own accuracy and propagate earlier errors
  (:mod:`kgen.check.oracle.elementwise`).
- The final rounding adds u_out of the result, and at least half the smallest subnormal, which for
  integers is half a unit.

Sums of integers are exact while all partial sums stay below 1/u_acc. Every term of the bound is
then zero as long as each step's result is a number of the accumulator's type, and the kernel must
produce the exact result rounded once.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kgen.check.tensors import Values, round_to
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import Tolerance
from kgen_runtime.values import frozen

#: Factor for f64 kernels, because the float64 oracle has the same error as the kernel.
F64_ORACLE_FACTOR = 2.0


@frozen
class Estimate:
    """Expected value of an accumulator, and the allowed error of a correct kernel."""

    value: Values
    error: Values
    accumulate: DType
    function_error: float = 0.0

    def convert(self, accumulate: DType) -> Estimate:
        """Return the estimate converted to another type, in which later steps are computed."""
        converted = Estimate(
            value=self.value,
            error=self.error,
            accumulate=accumulate,
            function_error=self.function_error,
        )
        return converted._step(self.value, self.error)

    def scale(self, factor: float) -> Estimate:
        if factor == 1.0:
            return self
        value = factor * self.value
        # The factor itself is rounded to the accumulator's type.
        inexact = float(round_to(np.asarray(factor), self.accumulate)) != factor
        constant = self.accumulate.unit_roundoff * np.abs(value) if inexact else 0.0
        return self._step(value, abs(factor) * self.error + constant)

    def add(self, addend: Values, factor: float = 1.0) -> Estimate:
        """Return the estimate plus `factor` times a tensor."""
        start = Estimate(
            value=addend, error=np.zeros_like(addend), accumulate=self.accumulate
        ).scale(factor)
        return self._step(self.value + start.value, self.error + start.error)

    def _step(self, value: Values, error: Values) -> Estimate:
        rounding = np.where(
            # An exact result may need rounding once its operands have errors.
            is_exact(value, self.accumulate) & (error == 0.0),
            0.0,
            rounding_unit(self.accumulate) * (np.abs(value) + error)
            # Subnormals: fl(x) = x (1 + d) + e with |e| at most half of the smallest.
            + self.accumulate.smallest_subnormal / 2.0,
        )
        # Infinity times an inexact constant is exact.
        return self._replace(value, np.where(np.isfinite(value), error + rounding, 0.0))

    def _replace(self, value: Values, error: Values) -> Estimate:
        return Estimate(
            value=value, error=error, accumulate=self.accumulate, function_error=self.function_error
        )


def is_exact(value: Values, dtype: DType) -> npt.NDArray[np.bool_]:
    """Return a mask of results that need no rounding.

    In f64 the oracle's own result cannot show this, so only integers up to 1/u_acc count.
    """
    if dtype is not DType.F64:
        return np.equal(round_to(value, dtype), value)
    is_whole = np.equal(np.rint(value), value)
    return is_whole & (np.abs(value) <= 1.0 / dtype.unit_roundoff)


def rounding_unit(dtype: DType) -> float:
    """Return the relative error of a result that both kernel and oracle round."""
    return (F64_ORACLE_FACTOR if dtype is DType.F64 else 1.0) * dtype.unit_roundoff


def product(value: Values, magnitude: Values, k: int, whole: bool, target: Tolerance) -> Estimate:
    """Return A @ B as accumulated, given A @ B, |A| @ |B| and whether A and B are integers."""
    unit = target.accumulate.unit_roundoff
    factor = target.factor * (F64_ORACLE_FACTOR if target.accumulate is DType.F64 else 1.0)
    error = (factor * math.sqrt(k) * unit + target.operand_error) * magnitude
    if whole and unit:
        error = np.where(magnitude <= 1.0 / unit, 0.0, error)
    # NaN and infinity have no error: relu of -inf is exactly 0.
    error = np.where(np.isfinite(value), error, 0.0)
    return Estimate(
        value=value, error=error, accumulate=target.accumulate, function_error=target.function_error
    )


def final(estimate: Estimate, out: DType) -> Values:
    """Return the bound on |kernel - reference| after rounding to the output's type."""
    rounding = out.unit_roundoff * (np.abs(estimate.value) + estimate.error)
    return estimate.error + rounding + out.smallest_subnormal / 2.0
