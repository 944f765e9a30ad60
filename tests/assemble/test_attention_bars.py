"""Limits of instructions in attention loops on tensor cores, which `kgen perf update` cannot raise.
The yardsticks are FlashAttention 2 and 3, compiled by nvcc for sm_80 and sm_90a: warp instructions
of the loop for 64 queries and 64 keys, whatever the tile."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen import pipeline, targets
from kgen.schedule import MmaAttention, Schedule, WgmmaAttention
from kgen.spec import Attention, DType
from kgen.targets.cuda import FAMILY, STAGED_HEAD
from kgen.targets.cuda.assemble import SERIES, version
from tests.assemble.sass import goes_to, innermost, matrix, opcodes, read

#: Warp instructions for 64 x 64 scores, by the target and the elements of a head.
BARS = {("sm_80", 64): 1170, ("sm_80", 128): 1830, ("sm_90a", 64): 900, ("sm_90a", 128): 940}
SCORES = 64 * 64
#: Elements of a head.
SIZES = (16, 40, 64, 96, 128, 256)


def rescaling(instructions: list[dict[str, str]], loop: range) -> range:
    """Return the range of instructions that is skipped unless a maximum grew."""
    vote = next(i for i in loop if instructions[i]["opcode"].startswith("VOTE"))
    branch = next(i for i in loop if i > vote and goes_to(instructions, i))
    stop = goes_to(instructions, branch)
    assert stop is not None and stop in loop
    return range(branch + 1, stop)


def products(schedule: Schedule, size: int) -> tuple[int, int]:
    """Return the scores that a warp computes for a block, and its matrix instructions: wgmma with
    16 rows for each warp and 16 of k, or mma.sync with 2048 multiply-adds."""
    if isinstance(schedule, WgmmaAttention):
        return 16 * schedule.block_n, (size + schedule.block_n) // 16
    assert isinstance(schedule, MmaAttention)
    scores = schedule.block_m * schedule.block_n // schedule.num_warps
    return scores, scores * 2 * size // 2048


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@pytest.mark.parametrize(("target", "size"), BARS)
def test_hot_loop(target: str, size: int, dtype: DType, tmp_path: Path) -> None:
    """Count the instructions of a block of keys without the rescaling that few blocks need."""
    assert version().startswith(SERIES)
    shape = (4, 16, 2048, size)
    spec = Attention(q=shape, k=shape, dtype=dtype)
    kernel = pipeline.kernel(spec, targets.find(target))
    resources = kernel.assembled.resources
    assert (resources.spills, resources.stack, resources.findings) == (0, 0, ())
    instructions = read(kernel.assembled.artifacts[0].data, tmp_path)
    loop = innermost(instructions)
    counts = opcodes(instructions, loop)
    rescaled = opcodes(instructions, rescaling(instructions, loop))
    scores, expected = products(kernel.plan.schedule, size)
    assert matrix(counts) == expected
    assert matrix(rescaled) == 0
    executed = counts.total() - rescaled.total()
    assert executed * SCORES <= BARS[target, size] * scores, dict(counts.most_common())
    # An exponential for each score.
    assert (counts["MUFU"] - rescaled["MUFU"]) * 32 <= 1.06 * scores


@pytest.mark.parametrize(
    ("target", "size", "dtype"),
    [
        *(("sm_75", size, "f16") for size in SIZES if size <= STAGED_HEAD),
        *((target, size, "f16") for target in ("sm_80", "sm_90a", "sm_120") for size in SIZES),
        ("sm_90a", 160, "e4m3"),
        ("sm_90a", 256, "e4m3"),
    ],
)
def test_no_candidate_near_the_best_spills(target: str, size: int, dtype: str) -> None:
    shape = (4, 16, 2048, size)
    spec = Attention(q=shape, k=shape, causal=True, dtype=DType(dtype))
    for candidate in FAMILY.candidates(spec, targets.find(target))[:3]:
        kernel = pipeline.kernel(spec, targets.find(target), candidate.schedule)
        resources = kernel.assembled.resources
        assert (resources.spills, resources.findings) == (0, ()), candidate.schedule.line


def test_no_tile_of_warpgroups_spills_with_every_limit() -> None:
    """Build the widest block of keys that registers allow, for each number of consumers."""
    target = targets.find("sm_90a")
    spec = Attention(
        q=(2, 4, 500, 64), k=(2, 2, 333, 64), causal=True, window=90, mask=(500, 333),
        mask_dtype="f32", kv_length=True, lse=True,
    )  # fmt: skip
    tiles = [c.schedule for c in FAMILY.candidates(spec, target)]
    for block_m in (64, 128, 192):
        mine = [s for s in tiles if isinstance(s, WgmmaAttention) and s.block_m == block_m]
        widest = max(mine, key=lambda each: (each.block_n, each.pingpong))
        resources = pipeline.kernel(spec, target, widest).assembled.resources
        assert (resources.spills, resources.findings) == (0, ()), widest.line
