"""A loaded bundle: one callable per kernel, on one device."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kgen_runtime import dlpack, select
from kgen_runtime.arguments import Slot
from kgen_runtime.array import Array, Memory
from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.bundle import BundleFile
from kgen_runtime.dispatch import Dispatch
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.manifest import KernelEntry, Workspace
from kgen_runtime.packed import PackedOperand


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


class Kernel:
    """One kernel on one device. Call it with its inputs in the order of `entry.arguments`."""

    def __init__(
        self,
        backend: Backend,
        entry: KernelEntry,
        code: Mapping[str, Code],
        stored: Mapping[str, Memory] | None = None,
    ) -> None:
        """`stored`: the bundle's constants on the device, by file."""
        self.entry = entry
        self._backend = backend
        self._inputs = tuple(Slot(entry.key, param, backend) for param in entry.arguments)
        self._constants = {c.parameter: (stored or {})[c.file] for c in entry.constants}
        self._stored: dict[str, Any] = {n: memory.buffer for n, memory in self._constants.items()}
        #: The operand that calls are given packed, None if there is none.
        self.packed = next((PackedOperand(s, backend) for s in self._inputs if s.is_packed), None)
        self._output = Slot(entry.key, entry.output, backend)
        self._on_host = backend.memory == dlpack.HOST
        self._workspaces = entry.workspaces
        self._scratch = threading.local()
        self._handle: Any = backend.load(entry, code)
        self.closed = False

    @property
    def key(self) -> str:
        return self.entry.key

    def __repr__(self) -> str:
        names = ", ".join(slot.name for slot in self._inputs)
        return f"<Kernel {self.entry.name}({names}) on {self._backend.info.id}>"

    def __call__(self, *arguments: Any, out: Any = None, stream: int | None = None) -> Any:
        """Run the kernel and give its output: `out` if given, else a new array.

        On the CPU arguments are numpy or host DLPack arrays and the result is a numpy array; an
        `Array` among them makes it an `Array`. On other devices they are `Array`s or DLPack arrays
        of that device, and the call may return before the kernel is done. bf16 and 8-bit floats
        are arrays of `ml_dtypes` or their bits as uint16 and uint8. `stream` is a handle of the
        driver, for backends with streams.

        Raises ArgumentError or DeviceMismatchError before anything runs; LaunchError, DeviceLost.
        """
        keep: list[object] = []
        buffers, result = self._bind(arguments, out, stream, keep)
        self._backend.launch(self._handle, buffers, stream)
        return result

    def prepare(self, *arguments: Any, out: Any = None, stream: int | None = None) -> Call:
        """The kernel with these arguments, checked once: call the result to run it, as often as
        wanted. It reads and writes the same memory each time, and keeps it alive.

        Raises as :meth:`__call__` does.
        """
        keep: list[object] = [*arguments]
        buffers, result = self._bind(arguments, out, stream, keep)
        keep.append(result)
        return Call(self, self._backend.prepare(self._handle, buffers, stream), result, keep)

    def pack(self, matrix: Any) -> Any:
        """The kernel's constant operand in the order that the kernel takes it: give the result, in
        the operand's place, to as many calls as wanted, also of other kernels of this target.

        Takes what a kernel without a packed operand takes, and makes an array of the same kind.
        Raises ArgumentError or DeviceMismatchError.
        """
        if self.packed is not None:
            return self.packed.pack(matrix)
        if self._constants:
            names = ", ".join(self._constants)
            raise ArgumentError(f"{self.key}: its {names} is in the bundle; leave it out of calls")
        raise ArgumentError(f"{self.key}: takes no packed operand; build it with --constant b")

    def _bind(
        self, arguments: Sequence[Any], out: Any, stream: int | None, keep: list[object]
    ) -> tuple[dict[str, Any], Any]:
        """The buffer of every parameter by name, and the output."""
        if self.closed:
            raise DeviceError(f"{self.key}: the bundle was closed; load it again")
        if len(arguments) != len(self._inputs):
            raise ArgumentError(self._count_message(len(arguments)))
        buffers = self._stored.copy()
        for slot, value in zip(self._inputs, arguments, strict=True):
            buffers[slot.name] = slot.buffer(value, stream, keep)
        output = self._output
        if out is None:
            out = self._new_output(arguments)
            buffers[output.name] = output.buffer(out, stream, keep)
        else:
            buffers[output.name] = output.buffer(out, stream, keep)
            self._check_overlap(buffers)
        for workspace in self._workspaces:
            buffers[workspace.name] = self._workspace(workspace, stream).buffer
        return buffers, out

    def accepts(self, arguments: Sequence[Any], out: Any = None) -> bool:
        """Whether shapes, types and strides are those of this kernel.

        Raises ArgumentError or DeviceMismatchError for arguments that no kernel here takes.
        """
        if len(arguments) != len(self._inputs):
            return False
        pairs = list(zip(self._inputs, arguments, strict=True))
        if out is not None:
            pairs.append((self._output, out))
        return all(slot.problem(slot.view(value, None)) is None for slot, value in pairs)

    def describe(self, arguments: Sequence[Any]) -> str:
        """The arguments' shapes and types, for messages."""
        slots = zip(self._inputs, arguments, strict=False)
        return ", ".join(str(slot.view(value, None)) for slot, value in slots)

    def _count_message(self, count: int) -> str:
        names = ", ".join(slot.name for slot in self._inputs)
        return f"{self.key}: takes {len(self._inputs)} arguments ({names}), got {count}"

    def _new_output(self, arguments: Sequence[Any]) -> Any:
        if self._on_host and not any(isinstance(value, Array) for value in arguments):
            return self._output.empty()
        param = self._output.param
        return Array.empty(self._backend, param.dtype, param.shape, param.strides)

    def _check_overlap(self, buffers: Mapping[str, Any]) -> None:
        out = self._output
        for slot in self._inputs:
            if out.overlaps(buffers[out.name], slot, buffers[slot.name]):
                raise ArgumentError(
                    f"{self.key}: {out.name} overlaps {slot.name}; pass memory of its own"
                )

    def _workspace(self, workspace: Workspace, stream: int | None) -> Memory:
        """Scratch memory of this thread and stream, made at the first call."""
        held: dict[tuple[str, int | None], Memory]
        held = self._scratch.__dict__.setdefault("held", {})
        key = (workspace.name, stream)
        if key not in held:
            held[key] = Memory(self._backend, workspace.nbytes)
            if workspace.initial == "zero":
                zeros = np.zeros(workspace.nbytes, np.uint8)
                self._backend.copy_to_device(held[key].buffer, zeros)
        return held[key]

    def close(self) -> None:
        """Give the machine code back; safe to call twice."""
        if not self.closed:
            self.closed = True
            self._backend.synchronize()
            handle, self._handle = self._handle, None
            self._constants, self._stored = {}, {}
            self._backend.unload(handle)
            self._scratch = threading.local()


