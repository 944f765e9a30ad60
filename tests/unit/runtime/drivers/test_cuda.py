"""CUDA backend on a fake driver that keeps memory and records its calls."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kgen_runtime.backends.cuda import CudaBackend
from kgen_runtime.backends.cuda import driver as cuda_driver
from kgen_runtime.backends.cuda import tensor_maps as cuda_tensor_maps
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import (
    ArgumentError,
    DeviceError,
    DeviceLost,
    DeviceMismatchError,
    LaunchError,
    OutOfMemory,
)
from kgen_runtime.manifest import KernelEntry, Launch, TensorMap
from tests import needs
from tests.unit.runtime.drivers.fake_cuda import FakeDriver, installed
from tests.unit.runtime.fakes import Adding, check_captured, code_of, entry, param


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    with installed(monkeypatch) as driver:
        yield driver


def cubin(**launch: Any) -> KernelEntry:
    one = Launch(entry_point="add", grid=(2, 3, 4), block=(128, 2, 1), arguments=("a", "b", "out"))
    return entry(format="cubin", launches=(dataclasses.replace(one, **launch),))


def kernels_on(backend: CudaBackend, e: KernelEntry) -> Adding:
    return Adding(backend, [Kernel(backend, e, backend.load(e, code_of(e)))], {})


A = np.arange(15, dtype=np.float32).reshape(3, 5)


def test_devices(fake: FakeDriver) -> None:
    one, two = CudaBackend.devices()
    assert (one.id, two.id, two.name, one.kind) == ("cuda:0", "cuda:1", "Fake GPU 101", "gpu")
    assert one.capabilities["compute_capability"] == [9, 0]
    assert one.capabilities["cuda"] == [12, 4]
    assert fake.calls[0] == ("cuInit", 0)


def test_end_to_end(fake: FakeDriver) -> None:
    kernels = kernels_on(CudaBackend(1), cubin())
    ad = kernels.to_device(A)
    y = kernels.add(ad, ad)
    np.testing.assert_array_equal(y.numpy(), A + A)
    (launch,) = fake.named("cuLaunchKernel")
    assert launch[:9] == ("module 1 add", 2, 3, 4, 128, 2, 1, 0, None)
    assert launch[10] == 0
    assert set(fake.named("cuCtxPushCurrent")) == {("primary 101",)}
    assert fake.contexts == []
    with pytest.raises(DeviceMismatchError, match=r"a is on the host; the kernel runs on cuda:1"):
        kernels.add(A, ad)
    del ad, y
    assert not fake.memory
    kernels.close()
    kernels.close()
    assert fake.named("cuModuleUnload") == [("module 1",)]
    assert fake.named("cuDevicePrimaryCtxRelease") == [(101,)]


def test_a_sequence_is_captured_once(fake: FakeDriver) -> None:
    check_captured(
        CudaBackend(),
        cubin(),
        fake,
        launch="cuLaunchKernel",
        begin="cuStreamBeginCapture",
        free="cuGraphExecDestroy",
        streams=("cuStreamCreate", "cuStreamDestroy"),
        error="CUDA_ERROR_NOT_SUPPORTED",
    )


def test_arrays_outlive_the_backend(fake: FakeDriver) -> None:
    kernels = kernels_on(CudaBackend(), cubin())
    ad = kernels.to_device(A)
    kernels.close()
    assert not fake.memory
    del ad  # frees nothing twice


def test_foreign_streams_and_memory(fake: FakeDriver) -> None:
    kernels = kernels_on(CudaBackend(), cubin())
    ad, theirs = kernels.to_device(A), kernels.to_device(A)

    class Tensor:
        """Tensor of another library on this device."""

        __dlpack__ = theirs.__dlpack__
        __dlpack_device__ = theirs.__dlpack_device__

    out = kernels.add(ad, Tensor(), stream=0x7F00)
    assert fake.named("cuLaunchKernel")[0][8] == 0x7F00
    np.testing.assert_array_equal(out.numpy(), A + A)
    with pytest.raises(ArgumentError, match=r"out overlaps b"):
        kernels.add(ad, Tensor(), out=theirs)
    kernels.synchronize(0x7F00)
    assert fake.calls[-2] == ("cuStreamSynchronize", 0x7F00)


def test_clusters_and_dynamic_shared_memory(fake: FakeDriver) -> None:
    e = cubin(cluster=(4, 4, 1), dynamic_shared_memory=100_000)
    kernels = kernels_on(CudaBackend(), e)
    assert fake.named("cuFuncSetAttribute") == [
        ("module 1 add", "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", 100_000),
        ("module 1 add", "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1),
    ]
    ad = kernels.to_device(A)
    np.testing.assert_array_equal(kernels.add(ad, ad, stream=5).numpy(), A + A)
    ((config, function, _, extra),) = fake.named("cuLaunchKernelEx")
    assert (config.gridDimX, config.gridDimY, config.gridDimZ) == (2, 3, 4)
    assert (config.blockDimX, config.blockDimY, config.blockDimZ) == (128, 2, 1)
    assert (config.sharedMemBytes, config.hStream, config.numAttrs) == (100_000, 5, 1)
    shape = config.attrs[0].value.clusterDim
    assert config.attrs[0].id == "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION"
    assert (shape.x, shape.y, shape.z) == (4, 4, 1)
    assert (function, extra) == ("module 1 add", 0)


def mapped() -> KernelEntry:
    """Return the addition with a tensor map of 3 x 5 for `b`."""
    map_ = TensorMap(
        name="b_map",
        tensor="b",
        dtype=DType.F32,
        shape=(2, 3, 5),
        strides=(100, 8, 1),
        box=(1, 16, 32),
        swizzle=128,
    )
    return dataclasses.replace(cubin(arguments=("a", "b_map", "out")), tensor_maps=(map_,))


def test_tensor_maps_are_encoded_once_for_each_address(fake: FakeDriver) -> None:
    kernels = kernels_on(CudaBackend(), mapped())
    ad, bd = kernels.to_device(A), kernels.to_device(2 * A)
    for b in (bd, bd, ad):
        # The fake kernel finds the address in the structure's first word, as behind a pointer.
        np.testing.assert_array_equal(kernels.add(ad, b).numpy(), A + b.numpy())
    first, second = fake.named("cuTensorMapEncodeTiled")
    assert [first[2], second[2]] == [bd.buffer, ad.buffer]
    assert first[:2] == ("CU_TENSOR_MAP_DATA_TYPE_FLOAT32", 3)
    assert first[3:7] == ([5, 3, 2], [32, 400], [32, 16, 1], [1, 1, 1])
    assert first[8] == "CU_TENSOR_MAP_SWIZZLE_128B"
    assert (type(first[3][0]), type(first[5][0])) == (np.uint64, np.uint32)


def test_a_tensor_map_that_cannot_be_encoded(fake: FakeDriver) -> None:
    kernels = kernels_on(CudaBackend(), mapped())
    ad = kernels.to_device(A)
    fake.fail["cuTensorMapEncodeTiled"] = "CUDA_ERROR_INVALID_VALUE"
    with pytest.raises(LaunchError, match=r"cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE"):
        kernels.add(ad, ad)


@pytest.mark.integration
def test_the_real_bindings_take_these_fields() -> None:
    """The bindings convert every argument before they call the driver, which is missing here."""
    bindings = needs.module("cuda.bindings.driver")
    cuda_driver.driver.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_tensor_maps, "driver", lambda: bindings)
        patch.setattr(cuda_driver, "driver", lambda: bindings)
        try:
            cuda_tensor_maps.encode(mapped().tensor_maps[0], 4096)
        except TypeError as error:
            pytest.fail(str(error))
        except (RuntimeError, DeviceError):
            pass


def test_several_launches_in_order(fake: FakeDriver) -> None:
    first = Launch(entry_point="add", grid=(1, 1, 1), arguments=("a", "b", "out"))
    second = dataclasses.replace(first, entry_point="again", arguments=("out", "b", "out"))
    e = entry(format="cubin", launches=(first, second))
    kernels = kernels_on(CudaBackend(), e)
    ad = kernels.to_device(A)
    np.testing.assert_array_equal(kernels.add(ad, ad).numpy(), 3 * A)
    assert [call[0] for call in fake.named("cuLaunchKernel")] == ["module 1 add", "module 1 again"]


@pytest.mark.parametrize(
    ("call", "status", "error", "message"),
    [
        ("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", OutOfMemory, "out of device memory"),
        ("cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE", LaunchError, r"grid \(2, 3, 4\)"),
        ("cuLaunchKernel", "CUDA_ERROR_LAUNCH_FAILED", DeviceLost, "restart the process"),
        ("cuCtxSynchronize", "CUDA_ERROR_ILLEGAL_ADDRESS", DeviceLost, "the device is lost"),
        ("cuModuleLoadData", "CUDA_ERROR_NO_BINARY_FOR_GPU", DeviceError, "rejects its cubin"),
    ],
)
def test_errors(
    fake: FakeDriver, call: str, status: str, error: type[DeviceError], message: str
) -> None:
    backend = CudaBackend()
    fake.fail[call] = status
    with pytest.raises(error, match=message) as raised:
        kernels = kernels_on(backend, cubin())
        ad = kernels.to_device(A)
        kernels.add(ad, ad).numpy()
    assert type(raised.value) is error
    assert call in str(raised.value) and "\n" not in str(raised.value)
    assert fake.contexts == []


def test_freeing_on_a_lost_device_is_quiet(fake: FakeDriver) -> None:
    backend = CudaBackend()
    buffer = backend.alloc(16)
    fake.fail["cuMemFree"] = "CUDA_ERROR_LAUNCH_FAILED"
    backend.free(buffer)
    backend.alloc(16)
    backend.close()


def test_no_driver(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.fail["cuInit"] = "CUDA_ERROR_NO_DEVICE"
    with pytest.raises(DeviceError, match=r"driver does not start: CUDA_ERROR_NO_DEVICE"):
        CudaBackend.devices()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(DeviceError, match=r"pip install 'kgen-kernels-runtime\[cuda\]'"):
        CudaBackend()


def test_no_library(fake: FakeDriver) -> None:
    def missing(*_: Any) -> None:
        raise RuntimeError("Failed to dlopen libcuda.so.1")

    fake.do_cuInit = missing  # type: ignore[attr-defined]
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"no NVIDIA driver on this machine"):
            CudaBackend.devices()


def test_unaligned_and_wrong_arguments(fake: FakeDriver) -> None:
    kernels = kernels_on(CudaBackend(), entry(param("a", (4,)), param("out", (4,)), format="cubin"))
    with pytest.raises(ArgumentError, match=r"a is f16; expected f32"):
        kernels.add(kernels.to_device(np.zeros(4, np.float16)))
