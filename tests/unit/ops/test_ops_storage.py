"""Expressions that are computed on stored 16-bit and 8-bit elements: which, and in what form."""

from __future__ import annotations

import numpy as np
import pytest

from kgen import pipeline, targets
from kgen.check.oracle.elementwise import Arrays
from kgen.check.tensors import decode, round_to
from kgen.ops import functions, is_exact, parse
from kgen.ops.storage import bits_of, infinity_bits, sign_bit
from kgen.spec import DType, Elementwise
from kgen_runtime.expressions.evaluators import Evaluator
from kgen_runtime.expressions.formulas import formulas_in
from tests.specs import relu_of

FLOATS = (DType.F32, DType.F16, DType.BF16)
#: Of the functions with arguments that are numbers, those that round nothing.
EXACT = {
    *(
        "neg",
        "abs",
        "sign",
        "min",
        "max",
        "clip",
        "floor",
        "ceil",
        "round",
        "trunc",
        "relu",
        "cast_f64",
        "cast_f32",
        "cast_s8",
        "cast_u8",
        "cast_bool",
        "cast",
    ),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "isnan", "isinf"),
}


def numbers(dtype: DType) -> np.ndarray:
    """Return every number of 16 bits."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return decode(np.arange(1 << 16, dtype=np.uint16).view(dtype.storage), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_that_round_nothing(dtype: DType) -> None:
    found = {
        name
        for name, function in functions().items()
        if not function.truths
        and not function.rowwise
        and name != "pow"  # its exponent is a constant
        and is_exact(parse(f"{name}({', '.join('xyz'[: function.fewest])})"), dtype)
    }
    # f16 lacks the ends of s64, as all of them lack those of s32.
    assert found == EXACT | (set() if dtype is DType.F16 else {"cast_s64"})


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@pytest.mark.parametrize("name", sorted(EXACT))
def test_what_is_exact_is_a_number_of_the_type(name: str, dtype: DType) -> None:
    """Definitions map every number of the type to a number of the type."""
    x = numbers(dtype)
    values = dict(zip("xyz", (x, x[::-1], np.roll(x, 77)), strict=True))
    call = f"{name}({', '.join('xyz'[: functions()[name].fewest])})"
    with np.errstate(all="ignore"):
        result = np.asarray(Evaluator(values, Arrays()).value(formulas_in(call)["out"]), np.float64)
    np.testing.assert_array_equal(round_to(result, dtype), result)


@pytest.mark.parametrize(
    ("expression", "types"),
    [
        ("x", FLOATS),
        ("clip(x, -1, 6)", FLOATS),
        ("where(isnan(x) | (x > y), -inf, relu(-x))", FLOATS),
        ("clip(x, 0, 0.1)", ()),
        ("clip(x, 0, 4097)", (DType.F32,)),
        ("clip(x, 0, 70000)", (DType.F32,)),
        ("max(x, 65536)", (DType.F32, DType.BF16)),
        ("max(x, 2049)", (DType.F32,)),
        ("max(x, 1e-7)", ()),
        ("x + y", ()),
        ("leaky_relu(x)", ()),
        ("x * 2", ()),
    ],
)
def test_expressions(expression: str, types: tuple[DType, ...]) -> None:
    assert tuple(d for d in FLOATS if is_exact(parse(expression), d)) == types


def test_the_types_of_inputs_and_output_are_one() -> None:
    spec = relu_of((4,), "f16")
    assert spec.is_exact
    assert not Elementwise(
        expression="relu(x)", shapes=((4,),), dtype="f16", out_dtype="f32"
    ).is_exact


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_bits_of_every_number(dtype: DType) -> None:
    for bits, number in enumerate(numbers(dtype)):
        found = bits_of(float(number), dtype)
        assert found is not None
        assert found == bits or np.isnan(number), (bits, number)
    assert sign_bit(dtype) == 0x8000 and numbers(dtype)[infinity_bits(dtype)] == np.inf


def test_numbers_between_two_have_no_bits() -> None:
    assert bits_of(1.0, DType.F32) == 0x3F800000 and bits_of(0.1, DType.F32) is None
    assert bits_of(1e39, DType.F32) is None
    assert bits_of(65520.0, DType.F16) is None and bits_of(257.0, DType.BF16) is None


FORMS = (
    # A pair at a time: one instruction.
    ("relu(x)", "f16", "sm_80", ["max.NaN.f16x2", "max.NaN.f16 %out_rest"], ["cvt.f32", "cvt.rn"]),
    ("relu(x)", "bf16", "sm_90a", ["max.NaN.bf16x2"], ["cvt.rn", "shl.b32"]),
    ("clip(-abs(x), -6, 2)", "bf16", "sm_80", ["and.b32", "xor.b32", "min.NaN.bf16x2"], ["cvt.rn"]),
    # Without max.NaN: a predicate for each element, which is not widened.
    ("relu(x)", "f16", "sm_75", ["setp.le.f16", "selp.b16"], ["cvt.f32", "cvt.rn"]),
    ("-x", "f16", "sm_75", ["xor.b32"], ["cvt.f32", "xor.b16 %out0_0"]),
    # bf16 is not compared as it is; what was a bf16 is cut from its f32, not rounded.
    ("relu(x)", "bf16", "sm_75", ["setp.le.f32", "prmt.b32"], ["add.u32 %rounded"]),
    ("x + y", "bf16", "sm_75", ["add.u32 %rounded"], ["prmt.b32"]),
    ("max(x, 0.1)", "f16", "sm_80", ["max.NaN.f32", "cvt.rn.f16x2.f32"], ["max.NaN.f16x2"]),
    ("relu(x)", "f16", "gfx942", ["fcmp ole <8 x half>"], ["fpext", "fptrunc"]),
    ("relu(x)", "bf16", "gfx1100", ["fcmp ole <8 x bfloat>"], ["fpext", "fptrunc"]),
    ("max(x, 0.5)", "f16", "gfx942", ["llvm.maximum.v8f16"], ["fpext", "fptrunc"]),
    ("max(x, 0.5)", "bf16", "gfx942", ["llvm.maximum.v8f32", "fpext"], ["llvm.maximum.v8bf16"]),
    ("relu(x)", "bf16", "vulkan1.3", ["OpFunctionCall %uint %relu_bf16"], ["%widen", "OpBitcast"]),
    ("relu(x)", "f32", "vulkan1.1", ["OpFunctionCall %uint %relu_f32"], ["OpBitcast %float"]),
    ("max(x, 0)", "f16", "vulkan1.3", ["%widen_f16", "FMax"], ["%relu"]),
    ("relu(x)", "f16", "x86-64-v4", ["icmp ule <32 x i16>"], ["half", "float"]),
    ("relu(x)", "bf16", "x86-64", ["icmp ule <8 x i16>"], ["float"]),
    ("relu(x)", "f32", "x86-64-v3", ["fcmp ole <8 x float>"], ["i16"]),
    ("max(x, 0)", "f16", "x86-64-v4", ["llvm.maximum.v16f32"], ["<32 x i16>"]),
)


@pytest.mark.parametrize(("expression", "dtype", "target", "present", "absent"), FORMS)
def test_the_form_that_each_family_takes(
    expression: str, dtype: str, target: str, present: list[str], absent: list[str]
) -> None:
    spec = Elementwise(expression=expression, shapes=((1003,),), dtype=DType(dtype))
    text = pipeline.source(pipeline.plan(spec, targets.find(target))).text
    assert [words for words in present if words not in text] == []
    assert [words for words in absent if words in text] == []


@pytest.mark.parametrize("target", ["sm_80", "sm_75", "gfx942", "vulkan1.3", "x86-64-v3"])
def test_what_rounds_nothing_has_no_error(target: str) -> None:
    """Only a Vulkan device may take a subnormal f32 for zero."""
    found = targets.find(target)
    family = targets.family(found.family)
    relu, clipped = relu_of((3,)), Elementwise(expression="clip(x, -1, 1)", shapes=((3,),))
    exact, flushed = (family.tolerance(s, found, family.choose(s, found)) for s in (relu, clipped))
    assert exact.factor == 0.0 and exact.subnormals is None
    assert flushed.subnormals == ("flushed" if found.family == "vulkan" else None)
