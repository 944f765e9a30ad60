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

An instruction asks :meth:`Traffic.watch` for its counts when it is decoded, and tells them each
access. Copies that are not of 32 lanes, such as those of the tensor memory accelerator, are given
as pieces of contiguous bytes with :meth:`Requests.bulk`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Protocol

import numpy as np

from kgen.emulate.ptx.chunk import Chunk, Mask
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.memory.spaces import WINDOW_BITS, GlobalMemory
from kgen.emulate.ptx.types import Array, all_of
from kgen.emulate.traffic import NOWHERE, Moved, counters, first_of_each

_BANK_BYTES = 4
#: What a wavefront moves at most: one word from each of 32 banks.
_WAVEFRONT_BYTES = 128
_SECTOR_BYTES = 32
#: The widest access of a lane.
_WIDEST = 32


class Counted(Chunk, Protocol):
    """A chunk with the buffers whose bytes are counted."""

    @property
    def memory(self) -> GlobalMemory: ...


class Requests(Moved):
    """The counts of one source line, to which its instructions add."""

    def __init__(self, traffic: Traffic) -> None:
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
        self.shared_wavefronts += int(count.sum()) * times
        self.shared_wavefronts_ideal += int(ideal.sum()) * times

    def load(self, address: Array, nbytes: int, mask: Mask) -> None:
        """Each active lane loads `nbytes` (1 to 32) from an address of global memory."""
        sectors, moved = self._global(address, nbytes, mask)
        self.load_sectors += sectors
        self.load_bytes += moved

    def store(self, address: Array, nbytes: int, mask: Mask) -> None:
        """Each active lane stores, or changes atomically, `nbytes` of global memory."""
        sectors, moved = self._global(address, nbytes, mask)
        self.store_sectors += sectors
        self.store_bytes += moved

    def bulk(self, address: Array, nbytes: int, *, store: bool, readers: int = 1) -> None:
        """Copies of contiguous pieces of `nbytes` at global addresses [copy, piece], or [piece].

        Pieces that are outside of a tensor are not given. The other side is shared memory, which a
        copy fills or reads in whole wavefronts: in `readers` CTAs, if it is multicast.
        """
        at = np.atleast_2d(np.asarray(address, np.int64))
        copies, one = len(at), at.shape[1] * nbytes
        sectors = int((((at + nbytes - 1) // _SECTOR_BYTES) - at // _SECTOR_BYTES + 1).sum())
        self.sectors_ideal += copies * -(-one // _SECTOR_BYTES)
        if store:
            self.store_sectors += sectors
            self.store_bytes += copies * one
        else:
            self.load_sectors += sectors
            self.load_bytes += copies * one
        wavefronts = copies * -(-one // _WAVEFRONT_BYTES) * readers
        self.shared_wavefronts += wavefronts
        self.shared_wavefronts_ideal += wavefronts
        for piece in at.flat:
            self._traffic.touch_range(int(piece), nbytes)

    def _global(self, address: Array, nbytes: int, mask: Mask) -> tuple[int, int]:
        """(sectors, bytes) of warps' requests, whose ideal is counted."""
        lanes, times = self._lanes(address, mask)
        at = np.sort(lanes, axis=1)
        distinct = first_of_each(at)
        asked = np.count_nonzero(distinct, axis=1) * nbytes
        self.sectors_ideal += int((-(-asked // _SECTOR_BYTES)).sum()) * times
        self._traffic.touch(at[distinct], nbytes)
        sectors = int(np.count_nonzero(first_of_each(at // _SECTOR_BYTES)))
        return sectors * times, int(np.count_nonzero(at != NOWHERE)) * nbytes * times

    def _lanes(self, address: Array, mask: Mask) -> tuple[Array, int]:
        """Addresses as [warp, lane], -1 in lanes that are not active, and how often each stands.

        Warps that do the same, as those of different CTAs do in shared memory, stand once.
        """
        machine = self._machine
        shape = np.broadcast_shapes(address.shape, () if mask is None else mask.shape)
        lanes = address if mask is None else np.where(mask, address, NOWHERE)
        whole = np.broadcast_to(lanes, (*shape[:2], WARP)).reshape(-1, WARP)
        return whole, (machine.ctas // shape[0]) * (machine.warps // shape[1])


class Traffic:
    """The counts of a launch, by source line, and which bytes of global memory were touched."""

    def __init__(self, machine: Counted) -> None:
        self.machine = machine
        self.by_line: defaultdict[int, Requests] = defaultdict(lambda: Requests(self))
        self._touched: dict[int, Array] = {}
        #: The most bytes that a CTA's threads had under way after a wait.
        self.copies_in_flight = 0

    def watch(self, line: int) -> Requests:
        """The counts of a line, for an instruction that stands there."""
        return self.by_line[line]

    def touch(self, addresses: Array, nbytes: int) -> None:
        """Note `nbytes` at each global address, a multiple of them if they are a power of two."""
        if not addresses.size:
            return
        window = addresses >> WINDOW_BITS
        for number in np.unique(window):
            offsets = addresses[window == number] - (int(number) << WINDOW_BITS)
            touched = self._bytes_of(int(number))
            if _WIDEST % nbytes == 0:
                touched.reshape(-1, nbytes)[offsets // nbytes] = True
            else:
                touched[offsets[:, None] + np.arange(nbytes)] = True

    def touch_range(self, address: int, nbytes: int) -> None:
        """Note contiguous bytes at a global address."""
        number = address >> WINDOW_BITS
        start = address - (number << WINDOW_BITS)
        self._bytes_of(number)[start : start + nbytes] = True

    def _bytes_of(self, window: int) -> Array:
        """Which bytes of the buffer in an address window were touched, padded to the widest."""
        if window not in self._touched:
            size = self.machine.memory.buffers[window - 1].size
            self._touched[window] = np.zeros(-(-size // _WIDEST) * _WIDEST, bool)
        return self._touched[window]

    def in_flight(self, nbytes: Array) -> None:
        """Each thread of the chunk has had this many bytes under way after a wait."""
        by_thread = np.where(self.machine.exists, self.machine.everywhere(nbytes), 0)
        self.copies_in_flight = max(self.copies_in_flight, int(by_thread.sum((1, 2)).max()))

    def counters(self) -> dict[str, int]:
        """Its part of a report's counters."""
        unique = sum(int(np.count_nonzero(touched)) for touched in self._touched.values())
        found = counters(self.by_line.values(), unique)
        return {**found, "copies_in_flight": self.copies_in_flight}


def _wavefronts(units: Array, width: int, lanes: int, atomic: bool) -> tuple[Array, Array]:
    """(wavefronts, ideal) of each warp, served in groups of `lanes` adjacent lanes.

    `units` [warp, lane] are numbers of `width` bytes, as wide as an access or a bank. The group
    takes as many wavefronts as the busiest set of banks that holds one of them.
    """
    groups = np.sort(units.reshape(-1, lanes), axis=1)
    counted = groups != NOWHERE if atomic else first_of_each(groups)
    sets = _WAVEFRONT_BYTES // width
    row, _ = np.nonzero(counted)
    load = np.bincount(row * sets + groups[counted] % sets, minlength=len(groups) * sets)
    by_group = (len(units), -1)
    busiest = load.reshape(-1, sets).max(axis=1).reshape(by_group)
    return busiest.sum(axis=1), np.count_nonzero(busiest, axis=1)


def _same(units: Array, distance: int) -> Array:
    """Warps in which the active lanes l and l ^ distance access the same unit."""
    other = units[:, np.arange(WARP) ^ distance]
    return all_of((units == other) | (units == NOWHERE) | (other == NOWHERE), 1)
