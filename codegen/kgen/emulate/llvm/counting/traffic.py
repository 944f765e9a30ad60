"""Memory traffic of each instruction: the wavefronts and sectors of a profile.

The model has neither caches nor time:

  - LDS has 32 banks of 4 bytes, or 64 on gfx950. It serves an access in phases, each of as many
    lanes as fill the banks once; these are neighbours except in 16-byte reads of gfx9. A phase
    takes as many cycles as the busiest bank has different words; lanes may share a word. Lanes of
    an atomic that share a word are served one after the other. Sources: Composable Kernel
    documentation, "Understanding AMD GPU LDS and Bank Conflicts"; the phases of ds_read_b128 on
    MI300 and MI350 in github.com/triton-lang/triton/pull/11365.
  - Global memory has sectors of 64 bytes (ROCm Compute Profiler documentation, vL1D: requests to L2
    have 64 bytes). The access of a wave fetches each sector that it touches once.

The ideal is the number of wavefronts without bank conflicts, and the number of sectors if the same
distinct bytes were contiguous.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.counting.traffic import NOWHERE, LineTraffic, Moved, bank_cycles
from kgen.emulate.llvm.chunk import Chunk
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.types import Array

_WORD = 4
_SECTOR = 64
#: Bytes of the widest LDS access that is one instruction.
_WIDEST = 16
#: Blocks of four lanes in the order of the phases of a 16-byte read on gfx9.
_READ_128_GFX9 = (0, 5, 1, 4, 2, 7, 3, 6)
_READ_128_GFX950 = (0, 3, 5, 6, 1, 2, 4, 7)
#: Number of cached patterns of LDS accesses.
_REMEMBERED = 4096


class WaveTraffic(LineTraffic[Moved]):
    """Traffic of waves on ``processor``, such as gfx90a."""

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
        """Count an access of ``size`` bytes of LDS per active lane; ``kind`` is load, store or
        atomic."""
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
        """Count loads of ``size`` bytes of global memory per active lane."""
        self.add_global(self.by_line[ins.line], *_by_wave(m, pointer), size, store=False)

    def stored(self, m: Chunk, ins: LlvmInstruction, pointer: Array, size: int) -> None:
        """Count stores or atomics of ``size`` bytes of global memory per active lane."""
        self.add_global(self.by_line[ins.line], *_by_wave(m, pointer), size, store=True)

    def prefetched(self, m: Chunk, ins: LlvmInstruction, pointer: Array, inside: Array) -> None:
        """Count prefetches of the lines of these addresses, of which some are ``inside`` a
        buffer."""
        moved = self.by_line[ins.line]
        waves, times = _by_wave(m, pointer)
        moved.prefetches += int(np.count_nonzero(waves != NOWHERE)) * times
        lanes, times = _by_wave(m, np.where(inside, 0, NOWHERE))
        moved.prefetches_inside += int(np.count_nonzero(lanes != NOWHERE)) * times


def _by_wave(m: Chunk, address: Array) -> tuple[Array, int]:
    """Return addresses as [wave, lane], -1 in inactive lanes, and the multiplicity of each row.

    Workgroups that do the same share one row. The single lane of a CPU may access several addresses
    at once.
    """
    if address.shape[1] not in (1, m.lanes):
        return address.reshape(1, -1), 1
    rows = max(len(address), 1 if m.mask is None else len(m.mask))
    whole = np.broadcast_to(address, (rows, m.lanes))
    if m.mask is not None:
        whole = np.where(m.mask, whole, NOWHERE)
    return np.ascontiguousarray(whole).reshape(-1, m.wave), m.workgroups // rows


def _width(size: int, align: int) -> int:
    """Return the bytes per lane of the instructions that LLVM generates for an access. An access
    that is not aligned to its size becomes several narrower ones (SITargetLowering,
    allowsMisalignedMemoryAccesses)."""
    widest = min(size, _WIDEST)
    return widest if align >= widest or widest <= _WORD else min(widest, max(align, _WORD))
