"""Element-wise kernels that store past the caches or into them, with any alignment of the output
and any number of tasks."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from kgen import emulate, pipeline
from kgen.bundle import pack
from kgen.errors import ScheduleError
from kgen.schedule import CpuStream
from kgen.spec import DType, Elementwise, Spec
from kgen.targets.cpu import FAMILY
from kgen_runtime.backend import Code
from kgen_runtime.backends.cpu import CpuBackend
from tests.device.cpu.cpu_support import GuardedBytes, require_qemu
from tests.open_devices import verify
from tests.specs import relu_of

X86 = ("x86-64", "x86-64-v3", "x86-64-v4")
Bytes = npt.NDArray[np.uint8]
#: A kernel over guarded memory: (addresses of x and out, first task, end of the tasks).
Run = Callable[[int, int, int, int], None]


def loaded(spec: Spec, name: str, schedule: CpuStream) -> Run:
    """Return the kernel's function. Skip the test if this CPU lacks the instructions."""
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
    function = ctypes.CFUNCTYPE(None, *words)(kernel.launches[0].function)

    def run(x: int, out: int, begin: int, end: int) -> None:
        assert kernel.code is not None  # which the machine code stays with
        function(x, out, begin, end)

    return run


@pytest.mark.parametrize("name", X86)
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16], ids=lambda dtype: dtype.value)
def test_relu_past_the_caches_wherever_it_lies(name: str, dtype: DType) -> None:
    """The output has any distance from an aligned address; all tasks run at once or one by one,
    the last one partial; no byte outside is written."""
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


def halved(bits: npt.NDArray[np.uint16], dtype: DType) -> npt.NDArray[np.uint16]:
    """Return half of each number, rounded to nearest even: half of an odd subnormal number is a
    tie."""
    type_ = ml_dtypes.bfloat16 if dtype is DType.BF16 else np.float16
    with np.errstate(invalid="ignore"):
        found = (bits.view(type_).astype(np.float32) * np.float32(0.5)).astype(type_)
    return found.view(np.uint16)


def one_subnormal_in_a_vector(elements: int, seed: int) -> npt.NDArray[np.uint16]:
    """Return normal 16-bit numbers with at most one subnormal in each group of 16."""
    random = np.random.default_rng(seed)
    bits = random.integers(0x0800, 0x7000, elements, dtype=np.uint16)
    for start in range(0, elements, 16):
        if random.random() < 0.2:
            bits[min(start + int(random.integers(16)), elements - 1)] = random.integers(1, 0x80)
    signs = random.integers(0, 2, elements, dtype=np.uint16) << np.uint16(15)
    return bits | signs.astype(np.uint16)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "x86-64-v4+bf16"])
@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16], ids=lambda dtype: dtype.value)
def test_halves_in_pairs_of_vectors(name: str, dtype: DType) -> None:
    """A subnormal number may be in any vector of a step; stores go past the caches, at any
    alignment, or into them; no byte outside is written."""
    elements = 2 * 128 - 37
    spec = Elementwise(expression="x * 0.5", shapes=((elements,),), dtype=dtype)
    x = GuardedBytes(2 * elements, at_end=True)
    for nontemporal in (True, False):
        schedule = CpuStream(task=128, unroll=4, nontemporal=nontemporal)
        run = loaded(spec, name, schedule)
        for shift in range(0, 64, 2 if nontemporal else 34):
            bits = one_subnormal_in_a_vector(elements, shift)
            x.data[:] = bits.view(np.uint8)
            out = GuardedBytes(2 * elements + shift, at_end=shift % 8 == 0)
            out.data[:] = 0xA5
            run(x.address, out.address + shift, 0, 2)
            assert np.array_equal(out.data[shift:].view(np.uint16), halved(bits, dtype)), shift
            assert np.all(out.data[:shift] == 0xA5)


def test_a_subnormal_number_that_no_step_looks_for() -> None:
    """Without any one of the vectors' checks, the conversion makes a subnormal number zero."""
    spec = Elementwise(expression="x * 0.5", shapes=((64,),), dtype=DType.BF16)
    target = FAMILY.find("x86-64-v4+bf16")
    assert target is not None
    text = pipeline.kernel(spec, target, CpuStream(task=64, unroll=4)).source.text
    found = list(re.finditer(r"(fpclass\.ps\.512\(.*, i32 )32\)", text))
    assert len(found) == 4
    bits = np.full(64, 0x3F80, np.uint16)
    for vector, match in enumerate([None, *found]):
        data = bits.copy()
        data[16 * (vector - 1) + 5] = 3
        out = np.zeros(64, np.uint16)
        emulate.run(
            text if match is None else f"{text[: match.end(1)]}0{text[match.end() - 1 :]}",
            language="llvm",
            entry=spec.key,
            grid=(1, 1, 1),
            block=(1, 1, 1),
            arguments=[data, out, np.int64(0), np.int64(1)],
        )
        assert np.array_equal(out, halved(data, DType.BF16)) == (match is None)


def test_relu_past_the_caches_on_its_own_input() -> None:
    """Elements that are written twice get the same value."""
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
    """The store is STNP, which a tuned or a user's schedule may select."""
    require_qemu()
    target = FAMILY.find("aarch64-neon")
    assert target is not None
    schedule = CpuStream(task=64, unroll=2, nontemporal=True)
    for dtype in (DType.F32, DType.F16):
        bundle = pack([pipeline.kernel(relu_of((203,), dtype=dtype), target, schedule)])
        for result in verify(bundle).kernels:
            assert result.passed, result.to_json()
