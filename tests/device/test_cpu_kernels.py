"""CPU kernels executed here, under qemu and in the emulator, against the reference."""

from __future__ import annotations

import dataclasses
import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgen import emulate, pipeline
from kgen.bundle import pack
from kgen.check.verify import verify
from kgen.schedule import AmxMatmul, CpuMatmul, DotMatmul, InnerMatmul, Schedule
from kgen.spec import DType, Epilogue, Layout, Matmul, Relu, Softmax, Spec
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from kgen_runtime.backend import Code
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.manifest import ArtifactEntry, KernelEntry
from tests.device.cpu_support import require_qemu

#: Linux, mman.h: address space without memory behind it (a name in Python from 3.13 on).
MAP_NORESERVE = 0x4000
FLOATS = (DType.F32, DType.F16, DType.BF16)
#: Small blocks, so that small shapes have several of them along every axis.
BLOCKS = CpuMatmul(mr=2, nr=16, mc=16, kc=16, nc=32)
TILES = AmxMatmul(mr=16, nr=16, mc=16, kc=32, nc=16)


def target(name: str) -> Target:
    found = FAMILY.find(name)
    assert found is not None
    return found


def here(name: str) -> Target:
    """The target, if this machine runs it."""
    found = target(name)
    backend = CpuBackend()
    entry = pack([pipeline.kernel(Relu(shape=(1,), dtype=DType.F32), found)]).manifest.kernels[0]
    if (refusal := backend.refuses(entry.artifacts[0])) is not None:
        pytest.skip(refusal)
    return found


def check(spec: Spec, found: Target, schedule: Schedule | None = None) -> None:
    for result in verify(pack([pipeline.kernel(spec, found, schedule)])).kernels:
        assert result.passed, result.to_json()


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
    Relu(shape=(3, 5, 7), dtype=DType.BF16),
    Relu(shape=(70001,), dtype=DType.F32),
    Softmax(rows=5, cols=1, dtype=DType.F16),
    Softmax(rows=9, cols=203, dtype=DType.BF16),
    Softmax(rows=9, cols=203, dtype=DType.F32, log=True),
    Softmax(rows=2, cols=40000, dtype=DType.F16),
]


@pytest.mark.parametrize("spec", MATMULS, ids=lambda spec: spec.key)
def test_products_on_this_cpu(spec: Matmul) -> None:
    check(spec, here("native"))
    check(spec, here("x86-64-v3"), BLOCKS if spec.n > 16 else None)


@pytest.mark.parametrize("dtype", [*FLOATS, DType.F64], ids=lambda dtype: dtype.value)
def test_b_is_read_in_place(dtype: DType) -> None:
    """Tiles of several vectors, whole and cut, in one block of K and in two."""
    for k in (16, 29):
        spec = Matmul(m=3, n=70, k=k, dtype=dtype)
        check(spec, here("x86-64-v3"), BLOCKS.override(pack_b=0))


@pytest.mark.parametrize("cols", [1, 16, 33, 300])
def test_softmax_rounded_by_an_instruction(cols: int) -> None:
    """bf16 by AVX512-BF16, which the kernel then needs: here or in the emulator."""
    for log in (False, True):
        spec = Softmax(rows=7, cols=cols, dtype=DType.BF16, log=log)
        kernel = pipeline.kernel(spec, target("x86-64-v4+bf16"))
        artifacts = pack([kernel]).manifest.kernels[0].artifacts
        assert any("avx512_bf16" in a.requires.get("features", ()) for a in artifacts)
        check(spec, target("x86-64-v4+bf16"))


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_streams_on_this_cpu(name: str) -> None:
    for spec in STREAMS:
        check(spec, here(name))


