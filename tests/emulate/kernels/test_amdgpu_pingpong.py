"""The ping-pong main loop: right in every layout and with every remainder, before and after LLVM's
optimiser, with no access wasted; and no barrier of it can go unnoticed."""

from __future__ import annotations

import dataclasses
import re
from functools import cache

import pytest

from kgen import bundle, pipeline, targets
from kgen.schedule import PingPongMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.codegen import machine_for, optimise
from kgen.targets.amdgpu.heuristics import PING_PONG
from kgen.targets.base import Kernel
from tests.emulate.halves import alternate
from tests.emulate.kernels.test_amdgpu_bars import assert_nothing_wasted
from tests.emulate.mutations.mutation import CLEAN, Program
from tests.emulate.mutations.templates import rendered
from tests.emulate.one_schedule import verify

TARGETS = ("gfx90a", "gfx942", "gfx950")
#: A wave of each half on every SIMD, with one MMA tile each.
SMALL = PingPongMatmul(block_m=64, block_n=128, block_k=64, warp_m=32, warp_n=32)
#: Two trips; a remainder behind one; a remainder behind none; nothing but a remainder.
SPECS = (
    *(Matmul(m=65, n=130, k=150, layout=layout) for layout in Layout),
    Matmul(m=64, n=128, k=192, dtype=DType.BF16, epilogue=tuple(Epilogue)),
    Matmul(m=60, n=120, k=72),
    Matmul(m=61, n=40, k=63, layout=Layout.TN),
    Matmul(m=64, n=72, k=128, layout=Layout.NT, batch=3, alpha=0.5, beta=2.0, lda=136),
)
FULL = Matmul(m=256, n=256, k=192)
#: Bytes, and 8-bit floats of gfx950, whose two MMA tiles are multiplied in a phase each.
BYTES = PingPongMatmul(block_m=64, block_n=128, block_k=128, warp_m=32, warp_n=32)
FLOATS = PingPongMatmul(block_m=128, block_n=128, block_k=128, warp_m=64, warp_n=32)
LARGE_BYTES = PingPongMatmul(block_m=256, block_n=256, block_k=128, warp_m=128, warp_n=64)
OF_BYTES = (
    ("gfx90a", Matmul(m=61, n=40, k=300, dtype=DType.S8), BYTES),
    ("gfx942", Matmul(m=65, n=130, k=300, dtype=DType.S8, layout=Layout.TT), BYTES),
    ("gfx942", Matmul(m=64, n=72, k=384, dtype=DType.E4M3FNUZ, layout=Layout.NT), BYTES),
    ("gfx950", Matmul(m=65, n=130, k=300, dtype=DType.E4M3), FLOATS),
    ("gfx950", Matmul(m=61, n=50, k=256, dtype=DType.S8, layout=Layout.TN), BYTES),
)

PRODUCT = re.compile(r"amdgcn\.mfma")
ACCESS = re.compile(r"= load |^ *store ")
BARRIER = "  call void @llvm.amdgcn.s.barrier()\n"


def failures(kernels: list[Kernel]) -> list[str]:
    """Return the failure of each kernel that is wrong."""
    results = verify(bundle.pack(kernels)).kernels
    return [f"{r.kernel}: {r.reason}" for r in results if not r.passed]


def optimised(kernel: Kernel) -> Kernel:
    machine = machine_for(kernel.plan.target.arch)
    source = dataclasses.replace(kernel.source, text=optimise(kernel.source.text, machine))
    return dataclasses.replace(
        kernel, source=source, assembled=FAMILY.assemble(source, kernel.plan)
    )


def test_small_tiles_are_right() -> None:
    target = targets.find("gfx942")
    assert not failures([pipeline.kernel(spec, target, SMALL) for spec in SPECS])


@pytest.mark.parametrize("name", TARGETS)
def test_small_tiles_are_right_after_the_optimiser(name: str) -> None:
    target = targets.find(name)
    kernels = [pipeline.kernel(spec, target, SMALL) for spec in SPECS[2:5]]
    assert not failures([optimised(kernel) for kernel in kernels])


@pytest.mark.parametrize("layout", tuple(Layout))
def test_the_tile_of_large_products(layout: Layout) -> None:
    """Right before and after the optimiser, without a bank conflict or a sector too many."""
    spec = dataclasses.replace(FULL, layout=layout, lda=None, ldb=None, ldc=None)
    kernel = pipeline.kernel(spec, targets.find("gfx942"), PING_PONG)
    assert not failures([kernel])
    assert not failures([optimised(kernel)])
    for name in TARGETS:
        assert_nothing_wasted(pipeline.plan(spec, targets.find(name), PING_PONG))


def test_bytes_are_right() -> None:
    kernels = [pipeline.kernel(spec, targets.find(name), s) for name, spec, s in OF_BYTES]
    assert not failures(kernels)
    assert not failures([optimised(kernel) for kernel in kernels])


@pytest.mark.parametrize("layout", tuple(Layout))
@pytest.mark.parametrize(("name", "dtype"), [("gfx942", DType.S8), ("gfx950", DType.E4M3)])
def test_bytes_waste_no_access(name: str, dtype: DType, layout: Layout) -> None:
    spec = Matmul(m=256, n=256, k=256, dtype=dtype, layout=layout)
    assert_nothing_wasted(pipeline.plan(spec, targets.find(name), LARGE_BYTES))


PROGRAMS = {
    "f16": ("matmul 64x128x256 f16 layout=nt", "gfx942", SMALL),
    "s8": ("matmul 64x128x512 s8 layout=nt", "gfx942", BYTES),
    "e4m3": ("matmul 128x128x512 e4m3 layout=nt", "gfx950", FLOATS),
}


@cache
def program(dtype: str = "f16") -> Program:
    return rendered(*PROGRAMS[dtype])


def loop_of(text: str) -> tuple[str, str, str]:
    """Return the text before the loop, the loop, and the text behind it."""
    before, _, rest = text.partition("\nloop:\n")
    loop, _, behind = rest.partition("\nrejoin:\n")
    return f"{before}\nloop:\n", loop, f"\nrejoin:\n{behind}"


def alternates(loop: str) -> bool:
    return alternate(loop.splitlines(), PRODUCT, ACCESS)


@pytest.mark.parametrize("dtype", PROGRAMS)
def test_the_halves_alternate(dtype: str) -> None:
    assert alternates(loop_of(program(dtype).source)[1])
    assert program(dtype).outcome(program(dtype).source, seed=1) == CLEAN


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("dtype", PROGRAMS)
def test_each_barrier_is_missed(dtype: str, number: int) -> None:
    """Without one of the first four, the halves only stop alternating, as the text shows. Without
    one of the others, a half stores to LDS where the other still loads."""
    before, loop, behind = loop_of(program(dtype).source)
    parts = loop.split(BARRIER)
    assert len(parts) == 9
    parts[number : number + 2] = ["".join(parts[number : number + 2])]
    changed = BARRIER.join(parts)
    assert not alternates(changed)
    if number >= 4:
        assert program(dtype).outcome(before + changed + behind) == "race"


def test_the_first_half_waits_for_the_second_behind_the_loop() -> None:
    """It would store the remainder to LDS while the second half loads the tile before."""
    remainder = rendered("matmul 64x128x200 f16 layout=nt", "gfx942", SMALL)
    catch_up = "catch_up:\n" + BARRIER
    assert remainder.source.count(catch_up) == 1
    assert remainder.outcome(remainder.source) == CLEAN
    assert remainder.outcome(remainder.source.replace(catch_up, "catch_up:\n")) == "race"
