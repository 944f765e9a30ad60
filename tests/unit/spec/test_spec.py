"""Specs validate themselves, have unique keys, and convert to JSON and back."""

from __future__ import annotations

import dataclasses
import json
import re
from enum import StrEnum
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.errors import SpecError
from kgen.spec import (
    DType,
    Elementwise,
    Epilogue,
    Layout,
    Math,
    Matmul,
    Rowwise,
    Spec,
    choices,
    from_json,
    text,
)
from kgen.spec.keys import unique_keys
from kgen_runtime import dtypes
from tests import needs
from tests.specs import relu_of, softmax_of

SMALL = st.integers(1, 40)
FLOATS = [DType.F32, DType.F16, DType.BF16]


@st.composite
def matmuls(draw: st.DrawFn) -> Matmul:
    m, n, k = draw(SMALL), draw(SMALL), draw(SMALL)
    layout = draw(st.sampled_from(Layout))
    extra = st.integers(0, 5)
    a_cols = m if layout.a_transposed else k
    b_cols = k if layout.b_transposed else n
    return Matmul(
        m=m,
        n=n,
        k=k,
        dtype=draw(st.sampled_from(FLOATS)),
        out_dtype=draw(st.sampled_from([None, *FLOATS])),
        layout=layout,
        lda=a_cols + draw(extra),
        ldb=b_cols + draw(extra),
        ldc=n + draw(extra),
        batch=draw(st.integers(1, 4)),
        batch_stride_b=draw(st.sampled_from([None, 0])),
        alpha=draw(st.sampled_from([1.0, -0.5, 1e-5])),
        beta=draw(st.sampled_from([0.0, 2.0])),
        epilogue=tuple(draw(st.lists(st.sampled_from(Epilogue), unique=True, max_size=3))),
    )


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    dtype = draw(st.sampled_from(FLOATS))
    return draw(
        st.one_of(
            matmuls(),
            st.lists(SMALL, min_size=1, max_size=8).map(lambda shape: relu_of(tuple(shape), dtype)),
            st.builds(softmax_of, SMALL, SMALL, dtype=st.just(dtype), log=st.booleans()),
        )
    )


@pytest.mark.parametrize(
    ("names", "enum"),
    [
        (dtypes.DTypeName, DType),
        (choices.MathName, Math),
        (choices.LayoutName, Layout),
        (choices.ScaleName, choices.Scale),
        (choices.OperandName, choices.ConstantOperand),
    ],
)
def test_a_type_checker_knows_the_names_of_all_members(names: Any, enum: type[StrEnum]) -> None:
    assert get_args(names) == tuple(enum)


def test_a_type_checker_knows_every_step_of_an_epilogue() -> None:
    assert get_args(choices.EpilogueName) == choices.steps_known()


def test_a_type_checker_knows_the_names_of_array_libraries() -> None:
    assert get_args(dtypes.ArrayDTypeName) == tuple(dtype.array_name for dtype in DType)


@given(specs())
def test_json_round_trip(spec: Spec) -> None:
    assert from_json(spec.to_json()) == spec


@given(specs())
def test_text_round_trip(spec: Spec) -> None:
    assert text.parse(text.form(spec)) == spec


@pytest.mark.parametrize(
    "line",
    [
        "matmul 1024x1024x1024 f16",
        "matmul 2x3x4 s8 out=s8 layout=tn beta=0.5 +bias+relu scales=a,b,out constant=b",
        "matmul 2x3x4 f32 lda=9 batch=3 batch_stride_a=0 math=tf32",
        "matmul 2x3x4 f32 constant=b b_dtype=bf16",
        "log_softmax 7x9 bf16",
        "relu 2x3x4 f32",
    ],
)
def test_text_says_only_what_must_be_said(line: str) -> None:
    assert text.form(text.parse(line)) == line


@pytest.mark.parametrize("epilogue", ["+ bias + relu", "+bias +relu", "+bias+ relu"])
def test_blanks_around_a_plus_say_nothing(epilogue: str) -> None:
    line = "matmul 2x3x4 f32 alpha=1e+5"
    assert text.parse(f"{line} {epilogue}") == text.parse(f"{line} +bias+relu")


