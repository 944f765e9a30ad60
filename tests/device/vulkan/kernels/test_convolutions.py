"""Convolutions on Vulkan drivers: exact whole numbers, and what happens without guards."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen import pipeline
from kgen.schedule import FmaMatmul
from kgen.spec import Conv2d
from kgen.spec.text import parse
from kgen.targets.base import BuiltKernel
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import NUMPY, Values, build, run
from tests.drivers import LAVAPIPE, LAYER_LOG

#: Images of one pixel; a kernel larger than the image; stride above the kernel; dilation 3; one
#: channel, 3, 7 and 64; K-tiles within a filter position and across several; one axis and three.
CASES = {
    "pixel": "conv2d 2x16x1x1,8x16x3x3 f16 padding=1",
    "large-kernel": "conv2d 1x8x2x3,8x8x5x5 f16 padding=2",
    "stride": "conv2d 1x8x9x9,8x8x2x2 f16 padding=1 stride=3",
    "dilation": "conv2d 1x8x5x5,8x8x3x3 f16 padding=3 dilation=3",
    "one-channel": "conv2d 1x1x5x6,8x1x3x3 f32 padding=1",
    "three-channels": "conv2d 1x3x9x7,8x3x7x7 f16 padding=3 stride=2",
    "seven-channels": "conv2d 1x7x4x5,9x7x3x3 bf16 padding=1",
    "within-positions": "conv2d 2x64x5x6,24x64x3x3 f16 padding=1",
    "no-padding": "conv2d 1x32x4x5,8x32x3x2 f32",
    "pointwise-stride": "conv2d 2x32x5x5,8x32x1x1 f16 stride=2",
    "one-axis": "conv2d 2x16x11,8x16x5 f16 padding=2",
    "three-axes": "conv2d 1x8x3x4x5,8x8x3x2x3 f16 padding=1x0x1",
}


def convolution(name: str) -> Conv2d:
    spec = parse(CASES[name])
    assert isinstance(spec, Conv2d)
    return spec


def expected(spec: Conv2d, images: Values, weights: Values) -> Values:
    """The definition, place by place of the kernel, in binary64."""
    found = np.zeros((spec.images, *spec.out_sizes, spec.outputs))
    every = slice(None)
    positions: Iterator[tuple[Any, ...]] = itertools.product(*map(range, spec.out_sizes))
    for position in positions:
        for place in itertools.product(*map(range, spec.kernel)):
            axes = zip(position, place, spec.strides, spec.dilations, spec.pads, strict=True)
            at: tuple[Any, ...] = tuple(
                p * step + k * apart - before for p, k, step, apart, (before, _) in axes
            )
            if all(0 <= i < size for i, size in zip(at, spec.sizes, strict=True)):
                found[(every, *position)] += images[(every, *at)] @ weights[place]
    return found


def check_exact(vulkan: VulkanBackend, spec: Conv2d, kernel: BuiltKernel) -> None:
    """Every output is the exact result, rounded once."""
    generator = np.random.default_rng(1)
    dtype = NUMPY[spec.dtype]
    a = generator.integers(-3, 3, spec.parameter("a").shape, endpoint=True).astype(dtype)
    b = generator.integers(-3, 3, spec.parameter("b").shape, endpoint=True).astype(dtype)
    got = run(vulkan, kernel, {"a": a.reshape(-1), "b": b.reshape(-1)})
    # From outputs first to the places of the kernel, channels and outputs.
    weights = np.moveaxis(b.astype(np.float64), 0, -1)
    wanted = expected(spec, a.astype(np.float64), weights).astype(dtype)
    np.testing.assert_array_equal(got.reshape(wanted.shape), wanted)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3", "vulkan1.3+cpu"])
def test_convolution(vulkan: VulkanBackend, name: str, target: str) -> None:
    spec = convolution(name)
    check_exact(vulkan, spec, build(spec, target))


#: Two rows of block tiles, the second of which ends early, and a K-tile in one stage.
SCHEDULE = FmaMatmul(block_m=16, block_n=16, block_k=8, num_stages=1, thread_m=2, thread_n=4)
#: A guard dropped, for a row and for a column; masks off by one; a step from another position; the
#: step of the first K-tile again; a start without padding.
WRONG = {
    "no-guard": (
        "%next_a0_exists = OpLogicalAnd %bool %next_a0_all0 %next_a0_guard1_holds",
        "%next_a0_exists = OpLogicalAnd %bool %next_a0_all0 %next_a0_all0",
    ),
    "end-off-by-one": ("%next_a0_guard0 %uint_5", "%next_a0_guard0 %uint_4"),
    "guard-without-padding": (
        "%a_edge0_guard0 = OpIAdd %uint %a_edge0_digit0 %uint_4294967295",
        "%a_edge0_guard0 = OpIAdd %uint %a_edge0_digit0 %uint_0",
    ),
    "another-position": (
        "%next_a_k0_index_term1 = OpIMul %uint %next_a_k0_digit1",
        "%next_a_k0_index_term1 = OpIMul %uint %next_a_k0_digit0",
    ),
    "stale-step": (
        "%next_a_start = OpIMul %uint %next_k_tile",
        "%next_a_start = OpIMul %uint %uint_0",
    ),
    "no-padding": (
        "%a_edge0_index_sum0 = OpIAdd %uint %a_edge0_index_term0 %uint_4294967286",
        "%a_edge0_index_sum0 = OpIAdd %uint %a_edge0_index_term0 %uint_0",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_mutations_are_seen(vulkan: VulkanBackend, name: str) -> None:
    spec = parse("conv2d 1x8x5x4,8x8x3x3 f32 padding=1")
    assert isinstance(spec, Conv2d)
    kernel = build(spec, "vulkan1.1", SCHEDULE)
    check_exact(vulkan, spec, kernel)
    old, new = WRONG[name]
    text = pipeline.source(kernel.plan).text
    assert text.count(old) == 1, old
    machine, *others = kernel.assembled.artifacts
    broken = dataclasses.replace(machine, data=assemble(text.replace(old, new), (1, 3)))
    assembled = dataclasses.replace(kernel.assembled, artifacts=(broken, *others))
    with pytest.raises(AssertionError):
        check_exact(vulkan, spec, dataclasses.replace(kernel, assembled=assembled))


#: By cooperative matrices, and what is wrong with a module for 8x8x8 on purpose.
COOPERATIVE = """
from tests.device.vulkan.kernels.test_convolutions import CASES, check_exact, convolution
from tests.device.vulkan.vulkan_support import build, open_vulkan

