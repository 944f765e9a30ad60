"""DLPack in both directions: tensors of other libraries, and arrays of kgen in other libraries."""

from __future__ import annotations

import gc
import operator
import weakref
from typing import Any, ClassVar

import numpy as np
import pytest

from kgen_runtime.array import Array, host_array, lent_array
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import ArgumentError, DeviceMismatchError
from kgen_runtime.memory import dlpack, lending
from tests.unit.runtime.fakes import Adding, HostFake, OpaqueFake, code_of, entry, param


class Producer:
    """Tensor of another library; `versioned` ones know DLPack 1.0."""

    def __init__(
        self,
        data: np.ndarray[Any, Any],
        *,
        dtype: DType = DType.F32,
        versioned: bool = True,
        device: tuple[int, int] = (dlpack.HOST, 0),
    ) -> None:
        self.data = data
        self.dtype = dtype
        self.versioned = versioned
        self.device = device
        self.streams: list[object] = []
        self._exports: list[weakref.ref[np.ndarray[Any, Any]]] = []

    @property
    def lent(self) -> int:
        """Number of exports that were not released."""
        gc.collect(1)
        return sum(export() is not None for export in self._exports)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: object = None, **new: Any) -> object:
        if new and not self.versioned:
            raise TypeError("unexpected keyword argument")
        self.streams.append(stream)
        data = self.data
        lent = lent_array(
            data.ctypes.data, self.dtype, data.shape, data.strides, owner=data, read_only=False
        )
        self._exports.append(weakref.ref(lent))
        return lending.export(lent, self.dtype, self.device, versioned=self.versioned)


class ReadOnly:
    """Producer with numpy's capsule of a read-only array: versioned, with the flag set."""

    def __init__(self, data: np.ndarray[Any, Any]) -> None:
        self.data = data
        self.data.flags.writeable = False
        self.__dlpack__ = data.__dlpack__
        self.__dlpack_device__ = data.__dlpack_device__


def kernels_on(backend: Any, *dtypes: str) -> Adding:
    names = ("a", "out")
    e = entry(*(param(n, (3, 5), dtype) for n, dtype in zip(names, dtypes, strict=True)))
    return Adding(backend, [Kernel(backend, e, backend.load(e, code_of(e)))], {})


A = np.arange(15, dtype=np.float32).reshape(3, 5)


@pytest.mark.parametrize("versioned", [True, False])
def test_read(versioned: bool) -> None:
    wide = np.zeros((3, 7), np.float32)
    found = dlpack.read(Producer(wide[:, 1:4], versioned=versioned))
    assert found.address == wide.ctypes.data + 4
    assert (found.shape, found.strides) == ((3, 3), (28, 4))
    assert (found.dtype, found.device, found.read_only) == (DType.F32, (dlpack.HOST, 0), False)


def test_read_numpys_capsules() -> None:
    data = np.zeros((2, 3), np.float16)
    found = dlpack.read(data)
    assert (found.address, found.shape) == (data.ctypes.data, (2, 3))
    assert (found.strides, found.dtype) == ((6, 2), DType.F16)
    assert dlpack.read(ReadOnly(data)).read_only
    assert dlpack.read(np.zeros(3, np.uint32)).dtype == "uint32"
    assert dlpack.read(np.zeros(3, np.bool_)).dtype == DType.BOOL


def test_byte_offset_and_missing_strides() -> None:
    data = np.zeros((2, 3), np.float32)
    producer = Producer(data)
    capsule = producer.__dlpack__()
    tensor = dlpack.tensor_of(capsule)
    tensor.byte_offset = 8
    tensor.strides = None

    class Again(Producer):
        def __dlpack__(self, **_: Any) -> object:
            return capsule

    found = dlpack.read(Again(data))
    assert found.address == data.ctypes.data + 8
    assert found.strides == (12, 4)


