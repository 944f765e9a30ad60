"""AMD GPUs through HIP: ctypes on libamdhip64.so, which ROCm's user-space driver brings.

Requirements that artifacts may state: `arch` (such as gfx942), and `features` (such as sramecc+ or
xnack-), which the device's full architecture name must not contradict.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.backend import Backend, Code, DeviceInfo, LaunchSequence, SequenceStep
from kgen_runtime.backends.captured import CapturedSequence
from kgen_runtime.backends.forks import OneProcess
from kgen_runtime.backends.parameters import Parameters
from kgen_runtime.errors import DeviceError, DeviceLost, LaunchError, OutOfMemory
from kgen_runtime.launch_limits import Limits, amdgpu_limits
from kgen_runtime.memory import dlpack
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Launch

#: Newest first: the plain name comes with ROCm's development packages only.
LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
KNOWN_REQUIREMENTS = frozenset(("arch", "features"))

# hipError_t (hip_runtime_api.h); its first values are those of CUDA's runtime.
SUCCESS, OUT_OF_MEMORY = 0, 2
#: Errors after which the process's use of the device is gone: hipErrorECCNotCorrectable,
#: IllegalAddress, LaunchTimeOut, ContextIsDestroyed, Assert, LaunchFailure.
STICKY = frozenset((214, 700, 702, 709, 710, 719))
# hipDeviceAttribute_t of multiprocessorCount.
MULTIPROCESSOR_COUNT = 63
# hipStreamNonBlocking, and hipStreamCaptureMode (hip_runtime_api.h).
STREAM_NON_BLOCKING, CAPTURE_MODE_RELAXED = 1, 2
#: More than any version of hipDeviceProp_t needs (1472 bytes in ROCm 6).
PROPERTIES_BYTES = 8192
#: The field gcnArchName. It moved between ROCm 5 and 6, so it is looked for, not addressed.
ARCH_NAME = re.compile(rb"\0(gfx[0-9a-f]+)((?::[a-z]+[+-])*)\0")


PROCESS = OneProcess("hip")


@cache
def library() -> Any:
    """The initialised HIP runtime. Raises DeviceError, in one line, if it is not here."""
    for name in LIBRARIES:
        try:
            hip = ctypes.CDLL(name)
        except OSError:
            continue
        for described in (hip.hipGetErrorName, hip.hipGetErrorString):
            described.restype = c_char_p
        if status := hip.hipInit(0):
            said = _described(hip, status)
            raise DeviceError(f"the AMD driver does not start: hipInit gives {said}")
        PROCESS.start()
        return hip
    raise DeviceError("no AMD driver on this machine (libamdhip64.so cannot be loaded)")


def call(function: str, *arguments: Any) -> None:
    """Call a function of HIP. Raises the DeviceError that fits its status."""
    hip = library()
    PROCESS.check()
    status = getattr(hip, function)(*arguments)
    if status == SUCCESS:
        return
    if status == OUT_OF_MEMORY:
        raise OutOfMemory(
            f"hip: {function}: out of device memory; free arrays or use smaller shapes"
        )
    said = f"hip: {function}: {_described(hip, status)}"
    if status in STICKY:
        raise DeviceLost(f"{said}; the device is lost; restart the process")
    raise DeviceError(said)


def _described(hip: Any, status: int) -> str:
    """An error by the driver's own words: `hipErrorInvalidValue (invalid argument)`."""
    texts = (said(c_int(status)) for said in (hip.hipGetErrorName, hip.hipGetErrorString))
    name, words = ((text or b"").decode(errors="replace") for text in texts)
    return (name or f"error {status}") + (f" ({words})" if words else "")


@frozen
class HipKernel:
    """Loaded kernel: its launches with their functions."""

    name: str
    modules: tuple[c_void_p, ...]
    launches: tuple[tuple[c_void_p, Launch], ...]


