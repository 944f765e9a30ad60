"""Conversions of f16 by lavapipe, which keeps subnormal numbers without saying so: its modules
lack that execution mode."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kgen.spec import DType, Elementwise, Matmul, Rowwise, Spec
from kgen.targets.base import BuiltKernel
from kgen.targets.vulkan.plan.vulkan_plan import FLOAT_MODES
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from kgen_runtime.backends.vulkan.requirements import rank
from tests import needs
from tests.device.vulkan.kernels.test_matmul import check_exact
from tests.device.vulkan.vulkan_support import build, loadable, run

KEEPS = "DenormPreserve"
CONVERTED = Elementwise(expression="x", shapes=((0x10000,),), dtype=DType.F32, out_dtype=DType.F16)


def without_its_mode(kernel: BuiltKernel) -> BuiltKernel:
    """Return the kernel without the execution mode that keeps subnormal numbers."""
    machine, source, *_ = kernel.assembled.artifacts
    lines = source.data.decode().splitlines(keepends=True)
    text = "".join(line for line in lines if KEEPS not in line.split(";")[0])
    features = [f for f in machine.requires["features"] if f != FLOAT_MODES[KEEPS]]
    machine = dataclasses.replace(
        machine,
        data=assemble(text, (1, 6)),
        requires={**machine.requires, "features": features},
    )
    assembled = dataclasses.replace(kernel.assembled, artifacts=(machine, source))
    return dataclasses.replace(kernel, assembled=assembled)


@pytest.fixture(autouse=True)
def has_the_modes(vulkan: VulkanBackend) -> None:
    missing = {*FLOAT_MODES.values()} - {FLOAT_MODES[KEEPS], *vulkan.info.capabilities["features"]}
    needs.absent(f"the driver lacks {missing}") if missing else None


def test_every_f16_and_its_neighbours(vulkan: VulkanBackend) -> None:
    """Inputs are the ties between two f16 and their neighbours in f32; NaN stays NaN."""
    halves = np.arange(0x10000, dtype=np.uint16).view(np.float16).astype(np.float32)
    kernel = without_its_mode(build(CONVERTED))
    for steps in (0, 0x0FFF, 0x1000, 0x1001, 0x1800):
        x = (halves.view(np.uint32) + np.uint32(steps)).view(np.float32)
        with np.errstate(over="ignore"):
            wanted = x.astype(np.float16)
        got = run(vulkan, kernel, {"x": x})
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(got.view(np.uint16)[numbers], wanted.view(np.uint16)[numbers])


def test_a_product(vulkan: VulkanBackend) -> None:
    spec = Matmul(m=65, n=66, k=67, beta=1.0)
    check_exact(vulkan, spec, without_its_mode(build(spec)))


@pytest.mark.parametrize(
    "spec", [Matmul(m=33, n=34, k=35), Rowwise(expression="softmax(x)", shapes=((3, 70),))]
)
def test_both_modules_are_there(spec: Spec) -> None:
    """A device that rounds gets the module without integer rounding."""
    kernel = build(spec)
    first, _, second, *_ = loadable(kernel)[0].artifacts
    assert {*FLOAT_MODES.values()} <= {*first.requires["features"]}
    assert not {*FLOAT_MODES.values()} & {*second.requires.get("features", ())}
    assert rank(first) > rank(second)
    assert "RoundingModeRTE 16" in kernel.source.text and "%f16_out_odd" not in kernel.source.text