class Call:
    """A kernel with its arguments, to be run again and again; `out` is what it writes.

    On the CPU a call costs well under a microsecond besides the kernel.
    """

    __slots__ = ("_keep", "_kernel", "_launch", "out")

    def __init__(
        self, kernel: Kernel, launch: Callable[[], None], out: Any, keep: list[object]
    ) -> None:
        self._kernel, self._launch, self._keep = kernel, launch, keep
        self.out = out

    def __call__(self) -> Any:
        """Run it; gives `out`. Raises DeviceError once the bundle is closed."""
        if self._kernel.closed:
            raise DeviceError(f"{self._kernel.key}: the bundle was closed; load it again")
        self._launch()
        return self.out

    def __repr__(self) -> str:
        return f"<Call of {self._kernel!r}>"


class Kernels(Mapping[str, Kernel]):
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
        raise ArgumentError(f"no kernel {key} on {self.device.id}; {self._hint(key)}")

    def __contains__(self, key: object) -> bool:
        return key in self._kernels

    def __getattr__(self, op: str) -> Dispatch:
        """Operations are attributes; this one is not there."""
        raise AttributeError(f"no kernel for {op} on {self.device.id}; {self._hint(op)}")

    def _hint(self, missing: str) -> str:
        for name, reason in self.skipped.items():
            if missing in name:
                return f"{name} was not taken: {reason}"
        return f"here are {', '.join(self)}"

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

    def __enter__(self) -> Kernels:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