class _CurrentDevice:
    """Context manager that makes a device current, and restores the caller's device."""

    __slots__ = ("_before", "_index")

    def __init__(self, index: int) -> None:
        self._index = index
        self._before = c_int()

    def __enter__(self) -> None:
        call("hipGetDevice", byref(self._before))
        call("hipSetDevice", c_int(self._index))

    def __exit__(self, *_: object) -> None:
        call("hipSetDevice", self._before)


class HipBackend(Backend):
    """AMD GPU. Buffers are device addresses; a stream is a hipStream_t handle."""

    name: ClassVar[str] = "hip"
    formats: ClassVar[tuple[str, ...]] = ("hsaco",)
    memory: ClassVar[int | None] = dlpack.ROCM
    _closed = True

    @staticmethod
    def limits(capabilities: Mapping[str, Any]) -> Limits:
        return amdgpu_limits(capabilities["arch"])

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        count = c_int()
        call("hipGetDeviceCount", byref(count))
        if count.value == 0:
            raise DeviceError("the AMD driver finds no GPU")
        return tuple(_describe(index) for index in range(count.value))

    def __init__(self, index: int = 0) -> None:
        self.info = _describe(index)
        self._owned: set[int] = set()
        self._closed = False

    def close(self) -> None:
        """Free what is still allocated."""
        if self._closed:
            return
        self._closed = True
        with suppress(DeviceLost), _CurrentDevice(self.info.index):
            while self._owned:
                call("hipFree", c_void_p(self._owned.pop()))

    @staticmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        requires = artifact.requires
        if unknown := sorted(set(requires) - KNOWN_REQUIREMENTS):
            return (
                f"it requires {unknown[0]}, which this runtime does not know; upgrade the runtime"
            )
        arch, features = capabilities["arch"], capabilities["features"]
        if requires.get("arch") != arch:
            return f"code for {requires.get('arch')} does not run on {arch}; build for {arch}"
        for feature in requires.get("features", ()):
            opposite = feature[:-1] + ("-" if feature.endswith("+") else "+")
            if opposite in features:
                return (
                    f"code for {arch} with {feature} does not run on this GPU, which has {opposite}"
                )
        return None

    def alloc(self, nbytes: int) -> int:
        address = c_void_p()
        with _CurrentDevice(self.info.index):
            call("hipMalloc", byref(address), c_size_t(nbytes))
        assert address.value is not None
        self._owned.add(address.value)
        return address.value

    def free(self, buffer: int) -> None:
        if self._closed:
            return
        self._owned.remove(buffer)
        with suppress(DeviceLost), _CurrentDevice(self.info.index):
            call("hipFree", c_void_p(buffer))

    def view(self, buffer: int, offset: int, nbytes: int) -> int:
        return buffer + offset

    def copy_to_device(self, buffer: int, host: HostBytes) -> None:
        source = c_void_p(host.ctypes.data)
        with _CurrentDevice(self.info.index):
            call("hipMemcpyHtoD", c_void_p(buffer), source, c_size_t(host.nbytes))
            call("hipStreamSynchronize", c_void_p(None))

    def copy_from_device(self, host: HostBytes, buffer: int) -> None:
        target = c_void_p(host.ctypes.data)
        with _CurrentDevice(self.info.index):
            # Foreign streams do not wait for the default stream, nor it for them.
            call("hipDeviceSynchronize")
            call("hipMemcpyDtoH", target, c_void_p(buffer), c_size_t(host.nbytes))

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> HipKernel:
        with _CurrentDevice(self.info.index):
            modules = {name: _load_module(entry, c) for name, c in code.items()}
            launches = tuple(
                (_function(modules[launch.module], launch.entry_point), launch)
                for launch in entry.launches
            )
        return HipKernel(name=entry.key, modules=tuple(modules.values()), launches=launches)

    def launch(
        self, kernel: HipKernel, buffers: Mapping[str, Any], stream: int | None = None
    ) -> None:
        with _CurrentDevice(self.info.index):
            for function, launch in kernel.launches:
                parameters = Parameters([buffers[name] for name in launch.arguments])
                try:
                    call(
                        "hipModuleLaunchKernel",
                        function,
                        *map(c_uint, launch.grid),
                        *map(c_uint, launch.block),
                        c_uint(launch.dynamic_shared_memory),
                        c_void_p(stream),
                        c_void_p(parameters.address),
                        c_void_p(None),
                    )
                except (OutOfMemory, DeviceLost):
                    raise
                except DeviceError as error:
                    raise LaunchError(
                        f"{kernel.name}: grid {launch.grid} of blocks {launch.block} with "
                        f"{launch.dynamic_shared_memory} B of dynamic shared memory: {error}"
                    ) from None

    def sequence(self, steps: Sequence[SequenceStep]) -> LaunchSequence:
        return CapturedSequence(self, steps)

    def capture(self, steps: Sequence[SequenceStep]) -> c_void_p:
        stream, graph, replayed = c_void_p(), c_void_p(), c_void_p()
        with _CurrentDevice(self.info.index):
            call("hipStreamCreateWithFlags", byref(stream), c_uint(STREAM_NON_BLOCKING))
            try:
                call("hipStreamBeginCapture", stream, c_int(CAPTURE_MODE_RELAXED))
                try:
                    for step in steps:
                        self.launch(step.kernel, step.buffers, stream.value)
                except BaseException:
                    with suppress(DeviceError):
                        call("hipStreamEndCapture", stream, byref(graph))
                        call("hipGraphDestroy", graph)
                    raise
                call("hipStreamEndCapture", stream, byref(graph))
            finally:
                call("hipStreamDestroy", stream)
            try:
                nothing = c_void_p(None)
                call("hipGraphInstantiate", byref(replayed), graph, nothing, nothing, c_size_t(0))
            finally:
                call("hipGraphDestroy", graph)
        return replayed

    def replay(self, graph: c_void_p) -> None:
        with _CurrentDevice(self.info.index):
            call("hipGraphLaunch", graph, c_void_p(None))

    def forget(self, graph: c_void_p) -> None:
        if not self._closed:
            with _CurrentDevice(self.info.index):
                call("hipDeviceSynchronize")
                call("hipGraphExecDestroy", graph)

    def unload(self, kernel: HipKernel) -> None:
        with _CurrentDevice(self.info.index):
            for module in kernel.modules:
                call("hipModuleUnload", module)

    def synchronize(self, stream: int | None = None) -> None:
        with _CurrentDevice(self.info.index):
            if stream is None:
                call("hipDeviceSynchronize")
            else:
                call("hipStreamSynchronize", c_void_p(stream))


