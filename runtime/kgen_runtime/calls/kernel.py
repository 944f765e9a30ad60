"""Kernel on a device: check a call's arguments, find their memory, launch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kgen_runtime.array import Array, Memory, host_dtype, lent_array
from kgen_runtime.backend import Backend
from kgen_runtime.calls import signatures
from kgen_runtime.calls.address_finders import holder
from kgen_runtime.calls.arguments import Slot
from kgen_runtime.calls.attention_limits import AttentionLimits
from kgen_runtime.calls.call import Call
from kgen_runtime.calls.host_values import first_importer, host_value, new_output
from kgen_runtime.calls.loaded import LoadedKernel
from kgen_runtime.calls.named_arguments import in_order
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.memory import dlpack, packing
from kgen_runtime.memory.host import host_bytes
from kgen_runtime.schema.partial_writes import overwritten_table
from kgen_runtime.uncopied import Uncopied


class PackedOperand:
    """Unpacked matrix of a packed parameter; `param` describes its packed form."""

    def __init__(self, slot: Slot, backend: Backend) -> None:
        self.param = slot.param
        self._backend = backend
        self._matrix = Slot(slot.kernel, slot.param.unpacked, backend)

    def pack(self, matrix: Any) -> Any:
        """Pack a matrix. An `Array` becomes an `Array`; any other host array becomes a numpy array
        that is aligned to a cache line.

        Raises ArgumentError or DeviceMismatchError.
        """
        param, backend, keep = self.param, self._backend, list[object]()
        source = host_bytes(self._matrix.nbytes)
        backend.copy_from_device(source, self._matrix.buffer(matrix, None, keep))
        data = host_bytes(param.nbytes)
        packing.pack(param, source, data)
        array = Array(Memory.of(backend, data), param.dtype, param.shape, param.strides)
        if backend.memory != dlpack.HOST or isinstance(matrix, Array):
            return array
        strides = tuple(stride * param.dtype.itemsize for stride in param.strides)
        lent = lent_array(array.buffer, param.dtype, param.shape, strides, owner=array)
        return lent.view(host_dtype(param.dtype))

    def takes(self, matrix: Any) -> bool:
        """Return whether :meth:`pack` accepts the matrix."""
        return self._matrix.problem(self._matrix.view(matrix, None)) is None

    def describe(self, matrix: Any) -> str:
        """Format a matrix' shape and type for messages."""
        return str(self._matrix.view(matrix, None))


_NUMPY = {np.ndarray}


