"""How far from the reference a correct kernel may be, element by element.

The bound is carried along the computation (running error analysis: N. Higham, Accuracy and
Stability of Numerical Algorithms, 2nd ed., section 3.3): every step widens it by what the step
amplifies and by its own rounding. u_acc and u_out are the unit roundoffs of the accumulator's and
of the output's type, `factor` and `function_error` are the target's own
(:class:`kgen_runtime.manifest.Tolerance`, with its reason).

- A product of K terms starts at factor sqrt(K) u_acc (|A| |B|): rounding errors that are
  independent and zero-mean grow with the square root of their number (ibid., section 2.8). Operands
  that are rounded on their way into a matrix unit (tf32) add operand_error (|A| |B|). Sums of s8
  are exact, and rounded when they become f32.
- A sum or product of two values adds u_acc of what it rounds, and half the accumulator's smallest
  subnormal.
- A function f adds function_error |x| + 8 u_acc |x| (its polynomial and the arithmetic around it,
  which for x/2 (1 + erf ..) and its kin are absolute on the scale of x, not of f(x)), and scales
  what was there by its Lipschitz constant: relu 1, gelu 1.13, gelu_tanh 1.13, silu 1.10.
- The final rounding adds u_out of the result, and at least half the smallest subnormal, which is
  half of the step from one integer to the next.

Data whose partial sums are all whole numbers below 1/u_acc are summed without any rounding; then
every term is zero as long as each step's result is a number of the accumulator's type, and the
kernel has to produce the exact result rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kgen.check.tensors import Values, round_to
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import Tolerance
from kgen_runtime.values import frozen

#: Largest slopes: of gelu and gelu_tanh near x = 1.41 and 1.42, of silu at x = 2.40.
LIPSCHITZ = {"relu": 1.0, "gelu": 1.13, "gelu_tanh": 1.13, "silu": 1.1}
#: Roundings in the arithmetic around an exp, erf or tanh.
FUNCTION_ROUNDINGS = 8
#: f64 kernels are compared with a float64 sum, which has the same error as theirs.
F64_ORACLE_FACTOR = 2.0


@frozen
class Estimate:
    """What an accumulator should hold, and how far off a correct kernel may be."""

    value: Values
    error: Values
    accumulate: DType
    function_error: float = 0.0

    def convert(self, accumulate: DType) -> Estimate:
        """The same in another type, in which later steps are computed."""
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
        # The constant itself is rounded to the accumulator's type.
        inexact = float(round_to(np.asarray(factor), self.accumulate)) != factor
        constant = self.accumulate.unit_roundoff * np.abs(value) if inexact else 0.0
        return self._step(value, abs(factor) * self.error + constant)

    def add(self, addend: Values, factor: float = 1.0) -> Estimate:
        """Plus `factor` times a tensor."""
        start = Estimate(
            value=addend, error=np.zeros_like(addend), accumulate=self.accumulate
        ).scale(factor)
        return self._step(self.value + start.value, self.error + start.error)

    def apply(self, step: str, function: Callable[[Values], Values]) -> Estimate:
        """An epilogue function; `step` is its name."""
        error = LIPSCHITZ[step] * self.error
        if step == "relu":
            return self._replace(function(self.value), error)
        own = self.function_error + FUNCTION_ROUNDINGS * self.accumulate.unit_roundoff
        return self._replace(function(self.value), error + own * np.abs(self.value))

    def _step(self, value: Values, error: Values) -> Estimate:
        oracle = F64_ORACLE_FACTOR if self.accumulate is DType.F64 else 1.0
        rounding = np.where(
            # A result that needs no rounding may need it once its operands are off.
            self._is_exact(value) & (error == 0.0),
            0.0,
            oracle * self.accumulate.unit_roundoff * (np.abs(value) + error)
            # Subnormals: fl(x) = x (1 + d) + e with |e| at most half of the smallest.
            + self.accumulate.smallest_subnormal / 2.0,
        )
        # Infinity times an inexact constant is exact.
        return self._replace(value, np.where(np.isfinite(value), error + rounding, 0.0))

    def _is_exact(self, value: Values) -> npt.NDArray[np.bool_]:
        """Where a step's result needs no rounding. In f64 the oracle's own result does not show
        that: there only whole numbers up to 1/u_acc count."""
        if self.accumulate is not DType.F64:
            return np.equal(round_to(value, self.accumulate), value)
        is_whole = np.equal(np.rint(value), value)
        return is_whole & (np.abs(value) <= 1.0 / self.accumulate.unit_roundoff)

    def _replace(self, value: Values, error: Values) -> Estimate:
        return Estimate(
            value=value,
            error=error,
            accumulate=self.accumulate,
            function_error=self.function_error,
        )


def product(value: Values, magnitude: Values, k: int, whole: bool, target: Tolerance) -> Estimate:
    """A @ B as accumulated, given A @ B, |A| @ |B| and whether A and B are whole numbers."""
    unit = target.accumulate.unit_roundoff
    factor = target.factor * (F64_ORACLE_FACTOR if target.accumulate is DType.F64 else 1.0)
    error = (factor * math.sqrt(k) * unit + target.operand_error) * magnitude
    if whole and unit:
        error = np.where(magnitude <= 1.0 / unit, 0.0, error)
    # NaN and infinity have no error: relu of -inf, say, is exactly 0.
    error = np.where(np.isfinite(value), error, 0.0)
    return Estimate(
        value=value,
        error=error,
        accumulate=target.accumulate,
        function_error=target.function_error,
    )


def final(estimate: Estimate, out: DType) -> Values:
    """The bound on |kernel - reference| after the result has been rounded to the output's type."""
    rounding = out.unit_roundoff * (np.abs(estimate.value) + estimate.error)
    return estimate.error + rounding + out.smallest_subnormal / 2.0
