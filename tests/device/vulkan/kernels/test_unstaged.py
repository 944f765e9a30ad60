"""Unstaged Vulkan products on a real driver: slices of k, small M, CPUs as devices."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.schedule import UnstagedMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.kernels.test_matmul import (
    check_exact,
    expected,
    whole_numbers,
    with_module,
)
from tests.device.vulkan.vulkan_support import build, run

SCHEDULES = (
    UnstagedMatmul(block_m=1, block_n=64, block_k=4, thread_m=1, thread_n=4, slices=8),
    UnstagedMatmul(block_m=16, block_n=32, block_k=4, thread_m=8, thread_n=8),
    UnstagedMatmul(block_m=4, block_n=8, block_k=8, thread_m=2, thread_n=2, slices=4),
    UnstagedMatmul(block_m=8, block_n=8, block_k=1, thread_m=1, thread_n=1),
    UnstagedMatmul(block_m=4, block_n=1, block_k=8, thread_m=4, thread_n=1, slices=2),
)
#: Whole vectors, pairs, and single elements; K of whole K-tiles, of less than one, and of more.
SHAPES = ((1, 64, 64), (5, 38, 46), (7, 33, 3))


#: Every schedule with every layout, in one of the shapes and types.
CASES = tuple(
    (schedule, layout, SHAPES[(i + j) % 3], (DType.F32, DType.F16, DType.BF16)[(i + 2 * j) % 3])
    for i, schedule in enumerate(SCHEDULES)
    for j, layout in enumerate(Layout)
)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_schedules_layouts_shapes(vulkan: VulkanBackend, number: int) -> None:
    schedule, layout, (m, n, k), dtype = CASES[number]
    spec = Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout)
    check_exact(vulkan, spec, build(spec, schedule=schedule))


@pytest.mark.parametrize(
    "spec",
    [
        Matmul(m=1, n=300, k=300, dtype=DType.F32, epilogue=(Epilogue.BIAS, Epilogue.RELU)),
        Matmul(m=300, n=2, k=130, dtype=DType.F16, layout=Layout.TT),
        Matmul(m=3, n=30, k=70, batch=3, batch_stride_a=0, dtype=DType.F32, beta=1.0),
        Matmul(m=2, n=40, k=64, dtype=DType.BF16, lda=66, ldb=44, ldc=42),
        Matmul(m=4, n=24, k=64, dtype=DType.F32, b_dtype="s8", layout=Layout.NT),
    ],
    ids=lambda spec: spec.key,
)
def test_what_the_heuristics_choose_for_few_rows(vulkan: VulkanBackend, spec: Matmul) -> None:
    kernel = build(spec)
    assert isinstance(kernel.plan.schedule, UnstagedMatmul) and kernel.plan.schedule.slices > 1
    check_exact(vulkan, spec, kernel)


def test_a_number_is_added_to_the_whole_sum(vulkan: VulkanBackend) -> None:
    """The driver must not move an addition to a slice's sum. Sums of whole numbers are exact, so
    only that addition rounds."""
    spec = Matmul(m=1, n=30, k=128, dtype=DType.F32, epilogue="x - 0.6245977282524109")
    kernel = build(spec)
    inputs = whole_numbers(spec)
    sums = expected(Matmul(m=1, n=30, k=128, dtype=DType.F32), inputs).reshape(-1)
    wanted = sums.astype(np.float32) - np.float32(0.6245977282524109)
    np.testing.assert_array_equal(run(vulkan, kernel, inputs), wanted)


@pytest.mark.parametrize(
    "spec",
    [
        Matmul(m=65, n=66, k=67, dtype=DType.F32),
        Matmul(m=1, n=300, k=64, dtype=DType.F16, epilogue=(Epilogue.RESIDUAL,)),
        Matmul(m=70, n=3, k=33, dtype=DType.BF16, layout=Layout.TN, batch=2),
    ],
    ids=lambda spec: spec.key,
)
def test_kernels_for_cpus(vulkan: VulkanBackend, spec: Matmul) -> None:
    kernel = build(spec, "vulkan1.3+cpu")
    assert isinstance(kernel.plan.schedule, UnstagedMatmul) and kernel.plan.schedule.slices == 1
    check_exact(vulkan, spec, kernel)


def test_mutations_are_seen(vulkan: VulkanBackend) -> None:
    """Mutations: a slice that is left out, a remainder that every slice adds, a missing barrier."""
    spec = Matmul(m=1, n=40, k=47, dtype=DType.F32)
    kernel = build(spec, schedule=SCHEDULES[0])
    for old, new in (
        # First of all: workgroup memory may hold what the kernel before left there.
        ("OpControlBarrier %uint_2 %uint_2 %uint_264", "OpNop"),
        ("%added = OpPhi %uint %uint_1", "%added = OpPhi %uint %uint_2"),
        (
            "%is_first_slice = OpIEqual %bool %slice",
            "%is_first_slice = OpUGreaterThanEqual %bool %slice",
        ),
        (
            "%slice_offset = OpIMul %uint %slice %uint_16",
            "%slice_offset = OpCopyObject %uint %slice",
        ),
        ("%main_k_tile = OpPhi %uint %slice", "%main_k_tile = OpPhi %uint %uint_0"),
    ):
        text = kernel.source.text
        assert old in text
        broken = with_module(kernel, assemble(text.replace(old, new), (1, 6)))
        with pytest.raises(AssertionError):
            check_exact(vulkan, spec, broken)
    check_exact(vulkan, spec, kernel)