@pytest.mark.parametrize("versioned", [True, False])
def test_memory_is_given_back(versioned: bool) -> None:
    producer = Producer(np.zeros(3, np.float32), versioned=versioned)
    found = dlpack.read(producer)
    assert producer.lent == 1
    del found
    assert producer.lent == 0


@pytest.mark.parametrize("versioned", [True, False])
def test_memory_is_given_back_while_an_exception_is_pending(versioned: bool) -> None:
    refused: Any = Producer(np.zeros(3, np.uint16), dtype=DType.BF16, versioned=versioned)
    with pytest.raises((BufferError, RuntimeError), match="Unsupported dtype"):
        np.from_dlpack(refused)  # numpy drops the capsule after it has raised
    consumed: Any = Producer(A, versioned=versioned)
    with pytest.raises(TypeError, match="integer scalar"):
        operator.index(np.from_dlpack(consumed))  # and Python the array
    assert refused.lent == consumed.lent == 0


@pytest.mark.parametrize("versioned", [True, False])
def test_kernels_take_dlpack_arrays(versioned: bool) -> None:
    kernels = kernels_on(HostFake(), "f32", "f32")
    out = np.zeros((3, 5), np.float32)
    lent = Producer(out, versioned=versioned)
    assert kernels.add(Producer(A, versioned=versioned), out=lent) is lent
    np.testing.assert_array_equal(out, A)
    assert lent.lent == 0


def test_a_temporary_export_lives_until_the_launch_is_done() -> None:
    class Watching(HostFake):
        lent: ClassVar[list[int]] = []

        def launch(self, kernel: Any, buffers: Any, stream: int | None = None) -> None:
            self.lent.append(producer.lent)

    producer = Producer(A)
    kernels_on(Watching(), "f32", "f32").add(producer)
    assert Watching.lent == [1]


@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16], ids=lambda dtype: dtype.value)
def test_a_tensor_of_the_wanted_form_is_lent_in_one_go(dtype: DType) -> None:
    data = np.zeros((2, 3), dtype.storage)
    form = dlpack.Form(dtype, (2, 3), (3, 1))
    lent = form.lend(Producer(data, dtype=dtype), writable=True)
    assert lent is not None
    assert lent[0] == data.ctypes.data
    for other in (
        Producer(data, dtype=DType.S32 if dtype is DType.F32 else DType.F16),
        Producer(data[:1], dtype=dtype),
        Producer(data.T, dtype=dtype),
        Producer(np.zeros((2, 4), dtype.storage)[:, :3], dtype=dtype),
        Producer(data, dtype=dtype, versioned=False),
        Producer(data, dtype=dtype, device=(dlpack.CUDA, 0)),
        3,
    ):
        assert form.lend(other, writable=False) is None


def test_a_read_only_tensor_is_lent_for_reading() -> None:
    data = np.zeros(3, np.float32)
    data.flags.writeable = False
    form = dlpack.Form(DType.F32, (3,), (1,))
    found = form.lend(ReadOnly(data), writable=False)
    assert found is not None
    assert found[0] == data.ctypes.data
    assert form.lend(ReadOnly(data), writable=True) is None


def test_what_must_not_be_written() -> None:
    with pytest.raises(ArgumentError, match=r"out is read-only; pass a writable array"):
        kernels_on(HostFake(), "f32", "f32").add(A, out=ReadOnly(np.zeros((3, 5), np.float32)))


def test_producers_that_refuse() -> None:
    class Grad(Producer):
        def __dlpack__(self, **_: Any) -> object:
            raise BufferError("Can't export tensors that require gradient, use detach()\nmore")

    message = r"add_kernel: a Grad\.__dlpack__ refuses: Can't export .* use detach\(\)$"
    with pytest.raises(ArgumentError, match=message):
        kernels_on(HostFake(), "f32", "f32").add(Grad(A))
    with pytest.raises(ArgumentError, match=r"^main: x: Grad\.__dlpack__ refuses: Can't export"):
        host_array(Grad(A), "main: x")


