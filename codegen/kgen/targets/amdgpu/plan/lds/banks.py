"""Cycles of LDS for an access of a wave.

LDS serves a wave in phases, each of as many lanes as fill its banks once. A phase takes as many
cycles as the busiest bank has different words. A phase has neighbouring lanes, except in 16-byte
reads of waves of 64. Sources: Composable Kernel documentation, "Understanding AMD GPU LDS and Bank
Conflicts" (32 banks); the tables of ds_read_b128 for CDNA3 and CDNA4 in
github.com/triton-lang/triton/pull/11365 and github.com/iree-org/iree/pull/24428 (64 banks).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgen.targets.base import Target

#: Integers with one entry per lane along the last axis.
Lanes = npt.NDArray[np.int64]

#: Bytes of a bank.
BANK = 4
#: Bytes of the widest LDS access.
WIDEST = 16
#: Blocks of four lanes in the order of the phases of a 16-byte read, by the number of banks. The
#: second half of the wave has the same order.
READ_ORDER = {32: (0, 5, 1, 4, 2, 7, 3, 6), 64: (0, 3, 5, 6, 1, 2, 4, 7)}


def slots_per_cycle(target: Target) -> int:
    """Return the number of 16-byte slots that all banks together hold once."""
    return target.limits["lds_banks"] * BANK // WIDEST


def conflicts(target: Target, addresses: Lanes | Sequence[int], width: int, *, read: bool) -> int:
    """Return the cycles above one per phase, if lane i of a wave accesses `width` bytes at
    addresses[..., i]; with more than one axis, the sum over all accesses.

    Addresses are in bytes, multiples of the width, which is a power of two. A wave may have fewer
    lanes than the target's.
    """
    banks = target.limits["lds_banks"]
    words = -(-width // BANK)
    given = np.asarray(addresses, np.int64)
    phases = _phases(target, given.shape[-1], width, banks // words, read=read)
    first = given.reshape(-1, given.shape[-1])[:, phases] // BANK
    touched = np.sort((first[..., None] + np.arange(words)).reshape(-1, phases.shape[1] * words))
    # A word that several lanes access counts once.
    once = np.ones(touched.shape, bool)
    once[:, 1:] = touched[:, 1:] != touched[:, :-1]
    served = np.arange(len(touched))[:, None] * banks + touched % banks
    counts = np.bincount(served[once], minlength=len(touched) * banks)
    return int(counts.reshape(-1, banks).max(axis=1).sum()) - len(touched)


def _phases(target: Target, lanes: int, width: int, together: int, *, read: bool) -> Lanes:
    """Return the lanes of each phase of an access by `lanes` lanes, `together` in a phase.

    A phase with fewer lanes repeats its first one.
    """
    blocks: Sequence[int] = range(target.subgroup // 4)
    if read and width == WIDEST and target.subgroup == 64:
        order = READ_ORDER[target.limits["lds_banks"]]
        blocks = [8 * half + block for half in range(2) for block in order]
    every = (4 * np.array(blocks)[:, None] + np.arange(4)).reshape(-1, together)
    there = every < lanes
    every = every[there.any(axis=1)]
    firsts = np.take_along_axis(every, (every < lanes).argmax(axis=1)[:, None], axis=1)
    return np.where(every < lanes, every, firsts)
