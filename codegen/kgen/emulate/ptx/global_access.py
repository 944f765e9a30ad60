"""What one instruction, or one asynchronous copy, accesses of a global buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.ptx.tags import Strength
from kgen.emulate.ptx.types import Array

if TYPE_CHECKING:
    from kgen.emulate.ptx.machine import Machine, Mask


@dataclass(frozen=True, kw_only=True)
class Access:
    """One instruction's accesses: byte offsets in the buffer at any broadcast shape."""

    offset: Array
    nbytes: int
    mask: Mask
    strength: int = Strength.WEAK
    #: Nobody writes the bytes while the kernel runs, or so the program says.
    constant: bool = False

    def places(self, machine: Machine) -> tuple[Array, Array]:
        """(lanes of the chunk, each one's offset), flat."""
        offset = np.broadcast_to(self.offset, machine.shape).reshape(-1)
        if self.mask is None:
            return np.arange(offset.size), offset
        place = np.flatnonzero(np.broadcast_to(self.mask, machine.shape))
        return place, offset[place]


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """What the async proxy accesses: `nbytes` at each byte offset [C or 1, n] of the buffer, for
    the thread `issuer` [C or 1] of each CTA in `ctas` [C or 1].
    """

    offset: Array
    nbytes: int
    issuer: Array
    ctas: Array
    strength: int = Strength.WEAK
    constant: bool = False

    def places(self, machine: Machine) -> tuple[Array, Array]:
        cta = np.flatnonzero(np.broadcast_to(self.ctas, machine.ctas))
        count = self.offset.shape[1]
        offset = np.broadcast_to(self.offset, (machine.ctas, count))[cta]
        issuer = np.broadcast_to(self.issuer, machine.ctas)[cta] + cta * (machine.warps * 32)
        return issuer.repeat(count), offset.reshape(-1)
