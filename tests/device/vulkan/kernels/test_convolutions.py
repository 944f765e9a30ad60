"""Convolutions on Vulkan drivers: exact for whole numbers, and wrong without guards."""

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
from kgen.spec import Conv2d, DType
from kgen.spec.text import parse
from kgen.targets.base import BuiltKernel
from kgen.targets.vulkan.plan.matmul.coopmat import CooperativePlan
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan import cooperative_matrices
from tests.device.vulkan.cooperative_matrices import Changes
from tests.device.vulkan.vulkan_support import NUMPY, Values, build, run

#: Images of one pixel; a kernel larger than the image; stride above the kernel; dilation 3; one
#: channel, 3, 7 and 64; K-tiles within a filter position and across several; one axis and three;
#: groups, each of a few channels, of one, of single pixels, of 16 and of three K-tiles a position.
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
    "groups": "conv2d 2x12x4x5,12x3x3x3 f32 padding=1 groups=4 +bias",
    "depthwise": "conv2d 1x7x4x5,7x1x3x3 f16 padding=1 groups=7 +bias",
    "groups-of-pixels": "conv2d 1x64x3x4,48x32x1x1 f16 groups=2 +bias",
    "wide-groups": "conv2d 1x32x5x6,32x16x3x3 f16 padding=1 groups=2 +bias+residual",
    "bytes": "conv2d 2x12x4x5,9x12x3x3 s8 padding=1",
    "single-bytes": "conv2d 1x7x5x6,8x7x3x3 s8 padding=1 stride=2 out=f32 +bias",
    "bytes-in-groups": "conv2d 1x32x4x5,32x16x3x3 s8 padding=1 groups=2 out=f16 +bias",
    "runs-of-bytes": "conv2d 1x128x3x4,16x128x2x2 s8 padding=1",
    "groups-in-odd-runs": "conv2d 1x192x4x4,16x96x2x2 f16 padding=1 groups=2",
    "oihw": "conv2d 1x9x4x5,9x3x3x3 f16 padding=1 groups=3 weight_layout=oihw +bias",
    "nchw": "conv2d 1x7x4x5,9x7x3x3 f32 padding=1 layout=nchw weight_layout=ohwi +bias",
    "nchw-groups": "conv2d 2x12x4x5,9x4x3x3 f16 padding=1 groups=3 layout=nchw +bias+residual",
    "nchw-pixels": "conv2d 2x32x5x5,8x32x1x1 bf16 layout=nchw +bias",
    "nchw-pixels-apart": "conv2d 2x16x11,8x16x1 f16 stride=2 layout=nchw",
    "nchw-three-axes": "conv2d 1x8x3x4x5,8x8x3x2x3 f16 padding=1x0x1 layout=nchw",
    "nchw-bytes": "conv2d 1x12x4x5,9x4x3x3 s8 padding=1 groups=3 layout=nchw out=f32 +bias",
    "groups-of-whole-matrices": "conv2d 1x32x4x4,32x16x3x3 f16 padding=1 groups=2 +bias",
}


def convolution(name: str) -> Conv2d:
    spec = parse(CASES[name])
    assert isinstance(spec, Conv2d)
    return spec


