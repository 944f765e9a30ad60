"""How much work the memories have with each instruction: a profile's wavefronts and sectors.

The model is that of compute capability 7.0 and later, and has no caches and no time:

- Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, compute capability 5.x, shared
  memory). A wavefront is what it serves in one cycle: at most one word from each bank, which any
  number of lanes may read. It moves 128 bytes at most, so 8-byte accesses go by half warps and
  16-byte accesses by quarter warps; ldmatrix and stmatrix are 16-byte accesses of the lanes that
  give rows, one wavefront for each matrix. Loads of 8 bytes and more take half of that where the
  lanes l and l^1 of every pair, or l and l^2, read the same address (NVIDIA on its developer forum,
  topic 77228, "Unexpected shared memory bank conflict"). Lanes of an atomic are served one after
  the other where they meet in a word.
- Global memory moves in sectors of 32 bytes (Nsight Compute, Kernel Profiling Guide, memory
  tables): one warp's request fetches each sector that it touches once.

The ideal is what the same lanes need with no two words in one bank, and what the same distinct
bytes need when they lie side by side.

An instruction asks :meth:`CtaTraffic.watch` for its counts when it is decoded, and tells them each
access. Copies that are not of 32 lanes, such as those of the tensor memory accelerator, are given
as pieces of contiguous bytes with :meth:`Requests.bulk`.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.counting.traffic import NOWHERE, LineTraffic, Moved, bank_cycles
from kgen.emulate.ptx.chunk import Chunk, Mask
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.types import Array, all_of

_BANK_BYTES = 4
#: What a wavefront moves at most: one word from each of 32 banks.
_WAVEFRONT_BYTES = 128
_SECTOR_BYTES = 32


class Requests(Moved):
    """The counts of one source line, to which its instructions add."""

    def __init__(self, traffic: CtaTraffic) -> None:
        super().__init__()
        self._traffic, self._machine = traffic, traffic.machine

    def shared(
        self, address: Array, nbytes: int, mask: Mask, *, load: bool = False, atomic: bool = False
    ) -> None:
        """Each active lane accesses `nbytes` (1 to 16) at an address of shared memory.

        `load` says that lanes which read the same may be served together.
        """
        lanes, times = self._lanes(address, mask)
        width = max(nbytes, _BANK_BYTES)
        units = lanes // width
        group = _WAVEFRONT_BYTES // width
        count, ideal = _wavefronts(units, width, group, atomic)
        if load and width > _BANK_BYTES:
            pairs = _same(units, 1) | _same(units, 2)
            merged, merged_ideal = _wavefronts(units, width, 2 * group, atomic)
            count = np.where(pairs, merged, count)
            ideal = np.where(pairs, merged_ideal, ideal)
        self.add_shared(int(count.sum()) * times, int(ideal.sum()) * times)

    def load(self, address: Array, nbytes: int, mask: Mask) -> None:
        """Each active lane loads `nbytes` (1 to 32) from an address of global memory."""
        self._traffic.add_global(self, *self._lanes(address, mask), nbytes, store=False)

    def store(self, address: Array, nbytes: int, mask: Mask) -> None:
        """Each active lane stores, or changes atomically, `nbytes` of global memory."""
        self._traffic.add_global(self, *self._lanes(address, mask), nbytes, store=True)

    def bulk(self, address: Array, nbytes: int, *, store: bool, readers: int = 1) -> None:
        """Copies of contiguous pieces of `nbytes` at global addresses [copy, piece], or [piece].

        Pieces that are outside of a tensor are not given. The other side is shared memory, which a
        copy fills or reads in whole wavefronts: in `readers` CTAs, if it is multicast.
        """
        at = np.atleast_2d(np.asarray(address, np.int64))
        copies, one = len(at), at.shape[1] * nbytes
        sectors = int((((at + nbytes - 1) // _SECTOR_BYTES) - at // _SECTOR_BYTES + 1).sum())
        self.add_global(sectors, copies * -(-one // _SECTOR_BYTES), copies * one, store=store)
        wavefronts = copies * -(-one // _WAVEFRONT_BYTES) * readers
        self.add_shared(wavefronts, wavefronts)
        self._traffic.touched.add(at.reshape(-1), nbytes)

    def _lanes(self, address: Array, mask: Mask) -> tuple[Array, int]:
        """Addresses as [warp, lane], -1 in lanes that are not active, and how often each stands.

        Warps that do the same, as those of different CTAs do in shared memory, stand once.
        """
        machine = self._machine
        shape = np.broadcast_shapes(address.shape, () if mask is None else mask.shape)
        lanes = address if mask is None else np.where(mask, address, NOWHERE)
        whole = np.broadcast_to(lanes, (*shape[:2], WARP)).reshape(-1, WARP)
        return whole, (machine.ctas // shape[0]) * (machine.warps // shape[1])


class CtaTraffic(LineTraffic[Requests]):
    """Besides, how much each CTA has under way."""

    def __init__(self, machine: Chunk) -> None:
        super().__init__(_SECTOR_BYTES, lambda: Requests(self))
        self.machine = machine
        #: The most bytes that a CTA's threads had under way after a wait.
        self.copies_in_flight = 0

    def watch(self, line: int) -> Requests:
        """The counts of a line, for an instruction that stands there."""
        return self.by_line[line]

    def in_flight(self, nbytes: Array) -> None:
        """Each thread of the chunk has had this many bytes under way after a wait."""
        by_thread = np.where(self.machine.exists, self.machine.everywhere(nbytes), 0)
        self.copies_in_flight = max(self.copies_in_flight, int(by_thread.sum((1, 2)).max()))

    def counters(self) -> dict[str, int]:
        return {**super().counters(), "copies_in_flight": self.copies_in_flight}


def _wavefronts(units: Array, width: int, lanes: int, atomic: bool) -> tuple[Array, Array]:
    """(wavefronts, ideal) of each warp, served in groups of `lanes` adjacent lanes.

    `units` [warp, lane] are numbers of `width` bytes, as wide as an access or a bank.
    """
    cycles = bank_cycles(units.reshape(-1, lanes), _WAVEFRONT_BYTES // width, atomic=atomic)
    of_warp = cycles.reshape(len(units), -1)
    return of_warp.sum(axis=1), np.count_nonzero(of_warp, axis=1)


def _same(units: Array, distance: int) -> Array:
    """Warps in which the active lanes l and l ^ distance access the same unit."""
    other = units[:, np.arange(WARP) ^ distance]
    return all_of((units == other) | (units == NOWHERE) | (other == NOWHERE), 1)
