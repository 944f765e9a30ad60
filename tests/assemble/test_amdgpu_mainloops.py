"""The bars for the main loops that large products get on CDNA, in what LLVM makes of them.

They count instructions for as many cycles of the matrix cores, since their instructions do unequal
work. A yardstick is Triton 3.9 for as many cycles: 146 (nt) and 171 (nn) instructions on gfx942, by
a ping-pong schedule of its own, 146 and 271 on gfx90a, 123 and 133 on gfx950.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from functools import cache

import pytest

from kgen import pipeline, targets
from kgen.check.static.amdgpu import check
from kgen.schedule import PingPongMatmul, SharedMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.amdgpu.assemble import assembly
from kgen.targets.amdgpu.heuristics import DIRECT, PING_PONG, as_deep
from tests.assemble.test_amdgpu_hot_loop import MATRIX, hot_loop, loops
from tests.emulate.halves import alternate

#: Cycles of a SIMD for a matrix instruction (AMD's matrix instruction calculator).
CYCLES = {
    "gfx90a": {"32x32x8": 64},
    "gfx942": {"32x32x8": 32, "32x32x16": 32},
    "gfx950": {"32x32x16": 32, "32x32x32": 32, "32x32x64": 64},
}
#: The products of a K-tile, of one wave; gfx90a multiplies bytes no faster.
CYCLES_OF_A_TILE = {"gfx90a": 4096, "gfx942": 2048, "gfx950": 1024}
SLOW_BYTES = ("gfx90a", DType.S8)
#: Bytes that a CU moves in a clock: reads of LDS, writes to it, loads from L1.
BYTES = {"gfx90a": (128, 128, 64), "gfx942": (128, 128, 64), "gfx950": (256, 128, 64)}
F16, S8, E4M3 = DType.F16, DType.S8, DType.E4M3
#: By target, type and main loop: K-tiles of a trip, instructions for each of them in nt and nn, and
#: the most registers.
BARS: dict[tuple[str, DType, PingPongMatmul], tuple[int, dict[Layout, int], int]] = {
    ("gfx90a", F16, PING_PONG): (1, {Layout.NT: 140, Layout.NN: 155}, 240),
    ("gfx942", F16, PING_PONG): (1, {Layout.NT: 140, Layout.NN: 155}, 240),
    ("gfx950", F16, PING_PONG): (1, {Layout.NT: 108, Layout.NN: 123}, 240),
    ("gfx950", F16, DIRECT): (2, {Layout.NT: 101, Layout.NN: 109}, 228),
    ("gfx90a", S8, PING_PONG): (1, {Layout.NT: 204, Layout.NN: 243}, 242),
    ("gfx942", S8, PING_PONG): (1, {Layout.NT: 140, Layout.NN: 175}, 242),
    ("gfx942", DType.E4M3FNUZ, PING_PONG): (1, {Layout.NT: 140, Layout.NN: 175}, 242),
    ("gfx950", S8, PING_PONG): (1, {Layout.NT: 108, Layout.NN: 143}, 246),
    ("gfx950", S8, DIRECT): (2, {Layout.NT: 101, Layout.NN: 109}, 228),
    ("gfx950", E4M3, PING_PONG): (1, {Layout.NT: 92, Layout.NN: 127}, 246),
    ("gfx950", E4M3, DIRECT): (2, {Layout.NT: 85, Layout.NN: 93}, 228),
}
#: Cycles of LDS and of L1 for each of the matrix cores.
BUSY = {"gfx90a": (0.25, 0.13), "gfx942": (0.50, 0.25), "gfx950": (0.63, 0.50)}
each_loop = pytest.mark.parametrize(
    ("name", "dtype", "schedule"), BARS, ids=[f"{name}-{d}-{s.mainloop}" for name, d, s in BARS]
)
each_layout = pytest.mark.parametrize("layout", tuple(Layout))
LANES = 64
#: Waves of a workgroup on a SIMD, and in all.
WAVES = (2, 8)
PRODUCT = re.compile(r"v_mfma")
ACCESS = re.compile(r"ds_|global_load|buffer_load")


@cache
def text(
    name: str, schedule: PingPongMatmul, layout: Layout, *, dtype: DType = F16, plain: bool = True
) -> str:
    spec = Matmul(m=4096, n=4096, k=4096, dtype=dtype, layout=layout)
    if not plain:
        dtype = DType.BF16 if dtype is F16 else dtype
        spec = dataclasses.replace(spec, dtype=dtype, out_dtype=dtype, epilogue=tuple(Epilogue))
    target = targets.find(name)
    schedule = as_deep(schedule, spec)
    return assembly(pipeline.source(pipeline.plan(spec, target, schedule)).text, target)


def fact(assembled: str, name: str) -> int:
    (found,) = re.findall(rf"\.{name}: +(\d+)", assembled)
    return int(found)


def width(line: str) -> int:
    """Return the bytes of a lane that an access moves."""
    words = re.search(r"(?:dwordx|_b)(\d+)", line)
    assert words, line
    count = int(words[1])
    return 4 * count if "dword" in line else count // 8


def moved(loop: list[str], *kinds: str) -> int:
    """Return the bytes that all waves move by accesses whose names begin with these words."""
    return sum(width(line) * LANES * WAVES[1] for line in loop if line.startswith(kinds))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, dtype) for name in ("gfx942", "gfx950") for dtype in (F16, S8)),
        ("gfx90a", F16),
        ("gfx942", DType.E5M2FNUZ),
        ("gfx950", E4M3),
    ],
)
def test_these_are_the_chosen_loops(name: str, dtype: DType) -> None:
    spec = Matmul(m=4096, n=4096, k=4096, dtype=dtype)
    chosen = pipeline.schedule_for(spec, targets.find(name), {})
    assert isinstance(chosen, SharedMatmul)
    alone = dataclasses.replace(chosen, group_m=1, num_xcds=1, num_workgroups=0, stream_k=False)
    assert alone == as_deep(DIRECT if name == "gfx950" else PING_PONG, spec)


@pytest.mark.parametrize("layout", [Layout.NN, Layout.TT])
@pytest.mark.parametrize(
    ("name", "dtype"), [("gfx90a", S8), ("gfx942", S8), ("gfx950", S8), ("gfx950", E4M3)]
)
def test_no_chosen_loop_of_bytes_spills(name: str, dtype: DType, layout: Layout) -> None:
    """Kernels have remainders of M, N and K and an epilogue. No hazard is missed either: LLVM waits
    too few cycles for 8-bit floats on gfx950."""
    target = targets.find(name)
    for m, n, k in ((4080, 4112, 4096), (4080, 4112, 4144)):
        spec = Matmul(
            m=m, n=n, k=k, dtype=dtype, layout=layout, out_dtype=dtype, epilogue=tuple(Epilogue)
        )
        schedule = pipeline.schedule_for(spec, target, {})
        made = assembly(pipeline.source(pipeline.plan(spec, target, schedule)).text, target)
        assert fact(made, "vgpr_spill_count") == fact(made, "private_segment_fixed_size") == 0
        assert check(made, target.arch) == []


@pytest.mark.parametrize(
    ("name", "layout", "plain"),
    [("gfx90a", Layout.NN, True), ("gfx942", Layout.TN, False), ("gfx942", Layout.NT, True)],
)
def test_shares_of_k_leave_the_loop_as_it_is(name: str, layout: Layout, plain: bool) -> None:
    """Kernels with persistent workgroups neither spill nor miss a wait or a hazard."""
    chosen = pipeline.schedule_for(Matmul(m=4096, n=4096, k=4096), targets.find(name), {})
    assert isinstance(chosen, PingPongMatmul) and chosen.num_workgroups
    made = text(name, chosen, layout, plain=plain)
    assert registers(made) <= 256
    assert check(made, targets.find(name).arch) == []
    (loop,) = [x for x in loops(made) if sum(map(bool, map(MATRIX.match, x))) == 64]
    whole = [x for x in loops(text(name, PING_PONG, layout, plain=plain)) if len(x) < 200]
    assert len(loop) <= max(map(len, whole)) + 2


@pytest.mark.parametrize("layout", [Layout.NT, Layout.NN])
@each_loop
def test_trip(name: str, dtype: DType, schedule: PingPongMatmul, layout: Layout) -> None:
    loop = hot_loop(text(name, schedule, layout, dtype=dtype))
    tiles, instructions, _ = BARS[name, dtype, schedule]
    assert len(loop) <= tiles * instructions[layout]
    products = Counter(re.findall(r"mfma_[fi]32_(\d+x\d+x\d+)", "\n".join(loop)))
    cycles = WAVES[0] * sum(CYCLES[name][shape] * count for shape, count in products.items())
    slower = 2 if (name, dtype) == SLOW_BYTES else 1
    assert cycles == tiles * WAVES[0] * CYCLES_OF_A_TILE[name] * slower
    read, write, l1 = BYTES[name]
    loaded = moved(loop, "global_load", "buffer_load")
    stored = loaded if schedule is DIRECT else moved(loop, "ds_write")
    lds_busy, l1_busy = (part / slower for part in BUSY[name])
    assert moved(loop, "ds_read") / read + stored / write <= lds_busy * cycles
    assert loaded / l1 <= l1_busy * cycles
    # Addresses are scalars and offsets that stay.
    loads = [line for line in loop if line.startswith(("global_load", "buffer_load"))]
    assert all(re.search(r"v\d+, s\[\d+:\d+\]", line) for line in loads)
    if layout is Layout.NT or schedule is DIRECT:
        assert not [x for x in loop if x.startswith("v_") and not MATRIX.match(x)]
    assert ("ds_write" in "".join(loop)) == (schedule is not DIRECT)


@pytest.mark.parametrize(("dtype", "n"), [(F16, 2560), (S8, 4096), (S8, 5120)])
def test_lanes_keep_their_offsets(dtype: DType, n: int) -> None:
    """The loop computes no addresses, whatever the row stride; LLVM would fold constant strides
    into it."""
    spec, target = Matmul(m=4096, n=n, k=4096, dtype=dtype), targets.find("gfx942")
    source = pipeline.source(pipeline.plan(spec, target, as_deep(PING_PONG, spec))).text
    launder = (
        r"call ptr addrspace\(3\) @llvm\.launder\.invariant\.group\.p3\(ptr addrspace\(3\) (\S+)\)"
    )
    known = re.sub(launder, r"getelementptr i8, ptr addrspace(3) \1, i32 0", source)
    arithmetic = [
        [x for x in hot_loop(assembly(each, target)) if x.startswith(("v_add", "v_lshl"))]
        for each in (source, known)
    ]
    assert not arithmetic[0] and arithmetic[1]


def test_results_of_8_bit_floats_are_awaited() -> None:
    spec = Matmul(m=4080, n=4112, k=4096, dtype=E4M3, out_dtype=E4M3, epilogue=tuple(Epilogue))
    target = targets.find("gfx950")
    source = pipeline.source(pipeline.plan(spec, target, as_deep(DIRECT, spec))).text
    hasty = re.sub(r".*call void @llvm\.amdgcn\.s\.nop.*\n", "", source)
    twice = 2 * "  call void @llvm.amdgcn.sched.barrier(i32 0)\n"
    assert twice in hasty and twice not in source
    hasty = hasty.replace(twice, "")
    assert check(assembly(source, target), target.arch) == []
    (found, *_) = check(assembly(hasty, target), target.arch)
    assert "needs 20 wait states, has 19" in found.what


def registers(made: str) -> int:
    """Return the registers of a kernel without spills of which two waves fit a SIMD."""
    assert fact(made, "vgpr_spill_count") == fact(made, "private_segment_fixed_size") == 0
    assert re.findall(r"; Occupancy: (\d+)", made) == ["2"]
    return fact(made, "vgpr_count")


@each_layout
@each_loop
def test_registers(name: str, dtype: DType, schedule: PingPongMatmul, layout: Layout) -> None:
    *_, most = BARS[name, dtype, schedule]
    more = 0 if layout in (Layout.NT, Layout.NN) else 2
    assert registers(text(name, schedule, layout, dtype=dtype)) <= most + more


@pytest.mark.parametrize(("name", "schedule"), [("gfx942", PING_PONG), ("gfx950", DIRECT)])
def test_registers_of_a_whole_epilogue(name: str, schedule: PingPongMatmul) -> None:
    assert registers(text(name, schedule, Layout.TN, plain=False)) <= 256


@each_layout
@each_loop
def test_the_halves_alternate(
    name: str, dtype: DType, schedule: PingPongMatmul, layout: Layout
) -> None:
    """Between two barriers a half either multiplies, with raised priority, or moves data, in text
    and machine code; it waits for memory once per K-tile."""
    loop = hot_loop(text(name, schedule, layout, dtype=dtype))
    tiles, *_ = BARS[name, dtype, schedule]
    assert sum("s_barrier" in line for line in loop) == 8 * tiles
    assert alternate(loop, PRODUCT, ACCESS)
    assert [line.split()[1] for line in loop if "s_setprio" in line] == ["1", "0"] * 4 * tiles
    if schedule is DIRECT:
        assert sum("vmcnt" in line for line in loop) == tiles


@each_layout
@each_loop
def test_no_wait_and_no_hazard_is_missed(
    name: str, dtype: DType, schedule: PingPongMatmul, layout: Layout
) -> None:
    assert check(text(name, schedule, layout, dtype=dtype), targets.find(name).arch) == []
