"""Global, parameter and local memory, and the bounds and alignment checks of all state spaces.

Addresses are int64 arrays at their broadcast shape over [CTA, warp, lane]. Loads return, and stores
take, one array of unsigned integers per element of the vector that a thread accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate.lanes import settle
from kgen.emulate.ptx.chunk import Chunk, GlobalAccess, Mask, Order, Violation
from kgen.emulate.ptx.memory.semantics import WEAK, Semantics
from kgen.emulate.ptx.memory.stored import StoredBytes
from kgen.emulate.ptx.types import UNSIGNED, Array
from kgen.emulate.windows import WINDOW_BITS, window_start
from kgen.errors import EmulationError

Bytes = npt.NDArray[np.uint8]


def check(address: Array, nbytes: int, limit: int, what: str, settled: Array, mask: Mask) -> None:
    """Raise Violation unless [address, address + nbytes) is aligned and inside [0, limit).

    `settled` are the offsets that are accessed; `address` is reported.
    """
    low, high = int(settled.min()), int(settled.max())
    if low < 0 or high > limit - nbytes:
        outside = (settled < 0) | (settled > limit - nbytes)
        lanes = outside if mask is None else outside & mask
        first = int(settled[outside].flat[0])
        message = f"{what} of {nbytes} bytes at offset {first} of {limit} bytes"
        raise Violation("out-of-bounds", message, lanes, address)
    if int(np.bitwise_or.reduce(settled, axis=None)) & (nbytes - 1):
        odd = (settled & (nbytes - 1)) != 0
        lanes = odd if mask is None else odd & mask
        message = f"{what} of {nbytes} bytes that is not aligned to its size"
        raise Violation("misaligned", message, lanes, address, space=what.partition(" ")[0])


def elements(data: Bytes, size: int, count: int) -> Array:
    """View bytes [..., n] as [..., n / (size * count), count] unsigned integers; a partial last
    unit is dropped."""
    whole = data.shape[-1] // (size * count) * (size * count)
    return data[..., :whole].view(UNSIGNED[size]).reshape(*data.shape[:-1], -1, count)


def columns(taken: Array) -> list[Array]:
    """Split [..., count] into one contiguous array per element."""
    if taken.shape[-1] == 1:
        return [taken[..., 0]]
    return [np.ascontiguousarray(taken[..., j]) for j in range(taken.shape[-1])]


def scatter(view: Array, index: Array, values: Sequence[Array], mask: Mask) -> None:
    """Assign view[index] = values in the active lanes; view is [n, count]."""
    value = values[0][..., None]
    if len(values) > 1:
        value = np.stack(np.broadcast_arrays(*values), axis=-1)
    shape = np.broadcast_shapes(index.shape, value.shape[:-1])
    if mask is not None:
        shape = np.broadcast_shapes(shape, mask.shape)
    index = np.broadcast_to(index, shape)
    value = np.broadcast_to(value, (*shape, len(values)))
    if mask is None:
        view[index] = value
    else:
        lanes = np.broadcast_to(mask, shape)
        view[index[lanes]] = value[lanes]


def choose(mask: Mask, new: Array, old: Array) -> Array:
    """Return the new value in active lanes, the old one in others."""
    return new if mask is None else np.where(mask, new, old)


def _is_same(one: Bytes, other: Bytes) -> bool:
    """Return whether two arrays are the same host memory."""
    return one.size == other.size > 0 and one.ctypes.data == other.ctypes.data


class GlobalMemory:
    """Buffers of a launch, accessed in place, each in its own address window."""

    def __init__(self) -> None:
        #: Race detection of global accesses; None if it is off.
        self.order: Order | None = None
        self.names: list[str] = []
        self.buffers: list[Bytes] = []
        self._same: list[int] = []

    def same(self, number: int) -> int:
        """Return the first buffer with the same memory: a kernel may get it by pointer and by
        tensor map."""
        return self._same[number]

    def add(self, name: str, buffer: npt.NDArray[Any]) -> int:
        """Map an array of any type and return its address. Faults refer to it by `name`."""
        if not buffer.flags.c_contiguous:
            raise EmulationError(f"the buffer for {name} must be C-contiguous")
        self.names.append(name)
        mine = buffer.reshape(-1).view(np.uint8)
        there = [i for i, other in enumerate(self.buffers) if _is_same(mine, other)]
        self._same.append(there[0] if there else len(self.buffers))
        self.buffers.append(mine)
        return window_start(len(self.buffers) - 1)

    def load(
        self, address: Array, size: int, count: int, mask: Mask, how: Semantics = WEAK
    ) -> list[Array]:
        """Load `count` elements of `size` bytes from each active lane's address."""
        settled = settle(address, mask)
        number = self._only_buffer(settled)
        if number is None:
            return self._load_several(address, settled, size, count, mask, how)
        index = self.locate(number, address, settled, size * count, mask, "load")
        self._accessed(number, index, size * count, mask, how, reads=True)
        view = elements(self.buffers[number], size, count)
        if count == 1:
            return [view.reshape(-1).take(index, mode="clip")]
        return columns(view.take(index, axis=0, mode="clip"))

    def store(
        self, address: Array, values: Sequence[Array], size: int, mask: Mask, how: Semantics = WEAK
    ) -> None:
        """Store each active lane's elements; if lanes have equal addresses, one lane's elements
        remain."""
        settled = settle(address, mask)
        number = self._only_buffer(settled)
        if number is None:
            for part in self._by_buffer(settled, mask):
                self.store(address, values, size, part, how)
            return
        index = self.locate(number, address, settled, size * len(values), mask, "store")
        if not self.buffers[number].flags.writeable:
            lanes = np.ones((1, 1, 1), bool) if mask is None else mask
            raise Violation("out-of-bounds", "store to a read-only buffer", lanes, address)
        stored = None
        if self.order is not None and not self.order.machine.launch.strict:
            stored = partial(self._stored, number, index, values, size)
        self._accessed(number, index, size * len(values), mask, how, writes=True, stored=stored)
        scatter(elements(self.buffers[number], size, len(values)), index, values, mask)

    def by_buffer(self, address: Array, mask: Mask) -> list[Mask]:
        """Return masks of the active lanes, one for each buffer that they access."""
        return self._by_buffer(settle(address, mask), mask)

    def _stored(self, number: int, index: Array, values: Sequence[Array], size: int) -> StoredBytes:
        assert self.order is not None
        there = elements(self.buffers[number], size, len(values)).take(index, axis=0, mode="clip")
        machine = self.order.machine
        return StoredBytes(values, columns(there), machine.shape, machine.global_unit)

    def cells(
        self, address: Array, size: int, mask: Mask, how: Semantics, *, reads: bool = True
    ) -> tuple[Array, Array]:
        """Return the buffer that the lanes access as units of `size` bytes, and each lane's unit,
        for an atomic.

        All lanes must access one buffer. `reads` has no effect.
        """
        settled = settle(address, mask)
        number = int(settled.flat[0] >> WINDOW_BITS) - 1
        index = self.locate(number, address, settled, size, mask, "atomic")
        self._accessed(number, index, size, mask, how, reads=True, writes=True)
        return elements(self.buffers[number], size, 1).reshape(-1), index

    def check_load(self, address: Array, nbytes: int, mask: Mask) -> None:
        """Check loads that happen later. Raises Violation if one would."""
        settled = settle(address, mask)
        for part in self._by_buffer(settled, mask):
            inside = settle(settled, part)
            number = int(inside.flat[0] >> WINDOW_BITS) - 1
            index = self.locate(number, address, inside, nbytes, part, "load")
            self._accessed(number, index, nbytes, part, WEAK, reads=True, later=True)

    def _accessed(
        self, number: int, index: Array, nbytes: int, mask: Mask, how: Semantics, **kinds: Any
    ) -> None:
        """Report an access to a buffer to the check of its order."""
        if self.order is not None:
            access = GlobalAccess(
                buffer=number, index=index, nbytes=nbytes, mask=mask, how=how, **kinds
            )
            self.order.accessed(access)

    def locate(
        self, number: int, address: Array, settled: Array, nbytes: int, mask: Mask, what: str
    ) -> Array:
        """Check accesses; return them as indices of units of `nbytes` bytes in a buffer."""
        exists = 0 <= number < len(self.buffers)
        where = f"in {self.names[number]}" if exists else "outside every buffer"
        limit = len(self.buffers[number]) if exists else 0
        offset = settled - window_start(number)
        check(address, nbytes, limit, f"global {what} {where}", offset, mask)
        return offset // nbytes

    def _only_buffer(self, settled: Array) -> int | None:
        """Return the number of the buffer if all addresses point into one; else None."""
        low, high = int(settled.min()) >> WINDOW_BITS, int(settled.max()) >> WINDOW_BITS
        return low - 1 if low == high else None

    @staticmethod
    def _by_buffer(settled: Array, mask: Mask) -> list[Mask]:
        """Return masks of the lanes, one for each buffer."""
        window = settled >> WINDOW_BITS
        numbers = np.unique(window)
        if len(numbers) == 1:
            return [mask]
        lanes = np.ones(window.shape, bool) if mask is None else mask
        return [lanes & (window == number) for number in numbers]

    def _load_several(
        self, address: Array, settled: Array, size: int, count: int, mask: Mask, how: Semantics
    ) -> list[Array]:
        result: list[Array] = [np.zeros((1, 1, 1), UNSIGNED[size])] * count
        for part in self._by_buffer(settled, mask):
            loaded = self.load(address, size, count, part, how)
            result = [choose(part, new, old) for new, old in zip(loaded, result, strict=True)]
        return result


