"""The bars for attention on tensor cores, which no update of a budget can move.

The yardstick is FlashAttention 2, compiled by nvcc for sm_80: warp instructions of the loop for 64
queries and 64 keys, whatever the tile.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen import pipeline, targets
from kgen.schedule import MmaAttention
from kgen.spec import Attention, DType
from kgen.targets.base import BuiltKernel
from kgen.targets.cuda import FAMILY, STAGED_HEAD
from kgen.targets.cuda.assemble import SERIES, version
from tests.assemble.sass import goes_to, innermost, matrix, opcodes, read

#: Warp instructions for 64 x 64 scores, by the elements of a head.
BARS = {64: 1170, 128: 1830}
SCORES = 64 * 64


def build(size: int, dtype: DType) -> BuiltKernel:
    shape = (4, 16, 2048, size)
    return pipeline.kernel(Attention(q=shape, k=shape, dtype=dtype), targets.find("sm_80"))


def rescaling(instructions: list[dict[str, str]], loop: range) -> range:
    """Return the places that a branch behind the vote jumps over unless a maximum grew."""
    vote = next(i for i in loop if instructions[i]["opcode"].startswith("VOTE"))
    branch = next(i for i in loop if i > vote and goes_to(instructions, i))
    stop = goes_to(instructions, branch)
    assert stop is not None and stop in loop
    return range(branch + 1, stop)


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@pytest.mark.parametrize("size", BARS)
def test_hot_loop(size: int, dtype: DType, tmp_path: Path) -> None:
    """Count the instructions of a block of keys without the rescaling that few blocks need."""
    assert version().startswith(SERIES)
    kernel = build(size, dtype)
    assert (kernel.assembled.resources.spills, kernel.assembled.resources.stack) == (0, 0)
    schedule = kernel.plan.schedule
    assert isinstance(schedule, MmaAttention)
    instructions = read(kernel.assembled.artifacts[0].data, tmp_path)
    loop = innermost(instructions)
    counts = opcodes(instructions, loop)
    rescaled = opcodes(instructions, rescaling(instructions, loop))
    scores = schedule.block_m * schedule.block_n // schedule.num_warps
    # Both products, 2048 multiply-adds each instruction.
    assert matrix(counts) == counts["HMMA"] == scores * 2 * size // 2048
    assert matrix(rescaled) == 0
    executed = counts.total() - rescaled.total()
    assert executed * SCORES <= BARS[size] * scores, dict(counts.most_common())
    # An exponential for each score.
    assert (counts["MUFU"] - rescaled["MUFU"]) * 32 <= 1.06 * scores


@pytest.mark.parametrize("size", [16, 40, 64, 96, 128, 256])
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_120"])
def test_no_candidate_near_the_best_spills(size: int, target: str) -> None:
    if target == "sm_75" and size > STAGED_HEAD:
        return
    shape = (4, 16, 2048, size)
    spec = Attention(q=shape, k=shape, causal=True)
    for candidate in FAMILY.candidates(spec, targets.find(target))[:3]:
        kernel = pipeline.kernel(spec, targets.find(target), candidate.schedule)
        assert kernel.assembled.resources.spills == 0, candidate.schedule.line
