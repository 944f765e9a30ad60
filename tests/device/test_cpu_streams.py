"""relu that writes past the caches: wherever the output lies, in however many tasks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from kgen import emulate, pipeline
from kgen.bundle import pack
from kgen.errors import ScheduleError
from kgen.schedule import CpuStream
from kgen.spec import DType, Spec
from kgen.targets.cpu import FAMILY
from kgen_runtime.backend import Code
from kgen_runtime.backends.cpu import CpuBackend
from tests.device.cpu_support import GuardedBytes, require_qemu
from tests.open_devices import verify
from tests.specs import relu_of

X86 = ("x86-64", "x86-64-v3", "x86-64-v4")
Bytes = npt.NDArray[np.uint8]
#: A kernel over guarded memory: (addresses of x and out, first task, end of the tasks).
Run = Callable[[int, int, int, int], None]


def loaded(spec: Spec, name: str, schedule: CpuStream) -> Run:
    """The kernel's function; skips where this CPU lacks what it needs."""
    target = FAMILY.find(name)
    assert target is not None
    bundle = pack([pipeline.kernel(spec, target, schedule)])
    entry = bundle.manifest.kernels[0]
    artifact = entry.artifacts[0]
    backend = CpuBackend(num_threads=1)
    if (refusal := backend.refuses(artifact)) is not None:
        pytest.skip(refusal)
    kernel = backend.load(
        entry, {"main": Code(artifact=artifact, data=bundle.files[artifact.file])}
    )
    words = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function = ctypes.CFUNCTYPE(None, *words)(kernel.entries[0].address)

    def run(x: int, out: int, begin: int, end: int) -> None:
        assert kernel.library is not None  # which the machine code stays with
        function(x, out, begin, end)

    return run


@pytest.mark.parametrize("name", X86)
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16], ids=lambda dtype: dtype.value)
def test_relu_past_the_caches_wherever_it_lies(name: str, dtype: DType) -> None:
    """Every distance of out from an aligned address; all tasks at once and each by itself, the last
    one short; not a byte outside."""
    count, unroll = 64 // dtype.itemsize, 2
    elements = 3 * unroll * count + count + 3
    schedule = CpuStream(task=unroll * count, unroll=unroll, nontemporal=True)
    run = loaded(relu_of((elements,), dtype=dtype), name, schedule)
    nbytes = elements * dtype.itemsize
    values = np.random.default_rng(0).integers(0, 256, nbytes, dtype=np.uint8)
    bits = values.view(f"i{dtype.itemsize}")
    infinity = 0x7F800000 if dtype is DType.F32 else 0x7F80
    keeps = (bits >= 0) | (bits & (2 ** (8 * dtype.itemsize - 1) - 1) > infinity)
    expected = np.where(keeps, bits, 0).view(np.uint8)
    x = GuardedBytes(nbytes, at_end=True)
    x.data[:] = values
    for shift in range(0, 64, dtype.itemsize):
        out = GuardedBytes(nbytes + shift, at_end=shift % 8 == 0)
        for ranges in ([(0, 4)], [(i, i + 1) for i in range(4)]):
            out.data[:] = 0xA5
            for begin, end in ranges:
                run(x.address, out.address + shift, begin, end)
            assert np.array_equal(out.data[shift:], expected), shift
            assert np.all(out.data[:shift] == 0xA5)


def test_relu_past_the_caches_on_its_own_input() -> None:
    """Elements that are written twice are the same both times."""
    spec = relu_of((1000,), dtype=DType.F32)
    run = loaded(spec, "x86-64-v4", CpuStream(task=128, unroll=1, nontemporal=True))
    values = np.random.default_rng(0).standard_normal(1001).astype(np.float32)
    for shift in (0, 1):
        both = values[shift : shift + 1000].copy()
        run(both.ctypes.data, both.ctypes.data, 0, 8)
        assert np.array_equal(both, np.maximum(values[shift : shift + 1000], 0))


def test_only_what_leaves_the_last_cache_goes_past_them() -> None:
    for shape, dtype, past in (
        ((8192, 4096), DType.BF16, True),
        ((1024, 4096), DType.F32, False),
        ((1 << 24, 1), DType.F32, True),
        # Its last task would be shorter than a vector.
        (((1 << 24) + 1,), DType.F32, False),
    ):
        spec = relu_of(shape, dtype=dtype)
        for name, writes in (("x86-64-v3", past), ("x86-64-v4", past), ("aarch64-neon", False)):
            target = FAMILY.find(name)
            assert target is not None
            plan = pipeline.plan(spec, target)
            assert isinstance(plan.schedule, CpuStream)
            assert plan.schedule.nontemporal == writes, (spec, name)
            assert ("!nontemporal" in pipeline.source(plan).text) == writes
    target = FAMILY.find("x86-64-v4")
    assert target is not None
    with pytest.raises(ScheduleError, match="try nontemporal=0"):
        spec = relu_of((129,), dtype=DType.F32)
        pipeline.plan(spec, target, CpuStream(task=128, unroll=1, nontemporal=True))


def test_the_emulator_does_what_the_cpu_does() -> None:
    spec = relu_of((300,), dtype=DType.F32)
    schedule = CpuStream(task=256, unroll=2, nontemporal=True)
    target = FAMILY.find("x86-64-v4")
    assert target is not None
    x = np.random.default_rng(0).standard_normal(300).astype(np.float32)
    out = np.zeros(300, np.float32)
    emulate.run(
        pipeline.kernel(spec, target, schedule).source.text,
        language="llvm",
        entry=spec.key,
        grid=(1, 1, 1),
        block=(1, 1, 1),
        arguments=[x, out, np.int64(0), np.int64(2)],
    )
    assert np.array_equal(out, np.maximum(x, 0))


def test_past_the_caches_under_qemu() -> None:
    """By STNP: a tuner or a user may ask for it."""
    require_qemu()
    target = FAMILY.find("aarch64-neon")
    assert target is not None
    schedule = CpuStream(task=64, unroll=2, nontemporal=True)
    for dtype in (DType.F32, DType.F16):
        bundle = pack([pipeline.kernel(relu_of((203,), dtype=dtype), target, schedule)])
        for result in verify(bundle).kernels:
            assert result.passed, result.to_json()
