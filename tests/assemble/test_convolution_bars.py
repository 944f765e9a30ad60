"""Limits of implicit GEMM, which `kgen perf update` cannot raise: at most 1.15 times the
instructions per matrix instruction of the matmul with the same tile, no spills, no bank conflicts,
and at most 1.1 times the sectors that the bytes need."""

from __future__ import annotations

import pytest

from kgen import bundle, pipeline, targets
from kgen.check import profile
from kgen.check.static import hot_loop
from kgen.check.static.hot_loop import Loop
from kgen.check.static.machine_code import MachineInstruction, parse_assembly, parse_cubin
from kgen.check.verify.run import opened
from kgen.spec import Conv2d, Matmul, Spec
from kgen.spec.text import parse
from kgen.targets.amdgpu.assemble import assembly

MOST = 1.15
#: One K-tile, or four, within each filter position.
CONVOLUTIONS = (
    "conv2d 1x64x56x56,64x64x3x3 f16 padding=1",
    "conv2d 1x256x14x14,512x256x3x3 f16 padding=1",
)
TILES = {
    "64x64x64": {"block_m": 64, "block_n": 64, "block_k": 64, "warp_m": 32, "warp_n": 32},
    "128x64x64": {"block_m": 128, "block_n": 64, "block_k": 64, "warp_m": 64, "warp_n": 32},
    "128x128x32": {"block_m": 128, "block_n": 128, "block_k": 32, "warp_m": 64, "warp_n": 64},
}
CASES = [(target, tile) for target in ("sm_80", "gfx942", "gfx1100") for tile in TILES]
CASES.append(("sm_90a", "128x128x32"))
STAGES = {name: {"num_stages": 3, "split_k": 1} for name in ("sm_80", "sm_90a")}
#: Smaller images, whose workgroups read alike.
READ = (
    "conv2d 1x64x14x14,64x64x3x3 f16 padding=1",
    "conv2d 1x256x7x7,64x256x3x3 f16 padding=1",
)
MOST_SECTORS = 1.1


def loop_of(spec: Spec, target: str, schedule: dict[str, int]) -> Loop:
    """Return the hot loop of a kernel that must not spill."""
    found = targets.find(target)
    fields = schedule | STAGES.get(target, {"num_stages": 2})
    kernel = pipeline.kernel(spec, found, pipeline.schedule_for(spec, found, fields))
    code: list[MachineInstruction]
    if found.family == "cuda":
        code = parse_cubin(kernel.assembled.artifacts[0].data, kernel.name)
    else:
        code = parse_assembly(assembly(kernel.source.text, found))
    assert not any(each.spill for each in code)
    loop = hot_loop.find(code, hot_loop.WORDS[found.family])
    assert loop is not None and not loop.unrolled
    return loop


@pytest.mark.parametrize(("target", "tile"), CASES)
def test_instructions_per_matrix_instruction(target: str, tile: str) -> None:
    """The matmul has so long a K that ptxas does not unroll its loop."""
    shares = {}
    for text in CONVOLUTIONS:
        spec = parse(text)
        assert isinstance(spec, Conv2d)
        product = spec.product
        deep = Matmul(m=product.m, n=product.n, k=2304, layout="nt")
        for each in (spec, deep):
            loop = loop_of(each, target, TILES[tile])
            shares[each.op] = loop.instructions / loop.work
        assert shares["conv2d"] <= MOST * shares["matmul"], shares


@pytest.mark.parametrize("text", READ)
@pytest.mark.parametrize("target", ["sm_80", "gfx942", "gfx1100"])
def test_sectors_and_bank_conflicts(target: str, text: str) -> None:
    made = bundle.pack([pipeline.kernel(parse(text), targets.find(target))])
    with opened(made) as reader:
        counted = profile.profile_kernel(reader, reader.manifest.kernels[0])
    assert counted.reason is None
    found = profile.merged(counted.launches)
    assert found["bank_conflicts"] == 0 < found["shared_wavefronts"]
    assert found["global_sectors"] <= MOST_SECTORS * found["global_sectors_ideal"]


def test_a_loop_that_divides_is_above_the_bar() -> None:
    """The offset of one access, computed in the loop by a division, would not pass."""
    spec, target = parse(CONVOLUTIONS[1]), targets.find("gfx942")
    schedule = pipeline.schedule_for(spec, target, TILES["64x64x64"] | {"num_stages": 2})
    source = pipeline.source(pipeline.plan(spec, target, schedule)).text
    slow = source.replace(
        "%a.loop.c0.l0.offset0 = or i32 %a.c0.row0.at,",
        "%odd = or i32 %trip, 1\n"
        "  %slow = udiv i32 %a.c0.row0.at, %odd\n"
        "  %a.loop.c0.l0.offset0 = or i32 %slow,",
    )
    assert slow != source
    counts = []
    for text in (source, slow):
        code = parse_assembly(assembly(text, target))
        loop = hot_loop.find(code, hot_loop.WORDS["amdgpu"])
        assert loop is not None
        counts.append(loop.instructions)
    assert counts[1] > MOST * counts[0]