def expected(spec: Conv2d, images: Values, weights: Values) -> Values:
    """Return the convolution in float64, by its definition."""
    found = np.zeros((spec.images, *spec.out_sizes, spec.groups, spec.outputs // spec.groups))
    images = images.reshape((*images.shape[:-1], spec.groups, -1))
    weights = weights.reshape((*weights.shape[:-1], spec.groups, -1))
    every = slice(None)
    positions: Iterator[tuple[Any, ...]] = itertools.product(*map(range, spec.out_sizes))
    for position in positions:
        for place in itertools.product(*map(range, spec.kernel)):
            axes = zip(position, place, spec.strides, spec.dilations, spec.pads, strict=True)
            at: tuple[Any, ...] = tuple(
                p * step + k * apart - before for p, k, step, apart, (before, _) in axes
            )
            if all(0 <= i < size for i, size in zip(at, spec.sizes, strict=True)):
                found[(every, *position)] += np.einsum(
                    "igc,cgo->igo", images[(every, *at)], weights[place]
                )
    return found.reshape((*found.shape[:-2], spec.outputs))


def check_exact(vulkan: VulkanBackend, spec: Conv2d, kernel: BuiltKernel) -> None:
    """Check that every output is the exact result, rounded once."""
    generator = np.random.default_rng(1)
    inputs = {
        p.name: generator.integers(-3, 3, p.shape, endpoint=True).astype(NUMPY[p.dtype])
        for p in spec.parameters
        if p.role == "input"
    }
    wide = {name: values.astype(np.float64) for name, values in inputs.items()}
    if spec.layout == "nchw":
        wide |= {n: np.moveaxis(v, 1, -1) for n, v in wide.items() if n != "b" and v.ndim > 1}
    weights = wide.pop("b")
    if spec.weight_layout == "oihw":
        weights = np.moveaxis(weights, 1, -1)
    # From outputs first to the places of the kernel, channels and outputs.
    wanted = expected(spec, wide.pop("a"), np.moveaxis(weights, 0, -1))
    wanted = sum(wide.values(), wanted).astype(NUMPY[spec.out])
    if spec.layout == "nchw":
        wanted = np.moveaxis(wanted, -1, 1)
    got = run(vulkan, kernel, {name: values.reshape(-1) for name, values in inputs.items()})
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


#: Likewise of single bytes of four steps: a guard dropped, an end off by one, the step of another
#: byte, a row of the first filter position.
WRONG_BYTES = {
    "no-guard": (
        "%next_a0_row1_of_exists = OpLogicalAnd %bool %next_a0_row1_of_all0",
        "%next_a0_row1_of_exists = OpLogicalOr %bool %next_a0_row1_of_all0",
    ),
    "end-off-by-one": ("%next_a0_row2_of_guard1 %uint_4", "%next_a0_row2_of_guard1 %uint_3"),
    "another-byte": (
        "%next_a0_row3_of_k = OpIAdd %uint %next_a0_row3_of_k_first %uint_3",
        "%next_a0_row3_of_k = OpIAdd %uint %next_a0_row3_of_k_first %uint_2",
    ),
    "another-position": (
        "%next_a0_row1_of_k_index_term0 = OpIMul %uint %next_a0_row1_of_k_digit0",
        "%next_a0_row1_of_k_index_term0 = OpIMul %uint %uint_0",
    ),
}
MUTATIONS = {
    **{name: ("conv2d 1x8x5x4,8x8x3x3 f32 padding=1", change) for name, change in WRONG.items()},
    **{
        f"bytes-{name}": ("conv2d 1x7x5x4,8x7x3x3 s8 padding=1", change)
        for name, change in WRONG_BYTES.items()
    },
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_are_seen(vulkan: VulkanBackend, name: str) -> None:
    line, (old, new) = MUTATIONS[name]
    spec = parse(line)
    assert isinstance(spec, Conv2d)
    kernel = build(spec, "vulkan1.1", SCHEDULE if spec.dtype is DType.F32 else None)
    check_exact(vulkan, spec, kernel)
    text = pipeline.source(kernel.plan).text
    assert text.count(old) == 1, old
    machine, *others = kernel.assembled.artifacts
    broken = dataclasses.replace(machine, data=assemble(text.replace(old, new), (1, 3)))
    assembled = dataclasses.replace(kernel.assembled, artifacts=(broken, *others))
    with pytest.raises(AssertionError):
        check_exact(vulkan, spec, dataclasses.replace(kernel, assembled=assembled))


def cooperative(vulkan: VulkanBackend) -> None:
    """Check all cases on a target with cooperative matrices; some kernels use multiply-adds."""
    loops, runs = set(), set()
    for name in CASES:
        spec = convolution(name)
        kernel = build(spec, cooperative_matrices.TARGET)
        loops.add(kernel.plan.schedule.mainloop)
        if isinstance(kernel.plan, CooperativePlan) and kernel.plan.runs:
            runs.add(kernel.plan.runs.are_even)
        check_exact(vulkan, spec, kernel)
    assert loops == {"coopmat", "fma", "unstaged"}, loops
    assert runs == {False, True}, runs


#: Faults of modules for 8x8x8: a guard dropped, a mask off by one, a step from another position, a
#: stale K-tile, also within a position, a stale guard, the stage of another K-tile; the bias of the
#: first group for all.
FAULTS = (
    (
        "within-positions",
        (
            (
                "%next_a0_exists = OpLogicalAnd %bool %next_a0_all0 %next_a0_guard1_holds",
                "%next_a0_exists = OpLogicalAnd %bool %next_a0_all0 %next_a0_all0",
            ),
            ("%next_a0_guard0 %uint_5", "%next_a0_guard0 %uint_4"),
            (
                "%next_a_index_term1 = OpIMul %uint %next_a_digit1",
                "%next_a_index_term1 = OpIMul %uint %next_a_digit0",
            ),
            (
                "%within_along = OpIMul %uint %within_tile_next",
                "%within_along = OpIMul %uint %uint_0",
            ),
            (
                "%first_a0_exists %entry %next_a0_exists %main_continue",
                "%first_a0_exists %entry %first_a0_exists %main_continue",
            ),
            (
                "%within_next_stage_number = OpBitwiseAnd %uint %within_tile_next",
                "%within_next_stage_number = OpBitwiseAnd %uint %within_tile",
            ),
            (
                "%next_a_first_k = OpIMul %uint %next_k_tile",
                "%next_a_first_k = OpIMul %uint %uint_0",
            ),
        ),
    ),
    *(
        (name, (("%vector_first = OpIMul %uint %batch", "%vector_first = OpIMul %uint %uint_0"),))
        for name in ("wide-groups", "groups-of-whole-matrices")
    ),
)


def faults() -> Iterator[tuple[Conv2d, Changes]]:
    return ((convolution(name), changes) for name, changes in FAULTS)


def test_cooperative_matrices_are_exact_and_without_races(tmp_path: Path) -> None:
    cooperative_matrices.check(__name__, tmp_path)


def test_mutations_of_cooperative_matrices_are_seen() -> None:
    cooperative_matrices.check_faults(__name__)
