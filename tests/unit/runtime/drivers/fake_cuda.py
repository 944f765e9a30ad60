"""A CUDA driver for tests, in the words of cuda.bindings.driver.

It reads kernel parameters through the pointers it is given, as the real one does.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kgen_runtime.backends.cuda import driver as cuda_driver
from kgen_runtime.memory.host import bytes_at
from tests.unit.runtime.fakes import add_tensors

OK = SimpleNamespace(name="CUDA_SUCCESS")


class FakeEnum:
    """Enum in which any member is its own name."""

    def __getattr__(self, name: str) -> str:
        return name


class FakeLaunchAttribute:
    def __init__(self) -> None:
        self.id = ""
        self.value = SimpleNamespace(clusterDim=SimpleNamespace(x=1, y=1, z=1))


class FakeTensorMap:
    """Structure whose first word is the address of the mapped tensor."""

    def __init__(self, address: int) -> None:
        self.words = (ctypes.c_uint64 * 16)(address)

    def getPtr(self) -> int:
        return ctypes.addressof(self.words)


class FakeDriver(ModuleType):
    """Part of cuda.bindings.driver that the backend uses; one function is one driver call."""

    CUdevice_attribute = FakeEnum()
    CUfunction_attribute = FakeEnum()
    CUlaunchAttributeID = FakeEnum()
    CUlaunchAttribute = FakeLaunchAttribute
    CUlaunchConfig = SimpleNamespace
    CUstreamCaptureMode = FakeEnum()
    CUstream_flags = FakeEnum()
    CUtensorMapDataType = FakeEnum()
    CUtensorMapInterleave = FakeEnum()
    CUtensorMapSwizzle = FakeEnum()
    CUtensorMapL2promotion = FakeEnum()
    CUtensorMapFloatOOBfill = FakeEnum()
    cuuint32_t = np.uint32
    cuuint64_t = np.uint64

    def __init__(self) -> None:
        super().__init__("driver")
        self.memory: dict[int, np.ndarray[Any, Any]] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.contexts: list[object] = []
        self.modules: list[bytes] = []
        self.fail: dict[str, str] = {}
        #: What is captured now, and graphs by their handles.
        self.captured: list[Any] | None = None
        self.graphs: dict[int, list[Any]] = {}
        self.capability = (9, 0)
        self.version = 12040

    def __getattr__(self, name: str) -> Any:
        """A driver call: checked for a context, recorded, answered by `_name` if there is one."""
        if not name.startswith("cu"):
            raise AttributeError(name)

        def function(*arguments: Any) -> tuple[Any, ...]:
            if name in self.fail:
                return (SimpleNamespace(name=self.fail[name]),)
            if name.startswith(("cuMem", "cuModule", "cuLaunch", "cuStream", "cuFunc")):
                assert self.contexts, f"{name} without a context"
            self.calls.append((name, *arguments))
            answer = getattr(self, f"do_{name}", lambda *_: None)(*arguments)
            return (OK,) if answer is None else (OK, answer)

        return function

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]

    def do_cuDeviceGetCount(self) -> int:
        return 2

    def do_cuDeviceGet(self, index: int) -> int:
        return 100 + index

    def do_cuDeviceGetName(self, size: int, device: int) -> bytes:
        return f"Fake GPU {device}".encode().ljust(size, b"\0")

    def do_cuDriverGetVersion(self) -> int:
        return self.version

    def do_cuDeviceTotalMem(self, device: int) -> int:
        return 1 << 34

    def do_cuDeviceGetAttribute(self, key: str, device: int) -> int:
        major, minor = self.capability
        return {
            "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": major,
            "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": minor,
            "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 65536,
        }.get(key, 132)

    def do_cuDevicePrimaryCtxRetain(self, device: int) -> str:
        return f"primary {device}"

    def do_cuCtxPushCurrent(self, context: object) -> None:
        self.contexts.append(context)

    def do_cuCtxPopCurrent(self) -> object:
        return self.contexts.pop()

    def do_cuMemAlloc(self, nbytes: int) -> int:
        raw = np.full(nbytes + 256, 0xCC, np.uint8)
        address = raw.ctypes.data + -raw.ctypes.data % 256
        self.memory[address] = raw
        return address

    def do_cuMemFree(self, address: int) -> None:
        del self.memory[address]

    def do_cuMemcpyHtoD(self, target: int, source: int, nbytes: int) -> None:
        bytes_at(target, nbytes)[:] = bytes_at(source, nbytes)

    def do_cuMemcpyDtoH(self, target: int, source: int, nbytes: int) -> None:
        bytes_at(target, nbytes)[:] = bytes_at(source, nbytes)

    def do_cuModuleLoadData(self, image: bytes) -> str:
        self.modules.append(image)
        return f"module {len(self.modules)}"

    def do_cuModuleGetFunction(self, module: str, name: bytes) -> str:
        return f"{module} {name.decode()}"

    def do_cuLaunchKernel(self, function: str, *rest: Any) -> None:
        add_tensors(rest[8], self.captured)

    def do_cuStreamCreate(self, flags: Any) -> int:
        return 77

    def do_cuStreamBeginCapture(self, stream: int, mode: Any) -> None:
        self.captured = []

    def do_cuStreamEndCapture(self, stream: int) -> int:
        captured, self.captured = self.captured, None
        assert captured is not None
        self.graphs[len(self.graphs) + 1] = captured
        return len(self.graphs)

    def do_cuGraphInstantiate(self, graph: int, flags: int) -> int:
        return graph

    def do_cuGraphLaunch(self, graph: int, stream: Any) -> None:
        for launch in self.graphs[graph]:
            launch()

    def do_cuTensorMapEncodeTiled(self, *fields: Any) -> FakeTensorMap:
        return FakeTensorMap(address=fields[2])

    def do_cuLaunchKernelEx(self, config: Any, function: str, parameters: int, _: int) -> None:
        add_tensors(parameters, self.captured)


@contextmanager
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """Make the backend find this driver in place of cuda.bindings."""
    api, bindings = FakeDriver(), ModuleType("cuda.bindings")
    bindings.driver = api  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", api)
    cuda_driver.driver.cache_clear()
    yield api
    gc.collect(1)  # arrays in the tracebacks of expected errors still need this driver
    cuda_driver.driver.cache_clear()