INNER = [
    Matmul(m=1, n=37, k=300, dtype=DType.F32, layout=Layout.NT, batch=2, ldb=303),
    Matmul(m=5, n=70, k=129, dtype=DType.F16, layout=Layout.NT, epilogue=(Epilogue.BIAS,)),
    Matmul(m=16, n=33, k=1, dtype=DType.BF16, layout=Layout.NT, out_dtype=DType.F32),
    Matmul(m=3, n=17, k=95, dtype=DType.BF16, layout=Layout.NT, epilogue=(Epilogue.GELU,)),
    Matmul(m=90, n=2, k=61, dtype=DType.F64, layout=Layout.NT, beta=1.0),
    Matmul(m=700, n=1, k=900, dtype=DType.F32),
    Matmul(m=1, n=700, k=900, dtype=DType.F32, layout=Layout.TT),
]


@pytest.mark.parametrize("spec", INNER, ids=lambda spec: spec.key)
def test_inner_products(spec: Matmul) -> None:
    """K lies side by side in both operands: one step and several, what is left of K, both sides."""
    for name in ("native", "x86-64-v3"):
        found = here(name)
        assert isinstance(FAMILY.choose(spec, found), InnerMatmul)
        check(spec, found)


def test_inner_products_of_tiles_with_edges() -> None:
    spec = Matmul(m=5, n=70, k=83, dtype=DType.F32, layout=Layout.NT)
    schedule = FAMILY.choose(spec, found := here("x86-64-v3"))
    for mr, nr, unroll in ((2, 3, 1), (1, 2, 4), (4, 1, 2)):
        tile = {"mr": mr, "nr": nr, "unroll": unroll, "mc": 2 * mr, "nc": 24}
        check(spec, found, schedule.override(**tile))


@pytest.mark.parametrize("dtype", [*FLOATS, DType.F64], ids=lambda dtype: dtype.value)
def test_inner_products_of_blocks_of_k(dtype: DType) -> None:
    """Sums go on from one block of K to the next, in tiles whole and cut, in every task."""
    spec = Matmul(m=5, n=70, k=192, dtype=dtype, layout=Layout.NT, epilogue=(Epilogue.BIAS,))
    for name in ("native", "x86-64-v3"):
        schedule = FAMILY.choose(spec, found := here(name))
        blocks = schedule.override(mr=2, nr=3, mc=6, kc=64, nc=48, unroll=1)
        check(spec, found, blocks)


def test_kernels_under_qemu() -> None:
    require_qemu()
    found = target("aarch64-neon")
    for spec in [*MATMULS[1:4], INNER[1], STREAMS[0], STREAMS[3]]:
        check(spec, found)


@pytest.mark.parametrize("layout", list(Layout))
def test_tiles(layout: Layout) -> None:
    """bf16 and f16 on AMX: here if the CPU has it, else in the emulator."""
    for k, name, dtype in (
        (64, "x86-64-amx", DType.BF16),
        (35, "x86-64-amx", DType.BF16),
        (35, "x86-64-amx+fp16", DType.F16),
    ):
        spec = Matmul(m=17, n=18, k=k, dtype=dtype, layout=layout, epilogue=(Epilogue.BIAS,))
        kernel = pipeline.kernel(spec, target(name), TILES)
        assert f"call void @llvm.x86.tdp{'bf16' if dtype is DType.BF16 else 'fp16'}ps(" in (
            kernel.source.text
        )
        check(spec, target(name), TILES)


PAIRS = DotMatmul(mr=3, nr=32, mc=6, kc=32, nc=32)


@pytest.mark.parametrize("layout", list(Layout))
def test_pairs(layout: Layout) -> None:
    """bf16 by AVX512-BF16: whole and odd K, one and several blocks, a long epilogue."""
    found = target("x86-64-v4+bf16")
    for k in (16, 67):
        spec = Matmul(m=17, n=41, k=k, dtype=DType.BF16, layout=layout, epilogue=(Epilogue.GELU,))
        check(spec, found)
        check(dataclasses.replace(spec, epilogue=(Epilogue.BIAS, Epilogue.GELU)), found, PAIRS)


