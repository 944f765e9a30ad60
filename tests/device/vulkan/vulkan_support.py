"""Helpers of the Vulkan tests: the required device, and runs on poisoned memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from kgen import pipeline, targets
from kgen.bundle import pack
from kgen.schedule import Schedule
from kgen.spec import DType, Spec
from kgen.targets.base import BuiltKernel
from kgen_runtime.backend import Backend, Code, choose_code
from kgen_runtime.backends.vulkan import VulkanBackend
from kgen_runtime.errors import DeviceError
from kgen_runtime.manifest import KernelEntry
from tests import needs

Values = npt.NDArray[Any]

NUMPY: dict[DType, Any] = {
    DType.F32: np.float32,
    DType.F16: np.float16,
    DType.BF16: ml_dtypes.bfloat16,
    DType.S8: np.int8,
    DType.U8: np.uint8,
    DType.S32: np.int32,
    DType.S64: np.int64,
}
#: Bytes around each tensor that a kernel must not change, and their content.
GUARD = 256
POISON = 0xA5


def open_vulkan(**options: Any) -> VulkanBackend:
    """Open the first Vulkan device. If there is none, skip the test; in CI, fail."""
    try:
        return VulkanBackend(**options)
    except DeviceError as error:
        needs.debian("mesa-vulkan-drivers", str(error))
        raise


def build(spec: Spec, target: str = "vulkan1.3", schedule: Schedule | None = None) -> BuiltKernel:
    return pipeline.kernel(spec, targets.find(target), schedule)


def loadable(kernel: BuiltKernel) -> tuple[KernelEntry, dict[str, Code]]:
    """Return the kernel as a bundle passes it to a backend."""
    bundle = pack([kernel])
    (entry,) = bundle.manifest.kernels
    artifact = entry.artifacts[0]
    return entry, {"main": Code(artifact=artifact, data=bundle.files[artifact.file])}


def run(backend: Backend, kernel: BuiltKernel, inputs: Mapping[str, Values]) -> Values:
    """Run a kernel; return the output as a flat array. Inputs are flat arrays, gaps included.

    Memory other than the inputs is poisoned before the run; memory other than the output must be
    unchanged after it.
    """
    bundle = pack([kernel])
    (entry,) = bundle.manifest.kernels
    chosen, reason = choose_code(backend.described, entry)
    if not chosen:
        needs.absent(f"{backend.info.name}: {reason}")
    code = {m: Code(artifact=a, data=bundle.files[a.file]) for m, a in chosen.items()}
    loaded = backend.load(entry, code)
    raw, views, sizes = {}, {}, {}
    try:
        for p in entry.parameters:
            memory = np.full(p.nbytes + 2 * GUARD, POISON, np.uint8)
            if p.role == "input":
                data = np.ascontiguousarray(inputs[p.name], NUMPY[p.dtype]).reshape(-1)
                assert data.size == p.extent, p.name
                memory[GUARD : GUARD + p.nbytes] = data.view(np.uint8)
            raw[p.name] = backend.alloc(memory.nbytes)
            backend.copy_to_device(raw[p.name], memory)
            # The guard after the tensor is bound too: lavapipe drops stores outside bound memory.
            views[p.name] = backend.view(raw[p.name], GUARD, p.nbytes + GUARD)
            sizes[p.name] = memory
        backend.launch(loaded, views)
        for p in entry.parameters:
            after = np.empty_like(sizes[p.name])
            backend.copy_from_device(after, raw[p.name])
            changed = after != sizes[p.name]
            if p.role == "output":
                assert not changed[:GUARD].any() and not changed[GUARD + p.nbytes :].any()
                return after[GUARD : GUARD + p.nbytes].view(NUMPY[p.dtype])
            assert not changed.any(), f"{p.name} was written to"
    finally:
        for buffer in raw.values():
            backend.free(buffer)
        backend.unload(loaded)
    raise AssertionError("the kernel has no output")
