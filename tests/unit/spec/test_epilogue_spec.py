"""Epilogues as expressions: abbreviations, operands, and refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from kgen.errors import SpecError
from kgen.spec import DType, Matmul, from_json, text
from kgen.spec.epilogue import steps_of
from kgen.spec.keys import unique_keys
from kgen_runtime.manifest import TensorParam
from kgen_runtime.schema import spec_tensors
from kgen_runtime.schema.migrations import _matmul as renewed_matmul

SHAPE: dict[str, Any] = {"m": 3, "n": 4, "k": 5}


def operands(spec: Matmul) -> dict[str, tuple[tuple[int, ...], DType]]:
    return {p.name: (p.shape, p.dtype) for p in spec.parameters[2:-1]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("bias", "gelu"), "gelu(x + bias)"),
        ("bias, gelu", "gelu(x + bias)"),
        (("relu", "residual"), "relu(x) + residual"),
        ((), "x"),
        ("leaky_relu", "leaky_relu(x, 0.01)"),
    ],
)
def test_steps_are_short_for_an_expression(one: Any, other: str) -> None:
    spec = Matmul(**SHAPE, epilogue=one)
    assert spec == Matmul(**SHAPE, epilogue=other)
    assert spec.key == Matmul(**SHAPE, epilogue=other).key
    assert steps_of(spec.epilogue) is not None
    assert steps_of("mul(x, bias)") is steps_of("add(bias, x)") is None


def test_operands_have_their_extents_and_types() -> None:
    spec = Matmul(
        **SHAPE,
        batch=2,
        epilogue="gelu(x * scale + bias) * row_scale + where(gate > 0, up, residual) * t",
        epilogue_shapes={"gate": "mx1", "up": "mxn", "t": "1"},
    )
    half = DType.F16
    assert operands(spec) == {
        "scale": ((4,), half),
        "bias": ((4,), half),
        "row_scale": ((3, 1), half),
        "gate": ((3, 1), half),
        "up": ((2, 3, 4), half),
        "residual": ((2, 3, 4), half),
        "t": ((1,), half),
    }


def test_vectors_that_restore_the_range_of_bytes_are_f32() -> None:
    fields: dict[str, Any] = {
        **SHAPE,
        "dtype": "s8",
        "epilogue": "x * row_scale * col_scale + bias",
    }
    wide, half = ((3, 1), DType.F32), ((4,), DType.F16)
    spec = Matmul(**fields, out_dtype="f16")
    assert operands(spec) == {"row_scale": wide, "col_scale": ((4,), DType.F32), "bias": half}
    assert operands(Matmul(**fields, out_dtype="s8"))["bias"] == ((4,), DType.F32)


@pytest.mark.parametrize(
    "fields",
    [
        {"epilogue": "silu(x) * up", "epilogue_shapes": {"up": "mxn"}},
        {"epilogue": "x * row_scale - t", "epilogue_shapes": ("t=1",), "beta": 2.0, "batch": 2},
        {"epilogue": "x * x"},
        {"epilogue": ("bias", "gelu"), "epilogue_dtypes": {"bias": np.float32}},
        {"epilogue": "x * scale + bias", "epilogue_dtypes": ("bias=f16", "scale=bf16")},
        {"dtype": "e4m3", "epilogue": "x * row_scale + bias"},
    ],
)
def test_a_spec_comes_back_from_its_json_and_its_line(fields: dict[str, Any]) -> None:
    spec = Matmul(**SHAPE, **fields)
    assert from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert text.parse(text.form(spec)) == spec
    found: tuple[TensorParam, ...] | None = spec_tensors.tensors(spec.to_json())
    assert found == spec.parameters


def test_the_same_expression_of_other_shapes_has_another_key() -> None:
    keys = unique_keys(
        Matmul(**SHAPE, epilogue="x * t", epilogue_shapes={"t": extent})
        for extent in ("n", "mx1", "1", "mxn")
    )
    assert len({*keys.values()}) == 4 and all(key.isidentifier() for key in keys.values())


def test_a_type_that_goes_without_saying_is_not_kept() -> None:
    plain = Matmul(**SHAPE, dtype="bf16", epilogue=("bias",))
    said = Matmul(**SHAPE, dtype="bf16", epilogue=("bias",), epilogue_dtypes={"bias": "bf16"})
    assert said == plain and "dtype" not in plain.key
    other = Matmul(**SHAPE, dtype="bf16", epilogue=("bias",), epilogue_dtypes={"bias": "f32"})
    assert other.key == f"{plain.key}_biasf32"
    assert operands(other)["bias"] == ((4,), DType.F32)
    residual: dict[str, Any] = {
        "epilogue": "x + residual",
        "epilogue_dtypes": {"residual": "bf16"},
    }
    assert operands(Matmul(**SHAPE, dtype="bf16", **residual))["residual"][1] is DType.BF16


def test_bundles_of_before_had_steps() -> None:
    spec = Matmul(**SHAPE, epilogue=("bias", "leaky_relu", "residual"))
    old = {**spec.to_json(), "epilogue": ["bias", "leaky_relu", "residual"]}
    del old["epilogue_shapes"], old["epilogue_dtypes"]
    assert from_json(renewed_matmul(old)) == spec


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"epilogue": "x * 1e39"},
            "epilogue='x * 1e39': column 5: 1e+39 is out of the range of f32",
        ),
        ({"epilogue": "silu(x) * up"}, "column 11: up has no shape; give up=n (one number per"),
        ({"epilogue": "x * up", "epilogue_shapes": {"up": "k"}}, "up=k: k is not a shape of an"),
        ({"epilogue": "x * up", "epilogue_shapes": ("up=n", "up=n")}, "gives up twice"),
        (
            {"epilogue": "x", "epilogue_shapes": {"up": "n"}},
            "epilogue_shapes=up=n: 'x' has no operand up",
        ),
        ({"epilogue": "x", "epilogue_shapes": "up=n"}, "is not a mapping; give {'up': 'mxn'}"),
        ({"epilogue": "x + residual", "epilogue_shapes": {"residual": "n"}}, "column 5: residual"),
        (
            {"epilogue": "x + bias", "epilogue_dtypes": {"bias": "s32"}},
            "bias=s32: s32 is not a type of",
        ),
        (
            {"epilogue": "x + bias", "epilogue_dtypes": {"bia": "f32"}},
            "has no operand bia; its operands are bias; leave it out",
        ),
        (
            {"epilogue": "x + residual", "epilogue_dtypes": {"residual": "f32"}},
            "column 5: residual",
        ),
        ({"epilogue": "x + bias", "epilogue_dtypes": "bias=f32"}, "give {'bias': 'f32'}"),
        ({"dtype": "f64", "epilogue": "x + bias", "epilogue_dtypes": ("bias=f32",)}, "bias=f64"),
        ({"epilogue": "x + out"}, "column 5: out is not a valid operand name; use small letters"),
        ({"epilogue": "x + parts"}, "column 5: parts is not a valid operand name"),
        ({"epilogue": "x + Up"}, "column 5: Up is not a valid operand name"),
        ({"epilogue": "x + softmax(x)"}, "column 5: softmax reads whole rows, and an"),
        ({"epilogue": "x + transpose(y)"}, "column 5: transpose is a view; an epilogue reads its"),
        ({"epilogue": "x + gelo(bias)"}, "column 5: there is no function gelo; did you mean gelu"),
        ({"epilogue": "bias * 2"}, "epilogue='bias * 2' lacks x, the product; use it"),
        ({"epilogue": "x *"}, "column 4: not a formula"),
        ({"dtype": "s8", "epilogue": "x * row_scale"}, "out_dtype=s32 supports no alpha"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        Matmul(**SHAPE, **fields)
    assert message in str(error.value) and "\n" not in str(error.value)
