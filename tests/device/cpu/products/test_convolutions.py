"""Convolutions on this CPU against the reference, mostly at the edges of images."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import bundle, pipeline, targets
from kgen.check.verify.run import verify
from kgen.errors import KgenError
from kgen.schedule import CpuDepthwise
from kgen.spec import Conv2d
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.depthwise import MOST_INSTRUCTIONS, OF_OUTPUT, DepthwisePlan
from tests import needs
from tests.onnx_models import Maker

V3 = "x86-64-v3"


def check(spec: Conv2d, target: str = V3, **fields: int) -> None:
    found = targets.find(target)
    plan = pipeline.plan_with(spec, found, fields)
    report = verify(bundle.pack([pipeline.assembled(plan)]))
    assert report.passed, report.to_json()


def conv(input_: tuple[int, ...], weights: tuple[int, ...], **fields: Any) -> Conv2d:
    return Conv2d(**({"input": input_, "weights": weights, "dtype": "f32"} | fields))


EDGES = {
    "1x1 image": conv((2, 3, 1, 1), (7, 3, 3, 3), padding=1),
    "kernel larger than the image": conv((1, 7, 2, 3), (3, 7, 5, 5), padding=2),
    "stride above the kernel": conv((1, 3, 9, 8), (4, 3, 2, 2), stride=3),
    "dilation 3": conv((1, 7, 8, 9), (9, 7, 3, 3), dilation=3, padding=3),
    "dilation of rows": conv((1, 5, 8, 5), (9, 5, 2, 3), dilation=(3, 1), padding=(2, 1, 0, 2)),
    "one channel": conv((2, 1, 6, 7), (3, 1, 3, 3), padding=1, stride=(2, 1)),
    "64 channels": conv((1, 64, 3, 4), (17, 64, 3, 3), padding=1, epilogue=("bias", "relu")),
    "pixels apart": conv((2, 7, 5, 6), (8, 7, 1, 1), stride=2),
    "pixels": conv((2, 7, 3, 5), (8, 7, 1, 1), epilogue=("bias",)),
    "one axis": conv((2, 3, 31), (5, 3, 4), stride=3, padding="same"),
    "three axes": conv((1, 3, 3, 4, 5), (6, 3, 2, 3, 2), padding=1, stride=(1, 2, 1)),
    "two groups": conv(
        (2, 6, 4, 5), (10, 3, 3, 3), padding=1, groups=2, epilogue="x * scale + bias"
    ),
    "four groups": conv(
        (1, 28, 5, 4),
        (36, 7, 3, 2),
        groups=4,
        dilation=(1, 2),
        weight_layout="hwio",
        epilogue=("bias", "residual"),
    ),
    "a group for each channel": conv((2, 5, 4, 5), (10, 1, 3, 3), padding=1, groups=5, stride=2),
    "groups of one axis": conv((2, 9, 11), (6, 3, 4), groups=3, stride=3, padding=2, dtype="f64"),
    "residual": conv((1, 4, 5, 5), (9, 4, 3, 3), padding=1, epilogue=("residual", "relu")),
    "oihw": conv((2, 6, 4, 5), (10, 3, 3, 3), padding=1, groups=2, weight_layout="oihw"),
    "nchw": conv((2, 5, 6, 11), (9, 5, 3, 3), padding=1, layout="nchw", epilogue=("bias", "relu")),
    "nchw, 1x1 image": conv((2, 3, 1, 1), (7, 3, 3, 3), padding=1, layout="nchw"),
    "nchw, kernel larger than the image": conv(
        (1, 7, 2, 3), (3, 7, 5, 5), padding=2, layout="nchw", weight_layout="ohwi"
    ),
    "nchw, stride and dilation": conv(
        (1, 3, 9, 14), (4, 3, 2, 3), stride=3, dilation=(1, 2), padding=(0, 2), layout="nchw"
    ),
    "nchw, pixels": conv((2, 7, 3, 5), (8, 7, 1, 1), epilogue=("bias",), layout="nchw"),
    "nchw, pixels apart": conv((2, 7, 31), (8, 7, 1), stride=2, layout="nchw"),
    # Windows that are a matrix, but whose strides are not those of the product.
    "nchw, one channel": conv((3, 1, 7), (17, 1, 3), dilation=2, layout="nchw"),
    "nchw, one channel, hwio": conv(
        (2, 1, 9), (5, 1, 3), layout="nchw", weight_layout="hwio", epilogue=("bias",)
    ),
    "nchw, one axis of the kernel": conv((1, 1, 3, 9), (4, 1, 3, 1), layout="nchw"),
    "nchw, one window of a pixel": conv(
        (2, 8, 2, 3), (4, 4, 1, 1), stride=3, groups=2, layout="nchw"
    ),
    "nchw, groups": conv(
        (2, 6, 4, 5),
        (10, 3, 3, 3),
        padding=1,
        groups=2,
        epilogue="x * scale + residual",
        layout="nchw",
        weight_layout="hwio",
    ),
    "nchw, a group for each channel": conv(
        (2, 5, 4, 5), (10, 1, 3, 3), padding=1, groups=5, stride=2, layout="nchw"
    ),
    "nchw, three axes": conv(
        (1, 3, 3, 4, 5), (6, 3, 2, 3, 2), padding=1, stride=(1, 2, 1), layout="nchw"
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    check(EDGES[name])


BLOCKED = ("dilation 3", "64 channels", "dilation of rows", "four groups", "oihw", "nchw")


@pytest.mark.parametrize("name", BLOCKED)
def test_blocks_of_k_cut_segments(name: str) -> None:
    """Blocks of K begin and end inside segments, and blocks of rows inside images."""
    check(EDGES[name], kc=24, mc=6, mr=6, nr=8)


#: Kernels whose first or last rows are padding for some windows; two images share a tile.
PADDED = {
    "two places": conv((3, 8, 5, 6), (16, 8, 5, 3), padding=(2, 1), dilation=(2, 1), stride=(2, 1)),
    "in front": conv((1, 8, 9, 5), (9, 8, 3, 3), padding=(2, 1, 0, 1), epilogue="relu(x + bias)"),
    "behind": conv((2, 4, 6, 7), (8, 4, 4, 2), padding=(0, 1, 3, 0), stride=(3, 1)),
    "along one axis": conv((1, 8, 40), (8, 8, 9), padding=4),
}


@pytest.mark.parametrize(
    "blocks", [{}, {"kc": 8, "mc": 24, "mr": 3, "nr": 8}], ids=["one", "several"]
)
@pytest.mark.parametrize("name", PADDED)
def test_tiles_leave_out_padding(name: str, blocks: dict[str, int]) -> None:
    check(PADDED[name], V3, **blocks)


#: Windows that tiles read in place, and blocks: a row of the output, and a part of a segment.
IN_PLACE: dict[str, tuple[Conv2d, dict[str, int]]] = {
    "several images": (
        conv((2, 8, 5, 8), (16, 8, 3, 3), padding=1, constant=("b",), epilogue="relu(x + bias)"),
        {"mr": 2, "mc": 8, "kc": 8},
    ),
    "rows of the kernel": (
        conv((1, 8, 4, 6), (9, 8, 3, 3), padding=1), {"mr": 3, "mc": 6, "kc": 24},
    ),
    "stride": (
        conv((1, 8, 5, 11), (8, 8, 3, 5), stride=(2, 3), padding=(0, 4), constant=("b",)),
        {"mr": 5, "mc": 5, "kc": 40},
    ),
    "dilation": (
        conv((2, 8, 7, 6), (8, 8, 3, 3), padding=3, dilation=3), {"mr": 3, "mc": 6, "kc": 8},
    ),
    "more padding than a tile": (
        conv((1, 8, 3, 4), (8, 8, 2, 7), padding=(1, 5), constant=("b",)),
        {"mr": 2, "mc": 8, "kc": 8},
    ),
    "one axis, f64": (
        conv((2, 4, 12), (8, 4, 5), padding=2, dtype="f64"), {"mr": 4, "mc": 12, "kc": 4},
    ),
    "three axes": (
        conv((1, 8, 3, 2, 4), (8, 8, 3, 2, 3), padding=1), {"mr": 2, "mc": 4, "kc": 24},
    ),
    "no padding": (conv((1, 8, 5, 6), (8, 8, 2, 3), constant=("b",)), {"mr": 4, "mc": 4, "kc": 24}),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_tiles_read_windows_in_place(name: str) -> None:
    spec, fields = IN_PLACE[name]
    check(spec, V3, pack_a=0, nr=8, nc=8, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"mc": 12, "mr": 3},
            r"^mc=12: pack_a=0 requires mc=6 \(row of the output\); try pack_a=1$",
        ),
        (
            {"mc": 6, "mr": 6, "kc": 16},
            r"^kc=16: .* requires a divisor of 24 \(window\); try pack_a=1$",
        ),
        ({"mc": 6, "mr": 3, "kc": 72}, r"^kc=72: pack_a=0 requires a divisor of 24"),
    ],
)
def test_blocks_that_are_no_rows(fields: dict[str, int], message: str) -> None:
    spec, blocks = IN_PLACE["rows of the kernel"]
    fields = {**blocks, "pack_a": 0, "nr": 8, "nc": 8, **fields}
    with pytest.raises(KgenError, match=message):
        pipeline.plan_with(spec, targets.find(V3), fields)
    grouped = dataclasses.replace(spec, weights=(10, 4, 3, 3), groups=2)
    with pytest.raises(KgenError, match=r"^pack_a=0 requires images of f32 or f64 in one group"):
        pipeline.plan_with(grouped, targets.find(V3), {**blocks, "pack_a": 0, "nr": 8, "nc": 8})


def depthwise(input_: tuple[int, ...], *kernel: int, multiplier: int = 1, **fields: Any) -> Conv2d:
    channels = input_[1]
    given = {"groups": channels, "weight_layout": "hwio"} | fields
    return conv(input_, (multiplier * channels, 1, *kernel), **given)


DEPTHWISE = {
    "1x1 image": depthwise((2, 3, 1, 1), 3, 3, padding=1),
    "kernel larger than the image": depthwise((1, 7, 2, 3), 5, 5, padding=2),
    "stride above the kernel": depthwise((2, 9, 9, 8), 2, 2, stride=3),
    "dilation 3": depthwise((1, 17, 8, 9), 3, 3, dilation=3, padding=3),
    "dilation 3, stride 2": depthwise((1, 8, 4, 13), 3, 3, dilation=3, stride=2, padding=(3, 2)),
    "several tiles": depthwise((1, 12, 3, 53), 3, 3, padding=1, epilogue=("bias", "relu")),
    "several tiles, stride 2": depthwise((1, 9, 4, 71), 5, 5, stride=2, padding=2),
    "7x7": depthwise((1, 11, 8, 8), 7, 7, padding=3, epilogue="silu(x * scale + bias)"),
    "64 channels": depthwise((1, 64, 3, 4), 3, 3, padding="same", epilogue=("bias", "residual")),
    "no padding": depthwise(
        (1, 5, 4, 30), 3, 3, epilogue="x * alpha", epilogue_shapes={"alpha": "1"}
    ),
    "pixels": depthwise((2, 6, 3, 5), 1, 1, stride=(2, 1), epilogue=("bias",)),
    "one axis": depthwise((2, 10, 31), 4, stride=3, padding="same"),
    "three axes": depthwise((1, 3, 3, 4, 5), 2, 3, 2, padding=1, stride=(1, 2, 1)),
    "kernel wider than the registers": depthwise((1, 2, 1, 40), 1, 35, padding=(0, 17)),
    "two outputs for each channel": depthwise(
        (2, 9, 4, 5), 3, 3, padding=1, multiplier=2, epilogue=("bias", "residual")
    ),
    "16 outputs for each channel": depthwise((1, 3, 5, 4), 3, 2, stride=2, multiplier=16),
}


@pytest.mark.parametrize("name", DEPTHWISE)
def test_edges_of_depthwise_kernels(name: str) -> None:
    spec = DEPTHWISE[name]
    assert FAMILY.choose(spec, targets.find(V3)).mainloop == "depthwise"
    check(spec)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f64"])
@pytest.mark.parametrize("name", ["dilation 3", "64 channels", "two outputs for each channel"])
def test_dtypes_of_depthwise_kernels(name: str, dtype: str) -> None:
    check(dataclasses.replace(DEPTHWISE[name], dtype=dtype, out_dtype=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("tile", [1, 4])
def test_tiles_of_depthwise_kernels(tile: int) -> None:
    """Tiles at both ends of a row, whole ones in between, and a partial one."""
    check(DEPTHWISE["several tiles, stride 2"], tile=tile, task=3)


@pytest.mark.parametrize(
    ("name", "columns", "channels"),
    [
        # The last block has the channels that are no whole vector, and these alone.
        ("dilation 3", 0, 16),
        ("dilation 3", 8, 8),
        ("64 channels", 0, 24),
        ("two outputs for each channel", 4, 8),
        ("16 outputs for each channel", 0, 16),
        # Blocks of one tile, and of several with a tile that ends a row alone.
        ("several tiles", 4, 0),
        ("several tiles", 12, 8),
        ("several tiles, stride 2", 16, 0),
        ("no padding", 16, 0),
        ("one axis", 4, 8),
    ],
)
def test_blocks_of_depthwise_kernels(name: str, columns: int, channels: int) -> None:
    check(DEPTHWISE[name], columns=columns, channels=channels, task=3, tile=4)


@pytest.mark.parametrize(
    "name", ["dilation 3, stride 2", "three axes", "16 outputs for each channel"]
)
def test_depthwise_kernels_that_prefetch_far_ahead(name: str) -> None:
    """Most prefetched rows are past the last image."""
    check(DEPTHWISE[name], prefetch=9)


def test_wide_vectors_of_depthwise_kernels() -> None:
    needs.cpu("x86-64-v4")
    for name in (
        "dilation 3",
        "several tiles",
        "7x7",
        "64 channels",
        "16 outputs for each channel",
    ):
        check(DEPTHWISE[name], "x86-64-v4")


def test_infinite_weights_of_depthwise_kernels_over_padding_make_nan(tmp_path: Path) -> None:
    spec = depthwise((1, 4, 3, 3), 3, 3, padding=1)
    found = pipeline.assembled(pipeline.plan(spec, needs.cpu(V3)))
    weights = np.ones((3, 3, 1, 4), np.float32)
    weights[0, 0, 0, 2] = np.inf
    x = np.ones((1, 3, 3, 4), np.float32)
    path = bundle.pack([found]).save(tmp_path / "infinite.kgen")
    with kgen_runtime.load(path, device="cpu") as kernels:
        out = np.asarray(kernels[spec.key](x, weights))
    nan = np.isnan(out.reshape(3, 3, 4))
    assert nan[0, :, 2].all() and nan[:, 0, 2].all() and nan.sum() == 5
    assert np.isinf(out.reshape(3, 3, 4)[1:, 1:, 2]).all()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("tile", 17, "tile=17 is more than the 16 vector registers"),
        ("tile", 0, "tile=0 must be an integer"),
        ("channels", 12, "channels=12 must be a multiple of the 8 elements of a vector"),
        ("channels", 24, "less than the 17 output channels; try channels=0"),
        ("columns", 3, "columns=3 must be a multiple of tile=9, and less than the 9 outputs"),
    ],
)
def test_fields_of_depthwise_kernels_that_are_not_taken(
    field: str, value: int, message: str
) -> None:
    with pytest.raises(KgenError, match=message):
        check(DEPTHWISE["dilation 3"], V3, **{field: value})


def test_instructions_of_depthwise_kernels_are_few() -> None:
    """Outputs whose window overlaps the padding at an end of a row have code of their own."""
    found = targets.find(V3)
    wide = depthwise((1, 12, 1, 400), 1, 51, padding=(0, 25), dtype="f16")
    plan = pipeline.plan(wide, found)
    assert isinstance(plan, DepthwisePlan) and isinstance(plan.schedule, CpuDepthwise)
    count = sum(2 * len(tile.outputs) * (51 + OF_OUTPUT) for tile in plan.tiles)
    assert count <= MOST_INSTRUCTIONS
    tile = plan.schedule.tile + 1
    with pytest.raises(KgenError, match=rf"tile={tile} needs more than .*; try tile={tile - 1}"):
        pipeline.plan(wide, found, CpuDepthwise(task=1, tile=tile))
    wider = depthwise((1, 12, 1, 400), 1, 101, padding=(0, 50), dtype="f16")
    assert FAMILY.choose(wider, found).mainloop != "depthwise"
    with pytest.raises(KgenError, match=r"instructions for a row .*; use mainloop=blis"):
        pipeline.plan(wider, found, CpuDepthwise(task=1, tile=1))


@pytest.mark.parametrize("mainloop", ["blis", "ahead"])
def test_products_of_packed_windows_of_channels(mainloop: str) -> None:
    """A user can select a main loop that packs windows instead of the depthwise kernel."""
    spec = depthwise((1, 5, 4, 5), 3, 3, padding=1)
    plan = pipeline.plan_with(spec, targets.find(V3), {"mainloop": mainloop})
    assert plan.schedule.mainloop == mainloop
    assert verify(bundle.pack([pipeline.assembled(plan)])).passed


def test_other_convolutions_have_no_depthwise_kernel() -> None:
    with pytest.raises(KgenError, match="mainloop=depthwise requires groups=7"):
        found = targets.find(V3)
        pipeline.plan(EDGES["dilation 3"], found, CpuDepthwise(task=1, tile=2))
    three = depthwise((1, 5, 4, 5), 3, 3, padding=1, multiplier=3)
    assert FAMILY.choose(three, found).mainloop != "depthwise"
    with pytest.raises(KgenError, match=r"groups=5, 1, 2, 4, 8, ... outputs for each channel"):
        pipeline.plan(three, found, CpuDepthwise(task=1, tile=2))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        # A guard of rows that lets one more pass.
        (r"(%x0\.w\.y\.inside = icmp ult i64 %\S+), 8", r"\1, 9"),
        # Rows of the kernel too close.
        (r"(%x0\.w\.y\.apart = mul nuw i64 %\S+), 3", r"\1, 2"),
        # An element of a row taken for its neighbour.
        (r"(%x0\.w\.x612\.at = getelementptr i8, ptr \S+) i64 612", r"\1 i64 544"),
        # Weights of a neighbouring channel, in the remainder of the channels.
        (r"(%x0\.t\.w1\.at = getelementptr i8, ptr \S+) i64 68", r"\1 i64 64"),
        # Padding in a row that is not zero.
        (r"(%x0\.w\.s0\.p0 = call .*)zeroinitializer", r"\1%x0.w.w1"),
    ],
)
def test_faults_of_depthwise_kernels_are_seen(pattern: str, text: str) -> None:
    assert_seen(DEPTHWISE["dilation 3"], pattern, text, {})


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        # A block that begins, or ends, in its neighbour.
        (r"(%c\.first = mul nuw i64 %c\.block), 8", r"\1, 7"),
        (r"(%c\.next = add nuw i64 %c\.first), 8", r"\1, 0"),
        # A tile of the neighbouring columns, in one loop or alone.
        (r"(%x1\.begin = select i1 %x1\.begins, i64 %x\.first, i64) 4", r"\1 8"),
        (r"(%x0\.here = icmp ult i64 %x0\.behind), 4", r"\1, 0"),
        # The remaining channels in the first block of rows alone.
        (r"(%c\.has\.last = icmp eq i64) %c\.block", r"\1 %task"),
        # Rows of the neighbouring task.
        (r"(%begin\.row = mul nuw i64 %task)\.rows", r"\1.columns"),
    ],
)
def test_faults_of_blocks_of_channels_are_seen(pattern: str, text: str) -> None:
    schedule = {"columns": 4, "channels": 8, "task": 3, "tile": 4}
    assert_seen(depthwise((1, 17, 8, 17), 3, 3, padding=1), pattern, text, schedule)


def test_models_convolve_channels(tmp_path: Path) -> None:
    """Weights of a depthwise convolution are not prepacked."""
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    m = Maker()
    y = m.add("Conv", m.input("x", (1, 6, 4, 5)), m.weight(6, 1, 3, 3), m.weight(6), group=6)
    model = m.model(m.add("Relu", y))
    made = kgen.compile_model(model, [needs.cpu(V3).name]).bundle
    x = np.random.default_rng(1).standard_normal((1, 6, 4, 5)).astype(np.float32)
    with kgen_runtime.load(made.save(tmp_path / "channels.kgen"), device="cpu") as kernels:
        assert any("conv2d" in key and "packedb" not in key for key in kernels)
        found = kernels.program.run(x=x)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f64"])
@pytest.mark.parametrize(
    "name", ["kernel larger than the image", "dilation 3", "64 channels", "oihw", "nchw"]
)
def test_dtypes(name: str, dtype: str) -> None:
    check(dataclasses.replace(EDGES[name], dtype=dtype, out_dtype=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("weight_layout", ["ohwi", "hwio"])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_constant_weights(weight_layout: Any, dtype: str) -> None:
    fields = {"weight_layout": weight_layout, "constant": ("b",), "dtype": dtype}
    check(conv((1, 7, 6, 5), (19, 7, 3, 3), padding=1, **fields))


@pytest.mark.parametrize("weight_layout", ["ohwi", "hwio"])
@pytest.mark.parametrize("kernel", [1, 3])
def test_constant_weights_of_groups(weight_layout: Any, kernel: int) -> None:
    fields = {"weight_layout": weight_layout, "constant": ("b",), "epilogue": ("bias",)}
    check(conv((2, 12, 5, 4), (27, 4, kernel, kernel), groups=3, dtype="bf16", **fields))


def test_models_pack_the_weights_of_groups(tmp_path: Path) -> None:
    """In a model, the weights of all groups become one matrix; each group is some of its
    columns."""
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    m = Maker()
    y = m.add("Conv", m.input("x", (1, 6, 4, 5)), m.weight(10, 3, 2, 3), group=2)
    model = m.model(y)
    made = kgen.compile_model(model, [needs.cpu(V3).name]).bundle
    x = np.random.default_rng(1).standard_normal((1, 6, 4, 5)).astype(np.float32)
    with kgen_runtime.load(made.save(tmp_path / "groups.kgen"), device="cpu") as kernels:
        assert any("conv2d" in key and "packedb" in key for key in kernels)
        found = kernels.program.run(x=x)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_models_scale_the_pixels_of_a_convolution(tmp_path: Path) -> None:
    """An epilogue has operands per channel; a factor per pixel needs a kernel of its own."""
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    m = Maker()
    y = m.add("Conv", m.input("x", (1, 3, 4, 5)), m.weight(5, 3, 3, 3))
    model = m.model(m.add("Mul", y, m.constant(np.arange(6).reshape(1, 1, 2, 3))))
    made = kgen.compile_model(model, [needs.cpu(V3).name]).bundle
    x = np.random.default_rng(1).standard_normal((1, 3, 4, 5)).astype(np.float32)
    with kgen_runtime.load(made.save(tmp_path / "pixels.kgen"), device="cpu") as kernels:
        found = kernels.program.run(x=x)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("outputs", [4, 68])
def test_pixels_of_groups_in_every_main_loop(outputs: int) -> None:
    """A grouped 1x1 convolution is a batch of products, each with its own bias."""
    spec = conv(
        (1, 24, 3, 5), (outputs, 6, 1, 1), groups=4, weight_layout="hwio", epilogue=("bias",)
    )
    found = needs.cpu(V3)
    for schedule in FAMILY.alternatives(spec, found):
        report = verify(bundle.pack([pipeline.kernel(spec, found, schedule)]))
        assert report.passed, report.to_json()


def test_a_bias_of_another_group_is_seen() -> None:
    spec = EDGES["two groups"]
    assert_seen(spec, r"(%bias\.batch\.offset = mul nuw i64 %task), 20", r"\1, 16", {})


def test_channels_of_another_group_are_seen() -> None:
    spec = EDGES["two groups"]
    assert_seen(spec, r"(%a\.batch\.offset = mul nuw i64 %task), 12", r"\1, 8", {})


def test_wide_vectors() -> None:
    needs.cpu("x86-64-v4")
    check(EDGES["dilation 3"], "x86-64-v4")
    check(EDGES["64 channels"], "x86-64-v4", kc=32)
    check(EDGES["four groups"], "x86-64-v4")


@pytest.mark.parametrize("constant", [(), ("b",)])
@pytest.mark.parametrize("target", [t.name for t in FAMILY.targets])
def test_every_target_has_a_schedule_for_its_dtypes(target: str, constant: Any) -> None:
    found = targets.find(target)
    for dtype in FAMILY.dtypes("conv2d", found):
        for weights in ("ohwi", "hwio"):
            spec = conv((1, 7, 5, 6), (8, 7, 3, 3), dtype=dtype, weight_layout=weights)
            pipeline.plan(dataclasses.replace(spec, constant=constant), found)
        for layout in ("nhwc", "nchw"):
            fields = {"dtype": dtype, "layout": layout, "weight_layout": "oihw"}
            pipeline.plan(conv((1, 300, 9, 9), (20, 300, 3, 3), **fields), found)


def test_single_pixels_are_a_matmul() -> None:
    """A 1x1 convolution has the machine code of the matmul, except for its name."""
    spec = kgen.Conv2d(input=(2, 24, 5, 7), weights=(8, 24, 1, 1), dtype="f32")
    found = targets.find(V3)
    texts = [pipeline.source(pipeline.plan(each, found)).text for each in (spec, spec.product)]
    codes = [
        "\n".join(line for line in text.splitlines() if not line.startswith(";"))
        for text in (texts[0].replace(spec.key, spec.product.key), texts[1])
    ]
    assert codes[0] == codes[1]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"layout": "nchw", "weight_layout": "ohwi", "constant": ("b",)}, "take layout=nhwc"),
        ({"layout": "nchw", "b_dtype": "bf16"}, "b_dtype=bf16 is not supported .* layout=nhwc"),
    ],
)
def test_refusals(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(KgenError, match=words):
        check(Conv2d(**({"input": (1, 8, 5, 5), "weights": (8, 8, 3, 3), "dtype": "f32"} | fields)))


#: Faults of the copier: what is changed, from what, to what.
FAULTS = {
    "a guard above and below is dropped": (
        r"(%ws\.inside\.y = and i1 true), %ws\.y\.inside",
        r"\1, true",
    ),
    "a mask lacks the first lane": (r"(icmp ugt <8 x i32> %wst\.all), <i32 0,", r"\1, <i32 9,"),
    "the left end is off by a channel": (r"(%w\.left\.elements = mul i64 %w\.left), 7", r"\1, 6"),
    "the right end is off by a pixel": (r"(%w\.right = sub i64) 6, %w\.x", r"\1 7, %w.x"),
    "a step is that of the next place": (r"(mul nuw i64 %ws\.y\.place), 168", r"\1, 140"),
    "the last segment is left out": (r"(%w\.end = add nuw i64 %w\.last), 1", r"\1, 0"),
    "a segment lies where the first block has it": (
        r"(%ws\.to\.offset = sub i64 %ws\.k), %k0",
        r"\1, 0",
    ),
    "zeros behind the image are left out": (r"(%zh\.more = icmp ult i64 %zh), %ws\.stop", r"\1, 0"),
}


#: Faults of windows inside the image, which are copied without loops.
INNER_FAULTS = {
    "windows over the right end are inside": (r"(%w\.x\.isin = icmp ult i64 %w\.x), 4", r"\1, 5"),
    "windows over the lower end are inside": (r"(%w\.y\.isin = icmp ult i64 %w\.y), 3", r"\1, 4"),
    "a row of the kernel is that of another": (r"(%wi2\.from = .*) i64 72", r"\1 i64 84"),
    "a segment lies too early": (
        r"(%wi4\.to = getelementptr i8, ptr %w\.to,) i64 72",
        r"\1 i64 68",
    ),
}


@pytest.mark.parametrize("name", INNER_FAULTS)
def test_verification_sees_a_fault_of_inner_windows(name: str) -> None:
    assert_seen(conv((2, 3, 5, 6), (8, 3, 3, 3), padding=1), *INNER_FAULTS[name], {})


@pytest.mark.parametrize("name", FAULTS)
def test_verification_sees_a_fault_of_the_copier(name: str) -> None:
    assert_seen(conv((2, 7, 5, 6), (8, 7, 3, 3), padding=1), *FAULTS[name])


#: Faults of the copier of a B that is no matrix.
MAPPED_FAULTS = {
    "a guard above and below is dropped": (
        r"(%p\.ms\.k\.g0\.all = and i1 true), %p\.ms\.k\.g0\.holds",
        r"\1, true",
    ),
    "the left end is off by a pixel": (r"(%p\.ms\.k\.g1\.low\.less = sub i64) 0", r"\1 1"),
    "the right end is off by a pixel": (r"(%p\.ms\.k\.g1\.high\.less = sub i64) 11", r"\1 10"),
    "a step is that of the next place": (r"(%p\.ms\.k\.d1\.bytes = mul i64 \S+) 44", r"\1 40"),
    "a segment is a pixel long": (r"(%p\.ms\.left = sub nuw i64) 11", r"\1 12"),
    "the last vector ends early": (r"(%p\.ms\.kc\.last = sub nuw i64 \S+) 8", r"\1 9"),
    "a block of k begins with the first": (r"(%p\.ms\.k = phi i64 \[) %k0,", r"\1 0,"),
    "a panel begins with the block": (r"(%p\.m\.first = add nuw i64 %n0), %j", r"\1, 0"),
    "zeros behind the image are left out": (
        r"(%p\.ms\.kzh\.more = icmp ult i64 \S+) %p\.ms\.count",
        r"\1 0",
    ),
}


@pytest.mark.parametrize("name", MAPPED_FAULTS)
def test_verification_sees_a_fault_of_mapped_rows(name: str) -> None:
    spec = conv((2, 5, 6, 11), (9, 5, 3, 3), padding=1, layout="nchw")
    assert_seen(spec, *MAPPED_FAULTS[name], {"kc": 24, "mc": 8, "mr": 4, "nr": 16, "nc": 32})


def test_verification_sees_segments_that_begin_with_the_block() -> None:
    """A segment that is longer than the padding after a row overwrites the row above."""
    pattern = r"(%ws\.start = call i64 @llvm\.smax\.i64\(i64) %ws\.begins"
    assert_seen(conv((1, 23, 3, 4), (8, 23, 3, 3), padding=1), pattern, r"\1 0")


def assert_seen(
    spec: Conv2d, pattern: str, replacement: str, fields: dict[str, int] | None = None
) -> None:
    """Check that verification fails if the kernel's text is changed."""
    fields = {"kc": 24, "mc": 8, "mr": 4, "nr": 8} if fields is None else fields
    kernel = pipeline.assembled(pipeline.plan_with(spec, needs.cpu(V3), fields))
    text, count = re.subn(pattern, replacement, kernel.source.text)
    assert count == 1, f"{pattern} is not in the kernel"
    source = dataclasses.replace(kernel.source, text=text)
    code = FAMILY.assemble(source, kernel.plan)
    changed = dataclasses.replace(kernel, source=source, assembled=code)
    (result,) = verify(bundle.pack([changed])).kernels
    assert result.status == "failed", result.to_json()
