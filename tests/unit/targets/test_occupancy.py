"""Occupancy: by hand for NVIDIA, and against LLVM's own output for AMD."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline, targets
from kgen.spec.text import parse
from kgen.targets.amdgpu.assemble import assembly
from kgen.targets.base import Target
from kgen_runtime.manifest import Launch, Resources


def launch(threads: int) -> Launch:
    return Launch(entry_point="k", grid=(1, 1, 1), block=(threads, 1, 1), arguments=())


@pytest.mark.parametrize(
    ("target", "registers", "shared", "threads", "warps", "limits"),
    [
        # 121 registers are given as 128: four warps' worth in each quarter of 65536.
        ("sm_80", 121, 1024, 128, 16, ("registers",)),
        # 81 are given as 88, in steps of eight: 84 would leave room for a sixth warp.
        ("sm_80", 81, 0, 32, 20, ("registers",)),
        ("sm_80", 121, 100 * 1024, 128, 4, ("shared memory",)),
        # A CTA of 80 KiB takes 81 with the system's own: two in 164, as in the guide's table.
        ("sm_80", 128, 80 * 1024, 256, 16, ("registers", "shared memory")),
        ("sm_80", 255, 0, 256, 8, ("registers",)),
        ("sm_80", 32, 0, 1024, 64, ("registers", "threads")),
        ("sm_80", 16, 0, 32, 32, ("CTAs",)),
        ("sm_86", 40, 0, 512, 48, ("registers", "threads")),
        ("sm_75", 64, 32 * 1024, 256, 16, ("shared memory",)),
        ("sm_90a", 168, 210 * 1024, 384, 12, ("registers", "shared memory")),
        # LLVM gives three of four SIMDs a wave each more than the fourth.
        ("gfx942", 128, 0, 256, 4, ("registers",)),
        ("gfx942", 40, 20480, 256, 3, ("LDS",)),
        ("gfx950", 40, 20480, 256, 8, ("LDS", "waves")),
        ("gfx1100", 168, 0, 256, 9, ("registers",)),
    ],
)  # fmt: skip
def test_by_hand(
    target: str, registers: int, shared: int, threads: int, warps: int, limits: tuple[str, ...]
) -> None:
    found = targets.find(target)
    used = Resources(registers=registers, shared_memory=shared)
    occupancy = targets.family(found.family).occupancy(found, used, launch(threads))
    assert occupancy is not None
    assert (occupancy.warps, occupancy.limits) == (warps, limits)


def test_many_scalar_registers_cost_a_wave() -> None:
    target, family = targets.find("gfx90a"), targets.family("amdgpu")
    few, many = (
        family.occupancy(target, Resources(registers=8, scalar_registers=n), launch(64))
        for n in (100, 102)
    )
    assert few is not None and many is not None
    assert (few.warps, many.warps) == (8, 7) and many.limits == ("scalar registers",)


@pytest.mark.integration
@pytest.mark.parametrize("target", targets.family("amdgpu").targets, ids=lambda t: t.name)
@pytest.mark.parametrize(
    "kernel", ["matmul 512x512x512 f16", "matmul 127x131x113 f32 +bias", "softmax(x) 64x50000 f32"]
)
def test_it_is_what_llvm_prints(target: Target, kernel: str) -> None:
    made = pipeline.kernel(parse(kernel), target)
    found = targets.family("amdgpu").occupancy(
        target, made.assembled.resources, made.plan.launches[0]
    )
    (printed,) = re.findall(r"; Occupancy: (\d+)", assembly(made.source.text, target))
    assert found is not None and found.warps == int(printed)
