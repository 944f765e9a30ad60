"""Products of s8 by dot products on a real driver: every layout, access, edge and output."""

from __future__ import annotations

from typing import Any

import pytest

from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.kernels.test_matmul import check_exact, with_module
from tests.device.vulkan.vulkan_support import build

#: Accesses of 16, 8 and 4 bytes, and of single ones; all but the first have a remainder of K.
SIZES: tuple[dict[str, Any], ...] = (
    {"m": 64, "n": 64, "k": 64},
    {"m": 68, "n": 72, "k": 76},
    {"m": 67, "n": 69, "k": 71},
)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["m"]))
@pytest.mark.parametrize("layout", Layout)
def test_layouts(vulkan: VulkanBackend, layout: Layout, size: dict[str, Any]) -> None:
    spec = Matmul(**size, dtype=DType.S8, layout=layout)
    check_exact(vulkan, spec, build(spec))


def test_without_the_instruction(vulkan: VulkanBackend) -> None:
    spec = Matmul(**SIZES[1], dtype=DType.S8)
    kernel = build(spec, "vulkan1.1")
    assert "OpSDot" not in kernel.source.text
    check_exact(vulkan, spec, kernel)


ODD: dict[str, Any] = {"m": 67, "n": 73, "k": 75, "dtype": DType.S8}
STEPS = (Epilogue.BIAS, Epilogue.RELU)
VARIANTS = {
    "f32": Matmul(**ODD, out_dtype=DType.F32, alpha=0.5, epilogue=STEPS, batch=2),
    "s8": Matmul(**ODD, out_dtype=DType.S8, alpha=1 / 64, beta=1.0, epilogue=STEPS),
    "s8-words": Matmul(m=68, n=72, k=76, dtype=DType.S8, out_dtype=DType.S8, alpha=1 / 64),
    "bf16": Matmul(**ODD, out_dtype=DType.BF16, alpha=1 / 64, lda=80, ldb=84),
    "one": Matmul(m=1, n=1, k=1, dtype=DType.S8),
    "skinny": Matmul(m=1, n=300, k=260, dtype=DType.S8, layout=Layout.NT),
    "tall": Matmul(m=300, n=1, k=260, dtype=DType.S8, layout=Layout.TN),
    "f32-to-s8": Matmul(m=33, n=36, k=35, dtype=DType.F32, out_dtype=DType.S8, alpha=1 / 64),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_outputs(vulkan: VulkanBackend, name: str) -> None:
    check_exact(vulkan, VARIANTS[name], build(VARIANTS[name]))


def test_a_large_tile(vulkan: VulkanBackend) -> None:
    spec = Matmul(m=130, n=70, k=100, dtype=DType.S8, layout=Layout.TT)
    tile = {"block_m": 128, "block_n": 64, "thread_m": 8, "thread_n": 8}
    schedule = build(spec).plan.schedule.override(**tile)
    check_exact(vulkan, spec, build(spec, schedule=schedule))


def test_mutations_are_seen(vulkan: VulkanBackend) -> None:
    """Mutations: no barrier, no zeros past K, a byte or a sum in the wrong place."""
    spec = Matmul(m=68, n=72, k=76, dtype=DType.S8)
    kernel = build(spec)
    check_exact(vulkan, spec, kernel)
    text = kernel.source.text
    for old, new in (
        ("OpControlBarrier %uint_2 %uint_2 %uint_264", "OpNop"),
        ("%next_b0_row3_inside = OpULessThan", "%next_b0_row3_inside = OpUGreaterThanEqual"),
        ("%transpose_row1 %uint_16", "%transpose_row1 %uint_8"),
        ("%row_first %uint_68", "%row_first %uint_64"),
        ("%main_m1 %main_n2 Packed", "%main_m1 %main_n3 Packed"),
    ):
        assert old in text, old
        broken = with_module(kernel, assemble(text.replace(old, new), (1, 6)))
        with pytest.raises(AssertionError):
            check_exact(vulkan, spec, broken)
