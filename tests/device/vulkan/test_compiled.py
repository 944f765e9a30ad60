"""What the compilers of AMD's and NVIDIA's drivers make of our kernels, without a GPU."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.drivers import NVK, RADV, Driver


def compiled(driver: Driver, target: str) -> dict[str, dict[str, Any]]:
    """The driver's numbers by kernel."""
    done = driver.python("-m", "tests.device.vulkan.compiled_by", target)
    found = map(json.loads, done.stdout.splitlines())
    return {each["kernel"]: each["numbers"] for each in found}


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
def test_radv(target: str) -> None:
    """On navi31 no register is spilled, and a SIMD holds 8 waves or more."""
    found = compiled(RADV, target)
    assert len(found) == 4
    for kernel, numbers in found.items():
        assert numbers["Spilled VGPRs"] == numbers["Spilled SGPRs"] == 0, kernel
        assert numbers["Scratch size"] == 0 and numbers["Subgroups per SIMD"] >= 8, kernel
    product = found["matmul_1024x1024x1024_f32_nn"]
    assert product["VGPRs"] <= 128 and product["LDS size"] <= 32768


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
def test_nvk(target: str) -> None:
    """On an Ampere GPU no register is spilled, and an SM holds 16 warps or more."""
    found = compiled(NVK, target)
    assert len(found) == 4
    for kernel, numbers in found.items():
        assert numbers["Spills to memory"] == numbers["Fills from memory"] == 0, kernel
        assert numbers["SLM size"] == 0 and numbers["Max warps/SM"] >= 16, kernel
