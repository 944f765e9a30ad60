"""Interface to the `wgpu` package: devices, and its exceptions as errors of kgen_runtime."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from kgen_runtime.backend import DeviceInfo
from kgen_runtime.errors import DeviceError, OutOfMemory

#: API version of the SPIR-V that naga reads: every version that kgen writes.
API = (1, 3)
#: Limits that artifacts may require, by Vulkan's and WebGPU's names.
LIMITS = {
    "maxComputeSharedMemorySize": "max-compute-workgroup-storage-size",
    "maxComputeWorkGroupCount": "max-compute-workgroups-per-dimension",
    "maxComputeWorkGroupInvocations": "max-compute-invocations-per-workgroup",
    "maxComputeWorkGroupSize": "max-compute-workgroup-size-x",
    "maxPerStageDescriptorStorageBuffers": "max-storage-buffers-per-shader-stage",
    "maxStorageBufferRange": "max-storage-buffer-binding-size",
}


@cache
def wgpu() -> Any:
    """Return the package. Raises DeviceError with a one-line message if it is missing."""
    try:
        import wgpu as package
        from wgpu.backends.wgpu_native.extras import set_instance_extras
    except ImportError:
        raise DeviceError("the package wgpu is missing; pip install wgpu") from None
    except (OSError, RuntimeError) as error:
        raise DeviceError(f"the package wgpu cannot be loaded: {error}") from None
    with suppress(RuntimeError):  # Another user of the package may have chosen already.
        set_instance_extras(backends=["Primary"])
    return package


@contextmanager
def errors(what: str) -> Iterator[None]:
    """Convert the package's exceptions to errors with a one-line message that begins with
    `what`."""
    package = wgpu()
    try:
        yield
    except package.GPUOutOfMemoryError:
        raise OutOfMemory(
            f"webgpu: {what}: out of memory; free arrays or use smaller shapes"
        ) from None
    except (package.GPUError, RuntimeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise DeviceError(
            f"webgpu: {what}: {lines[-1] if lines else type(error).__name__}"
        ) from None


@contextmanager
def without_complaints() -> Iterator[None]:
    """Redirect standard error to the null device: without a desktop, Mesa's device selection layer
    prints warnings there."""
    try:
        saved = os.dup(2)
    except OSError:  # The process has no standard error.
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(nowhere)
        os.close(saved)


def adapters() -> list[Any]:
    """Return the adapters of Vulkan, Metal and Direct3D 12; other APIs list the same devices
    again."""
    with errors("no device can be listed"), without_complaints():
        found = wgpu().gpu.enumerate_adapters_sync()
    native = [a for a in found if a.info["backend_type"] in ("Vulkan", "Metal", "D3D12")]
    if not native:
        raise DeviceError("no WebGPU device on this machine; apt install mesa-vulkan-drivers")
    return native


def describe(index: int, adapter: Any) -> DeviceInfo:
    info, is_software = adapter.info, adapter.info["adapter_type"] == "CPU"
    types = {"CPU": "cpu", "DiscreteGPU": "discrete", "IntegratedGPU": "integrated"}
    return DeviceInfo(
        backend="webgpu",
        index=index,
        name=f"{info['device']} ({info['backend_type']})",
        kind="software" if is_software else "gpu",
        capabilities={
            "api": list(API),
            "limits": {ours: int(adapter.limits[theirs]) for ours, theirs in LIMITS.items()},
            "features": [],
            "device_type": types.get(info["adapter_type"], "other"),
        },
    )