@given(specs(), specs())
def test_keys_are_unique_identifiers(one: Spec, other: Spec) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", one.key)
    assert len({*unique_keys([one, other]).values()}) == len({one, other})


MADE: tuple[tuple[type[Spec], dict[str, Any], tuple[dict[str, Any], ...]], ...] = (
    (Matmul, {"m": 4, "n": 6, "k": 8, "dtype": "f32", "batch": 2}, (
        {"m": 5}, {"n": 7}, {"k": 9}, {"dtype": "bf16", "out_dtype": "f32"}, {"out_dtype": "f16"},
        {"layout": "nt"}, {"lda": 9}, {"ldb": 9}, {"ldc": 9}, {"batch": 3}, {"batch_stride_a": 40},
        {"batch_stride_b": 0}, {"batch_stride_c": 50}, {"alpha": 0.5}, {"beta": 1.0},
        {"math": "tf32"}, {"epilogue": ("bias",)}, {"constant": ("b",)}, {"b_dtype": "s8"},
        {"b_dtype": "bf16"}, {"b_dtype": "s4", "layout": "nt"},
    )),
    (Matmul, {"m": 4, "n": 6, "k": 8, "dtype": "s8", "out_dtype": "f32"}, ({"scales": ("a",)},)),
    (Rowwise, {"expression": "softmax(x)", "shapes": ((3, 4),)}, (
        {"shapes": ((4, 4),)}, {"expression": "log_softmax(x)"}, {"out_dtype": "f32"},
        {"axes": (0, 1)},
    )),
    (Elementwise, {"expression": "relu(x)", "shapes": ((3, 4),)}, (
        {"shapes": ((34,),)}, {"dtype": "f32"}, {"out_dtype": "f32"}, {"expression": "abs(x)"},
    )),
)  # fmt: skip


@pytest.mark.parametrize(
    ("op", "fields", "change"),
    [(op, fields, change) for op, fields, changes in MADE for change in changes],
    ids=str,
)
def test_every_field_is_in_the_key(
    op: type[Spec], fields: dict[str, Any], change: dict[str, Any]
) -> None:
    assert op(**(fields | change)).key != op(**fields).key


@given(matmuls())
def test_strides_address_inside_the_tensor(spec: Matmul) -> None:
    """The last element's offset by the plan's strides is the last one of the parameter."""
    a, b = spec.parameter("a"), spec.parameter("b")
    last_batch = spec.batch - 1
    for param, strides, sizes in (
        (a, spec.a_strides, (spec.m, spec.k)),
        (b, spec.b_strides, (spec.k, spec.n)),
        (spec.parameter("out"), spec.out_strides, (spec.m, spec.n)),
    ):
        offset = last_batch * strides[0]
        offset += (sizes[0] - 1) * strides[1] + (sizes[1] - 1) * strides[2]
        assert offset == param.extent - 1


def test_argument_order_is_a_b_c_then_epilogue_then_out() -> None:
    spec = Matmul(m=2, n=3, k=4, beta=0.5, epilogue=(Epilogue.RESIDUAL, Epilogue.BIAS))
    assert [p.name for p in spec.parameters] == ["a", "b", "c", "residual", "bias", "out"]


def test_a_shared_matrix_has_no_batch_dimension() -> None:
    spec = Matmul(m=2, n=3, k=4, batch=5, batch_stride_b=0)
    assert spec.parameter("a").shape == (5, 2, 4)
    assert spec.parameter("b").shape == (4, 3)


def test_interleaved_batches_are_allowed() -> None:
    spec = Matmul(m=4, n=3, k=2, batch=2, ldc=6, batch_stride_c=3)
    assert spec.parameter("out").strides == (3, 6, 1)


