"""How much work the memories have with each instruction: a profile's wavefronts and sectors.

The model has no caches and no time:

- LDS has 32 banks of 4 bytes, 64 on gfx950, and serves an access in phases: of as many lanes as
  fill its banks once, neighbours except in 16-byte reads of gfx9. A phase takes as many cycles as
  the busiest bank has different words; any number of lanes may share a word. Sources: Composable
  Kernel documentation, "Understanding AMD GPU LDS and Bank Conflicts"; the phases of ds_read_b128
  on MI300 and MI350 in github.com/triton-lang/triton/pull/11365. Lanes of an atomic are served one
  after the other where they meet in a word.
- Global memory moves in sectors of 64 bytes (ROCm Compute Profiler documentation, vL1D: requests
  to L2 are of 64 bytes): the access of one wave fetches each sector that it touches once.

The ideal is what the same phases need with no conflict, and what the same distinct bytes need when
they lie side by side.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from kgen.emulate.llvm.chunk import Chunk
from kgen.emulate.llvm.frontend.module import Instruction
from kgen.emulate.llvm.types import Array
from kgen.emulate.traffic import NOWHERE, Moved, counters, first_of_each

_WORD = 4
_SECTOR = 64
#: The widest access of LDS that is one instruction.
_WIDEST = 16
#: The lanes of a wave in the order of the phases of a 16-byte read, in blocks of four lanes.
_READ_128_GFX9 = (0, 5, 1, 4, 2, 7, 3, 6)
_READ_128_GFX950 = (0, 3, 5, 6, 1, 2, 4, 7)
#: How many patterns of LDS accesses are kept with their counts.
_REMEMBERED = 4096


class Traffic:
    """The counts of a launch by source line, and which bytes of global memory were touched."""

    def __init__(self, processor: str, region_shift: int) -> None:
        """``processor`` is gfx90a or the like; a buffer's addresses agree above ``region_shift``
        bits."""
        self.by_line: defaultdict[int, Moved] = defaultdict(Moved)
        self._banks = 64 if processor == "gfx950" else 32
        self._read_128 = _READ_128_GFX950 if processor == "gfx950" else _READ_128_GFX9
        self._contiguous = not processor.startswith("gfx9")
        self._shift = region_shift
        self._touched: dict[int, Array] = {}
        self._known: dict[tuple[bytes, int, str], tuple[int, int]] = {}

    # -- LDS ------------------------------------------------------------------------------------

    def shared(
        self, m: Chunk, ins: Instruction, offsets: Array, size: int, align: int, kind: str
    ) -> None:
        """The active lanes access ``size`` bytes of LDS each; ``kind`` is load, store or atomic."""
        waves, times = _by_wave(m, offsets)
        moved = self.by_line[ins.line]
        width = _width(size, align)
        for start in range(0, size, width):
            at = np.where(waves == NOWHERE, NOWHERE, waves + start) if start else waves
            cycles, ideal = self._cycles(at, width, kind)
            moved.shared_wavefronts += cycles * times
            moved.shared_wavefronts_ideal += ideal * times

    def _cycles(self, waves: Array, width: int, kind: str) -> tuple[int, int]:
        key = waves.tobytes(), width, kind
        if key not in self._known:
            if len(self._known) == _REMEMBERED:
                self._known.clear()
            self._known[key] = self._count_cycles(waves, width, kind)
        return self._known[key]

    def _count_cycles(self, waves: Array, width: int, kind: str) -> tuple[int, int]:
        words = max(width, _WORD) // _WORD
        if words == 4 and kind == "load" and not self._contiguous and waves.shape[1] == 64:
            blocks = waves.reshape(len(waves), 2, 8, 4)[:, :, self._read_128]
            waves = blocks.reshape(waves.shape)
        lanes = min(self._banks // (4 if words == 3 else words), waves.shape[1])
        phases = waves.reshape(-1, lanes)
        first = np.where(phases == NOWHERE, NOWHERE, phases // _WORD)
        word = first[..., None] + np.where(first == NOWHERE, 0, 1)[..., None] * np.arange(words)
        in_order = np.sort(word.reshape(len(phases), -1), axis=1)
        counted = in_order != NOWHERE if kind == "atomic" else first_of_each(in_order)
        phase, _ = np.nonzero(counted)
        bank = phase * self._banks + in_order[counted] % self._banks
        load = np.bincount(bank, minlength=len(phases) * self._banks)
        busiest = load.reshape(-1, self._banks).max(axis=1)
        return int(busiest.sum()), int(np.count_nonzero(busiest))

    # -- global memory --------------------------------------------------------------------------

    def loaded(self, m: Chunk, ins: Instruction, pointer: Array, size: int) -> None:
        """The active lanes load ``size`` bytes of global memory each."""
        moved = self.by_line[ins.line]
        sectors, asked = self._global(m, moved, pointer, size)
        moved.load_sectors += sectors
        moved.load_bytes += asked

    def stored(self, m: Chunk, ins: Instruction, pointer: Array, size: int) -> None:
        """The active lanes store, or change atomically, ``size`` bytes of global memory each."""
        moved = self.by_line[ins.line]
        sectors, asked = self._global(m, moved, pointer, size)
        moved.store_sectors += sectors
        moved.store_bytes += asked

    def _global(self, m: Chunk, moved: Moved, pointer: Array, size: int) -> tuple[int, int]:
        """(sectors, bytes) of the waves' accesses, whose ideal is counted."""
        waves, times = _by_wave(m, pointer)
        at = np.sort(waves, axis=1)
        distinct = first_of_each(at)
        bytes_of_wave = np.count_nonzero(distinct, axis=1) * size
        moved.sectors_ideal += int((-(-bytes_of_wave // _SECTOR)).sum()) * times
        self._touch(at[distinct], size)
        sectors = _sectors(at, size)
        return sectors * times, int(np.count_nonzero(at != NOWHERE)) * size * times

    def _touch(self, addresses: Array, size: int) -> None:
        regions = addresses >> self._shift
        for region in np.unique(regions):
            offsets = addresses[regions == region] - (int(region) << self._shift)
            end = int(offsets.max()) + size
            touched = self._touched.get(int(region), np.zeros(0, np.bool_))
            if len(touched) < end:
                grown = np.zeros(max(end, 2 * len(touched)), np.bool_)
                grown[: len(touched)] = touched
                self._touched[int(region)] = touched = grown
            for byte in range(size):
                touched[offsets + byte] = True

    def counters(self) -> dict[str, int]:
        """Its part of a report's counters."""
        unique = sum(int(np.count_nonzero(touched)) for touched in self._touched.values())
        return counters(self.by_line.values(), unique)


def _by_wave(m: Chunk, address: Array) -> tuple[Array, int]:
    """Addresses as [wave, lane], -1 in lanes that are not active, and how often each row stands.

    Workgroups that do the same stand once. The one lane of a CPU may touch several places at once.
    """
    if address.shape[1] not in (1, m.lanes):
        return address.reshape(1, -1), 1
    rows = max(len(address), 1 if m.mask is None else len(m.mask))
    whole = np.broadcast_to(address, (rows, m.lanes))
    if m.mask is not None:
        whole = np.where(m.mask, whole, NOWHERE)
    return np.ascontiguousarray(whole).reshape(-1, m.wave), m.workgroups // rows


def _width(size: int, align: int) -> int:
    """Bytes per lane of the instructions that LLVM makes of an access: one that is not aligned to
    its size becomes several narrower ones (SITargetLowering, allowsMisalignedMemoryAccesses)."""
    widest = min(size, _WIDEST)
    return widest if align >= widest or widest <= _WORD else min(widest, max(align, _WORD))


def _sectors(in_order: Array, size: int) -> int:
    """How many sectors each row of sorted addresses touches, summed."""
    if size & (size - 1) == 0 and size <= _SECTOR and not (in_order[in_order >= 0] % size).any():
        return int(np.count_nonzero(first_of_each(in_order // _SECTOR)))
    reach = -(-size // _SECTOR)
    steps = np.minimum(np.arange(reach + 1) * _SECTOR, size - 1)
    spread = np.where(in_order[..., None] == NOWHERE, NOWHERE, in_order[..., None] + steps)
    touched = np.sort(spread.reshape(len(in_order), -1) // _SECTOR, axis=1)
    return int(np.count_nonzero(first_of_each(touched)))