class Kernel(Uncopied):
    """Kernel on a device. Call it with its inputs in the order of `entry.arguments`; the last ones
    may be passed by name."""

    def __init__(
        self,
        backend: Backend,
        entry: KernelEntry,
        handle: Any,
        stored: Mapping[str, Memory] | None = None,
    ) -> None:
        """Bind a loaded kernel. `handle` is the backend's handle; `stored` has the bundle's
        constants on the device by file."""
        self.entry = entry
        self._backend = backend
        self._inputs = tuple(Slot(entry.key, param, backend) for param in entry.arguments)
        constants = {c.parameter: (stored or {})[c.file] for c in entry.constants}
        self._constants = tuple(constants)
        #: Operand that calls pass packed; None if there is none.
        self.packed = next((PackedOperand(s, backend) for s in self._inputs if s.is_packed), None)
        self._outputs = tuple(Slot(entry.key, param, backend) for param in entry.outputs)
        table = overwritten_table(entry.spec)
        #: Input that a scatter updates in place: the output reuses its memory. None for other
        #: kernels.
        self._table = next((slot for slot in self._inputs if slot.name == table), None)
        self.on_host = backend.memory == dlpack.HOST
        self._key_limits = AttentionLimits.of(entry) if self.on_host else None
        self._has_addresses = backend.memory is not None
        self._workspaces = entry.workspaces
        #: Names of the arguments of a call, in order.
        self.argument_names = tuple(slot.name for slot in self._inputs)
        self._names = [*self.argument_names, *(slot.name for slot in self._outputs)]
        self._names += [*self._constants, *(workspace.name for workspace in self._workspaces)]
        #: None after `close`. A call holds the object until it is done.
        self._loaded: LoadedKernel | None = LoadedKernel(backend, handle, self._names, constants)

    @property
    def key(self) -> str:
        return self.entry.key

    @property
    def held(self) -> LoadedKernel:
        """Kernel as loaded by the driver. Raises DeviceError after `close`."""
        if self._loaded is None:
            raise self._closed_error()
        return self._loaded

    @property
    def reads_unpacked(self) -> bool:
        """Whether the kernel reads a constant operand as it is stored: on a GPU, and blocks of s4
        where the CPU has no instruction for bytes."""
        return not self.on_host or self.entry.spec.get("b_dtype") == "s4"

    @property
    def closed(self) -> bool:
        return self._loaded is None

    def __repr__(self) -> str:
        names = ", ".join(self.argument_names)
        return f"<Kernel {self.entry.name}({names}) on {self._backend.info.id}>"

    @signatures.run
    def __call__(
        self, /, *arguments: Any, out: Any = None, stream: int | None = None, **named: Any
    ) -> Any:
        """Run the kernel and return its output: `out` if passed, else a new array. A kernel with
        several outputs returns a tuple and takes a tuple as `out`.

        Arguments follow the order of `argument_names`; the last ones may be passed by name.

        - On the CPU, arguments are numpy or host DLPack arrays, and the result is a numpy array. If
          an argument is an `Array`, the result is an `Array`; if one is a tensor of PyTorch, or of
          another library with `from_dlpack`, the result is a tensor of that library. Inputs whose
          memory layout the kernel does not accept (transposed, strided, misaligned) are copied
          first.
        - On other devices, arguments are `Array`s or DLPack arrays of that device. The call may
          return before the kernel is done.
        - A scatter writes into its table and returns the table.
        - bf16 and 8-bit floats are arrays of `ml_dtypes`, or their bits as uint16 and uint8.
        - `stream` is a handle of the driver, for backends with streams.

        Raises ArgumentError or DeviceMismatchError before anything runs; LaunchError, DeviceLost.
        """
        return self.call(self.ordered(arguments, named) if named else arguments, out, stream)

    def call(self, arguments: Sequence[Any], out: Any, stream: int | None) -> Any:
        """Run the kernel like :meth:`__call__`, with the arguments as a sequence."""
        loaded = self._loaded
        if loaded is None:
            raise self._closed_error()
        keep: list[object] = []
        buffers, result = self._bind(loaded, arguments, out, stream, keep)
        loaded.launch(buffers, stream)
        return result

    @signatures.prepare
    def prepare(
        self, /, *arguments: Any, out: Any = None, stream: int | None = None, **named: Any
    ) -> Call[Any]:
        """Check the arguments once and return a call that can be run many times.

        Each run reads and writes the same memory, which the call keeps alive; nothing is copied.
        Raises the same errors as :meth:`__call__`.
        """
        loaded = self._loaded
        if loaded is None:
            raise self._closed_error()
        keep: list[object] = []
        if named:
            arguments = self.ordered(arguments, named)
        buffers, result = self._bind(loaded, arguments, out, stream, keep, copies=False)
        results = result if isinstance(result, tuple) else (result,)
        keep += map(holder, (*arguments, *results))
        settled = dict(zip(self._names, buffers, strict=True))
        if self.on_host:
            # No stream orders these calls: any thread may run them, several at once.
            for workspace in self._workspaces:
                memory = loaded.new_workspace(workspace)
                settled[workspace.name] = memory.buffer
                keep.append(memory)
        return Call(self, self._backend.prepare(loaded.handle, settled, stream), result, keep)

    @signatures.pack
    def pack(self, matrix: Any) -> Any:
        """Pack the constant operand into the order that the kernel reads.

        Pass the result in place of the operand, in any number of calls, also of other kernels of
        this target. `pack` accepts the same arrays as a kernel without a packed operand and returns
        an array of the same kind. A kernel that reads the matrix as it is stored, such as one of a
        GPU, has it returned unchanged. Raises ArgumentError or DeviceMismatchError.
        """
        if self.packed is not None:
            return self.packed.pack(matrix)
        if self._constants:
            raise ArgumentError(self._stored_message(self._constants))
        if self.reads_unpacked:
            return matrix
        raise ArgumentError(f"{self.key}: takes no packed operand; build it with --constant b")

    def _bind(
        self,
        loaded: LoadedKernel,
        arguments: Sequence[Any],
        out: Any,
        stream: int | None,
        keep: list[object],
        *,
        copies: bool = True,
    ) -> tuple[list[Any], Any]:
        """Return the buffers in the order of `_names`, and the output or a tuple of outputs."""
        if len(arguments) != len(self._inputs):
            raise ArgumentError(self._count_message(len(arguments)))
        results = self._new_outputs(arguments) if out is None else self._given(out)
        written = []
        # The finders are called here and below without a method of the slot around them, to save
        # calls.
        for output, result in zip(self._outputs, results):  # noqa: B905
            own = output.finders[type(result)](result)
            if own is None:
                own = output.closer(result, stream, keep)
            written.append(own)
        # Memory of the caller may overlap. Disjoint ranges are skipped without a call.
        ranges = []
        if out is not None and self._has_addresses:
            ranges = [(s, o, o + s.nbytes) for s, o in zip(self._outputs, written, strict=True)]
        buffers = []
        for slot, value in zip(self._inputs, arguments):  # noqa: B905
            found = slot.finders[type(value)](value)
            if found is None:
                found = slot.closer(value, stream, keep, copies=copies)
            for output, own, end in ranges:
                if found < end and own < found + slot.nbytes:
                    self._check_overlap(output, own, slot, found)
            buffers.append(found)
        if out is not None:
            self._check_outputs(written, buffers)
        if self._key_limits is not None:
            limits, length = self._key_limits, self._key_limits.names[0]
            by_name = {s.name: (s, x) for s, x in zip(self._inputs, arguments, strict=True)}
            found = (host_value(*by_name[name]) for name in limits.names)
            limits.check(self.key, length, *found)
        if self._table is not None and buffers[self._inputs.index(self._table)] != written[0]:
            raise ArgumentError(
                f"{self.key}: writes rows of {self._table.name} in place; pass that as out=, or "
                "no out="
            )
        buffers += written
        buffers += loaded.stored
        for workspace in self._workspaces:
            buffers.append(loaded.workspace(workspace, stream).buffer)
        return buffers, results if len(results) > 1 else results[0]

    def _given(self, out: Any) -> tuple[Any, ...]:
        """Return the outputs that the caller passed, as a tuple."""
        if len(self._outputs) == 1:
            return (out,)
        if not isinstance(out, tuple | list) or len(out) != len(self._outputs):
            names = ", ".join(slot.name for slot in self._outputs)
            raise ArgumentError(
                f"{self.key}: has the outputs ({names}); pass out= as a tuple of these"
            )
        return tuple(out)

    def _check_outputs(self, written: Sequence[Any], read: Sequence[Any]) -> None:
        """Raise ArgumentError if outputs of the caller share memory with each other or, on devices
        without addresses, with an input."""
        for i, (output, own) in enumerate(zip(self._outputs, written, strict=True)):
            for other, found in zip(self._outputs[:i], written, strict=False):
                self._check_overlap(output, own, other, found)
            if not self._has_addresses:
                for slot, found in zip(self._inputs, read, strict=True):
                    self._check_overlap(output, own, slot, found)

    def ordered(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call by position. Raises ArgumentError for names that do not
        fit."""
        if stored := [name for name in self._constants if name in named]:
            raise ArgumentError(self._stored_message(stored))
        return in_order(self.key, self.argument_names, arguments, named)

    def accepts(self, arguments: Sequence[Any], out: Any = None, *, copies: bool = False) -> bool:
        """Return whether shapes, types and strides fit this kernel. With `copies`, strides of host
        inputs may differ.

        Raises ArgumentError or DeviceMismatchError for arguments that no kernel on this device
        accepts.
        """
        if len(arguments) != len(self._inputs):
            return False
        pairs = list(zip(self._inputs, arguments, strict=True))
        if out is not None and len(self._outputs) == 1:
            pairs.append((self._outputs[0], out))
        elif out is not None:
            if not isinstance(out, tuple | list) or len(out) != len(self._outputs):
                return False
            pairs += zip(self._outputs, out, strict=True)
        views = [(slot, slot.view(value, None)) for slot, value in pairs]
        return all(s.problem(v) is None or (copies and s.can_copy(v)) for s, v in views)

    def describe(self, arguments: Sequence[Any]) -> str:
        """Format the arguments' shapes and types for messages."""
        slots = zip(self._inputs, arguments, strict=False)
        return ", ".join(str(slot.view(value, None)) for slot, value in slots)

    def _stored_message(self, names: Iterable[str]) -> str:
        return f"{self.key}: {', '.join(names)} is stored in the bundle; leave it out of the call"

    def _count_message(self, count: int) -> str:
        names = ", ".join(self.argument_names)
        return f"{self.key}: takes {len(self._inputs)} arguments ({names}), got {count}"

    def _new_outputs(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        if self._table is not None:
            return (arguments[self._inputs.index(self._table)],)
        kinds = set(map(type, arguments))
        if self.on_host and Array not in kinds:
            if kinds == _NUMPY:
                return tuple([output.empty() for output in self._outputs])
            library = first_importer(arguments)
            return tuple([new_output(output, library) for output in self._outputs])
        params = (output.param for output in self._outputs)
        return tuple(Array.empty(self._backend, p.dtype, p.shape, p.strides) for p in params)

    def _check_overlap(self, output: Slot, own: Any, slot: Slot, buffer: Any) -> None:
        if slot is not self._table and output.overlaps(own, slot, buffer):
            raise ArgumentError(
                f"{self.key}: {output.name} overlaps {slot.name} in memory; pass separate memory"
            )

    def _closed_error(self) -> DeviceError:
        return DeviceError(f"{self.key}: the bundle was closed; load it again")

    def close(self) -> LoadedKernel | None:
        """Release the machine code after the running calls of other threads; safe to call twice.

        The code is released when the returned object is dropped. The second call returns None.
        """
        loaded, self._loaded = self._loaded, None
        return loaded
