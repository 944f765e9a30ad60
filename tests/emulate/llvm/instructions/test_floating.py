"""Floating-point instructions against the same IR compiled for this machine, or numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.elementwise import COUNT, SPECIAL, compare, elementwise
from tests.emulate.llvm.llvm_kernels import on_cpu

FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)


@pytest.mark.parametrize(("type_", "dtype"), [("float", "float32"), ("double", "float64")])
def test_floating_operations(type_: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    inputs = []
    for seed in range(3):
        values = (rng.standard_normal(COUNT) * 3).astype(dtype)
        with np.errstate(over="ignore"):
            values[: len(SPECIAL)] = np.array(np.roll(SPECIAL, seed)).astype(dtype)
        inputs.append(values)
    binary = [f"  {{r}} = {op} {type_} %x0, %x1" for op in ("fadd", "fsub", "fmul", "fdiv")]
    compares = [
        f"  {{t}}c = fcmp {p} {type_} %x0, %x1\n"
        f"  {{r}} = select i1 {{t}}c, {type_} %x0, {type_} %x2"
        for p in FLOAT_PREDICATES
    ]
    one = [
        f"  {{r}} = call {type_} @llvm.{name}.{_suffix(type_)}({type_} %x0)"
        for name in ("fabs", "sqrt", "floor", "ceil", "trunc", "rint", "roundeven", "round")
    ]
    two = [
        f"  {{r}} = call {type_} @llvm.{name}.{_suffix(type_)}({type_} %x0, {type_} %x1)"
        for name in ("copysign", "minimum", "maximum")
    ]
    other = [f"  {{r}} = fneg {type_} %x0", f"  {{r}} = freeze {type_} %x1"]
    if type_ == "float":
        other.append("  {r} = call float @llvm.fma.f32(float %x0, float %x1, float %x2)")
    expressions = binary + compares + one + two + other
    source = elementwise(expressions, [type_] * 3, type_)
    compare(source, inputs, len(expressions), dtype)


def _suffix(type_: str) -> str:
    return {"float": "f32", "double": "f64"}[type_]


def test_half_against_numpy() -> None:
    """Not every machine converts to half, so numpy is the oracle."""
    rng = np.random.default_rng(10)
    with np.errstate(over="ignore"):
        a, b, c = (
            np.concatenate(
                [rng.standard_normal(COUNT - len(SPECIAL)) * 9, np.roll(SPECIAL, n)]
            ).astype(np.float16)
            for n in range(3)
        )
    expressions = [f"  {{r}} = {op} half %x0, %x1" for op in ("fadd", "fsub", "fmul", "fdiv")]
    expressions += [
        "  {r} = fneg half %x0",
        "  {r} = call half @llvm.fma.f16(half %x0, half %x1, half %x2)",
        "  {t} = fpext half %x0 to float\n  {t}s = fmul float {t}, 0.3333333432674408\n"
        "  {r} = fptrunc float {t}s to half",
        "  {t} = fcmp oge half %x0, %x1\n  {r} = select i1 {t}, half %x0, half 0xH3C00",
        "  {t} = fptosi half %x0 to i32\n  {t}m = and i32 {t}, 255\n"
        "  {r} = uitofp i32 {t}m to half",
    ]
    outs = [np.zeros(COUNT, np.float16) for _ in expressions]
    on_cpu(elementwise(expressions, ["half"] * 3, "half"), "f", [a, b, c, *outs])
    with np.errstate(all="ignore"):
        expected = [a + b, a - b, a * b, a / b, -a]
        exact = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
        expected.append(exact.astype(np.float16))
        expected.append((a.astype(np.float32) * np.float32(1 / 3)).astype(np.float16))
        expected.append(np.where(a >= b, a, np.float16(1)))
    for n, reference in enumerate(expected):
        np.testing.assert_array_equal(outs[n], reference, err_msg=expressions[n])
    small = np.abs(a) < 1000
    whole = np.trunc(a[small]).astype(np.int64) & 255
    np.testing.assert_array_equal(outs[-1][small], whole.astype(np.float16))


def test_bfloat_rounds_to_nearest_even() -> None:
    bits = np.arange(0, 1 << 32, (1 << 32) // 40, dtype=np.uint64)[:COUNT].astype(np.uint32)
    ties = np.array([0x3F808000, 0x3F818000, 0x3F807FFF, 0x7F7FFFFF, 0x7F800000, 0x7FC00001])
    values = np.resize(np.concatenate([bits, ties]), COUNT).astype(np.uint32).view(np.float32)
    out = np.zeros(COUNT, np.uint16)
    source = elementwise(
        ["  {t} = fptrunc float %x0 to bfloat\n  {r} = bitcast bfloat {t} to i16"],
        ["float"],
        "i16",
    )
    on_cpu(source, "f", [values, out])
    expected = values.view(np.uint32).astype(np.uint64)
    expected = ((expected + 0x7FFF + ((expected >> 16) & 1)) >> 16).astype(np.uint16)
    nan = np.isnan(values)
    np.testing.assert_array_equal(out[~nan], expected[~nan])
    assert ((out[nan] & 0x7FFF) > 0x7F80).all()
