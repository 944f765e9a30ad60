"""Fake backends: an addition on host memory, and one behind opaque buffers."""

from __future__ import annotations

import ctypes
import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgen.bundle import Bundle
from kgen_runtime.array import lent_array
from kgen_runtime.backend import Backend, Code, DeviceInfo, LaunchSequence, SequenceStep
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import DeviceError
from kgen_runtime.kernels import Kernels
from kgen_runtime.manifest import (
    ArtifactEntry,
    KernelEntry,
    Launch,
    Manifest,
    Resources,
    TargetEntry,
    TensorParam,
    Tolerance,
    Workspace,
)
from kgen_runtime.memory import dlpack
from kgen_runtime.memory.host import bytes_at
from kgen_runtime.memory.strides import packed_strides

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes

CODE = b"machine code"


def param(
    name: str, shape: Sequence[int], dtype: str = "f32", strides: Sequence[int] | None = None
) -> TensorParam:
    shape = tuple(shape)
    return TensorParam(
        name=name,
        role="output" if name == "out" else "input",
        dtype=DType(dtype),
        shape=shape,
        strides=packed_strides(shape) if strides is None else tuple(strides),
    )


def entry(
    *parameters: TensorParam,
    key: str = "add_kernel",
    op: str = "add",
    target: str = "fake1",
    format: str = "fake",
    requires: Mapping[str, Any] | None = None,
    workspaces: tuple[Workspace, ...] = (),
    launches: tuple[Launch, ...] | None = None,
) -> KernelEntry:
    """Return a kernel that adds its inputs; by default a and b of shape 3x5 in f32."""
    parameters = parameters or (param("a", (3, 5)), param("b", (3, 5)), param("out", (3, 5)))
    names = tuple(p.name for p in parameters) + tuple(w.name for w in workspaces)
    return KernelEntry(
        key=key,
        op=op,
        spec={"op": op},
        target=TargetEntry(name=target, family="fake", arch=target),
        schedule={},
        parameters=parameters,
        workspaces=workspaces,
        launches=launches or (Launch(entry_point=key, grid=(1, 1, 1), arguments=names),),
        artifacts=(
            ArtifactEntry(
                file=f"{target}/{key}.{format}",
                format=format,
                role="machine-code",
                sha256=hashlib.sha256(CODE).hexdigest(),
                nbytes=len(CODE),
                requires=requires or {},
            ),
        ),
        resources=Resources(),
        tolerance=Tolerance(accumulate=DType.F32, factor=1.0, reason="a test"),
    )


def save(path: Path, *entries: KernelEntry) -> Path:
    """Save a bundle of these kernels."""
    files = {a.file: CODE for e in entries for a in e.artifacts}
    return Bundle(manifest=Manifest(kernels=entries), files=files).save(path)


def code_of(kernel: KernelEntry) -> dict[str, Code]:
    return {a.module: Code(artifact=a, data=CODE) for a in kernel.artifacts}


def add_tensors(parameters: int, captured: list[Callable[[], None]] | None = None) -> None:
    """Launch a fake kernel: out = a + b on three f32 tensors of 15 elements, from the kernel
    parameters of a driver's launch; during graph capture, record it."""
    pointers = (ctypes.c_void_p * 3).from_address(parameters)
    addresses = [ctypes.c_uint64.from_address(p or 0).value for p in pointers]

    def add() -> None:
        a, b, out = (bytes_at(address, 60).view(np.float32) for address in addresses)
        out[:] = a + b

    if captured is None:
        add()
    else:
        captured.append(add)


class FakeBackend(Backend):
    """Base of both fakes; `calls` records launches, `live` counts buffers."""

    formats: ClassVar[tuple[str, ...]] = ("fake", "slow-fake")
    kind: ClassVar[str] = "gpu"

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        return (DeviceInfo(backend=cls.name, index=0, name=f"a {cls.name}", kind=cls.kind),)

    def __init__(self, index: int = 0) -> None:
        self.info = self.devices()[index]
        self.calls: list[dict[str, Any]] = []
        self.live = 0
        self.closed = False

    def close(self) -> None:
        self.closed = True

    @staticmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        missing = [f for f in artifact.requires.get("features", ()) if f not in ("x", "y")]
        return f"needs {missing[0]}" if missing else None

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> KernelEntry:
        assert all(c.data == CODE for c in code.values())
        return entry

    def launch(
        self, kernel: KernelEntry, buffers: Mapping[str, Any], stream: int | None = None
    ) -> None:
        self.calls.append({"kernel": kernel.key, "buffers": dict(buffers), "stream": stream})
        inputs = [self.tensor(buffers[p.name], p).astype(np.float64) for p in kernel.inputs]
        out = self.tensor(buffers["out"], kernel.output)
        out[...] = np.sum(np.broadcast_arrays(*inputs), axis=0)

    def tensor(self, buffer: Any, p: TensorParam) -> npt.NDArray[Any]:
        strides = tuple(s * p.dtype.itemsize for s in p.strides)
        address = self.address(buffer)
        return lent_array(address, p.dtype, p.shape, strides, owner=buffer, read_only=False)

    def address(self, buffer: Any) -> int:
        raise NotImplementedError

    def unload(self, kernel: KernelEntry) -> None:
        self.calls.append({"unload": kernel.key})

    def synchronize(self, stream: int | None = None) -> None: ...


