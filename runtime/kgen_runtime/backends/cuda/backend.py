"""NVIDIA GPUs through the CUDA driver API (package `cuda-bindings`).

The backend retains the device's primary context, so that arrays and streams are shared with PyTorch
and every other user of the CUDA runtime in the process. Artifacts may require:

- `compute_capability`: (major, minor) of the code
- `exact`: the code runs on no other compute capability
- `cuda`: lowest CUDA version (major, minor) that the driver must support
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.backend import Code, DeviceInfo
from kgen_runtime.backends.cuda.driver import call, driver
from kgen_runtime.backends.cuda.tensor_maps import TensorMaps
from kgen_runtime.backends.stream_backend import StreamBackend, unknown_requirement
from kgen_runtime.errors import DeviceError, DeviceLost, OutOfMemory
from kgen_runtime.launch_limits import Limits, cuda_limits
from kgen_runtime.memory import dlpack
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry, Launch

#: Larger clusters require the function to opt in (CUDA programming guide, thread block clusters).
PORTABLE_CLUSTER = 8


@frozen
class CudaKernel:
    """Loaded kernel: its launches with their functions."""

    name: str
    modules: tuple[Any, ...]
    launches: tuple[tuple[Any, Launch], ...]
    tensor_maps: TensorMaps


class _CurrentContext:
    """Context manager that makes a context current, and restores the caller's context."""

    __slots__ = ("_context",)

    def __init__(self, context: Any) -> None:
        self._context = context

    def __enter__(self) -> None:
        call("cuCtxPushCurrent", self._context)

    def __exit__(self, *_: object) -> None:
        call("cuCtxPopCurrent")


class CudaBackend(StreamBackend):
    """NVIDIA GPU. A stream is a CUstream handle."""

    name: ClassVar[str] = "cuda"
    formats: ClassVar[tuple[str, ...]] = ("cubin", "ptx")
    memory: ClassVar[int | None] = dlpack.CUDA
    prefix = "cu"
    free_function = "MemFree"
    wait_function = "CtxSynchronize"
    driver_call = staticmethod(call)

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        count = call("cuDeviceGetCount")
        if count == 0:
            raise DeviceError("the NVIDIA driver finds no GPU")
        return tuple(_describe(index) for index in range(count))

    def __init__(self, index: int = 0) -> None:
        self.info = _describe(index)
        self._device = call("cuDeviceGet", index)
        self._context = call("cuDevicePrimaryCtxRetain", self._device)
        self._pushed = _CurrentContext(self._context)
        self._owned: set[int] = set()
        self._closed = False

    def close(self) -> None:
        """Free all allocations and release the primary context."""
        was_open = not self._closed
        super().close()
        if was_open:
            with suppress(DeviceLost):  # A forked child has no context.
                call("cuDevicePrimaryCtxRelease", self._device)

    @staticmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        requires = artifact.requires
        known = ("compute_capability", "exact", "cuda")
        if (unknown := unknown_requirement(artifact, *known)) is not None:
            return unknown
        device = tuple(capabilities["compute_capability"])
        code = tuple(requires.get("compute_capability", (0, 0)))
        version = tuple(capabilities["cuda"])
        if version < tuple(requires.get("cuda", (0, 0))):
            return (
                f"{artifact.format} needs a driver for CUDA {_dotted(requires['cuda'])}, and this "
                f"one supports {_dotted(version)}; upgrade the driver"
            )
        if requires.get("exact", False):
            fits = device == code
        elif artifact.format == "cubin":
            fits = device[0] == code[0] and device >= code
        else:
            fits = device >= code
        if fits:
            return None
        return (
            f"{artifact.format} for compute capability {_dotted(code)} does not run on "
            f"{_dotted(device)}; build for sm_{device[0]}{device[1]}"
        )

    @staticmethod
    def limits(capabilities: Mapping[str, Any]) -> Limits:
        """Return the limits of the compute capability, with the shared memory that the driver
        reports."""
        major, minor = capabilities["compute_capability"]
        known = cuda_limits(f"sm_{major}{minor}")
        shared = capabilities.get("shared_memory_per_block", known.shared_memory)
        return replace(known, shared_memory=shared)

    @staticmethod
    def rank(artifact: ArtifactEntry) -> tuple[int, ...]:
        """Prefer the newest compute capability, then code for exactly that one."""
        code = artifact.requires.get("compute_capability", (0, 0))
        return (*code, int(artifact.requires.get("exact", False)))

    def alloc(self, nbytes: int) -> int:
        with self._current:
            buffer = int(call("cuMemAlloc", nbytes))
        self._owned.add(buffer)
        return buffer

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> CudaKernel:
        with self._current:
            modules = {name: self._load_module(entry, c) for name, c in code.items()}
            launches = tuple((_function(o, modules[o.module]), o) for o in entry.launches)
        return CudaKernel(
            name=entry.key,
            modules=tuple(modules.values()),
            launches=launches,
            tensor_maps=TensorMaps(entry.tensor_maps),
        )

    def _load_module(self, entry: KernelEntry, code: Code) -> Any:
        # PTX is text that ends with a NUL; a cubin contains its length.
        image = code.data + b"\0" if code.artifact.format == "ptx" else code.data
        try:
            return call("cuModuleLoadData", image)
        except OutOfMemory:
            raise
        except DeviceError as error:
            raise DeviceError(
                f"{entry.name}: the driver rejects its {code.artifact.format}: {error}"
            ) from None

    def _parameters(
        self, kernel: CudaKernel, launch: Launch, buffers: Mapping[str, Any]
    ) -> list[Any]:
        return [kernel.tensor_maps.argument(name, buffers) for name in launch.arguments]

    def _launch(self, function: Any, launch: Launch, parameters: int, stream: int | None) -> None:
        if launch.is_clustered:
            call("cuLaunchKernelEx", _cluster_config(launch, stream), function, parameters, 0)
        else:
            sizes = (*launch.grid, *launch.block, launch.dynamic_shared_memory)
            call("cuLaunchKernel", function, *sizes, stream, parameters, 0)

    @property
    def _current(self) -> _CurrentContext:
        return self._pushed

    def _new_stream(self) -> Any:
        return call("cuStreamCreate", driver().CUstream_flags.CU_STREAM_NON_BLOCKING)

    def _begin_capture(self, stream: Any) -> None:
        mode = driver().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        call("cuStreamBeginCapture", stream, mode)

    def _end_capture(self, stream: Any) -> Any:
        return call("cuStreamEndCapture", stream)

    def _instantiated(self, graph: Any) -> Any:
        return call("cuGraphInstantiate", graph, 0)


