"""Limits of instructions in AMD's attention loops, which `kgen perf update` cannot raise. The
yardstick is Triton 3.9 in f16: instructions of the loop for 64 queries and 64 keys, whatever the
tile."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline, targets
from kgen.schedule import MmaAttention, PingPongAttention
from kgen.spec import Attention, DType
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.assemble import assembly
from tests.assemble.test_amdgpu_hot_loop import MATRIX

#: Instructions for 64 x 64 scores, by the elements of a head.
BARS = {
    "gfx942": {64: 470, 128: 680},
    "gfx950": {64: 375, 128: 610},
    "gfx1100": {64: 1800, 128: 2800},
    "gfx1201": {64: 1200, 128: 2200},
}
SCORES = 64 * 64
#: Lines with an instruction; those that begin a block, with its label and its name in the source.
INSTRUCTION = re.compile(r"\s+([a-z]\w+)")
BLOCK = re.compile(r"(\.LBB\w+|; %bb\.\d+):.*; %([\w.]+)")
BRANCH = re.compile(r"\s+s_c?branch\w*\s+(\.LBB\w+)")
#: Blocks that few blocks of keys need: new maxima, very large scores.
RARE = ("rescale", "subtract")


def loop_blocks(text: str) -> list[tuple[str, list[str]]]:
    """Return the names and opcodes of the blocks of the loop, from its label to the branch back."""
    blocks: list[tuple[str, list[str]]] = [("", [])]
    labels: dict[str, int] = {}
    ranges = []
    for line in text.partition("s_endpgm")[0].splitlines():
        if found := BLOCK.match(line):
            blocks.append((found[2], []))
            labels[found[1]] = len(blocks) - 1
        elif opcode := INSTRUCTION.match(line):
            blocks[-1][1].append(opcode[1])
            branch = BRANCH.match(line)
            if branch and branch[1] in labels:
                ranges.append((labels[branch[1]], len(blocks)))
    first, end = max(ranges, key=lambda found: found[1] - found[0])
    return blocks[first:end]


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@pytest.mark.parametrize(
    ("target", "size"), [(target, size) for target, bars in BARS.items() for size in bars]
)
def test_hot_loop(target: str, size: int, dtype: DType) -> None:
    """Count the instructions of a block of keys that most blocks execute."""
    shape = (4, 16, 2048, size)
    kernel = pipeline.kernel(Attention(q=shape, k=shape, dtype=dtype), targets.find(target))
    assert (kernel.assembled.resources.spills, kernel.assembled.resources.stack) == (0, 0)
    schedule = kernel.plan.schedule
    assert isinstance(schedule, MmaAttention)
    blocks = loop_blocks(assembly(kernel.source.text, kernel.plan.target))
    assert {name for name, _ in blocks} > set(RARE)
    executed = [op for name, ops in blocks if name not in RARE for op in ops]
    scores = schedule.block_m * schedule.block_n // schedule.num_warps
    assert len(executed) * SCORES <= BARS[target][size] * scores
    exponentials = sum(op.startswith("v_exp") for op in executed)
    assert exponentials * targets.find(target).subgroup == scores
    products = sum(bool(MATRIX.match(op)) for op in executed)
    # Products come before another wave's weights where vector units work beside MFMA.
    alternates = isinstance(schedule, PingPongAttention)
    raised = 0 if target not in ("gfx942", "gfx950") else 2 if alternates else 1
    assert executed.count("s_setprio") == 2 * raised
    shapes = {"gfx942": 32 * 32 * 8, "gfx950": 32 * 32 * 16}
    assert products * shapes.get(target, 16 * 16 * 16) == scores * 2 * size


@pytest.mark.parametrize("size", [40, 64, 96, 128, 256])
@pytest.mark.parametrize("target", ["gfx90a", *BARS])
def test_the_best_candidate_does_not_spill(target: str, size: int) -> None:
    shape = (4, 16, 2048, size)
    spec = Attention(q=shape, k=shape, causal=True)
    candidate = FAMILY.candidates(spec, targets.find(target))[0]
    kernel = pipeline.kernel(spec, targets.find(target), candidate.schedule)
    assert kernel.assembled.resources.spills == 0, candidate.schedule.line


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_limits_of_keys_stay_in_scalar_registers(target: str) -> None:
    """The loop has one buffer for all lanes, although its size depends on a length."""
    spec = Attention(q=(4, 16, 2048, 64), k=(4, 16, 2048, 64), kv_length=True)
    plan = pipeline.plan(spec, targets.find(target))
    blocks = loop_blocks(assembly(pipeline.source(plan).text, plan.target))
    assert not [op for _, ops in blocks for op in ops if "saveexec" in op or "med3" in op]