def test_bfloat16_bits() -> None:
    bits = np.arange(15, dtype=np.uint16).reshape(3, 5)
    found = dlpack.read(Producer(bits, dtype=DType.BF16))
    assert (found.dtype, found.strides) == (DType.BF16, (10, 2))
    array = Array.from_host(OpaqueFake(), Producer(bits, dtype=DType.BF16))
    assert array.dtype is DType.BF16
    np.testing.assert_array_equal(array.numpy().view(np.uint16), bits)


def test_devices_must_match() -> None:
    gpu = Producer(A, device=(dlpack.CUDA, 1))
    message = r"a is on cuda:1; the kernel runs on cpu:0; copy it to the host \(an Array with"
    with pytest.raises(DeviceMismatchError, match=message):
        kernels_on(HostFake(), "f32", "f32").add(gpu)
    with pytest.raises(DeviceMismatchError, match=r"a is on the host; .* kernels\.to_device"):
        kernels_on(OpaqueFake(), "f32", "f32").add(Producer(A))
    with pytest.raises(ArgumentError, match=r"^to_device: the array is on cuda:1; copy it to the"):
        Array.from_host(HostFake(), gpu)
    assert gpu.streams == [None]  # looked at once
    assert gpu.lent == 0  # and given back
    pinned = Producer(A, device=(dlpack.CUDA_HOST, 0))
    np.testing.assert_array_equal(kernels_on(HostFake(), "f32", "f32").add(pinned), A)


def test_streams_in_dlpacks_words() -> None:
    class Cuda(HostFake):
        name = "cuda"
        memory = dlpack.CUDA

    kernels = kernels_on(Cuda(), "f32", "f32")
    aligned = np.zeros(64, np.uint8)
    start = -aligned.ctypes.data % 16
    device = Producer(aligned[start:][:60].view(np.float32).reshape(3, 5), device=(dlpack.CUDA, 0))
    for stream, number in ((None, 1), (0, 1), (77, 77)):
        assert isinstance(kernels.add(device, stream=stream), Array)
        assert device.streams.pop() == number
    assert dlpack.stream_number(dlpack.ROCM, None) == 0
    assert dlpack.stream_number(dlpack.HOST, 5) is None


def test_device_tensors_must_be_aligned() -> None:
    class Cuda(HostFake):
        name = "cuda"
        memory = dlpack.CUDA

    raw = np.zeros(100, np.uint8)
    start = -raw.ctypes.data % 16 + 4
    odd = Producer(raw[start:][:60].view(np.float32).reshape(3, 5), device=(dlpack.CUDA, 0))
    with pytest.raises(ArgumentError, match=r"expected a multiple of 16; pass a copy of it"):
        kernels_on(Cuda(), "f32", "f32").add(odd)


def test_lending_to_numpy() -> None:
    backend = HostFake()
    array = Array.from_host(backend, A)
    found = dlpack.read(array)
    assert found.address == array.buffer and not found.read_only
    assert array.__dlpack__() is not None  # the unversioned form, and nobody takes it
    seen = np.from_dlpack(array)
    np.testing.assert_array_equal(seen, A)
    address = array.buffer
    del array, found
    gc.collect(1)
    assert backend.live == 1 and seen.ctypes.data == address
    del seen
    gc.collect(1)
    assert backend.live == 0


def test_lending_waits_for_earlier_launches() -> None:
    class Waiting(HostFake):
        waited: ClassVar[list[int | None]] = []

        def synchronize(self, stream: int | None = None) -> None:
            self.waited.append(stream)

    Array.from_host(Waiting(), A).__dlpack__(stream=3)
    assert Waiting.waited == [None]


def test_what_cannot_be_lent() -> None:
    with pytest.raises(BufferError, match=r"memory of vulkan:0 cannot be shared"):
        Array.from_host(OpaqueFake(), A).__dlpack__()
    with pytest.raises(BufferError, match=r"cannot be exported as a copy"):
        Array.from_host(HostFake(), A).__dlpack__(copy=True)
