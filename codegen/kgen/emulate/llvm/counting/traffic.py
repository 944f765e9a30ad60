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

import numpy as np

from kgen.emulate.counting.traffic import NOWHERE, LineTraffic, Moved, bank_cycles
from kgen.emulate.llvm.chunk import Chunk
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.types import Array

_WORD = 4
_SECTOR = 64
#: The widest access of LDS that is one instruction.
_WIDEST = 16
#: The lanes of a wave in the order of the phases of a 16-byte read, in blocks of four lanes.
_READ_128_GFX9 = (0, 5, 1, 4, 2, 7, 3, 6)
_READ_128_GFX950 = (0, 3, 5, 6, 1, 2, 4, 7)
#: How many patterns of LDS accesses are kept with their counts.
_REMEMBERED = 4096


class WaveTraffic(LineTraffic[Moved]):
    """The traffic of waves on ``processor``, gfx90a or the like."""

    def __init__(self, processor: str) -> None:
        super().__init__(_SECTOR, Moved)
        self._banks = 64 if processor == "gfx950" else 32
        self._read_128 = _READ_128_GFX950 if processor == "gfx950" else _READ_128_GFX9
        self._contiguous = not processor.startswith("gfx9")
        self._known: dict[tuple[bytes, int, str], tuple[int, int]] = {}

    # -- LDS ------------------------------------------------------------------------------------

    def shared(
        self, m: Chunk, ins: LlvmInstruction, offsets: Array, size: int, align: int, kind: str
    ) -> None:
        """The active lanes access ``size`` bytes of LDS each; ``kind`` is load, store or atomic."""
        waves, times = _by_wave(m, offsets)
        moved = self.by_line[ins.line]
        width = _width(size, align)
        for start in range(0, size, width):
            at = np.where(waves == NOWHERE, NOWHERE, waves + start) if start else waves
            cycles, ideal = self._cycles(at, width, kind)
            moved.add_shared(cycles * times, ideal * times)

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
        cycles = bank_cycles(word.reshape(len(phases), -1), self._banks, atomic=kind == "atomic")
        return int(cycles.sum()), int(np.count_nonzero(cycles))

    # -- global memory --------------------------------------------------------------------------

    def loaded(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        """The active lanes load ``size`` bytes of global memory each."""
        self.add_global(self.by_line[ins.line], *_by_wave(m, pointer), size, store=False)

    def stored(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        """The active lanes store, or change atomically, ``size`` bytes of global memory each."""
        self.add_global(self.by_line[ins.line], *_by_wave(m, pointer), size, store=True)

    def prefetched(self, m: Chunk, ins: LlvmInstruction, pointer: Array, inside: Array) -> None:
        """The active lanes prefetch the lines of these addresses, some ``inside`` a buffer."""
        moved = self.by_line[ins.line]
        waves, times = _by_wave(m, pointer)
        moved.prefetches += int(np.count_nonzero(waves != NOWHERE)) * times
        lanes, times = _by_wave(m, np.where(inside, 0, NOWHERE))
        moved.prefetches_inside += int(np.count_nonzero(lanes != NOWHERE)) * times


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
