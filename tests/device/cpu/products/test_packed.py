"""Kernels with a prepacked B, against the reference, which does not use packing."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from kgen import pipeline
from kgen.bundle import pack
from kgen.errors import ScheduleError
from kgen.schedule import AmxMatmul, CpuMatmul, DotMatmul
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul
from tests.device.cpu.cpu_support import check, here, require_qemu, target
from tests.needs import LEVELS, executed
from tests.open_devices import verify

DTYPES = (DType.F32, DType.F16, DType.BF16, DType.F64)
#: Small blocks, so that small shapes have several of them along every axis.
BLOCKS = CpuMatmul(mr=2, nr=16, mc=16, kc=16, nc=32, pack_b=False)
PAIRS = DotMatmul(mr=3, nr=32, mc=6, kc=32, nc=32, pack_b=False)
TILES = AmxMatmul(mr=16, nr=32, mc=32, kc=32, nc=32, pack_b=False)


def ahead(m: int, n: int, k: int, dtype: DType, layout: Layout = Layout.NN) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout, constant=(ConstantOperand.B,))


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.value)
def test_packed_ahead(dtype: DType, layout: Layout) -> None:
    """Every edge and every layout of B, with chosen and small blocks."""
    spec = dataclasses.replace(ahead(17, 41, 67, dtype, layout), epilogue=(Epilogue.BIAS,))
    for name in executed(LEVELS):
        check(spec, target(name))
    check(spec, here("x86-64-v3"), BLOCKS)


@pytest.mark.parametrize("stride", [None, 0, 3000], ids=["packed", "shared", "apart"])
def test_a_batch(stride: int | None) -> None:
    for dtype in (DType.F32, DType.BF16):
        spec = ahead(5, 21, 30, dtype)
        spec = dataclasses.replace(spec, batch=3, batch_stride_b=stride, ldb=25)
        for name in executed(LEVELS):
            check(spec, target(name))


def test_vectors_and_products_without_edges() -> None:
    for dtype, name in itertools.product(DTYPES, executed(LEVELS)):
        check(ahead(1, 64, 32, dtype), target(name))
        check(ahead(16, 8, 4, dtype, Layout.NT), target(name))


@pytest.mark.parametrize("layout", list(Layout))
def test_pairs_and_tiles(layout: Layout) -> None:
    """The emulator executes the kernel if the CPU lacks the instructions; it checks every
    access."""
    for k in (64, 35):
        spec = ahead(17, 41, k, DType.BF16, layout)
        check(spec, target("x86-64-v4+bf16"), PAIRS)
        check(spec, target("x86-64-amx"), TILES)


def test_under_qemu() -> None:
    require_qemu()
    for dtype in (DType.F32, DType.F16):
        check(ahead(7, 21, 33, dtype, Layout.TT), target("aarch64-neon"))


def test_all_kernels_of_a_target_take_the_same_packed_b() -> None:
    """Packed weights do not depend on M, so a model packs them once."""
    for name in ("x86-64-v3", "x86-64-v4+bf16", "x86-64-v4+vnni", "x86-64-amx", "aarch64-neon"):
        for dtype in (DType.F32, DType.BF16, DType.S8):
            packed = {
                pipeline.plan(ahead(m, 300, 200, dtype), target(name)).parameters[1]
                for m in (1, 2, 8, 9, 100, 1000)
            }
            assert len(packed) == 1


def test_a_packed_b_takes_no_scratch() -> None:
    for dtype in (DType.F32, DType.BF16):
        plan = pipeline.plan(ahead(64, 64, 64, dtype), target("x86-64-v4+bf16"))
        assert "alloca" not in pipeline.source(plan).text


def test_no_access_outside_a_packed_b() -> None:
    """The emulator checks every load; on a device, guard bands show only stores."""
    for dtype in (DType.F32, DType.F16):
        kernel = pipeline.kernel(ahead(5, 21, 19, dtype), target("x86-64-v3"), BLOCKS)
        (result,) = verify(pack([kernel]), on="emulator").kernels
        assert result.passed, result.to_json()


def test_wrong_weights_are_found() -> None:
    """Verification fails if the manifest describes another packed order than the code reads."""
    kernel = pipeline.kernel(ahead(8, 32, 32, DType.F32), here("x86-64-v3"))
    bundle = pack([kernel])
    (entry,) = bundle.manifest.kernels
    b = entry.parameters[1]
    assert b.packing is not None
    packing = dataclasses.replace(b.packing, transposed=True)
    wrong = dataclasses.replace(b, packing=packing)
    parameters = (entry.parameters[0], wrong, *entry.parameters[2:])
    entry = dataclasses.replace(entry, parameters=parameters)
    manifest = dataclasses.replace(bundle.manifest, kernels=(entry,))
    assert not verify(dataclasses.replace(bundle, manifest=manifest)).passed


def test_refusals() -> None:
    for name, dtype in (("x86-64-v3", DType.F32), ("x86-64-amx", DType.BF16)):
        with pytest.raises(ScheduleError, match="pack_b=1 is not supported for a prepacked B"):
            pipeline.plan_with(ahead(16, 16, 16, dtype), target(name), {"pack_b": 1})