def _describe(index: int) -> DeviceInfo:
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    # ROCm 6 gave the struct a new layout, and the function that fills it a new name.
    function = "hipGetDevicePropertiesR0600"
    if not hasattr(library(), function):
        function = "hipGetDeviceProperties"
    call(function, properties, c_int(index))
    found = ARCH_NAME.search(properties.raw)
    if found is None:
        raise DeviceError(f"hip:{index} does not report its architecture; upgrade ROCm")
    units, version = c_int(), c_int()
    call("hipDeviceGetAttribute", byref(units), c_int(MULTIPROCESSOR_COUNT), c_int(index))
    call("hipDriverGetVersion", byref(version))
    return DeviceInfo(
        backend="hip",
        index=index,
        name=properties.raw.split(b"\0", 1)[0].decode(errors="replace"),
        kind="gpu",
        capabilities={
            "arch": found[1].decode(),
            "features": found[2].decode().strip(":").split(":") if found[2] else [],
            "compute_units": units.value,
            "driver_version": version.value,
        },
    )


def _load_module(entry: KernelEntry, code: Code) -> c_void_p:
    module = c_void_p()
    try:
        call("hipModuleLoadData", byref(module), code.data)
    except (OutOfMemory, DeviceLost):
        raise
    except DeviceError as error:
        raise DeviceError(f"{entry.name}: the driver rejects its hsaco: {error}") from None
    return module


def _function(module: c_void_p, name: str) -> c_void_p:
    function = c_void_p()
    call("hipModuleGetFunction", byref(function), module, name.encode())
    return function
