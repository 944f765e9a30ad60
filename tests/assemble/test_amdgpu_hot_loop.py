"""Limits of instructions in the main loops of AMD's matrix instructions, as LLVM compiles them.
Loops are compared by instructions per matrix cycle, a clock in which matrix instructions keep a
SIMD busy (targets/amdgpu/matrix_cycles.py)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kgen import pipeline, targets
from kgen.schedule import Overrides
from kgen.spec import Layout, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.assemble import assembly

MATRIX = re.compile(r"v_(s?w?mfma|wmma)")
#: Matrix cycles of the loops below.
CYCLES = {"gfx90a": 2048, "gfx942": 1024, "gfx950": 1024, "gfx1100": 2048, "gfx1201": 1024}
#: Instructions, if none, one or both of the operands are transposed on their way to LDS.
BARS = {
    "gfx90a": (89, 119, 137),
    "gfx942": (89, 119, 137),
    "gfx950": (133, 181, 215),
    "gfx1100": (217, 261, 309),
    # Loads transpose.
    "gfx1201": (183, 185, 183),
}
#: The same for an odd N, in nn.
ODD = {"gfx90a": 140, "gfx942": 140, "gfx950": 224, "gfx1100": 300, "gfx1201": 226}
#: One workgroup for each block tile: around shares of k is a loop that has other products as well.
TILE: Overrides = {"mainloop": "mma", "block_m": 128, "block_n": 128, "num_workgroups": 0}
TRANSPOSED = {Layout.NT: 0, Layout.NN: 1, Layout.TT: 1, Layout.TN: 2}
#: What Triton 3.9 makes of 4096x4096x4096 f16 in layouts nt and nn: instructions, matrix cycles.
TRITON = {
    "gfx90a": (103, 205, 1024),
    "gfx942": (152, 162, 1024),
    "gfx950": (119, 122, 1024),
    "gfx1100": (122, 153, 1024),
    "gfx1201": (109, 131, 512),
}
#: gfx950 is behind Triton with tiles of 128 x 128: its loop waits for LDS more often.
AHEAD_OF_TRITON = tuple(name for name in TRITON if name != "gfx950")


def branches(text: str) -> list[str]:
    """Return the branches after the entry, which loads arguments that are not preloaded."""
    _, _, body = text.partition("%entry")
    return re.findall(r"^\s+s_c?branch", body, re.MULTILINE)


def hot_loop(text: str) -> list[str]:
    """Return the loop with the most matrix instructions."""
    return max(loops(text), key=lambda loop: sum(map(bool, map(MATRIX.match, loop))))


def loops(text: str) -> list[list[str]]:
    """Return the instructions from each label to a branch back to it."""
    lines = [line.partition(";")[0].strip() for line in text.splitlines()]
    labels = {line[:-1]: n for n, line in enumerate(lines) if line.startswith(".LBB")}
    found = []
    for end, line in enumerate(lines):
        start = labels.get(line.rpartition(" ")[2], end) if "branch" in line else end
        if start < end:
            found.append([x for x in lines[start + 1 : end + 1] if x and not x.startswith(".")])
    return found


def code(name: str, **fields: Any) -> str:
    target = targets.find(name)
    spec = Matmul(**{"m": 4096, "n": 4096, "k": 4096, **fields})
    plan = pipeline.plan(spec, target, pipeline.schedule_for(spec, target, TILE))
    return assembly(pipeline.source(plan).text, target)


@pytest.mark.parametrize("layout", tuple(Layout))
@pytest.mark.parametrize("name", BARS)
def test_hot_loop(name: str, layout: Layout) -> None:
    text = code(name, layout=layout)
    assert re.findall(r"; ScratchSize: (\d+)", text) == ["0"]
    loop = hot_loop(text)
    products = [n for n, line in enumerate(loop) if MATRIX.match(line)]
    cycles = [FAMILY.matrix_cycles(targets.find(name), loop[n].split()[0]) for n in products]
    assert sum(cycle or 0 for cycle in cycles) == CYCLES[name]
    assert len(loop) <= BARS[name][TRANSPOSED[layout]]
    # Addresses are constants: vector instructions transpose, and nothing else.
    assert {line.split()[0] for line in loop if line.startswith("v_")} <= {
        loop[products[0]].split()[0],
        *(["v_perm_b32"] if TRANSPOSED[layout] else []),
    }
    # In each of the two steps the next tile is asked for before the products and waited for after
    # them, by scalar bases.
    half = len(products) // 2
    for step in products[:half], products[half:]:
        between = loop[step[0] : step[-1]]
        assert not any(re.search(r"global_load|vmcnt|wait_loadcnt", line) for line in between)
    loads = [line for line in loop if line.startswith("global_load")]
    assert loads and all(re.search(r", s\[\d+:\d+\]", line) for line in loads)


@pytest.mark.parametrize("name", AHEAD_OF_TRITON)
def test_fewer_instructions_per_matrix_cycle_than_triton(name: str) -> None:
    *triton, triton_cycles = TRITON[name]
    for ours, theirs in zip(BARS[name][:2], triton, strict=True):
        assert ours / CYCLES[name] < theirs / triton_cycles


@pytest.mark.parametrize("name", ODD)
def test_an_odd_n(name: str) -> None:
    """Loads are as wide as with an even N, and no part of the output is behind a branch."""
    text = code(name, n=4095)
    assert re.findall(r"; ScratchSize: (\d+)", text) == ["0"]
    loop = hot_loop(text)
    assert len(loop) <= ODD[name]
    assert not any("ushort" in line or "u16" in line for line in loop)
    assert len(branches(text)) == 1


@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
def test_everything_odd_takes_one_branch(layout: Layout) -> None:
    text = code("gfx942", m=4095, n=4097, k=4099, layout=layout)
    assert re.findall(r"; ScratchSize: (\d+)", text) == ["0"]
    assert len(branches(text)) == 1