GOOD: dict[str, Any] = {"m": 4, "n": 4, "k": 4}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 0}, "m=0 is out of range; give 1 to 1048576"),
        ({"n": -3}, "n=-3 is out of range"),
        ({"n": 2**20 + 1}, "n=1048577 is out of range"),
        ({"k": 2**20 + 1}, "k=1048577 is out of range"),
        ({"k": 2.5}, "k=2.5 is not an integer"),
        ({"dtype": "f17"}, "dtype=f17 is unknown; did you mean f16? known are f64, f32, f16, bf"),
        ({"dtype": np.complex64}, "dtype=<class 'numpy.complex64'> is unknown; known are f64, f32"),
        ({"dtype": np.dtype(">f4")}, "dtype=>f4 is unknown; did you mean f64?"),
        ({"dtype": np.uint32}, "is unknown; known are f64, f32"),
        ({"dtype": float}, "dtype=<class 'float'> is unknown"),
        ({"dtype": ["f32"]}, "dtype=['f32'] is unknown"),
        ({"m": np.int64(0)}, "m=0 is out of range; give 1 to 1048576"),
        ({"m": np.arange(2)}, "m=array([0, 1]) is not an integer"),
        ({"m": True}, "m=True is not an integer"),
        ({"ldc": 10**22}, "ldc=10000000000000000000000 is out of range; give 4 to 92233720"),
        ({"layout": "xy"}, "layout=xy is unknown; known are nn, nt, tn, tt"),
        ({"epilogue": ("swash",)}, "epilogue=swash is unknown"),
        ({"epilogue": ("bias", "bias")}, "epilogue has bias 2 times"),
        ({"out_dtype": "f64"}, "out_dtype=f64 is not supported with dtype=f16"),
        ({"b_dtype": "s8"}, "b_dtype=s8 requires dtype=f32, not f16; take that, or leave b_dtype"),
        (
            {"dtype": "f32", "b_dtype": "e4m3"},
            "b_dtype=e4m3 is unknown; known are bf16, f16, s8, s4",
        ),
        ({"dtype": "f32", "b_dtype": "s8", "math": "tf32"}, "math=tf32 needs a B of f32, not"),
        (
            {"dtype": "f32", "b_dtype": "s4"},
            "layout=nn is not supported with b_dtype=s4, whose blocks",
        ),
        ({"lda": 3}, "lda=3 is out of range; give 4 or more"),
        ({"batch_dims": 5}, "batch_dims=5 is not a sequence of sizes; give one such as (2, 3)"),
        ({"batch": 2, "batch_stride_c": 8}, "outputs of the batch overlap; give at least 16"),
        (
            {"batch": 2, "ldc": 8, "batch_stride_c": 3},
            "outputs of the batch overlap; give at least 28",
        ),
        (
            {"batch": 3, "ldc": 8, "batch_stride_c": 4},
            "outputs of the batch overlap; give at least 28",
        ),
        ({"alpha": float("nan")}, "alpha=nan is not finite"),
        (
            {"alpha": 1e300},
            "alpha=1e+300 is out of the range of f32, in which it is applied; give a magnitude",
        ),
        ({"beta": -1e-40}, "beta=-1e-40 is too small for f32, in which it is applied"),
        ({"beta": "x"}, "beta='x' is not a number"),
        ({"epilogue": 3}, "epilogue=3 is neither steps nor an expression; give ('bias',)"),
        ({"constant": ("a",)}, "constant=a is unknown; known are b"),
        ({"constant": ("b", "b")}, "constant=b,b names an operand twice; name it once"),
        ({"lda": 2**62}, "bytes; the limit is 9223372036854775807"),
    ],
)
def test_bad_matmul(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        Matmul(**(GOOD | change))


def test_bad_relu_and_softmax() -> None:
    with pytest.raises(SpecError, match="shape=5 is not a tuple of sizes"):
        relu_of(5)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="9 dimensions; give 1 to 8"):
        relu_of((1,) * 9)
    with pytest.raises(SpecError, match="bytes; the limit is"):
        relu_of((2**40, 2**40))
    with pytest.raises(SpecError, match="16777217 columns are more than 16777216"):
        softmax_of(1, 2**24 + 1)
    with pytest.raises(SpecError, match="dtype=e4m3 is not supported by row-wise operations"):
        softmax_of(1, 1, dtype=DType.E4M3)


def test_the_limit_of_a_shape_is_named() -> None:
    with pytest.raises(SpecError, match="000 is out of range; give 1 to 9223372036854775807"):
        relu_of((10**22,))


class TorchLike:
    """Object that looks like torch.float16 to code that does not import torch."""

    def __init__(self, name: str, itemsize: int) -> None:
        self.name_in_torch, self.itemsize, self.is_floating_point = name, itemsize, True

    def __repr__(self) -> str:
        return f"torch.{self.name_in_torch}"

    def __getattr__(self, name: str) -> object:
        raise AttributeError(name)


