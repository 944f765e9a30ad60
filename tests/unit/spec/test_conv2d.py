"""Convolution specs: sizes, storage, keys, forms, and one line for each bad input."""

from __future__ import annotations

from typing import Any

import pytest

from kgen.errors import SpecError
from kgen.spec import Conv2d, DType, Layout, from_json
from kgen.spec.text import form, parse

RESNET: dict[str, Any] = {"input": (1, 64, 56, 56), "weights": (64, 64, 3, 3), "padding": 1}


def shapes(spec: Conv2d) -> dict[str, tuple[int, ...]]:
    return {p.name: p.shape for p in spec.parameters}


def test_sizes_of_the_product_and_of_the_tensors() -> None:
    spec = Conv2d(**RESNET, epilogue="relu(x + bias) * up", epilogue_shapes={"up": "mxn"})
    assert (spec.product.m, spec.product.n, spec.product.k) == (56 * 56, 64, 9 * 64)
    assert spec.product.layout is Layout.NT
    assert spec.flops == 2 * 56 * 56 * 64 * 9 * 64
    assert shapes(spec) == {
        "a": (1, 56, 56, 64),
        "b": (64, 3, 3, 64),
        "bias": (64,),
        "up": (1, 56, 56, 64),
        "out": (1, 56, 56, 64),
    }


@pytest.mark.parametrize(
    ("layout", "weight_layout", "stored", "weights", "product"),
    [
        ("nhwc", None, (2, 9, 8), (6, 3, 4), "nt"),
        ("nhwc", "hwio", (2, 9, 8), (3, 4, 6), "nn"),
        ("nchw", None, (2, 8, 9), (6, 4, 3), None),
        ("nchw", "ohwi", (2, 8, 9), (6, 3, 4), "nt"),
    ],
)
def test_storage(
    layout: Any, weight_layout: Any, stored: Any, weights: Any, product: str | None
) -> None:
    spec = Conv2d(
        input=(2, 8, 9), weights=(6, 4, 3), groups=2, layout=layout, weight_layout=weight_layout
    )
    assert (shapes(spec)["a"], shapes(spec)["b"]) == (stored, weights)
    assert spec.product_layout == product
    assert spec.product.batch == 2


@pytest.mark.parametrize(
    ("padding", "size", "stride", "expected"),
    [
        ("same", 7, 2, (1, 1)),
        ("same", 8, 2, (0, 1)),
        ("same_lower", 8, 2, (1, 0)),
        ("valid", 8, 2, (0, 0)),
        (2, 8, 1, (2, 2)),
        ((0, 2), 8, 3, (0, 2)),
    ],
)
def test_paddings(padding: Any, size: int, stride: int, expected: tuple[int, int]) -> None:
    spec = Conv2d(input=(1, 3, size), weights=(5, 3, 3), stride=stride, padding=padding)
    assert spec.padding == expected
    if padding in ("same", "same_lower"):
        assert spec.out_sizes == (-(-size // stride),)


@pytest.mark.parametrize(
    "spec",
    [
        Conv2d(**RESNET),
        Conv2d(**RESNET, epilogue=("bias", "relu"), weight_layout="hwio", constant=("b",)),
        Conv2d(
            input=(2, 8, 9, 7),
            weights=(12, 2, 3, 2),
            dtype="f32",
            layout="nchw",
            stride=(2, 1),
            padding=(1, 0, 0, 1),
            dilation=(1, 3),
            groups=4,
            epilogue="x * scale",
        ),
        Conv2d(
            input=(1, 8, 9),
            weights=(6, 4, 3),
            groups=2,
            dtype="f32",
            b_dtype="s8",
            constant=("b",),
        ),
        Conv2d(input=(1, 8, 9), weights=(6, 8, 3), dtype="s8", padding=1, padding_value="padding"),
    ],
    ids=lambda spec: spec.key,
)
def test_forms(spec: Conv2d) -> None:
    assert from_json(spec.to_json()) == spec
    assert parse(form(spec)) == spec
    assert spec.key.isidentifier()


def test_text_and_defaults() -> None:
    spec = parse("conv2d 1x64x56x56,64x64x3x3 f32 stride=2 padding=same +bias")
    assert spec == Conv2d(
        input=(1, 64, 56, 56),
        weights=(64, 64, 3, 3),
        dtype=DType.F32,
        stride=(2, 2),
        padding=(0, 0, 1, 1),
        epilogue=("bias",),
    )
    assert spec.key == "conv2d_1x64x56x56_64x64x3x3_f32_nhwc_s2_p0x0x1x1_bias"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"groups": 3}, "groups=3 does not divide 64 input channels; take a divisor of 64"),
        ({"weights": (66, 16, 3, 3), "groups": 4}, "groups=4 does not divide 66 output channels"),
        ({"weights": (64, 32, 3, 3)}, "; give 64"),
        ({"weights": (64, 64, 59, 3)}, "reaches over 59 of 58 elements along spatial axis 0"),
        ({"weights": (64, 64, 3)}, "weights=64x64x3 has 3 axes"),
        ({"input": (1, 64)}, "input=1x64 has 2 axes"),
        ({"input": (1, 64, 2, 2, 2, 2)}, "1 to 3 spatial sizes"),
        ({"input": 5}, "input=5 is not a shape"),
        ({"stride": 0}, "stride=0 is out of range"),
        ({"dilation": (1, 0)}, "dilation[1]=0 is out of range"),
        ({"stride": (1, 2, 3)}, "stride=1x2x3 has 3 numbers for 2 spatial axes"),
        ({"padding": (1, 2, 3)}, "give 1, 2, or 4"),
        ({"padding": 3}, "outputs there see no input; take at most 2"),
        ({"padding": "sane"}, "padding=sane is not supported; give same, same_lower, valid"),
        ({"dtype": "u8"}, "dtype=u8 is not supported by conv2d"),
        ({"padding_value": 3}, "padding_value=3 is not supported for dtype=f16"),
        ({"dtype": "s8", "padding_value": 128}, "padding_value=128 is out of range"),
        ({"padding_value": "padding"}, "padding_value=padding is not supported for dtype=f16"),
        (
            {
                "dtype": "s8",
                "padding_value": "padding",
                "epilogue": "x + padding",
                "padding": 1,
                "out_dtype": "f32",
            }
            | {"epilogue_shapes": {"padding": "1"}},
            "has an operand padding",
        ),
        ({"weight_layout": "oihw", "constant": ("b",)}, "take layout=nhwc,weight_layout=ohwi"),
        ({"b_dtype": "s8"}, "b_dtype=s8 requires dtype=f32, not f16; "),
        ({"b_dtype": "s4"}, "b_dtype=s4 is not supported by conv2d; take bf16, f16, s8"),
        ({"epilogue": "x * v", "epilogue_shapes": {"v": "mx1"}}, "give v=n"),
        ({"input": (1, 64, 1024, 1025)}, "output positions are more than 1048576"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_bad_input_in_one_line(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as error:
        Conv2d(**(RESNET | fields))
    assert words in str(error.value) and "\n" not in str(error.value)
