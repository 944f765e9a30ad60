"""Shared memory of the CTAs in a chunk, [CTA, byte], with a check on every access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.ptx.memory import check, columns, elements, scatter, settle
from kgen.emulate.ptx.shadow import Shadow
from kgen.emulate.ptx.types import Array

if TYPE_CHECKING:
    from kgen.emulate.ptx.machine import Machine, Mask

#: The widest access, which rows are padded to.
_WIDEST = 32


class SharedMemory:
    """`load` and `store` are what threads do; `begin_copy` and `finish_copy` are cp.async's halves.

    An address that is the same in every CTA, as nearly all are, stays one row of the arrays; so do
    the checks on it.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine, self.nbytes = machine, machine.launch.shared_bytes
        padded = max(_WIDEST, -(-self.nbytes // _WIDEST) * _WIDEST)
        self.data = np.full((machine.ctas, padded), 0xFF, np.uint8)
        self.shadow = Shadow(machine, padded) if machine.checks else None
        self._row = np.arange(machine.ctas).reshape(-1, 1, 1)

    def load(self, address: Array, size: int, count: int, mask: Mask) -> list[Array]:
        """`count` elements of `size` bytes from each active lane's address."""
        return self.peek(self.read(address, size * count, mask), size, count)

    def read(self, address: Array, nbytes: int, mask: Mask, *, by_warp: bool = False) -> Array:
        """Check a read; returns addresses that are valid in inactive lanes too.

        `by_warp` says that the whole warp gets what a lane reads.
        """
        settled = self._settle(address, nbytes, mask, "load")
        if self.shadow is not None:
            self.shadow.read(address, nbytes, mask, by_warp=by_warp)
        return settled

    def peek(self, address: Array, size: int, count: int) -> list[Array]:
        """What is stored at valid addresses, without a check."""
        view = elements(self.data, size, count)
        index = address // (size * count)
        if index.shape[0] == 1:
            return columns(view.take(index[0], axis=1, mode="clip"))
        index = index + self._row * view.shape[1]
        return columns(view.reshape(-1, count).take(index, axis=0, mode="clip"))

    def store(self, address: Array, values: Sequence[Array], size: int, mask: Mask) -> None:
        """Store each active lane's elements."""
        nbytes = size * len(values)
        settled = self._settle(address, nbytes, mask, "store")
        overlapping = self.shadow is not None and self.shadow.write(address, nbytes, mask)
        self._put(settled, values, size, mask)
        if overlapping:
            self._check_same(address, settled, values, size, mask)

    def cells(self, address: Array, size: int, mask: Mask) -> tuple[Array, Array]:
        """All memory as units of `size` bytes, flat, and the unit of every lane, for an atomic."""
        settled = self._settle(address, size, mask, "atomic")
        if self.shadow is not None:
            self.shadow.write(address, size, mask, atomic=True)
        view = elements(self.data, size, 1)
        return view.reshape(-1), settled // size + self._row * view.shape[1]

    def begin_copy(self, address: Array, nbytes: int, mask: Mask) -> None:
        """From now on the bytes may change, until the copying thread has waited."""
        self._settle(address, nbytes, mask, "copy")
        if self.shadow is not None:
            self.shadow.begin_copy(address, nbytes, mask)

    def finish_copy(self, address: Array, values: Sequence[Array], size: int, mask: Mask) -> None:
        """The copying thread has waited: the bytes are there, for it alone."""
        if self.shadow is not None:
            self.shadow.finish_copy(address, size * len(values), mask)
        self._put(settle(address, mask), values, size, mask)

    def _settle(self, address: Array, nbytes: int, mask: Mask, what: str) -> Array:
        settled = settle(address, mask)
        check(address, nbytes, self.nbytes, f"shared {what}", settled, mask)
        return settled

    def _put(self, address: Array, values: Sequence[Array], size: int, mask: Mask) -> None:
        view = elements(self.data, size, len(values))
        index = address // (size * len(values)) + self._row * view.shape[1]
        scatter(view.reshape(-1, len(values)), index, values, mask)

    def _check_same(
        self, address: Array, settled: Array, values: Sequence[Array], size: int, mask: Mask
    ) -> None:
        """Lanes of one instruction that store to the same bytes must store the same value."""
        from kgen.emulate.ptx.machine import Violation

        stored = self.peek(settled, size, len(values))
        lost = np.logical_or.reduce(
            [there != mine for there, mine in zip(stored, values, strict=True)]
        )
        lanes = lost if mask is None else lost & mask
        if lanes.any():
            message = "threads store different values to the same shared bytes at once"
            raise Violation("race", message, lanes, address)
