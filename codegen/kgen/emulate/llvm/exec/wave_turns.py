"""Scheduling of waves: which waves run, and which are held back.

Without a seed, all waves run in lockstep, lanes at the lowest position first. A wave that waits for
another one in a loop may stay at a lower position forever. After some steps, the waves at the
lowest position are held back for a while.

With a seed, one wave of some workgroups runs as far as it can, or for a random number of steps,
while the others are held back. So the order of lockstep cannot hide a fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.llvm.frontend.program import WAITING
from kgen.emulate.llvm.types import Array

if TYPE_CHECKING:
    from kgen.emulate.llvm.exec.machine import Machine

#: Segments in lockstep before the lowest waves are held back, and segments for which they are held.
_PATIENCE = 2048
_RESPITE = 256
#: Most segments of a turn with a seed; shorter turns are likelier.
_LONGEST_TURN = 10


class WaveTurns:
    """Waves that run next during one call of a function."""

    def __init__(self, machine: Machine, random: np.random.Generator | None) -> None:
        self.machine = machine
        self.random = random
        self.left = _PATIENCE if random is None else 0
        self.waves: Array | None = None
        """[workgroup, wave] that run; None is all."""

    @property
    def apart(self) -> bool:
        """Whether some waves are held back, or patience has run out."""
        return self.waves is not None or self.left <= 0

    def chosen(self, position: Array | int) -> Array | None:
        """Return the lanes that may run now, [workgroup, lane], or None for all. At least one of
        them can."""
        if self.random is None and self.waves is None and self.left > 0:
            self.left -= 1
            return None
        able = self._able(position)
        self.left -= 1
        if self.left <= 0 or self.waves is None or not np.count_nonzero(able & self.waves):
            self._deal(able, position)
        if self.waves is None:
            return None
        return np.repeat(self.waves, self.machine.wave, axis=1)

    def _able(self, position: Array | int) -> Array:
        """Return the waves that have a lane to run: [workgroup, wave]."""
        m = self.machine
        able = np.broadcast_to(np.asarray(position) < WAITING, (m.workgroups, m.lanes))
        return np.asarray(m.waves(able).any(axis=2))

    def _deal(self, able: Array, position: Array | int) -> None:
        if self.random is not None:
            self._deal_at_random(self.random, able)
        elif self.waves is None:
            self.left, self.waves = _RESPITE, able & ~self._lowest(position)
            if not np.count_nonzero(self.waves):
                self.left, self.waves = _PATIENCE, None
        else:
            self.left, self.waves = _PATIENCE, None

    def _deal_at_random(self, random: np.random.Generator, able: Array) -> None:
        """Choose one able wave in each of some workgroups."""
        rank = np.where(able, random.random(able.shape), -1.0)
        favoured = np.arange(able.shape[1]) == rank.argmax(axis=1)[:, None]
        lucky = random.random((len(able), 1)) < random.choice((0.1, 0.5, 1.0))
        candidates = able & favoured
        waves = candidates & lucky
        if not np.count_nonzero(waves):
            waves = candidates
        self.waves = waves
        self.left = int(random.integers(1, 1 << random.integers(1, _LONGEST_TURN + 1)))

    def _lowest(self, position: Array | int) -> Array:
        m = self.machine
        whole = np.broadcast_to(np.asarray(position), (m.workgroups, m.lanes))
        return np.asarray((m.waves(whole) == whole.min()).any(axis=2))
