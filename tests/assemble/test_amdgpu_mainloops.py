"""The bars for the main loops that large products get on CDNA, in what LLVM makes of them.

They count instructions for as many cycles of the matrix cores, since their instructions do unequal
work. A yardstick is Triton 3.9 for as many cycles: 146 (nt) and 171 (nn) instructions on gfx942, by
a ping-pong schedule of its own, 146 and 271 on gfx90a, 123 and 133 on gfx950.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from kgen import pipeline, targets
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.amdgpu.assemble import assembly
from tests.assemble.test_amdgpu_hot_loop import MATRIX, hot_loop
from tests.emulate.halves import alternate

#: Cycles of a SIMD for a matrix instruction (AMD's matrix instruction calculator).
CYCLES = {"gfx90a": {"32x32x8": 64}, "gfx942": {"32x32x8": 32}, "gfx950": {"32x32x16": 32}}
#: Bytes that a CU moves in a clock: reads of LDS, writes to it, loads from L1.
BYTES = {"gfx90a": (128, 128, 64), "gfx942": (128, 128, 64), "gfx950": (256, 128, 64)}
#: Instructions of a trip by layout; cycles of LDS and of L1 for each of the matrix cores.
BARS = {
    "gfx90a": ({Layout.NT: 140, Layout.NN: 155}, 0.25, 0.13),
    "gfx942": ({Layout.NT: 140, Layout.NN: 155}, 0.50, 0.25),
    "gfx950": ({Layout.NT: 108, Layout.NN: 123}, 0.63, 0.50),
}
LANES = 64
#: Waves of a workgroup on a SIMD, and in all.
WAVES = (2, 8)
PRODUCT = re.compile(r"v_mfma")
ACCESS = re.compile(r"ds_|global_load|buffer_load")


@cache
def text(name: str, layout: Layout, dtype: DType = DType.F16, *, plain: bool = True) -> str:
    steps = () if plain else tuple(Epilogue)
    spec = Matmul(m=4096, n=4096, k=4096, layout=layout, dtype=dtype, epilogue=steps)
    target = targets.find(name)
    return assembly(pipeline.source(pipeline.plan(spec, target)).text, target)


def fact(assembled: str, name: str) -> int:
    (found,) = re.findall(rf"\.{name}: +(\d+)", assembled)
    return int(found)


def width(line: str) -> int:
    """Bytes of a lane that an access moves."""
    words = re.search(r"(?:dwordx|_b)(\d+)", line)
    assert words, line
    count = int(words[1])
    return 4 * count if "dword" in line else count // 8


@pytest.mark.parametrize("layout", [Layout.NT, Layout.NN])
@pytest.mark.parametrize("name", BARS)
def test_trip(name: str, layout: Layout) -> None:
    loop = hot_loop(text(name, layout))
    instructions, lds_bar, l1_bar = BARS[name]
    assert len(loop) <= instructions[layout]
    products = Counter(re.findall(r"mfma_f32_(\d+x\d+x\d+)", "\n".join(loop)))
    cycles = WAVES[0] * sum(CYCLES[name][shape] * count for shape, count in products.items())
    read, write, l1 = BYTES[name]
    moved = dict.fromkeys(("ds_read", "ds_write", "global_load"), 0)
    for line in loop:
        for kind in moved:
            moved[kind] += width(line) * LANES * WAVES[1] if line.startswith(kind) else 0
    assert moved["ds_read"] / read + moved["ds_write"] / write <= lds_bar * cycles
    assert moved["global_load"] / l1 <= l1_bar * cycles
    assert all(re.search(r", s\[\d+:\d+\]", line) for line in loop if "global_load" in line)
    if layout is Layout.NT:
        assert not [x for x in loop if x.startswith("v_") and not MATRIX.match(x)]


def registers(made: str) -> int:
    """Of a kernel of which two waves fit a SIMD, and that spills none."""
    assert fact(made, "vgpr_spill_count") == fact(made, "private_segment_fixed_size") == 0
    assert re.findall(r"; Occupancy: (\d+)", made) == ["2"]
    return fact(made, "vgpr_count")


@pytest.mark.parametrize("layout", tuple(Layout))
@pytest.mark.parametrize("name", BARS)
def test_registers(name: str, layout: Layout) -> None:
    most = 240 if layout in (Layout.NT, Layout.NN) else 242
    assert registers(text(name, layout)) <= most


def test_registers_of_a_whole_epilogue() -> None:
    assert registers(text("gfx942", Layout.TN, DType.BF16, plain=False)) <= 256


@pytest.mark.parametrize("layout", tuple(Layout))
@pytest.mark.parametrize("name", BARS)
def test_the_halves_alternate(name: str, layout: Layout) -> None:
    """Between two barriers a half multiplies or moves data, never both, in the code as in its text;
    it multiplies with raised priority."""
    loop = hot_loop(text(name, layout))
    assert sum("s_barrier" in line for line in loop) == 8
    assert alternate(loop, PRODUCT, ACCESS)
    assert [line.split()[1] for line in loop if "s_setprio" in line] == ["1", "0"] * 4
