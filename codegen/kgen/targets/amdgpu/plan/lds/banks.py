"""Cycles of LDS for an access of a wave.

LDS serves a wave in phases, each of as many lanes as fill its banks once. A phase takes as many
cycles as the busiest bank has different words. A phase has neighbouring lanes, except in 16-byte
reads of waves of 64. Sources: Composable Kernel documentation, "Understanding AMD GPU LDS and Bank
Conflicts" (32 banks); the tables of ds_read_b128 for CDNA3 and CDNA4 in
github.com/triton-lang/triton/pull/11365 and github.com/iree-org/iree/pull/24428 (64 banks).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kgen.targets.base import Target

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


def conflicts(target: Target, addresses: Sequence[int], width: int, *, read: bool) -> int:
    """Return the cycles above one per phase, if lane i of a wave accesses `width` bytes at
    addresses[i].

    Addresses are in bytes, multiples of the width, which is a power of two. A wave may have fewer
    lanes than the target's.
    """
    banks = target.limits["lds_banks"]
    blocks: Sequence[int] = range(target.subgroup // 4)
    if read and width == WIDEST and target.subgroup == 64:
        blocks = [8 * half + block for half in range(2) for block in READ_ORDER[banks]]
    order = [4 * block + lane for block in blocks for lane in range(4)]
    words = -(-width // BANK)
    lanes = banks // words
    phases = (order[first : first + lanes] for first in range(0, len(order), lanes))
    return sum(
        _busiest([addresses[lane] for lane in phase if lane < len(addresses)], words, banks) - 1
        for phase in phases
    )


def _busiest(addresses: Sequence[int], words: int, banks: int) -> int:
    """Return the number of different words in the busiest bank; 1 without addresses."""
    touched = {address // BANK + word for address in addresses for word in range(words)}
    return max(Counter(word % banks for word in touched).values(), default=1)
