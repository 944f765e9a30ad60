"""CUDA driver API: initialised once; every failed status becomes an error of kgen_runtime."""

from __future__ import annotations

from functools import cache
from typing import Any

from kgen_runtime.backends.forks import OneProcess
from kgen_runtime.errors import DeviceError, DeviceLost, OutOfMemory

#: Errors after which the context is lost, and with it the process's use of the device.
STICKY = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        "ASSERT",
        "CONTEXT_IS_DESTROYED",
        "ECC_UNCORRECTABLE",
        "HARDWARE_STACK_ERROR",
        "ILLEGAL_ADDRESS",
        "ILLEGAL_INSTRUCTION",
        "INVALID_ADDRESS_SPACE",
        "INVALID_PC",
        "LAUNCH_FAILED",
        "LAUNCH_TIMEOUT",
        "MISALIGNED_ADDRESS",
    )
)


PROCESS = OneProcess("cuda")


@cache
def driver() -> Any:
    """Return the initialised driver API. Raises DeviceError with a one-line message if it is
    missing."""
    try:
        from cuda.bindings import driver as api
    except ImportError:
        raise DeviceError(
            "the package cuda-bindings is missing; pip install 'kgen-kernels-runtime[cuda]'"
        ) from None
    # cuInit comes first: without libcuda it raises, while some other calls hang.
    try:
        (status,) = api.cuInit(0)
    except RuntimeError:
        raise DeviceError(
            "no NVIDIA driver on this machine (libcuda.so.1 cannot be loaded)"
        ) from None
    if status.name != "CUDA_SUCCESS":
        raise DeviceError(f"the NVIDIA driver does not start: {status.name}")
    PROCESS.start()
    return api


def call(function: str, *arguments: Any) -> Any:
    """Call a function of the driver and return its result, if it has one. Raises the DeviceError
    for the status."""
    api = driver()
    PROCESS.check()
    status, *results = getattr(api, function)(*arguments)
    if status.name != "CUDA_SUCCESS":
        raise _error(function, status.name)
    return results[0] if results else None


def _error(function: str, status: str) -> DeviceError:
    if status == "CUDA_ERROR_OUT_OF_MEMORY":
        return OutOfMemory(
            f"cuda: {function}: out of device memory; free arrays or use smaller shapes"
        )
    if status in STICKY:
        return DeviceLost(f"cuda: {function}: {status}; the device is lost; restart the process")
    return DeviceError(f"cuda: {function}: {status}")