def _describe(index: int) -> DeviceInfo:
    attribute = driver().CUdevice_attribute
    device = call("cuDeviceGet", index)

    def get(name: str) -> int:
        key = getattr(attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(call("cuDeviceGetAttribute", key, device))

    version = int(call("cuDriverGetVersion"))
    return DeviceInfo(
        backend="cuda",
        index=index,
        name=call("cuDeviceGetName", 256, device).split(b"\0")[0].decode(),
        kind="gpu",
        capabilities={
            "compute_capability": [
                get("COMPUTE_CAPABILITY_MAJOR"),
                get("COMPUTE_CAPABILITY_MINOR"),
            ],
            # 12040 is CUDA 12.4.
            "cuda": [version // 1000, version % 1000 // 10],
            "sm_count": get("MULTIPROCESSOR_COUNT"),
            "memory_bytes": int(call("cuDeviceTotalMem", device)),
            "shared_memory_per_block": get("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            "clock_khz": get("CLOCK_RATE"),
        },
    )


def _function(launch: Launch, module: Any) -> Any:
    """Return a launch's function, opted in to the launch's shared memory and cluster size."""
    api = driver()
    function = call("cuModuleGetFunction", module, launch.entry_point.encode())
    if launch.dynamic_shared_memory:
        # A function must opt in to more than 48 KiB. Opting in to less is harmless.
        size = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call("cuFuncSetAttribute", function, size, launch.dynamic_shared_memory)
    if prod(launch.cluster) > PORTABLE_CLUSTER:
        large = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        call("cuFuncSetAttribute", function, large, 1)
    return function


def _cluster_config(launch: Launch, stream: int | None) -> Any:
    api = driver()
    cluster = api.CUlaunchAttribute()
    cluster.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    shape = cluster.value.clusterDim
    shape.x, shape.y, shape.z = launch.cluster
    config = api.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
    config.sharedMemBytes = launch.dynamic_shared_memory
    config.hStream = stream or 0
    config.attrs = [cluster]
    config.numAttrs = 1
    return config


def _dotted(version: Any) -> str:
    return ".".join(map(str, version))
