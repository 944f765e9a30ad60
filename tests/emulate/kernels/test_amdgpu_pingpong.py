"""The ping-pong main loop: right in every layout and with every remainder, before and after
LLVM's optimiser, without a wasted access; a missing barrier is always found."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest

from kgen import bundle, pipeline, targets
from kgen.schedule import PingPongMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.codegen import machine_for, optimise
from kgen.targets.amdgpu.heuristics import PING_PONG
from kgen.targets.base import BuiltKernel
from tests.emulate.halves import alternate
from tests.emulate.kernels.test_amdgpu_bars import assert_nothing_wasted
from tests.emulate.mutations.amdgpu import pingpong
from tests.emulate.mutations.amdgpu.pingpong import BYTES, FLOATS, SMALL
from tests.emulate.mutations.mutation import Program
from tests.emulate.one_schedule import verify

TARGETS = ("gfx90a", "gfx942", "gfx950")
#: Two trips; a remainder behind one; a remainder behind none; nothing but a remainder.
SPECS = (
    *(Matmul(m=65, n=130, k=150, layout=layout) for layout in Layout),
    Matmul(m=64, n=128, k=192, dtype=DType.BF16, epilogue=tuple(Epilogue)),
    Matmul(m=60, n=120, k=72),
    Matmul(m=61, n=40, k=63, layout=Layout.TN),
    Matmul(m=64, n=72, k=128, layout=Layout.NT, batch=3, alpha=0.5, beta=2.0, lda=136),
)
FULL = Matmul(m=256, n=256, k=192)
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


def failures(kernels: list[BuiltKernel]) -> list[str]:
    """Return the failure of each kernel that is wrong."""
    results = verify(bundle.pack(kernels)).kernels
    return [f"{r.kernel}: {r.reason}" for r in results if not r.passed]


def optimised(kernel: BuiltKernel) -> BuiltKernel:
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
    """Results are right before and after the optimiser, without a bank conflict or an extra
    sector."""
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


@pytest.mark.parametrize("program", pingpong.PROGRAMS[:3], ids=lambda program: program.__name__)
def test_the_halves_alternate(program: Callable[[], Program]) -> None:
    """The text shows that they do not without any one of the barriers."""
    loop = program().source.partition("\nloop:\n")[2].partition("\nrejoin:\n")[0]
    assert alternates(loop)
    parts = loop.split(BARRIER)
    assert len(parts) == 9
    for number in range(len(parts) - 1):
        changed = [*parts[:number], parts[number] + parts[number + 1], *parts[number + 2 :]]
        assert not alternates(BARRIER.join(changed))


def alternates(loop: str) -> bool:
    return alternate(loop.splitlines(), PRODUCT, ACCESS)
