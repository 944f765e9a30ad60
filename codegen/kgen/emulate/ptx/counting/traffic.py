"""Memory traffic of each source line: shared memory wavefronts (bank conflicts) and global sectors.

The model is compute capability 7.0 and later, without caches and timing.

- Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, compute capability 5.x, shared
  memory). A wavefront is the work of one cycle: at most one word per bank, which any number of
  lanes may read, so at most 128 bytes. Accesses of 8 bytes are served by half warps, accesses of 16
  bytes by quarter warps. ldmatrix and stmatrix are 16-byte accesses by the lanes that provide row
  addresses, one wavefront per matrix.
- Loads of 8 bytes or more need half the wavefronts if all pairs of lanes l and l^1, or l and l^2,
  read the same address (NVIDIA developer forum, topic 77228, "Unexpected shared memory bank
  conflict").
- Lanes of an atomic that access the same word are served one after another.
- Global memory is accessed in sectors of 32 bytes (Nsight Compute, Kernel Profiling Guide, memory
  tables): a request of one warp fetches each sector once.

The ideal counts are the wavefronts of the same lanes without bank conflicts, and the sectors of the
same distinct bytes if they were contiguous.

When an instruction is decoded, it gets the counts of its line from :meth:`CtaTraffic.watch` and
reports each access to them. Copies that are not made by 32 lanes, such as TMA copies, are reported
as pieces of contiguous bytes with :meth:`Requests.bulk`.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.counting.traffic import NOWHERE, LineTraffic, Moved, bank_cycles
from kgen.emulate.ptx.chunk import Chunk, Mask
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.types import Array, all_of

_BANK_BYTES = 4
#: Most bytes of a wavefront: one word from each of 32 banks.
_WAVEFRONT_BYTES = 128
_SECTOR_BYTES = 32


class Requests(Moved):
    """Counts of one source line, to which its instructions add."""

    def __init__(self, traffic: CtaTraffic) -> None:
        super().__init__()
        self._traffic, self._machine = traffic, traffic.machine

    def shared(
        self, address: Array, nbytes: int, mask: Mask, *, load: bool = False, atomic: bool = False
    ) -> None:
        """Count accesses of `nbytes` (1 to 16) bytes by each active lane to shared memory.

        `load`: lanes that read the same address may be served together.
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
        """Count loads of `nbytes` (1 to 32) bytes by each active lane from global memory."""
        self._traffic.add_global(self, *self._lanes(address, mask), nbytes, store=False)

    def store(self, address: Array, nbytes: int, mask: Mask) -> None:
        """Count stores or atomics of `nbytes` bytes by each active lane to global memory."""
        self._traffic.add_global(self, *self._lanes(address, mask), nbytes, store=True)

    def bulk(self, address: Array, nbytes: int, *, store: bool, readers: int = 1) -> None:
        """Count copies of contiguous pieces of `nbytes` bytes at global addresses [copy, piece] or
        [piece].

        Pieces outside a tensor are not passed. A copy fills or reads shared memory in whole
        wavefronts, in `readers` CTAs if it is multicast.
        """
        at = np.atleast_2d(np.asarray(address, np.int64))
        copies, one = len(at), at.shape[1] * nbytes
        sectors = int((((at + nbytes - 1) // _SECTOR_BYTES) - at // _SECTOR_BYTES + 1).sum())
        self.add_global(sectors, copies * -(-one // _SECTOR_BYTES), copies * one, store=store)
        wavefronts = copies * -(-one // _WAVEFRONT_BYTES) * readers
        self.add_shared(wavefronts, wavefronts)
        self._traffic.touched.add(at.reshape(-1), nbytes)

    def _lanes(self, address: Array, mask: Mask) -> tuple[Array, int]:
        """Return addresses as [warp, lane], with -1 in inactive lanes, and the number of warps that
        each row represents.

        Warps with equal addresses, such as those of different CTAs in shared memory, are one row.
        """
        machine = self._machine
        shape = np.broadcast_shapes(address.shape, () if mask is None else mask.shape)
        lanes = address if mask is None else np.where(mask, address, NOWHERE)
        whole = np.broadcast_to(lanes, (*shape[:2], WARP)).reshape(-1, WARP)
        return whole, (machine.ctas // shape[0]) * (machine.warps // shape[1])


class CtaTraffic(LineTraffic[Requests]):
    """Traffic by source line, and the bytes of copies in flight per CTA."""

    def __init__(self, machine: Chunk) -> None:
        super().__init__(_SECTOR_BYTES, lambda: Requests(self))
        self.machine = machine
        #: Most bytes in flight that the threads of a CTA had after a wait.
        self.copies_in_flight = 0

    def watch(self, line: int) -> Requests:
        """Return the counts of a source line, for an instruction on it."""
        return self.by_line[line]

    def in_flight(self, nbytes: Array) -> None:
        """Record the bytes in flight of each thread after a wait."""
        by_thread = np.where(self.machine.exists, self.machine.everywhere(nbytes), 0)
        self.copies_in_flight = max(self.copies_in_flight, int(by_thread.sum((1, 2)).max()))

    def counters(self) -> dict[str, int]:
        return {**super().counters(), "copies_in_flight": self.copies_in_flight}


def _wavefronts(units: Array, width: int, lanes: int, atomic: bool) -> tuple[Array, Array]:
    """Return wavefronts and ideal wavefronts of each warp, served in groups of `lanes` adjacent
    lanes.

    `units` [warp, lane] are addresses in units of `width` bytes: the size of the access, at least a
    bank.
    """
    cycles = bank_cycles(units.reshape(-1, lanes), _WAVEFRONT_BYTES // width, atomic=atomic)
    of_warp = cycles.reshape(len(units), -1)
    return of_warp.sum(axis=1), np.count_nonzero(of_warp, axis=1)


def _same(units: Array, distance: int) -> Array:
    """Return the warps in which the active lanes l and l ^ distance access the same unit."""
    other = units[:, np.arange(WARP) ^ distance]
    return all_of((units == other) | (units == NOWHERE) | (other == NOWHERE), 1)
