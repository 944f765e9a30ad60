"""Convolutions: the scalar reference against ONNX's, and the float64 oracle against the
reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.check.oracle import operations as oracle
from kgen.check.oracle import window_products
from kgen.check.tensors import strided_bits
from kgen.check.verify import inputs
from kgen.spec import Conv2d, DType
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.reference.elements import elements
from kgen_runtime.reference.window_sums import coordinates
from tests.unit.check.verify.oracle_agreement import agree

EntryFor = Callable[..., KernelEntry]


@st.composite
def convs(draw: st.DrawFn) -> Conv2d:
    rank = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    depth, each = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
    dilation = [draw(st.integers(1, 3)) for _ in range(rank)]
    reaches = [(n - 1) * d + 1 for n, d in zip(kernel, dilation, strict=True)]
    padding = [draw(st.integers(0, reach - 1)) for reach in reaches * 2]
    sizes = [
        draw(st.integers(max(1, reach - padding[i] - padding[rank + i]), reach + 3))
        for i, reach in enumerate(reaches)
    ]
    epilogue = draw(st.sampled_from(["x", "relu(x + bias)", "x * scale + residual"]))
    layout, weights = draw(
        st.sampled_from([("nhwc", "ohwi"), ("nhwc", "hwio"), ("nchw", "oihw"), ("nhwc", "oihw")])
    )
    return Conv2d(
        input=(draw(st.integers(1, 2)), groups * depth, *sizes),
        weights=(groups * each, depth, *kernel),
        stride=tuple(draw(st.integers(1, 3)) for _ in range(rank)),
        dilation=tuple(dilation),
        padding=tuple(padding),
        groups=groups,
        dtype=draw(st.sampled_from([DType.F32, DType.F64, DType.F16])),
        layout=layout,  # type: ignore[arg-type]
        weight_layout=weights,  # type: ignore[arg-type]
        epilogue=epilogue,
        constant=draw(st.sampled_from([(), ("b",)])) if weights != "oihw" else (),
    )


def by_onnx(spec: Conv2d, x: Any, w: Any) -> Any:
    import onnx
    from onnx.reference import ReferenceEvaluator

    node = onnx.helper.make_node(
        "Conv",
        ["x", "w"],
        ["y"],
        strides=spec.strides,
        dilations=spec.dilations,
        pads=spec.padding,
        group=spec.groups,
    )
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "conv",
        [info("x", 1, x.shape), info("w", 1, w.shape)],
        [info("y", 1, None)],
    )
    return ReferenceEvaluator(onnx.helper.make_model(graph)).run(None, {"x": x, "w": w})[0]


@given(convs())
@settings(deadline=None, max_examples=60)
def test_reference_is_onnx_s(spec: Conv2d) -> None:
    generator = np.random.default_rng(0)
    plain = Conv2d(
        **{
            name: getattr(spec, name)
            for name in ("input", "weights", "stride", "padding", "dilation", "groups", "layout")
        },
        weight_layout=spec.weight_layout,
        dtype="f32",
    )
    x = generator.integers(-4, 5, plain.input).astype(np.float32)
    w = generator.integers(-4, 5, plain.weights).astype(np.float32)
    expected = by_onnx(plain, x, w)
    assert expected.shape == (plain.images, plain.outputs, *plain.out_sizes)
    last = plain.layout == "nhwc"
    stored = {
        "a": np.moveaxis(x, 1, -1) if last else x,
        "b": {
            "oihw": w,
            "ohwi": np.moveaxis(w, 1, -1),
            "hwio": np.moveaxis(w, (0, 1), (-1, -2)),
        }[str(plain.weight_layout)],
    }
    element = elements(plain.to_json(), {name: a.tobytes() for name, a in stored.items()})
    out = np.moveaxis(expected, 1, -1) if last else expected
    for place in np.ndindex(*out.shape):
        assert element(coordinates(plain.to_json(), place)) == out[place]


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_padding_is_zeros_times_the_weights_as_in_onnx(value: float) -> None:
    spec = Conv2d(input=(1, 1, 3, 4), weights=(1, 1, 3, 3), padding=1, dtype="f32")
    x, w = np.ones((1, 1, 3, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    w[0, 0, 0, 2] = value
    with np.errstate(invalid="ignore"):
        expected = by_onnx(spec, x, w)
    assert np.isnan(expected[0, 0, 0, 0])
    element = elements(spec.to_json(), {"a": x.tobytes(), "b": w.tobytes()})
    for place in np.ndindex(1, 3, 4, 1):
        found = element(coordinates(spec.to_json(), place))
        assert np.array_equal(found, np.moveaxis(expected, 1, -1)[place], equal_nan=True), place


@pytest.mark.parametrize("value", [np.inf, np.nan, 1.0])
def test_kernels_may_leave_out_products_with_padding(value: float, entry_for: EntryFor) -> None:
    """Only outputs that multiply padding by a NaN or infinite weight have no bound."""
    spec = Conv2d(input=(2, 1, 3, 4), weights=(2, 1, 3, 3), padding=1, dtype="f32")
    entry = entry_for(spec)
    buffers = next(iter(inputs.data_sets(entry, 0))).buffers
    (b,) = (p for p in entry.inputs if p.name == "b")
    weights = strided_bits(buffers["b"], b).view(np.float32).reshape(2, 3, 3)
    weights[1, 0, 2] = value  # above the window's center, and right of it
    box = tuple(slice(0, n) for n in oracle.output_shape(entry))
    error = oracle.estimate(entry, buffers, box).error.reshape(2, 3, 4, 2)
    is_padding = np.zeros((2, 3, 4, 2), bool)
    is_padding[:, 0, :, 1] = is_padding[:, :, 3, 1] = not np.isfinite(value)
    assert np.array_equal(np.isinf(error), is_padding)


@given(spec=convs())
@settings(deadline=None, max_examples=60)
def test_oracle_is_the_reference(spec: Conv2d, entry_for: EntryFor) -> None:
    agree(entry_for(spec))


@given(spec=convs())
@settings(deadline=None, max_examples=20)
def test_places_of_the_output(spec: Conv2d, entry_for: EntryFor) -> None:
    """Coordinates of tiles and offsets in the stored output convert into each other."""
    entry = entry_for(spec)
    numbers = np.arange(math.prod(entry.output.shape)).reshape(entry.output.shape)
    grouped = window_products.by_group(entry.spec, numbers)
    for place in np.ndindex(*entry.output.shape):
        at = coordinates(entry.spec, place)
        assert grouped[at] == numbers[place]
        assert oracle.own_coordinates(entry, at) == place


def test_special_values_reach_few_windows(entry_for: EntryFor) -> None:
    spec = Conv2d(input=(1, 4, 20, 20), weights=(8, 4, 3, 3), padding=1, dtype="f32")
    entry = entry_for(spec)
    (data,) = [d for d in inputs.data_sets(entry, seed=1) if d.name == "special-value"]
    box = tuple(slice(0, n) for n in oracle.output_shape(entry))
    value = oracle.estimate(entry, data.buffers, box).value
    assert np.isnan(value).any() and np.isinf(value).any()
    assert np.isfinite(value).mean() > 0.3


@pytest.mark.parametrize("field", ["groups", "padding", "stride", "weight_layout"])
def test_manifest_that_contradicts_its_spec(field: str, entry_for: EntryFor) -> None:
    from dataclasses import replace

    from kgen_runtime.errors import BundleError
    from kgen_runtime.schema.spec_tensors import check_spec

    entry = entry_for(Conv2d(input=(1, 4, 6, 6), weights=(8, 4, 3, 3), padding=1))
    check_spec(entry)
    wrong = {"groups": 0, "padding": [0, 0, 0, 1], "stride": [2, 1], "weight_layout": "oihw"}
    with pytest.raises(BundleError, match="build the bundle again"):
        check_spec(replace(entry, spec={**entry.spec, field: wrong[field]}))


def test_padding_value_is_the_last_input_of_a_spec(entry_for: EntryFor) -> None:
    from kgen_runtime.schema.spec_tensors import check_spec

    spec = Conv2d(
        input=(1, 4, 6, 6), weights=(8, 4, 3, 3), padding=1, dtype="s8", padding_value="padding"
    )
    entry = entry_for(spec)
    assert entry.inputs[-1].name == "padding"
    check_spec(entry)
