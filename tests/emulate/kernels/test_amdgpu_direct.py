"""The ping-pong main loop with copies straight to LDS: right in every layout, before and after
LLVM's optimiser, with no access wasted; and no barrier or fence of it can go unnoticed."""

from __future__ import annotations

import dataclasses
import re
from functools import cache

import pytest

from kgen import pipeline, targets
from kgen.schedule import DirectMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.amdgpu.heuristics import DIRECT
from tests.emulate.halves import alternate
from tests.emulate.kernels.test_amdgpu_bars import assert_nothing_wasted
from tests.emulate.kernels.test_amdgpu_pingpong import BARRIER, PRODUCT, failures, optimised
from tests.emulate.mutations.mutation import CLEAN, WRONG_RESULT, Program
from tests.emulate.mutations.templates import rendered

SMALL = DirectMatmul(block_m=128, block_n=128, block_k=64, warp_m=64, warp_n=32)
#: A trip and a last tile, in the second case behind a step that is no trip; such a step alone;
#: nothing but the last tile. Remainders of rows and columns.
SPECS = (
    Matmul(m=136, n=120, k=192, layout=Layout.TN, epilogue=tuple(Epilogue)),
    Matmul(m=128, n=128, k=256, dtype=DType.BF16),
    Matmul(m=65, n=129, k=128, layout=Layout.NT),
    Matmul(m=72, n=40, k=64, layout=Layout.TT),
    Matmul(m=64, n=72, k=128, batch=3, alpha=0.5, beta=2.0, lda=136, dtype=DType.BF16),
)
FULL = Matmul(m=256, n=256, k=192)
#: Bytes: lines of 256 rows where rows lie side by side, and two MMA tiles of 8-bit floats, which
#: are multiplied in a phase each.
BYTES = DirectMatmul(block_m=64, block_n=256, block_k=128, warp_m=32, warp_n=64)
FLOATS = DirectMatmul(block_m=128, block_n=256, block_k=128, warp_m=64, warp_n=64)
LARGE_BYTES = DirectMatmul(block_m=256, block_n=256, block_k=128, warp_m=128, warp_n=64)
OF_BYTES = (
    (Matmul(m=66, n=208, k=384, dtype=DType.S8), BYTES),
    (Matmul(m=40, n=70, k=256, dtype=DType.S8, layout=Layout.NT, out_dtype=DType.BF16), BYTES),
    (Matmul(m=72, n=240, k=384, dtype=DType.E4M3, epilogue=(Epilogue.BIAS,)), FLOATS),
    (Matmul(m=100, n=65, k=256, dtype=DType.E5M2, layout=Layout.NT), FLOATS),
    (Matmul(m=144, n=16, k=128, dtype=DType.E4M3, layout=Layout.TN), LARGE_BYTES),
)

ACCESS = re.compile(r"= load |load\.lds|ds\.read\.tr")
FENCED = (
    r'  fence syncscope\("workgroup"\) release, !mmra !1\n'
    r"  call void @llvm\.amdgcn\.s\.barrier\(\)\n"
    r'  fence syncscope\("workgroup"\) acquire, !mmra !1\n'
)


def test_small_tiles_are_right() -> None:
    kernels = [pipeline.kernel(spec, targets.find("gfx950"), SMALL) for spec in SPECS]
    assert not failures(kernels)
    assert not failures([optimised(kernel) for kernel in kernels[:3]])


@pytest.mark.parametrize("layout", tuple(Layout))
def test_the_tile_of_large_products(layout: Layout) -> None:
    """Right without a bank conflict or a sector too many."""
    spec = dataclasses.replace(FULL, layout=layout, lda=None, ldb=None, ldc=None)
    kernel = pipeline.kernel(spec, targets.find("gfx950"), DIRECT)
    assert not failures([kernel])
    assert_nothing_wasted(kernel.plan)


def test_bytes_are_right() -> None:
    kernels = [pipeline.kernel(spec, targets.find("gfx950"), s) for spec, s in OF_BYTES]
    assert not failures(kernels)
    assert not failures([optimised(kernel) for kernel in kernels[1:4]])


@pytest.mark.parametrize("layout", tuple(Layout))
@pytest.mark.parametrize("dtype", [DType.S8, DType.E4M3])
def test_bytes_waste_no_access(dtype: DType, layout: Layout) -> None:
    spec = Matmul(m=256, n=256, k=256, dtype=dtype, layout=layout)
    assert_nothing_wasted(pipeline.plan(spec, targets.find("gfx950"), LARGE_BYTES))


