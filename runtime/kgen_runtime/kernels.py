"""A loaded bundle: one callable per kernel, on one device."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kgen_runtime import select
from kgen_runtime.array import Array, Memory
from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.bundle import BundleFile
from kgen_runtime.dispatch import Dispatch
from kgen_runtime.errors import ArgumentError, UnknownOperation
from kgen_runtime.kernel import Kernel
from kgen_runtime.operations import Operations


def load(
    path: str | os.PathLike[str], *, device: str | None = None, num_threads: int | None = None
) -> Kernels:
    """Load a bundle's kernels on the best device here, or on a named one.

    `device` is an id such as ``cuda:1``, ``cpu``, ``vulkan:0`` or ``reference``; `num_threads` is
    for the CPU (default: every core). Digests are checked before a driver sees a byte.

    Raises BundleError for a file that is no good bundle, DeviceError if nothing here runs it.
    """
    with BundleFile(path) as bundle:
        selection = select.select(bundle.manifest.kernels, device=device, num_threads=num_threads)
        try:
            kernels = []
            stored: dict[str, Memory] = {}
            for choice in selection.choices:
                code = {
                    module: Code(artifact=artifact, data=bundle.read(artifact))
                    for module, artifact in choice.code.items()
                }
                for constant in choice.entry.constants:
                    if constant.file not in stored:
                        data = np.frombuffer(bundle.read(constant), np.uint8)
                        stored[constant.file] = Memory.of(selection.backend, data)
                kernels.append(Kernel(selection.backend, choice.entry, code, stored))
        except BaseException:
            selection.backend.close()
            raise
    return Kernels(selection.backend, kernels, selection.skipped)


class Kernels(Operations, Mapping[str, Kernel]):
    """The kernels of a bundle that run on one device: a mapping by key, an attribute per operation.

    Use it as a context manager, or call `close`; arrays should be gone by then.
    `skipped` says, by ``target/key``, why the bundle's other entries were not taken.
    """

    def __init__(
        self, backend: Backend, kernels: Sequence[Kernel], skipped: Mapping[str, str]
    ) -> None:
        self.backend = backend
        self.skipped = skipped
        self._kernels = {kernel.key: kernel for kernel in kernels}
        ops = dict.fromkeys(kernel.entry.op for kernel in kernels)
        self._ops = {
            op: Dispatch(op, [kernel for kernel in kernels if kernel.entry.op == op]) for op in ops
        }
        # Attributes of their own, which Python finds in a tenth of the time of __getattr__.
        self.__dict__.update(self._ops)

    @property
    def device(self) -> DeviceInfo:
        return self.backend.info

    def __getitem__(self, key: str) -> Kernel:
        if key in self._kernels:
            return self._kernels[key]
        raise ArgumentError(f"no kernel {key} on {self.device.id}; {self._hint(key, self)}")

    def __contains__(self, key: object) -> bool:
        return key in self._kernels

    def get(self, key: str, default: Any = None) -> Any:
        """The kernel of this key, or `default`."""
        return self._kernels.get(key, default)

    if not TYPE_CHECKING:  # a type checker would believe in any operation

        def __getattr__(self, op: str) -> Dispatch:
            """Operations are attributes; this one is not there."""
            if op.startswith("_"):  # what Python's protocols and notebooks ask for
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {op!r}")
            hint = self._hint(op, self._ops)
            raise UnknownOperation(f"no kernel for {op} on {self.device.id}; {hint}")

    def _hint(self, missing: str, known: Iterable[str]) -> str:
        for name, reason in self.skipped.items():
            if missing in name:
                return f"{name} was not taken: {reason}"
        return f"here are {', '.join(known)}"

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._ops})

    def __repr__(self) -> str:
        return f"<Kernels on {self.device.id} ({self.device.name}): {', '.join(self)}>"

    def to_device(self, value: Any, bits_of: str | None = None) -> Array:
        """A copy of a numpy or host DLPack array in the device's memory, strides included.

        `bits_of` is the 8-bit float (e4m3, e5m2) whose bits a uint8 array holds.
        """
        return Array.from_host(self.backend, value, bits_of)

    def synchronize(self, stream: int | None = None) -> None:
        """Wait until everything launched is done."""
        self.backend.synchronize(stream)

    def close(self) -> None:
        """Give the kernels and the device back; safe to call twice."""
        for kernel in self._kernels.values():
            kernel.close()
        self.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
