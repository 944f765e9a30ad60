"""HIP backend on a fake libamdhip64 that keeps memory and records its calls. The fake reads
kernel parameters through pointers, as the real library does."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kgen_runtime.backends import hip
from kgen_runtime.backends.hip import HipBackend
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.errors import (
    DeviceError,
    DeviceLost,
    DeviceMismatchError,
    LaunchError,
    OutOfMemory,
)
from kgen_runtime.manifest import KernelEntry, Launch
from tests.unit.runtime.fakes import Adding, add_tensors, check_captured, code_of, entry, in_a_child

A = np.arange(15, dtype=np.float32).reshape(3, 5)


class Described:
    """Call that returns the text of an error; the backend must declare its `restype`."""

    def __init__(self, texts: dict[int, bytes]) -> None:
        self.texts = texts
        self.restype: Any = ctypes.c_int

    def __call__(self, status: Any) -> bytes | None:
        assert self.restype is ctypes.c_char_p
        return self.texts.get(status.value)


class FakeHip:
    """Part of the library that the backend uses; one method is one call, 0 is success."""

    #: The old layout has the deprecated number before the name, the new one zeros.
    properties = b"Fake Instinct\0".ljust(512, b"\0") + b"\x8c\x03\0\0gfx942:sramecc+:xnack-\0"

    def __init__(self) -> None:
        self.memory: dict[int, np.ndarray[Any, Any]] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.current = 0
        self.fail: dict[str, int] = {}
        self.captured: list[Any] | None = None
        self.graphs: dict[int, list[Any]] = {}
        self.hipGetErrorName = Described(
            {1: b"hipErrorInvalidValue", 100: b"hipErrorNoDevice", 719: b"hipErrorLaunchFailure"}
        )
        self.hipGetErrorString = Described(
            {1: b"invalid argument", 719: b"unspecified launch failure"}
        )

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("hip") or name == "hipGetDevicePropertiesR0600":
            raise AttributeError(name)

        def function(*arguments: Any) -> int:
            if name in self.fail:
                return self.fail[name]
            plain = tuple(getattr(a, "value", a) for a in arguments)
            self.calls.append((name, self.current, *plain))
            getattr(self, f"do_{name}", lambda *_: None)(*arguments)
            return 0

        return function

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]

    def do_hipGetDeviceCount(self, count: Any) -> None:
        count._obj.value = 2

    def do_hipGetDevice(self, index: Any) -> None:
        index._obj.value = self.current

    def do_hipSetDevice(self, index: Any) -> None:
        self.current = index.value

    def do_hipGetDeviceProperties(self, properties: Any, index: Any) -> None:
        ctypes.memmove(properties, self.properties, len(self.properties))

    def do_hipDeviceGetAttribute(self, value: Any, key: Any, index: Any) -> None:
        value._obj.value = {63: 304}[key.value]

    def do_hipMalloc(self, address: Any, nbytes: Any) -> None:
        raw = np.full(nbytes.value + 256, 0xCC, np.uint8)
        address._obj.value = raw.ctypes.data + -raw.ctypes.data % 256
        self.memory[address._obj.value] = raw

    def do_hipFree(self, address: Any) -> None:
        del self.memory[address.value]

    def do_hipMemcpyHtoD(self, target: Any, source: Any, nbytes: Any) -> None:
        ctypes.memmove(target, source, nbytes.value)

    do_hipMemcpyDtoH = do_hipMemcpyHtoD

    def do_hipModuleLoadData(self, module: Any, image: bytes) -> None:
        assert image == b"machine code"
        module._obj.value = 0xA0

    def do_hipModuleGetFunction(self, function: Any, module: Any, name: bytes) -> None:
        assert (module.value, name) == (0xA0, b"add")
        function._obj.value = 0xB0

    def do_hipModuleLaunchKernel(self, *arguments: Any) -> None:
        add_tensors(arguments[9].value, self.captured)

    def do_hipStreamCreateWithFlags(self, stream: Any, flags: Any) -> None:
        stream._obj.value = 0x77

    def do_hipStreamBeginCapture(self, stream: Any, mode: Any) -> None:
        self.captured = []

    def do_hipStreamEndCapture(self, stream: Any, graph: Any) -> None:
        assert self.captured is not None
        graph._obj.value = len(self.graphs) + 1
        self.graphs[graph._obj.value], self.captured = self.captured, None

    def do_hipGraphInstantiate(self, replayed: Any, graph: Any, *_: Any) -> None:
        replayed._obj.value = graph.value

    def do_hipGraphLaunch(self, graph: Any, stream: Any) -> None:
        for launch in self.graphs[graph.value]:
            launch()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHip]:
    lib = FakeHip()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: lib)
    hip.library.cache_clear()
    yield lib
    gc.collect(1)  # arrays in the tracebacks of expected errors still need this library
    hip.library.cache_clear()


def hsaco(**requires: Any) -> KernelEntry:
    launch = Launch(
        entry_point="add",
        grid=(2, 3, 4),
        block=(256, 1, 1),
        dynamic_shared_memory=512,
        arguments=("a", "b", "out"),
    )
    return entry(format="hsaco", launches=(launch,), requires=requires or {"arch": "gfx942"})


def kernels_on(backend: HipBackend) -> Adding:
    e = hsaco()
    return Adding(backend, [Kernel(backend, e, backend.load(e, code_of(e)))], {})


def test_devices(fake: FakeHip) -> None:
    one, two = HipBackend.devices()
    assert (one.id, two.id, one.name, one.kind) == ("hip:0", "hip:1", "Fake Instinct", "gpu")
    assert one.capabilities["arch"] == "gfx942"
    assert one.capabilities["features"] == ["sramecc+", "xnack-"]
    assert one.capabilities["compute_units"] == 304
    assert fake.calls[0] == ("hipInit", 0, 0)


def test_end_to_end(fake: FakeHip) -> None:
    kernels = kernels_on(HipBackend(1))
    ad = kernels.to_device(A)
    y = kernels.add(ad, ad, stream=0x7F00)
    np.testing.assert_array_equal(y.numpy(), A + A)
    (launch,) = fake.named("hipModuleLaunchKernel")
    assert launch[:10] == (1, 0xB0, 2, 3, 4, 256, 1, 1, 512, 0x7F00)
    assert launch[11] is None
    assert fake.current == 0  # the caller's device is current again
    assert {call[0] for call in fake.named("hipMalloc")} == {1}
    with pytest.raises(DeviceMismatchError, match=r"a is on the host; the kernel runs on hip:1"):
        kernels.add(A, ad)
    kernels.synchronize(0x7F00)
    assert fake.named("hipStreamSynchronize")[-1] == (1, 0x7F00)
    del ad, y
    assert not fake.memory
    kernels.close()
    kernels.close()
    assert fake.named("hipModuleUnload") == [(1, 0xA0)]


def test_a_sequence_is_captured_once(fake: FakeHip) -> None:
    check_captured(
        HipBackend(1),
        hsaco(),
        fake,
        launch="hipModuleLaunchKernel",
        begin="hipStreamBeginCapture",
        free="hipGraphExecDestroy",
        streams=("hipStreamCreateWithFlags", "hipStreamDestroy"),
        error=801,
    )
    assert fake.current == 0


def test_arrays_outlive_the_backend(fake: FakeHip) -> None:
    kernels = kernels_on(HipBackend())
    ad = kernels.to_device(A)
    kernels.close()
    assert not fake.memory
    del ad  # frees nothing twice


@pytest.mark.parametrize(
    ("requires", "refusal"),
    [
        ({"arch": "gfx942"}, None),
        ({"arch": "gfx942", "features": ["xnack-"]}, None),
        (
            {"arch": "gfx942", "features": ["xnack+"]},
            "with xnack+ does not run on this GPU, which has xnack-",
        ),
        ({"arch": "gfx90a"}, "code for gfx90a does not run on gfx942; build for gfx942"),
        ({"arch": "gfx942", "moon_phase": 1}, "requires moon_phase, which this runtime does not"),
    ],
)
def test_refuses(fake: FakeHip, requires: dict[str, Any], refusal: str | None) -> None:
    given = HipBackend().refuses(hsaco(**requires).artifacts[0])
    assert given is None if refusal is None else given is not None and refusal in given


def test_an_architecture_without_features(fake: FakeHip) -> None:
    fake.properties = b"Radeon gfx9 edition\0".ljust(800, b"\0") + b"gfx1100\0"
    info = HipBackend().info
    assert (info.capabilities["arch"], info.capabilities["features"]) == ("gfx1100", [])
    fake.properties = b"Radeon\0"
    with pytest.raises(DeviceError, match=r"hip:0 does not report its architecture"):
        HipBackend()


@pytest.mark.parametrize(
    ("call", "status", "error", "message"),
    [
        ("hipMalloc", 2, OutOfMemory, "out of device memory"),
        (
            "hipModuleLaunchKernel",
            1,
            LaunchError,
            r"grid \(2, 3, 4\) .* 512 B .*hipErrorInvalidValue",
        ),
        (
            "hipModuleLaunchKernel",
            719,
            DeviceLost,
            r"hipErrorLaunchFailure \(unspecified launch failure\); the device is lost",
        ),
        ("hipDeviceSynchronize", 700, DeviceLost, "error 700"),
        ("hipModuleLoadData", 209, DeviceError, "fake1/add_kernel: the driver rejects its hsaco"),
    ],
)
def test_errors(
    fake: FakeHip, call: str, status: int, error: type[DeviceError], message: str
) -> None:
    backend = HipBackend()
    fake.fail[call] = status
    with pytest.raises(error, match=message) as raised:
        kernels = kernels_on(backend)
        ad = kernels.to_device(A)
        kernels.add(ad, ad).numpy()
    assert type(raised.value) is error
    assert call in str(raised.value) and "\n" not in str(raised.value)


def test_no_driver(fake: FakeHip, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.fail["hipInit"] = 100
    with pytest.raises(DeviceError, match=r"does not start: hipInit gives hipErrorNoDevice"):
        HipBackend.devices()

    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    for _ in range(2):
        with pytest.raises(
            DeviceError, match=r"no AMD driver on this machine \(libamdhip64\.so cannot be"
        ):
            HipBackend()


@pytest.mark.integration
def test_a_forked_child_is_refused(fake: FakeHip) -> None:
    backend = HipBackend()

    def check() -> None:
        for use in (lambda: backend.alloc(8), HipBackend.devices):
            with pytest.raises(
                DeviceLost, match=r"^hip: the driver does not work in a forked process"
            ):
                use()
        backend.close()

    assert in_a_child(check) == 0
