"""Launches on this CPU: threads, far addresses, rounding, and what the backend refuses."""

from __future__ import annotations

import mmap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import kgen
import kgen_runtime
from kgen import pipeline
from kgen.bundle import pack
from kgen.schedule import CpuMatmul
from kgen.spec import DType, Layout, Matmul
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.manifest import ArtifactEntry
from tests.device.cpu.cpu_support import addresses, here, load, target
from tests.specs import relu_of

#: Linux, mman.h: address space without memory behind it (a name in Python from 3.13 on).
MAP_NORESERVE = 0x4000


def test_many_threads_share_one_kernel() -> None:
    """Tasks of one element are adjacent; a store that is too wide would race."""
    spec = Matmul(m=512, n=1, k=300, dtype=DType.BF16)
    schedule = CpuMatmul(mr=1, nr=4, mc=1, kc=304, nc=4)
    plain = here("x86-64-v3")  # Tiles of AMX have 16 rows.
    ready = load(spec, plain, schedule, num_threads=4)
    generator = np.random.default_rng(0)
    a, b = (generator.integers(0, 0x3F00, n, dtype=np.uint16) for n in (512 * 300, 300))
    expected = np.zeros(512, np.uint16)
    load(spec, plain, schedule, num_threads=1).run(addresses({"a": a, "b": b, "out": expected}))

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
    """Rows are 2^31 elements apart; only pages that are touched take memory."""
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


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_outputs_are_rounded_to_nearest_even(name: str) -> None:
    """x * 1 in 16 bits: ties, carries into the exponent, overflow, subnormals, NaN."""
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
    """Return the nearest bf16, by distances in float64; ties go to an even last bit."""
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
    bundle = pack([pipeline.kernel(relu_of((8,), dtype=DType.F32), found)])
    good = bundle.manifest.kernels[0].artifacts[0]

    def with_requires(**changed: object) -> ArtifactEntry:
        fields = {name: getattr(good, name) for name in vars(good)}
        return ArtifactEntry(**(fields | {"requires": dict(good.requires) | changed}))

    assert "needs warp_drive" in str(backend.refuses(with_requires(features=["warp_drive"])))
    assert "is for vax" in str(backend.refuses(with_requires(arch="vax")))
    assert "requires moon" in str(backend.refuses(with_requires(moon="full")))


def test_a_mapped_kernel_has_its_name(tmp_path: Path) -> None:
    """Debuggers and profilers show the name."""
    path = kgen.build(relu_of((7,), dtype=DType.F32), targets=["native"]).save(tmp_path / "x")
    with kgen_runtime.load(path, device="cpu"):
        assert "/memfd:native/relu_7_f32 " in Path("/proc/self/maps").read_text()
