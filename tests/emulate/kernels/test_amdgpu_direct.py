"""The ping-pong main loop with copies straight to LDS: right in every layout, before and after
LLVM's optimiser, without a wasted access; a missing barrier or fence is always found."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest

from kgen import pipeline, targets
from kgen.schedule import DirectMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.amdgpu.heuristics import DIRECT
from tests.emulate.halves import alternate
from tests.emulate.kernels.test_amdgpu_bars import assert_nothing_wasted
from tests.emulate.kernels.test_amdgpu_pingpong import BARRIER, PRODUCT, failures, optimised
from tests.emulate.mutations.amdgpu import direct
from tests.emulate.mutations.amdgpu.direct import BYTES, FLOATS, SMALL
from tests.emulate.mutations.mutation import Program

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
LARGE_BYTES = DirectMatmul(block_m=256, block_n=256, block_k=128, warp_m=128, warp_n=64)
OF_BYTES = (
    (Matmul(m=66, n=208, k=384, dtype=DType.S8), BYTES),
    (Matmul(m=40, n=70, k=256, dtype=DType.S8, layout=Layout.NT, out_dtype=DType.BF16), BYTES),
    (Matmul(m=72, n=240, k=384, dtype=DType.E4M3, epilogue=(Epilogue.BIAS,)), FLOATS),
    (Matmul(m=100, n=65, k=256, dtype=DType.E5M2, layout=Layout.NT), FLOATS),
    (Matmul(m=144, n=16, k=128, dtype=DType.E4M3, layout=Layout.TN), LARGE_BYTES),
)

ACCESS = re.compile(r"= load |load\.lds|ds\.read\.tr")


def test_small_tiles_are_right() -> None:
    kernels = [pipeline.kernel(spec, targets.find("gfx950"), SMALL) for spec in SPECS]
    assert not failures(kernels)
    assert not failures([optimised(kernel) for kernel in kernels[:3]])


@pytest.mark.parametrize("layout", tuple(Layout))
def test_the_tile_of_large_products(layout: Layout) -> None:
    """The result is right, without a bank conflict or an extra sector."""
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


@pytest.mark.parametrize("program", direct.PROGRAMS[:3], ids=lambda program: program.__name__)
def test_the_halves_alternate(program: Callable[[], Program]) -> None:
    """The text shows that they do not without any one of the barriers."""
    loop = program().source.partition("\nloop:\n")[2].partition("\nbehind:\n")[0]
    assert alternates(loop)
    parts = loop.split(BARRIER)
    assert len(parts) == 17
    for number in range(len(parts) - 1):
        changed = [*parts[:number], parts[number] + parts[number + 1], *parts[number + 2 :]]
        assert not alternates(BARRIER.join(changed))


def alternates(loop: str) -> bool:
    return alternate(loop.splitlines(), PRODUCT, ACCESS)
