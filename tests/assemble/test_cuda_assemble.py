"""Every NVIDIA target, operation and dtype through the real ptxas, without spills."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from kgen import pipeline
from kgen.errors import AssembleError
from kgen.schedule import SplitMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul, Spec
from kgen.targets.base import BuiltKernel, Source, Target
from kgen.targets.cuda import FAMILY, assemble
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.mma.matmul import MmaPlan
from kgen.targets.cuda.schedule.cost_model import predict
from tests.specs import relu_of, softmax_of

BY_NAME = {target.name: target for target in TARGETS}
SM_80 = BY_NAME["sm_80"]
DTYPES = (DType.F32, DType.F16, DType.BF16)
EPILOGUES = tuple(Epilogue)


def build(spec: Spec, target: Target) -> BuiltKernel:
    kernel = pipeline.kernel(spec, target)
    resources = kernel.assembled.resources
    assert (resources.spills, resources.stack) == (0, 0)
    assert resources.registers is not None
    assert 8 <= resources.registers <= target.limits["registers_per_thread"]
    return kernel


def specs(dtype: DType) -> tuple[Spec, ...]:
    """Return odd shapes with every epilogue step, large aligned shapes, and rows of both kinds."""
    return (
        Matmul(m=65, n=66, k=67, batch=3, alpha=0.5, beta=2.0, dtype=dtype, epilogue=EPILOGUES),
        Matmul(m=512, n=512, k=512, dtype=dtype, layout=Layout.TT),
        relu_of((3, 5, 7), dtype=dtype),
        softmax_of(33, 1000, dtype=dtype),
        softmax_of(4, 131072, dtype=dtype, log=True),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_kernel_assembles_without_spills(target: Target, dtype: DType) -> None:
    for spec in specs(dtype):
        build(spec, target)


@pytest.mark.parametrize("layout", tuple(Layout))
@pytest.mark.parametrize("out", DTYPES)
def test_layouts_and_output_types(layout: Layout, out: DType) -> None:
    for dtype in DTYPES:
        build(Matmul(m=200, n=72, k=130, dtype=dtype, out_dtype=out, layout=layout), SM_80)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_largest_tiles_and_shapes(dtype: DType) -> None:
    """These tiles use all registers and 64-bit offsets; unaligned rows are copied through
    registers."""
    for target in (BY_NAME["sm_75"], SM_80, BY_NAME["sm_90a"]):
        for size in (65536, 65535):
            build(Matmul(m=size, n=size, k=size, batch=65535, dtype=dtype), target)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_leading_dimensions_beyond_32_bits(dtype: DType) -> None:
    for ld in (2**35, 2**35 + 1):
        build(Matmul(m=64, n=64, k=64, dtype=dtype, lda=ld, ldb=ld, ldc=ld), SM_80)


def test_resources_of_two_kernels() -> None:
    spec = Matmul(m=64, n=64, k=4096)
    schedule = FAMILY.choose(spec, SM_80)
    assert isinstance(schedule, SplitMatmul) and schedule.split_k > 1
    both = pipeline.kernel(spec, SM_80, schedule.override(one_kernel=0)).assembled.resources
    one = pipeline.kernel(spec, SM_80, schedule.override(split_k=1)).assembled.resources
    assert both.code_bytes is not None and both.code_bytes > 16 * 100
    assert both.registers is not None and one.registers is not None
    assert abs(both.registers - one.registers) < 24


@pytest.mark.parametrize("warps", [(16, 16), (32, 32), (64, 32), (64, 64)])
@pytest.mark.parametrize("split", [3, 16])
def test_adding_parts_spills_nothing(warps: tuple[int, int], split: int) -> None:
    """The second kernel of split-k does not spill, however many sums a thread has, and the cost
    model knows its registers."""
    spec = Matmul(m=256, n=256, k=8192)
    schedule = SplitMatmul(
        block_m=2 * warps[0],
        block_n=2 * warps[1],
        block_k=32,
        num_stages=4,
        warp_m=warps[0],
        warp_n=warps[1],
        split_k=split,
        one_kernel=True,
    )
    resources = pipeline.kernel(spec, SM_80, schedule).assembled.resources
    assert resources.spills == 0 and resources.registers is not None
    most = predict(spec, SM_80, schedule).registers + 12
    assert resources.registers <= (255 if warps == (64, 64) else most)


def test_artifacts_and_resources() -> None:
    kernel = build(Matmul(m=1024, n=1024, k=1024), SM_80)
    cubin, ptx = kernel.assembled.artifacts
    assert (cubin.format, cubin.role, cubin.data[:4]) == ("cubin", "machine-code", b"\x7fELF")
    assert cubin.requires == {"compute_capability": [8, 0], "exact": False, "cuda": [12, 0]}
    assert (ptx.format, ptx.role, ptx.data.decode()) == ("ptx", "portable", kernel.source.text)
    assert ptx.requires == {"compute_capability": [8, 0], "exact": False, "cuda": [11, 0]}
    assert isinstance(kernel.plan, MmaPlan)
    resources = kernel.assembled.resources
    assert resources.shared_memory == kernel.plan.shared_bytes
    # Instructions of compute capability 7.0 and later have 16 bytes.
    assert resources.code_bytes is not None and resources.code_bytes % 16 == 0
    assert 16 * 100 < resources.code_bytes < len(cubin.data)


def test_dynamic_shared_memory_is_counted() -> None:
    spec = Matmul(m=1024, n=1024, k=1024)
    schedule = FAMILY.choose(spec, SM_80).override(num_stages=4)
    kernel = pipeline.kernel(spec, SM_80, schedule)
    dynamic = kernel.plan.launches[0].dynamic_shared_memory
    assert dynamic > 48 * 1024
    assert kernel.assembled.resources.shared_memory == dynamic


def test_code_of_an_a_target_is_exact_and_new_chips_need_new_drivers() -> None:
    hopper = build(relu_of((8,)), BY_NAME["sm_90a"]).assembled.artifacts
    assert [a.requires["exact"] for a in hopper] == [True, True]
    blackwell = build(relu_of((8,)), BY_NAME["sm_120"]).assembled.artifacts
    assert [a.requires["cuda"] for a in blackwell] == [[12, 8], [12, 8]]


def test_a_rejected_source_names_kernel_and_first_error() -> None:
    kernel = build(relu_of((8,)), SM_80)
    broken = kernel.source.text.replace("mov.u32 %thread, %tid.x", "mov.u32 %thread, %nobody")
    source = Source(text=broken, extension="ptx", entry_point=kernel.source.entry_point)
    with pytest.raises(AssembleError) as error:
        assemble.assemble(source, kernel.plan)
    message = str(error.value)
    assert message.startswith("relu_8_f16: ptxas rejects the source: line ")
    assert "error" in message and "\n" not in message and "/" not in message


def test_the_assembler_is_that_of_the_installed_wheel() -> None:
    wheel = metadata.distribution(assemble.WHEEL)
    assert assemble.version() == wheel.version
    assert assemble.ptxas() == Path(str(wheel.locate_file(assemble.PTXAS)))


def test_a_missing_assembler_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assemble, "WHEEL", "nvidia-cuda-nvcc-cu12-absent")
    assemble._wheel.cache_clear()
    with pytest.raises(AssembleError, match="pip install nvidia-cuda-nvcc-cu12-absent=="):
        assemble.ptxas()
    assemble._wheel.cache_clear()


def test_an_assembler_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = build(relu_of((8,)), SM_80)
    monkeypatch.setattr(assemble, "ptxas", lambda: tmp_path / "absent")
    with pytest.raises(AssembleError, match="ptxas cannot be run: No such file"):
        assemble.assemble(kernel.source, kernel.plan)


def test_report_of_spilling_code() -> None:
    report = (
        "ptxas info    : Function properties for k\n"
        "    16 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 1024 bytes smem, 360 bytes cmem[0]\n"
    )
    resources = assemble.parse_report(report, dynamic_shared_memory=100)
    assert (resources.registers, resources.spills, resources.stack) == (255, 44, 16)
    assert resources.shared_memory == 1124
    assert resources.findings == ()


def test_a_warning_that_code_is_slow_is_a_finding() -> None:
    """The report is ptxas 12.9's for a wgmma kernel without wgmma.fence."""
    report = (
        "ptxas info    : (C7519) warpgroup.arrive is injected in around line 76 by compiler\n"
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : (C7519) warpgroup.arrive is injected in around line 91 by compiler\n"
    )
    assert assemble.parse_report(report).findings == (
        "(C7519) warpgroup.arrive is injected in around line 76 by compiler",
        "(C7519) warpgroup.arrive is injected in around line 91 by compiler",
    )
