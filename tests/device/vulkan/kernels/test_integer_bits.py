"""Bitwise operations and shifts of integers on Vulkan; 64 bits are pairs of words."""

from __future__ import annotations

import pytest

from kgen.spec import DType
from kgen_runtime.backends.vulkan import VulkanBackend
from tests import integer_bits
from tests.device.vulkan.vulkan_support import build, run


@pytest.mark.parametrize("dtype", integer_bits.DTYPES)
def test_bits_and_shifts(vulkan: VulkanBackend, dtype: DType) -> None:
    x, y = integer_bits.pairs(dtype)
    for function in integer_bits.FUNCTIONS:
        spec = integer_bits.spec_of(dtype, function, len(x))
        integer_bits.check(x, y, function, run(vulkan, build(spec), {"x": x, "y": y}))
