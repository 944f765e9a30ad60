"""Execution of a kernel on a device, through the runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgen.check.execute.executor import POISON_BYTE, Executor, workspaces
from kgen.check.tensors import Bytes
from kgen.errors import VerificationError
from kgen_runtime.backend import Backend, Code
from kgen_runtime.manifest import Extent3, KernelEntry

#: Bytes of a guard band on each side of a buffer.
GUARD = 4096


class DeviceExecutor(Executor):
    """Executor on an open device; every buffer lies between two guard bands."""

    def __init__(self, backend: Backend, entry: KernelEntry, code: Mapping[str, Code]) -> None:
        artifact = code[entry.launches[0].module].artifact
        self.on = backend.info.name
        self.form = artifact.format if artifact.format in ("ptx", "spirv") else "machine-code"
        self._backend = backend
        self._entry = entry
        self._kernel = backend.load(entry, code)

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        assert workgroups is None
        backend = self._backend
        host = dict(buffers) | workspaces(self._entry)
        raw: dict[str, Any] = {}
        try:
            views = {}
            for name, data in host.items():
                raw[name] = backend.alloc(data.nbytes + 2 * GUARD)
                backend.copy_to_device(raw[name], guarded(data))
                # Keep the trailing band inside the bound range: a Vulkan driver may drop stores
                # beyond it, which would hide an overrun.
                views[name] = backend.view(raw[name], GUARD, data.nbytes + GUARD)
            backend.launch(self._kernel, views)
            backend.synchronize()
            for name, data in host.items():
                after = np.empty(data.nbytes + 2 * GUARD, np.uint8)
                backend.copy_from_device(after, raw[name])
                check_guards(name, after)
                data[:] = after[GUARD:-GUARD]
        finally:
            for buffer in raw.values():
                backend.free(buffer)

    def close(self) -> None:
        self._backend.unload(self._kernel)


def guarded(data: Bytes) -> Bytes:
    """Return the data between two guard bands."""
    full = np.full(data.nbytes + 2 * GUARD, POISON_BYTE, np.uint8)
    full[GUARD:-GUARD] = data
    return full


def check_guards(name: str, after: Bytes) -> None:
    """Raise VerificationError if a guard band was written to."""
    nbytes = after.size - 2 * GUARD
    before = np.flatnonzero(after[:GUARD] != POISON_BYTE) - GUARD
    behind = np.flatnonzero(after[-GUARD:] != POISON_BYTE) + nbytes
    changed = [*before.tolist(), *behind.tolist()]
    if changed:
        raise VerificationError(
            f"{name}: {len(changed)} bytes outside the buffer were written, the first at byte "
            f"{changed[0]} of a buffer of {nbytes} bytes"
        )
