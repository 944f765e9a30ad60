"""Static figures of our kernels from the compilers of AMD's and NVIDIA's drivers, without a GPU."""

from __future__ import annotations

import dataclasses

import pytest

from kgen.bundle import pack
from kgen.check.static.hot_loop import WorkKind
from kgen.check.static.vulkan import compiled as static_vulkan
from kgen.check.static.vulkan.compiled import DriverCompilation, compiled
from kgen.check.verify.run import opened
from kgen.spec import Layout
from kgen.spec.text import parse
from tests import needs
from tests.device.vulkan.vulkan_support import build

KERNELS = (
    "matmul 1024x1024x1024 f32",
    "matmul 1024x1024x1024 f16",
    "softmax 1000x1000 f32",
    "relu 1000003 f32",
    "matmul 1024x1024x1024 s8",
    "attention q=1x12x512x128,k=1x12x512x128 f16 causal",
)


def made_of(kernel: str, target: str) -> tuple[DriverCompilation, DriverCompilation]:
    """Return the compilations by RADV and by NVK."""
    needs.driver("mesa")
    with opened(pack([build(parse(kernel), target)])) as reader:
        radv, nvk = compiled(reader, reader.manifest.kernels[0])
    return radv, nvk


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_registers(kernel: str, target: str) -> None:
    """Nothing spills; a SIMD of navi31 holds at least 8 waves, an SM of GA102 at least 16 warps."""
    radv, nvk = made_of(kernel, target)
    assert "NAVI31" in radv.device and "NVK" in nvk.device
    assert radv.metrics["spills"] == nvk.metrics["spills"] == 0
    assert radv.metrics["occupancy"] >= 8 and nvk.metrics["occupancy"] >= 16
    if kernel.endswith("f32"):
        assert radv.metrics["registers"] <= 128 and nvk.metrics["registers"] <= 128


def test_the_hot_loop_of_a_product() -> None:
    """Nearly all of RADV's vector instructions are multiply-adds, and every load has several
    numbers."""
    radv, nvk = made_of(KERNELS[0], "vulkan1.3")
    for found in (radv, nvk):
        assert (
            found.loop is not None and found.loop.kind is WorkKind.FMA and not found.loop.unrolled
        )
        assert found.loop.work == 512 and found.metrics["scalar_loads"] == 0
        assert not any(op.startswith(("buffer_store", "st.global")) for op in found.loop.opcodes)
    assert radv.metrics["matrix_share"] >= 0.8
    assert radv.loads["buffer_load_b128"] == 3 and radv.metrics["shared_memory"] <= 32768


@pytest.mark.parametrize(
    ("convolution", "product"),
    [
        ("conv2d 1x64x56x56,64x64x3x3 f16 padding=1", "matmul 3136x64x2304 f16 layout=nt"),
        ("conv2d 1x256x14x14,512x256x3x3 f16 padding=1", "matmul 196x512x2304 f16 layout=nt"),
    ],
)
def test_convolutions(convolution: str, product: str) -> None:
    """At most 1.15 times the instructions per matrix instruction of the matmul with the same tile,
    which is so deep that no driver unrolls its loop; drivers unroll K-tiles of a position."""
    found = [made_of(text, "vulkan1.3+coopmat") for text in (convolution, product)]
    for of_convolution, of_product in zip(*found, strict=True):
        assert of_convolution.loop is not None and of_product.loop is not None
        assert not of_product.loop.unrolled and of_convolution.metrics["spills"] == 0
        assert of_product.loop.share <= 1.15 * of_convolution.loop.share


