"""PTX floating-point arithmetic and conversions against float64 and exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.emulate.ptx.ptx_kernels import Array, evaluate

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3.4e38, -1.0, 0.5, 2.5, 65504, 65520]


def numbers(seed: int, count: int = 128) -> Array:
    rng = np.random.default_rng(seed)
    found = (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 6, count)).astype(np.float32)
    found[: len(SPECIAL)] = rng.permutation(np.array(SPECIAL, np.float32))
    return rng.permutation(found)


def same(got: Array, wanted: Array) -> bool:
    """Whether arrays are equal, with equal signs of zeros, and NaN in the same places."""
    nan = np.isnan(wanted)
    bits = f"u{got.dtype.itemsize}"
    return bool((np.isnan(got) == nan).all() and (got.view(bits) == wanted.view(bits))[~nan].all())


@pytest.fixture(autouse=True)
def _quiet() -> object:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_basic(type_: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[type_]
    a, b = numbers(1).astype(dtype), numbers(2).astype(dtype)
    for name, wanted in (("add", a + b), ("sub", a - b), ("mul", a * b), ("div.rn", a / b)):
        got = evaluate(f"{name}.{type_} %y, %x0, %x1;", [type_] * 2, type_, a, b)
        assert same(got, wanted), name


def test_fused_multiply_add_rounds_once() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 256)).astype(np.float32)
    c = (-a.astype(np.float64) * b * (1 + rng.choice([0, 1e-7, 1e-9], 256))).astype(np.float32)
    got = evaluate("fma.rn.f32 %y, %x0, %x1, %x2;", ["f32"] * 3, "f32", a, b, c)
    for i, value in enumerate(got.tolist()):
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        spacing = Fraction(float(np.spacing(np.float32(value) if value else np.float32(1e-45))))
        assert abs(Fraction(value) - exact) * 2 <= abs(spacing) * (1 + Fraction(1, 2**20))


def test_results_that_are_not_numbers_have_the_hardware_bits() -> None:
    a = np.array([np.inf, -np.nan, 0, 1] * 32, np.float32)
    b = np.array([-np.inf, 1, 0, 1] * 32, np.float32)
    got = evaluate("add.f32 %y, %x0, %x1;", ["f32", "f32"], "b32", a, b)
    assert got[:2].tolist() == [0x7FFFFFFF] * 2
    half = a.astype(np.float16)
    got = evaluate("add.f16 %y, %x0, %x1;", ["f16", "f16"], "b16", half, -half)
    assert got[:2].tolist() == [0x7FFF] * 2


def test_minimum_and_maximum() -> None:
    a, b = numbers(4), numbers(5)
    for name, wanted in (
        ("min", np.fmin(a, b)),
        ("max", np.fmax(a, b)),
        ("min.NaN", np.minimum(a, b)),
        ("max.NaN", np.maximum(a, b)),
    ):
        got = evaluate(f"{name}.f32 %y, %x0, %x1;", ["f32"] * 2, "f32", a, b)
        assert (np.isnan(got) == np.isnan(wanted)).all()
        assert (got == wanted)[~np.isnan(wanted)].all()
    zeros = np.array([0.0, -0.0] * 64, np.float32)
    got = evaluate("max.f32 %y, %x0, %x1;", ["f32"] * 2, "f32", zeros, -zeros)
    assert not np.signbit(got).any()
    got = evaluate("min.f32 %y, %x0, %x1;", ["f32"] * 2, "f32", zeros, -zeros)
    assert np.signbit(got).all()


def test_signs_are_bits() -> None:
    a, b = numbers(6), numbers(7)
    assert same(evaluate("abs.f32 %y, %x0;", ["f32"], "f32", a), np.abs(a))
    assert same(evaluate("neg.f32 %y, %x0;", ["f32"], "f32", a), -a)
    got = evaluate("copysign.f32 %y, %x0, %x1;", ["f32"] * 2, "f32", a, b)
    assert same(got, np.copysign(b, a))
    pairs = np.arange(128, dtype=np.uint32) * 0x1_0001
    got = evaluate("neg.f16x2 %y, %x0;", ["f16x2"], "b32", pairs)
    assert (got == pairs ^ 0x80008000).all()


def test_saturation_and_flushing() -> None:
    a = numbers(8)
    zero = np.zeros_like(a)
    got = evaluate("add.sat.f32 %y, %x0, %x1;", ["f32"] * 2, "f32", a, zero)
    assert (got == np.where(np.isnan(a), 0, np.clip(a, 0, 1))).all()
    got = evaluate("mul.ftz.f32 %y, %x0, 0f3F800000;", ["f32"], "f32", a)
    tiny = np.abs(a) < np.finfo(np.float32).tiny
    assert same(got, np.where(tiny, np.copysign(0, a), a).astype(np.float32))


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_directed_rounding(mode: str) -> None:
    a, b = numbers(9), numbers(10)
    got = evaluate(f"mul.{mode}.f32 %y, %x0, %x1;", ["f32"] * 2, "f32", a, b)
    exact = a.astype(np.float64) * b
    usual = np.isfinite(exact) & np.isfinite(got)
    difference = (got.astype(np.float64) - exact)[usual]
    towards = {"rz": difference * np.sign(exact[usual]), "rm": difference, "rp": -difference}[mode]
    assert (towards <= 0).all()
    assert (np.abs(difference) < np.abs(np.spacing(got[usual]))).all()


#: x0, x1 and x2, so far apart that f64 has no sum of them: 1 + 2^-60, 1 - 2^-60, -1 - 2^-60.
FAR = [(1.0, 1.0, 2.0**-60), (1.0, 1.0, -(2.0**-60)), (-1.0, 1.0, -(2.0**-60))]


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["add", "sub", "fma"])
def test_directed_rounding_of_sums_that_no_double_has(name: str, mode: str) -> None:
    x0, x1, x2 = (np.array(column, np.float32) for column in zip(*FAR, strict=True))
    inputs = [x0, x1, x2] if name == "fma" else [x0, -x2 if name == "sub" else x2]
    operands = ", ".join(f"%x{i}" for i in range(len(inputs)))
    got = evaluate(f"{name}.{mode}.f32 %y, {operands};", ["f32"] * len(inputs), "f32", *inputs)
    one = np.float32(1)
    above, below = np.nextafter(one, np.float32(2)), np.nextafter(one, np.float32(0))
    wanted = {"rz": [one, below, -one], "rm": [one, below, -above], "rp": [above, one, -one]}
    assert same(got, np.array(wanted[mode], np.float32))


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_the_sign_of_a_sum_of_0(mode: str) -> None:
    x0 = np.array([0, 0, -0.0, 3, -3], np.float32)
    x1 = np.array([0, -0.0, -0.0, -3, 3], np.float32)
    got = evaluate(f"add.{mode}.f32 %y, %x0, %x1;", ["f32"] * 2, "f32", x0, x1)
    zero = -0.0 if mode == "rm" else 0.0
    assert same(got, np.array([0, zero, -0.0, zero, zero], np.float32))


@pytest.mark.parametrize("type_", ["s64", "u64"])
@pytest.mark.parametrize("to", ["f32", "f64"])
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_64_bit_integers_are_rounded_once(type_: str, to: str, mode: str) -> None:
    bits, dtype = {"f32": (24, np.float32), "f64": (53, np.float64)}[to]
    wholes = [2**63 - 1, 2**62 + 1, 2**62 + 2 ** (62 - bits) + 1, 2**40 + 1]
    wholes += [-whole for whole in wholes] if type_ == "s64" else [2**64 - 1, 2**63 + 1]
    x = np.array(wholes, {"s64": np.int64, "u64": np.uint64}[type_])
    got = evaluate(f"cvt.{mode}.{to}.{type_} %y, %x0;", [type_], to, x)
    for whole, found in zip(wholes, got, strict=True):
        unit = 1 << max(abs(whole).bit_length() - bits, 0)
        down, rest = divmod(whole, unit)
        up = (
            rest > 0
            and {
                "rn": 2 * rest > unit or (2 * rest == unit and down % 2 == 1),
                "rz": whole < 0,
                "rm": False,
                "rp": True,
            }[mode]
        )
        assert int(found) == (down + up) * unit and found.dtype == dtype


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "rcp.approx": np.reciprocal,
    "sqrt.approx": np.sqrt,
    "rsqrt.approx": lambda a: 1 / np.sqrt(a),
    "ex2.approx": np.exp2,
    "lg2.approx": np.log2,
    "tanh.approx": np.tanh,
    "sin.approx": np.sin,
    "cos.approx": np.cos,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    a = numbers(11)
    got = evaluate(f"{name}.f32 %y, %x0;", ["f32"], "f32", a)
    wanted = FUNCTIONS[name](a.astype(np.float64))
    assert (np.isnan(got) == np.isnan(wanted)).all()
    finite = ~np.isnan(wanted)
    np.testing.assert_allclose(got[finite], wanted.astype(np.float32)[finite], rtol=2e-7)


# ---------------------------------------------------------------------- 16 bits


def bf16(value: Array) -> Array:
    """Return the nearest bfloat16, ties to even, by exact comparison with the neighbours."""
    single = value.astype(np.float32)
    down = (single.view(np.uint32) >> 16).astype(np.uint32)
    candidates = [(c << 16).view(np.float32).astype(np.float64) for c in (down, down + 1)]
    # Overflow is decided as if the exponent had no end.
    below, above = (np.abs(np.where(np.isinf(c), 2.0**128, c) - value) for c in candidates)
    up = (above < below) | ((above == below) & (down & 1 == 1))
    rounded: Array = (down + up).astype(np.uint16)
    return rounded


@pytest.mark.parametrize("type_", ["f16", "f16x2"])
def test_half_arithmetic(type_: str) -> None:
    rng = np.random.default_rng(12)
    a, b, c = rng.standard_normal((3, 256)).astype(np.float16)
    c[:100] = (-a.astype(np.float64) * b).astype(np.float16)[:100]
    dtype = np.uint32 if type_ == "f16x2" else np.float16
    x, y, z = (v.view(dtype) for v in (a, b, c))
    for name, wanted in (("add", a + b), ("sub", a - b), ("mul", a * b)):
        got = evaluate(f"{name}.{type_} %y, %x0, %x1;", [type_] * 2, type_, x, y)
        assert same(got.view(np.float16), wanted), name
    got = evaluate(f"fma.rn.{type_} %y, %x0, %x1, %x2;", [type_] * 3, type_, x, y, z)
    exact = a.astype(np.float64) * b + c
    assert same(got.view(np.float16), exact.astype(np.float16))
    got = evaluate(f"fma.rn.relu.{type_} %y, %x0, %x1, %x2;", [type_] * 3, type_, x, y, z)
    assert (got.view(np.float16) == np.maximum(exact, 0).astype(np.float16)).all()
    got = evaluate(f"max.NaN.{type_} %y, %x0, %x1;", [type_] * 2, type_, x, y)
    assert same(got.view(np.float16), np.maximum(a, b))


def test_bfloat_arithmetic_rounds_once() -> None:
    rng = np.random.default_rng(13)
    bits = bf16(rng.standard_normal((3, 256)))
    a, b, c = ((v.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for v in bits)
    words = [np.ascontiguousarray(v).view(np.uint32) for v in bits]
    got = evaluate("fma.rn.bf16x2 %y, %x0, %x1, %x2;", ["bf16x2"] * 3, "bf16x2", *words)
    assert (got.view(np.uint16) == bf16(a * b + c)).all()
    got = evaluate("add.rn.bf16 %y, %x0, %x1;", ["bf16"] * 2, "bf16", bits[0], bits[1])
    assert (got == bf16(a + b)).all()


@pytest.mark.parametrize("far", [2.0**-40, 2.0**-60])
@pytest.mark.parametrize(("sign", "wanted"), [(1, 1.515625), (-1, 1.5078125)])
def test_a_bfloat_sum_that_is_nearly_a_tie(far: float, sign: int, wanted: float) -> None:
    """1.5 * (1 + 2^-7) is a tie of two bfloat16; rounding it first, even to f64, would lose c."""
    bits = [bf16(np.full(32, value)) for value in (1.5, 1 + 2.0**-7, sign * far)]
    got = evaluate("fma.rn.bf16 %y, %x0, %x1, %x2;", ["bf16"] * 3, "bf16", *bits)
    assert (got == bf16(np.full(32, wanted))).all()


# ---------------------------------------------------------------------- conversions


def test_between_floats() -> None:
    a = numbers(14, 1024)
    got = evaluate("cvt.rn.f16.f32 %y, %x0;", ["f32"], "f16", a)
    assert same(got, a.astype(np.float16))
    half = np.arange(1 << 16, dtype=np.uint16)[:: 1 << 3].view(np.float16).copy()
    got = evaluate("cvt.f32.f16 %y, %x0;", ["f16"], "f32", half)
    assert same(got, half.astype(np.float32))
    usual = np.where(np.isfinite(a), a, 1).astype(np.float32)
    got = evaluate("cvt.rn.bf16.f32 %y, %x0;", ["f32"], "bf16", usual)
    assert (got == bf16(usual.astype(np.float64))).all()
    wide = evaluate("cvt.f32.bf16 %y, %x0;", ["bf16"], "f32", got)
    assert (wide.view(np.uint32) == got.astype(np.uint32) << 16).all()
    double = a.astype(np.float64) * (1 + 1e-9)
    got = evaluate("cvt.rn.f32.f64 %y, %x0;", ["f64"], "f32", double)
    assert same(got, double.astype(np.float32))


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_narrowing_with_a_direction(mode: str) -> None:
    a = np.where(np.isfinite(numbers(15)), numbers(15), 0.1).astype(np.float32)
    got = evaluate(f"cvt.{mode}.f16.f32 %y, %x0;", ["f32"], "f16", a).astype(np.float64)
    if mode == "rz":
        assert (np.abs(got) <= np.abs(a)).all()
    elif mode == "rm":
        assert (got <= a).all()
    else:
        assert (got >= a).all()


def test_pairs() -> None:
    a, b = numbers(16), numbers(17)
    got = evaluate("cvt.rn.f16x2.f32 %y, %x0, %x1;", ["f32"] * 2, "f16x2", a, b)
    halves = got.view(np.float16).reshape(-1, 2)
    assert same(halves[:, 0].copy(), b.astype(np.float16))
    assert same(halves[:, 1].copy(), a.astype(np.float16))
    got = evaluate("cvt.rn.relu.f16x2.f32 %y, %x0, %x1;", ["f32"] * 2, "f16x2", a, b)
    halves = got.view(np.float16).reshape(-1, 2)
    wanted = np.where(np.isnan(b), np.nan, np.maximum(b, 0)).astype(np.float16)
    assert (np.isnan(halves[:, 0]) == np.isnan(wanted)).all()
    assert (halves[:, 0] == wanted)[~np.isnan(wanted)].all()


def test_tf32_has_ten_bits_of_mantissa_and_ties_go_away_from_zero() -> None:
    a = np.array([1.0, 1 + 2**-11, 1 + 2**-11 - 2**-20, -1 - 2**-11] * 32, np.float32)
    got = evaluate("cvt.rna.tf32.f32 %y, %x0;", ["f32"], "f32", a)
    assert got[:4].tolist() == [1.0, 1 + 2**-10, 1.0, -1 - 2**-10]


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("target", ["s32", "u32", "s64", "s8", "u16"])
def test_to_integers(target: str, mode: str) -> None:
    a = numbers(18)
    whole = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[mode](a)
    dtype = {"s32": "i4", "u32": "u4", "s64": "i8", "s8": "i1", "u16": "u2"}[target]
    limits = np.iinfo(dtype)
    # PTX ISA, "cvt": from f32 to 64 bits NaN gives the highest bit alone.
    nan = limits.min if target == "s64" else 0
    wanted = [
        nan if np.isnan(v) else int(min(max(v, limits.min), limits.max)) for v in whole.tolist()
    ]
    wider = {"s8": "s16"}.get(target, target)
    got = evaluate(f"cvt.{mode}.{target}.f32 %y, %x0;", ["f32"], wider, a)
    assert got.tolist() == wanted


def test_rounding_to_whole_floats() -> None:
    a = numbers(19)
    got = evaluate("cvt.rni.f32.f32 %y, %x0;", ["f32"], "f32", a)
    assert same(got, np.rint(a))


@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64", "s8"])
def test_from_integers(source: str) -> None:
    rng = np.random.default_rng(20)
    dtype = {"s32": "i4", "u32": "u4", "s64": "i8", "u64": "u8", "s8": "i1"}[source]
    a = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 128, dtype, endpoint=True)
    got = evaluate(f"cvt.rn.f32.{source} %y, %x0;", [source], "f32", a)
    assert same(got, a.astype(np.float32))
    if source == "s32":
        got = evaluate("cvt.rz.f32.s32 %y, %x0;", [source], "f32", a)
        assert (np.abs(got.astype(np.float64)) <= np.abs(a.astype(np.float64))).all()


def test_between_integers() -> None:
    rng = np.random.default_rng(21)
    a = rng.integers(-(2**31), 2**31, 128, np.int64).astype(np.int32)
    assert (evaluate("cvt.s64.s32 %y, %x0;", ["s32"], "s64", a) == a).all()
    assert (evaluate("cvt.u64.u32 %y, %x0;", ["s32"], "u64", a) == a.view(np.uint32)).all()
    assert (evaluate("cvt.s32.s8 %y, %x0;", ["s32"], "s32", a) == a.astype(np.int8)).all()
    assert (evaluate("cvt.u32.u8 %y, %x0;", ["s32"], "u32", a) == a.astype(np.uint8)).all()
    got = evaluate("cvt.sat.s8.s32 %y, %x0;", ["s32"], "s16", a)
    assert (got == np.clip(a, -128, 127)).all()
    got = evaluate("cvt.sat.u16.s32 %y, %x0;", ["s32"], "u16", a)
    assert (got == np.clip(a, 0, 65535)).all()


def test_classes() -> None:
    a = numbers(22)
    for name, wanted in (
        ("finite", np.isfinite(a)),
        ("infinite", np.isinf(a)),
        ("notanumber", np.isnan(a)),
        ("subnormal", (a != 0) & (np.abs(a) < np.finfo(np.float32).tiny)),
    ):
        code = f"testp.{name}.f32 %p0, %x0;\n  selp.b32 %y, 1, 0, %p0;"
        assert (evaluate(code, ["f32"], "u32", a) == wanted).all(), name