class HostFake(FakeBackend):
    """Backend with kernels on host memory: buffers are addresses."""

    name: ClassVar[str] = "cpu"
    kind: ClassVar[str] = "cpu"
    memory: ClassVar[int | None] = dlpack.HOST

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        self.held: dict[int, HostBytes] = {}

    def alloc(self, nbytes: int) -> int:
        data = np.full(nbytes, 0xFF, np.uint8)
        self.held[data.ctypes.data] = data
        self.live += 1
        return data.ctypes.data

    def free(self, buffer: int) -> None:
        del self.held[buffer]
        self.live -= 1

    def view(self, buffer: int, offset: int, nbytes: int) -> int:
        return buffer + offset

    def copy_to_device(self, buffer: int, host: HostBytes) -> None:
        bytes_at(buffer, host.nbytes)[:] = host

    def copy_from_device(self, host: HostBytes, buffer: int) -> None:
        host[:] = bytes_at(buffer, host.nbytes)

    def address(self, buffer: int) -> int:
        return buffer


class OpaqueFake(FakeBackend):
    """Backend with memory that nobody else can use: buffers are numpy arrays, never addresses."""

    name: ClassVar[str] = "vulkan"

    def alloc(self, nbytes: int) -> HostBytes:
        self.live += 1
        return np.full(nbytes, 0xFF, np.uint8)

    def free(self, buffer: HostBytes) -> None:
        self.live -= 1

    def view(self, buffer: HostBytes, offset: int, nbytes: int) -> HostBytes:
        return buffer[offset : offset + nbytes]

    def copy_to_device(self, buffer: HostBytes, host: HostBytes) -> None:
        buffer[: host.nbytes] = host

    def copy_from_device(self, host: HostBytes, buffer: HostBytes) -> None:
        host[:] = buffer[: host.nbytes]

    def address(self, buffer: HostBytes) -> int:
        return buffer.ctypes.data


class AbsentFake(OpaqueFake):
    """Backend whose driver is not installed."""

    name: ClassVar[str] = "cuda"

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        raise DeviceError("no driver here")


class Adding(Kernels):
    """Kernels of an operation that only tests have, with operands of any type."""

    add: Any


def kernels_on(backend: HostFake | OpaqueFake, *entries: KernelEntry) -> Adding:
    """Return these kernels, loaded."""
    return Adding(backend, [Kernel(backend, e, backend.load(e, code_of(e))) for e in entries], {})


def host(*entries: KernelEntry) -> Adding:
    """Return these kernels, or an addition, on host memory."""
    return kernels_on(HostFake(), *(entries or (entry(),)))


def array(shape: tuple[int, ...], dtype: Any = np.float32, start: float = 0) -> Any:
    """Return numbers that count from `start`."""
    return (np.arange(np.prod(shape)) + start).reshape(shape).astype(dtype)


def in_a_child(check: Callable[[], None]) -> int:
    """Return the exit status of a forked process that calls a function."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            check()
            status = 0
        finally:
            os._exit(status)
    for _ in range(1000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return -1


def check_captured(
    backend: Backend,
    e: KernelEntry,
    fake: Any,
    *,
    launch: str,
    begin: str,
    free: str,
    streams: tuple[str, str],
    error: Any,
) -> None:
    """Check that a sequence is captured as a graph and replayed by one call; a driver without
    capture makes each launch. The names are the driver's calls."""
    kernel = backend.load(e, code_of(e))
    x, h, out = (backend.alloc(60) for _ in range(3))
    ones = np.ones(15, np.float32)
    steps = [
        SequenceStep(kernel=kernel, buffers={"a": x, "b": x, "out": h}),
        SequenceStep(kernel=kernel, buffers={"a": h, "b": x, "out": out}, after=(0,)),
    ]

    def run(sequence: LaunchSequence, value: float) -> None:
        backend.copy_to_device(x, (value * ones).view(np.uint8))
        sequence.run()
        back = np.zeros(60, np.uint8)
        backend.copy_from_device(back, out)
        np.testing.assert_array_equal(back.view(np.float32), 3 * value * ones)

    sequence = backend.sequence(steps)
    (captured,) = fake.graphs.values()
    assert len(captured) == 2
    launches = len(fake.named(launch))
    run(sequence, 1)
    run(sequence, 2)
    assert len(fake.named(launch)) == launches
    assert len(sequence.timed()) == 2 and len(fake.named(launch)) == launches + 2
    assert not fake.named(free)
    del sequence
    assert len(fake.named(free)) == 1
    fake.fail[begin] = error
    run(backend.sequence(steps), 5)
    assert len(fake.graphs) == 1
    created, destroyed = (len(fake.named(name)) for name in streams)
    assert created == destroyed == 2
    for buffer in (x, h, out):
        backend.free(buffer)
    backend.close()