#: A trip, a step and the last tile.
PROGRAMS = {
    "f16": ("matmul 128x128x320 f16", SMALL),
    "s8": ("matmul 64x256x512 s8", BYTES),
    "e4m3": ("matmul 128x256x512 e4m3", FLOATS),
}


@cache
def program(dtype: str = "f16") -> Program:
    spec, schedule = PROGRAMS[dtype]
    return rendered(spec, "gfx950", schedule)


def loop_of(text: str) -> tuple[str, str, str]:
    """Return the text before the loop, the loop, and the text behind it."""
    before, _, rest = text.partition("\nloop:\n")
    loop, _, behind = rest.partition("\nbehind:\n")
    return f"{before}\nloop:\n", loop, f"\nbehind:\n{behind}"


def alternates(loop: str) -> bool:
    return alternate(loop.splitlines(), PRODUCT, ACCESS)


@pytest.mark.parametrize("dtype", PROGRAMS)
def test_the_halves_alternate(dtype: str) -> None:
    assert alternates(loop_of(program(dtype).source)[1])
    assert program(dtype).outcome(program(dtype).source, seed=1) == CLEAN


@pytest.mark.parametrize("number", range(16))
@pytest.mark.parametrize("dtype", PROGRAMS)
def test_each_barrier_is_missed(dtype: str, number: int) -> None:
    """Without one of the first six of a tile's eight, the halves only stop alternating, as the text
    shows. The last two hand the copies over."""
    before, loop, behind = loop_of(program(dtype).source)
    parts = loop.split(BARRIER)
    assert len(parts) == 17
    parts[number : number + 2] = ["".join(parts[number : number + 2])]
    changed = BARRIER.join(parts)
    assert not alternates(changed)
    if number % 8 >= 6:
        assert program(dtype).outcome(before + changed + behind) == "race"


@pytest.mark.parametrize(
    ("pattern", "replacement", "expected"),
    [
        (FENCED, BARRIER, "race"),
        (r"(%a\.even\.c0\.to = getelementptr .*, i32 0, i32 )1", r"\g<1>0", "race"),
        (r"(%a\.odd\.0\.g1\.at = getelementptr .*, i32 0, i32 )1", r"\g<1>0", "race"),
        (r"(%b\.place = urem i32 %thread, )16", r"\g<1>8", WRONG_RESULT),
        (r"(%a\.c1\.turn = and i32 \S+, )7", r"\g<1>3", WRONG_RESULT),
        (r"(%b\.fragment\.turn\.scaled = shl i32 \S+, )2", r"\g<1>1", WRONG_RESULT),
        (r"(%block\.depth = udiv i32 %block\.lane, )4", r"\g<1>8", WRONG_RESULT),
        (r"(%a\.odd\.ahead = add .*, )128", r"\g<1>64", WRONG_RESULT),
    ],
    ids=[
        "handed-over-without-fences",
        "copied-to-the-stage-in-use",
        "loaded-from-the-stage-that-fills",
        "chunks-of-half-a-line",
        "swizzle-of-one-copy",
        "swizzle-of-the-blocks",
        "depths-of-a-block",
        "tile-twice",
    ],
)
def test_bugs_are_found(pattern: str, replacement: str, expected: str) -> None:
    before, loop, behind = loop_of(program().source)
    changed, count = re.subn(pattern, replacement, before + loop)
    assert count
    assert program().outcome(changed + behind) == expected


@pytest.mark.parametrize("dtype", ["s8", "e4m3"])
@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"(%block\.depth = udiv i32 %block\.lane, )2", r"\g<1>4"),
        (r"(%block\.first = mul .*, )8", r"\g<1>0"),
        (r"(%b\.fragment\.turn\.scaled = shl i32 \S+, )1", r"\g<1>2"),
        (r"(%b\.odd\.0\.g1\S*\.k\d+\.line = add .*, )(\d+)\n", r"\g<1>0\n"),
    ],
    ids=["depths-of-a-block", "rows-of-a-lane", "swizzle-of-the-blocks", "depths-of-a-group"],
)
def test_bugs_of_bytes_are_found(pattern: str, replacement: str, dtype: str) -> None:
    before, loop, behind = loop_of(program(dtype).source)
    changed, count = re.subn(pattern, replacement, before + loop)
    assert count
    assert program(dtype).outcome(changed + behind) == WRONG_RESULT