@pytest.mark.parametrize("name", ["x86-64-v4+bf16", "x86-64-amx"])
def test_squares_of_a_transposed_a(name: str) -> None:
    """Packed 8 x 8 at a time, the last ones overlapping: in one block and in several."""
    found = target(name)
    small = TILES if "amx" in name else PAIRS.override(mr=4, mc=16)
    check(Matmul(m=19, n=17, k=37, dtype=DType.BF16, layout=Layout.TN), found)
    spec = Matmul(m=26, n=17, k=75, dtype=DType.BF16, layout=Layout.TT, lda=29, batch=2)
    check(spec, found, small)


@pytest.mark.parametrize("layout", [Layout.NN, Layout.TN])
def test_pairs_of_rows_where_they_lie(layout: Layout) -> None:
    """B is read in place: one block of K and several, whole panels and cut ones, one row of A."""
    found = target("x86-64-v4+bf16")
    for m, k in ((17, 70), (1, 64)):
        spec = Matmul(m=m, n=49, k=k, dtype=DType.BF16, layout=layout, epilogue=(Epilogue.BIAS,))
        check(spec, found, PAIRS.override(pack_b=0))
        check(spec, found, PAIRS.override(pack_b=0, kc=96))


def test_pairs_in_the_emulator_are_those_of_the_cpu() -> None:
    found = here("x86-64-v4+bf16")
    spec = Matmul(m=9, n=37, k=41, dtype=DType.BF16, out_dtype=DType.F32)
    kernel = pipeline.kernel(spec, found, DotMatmul(mr=3, nr=32, mc=9, kc=48, nc=64))
    generator = np.random.default_rng(0)
    a, b = (
        (generator.standard_normal(n).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        for n in (9 * 41, 41 * 37)
    )
    # Subnormals count as zero.
    a[:7], b[:7] = 1, 0x7F00
    outs = np.zeros((2, 9 * 37), np.float32)
    load(spec, found).run(addresses({"a": a, "b": b, "out": outs[0]}))
    emulate.run(
        kernel.source.text,
        language="llvm",
        entry=spec.key,
        grid=(1, 1, 1),
        block=(1, 1, 1),
        arguments=[a, b, outs[1], np.int64(0), np.int64(1)],
    )
    assert np.array_equal(*outs)


@dataclass(frozen=True)
class Ready:
    """A loaded kernel."""

    backend: CpuBackend
    entry: KernelEntry
    kernel: Any

    def run(self, addresses: dict[str, int]) -> None:
        self.backend.launch(self.kernel, addresses)


def load(
    spec: Spec, found: Target, schedule: Schedule | None = None, num_threads: int | None = None
) -> Ready:
    bundle = pack([pipeline.kernel(spec, found, schedule)])
    entry = bundle.manifest.kernels[0]
    artifact = entry.artifacts[0]
    backend = CpuBackend(num_threads=num_threads)
    code = Code(artifact=artifact, data=bundle.files[artifact.file])
    return Ready(backend, entry, backend.load(entry, {"main": code}))


def addresses(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, int]:
    return {name: array.ctypes.data for name, array in arrays.items()}


def test_many_threads_share_one_kernel() -> None:
    """Tasks of one element write side by side; any store that is too wide would race."""
    spec = Matmul(m=512, n=1, k=300, dtype=DType.BF16)
    schedule = CpuMatmul(mr=1, nr=4, mc=1, kc=304, nc=4)
    ready = load(spec, target("native"), schedule, num_threads=4)
    generator = np.random.default_rng(0)
    a, b = (generator.integers(0, 0x3F00, n, dtype=np.uint16) for n in (512 * 300, 300))
    expected = np.zeros(512, np.uint16)
    load(spec, target("native"), schedule, num_threads=1).run(
        addresses({"a": a, "b": b, "out": expected})
    )

    def call(_: int) -> bool:
        out = np.full(512, 0xFFFF, np.uint16)
        ready.run(addresses({"a": a, "b": b, "out": out}))
        return bool(np.array_equal(out, expected))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(200)))
    ready.backend.close()
    ready.backend.close()


