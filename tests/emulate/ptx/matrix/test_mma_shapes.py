"""mma.sync on 4-bit integers, 8-bit floats and f64, element by element as in the ISA's figures.

PTX ISA 9.7.14.5.1 to .14: the row and column of a_i, b_i and c_i of each lane, here as functions of
the lane's group (lane / 4), its place in the group (lane % 4) and i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kgen.emulate import Numerics
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_kernels import Array, kernel, launch
from tests.emulate.ptx.ptxas import assemble

Position = Callable[[int, int, int], tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Shape of an mma; `counts` are the elements of A and B per lane, `bits` the size of an
    element."""

    shape: str
    types: tuple[str, ...]
    accumulators: tuple[str, ...]
    a: Position
    b: Position
    counts: tuple[int, int]
    m: int = 16


def c_position(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


NIBBLES, FLOATS = ("s4", "u4"), ("e4m3", "e5m2")
CASES = [
    Case(
        shape="m8n8k32",
        types=NIBBLES,
        accumulators=("s32",),
        a=lambda g, t, i: (g, t * 8 + i),
        b=lambda g, t, i: (t * 8 + i, g),
        counts=(8, 8),
        m=8,
    ),
    Case(
        shape="m16n8k32",
        types=NIBBLES,
        accumulators=("s32",),
        a=lambda g, t, i: (g if i < 8 else g + 8, t * 8 + (i & 7)),
        b=lambda g, t, i: (t * 8 + i, g),
        counts=(16, 8),
    ),
    Case(
        shape="m16n8k64",
        types=NIBBLES,
        accumulators=("s32",),
        a=lambda g, t, i: (
            g if i < 8 or 16 <= i < 24 else g + 8,
            t * 8 + (i & 7) + (0 if i < 16 else 32),
        ),
        b=lambda g, t, i: (t * 8 + (i & 7) + (0 if i < 8 else 32), g),
        counts=(32, 16),
    ),
    Case(
        shape="m16n8k16",
        types=FLOATS,
        accumulators=("f32", "f16"),
        a=lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
        b=lambda g, t, i: (t * 4 + i, g),
        counts=(8, 4),
    ),
    Case(
        shape="m16n8k32",
        types=FLOATS,
        accumulators=("f32", "f16"),
        a=lambda g, t, i: (
            g if i < 4 or 8 <= i < 12 else g + 8,
            t * 4 + (i & 3) + (0 if i < 8 else 16),
        ),
        b=lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
        counts=(16, 8),
    ),
    Case(
        shape="m8n8k4",
        types=("f64",),
        accumulators=("f64",),
        a=lambda g, t, i: (g, t),
        b=lambda g, t, i: (t, g),
        counts=(1, 1),
        m=8,
    ),
    Case(
        shape="m16n8k4",
        types=("f64",),
        accumulators=("f64",),
        a=lambda g, t, i: (g + 8 * i, t),
        b=lambda g, t, i: (t, g),
        counts=(2, 1),
    ),
    Case(
        shape="m16n8k8",
        types=("f64",),
        accumulators=("f64",),
        a=lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
        b=lambda g, t, i: (t + 4 * i, g),
        counts=(4, 2),
    ),
    Case(
        shape="m16n8k16",
        types=("f64",),
        accumulators=("f64",),
        a=lambda g, t, i: (g, i * 2 + t) if i % 2 == 0 else (g + 8, i * 2 - 2 + t),
        b=lambda g, t, i: (i * 4 + t, g),
        counts=(8, 4),
    ),
]
FLOAT8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
STORAGE = {"f64": "f8", "f32": "f4", "f16": "f2", "s32": "i4"}


def encode(values: Array, type_: str) -> Array:
    """Return [32, n] values as [32, bytes]: elements in order from the lowest bits."""
    if type_ in NIBBLES:
        codes = values.astype(np.uint8) & 15
        return codes[:, ::2] | codes[:, 1::2] << 4
    dtype = FLOAT8.get(type_) or STORAGE[type_]
    return np.ascontiguousarray(values.astype(dtype)).view(np.uint8)


def fragment(matrix: Array, position: Position, count: int, type_: str) -> Array:
    """Return [32, registers] words of 32 bits."""
    at = np.array([[position(lane // 4, lane % 4, i) for i in range(count)] for lane in range(32)])
    return np.ascontiguousarray(encode(matrix[at[..., 0], at[..., 1]], type_)).view(np.uint32)


def multiply(name: str, case: Case, a: Array, b: Array, c: Array, **options: Any) -> Array:
    """Return D of one mma, run by one warp."""
    d_type, a_type, b_type, _ = name.split(".")[-4:]
    words = [
        fragment(a, case.a, case.counts[0], a_type),
        fragment(b, case.b, case.counts[1], b_type),
        fragment(c, c_position, case.m // 4, d_type),
    ]
    out = np.zeros_like(words[2])
    source = program(name, [w.shape[1] for w in words], d_type)
    assemble(source, "sm_90a")
    launch(source, *words, out, **options)
    lanes = out.view(STORAGE[d_type]).reshape(32, -1)
    found = np.zeros(c.shape)
    for lane in range(32):
        for i in range(case.m // 4):
            found[c_position(lane // 4, lane % 4, i)] = lanes[lane, i]
    return found


def program(name: str, words: list[int], accumulator: str) -> str:
    """Return a program in which each lane loads its registers, multiplies, and stores its
    results."""
    wide = accumulator == "f64"
    kind, size, width = ("%g", 8, "b64") if wide else ("%r", 4, "b32")
    counts = [w // 2 for w in words] if wide else words
    results = {"f32": "%f", "f64": "%g"}.get(accumulator, "%r")
    body, lists, first = "  mov.u32 %r63, %tid.x;\n", [], 0
    for pointer, count, register in zip("abc", counts, (kind, kind, results), strict=True):
        start = 0 if register == "%f" else first
        names = [f"{register}{start + i}" for i in range(count)]
        body += f"  mad.wide.u32 %d0, %r63, {size * count}, %{pointer};\n"
        body += "".join(
            f"  ld.global.{width} {n}, [%d0+{size * i}];\n" for i, n in enumerate(names)
        )
        lists.append("{" + ", ".join(names) + "}")
        first += count
    body += f"  {name} {lists[2]}, {', '.join(lists)};\n"
    body += f"  mad.wide.u32 %d0, %r63, {size * counts[2]}, %out;\n"
    for i, n in enumerate(lists[2].strip("{}").split(", ")):
        body += f"  st.global.{width} [%d0+{size * i}], {n};\n"
    source = kernel(body, params=("a", "b", "c", "out")).replace(".version 8.0", ".version 8.7")
    return source.replace("%g<8>", "%g<32>")


def names(case: Case) -> list[str]:
    return [
        f"mma.sync.aligned.{case.shape}.row.col.{c}.{a}.{b}.{c}"
        for c in case.accumulators
        for a in case.types
        for b in case.types
    ]


@pytest.mark.parametrize(("name", "case"), [(n, case) for case in CASES for n in names(case)])
def test_mma(name: str, case: Case) -> None:
    rng = np.random.default_rng(1)
    k = int(case.shape.split("k")[1])
    a_type, b_type = name.split(".")[-3:-1]
    a = rng.integers(0 if a_type == "u4" else -8, 8, (case.m, k))
    b = rng.integers(0 if b_type == "u4" else -8, 8, (k, 8))
    c = rng.integers(-100, 100, (case.m, 8))
    assert (multiply(name, case, a, b, c) == a @ b + c).all()


def test_saturation() -> None:
    case, name = CASES[0], "mma.sync.aligned.m8n8k32.row.col.satfinite.s32.s4.s4.s32"
    a, b = np.full((8, 32), 7), np.full((32, 8), 7)
    c = np.full((8, 8), (1 << 31) - 100)
    assert (multiply(name, case, a, b, c) == (1 << 31) - 1).all()
    assert (multiply(name, case, -a, b, -c) == -(1 << 31)).all()
    wrapped = name.replace(".satfinite", "")
    assert (multiply(wrapped, case, a, b, c) == -(1 << 31) + 32 * 49 - 100).all()


# ---------------------------------------------------------------- measured numerics

FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"


def test_the_short_accumulator_of_fp8_loses_what_13_bits_cannot_hold() -> None:
    case = CASES[4]
    a, b, c = np.zeros((16, 32)), np.zeros((32, 8)), np.full((16, 8), 4096.0)
    a[:, 0], b[0, :] = 0.25, 1
    assert (multiply(FP8, case, a, b, c) == 4096.25).all()
    short = Numerics(fp8_accumulator_bits=13)
    assert (multiply(FP8, case, a, b, c, numerics=short) == 4096).all()
    a[:, 0] = 0.5
    assert (multiply(FP8, case, a, b, c, numerics=short) == 4096.5).all()
    # Sixteen products that are each too small vanish, though their sum is not too small.
    a[:, :16], b[:16, :] = 0.25, 1
    assert (multiply(FP8, case, a, b, c, numerics=short) == 4096).all()


def test_the_truncating_adder_is_exact_arithmetic_cut_off() -> None:
    case, rng = CASES[4], np.random.default_rng(2)
    a, b = (
        rng.standard_normal(s).astype(FLOAT8["e4m3"]).astype(float) for s in ((16, 32), (32, 8))
    )
    c = (rng.standard_normal((16, 8)) * 100).astype(np.float32).astype(float)
    got = multiply(FP8, case, a, b, c, numerics=Numerics(truncating_adder=True))
    for row, column in ((0, 0), (7, 3), (15, 7)):
        terms = [Fraction(x) * Fraction(y) for x, y in zip(a[row], b[:, column], strict=True)]
        terms.append(Fraction(c[row, column]))
        largest = max(abs(t) for t in terms)
        step = Fraction(2) ** (np.frexp(float(largest))[1] - 1 - 25)
        total = sum(int(t / step) for t in terms) * step
        fine = Fraction(2) ** (np.frexp(float(total))[1] - 24)
        assert Fraction(got[row, column]) == int(total / fine) * fine
    exact = multiply(FP8, case, a, b, c)
    assert (got != exact).any()
    np.testing.assert_allclose(got, exact, rtol=1e-5)


def test_numerics_that_nothing_has_are_refused() -> None:
    with pytest.raises(EmulationError, match="fp8_accumulator_bits"):
        Numerics(fp8_accumulator_bits=40)
    with pytest.raises(EmulationError, match="subnormals"):
        launch(kernel(""), numerics=Numerics(flush_subnormals=True))
