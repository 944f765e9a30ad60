"""AMD GPUs through HIP: ctypes on libamdhip64.so from ROCm's user-space driver.

Artifacts may require `arch` (such as gfx942) and `features` (such as sramecc+ or xnack-), which the
device's full architecture name must not contradict.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from ctypes import byref, c_char_p, c_int, c_uint, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.backend import Code, DeviceInfo
from kgen_runtime.backends.forks import OneProcess
from kgen_runtime.backends.stream_backend import StreamBackend, unknown_requirement
from kgen_runtime.errors import DeviceError, DeviceLost, OutOfMemory
from kgen_runtime.launch_limits import Limits, amdgpu_limits
from kgen_runtime.memory import dlpack
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Launch

#: Names of the library, in order of preference. Only ROCm's development packages have the first.
LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")

# hipError_t (hip_runtime_api.h); the first values are those of the CUDA runtime.
SUCCESS, OUT_OF_MEMORY = 0, 2
#: Errors after which the process cannot use the device: hipErrorECCNotCorrectable, IllegalAddress,
#: LaunchTimeOut, ContextIsDestroyed, Assert, LaunchFailure.
STICKY = frozenset((214, 700, 702, 709, 710, 719))
# hipDeviceAttribute_t of multiprocessorCount.
MULTIPROCESSOR_COUNT = 63
# hipStreamNonBlocking, and hipStreamCaptureMode (hip_runtime_api.h).
STREAM_NON_BLOCKING, CAPTURE_MODE_RELAXED = 1, 2
#: More than any version of hipDeviceProp_t needs (1472 bytes in ROCm 6).
PROPERTIES_BYTES = 8192
#: Pattern of the field gcnArchName. Its offset differs between ROCm 5 and 6.
ARCH_NAME = re.compile(rb"\0(gfx[0-9a-f]+)((?::[a-z]+[+-])*)\0")


PROCESS = OneProcess("hip")


@cache
def library() -> Any:
    """Return the initialised HIP runtime. Raises DeviceError with a one-line message if it is
    missing."""
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
    """Call a function of HIP; integers are passed as addresses or byte counts. Raises the
    DeviceError for the status."""
    hip = library()
    PROCESS.check()
    words = (c_void_p(one) if one is None or type(one) is int else one for one in arguments)
    status = getattr(hip, function)(*words)
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


def _made(function: str, *arguments: Any) -> int:
    """Call a function of HIP that writes a handle or an address to its first argument; return
    it."""
    made = c_void_p()
    call(function, byref(made), *arguments)
    return made.value or 0


def _described(hip: Any, status: int) -> str:
    """Format a status with the driver's name and text: `hipErrorInvalidValue (invalid
    argument)`."""
    texts = (said(c_int(status)) for said in (hip.hipGetErrorName, hip.hipGetErrorString))
    name, words = ((text or b"").decode(errors="replace") for text in texts)
    return (name or f"error {status}") + (f" ({words})" if words else "")


@frozen
class HipKernel:
    """Loaded kernel: its launches with their functions."""

    name: str
    modules: tuple[int, ...]
    launches: tuple[tuple[int, Launch], ...]


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


class HipBackend(StreamBackend):
    """AMD GPU. A stream is a hipStream_t handle."""

    name: ClassVar[str] = "hip"
    formats: ClassVar[tuple[str, ...]] = ("hsaco",)
    memory: ClassVar[int | None] = dlpack.ROCM
    prefix = "hip"
    free_function = "Free"
    wait_function = "DeviceSynchronize"
    driver_call = staticmethod(call)

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
        self._owned = set()
        self._closed = False

    @property
    def _current(self) -> _CurrentDevice:
        """Context manager that makes the device current. Each use gets a new one, because uses nest
        and threads overlap."""
        return _CurrentDevice(self.info.index)

    @staticmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        requires = artifact.requires
        if (unknown := unknown_requirement(artifact, "arch", "features")) is not None:
            return unknown
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
        with self._current:
            address = _made("hipMalloc", nbytes)
        self._owned.add(address)
        return address

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> HipKernel:
        with self._current:
            modules = {name: _load_module(entry, c) for name, c in code.items()}
            launches = tuple(
                (_made("hipModuleGetFunction", modules[o.module], o.entry_point.encode()), o)
                for o in entry.launches
            )
        return HipKernel(name=entry.key, modules=tuple(modules.values()), launches=launches)

    def _launch(self, function: int, launch: Launch, parameters: int, stream: int | None) -> None:
        sizes = map(c_uint, (*launch.grid, *launch.block, launch.dynamic_shared_memory))
        call("hipModuleLaunchKernel", function, *sizes, stream, parameters, None)

    def _new_stream(self) -> int:
        return _made("hipStreamCreateWithFlags", c_uint(STREAM_NON_BLOCKING))

    def _begin_capture(self, stream: int) -> None:
        call("hipStreamBeginCapture", stream, c_int(CAPTURE_MODE_RELAXED))

    def _end_capture(self, stream: int) -> int:
        graph = c_void_p()
        call("hipStreamEndCapture", stream, byref(graph))
        return graph.value or 0

    def _instantiated(self, graph: int) -> int:
        return _made("hipGraphInstantiate", graph, None, None, 0)


def _describe(index: int) -> DeviceInfo:
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    # ROCm 6 changed the layout of the struct and renamed the function that fills it.
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


def _load_module(entry: KernelEntry, code: Code) -> int:
    try:
        return _made("hipModuleLoadData", code.data)
    except (OutOfMemory, DeviceLost):
        raise
    except DeviceError as error:
        raise DeviceError(f"{entry.name}: the driver rejects its hsaco: {error}") from None