@pytest.mark.parametrize("dtype", DType)
def test_types_by_what_array_libraries_call_them(dtype: DType) -> None:
    assert DType(dtype.array_name) is dtype
    torch_like: Any = TorchLike(dtype.array_name, dtype.itemsize)
    assert DType(torch_like) is dtype
    in_numpy = hasattr(np, dtype.array_name)
    library = np if in_numpy else needs.module("ml_dtypes")
    scalar = getattr(library, dtype.array_name)
    assert DType(scalar) is DType(np.dtype(scalar)) is dtype


def test_a_spec_takes_numbers_and_types_of_numpy() -> None:
    """The spec holds Python's numbers: it is written as JSON, and its key is a name."""
    spec = Matmul(
        m=np.int64(64),  # type: ignore[arg-type]
        n=np.int32(8),  # type: ignore[arg-type]
        k=np.uint8(4),  # type: ignore[arg-type]
        dtype=np.float32,
        out_dtype=np.dtype("f2"),
        lda=np.int64(5),  # type: ignore[arg-type]
        alpha=np.float32(0.5),  # type: ignore[arg-type]
    )
    plain = Matmul(m=64, n=8, k=4, dtype="float32", out_dtype="f16", lda=5, alpha=0.5)
    assert spec == plain and spec.key == plain.key and json.dumps(spec.to_json())
    assert spec.dtype is DType.F32
    sizes: Any = np.array([2, 3])
    stream = Elementwise(expression="relu(x)", shapes=(sizes,), dtype=np.dtype("f4"))
    assert json.dumps(stream.to_json()["shapes"]) == "[[2, 3]]"
    rows: Any = np.int64(3)
    assert json.dumps(softmax_of(rows, 4).to_json())


def test_math_is_for_f32() -> None:
    spec = Matmul(m=2, n=3, k=4, dtype=DType.F32, math="tf32")
    assert spec.math is Math.TF32 and spec.key == "matmul_2x3x4_f32_nn_tf32"
    assert from_json(spec.to_json()) == spec
    with pytest.raises(SpecError, match="math=3xtf32 needs dtype=f32, not f16; leave math out"):
        Matmul(m=2, n=3, k=4, math=Math.TF32X3)
    with pytest.raises(SpecError, match="math=fast is unknown; known are exact, tf32, 3xtf32"):
        Matmul(m=2, n=3, k=4, dtype=DType.F32, math="fast")  # type: ignore[arg-type]


def test_fields_may_be_given_by_name_and_are_read_as_members() -> None:
    """Strict mypy accepts this test without a cast or ignore."""
    spec = Matmul(m=2, n=3, k=4, dtype="bf16", layout="nt", epilogue=["bias", Epilogue.RELU])
    dtype: DType = spec.dtype
    epilogue: str = spec.epilogue
    assert (dtype, epilogue) == (DType.BF16, "relu(add(x, bias))")
    assert spec == Matmul(
        m=2, n=3, k=4, dtype=DType.BF16, layout=Layout.NT, epilogue=("bias", "relu")
    )
    assert hash(spec) == hash(dataclasses.replace(spec, dtype="bf16"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.dtype = DType.F32  # type: ignore[misc]
    with pytest.raises(SpecError, match="epilogue=None is neither steps nor an expr"):
        Matmul(m=2, n=3, k=4, epilogue=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "formula"),
    [
        ("matmul 2x3x4 f16", "out = A @ B, accumulated in f32"),
        ("matmul 2x3x4 f32 alpha=0.5 beta=-2.0 +bias+gelu+residual",
         "out = gelu(0.5 * A @ B + -2 * C + bias) + residual, accumulated in f32"),
        ("matmul 2x3x4 s8 out=s8 scales=a,b,out +relu",
         "out = scale_out * relu(scale_a * scale_b * A @ B), accumulated in s32"),
        ("relu 2x3 f32", "out = relu(x)"),
    ],
)  # fmt: skip
def test_what_a_kernel_says_that_it_computes(line: str, formula: str) -> None:
    assert text.parse(line).formula == formula
