"""Packing of a matrix from any library for a kernel with a prepacked operand."""

from __future__ import annotations

from typing import Any

from kgen_runtime.array import Array, Memory, host_dtype, lent_array
from kgen_runtime.backend import Backend
from kgen_runtime.calls.arguments import Slot
from kgen_runtime.memory import dlpack, packing
from kgen_runtime.memory.host import host_bytes


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