class ParameterMemory:
    """Kernel parameters, which threads read (PTX ISA 5.1.6.1).

    Addresses start at `START`. Lower addresses are parameters of calls, which are in the thread's
    own memory; no thread has that much.
    """

    START = 1 << 20

    def __init__(self, parameters: bytes) -> None:
        self.nbytes = len(parameters)
        self.data = np.frombuffer(parameters.ljust(-(-self.nbytes // 16) * 16, b"\0"), np.uint8)

    def load(self, address: Array, size: int, count: int, mask: Mask) -> list[Array]:
        offset = settle(address, mask) - self.START
        check(address, size * count, self.nbytes, "parameter load", offset, mask)
        index = offset // (size * count)
        return columns(elements(self.data, size, count).take(index, axis=0, mode="clip"))


class LocalMemory:
    """Local memory of each thread (PTX ISA 5.1.5), [CTA, warp, lane, byte]."""

    def __init__(self, machine: Chunk, nbytes: int) -> None:
        self.machine, self.nbytes = machine, nbytes
        self.data = np.full((*machine.shape, -(-nbytes // 16) * 16), 0xFF, np.uint8)

    def load(self, address: Array, size: int, count: int, mask: Mask) -> list[Array]:
        index = self._index(address, size * count, mask, "load")
        view = elements(self.data.reshape(-1), size, count)
        return columns(view.take(index, axis=0, mode="clip"))

    def store(self, address: Array, values: Sequence[Array], size: int, mask: Mask) -> None:
        index = self._index(address, size * len(values), mask, "store")
        scatter(elements(self.data.reshape(-1), size, len(values)), index, values, mask)

    def _index(self, address: Array, nbytes: int, mask: Mask, what: str) -> Array:
        settled = settle(address, mask)
        check(address, nbytes, self.nbytes, f"local {what}", settled, mask)
        machine = self.machine
        thread = np.arange(machine.ctas * machine.warps * 32).reshape(machine.shape)
        return (thread * self.data.shape[-1] + settled) // nbytes
