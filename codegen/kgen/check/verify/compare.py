"""Comparison of a kernel's output with the reference: the worst element, and its place."""

from __future__ import annotations

import numpy as np

from kgen.check.oracle import tolerance
from kgen.check.oracle.operations import Box
from kgen.check.oracle.tolerance import Estimate
from kgen.check.tensors import Mask, Values, round_to, saturate
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen


@frozen
class Comparison:
    """Comparison of `elements` elements, with the one of the largest ratio of error to bound.

    `at` is its place in the oracle's coordinates of the named output. `wrong` counts the elements
    beyond their bound.
    """

    elements: int
    wrong: int
    ratio: float
    error: float
    bound: float
    at: tuple[int, ...]
    got: float
    expected: float
    unwritten: int
    output: str = "out"

    @property
    def passed(self) -> bool:
        return self.wrong == 0


def compare(
    expected: Estimate,
    got: Values,
    *,
    unwritten: Mask,
    chosen: Mask,
    dtype: DType,
    box: Box,
    output: str = "out",
) -> Comparison:
    """Compare the chosen elements of a box; `unwritten` marks those that still hold poison."""
    with np.errstate(all="ignore"):
        error, bound = deviations(expected, got, dtype)
        error = np.where(unwritten, np.inf, error)
        ratio = np.where(chosen & (error != 0.0), error / bound, 0.0)
    worst = np.unravel_index(int(ratio.argmax()), ratio.shape)
    return Comparison(
        elements=int(np.count_nonzero(chosen)),
        wrong=int(np.count_nonzero(ratio > 1.0)),
        ratio=float(ratio[worst]),
        error=float(error[worst]),
        bound=float(bound[worst]),
        at=tuple(int(i) + s.start for i, s in zip(worst, box, strict=True)),
        got=float(got[worst]),
        expected=float(round_to(expected.value[worst], dtype)),
        unwritten=int(np.count_nonzero(chosen & unwritten)),
        output=output,
    )


def deviations(expected: Estimate, got: Values, dtype: DType) -> tuple[Values, Values]:
    """Return error and bound per element; an error is infinite where the kinds of number differ.

    - NaN must be NaN, and an infinite reference the same infinity.
    - A finite reference may become infinity only if the bound reaches a number that rounds to it,
      and must if it lies beyond.
    - An element whose computation needs no rounding must equal the reference rounded once.
    - An element without a bound has an infinite error in `expected`.
    - A bool is undecided if zero lies within the error.
    """
    if dtype is DType.BOOL:
        reference = round_to(expected.value, dtype)
        is_open = (expected.error > 0.0) & (np.abs(expected.value) <= expected.error)
        return np.abs(got - reference), np.where(is_open, 1.0, 0.0)
    if expected.value.dtype == np.int64:
        assert dtype.limits is not None
        reference = np.clip(expected.value, *dtype.limits)
        gap = np.maximum(np.abs(got.astype(np.float64) - reference), 1.0)
        return np.where(got == reference, 0.0, gap), np.zeros(gap.shape)
    rounded = round_to(expected.value, dtype)
    exact = expected.error == 0.0
    reference = np.where(exact, rounded, saturate(expected.value, dtype))
    bound = np.where(exact, 0.0, tolerance.final(expected, dtype))
    error = np.abs(got - reference)

    same = (got == reference) | (np.isnan(got) & np.isnan(reference))
    # Least and largest magnitude that the accumulator may hold, as the output shows them.
    least = np.maximum(np.abs(expected.value) - expected.error, 0.0)
    low = np.isinf(round_to(least, dtype))
    high = np.isinf(round_to(np.abs(expected.value) + expected.error, dtype))
    overflow = np.isinf(got) & high & (np.sign(got) == np.sign(expected.value))
    fits = np.isfinite(got) & np.isfinite(reference) & ~low
    error = np.where(same | overflow | np.isinf(expected.error), 0.0, np.where(fits, error, np.inf))
    return error, np.where(np.isfinite(bound), bound, 0.0)


def merge(first: Comparison | None, second: Comparison) -> Comparison:
    """Return the worse of two comparisons, with the counts of both."""
    if first is None:
        return second
    worse = first if first.ratio >= second.ratio else second
    return Comparison(
        elements=first.elements + second.elements,
        wrong=first.wrong + second.wrong,
        ratio=worse.ratio,
        error=worse.error,
        bound=worse.bound,
        at=worse.at,
        got=worse.got,
        expected=worse.expected,
        unwritten=first.unwritten + second.unwritten,
        output=worse.output,
    )