@pytest.mark.parametrize("layout", [Layout.NN, Layout.TT])
def test_offsets_beyond_32_bits(layout: Layout) -> None:
    """Rows 2^31 elements apart in memory of which only the touched pages exist."""
    ld = 2**31 + 3
    spec = Matmul(m=3, n=5, k=3, dtype=DType.F32, layout=layout, lda=ld, ldb=ld, ldc=ld, batch=2)
    ready = load(spec, target("native"))
    arrays = {}
    for p in ready.entry.parameters:
        try:
            memory = mmap.mmap(-1, p.nbytes, flags=mmap.MAP_PRIVATE | MAP_NORESERVE)
        except (OSError, MemoryError, OverflowError) as error:
            pytest.skip(f"{p.nbytes} bytes of address space: {error}")
        steps = tuple(stride * 4 for stride in p.strides)
        arrays[p.name] = np.ndarray(p.shape, np.float32, memory, 0, steps)
    for name in ("a", "b"):
        arrays[name][...] = np.arange(arrays[name].size).reshape(arrays[name].shape)
    ready.run(addresses(arrays))
    a, b = (arrays[name].swapaxes(1, 2) if layout is Layout.TT else arrays[name] for name in "ab")
    assert np.array_equal(arrays["out"], np.einsum("bmk,bkn->bmn", a, b))


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_outputs_are_rounded_to_nearest_even(name: str) -> None:
    """x * 1 to 16 bits, bit by bit: ties, carries into the exponent, overflow, subnormals, NaN."""
    high = np.arange(0, 0x10000, 9, dtype=np.uint32) << 16
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1000, 0x3000], np.uint32)
    x = (high[:, None] | low).ravel().view(np.float32)
    one = np.ones(1, np.float32)
    for dtype in (DType.BF16, DType.F16):
        spec = Matmul(m=x.size, n=1, k=1, dtype=DType.F32, out_dtype=dtype)
        out = np.zeros(x.size, np.uint16)
        load(spec, here(name)).run(addresses({"a": x, "b": one, "out": out}))
        with np.errstate(all="ignore"):
            wanted = bf16_bits(x) if dtype is DType.BF16 else x.astype(np.float16).view(np.uint16)
        nan = np.isnan(x)
        infinity = 0x7F80 if dtype is DType.BF16 else 0x7C00
        assert np.array_equal(out[~nan], wanted[~nan])
        assert np.all(out[nan] & 0x7FFF > infinity)


def bf16_bits(x: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Rounded by comparing distances in float64, ties by the last bit."""
    below = (x.view(np.uint32) >> 16).astype(np.uint16)
    above = below + 1

    def value(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float64]:
        wide = (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return np.where(np.isinf(wide), np.copysign(2.0**128, wide), wide)

    exact = x.astype(np.float64)
    down, up = np.abs(exact - value(below)), np.abs(value(above) - exact)
    chosen = np.where((up < down) | ((up == down) & (below & 1 == 1)), above, below)
    return np.where(np.isinf(x), below, chosen)


def test_the_backend_refuses_what_the_cpu_lacks() -> None:
    backend = CpuBackend()
    found = target("x86-64-v3")
    bundle = pack([pipeline.kernel(Relu(shape=(8,), dtype=DType.F32), found)])
    good = bundle.manifest.kernels[0].artifacts[0]

    def with_requires(**changed: object) -> ArtifactEntry:
        fields = {name: getattr(good, name) for name in vars(good)}
        return ArtifactEntry(**(fields | {"requires": dict(good.requires) | changed}))

    assert "needs warp_drive" in str(backend.refuses(with_requires(features=["warp_drive"])))
    assert "is for vax" in str(backend.refuses(with_requires(arch="vax")))
    assert "requires moon" in str(backend.refuses(with_requires(moon="full")))


def test_native_is_this_machine() -> None:
    found = target("native")
    assert found.arch == os.uname().machine
    assert CpuBackend().refuses(load(Relu(shape=(8,)), found).entry.artifacts[0]) is None
