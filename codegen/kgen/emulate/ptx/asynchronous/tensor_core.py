"""Arithmetic of matrix instructions: D = A B + C on whole matrices.

By default products and sums are f32 (exact for integers, f64 for f64) in the order of the host's
matrix product, because NVIDIA does not document the order and the guard bits of tensor cores.
:class:`kgen.emulate.Numerics` offers models from published measurements.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.floats import round_towards
from kgen.emulate.numerics import F32_FRACTION, Numerics
from kgen.emulate.ptx.types import Array

#: Returns the product of A [..., m, k] and the transpose of B [..., n, k], plus C [..., m, n].
MultiplyAdd = Callable[[Array, Array, Array], Array]
#: Bytes of an operand's row whose products a matrix unit adds at once (FTTN: 16 f16 on H100).
_BYTES_AT_ONCE = 32
_BYTES = {"tf32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1}


def multiply_add(numerics: Numerics, element: str) -> MultiplyAdd | None:
    """Return the accumulation that `numerics` selects; None for a plain f32 sum."""
    kept = numerics.kept_bits(element)
    if kept is None:
        return None
    at_once = _BYTES_AT_ONCE // _BYTES[element]

    def accumulate(a: Array, b: Array, c: Array) -> Array:
        for first in range(0, a.shape[-1], at_once):
            last = first + at_once
            c = _aligned_sum(a[..., first:last], b[..., first:last], c, kept)
        return c

    return accumulate


def _aligned_sum(a: Array, b: Array, c: Array, kept: int) -> Array:
    """Add products of one step and C; addends are truncated to multiples of 2^(largest exponent -
    kept)."""
    exact = a[..., :, None, :].astype(np.float64) * b[..., None, :, :]
    addends = np.concatenate([exact, c[..., None].astype(np.float64)], axis=-1)
    _, exponent = np.frexp(addends)
    exponent = np.where((addends == 0) | ~np.isfinite(addends), -(1 << 14), exponent)
    step = np.ldexp(1.0, np.maximum(exponent.max(axis=-1) - 1 - kept, -1000))
    total = np.trunc(addends / step[..., None]).sum(axis=-1) * step
    return _truncate(round_towards(total, np.float32, "rz"), min(kept, F32_FRACTION))


def _truncate(value: Array, fraction: int) -> Array:
    """Clear the low bits of f32 values; keep `fraction` fraction bits."""
    low = np.uint32((1 << (F32_FRACTION - fraction)) - 1)
    bits = np.ascontiguousarray(value).view(np.uint32)
    return np.where(np.isfinite(value), (bits & ~low).view(np.float32), value)