@pytest.mark.parametrize("layout", Layout)
def test_cooperative_matrices(layout: Layout) -> None:
    """Each driver compiles the module of its own shape to its matrix instruction. RADV has at most
    eight others for each, since a lane's part of a matrix is contiguous whatever the layout."""
    radv, nvk = made_of(f"{KERNELS[1]} layout={layout}", "vulkan1.3+coopmat")
    assert not any("16" in load for load in radv.loads)
    for found, opcode in ((radv, "v_wmma_f32_16x16x16_f16"), (nvk, "hmma.m16n8k16.f32")):
        assert found.loop is not None and found.loop.kind is WorkKind.MATRIX
        assert found.loop.opcodes[opcode] == found.metrics["matrix_instructions"] >= 16
        assert found.metrics["spills"] == 0
    assert radv.metrics["others_per_matrix"] <= 8


@pytest.mark.parametrize(
    ("shape", "fields", "most"),
    [("512x128", "", 33), ("512x128", "causal", 33), ("512x64", "", 30)],
)
def test_attention_by_cooperative_matrices(shape: str, fields: str, most: int) -> None:
    """Nothing spills, and RADV has at most `most` instructions for each matrix instruction."""
    text = f"attention q=1x32x{shape},k=1x32x{shape} f16 {fields}".strip()
    both = made_of(text, "vulkan1.3+coopmat")
    opcodes = ("v_wmma_f32_16x16x16_f16", "hmma.m16n8k16.f32")
    for found, opcode in zip(both, opcodes, strict=True):
        assert found.loop is not None and found.loop.kind is WorkKind.MATRIX
        assert found.loop.opcodes[opcode] == found.metrics["matrix_instructions"] >= 16
        assert found.metrics["spills"] == 0
    (radv, _) = both
    assert radv.metrics["others_per_matrix"] + 1 <= most
    assert not any("16" in load for load in radv.loads)


@pytest.mark.parametrize(
    ("kernel", "opcodes"),
    [
        ("s8", ("v_wmma_i32_16x16x16_iu8", "imma.m16n8k32.i8.i8")),
        ("f16 out=f32 +bias+relu", ("v_wmma_f32_16x16x16_f16", "hmma.m16n8k16.f32")),
    ],
)
def test_sums_from_the_accumulators(kernel: str, opcodes: tuple[str, ...]) -> None:
    """The code does not spill, and is short."""
    both = made_of(f"matmul 4096x4096x4096 {kernel}", "vulkan1.3+coopmat")
    for found, opcode in zip(both, opcodes, strict=True):
        assert found.loop is not None and found.loop.opcodes[opcode] >= 16
        assert found.metrics["spills"] == 0
    assert both[0].metrics["code_bytes"] < 5000


def test_dot_products() -> None:
    """A K-tile's 2,048 products of bytes are 512 instructions of each driver."""
    both = made_of("matmul 1024x1024x1024 s8", "vulkan1.3")
    for found, opcode in zip(both, ("v_dot4_i32_iu8", "idp4.i8.i8"), strict=True):
        assert found.loop is not None and found.loop.opcodes[opcode] == 512


@pytest.mark.parametrize(
    ("kernel", "fewest"),
    [
        ("matmul 4096x4096x4096 bf16 out=f32", 16),
        ("attention q=1x32x512x128,k=1x32x512x128 bf16", 32),
    ],
)
def test_matrices_of_bf16(kernel: str, fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """RADV compiles them for gfx1201. No driver here executes them."""
    (radv, *_) = static_vulkan.COMPILERS
    driver = dataclasses.replace(radv.driver, environment={"AMDGPU_GPU_ID": "gfx1201"})
    only = (dataclasses.replace(radv, driver=driver),)
    monkeypatch.setattr(static_vulkan, "COMPILERS", only)
    needs.driver("mesa")
    with opened(pack([build(parse(kernel), "vulkan1.3+coopmat+bf16")])) as reader:
        (found,) = compiled(reader, reader.manifest.kernels[0])
    assert found.loop is not None and found.metrics["spills"] == 0
    assert found.loop.opcodes["v_wmma_f32_16x16x16_bf16"] == fewest


def test_what_the_gpu_does_not_run_is_no_gap() -> None:
    for found in made_of("matmul 64x64x64 f32", "vulkan1.3+cpu"):
        assert found.refused and found.reason is not None and "type cpu" in found.reason