vulkan = open_vulkan()
loops = set()
for name in CASES:
    spec = convolution(name)
    kernel = build(spec, "vulkan1.3+coopmat")
    loops.add(kernel.plan.schedule.mainloop)
    check_exact(vulkan, spec, kernel)
assert loops == {"coopmat", "fma"}, loops
vulkan.close()
print("all exact")
"""
COOPERATIVE_WRONG = """
import dataclasses
from kgen.targets.vulkan.spirv import assemble
from tests.device.vulkan.kernels.test_convolutions import check_exact, convolution
from tests.device.vulkan.vulkan_support import build, open_vulkan

vulkan = open_vulkan()
spec = convolution("within-positions")
kernel = build(spec, "vulkan1.3+coopmat")
*_, machine, source = kernel.assembled.artifacts
text = source.data.decode()
for old, new in (
    ("%next_a0_exists = OpLogicalAnd %bool %next_a0_all0 %next_a0_guard1_holds",
     "%next_a0_exists = OpLogicalAnd %bool %next_a0_all0 %next_a0_all0"),
    ("%next_a0_guard0 %uint_5", "%next_a0_guard0 %uint_4"),
    ("%next_a0_k_index_term1 = OpIMul %uint %next_a0_k_digit1",
     "%next_a0_k_index_term1 = OpIMul %uint %next_a0_k_digit0"),
    ("%next_a_first_k = OpIMul %uint %next_k_tile", "%next_a_first_k = OpIMul %uint %uint_0"),
):
    assert old in text, old
    broken = dataclasses.replace(machine, data=assemble(text.replace(old, new), (1, 6)))
    assembled = dataclasses.replace(kernel.assembled, artifacts=(broken, source))
    try:
        check_exact(vulkan, spec, dataclasses.replace(kernel, assembled=assembled))
    except AssertionError:
        print("seen:", old)
vulkan.close()
"""


def test_cooperative_matrices_are_exact_and_without_races(tmp_path: Path) -> None:
    assert "all exact" in LAVAPIPE.python("-c", COOPERATIVE, layer=tmp_path).stdout
    log = tmp_path / LAYER_LOG
    assert (log.read_text() if log.exists() else "") == ""


def test_mutations_of_cooperative_matrices_are_seen() -> None:
    out = LAVAPIPE.python("-c", COOPERATIVE_WRONG).stdout
    assert out.count("seen:") == 4, out
