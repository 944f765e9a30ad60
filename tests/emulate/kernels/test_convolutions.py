"""Implicit GEMM on NVIDIA and AMD GPUs, executed with every check, against the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgen
from kgen import pipeline, targets
from kgen.errors import ScheduleError, TargetError
from kgen.schedule import PingPongMatmul
from kgen.spec import Conv2d, DType, Matmul
from kgen.spec.text import parse
from tests.emulate.one_schedule import verify
from tests.onnx_models import Maker

#: Both ways of an operand to shared memory on NVIDIA GPUs, and AMD GPUs with waves of 64 and of 32.
TARGETS = ("sm_80", "sm_75", "gfx942", "gfx1100")

#: Images of one pixel; a kernel larger than the image; stride above the kernel; dilation 3; one
#: channel, 3, 7 and 64; K-tiles within one filter position, and across several; masks of two words
#: and of six; a filter of one pixel with a stride; padding on one side; one axis and three; types.
CASES = {
    "pixel": "conv2d 2x16x1x1,8x16x3x3 f16 padding=1",
    "large-kernel": "conv2d 1x8x2x3,8x8x5x5 f16 padding=2",
    "stride": "conv2d 1x8x9x9,8x8x2x2 f16 padding=1 stride=3",
    "dilation": "conv2d 1x8x5x5,8x8x3x3 f16 padding=3 dilation=3",
    "one-channel": "conv2d 1x1x5x6,8x1x3x3 f16 padding=1 +bias+relu",
    "three-channels": "conv2d 1x3x9x7,8x3x7x7 f16 padding=3 stride=2",
    "seven-channels": "conv2d 1x7x4x5,9x7x3x3 f16 padding=1",
    "within-positions": "conv2d 1x64x5x6,24x64x3x3 f16 padding=1 +bias+residual",
    "no-padding": "conv2d 1x32x4x5,8x32x3x2 f16",
    "pointwise-stride": "conv2d 2x32x5x5,8x32x1x1 f16 stride=2",
    "pointwise-padding": "conv2d 1x32x3x2,8x32x1x1 f16 padding=0x0",
    "one-side": "conv2d 1x8x4x5,8x8x2x3 f16 padding=1x0x0x2",
    "long-rows": "conv2d 1x2x3x12,8x2x3x39 f16 padding=1x19",
    "one-axis": "conv2d 2x16x11,8x16x5 f16 padding=2",
    "three-axes": "conv2d 1x8x3x4x5,8x8x3x2x3 f16 padding=1x0x1",
    "hwio": "conv2d 1x16x5x6,16x16x3x3 f16 padding=1 weight_layout=hwio",
    "bf16": "conv2d 1x16x5x6,8x16x3x3 bf16 padding=1",
    "groups": "conv2d 2x12x4x5,9x4x3x3 f16 padding=1 groups=3 +bias",
    "wide-groups": "conv2d 1x32x5x6,32x16x3x3 f16 padding=1 groups=2 +bias+residual",
    "groups-of-pixels": "conv2d 1x64x3x4,48x32x1x1 f16 groups=2 +bias",
    "f32": "conv2d 1x6x5x6,8x6x3x3 f32 padding=1",
    "s8": "conv2d 1x7x4x5,9x7x3x3 s8 padding=1",
    "scaled-s8": "conv2d 1x32x5x6,24x32x3x3 s8 padding=1 out=f16 +bias+relu",
    "s8-to-s8": "conv2d 1x4x5x5,8x4x3x3 s8 padding=3 dilation=3 out=s8",
    "groups-of-s8": "conv2d 1x12x4x5,9x4x3x3 s8 padding=1 groups=3 out=f32 +bias",
    "dilated-axis": "conv2d 1x1x11,8x1x3 f16 dilation=2",
    "oihw": "conv2d 2x12x4x5,9x4x3x3 f16 padding=1 groups=3 weight_layout=oihw +bias",
    "nchw": "conv2d 1x7x4x5,9x7x3x3 f16 padding=1 layout=nchw +bias+relu",
    "nchw-groups": "conv2d 2x12x4x5,9x4x3x3 f16 padding=1 groups=3 layout=nchw +bias+residual",
    "nchw-ohwi": "conv2d 1x6x4x5,9x6x3x3 f16 padding=1 layout=nchw weight_layout=ohwi",
    "nchw-pixels": "conv2d 2x32x5x5,8x32x1x1 f16 layout=nchw +bias",
    "nchw-pixels-apart": "conv2d 2x16x11,8x16x1 f32 stride=2 layout=nchw weight_layout=hwio",
    "nchw-three-axes": "conv2d 1x8x3x4x5,8x8x3x2x3 bf16 padding=1x0x1 layout=nchw",
    "nchw-s8": "conv2d 1x12x4x5,9x4x3x3 s8 padding=1 groups=3 layout=nchw out=f32 +bias",
}


def passes(spec: Conv2d, target: str, path: Path, **schedule: int | str) -> None:
    bundle = path / "convolution.kgen"
    kgen.build(spec, targets=[target], schedule=schedule or None).save(bundle)
    report = verify(bundle, on="emulator")
    assert report.passed, [kernel.reason for kernel in report.kernels]


def convolution(text: str) -> Conv2d:
    spec = parse(text)
    assert isinstance(spec, Conv2d)
    return spec


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_convolution(name: str, target: str, tmp_path: Path) -> None:
    passes(convolution(CASES[name]), target, tmp_path)


@pytest.mark.parametrize(
    ("target", "schedule"),
    [
        ("sm_80", {"split_k": 2, "one_kernel": 0}),
        ("sm_80", {"split_k": 2, "one_kernel": 1}),
        ("sm_80", {"stream_k": 1, "num_workgroups": 3}),
        ("gfx942", {"block_k": 32, "num_workgroups": 3}),
        ("gfx1100", {"block_k": 32, "split_k": 2}),
    ],
    ids=["parts", "parts-in-one-kernel", "stream-k", "amdgpu-stream-k", "amdgpu-parts"],
)
def test_k_is_shared(target: str, schedule: dict[str, int], tmp_path: Path) -> None:
    """Workgroups start in the middle of the table of steps."""
    passes(convolution("conv2d 1x64x4x5,40x64x2x2 f16 padding=1"), target, tmp_path, **schedule)


@pytest.mark.parametrize("one_kernel", [0, 1])
def test_k_of_images_by_channels_is_shared(one_kernel: int, tmp_path: Path) -> None:
    """A bundle names the images `a`, whichever operand they are."""
    spec = convolution("conv2d 1x64x4x5,40x64x2x2 f16 padding=1 layout=nchw +bias")
    passes(spec, "sm_80", tmp_path, split_k=2, one_kernel=one_kernel)
    assert [p.name for p in spec.parameters] == ["a", "b", "bias", "out"]


def test_tensor_maps_of_images_by_channels(tmp_path: Path) -> None:
    """A 1x1 convolution multiplies matrices, which wgmma reads through tensor maps of the right
    tensors."""
    spec = convolution("conv2d 2x64x16x8,128x64x1x1 f16 layout=nchw +bias")
    passes(spec, "sm_90a", tmp_path, mainloop="wgmma")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942", "gfx1100", "vulkan1.3"])
def test_a_pointwise_convolution_is_the_matmul(target: str) -> None:
    """Without stride and padding, its source is that of the matmul except for names and shapes."""
    spec = Conv2d(input=(2, 64, 8, 6), weights=(32, 64, 1, 1))
    product = Matmul(m=96, n=32, k=64, layout="nt")

    def body(spec: Conv2d | Matmul) -> list[str]:
        found = pipeline.source(pipeline.plan(spec, targets.find(target))).text
        comment = ";" if target[0] in "gv" else "//"
        lines = found.replace(spec.key, "KEY").splitlines()
        return [line for line in lines if not line.startswith(comment)]

    assert body(spec) == body(product)


def test_other_dtypes_have_the_same_products() -> None:
    family = targets.family("cuda")
    assert set(family.dtypes("conv2d", targets.find("sm_80"))) == {
        DType.F32,
        DType.F16,
        DType.BF16,
        DType.S8,
    }


@pytest.mark.parametrize(
    ("target", "mainloop"), [("gfx942", "pingpong"), ("gfx950", "direct"), ("sm_90a", "wgmma")]
)
def test_main_loops_for_matrices(target: str, mainloop: str) -> None:
    spec = convolution("conv2d 8x256x56x56,256x256x3x3 f16 padding=1")
    with pytest.raises(ScheduleError) as error:
        pipeline.plan_with(spec, targets.find(target), {"mainloop": mainloop})
    assert f"mainloop={mainloop} is not supported by {target}" in str(error.value)
    assert pipeline.plan(spec, targets.find(target)).schedule.mainloop == "mma"


def test_a_main_loop_says_what_it_takes() -> None:
    spec = convolution("conv2d 8x256x56x56,256x256x3x3 f16 padding=1")
    schedule = PingPongMatmul(block_m=256, block_n=256, block_k=64, warp_m=128, warp_n=64)
    with pytest.raises(ScheduleError, match=r"copies tiles of matrices only.*try mainloop=mma"):
        pipeline.plan(spec, targets.find("gfx942"), schedule)


@pytest.mark.parametrize(
    "field",
    ["f32 layout=nchw weight_layout=hwio b_dtype=bf16", "s8 padding=1 padding_value=3"],
)
@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3"])
def test_refusals(field: str, target: str) -> None:
    spec = convolution(f"conv2d 1x16x5x6,16x16x3x3 {field}")
    refused = field.rpartition(" ")[2]
    with pytest.raises(TargetError, match=f"{refused} is not supported by {target}"):
        pipeline.plan(spec, targets.find(target))


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3"])
def test_more_images_than_a_grid_has(target: str) -> None:
    spec = Conv2d(input=(32768, 2, 1, 1), weights=(2, 1, 1, 1), groups=2, layout="nchw")
    words = f"32768 images of layout=nchw with groups=2 is out of range for {target}; .* 65535"
    with pytest.raises(TargetError, match=words):
        pipeline.plan(spec, targets.find(target))


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3"])
def test_more_groups_than_a_grid_has(target: str) -> None:
    spec = Conv2d(input=(1, 65536, 1, 1), weights=(65536, 1, 1, 1), groups=65536)
    with pytest.raises(TargetError, match=f"groups=65536 is out of range for {target}; .* 65535"):
        pipeline.plan(spec, targets.find(target))


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3", "x86-64-v3"])
def test_models_in_groups_are_compiled_for_every_family(target: str) -> None:
    m = Maker()
    y = m.add("Conv", m.input("x", (1, 8, 4, 5)), m.weight(8, 4, 3, 3), group=2)
    made = kgen.compile_model(m.model(y), [target]).bundle
    found = {entry.spec["groups"] for entry in made.manifest.kernels if entry.op == "conv2d"}
    assert found == {2}
