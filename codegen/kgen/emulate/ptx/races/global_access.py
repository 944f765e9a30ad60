"""Accesses of one instruction, or of one asynchronous copy, to a global buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kgen.emulate.ptx.chunk import Chunk, Mask
from kgen.emulate.ptx.memory.stored import StoredBytes
from kgen.emulate.ptx.order.tags import Strength
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen


@frozen
class BufferAccess:
    """Accesses of one instruction to a buffer: byte offsets, at any broadcast shape."""

    offset: Array
    nbytes: int
    mask: Mask
    strength: int = Strength.WEAK
    #: Returns the values of a store, if a write of an equal value is not a race.
    stored: Callable[[], StoredBytes] | None = None
    #: Whether the program promises that no thread writes the bytes during the kernel
    #: (ld.global.nc).
    constant: bool = False

    def places(self, machine: Chunk) -> tuple[Array, Array]:
        """Return the accessing lanes of the chunk and their offsets, flat."""
        offset = np.broadcast_to(self.offset, machine.shape).reshape(-1)
        if self.mask is None:
            return np.arange(offset.size), offset
        place = np.flatnonzero(np.broadcast_to(self.mask, machine.shape))
        return place, offset[place]

    def unit_of(self, machine: Chunk, place: Array, unit: Array, nbytes: int) -> Array:
        """Return the index of buffer units within the lanes' own accesses; a unit has `nbytes`
        bytes."""
        offset = np.broadcast_to(self.offset, machine.shape).reshape(-1)[place]
        found: Array = unit - offset // nbytes
        return found


@frozen
class Transfer:
    """Accesses of the async proxy: `nbytes` bytes at each byte offset [n] of the buffer, on behalf
    of a lane of the chunk, [n]."""

    place: Array
    offset: Array
    nbytes: int
    strength: int = Strength.WEAK
    constant: bool = False

    def places(self, machine: Chunk) -> tuple[Array, Array]:
        return self.place, self.offset

    def of_ctas(self, machine: Chunk, ctas: Array) -> Transfer:
        """Return the accesses of the CTAs in a mask [C]."""
        chosen = ctas[self.place // (machine.warps * 32)]
        return replace(self, place=self.place[chosen], offset=self.offset[chosen])
