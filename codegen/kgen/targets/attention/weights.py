"""Type of weights and values in the second product of attention."""

from __future__ import annotations

from kgen.spec import Attention, DType


def weight_dtype(spec: Attention) -> DType:
    """Return the type that weights are rounded to, and that values of e4m3 are widened to."""
    return DType.F16 if spec.dtype is DType.E4M3 else spec.dtype
