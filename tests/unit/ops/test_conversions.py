"""Conversions within an expression, against the types' own encodings."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.check.oracle.elementwise import Arrays
from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.reference.numbers import decode, encode
from tests import needs

CAST = {
    name: DType(name) for name in ("f64", "f32", "f16", "bf16", "s64", "s32", "s8", "u8", "bool")
}


def ties(dtype: DType) -> list[float]:
    """Return every 37th number of a 16-bit type, the tie between it and the next one, and the
    f32 neighbours of the tie; and numbers around the largest one and at the limits of f32."""
    found: list[float] = []
    for bits in (*range(0, 1 << 15, 37), *range(1, 64)):
        here, following = (decode(b, dtype) for b in (bits, bits + 1))
        if math.isfinite(here) and math.isfinite(following):
            middle = np.float32((here + following) / 2.0)
            found += [here, *(float(np.nextafter(middle, np.float32(to))) for to in (0, np.inf))]
            found.append(float(middle))
    found += [65504.0, 65519.0, 65520.0, 65536.0, 3.4e38, 1e-45, 0.0, math.inf, math.nan]
    found += [0.5, 1.5, 126.5, 127.5, 254.5, 255.5, 128.0, 300.0]
    return [*found, *(-x for x in found)]


#: Around the ends of s32 and s64, and numbers that f32 lacks.
ENDS = [sign * (2.0**n + off) for sign in (1, -1) for n in (31, 63) for off in (-1.5, -0.5, 0, 1)]
ENDS += [1.0 + 2.0**-11 + 2.0**-40, 1.0 + 2.0**-24 + 2.0**-50, 1e-40, 1e300, -1e-300]


@pytest.mark.parametrize("name", CAST)
def test_definitions(name: str) -> None:
    """A conversion equals storing a tensor in the type and loading it again: integers become the
    nearest float, and 16 bits pass through f32."""
    dtype, values = CAST[name], ties(DType.F16) + ties(DType.BF16) + ENDS
    one = DEFINITIONS[f"cast_{name}"]
    way = (DType.F32, dtype) if dtype.itemsize == 2 else (dtype,)
    expected = values
    for step in way:
        expected = [decode(encode(x, step), step) for x in expected]
    bits = [struct.pack("<d", float(x)) for x in expected if x == x]
    for m, found in (
        (Scalars(), [one(Scalars(), x) for x in values]),
        (Arrays(), one(Arrays(), np.array(values)).tolist()),
    ):
        numbers = [float(y) for x, y in zip(expected, found, strict=True) if x == x]
        assert [struct.pack("<d", y) for y in numbers] == bits, m
        assert all(y != y for x, y in zip(expected, found, strict=True) if x != x)


@pytest.mark.integration
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4+bf16"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_kernels_round_every_tie_to_even(name: str, target: str, tmp_path: Path) -> None:
    dtype = CAST[name]
    values = np.array(ties(dtype), np.float32)
    spec = kgen.Elementwise(expression=f"cast(x, {name})", shapes=(values.shape,), dtype="f32")
    bundle = kgen.build(spec, [needs.cpu(target)]).save(tmp_path / "x.kgen")
    with kgen_runtime.load(bundle, device="cpu") as kernels:
        found = getattr(kernels, f"cast_{name}")(values)
    expected = [decode(encode(float(x), dtype), dtype) for x in values]
    np.testing.assert_array_equal(found, np.array(expected, np.float32))
    numbers = ~np.isnan(found)
    assert (np.signbit(found) == np.signbit(np.array(expected)))[numbers].all()
