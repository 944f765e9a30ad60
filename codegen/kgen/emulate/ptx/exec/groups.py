"""Choice of the lanes that run next: groups of lanes at one instruction, divided into parties.

Without a seed all lanes are one party, and the group with the lowest program counter runs: all CTAs
advance in lockstep, and diverged lanes soon reconverge. A seed other than 0 divides the warps and
CTAs randomly into parties. Each party is in lockstep and runs as far as it can while the others
wait, so that lockstep hides neither a race nor a wrong wait. All lanes of a warp belong to one
party, so that the instructions of a warp do not depend on the seed.
"""

from __future__ import annotations

import numpy as np

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.types import Array

#: Most parts into which a seed divides the warps of a CTA, and the clusters.
_WARP_PARTS, _CLUSTER_PARTS = 4, 2
_NOWHERE = 1 << 62


class Groups:
    """Lanes that can run, by party and program counter; `spinning` lanes run only if no others
    can."""

    def __init__(self, machine: Machine, everyone: Mask) -> None:
        self._machine, self._everyone = machine, everyone
        self._rng = np.random.default_rng((machine.launch.seed, machine.order.first_cluster))
        self._members = self._parties()
        self._ready: list[dict[int, Mask]] = [{} for _ in self._members]
        self._spinning: list[dict[int, Mask]] = [{} for _ in self._members]
        self._party = 0
        #: Number of consecutive rounds in which all runnable lanes only polled memory without
        #: seeing a new value.
        self.vain_rounds = 0
        self.add(0, everyone)

    def __bool__(self) -> bool:
        return any(self._ready) or any(self._spinning)

    def add(self, pc: int, mask: Mask, *, spins: bool = False) -> None:
        """Add lanes at a program counter; they join lanes that are already there.

        Lanes that spin poll memory again after all others had their turn.
        """
        if not spins:
            self.vain_rounds = 0
        for party, members in enumerate(self._members):
            mine = self._intersection(mask, members)
            if mine is not None:
                self._join((self._spinning if spins else self._ready)[party], pc, mine[0])

    def pop(self) -> tuple[int, Mask, int]:
        """Return program counter and lanes of the group that runs next, and the program counter of
        the party's next group."""
        if not any(self._ready):
            self._ready, self._spinning = self._spinning, self._ready
            self.vain_rounds += 1
        if not self._ready[self._party]:
            able = [party for party, groups in enumerate(self._ready) if groups]
            self._party = able[0] if len(able) == 1 else int(self._rng.choice(able))
        groups = self._ready[self._party]
        pc = min(groups)
        return pc, groups.pop(pc), min(groups, default=_NOWHERE)

    def first(self) -> tuple[int, Mask]:
        """Return a runnable group with the lowest program counter: program counter and lanes."""
        return min(
            ((pc, m) for g in (*self._ready, *self._spinning) for pc, m in g.items()),
            key=lambda found: found[0],
        )

    def simplest(self, mask: Mask) -> Mask:
        """Return the mask, or the mask of all lanes if it is equal to it."""
        everyone = self._everyone
        if mask is None or mask is everyone:
            return mask
        mask = self._machine.compact(mask)
        if everyone is None:
            return None if mask.all() else mask
        return mask if np.count_nonzero(mask != everyone) else everyone

    def _join(self, groups: dict[int, Mask], pc: int, mask: Mask) -> None:
        if pc in groups:
            there = groups[pc]
            mask = None if mask is None or there is None else mask | there
        groups[pc] = self.simplest(mask)

    def _intersection(self, mask: Mask, members: Mask) -> tuple[Mask] | None:
        """Return the lanes of a mask that belong to a party; None if there are none."""
        if members is None:
            return (mask,)
        mine = members if mask is None else mask & members
        return (mine,) if np.count_nonzero(mine) else None

    def _parties(self) -> list[Mask]:
        """Return the masks of the parties; [None] for a single party."""
        machine = self._machine
        if not machine.launch.seed or machine.ctas == 0:
            return [None]
        warps = self._parts(machine.warps, _WARP_PARTS)
        clusters = self._parts(machine.ctas // machine.cluster, _CLUSTER_PARTS)
        ctas = clusters.repeat(machine.cluster)
        party = machine.compact(ctas[:, None] * machine.warps + warps)[:, :, None]
        return [(party == p) & machine.exists for p in np.unique(party)]

    def _parts(self, count: int, most: int) -> Array:
        """Assign `count` items randomly to parts, none of them empty."""
        parts = min(count, int(self._rng.integers(1, most + 1)))
        found: Array = self._rng.permutation(count) % parts
        return found
