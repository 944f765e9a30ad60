"""Convolutions of f32 images with narrower weights on CPUs, against the reference."""

from __future__ import annotations

from typing import Any

import pytest

import kgen
from kgen import pipeline, targets
from kgen.check.verify.run import verify
from kgen.spec import Conv2d
from kgen.spec.choices import WIDENED, BType
from tests import needs

V3 = "x86-64-v3"
SCALED = "x * scale + bias"
CASES: dict[str, dict[str, Any]] = {
    "3x3": {"input": (1, 7, 5, 6), "weights": (19, 7, 3, 3), "padding": 1},
    "strided": {"input": (2, 5, 7, 8), "weights": (17, 5, 3, 3), "stride": 2, "padding": 1},
    "pixels apart": {"input": (2, 7, 5, 6), "weights": (8, 7, 1, 1), "stride": 2},
    "pixels": {"input": (2, 36, 3, 4), "weights": (20, 36, 1, 1)},
    "grouped": {"input": (1, 15, 6, 5), "weights": (12, 5, 3, 3), "groups": 3, "padding": 1},
    "channels": {"input": (1, 9, 6, 5), "weights": (9, 1, 3, 3), "groups": 9, "padding": 1},
}


def conv(name: str, b_dtype: BType, **fields: Any) -> Conv2d:
    epilogue: dict[str, Any] = {"epilogue": SCALED} if b_dtype is BType.S8 else {}
    return Conv2d(dtype="f32", b_dtype=b_dtype, **CASES[name], **epilogue, **fields)


@pytest.mark.parametrize("b_dtype", WIDENED)
@pytest.mark.parametrize("name", CASES)
def test_narrow_weights(name: str, b_dtype: BType) -> None:
    """Weights in both orders, and prepacked."""
    specs = [
        conv(name, b_dtype, weight_layout="hwio"),
        conv(name, b_dtype, weight_layout="hwio", constant=("b",)),
        conv(name, b_dtype, weight_layout="ohwi", out_dtype="f16"),
    ]
    report = verify(kgen.build(specs, [V3]))
    assert report.passed, report.to_json()


@pytest.mark.parametrize("b_dtype", WIDENED)
def test_wide_vectors(b_dtype: BType) -> None:
    specs = [conv(case, b_dtype, constant=("b",)) for case in ("strided", "pixels")]
    report = verify(kgen.build(specs, [needs.cpu("x86-64-v4").name]))
    assert report.passed, report.to_json()


@pytest.mark.parametrize("target", ["x86-64-v4+vnni", "x86-64-amx", "x86-64-v3+vnni"])
def test_byte_products_read_rows_of_a_matrix(target: str) -> None:
    """The main loop of limbs does not support windows."""
    found = targets.find(target)
    windows, pixels = (conv(name, BType.S8, constant=("b",)) for name in ("strided", "pixels"))
    assert pipeline.plan(windows, found).schedule.mainloop in ("blis", "ahead")
    assert pipeline.plan(pixels, found).schedule.mainloop == "limbs"
