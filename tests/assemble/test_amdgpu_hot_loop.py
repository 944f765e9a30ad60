"""The bars for the main loops of AMD's matrix instructions, in what LLVM makes of them.

A yardstick is Triton 3.9 with a tile of 128 x 128 x 64: 113 instructions per 32 MFMA on gfx942, 222
on gfx90a, 162 per 32 WMMA on gfx1100, 153 on gfx1201, from one stage of LDS.
"""

from __future__ import annotations

import re

import pytest

from kgen import pipeline, targets
from kgen.schedule import Overrides
from kgen.spec import Layout, Matmul
from kgen.targets.amdgpu.assemble import assembly

MATRIX = re.compile(r"v_(s?w?mfma|wmma)")
#: Instructions of a loop with 16 matrix instructions, if none, one or both of the operands are
#: transposed on their way to LDS.
BARS = {
    "gfx90a": (63, 76, 87),
    "gfx942": (63, 76, 87),
    "gfx950": (98, 120, 133),
    "gfx1100": (90, 107, 124),
    "gfx1201": (77, 95, 105),
}
TRANSPOSED = {Layout.NT: 0, Layout.NN: 1, Layout.TT: 1, Layout.TN: 2}


def hot_loop(text: str) -> list[str]:
    """The instructions from a label to the branch back to it that hold the most products."""
    lines = [line.partition(";")[0].strip() for line in text.splitlines()]
    labels = {line[:-1]: n for n, line in enumerate(lines) if line.startswith(".LBB")}
    loops = []
    for end, line in enumerate(lines):
        start = labels.get(line.rpartition(" ")[2], end) if "branch" in line else end
        if start < end:
            loops.append([x for x in lines[start + 1 : end + 1] if x and not x.startswith(".")])
    return max(loops, key=lambda loop: sum(map(bool, map(MATRIX.match, loop))))


@pytest.mark.parametrize("layout", tuple(Layout))
@pytest.mark.parametrize("name", BARS)
def test_hot_loop(name: str, layout: Layout) -> None:
    target = targets.find(name)
    spec = Matmul(m=4096, n=4096, k=4096, layout=layout)
    tile: Overrides = {"mainloop": "mma", "block_m": 128, "block_n": 128}
    plan = pipeline.plan(spec, target, pipeline.schedule_for(spec, target, tile))
    text = assembly(pipeline.source(plan).text, target)
    assert re.findall(r"; ScratchSize: (\d+)", text) == ["0"]
    loop = hot_loop(text)
    products = [n for n, line in enumerate(loop) if MATRIX.match(line)]
    assert len(products) == 16
    assert len(loop) <= BARS[name][TRANSPOSED[layout]]
    # The next tile is asked for before the products and waited for after them, by scalar bases.
    loads = [n for n, line in enumerate(loop) if line.startswith("global_load")]
    waits = [n for n, line in enumerate(loop) if re.search(r"vmcnt|wait_loadcnt", line)]
    assert loads and waits and max(loads) < products[0] < products[-1] < min(waits)
    assert all(re.search(r", s\[\d+:\d+\]", loop[n]) for n in loads)
