"""Check that the constants of an expression are in the range of its compute type."""

from __future__ import annotations

import math

from kgen.errors import Unfit
from kgen.ops import Expression, steps
from kgen.spec.spec import F32_MAX
from kgen_runtime.dtypes import DType

#: Magnitude from which a number rounds to infinity in f32.
BEYOND_F32 = 2.0**128 - 2.0**103


def check_numbers(compute: DType, *primitives: Expression) -> None:
    """Raise Unfit for a constant that is out of the range of the compute type; f64 accepts all."""
    if compute is DType.F64:
        return
    least, largest = compute.limits or (-F32_MAX, F32_MAX)
    for step in steps(*primitives):
        if compute.is_integer:
            fits, more = least <= step.number <= largest, ""
        else:
            fits, more = math.isinf(step.number) or not abs(step.number) >= BEYOND_F32, ", or inf"
        if not fits:
            raise Unfit(
                str(step),
                f"{step} is out of the range of {compute}, the type of this kernel; take a number "
                f"from {least} to {largest}{more}",
            )
