"""16-bit and 8-bit elements that share words, in the modules for devices without narrow storage."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kgen.spec.text import parse
from kgen.targets.base import BuiltKernel
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import build, run

ATOMIC = "_replaced = OpAtomicXor %uint %out0_shared %uint_1 %uint_0 %out0_changed"


def words_of(line: str, change: tuple[str, str] = ("", "")) -> BuiltKernel:
    """Return the kernel with only its last module, which is edited."""
    kernel = build(parse(line))
    module, text = kernel.assembled.artifacts[-2:]
    assert module.extension == "words.spv"
    changed = text.data.decode().replace(*change) if change[0] else text.data.decode()
    assert not change[0] or changed != text.data.decode()
    module = dataclasses.replace(module, data=assemble(changed, (1, 6)))
    assembled = dataclasses.replace(kernel.assembled, artifacts=(module, text))
    return dataclasses.replace(kernel, assembled=assembled)


@pytest.mark.parametrize("line", ["-x 3x333 f16", "-x 7 f16", "-x 1 bf16", "x*2 5x33 s8"])
def test_neighbours_are_left_alone(vulkan: VulkanBackend, line: str) -> None:
    """Other elements of a word, and those after the tensor, do not change."""
    spec = parse(line)
    x = np.random.default_rng(1).integers(-60, 60, spec.parameters[0].extent)
    found = run(vulkan, words_of(line), {"x": x}).astype(np.int64)
    np.testing.assert_array_equal(found, 2 * x if "*" in line else -x)


def test_a_store_that_is_not_atomic_is_seen(vulkan: VulkanBackend) -> None:
    """Two invocations change the same word, and one change is lost."""
    line = "-x 3x333 f16"
    broken = words_of(line, (f"%out0{ATOMIC}", "OpStore %out0_shared %out0_after"))
    x = np.random.default_rng(1).integers(1, 60, 999)
    assert (run(vulkan, broken, {"x": x}).astype(np.int64) != -x).any()
