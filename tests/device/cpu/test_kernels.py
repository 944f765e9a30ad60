"""CPU kernels executed here, under qemu and in the emulator, against the reference."""

from __future__ import annotations

import pytest

from kgen.schedule import CpuMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from tests.device.cpu.cpu_support import best_of, check, here, require_qemu, target
from tests.needs import LEVELS, executed
from tests.specs import relu_of, softmax_of

FLOATS = (DType.F32, DType.F16, DType.BF16)
#: Small blocks, so that small shapes have several of them along every axis.
BLOCKS = CpuMatmul(mr=2, nr=16, mc=16, kc=16, nc=32)

MATMULS = [
    Matmul(m=1, n=1, k=1, dtype=DType.BF16),
    Matmul(m=33, n=70, k=37, dtype=DType.F32, batch=2, batch_stride_b=0),
    Matmul(m=33, n=70, k=37, dtype=DType.F16, layout=Layout.NT, out_dtype=DType.F32),
    Matmul(m=35, n=71, k=33, dtype=DType.BF16, layout=Layout.TN, lda=41, ldc=80),
    Matmul(m=35, n=71, k=33, dtype=DType.F64, layout=Layout.TT, alpha=0.5, beta=-2.0),
    Matmul(m=17, n=40, k=20, dtype=DType.F32, epilogue=tuple(Epilogue)),
    Matmul(m=17, n=40, k=20, dtype=DType.F64, epilogue=(Epilogue.GELU, Epilogue.SILU)),
]
STREAMS = [
    relu_of((3, 5, 7), dtype=DType.BF16),
    relu_of((70001,), dtype=DType.F32),
    softmax_of(5, 1, dtype=DType.F16),
    softmax_of(9, 203, dtype=DType.BF16),
    softmax_of(9, 203, dtype=DType.F32, log=True),
    softmax_of(2, 40000, dtype=DType.F16),
]


@pytest.mark.parametrize("spec", MATMULS, ids=lambda spec: spec.key)
def test_products_on_this_cpu(spec: Matmul) -> None:
    for name in executed((*LEVELS, "x86-64")):
        check(spec, here(name))
    check(spec, here("x86-64-v3"), BLOCKS if spec.n > 16 else None)


@pytest.mark.parametrize("dtype", [*FLOATS, DType.F64], ids=lambda dtype: dtype.value)
def test_b_is_read_in_place(dtype: DType) -> None:
    """Tiles of several vectors, whole and partial, with one and two blocks of K."""
    for k in (16, 29):
        spec = Matmul(m=3, n=70, k=k, dtype=dtype)
        check(spec, here("x86-64-v3"), BLOCKS.override(pack_b=0))


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_streams_on_this_cpu(name: str) -> None:
    for spec in STREAMS:
        check(spec, here(name))


INNER = [
    Matmul(m=1, n=37, k=300, dtype=DType.F32, layout=Layout.NT, batch=2, ldb=303),
    Matmul(m=5, n=70, k=129, dtype=DType.F16, layout=Layout.NT, epilogue=(Epilogue.BIAS,)),
    Matmul(m=8, n=33, k=1, dtype=DType.BF16, layout=Layout.NT, out_dtype=DType.F32),
    Matmul(m=3, n=17, k=95, dtype=DType.BF16, layout=Layout.NT, epilogue=(Epilogue.GELU,)),
    Matmul(m=90, n=2, k=61, dtype=DType.F64, layout=Layout.NT, beta=1.0),
    Matmul(m=700, n=1, k=900, dtype=DType.F32),
    Matmul(m=1, n=700, k=900, dtype=DType.F32, layout=Layout.TT),
]


@pytest.mark.parametrize("spec", INNER, ids=lambda spec: spec.key)
def test_inner_products(spec: Matmul) -> None:
    """K is contiguous in both operands: one and several steps, with and without a remainder."""
    for name in executed((*LEVELS, "x86-64")):
        found = here(name)
        check(spec, found, best_of(spec, found, "inner"))


def test_inner_products_of_tiles_with_edges() -> None:
    spec = Matmul(m=5, n=70, k=83, dtype=DType.F32, layout=Layout.NT)
    schedule = best_of(spec, found := here("x86-64-v3"), "inner", kc=83)
    for mr, nr, unroll in ((2, 3, 1), (1, 2, 4), (4, 1, 2)):
        tile = {"mr": mr, "nr": nr, "unroll": unroll, "mc": 2 * mr, "nc": 24}
        check(spec, found, schedule.override(**tile))


@pytest.mark.parametrize("dtype", [*FLOATS, DType.F64], ids=lambda dtype: dtype.value)
def test_inner_products_of_blocks_of_k(dtype: DType) -> None:
    """Sums continue from one block of K to the next, in whole and partial tiles of every task."""
    spec = Matmul(m=5, n=70, k=192, dtype=dtype, layout=Layout.NT, epilogue=(Epilogue.BIAS,))
    for name in executed(LEVELS):
        schedule = best_of(spec, found := here(name), "inner", kc=192)
        blocks = schedule.override(mr=2, nr=3, mc=6, kc=64, nc=48, unroll=1)
        check(spec, found, blocks)


def test_kernels_under_qemu() -> None:
    require_qemu()
    found = target("aarch64-neon")
    for spec in [*MATMULS[1:4], INNER[1], STREAMS[0]]:
        check(spec, found)
