"""Additions of a formula are done as they stand: a driver that may moves a constant from one to
another, and what rounds is then another number."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.schedule import GpuRows
from kgen.spec import DType, Elementwise, Rowwise
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import Values, build, run

SIZE = 1024
THREE = np.float32(3)


def near() -> tuple[Values, Values]:
    """Return numbers in pairs that differ by at most 1/16, so that their differences are exact."""
    rng = np.random.default_rng(5)
    x = rng.uniform(1024, 4096, SIZE).astype(np.float32)
    return x, x - rng.integers(-512, 512, SIZE).astype(np.float32) * np.float32(2**-12)


@pytest.mark.parametrize("text", ["3 + (x - y)", "(x + 3) - 3", "(x * y + 3) - 3"])
def test_elements(vulkan: VulkanBackend, text: str) -> None:
    x, y = near()
    inputs = {"x": x} | ({"y": y} if "y" in text else {})
    spec = Elementwise(expression=text, shapes=((SIZE,),) * len(inputs), dtype=DType.F32)
    wanted = eval(text.replace("3", "THREE"), {"THREE": THREE, **inputs})
    np.testing.assert_array_equal(run(vulkan, build(spec), inputs), wanted)


@pytest.mark.parametrize("vector", [1, 4])
@pytest.mark.parametrize("resident", [0, 1])
def test_terms_of_a_row(vulkan: VulkanBackend, resident: int, vector: int) -> None:
    """The row's largest number is 1."""
    x, y = near()
    shape = (4, SIZE // 4)
    spec = Rowwise(expression="(3 + (x - y)) * amax(one)", shapes=(shape,) * 3, dtype=DType.F32)
    schedule = GpuRows(num_threads=64, vector=vector, resident=resident)
    inputs = {"x": x, "y": y, "one": np.ones(SIZE, np.float32)}
    got = run(vulkan, build(spec, schedule=schedule), inputs)
    np.testing.assert_array_equal(got, THREE + (x - y))
