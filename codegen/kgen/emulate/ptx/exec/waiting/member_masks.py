"""Member masks of warp collectives (PTX ISA 9.7.9.6, 9.7.13).

A lane waits until every lane that its mask names, and that has not exited, executes the instruction
with the same mask. Mask registers of lanes at other instructions are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.types import Array

#: Bit of each lane in a member mask, [1, 1, lane].
LANE_BIT = (np.uint32(1) << np.arange(WARP, dtype=np.uint32)).reshape(1, 1, WARP)


def bits_of(lanes: Array) -> Array:
    """Return the lanes of each warp as the bits of a word, [.., W, 1]."""
    bits = np.where(lanes, LANE_BIT, np.uint32(0))
    found: Array = np.bitwise_or.reduce(bits, axis=2, keepdims=True)
    return found


def named_by(masks: Array) -> Array:
    """Return whether each lane's mask names the lane itself."""
    found: Array = (masks & LANE_BIT) != 0
    return found


def not_yet_here(masks: Array, here: Array, gone: Array) -> Array:
    """Return whether a lane's mask names a lane that is neither `gone` nor has arrived with the
    same mask."""
    present = _with_same_mask(masks, here)
    found: Array = (masks & ~(present | bits_of(gone))) != 0
    return found


def groups(masks: Array, lanes: Array) -> Iterator[tuple[int, Array]]:
    """Yield each mask with its lanes; the lanes of a warp with equal masks execute together."""
    if masks.size == 1:
        yield int(masks.item()), lanes
        return
    shape = np.broadcast_shapes(masks.shape, lanes.shape)
    for mask in np.unique(np.broadcast_to(masks, shape)[np.broadcast_to(lanes, shape)]):
        yield int(mask), lanes & (masks == mask)


def _with_same_mask(masks: Array, here: Array) -> Array:
    """Return, as bits, the arrived lanes with the same mask as each lane."""
    if masks.shape[2] == 1:
        return bits_of(here)
    least = np.where(here, masks, np.uint32(0xFFFFFFFF)).min(axis=2)
    most = np.where(here, masks, np.uint32(0)).max(axis=2)
    if (least >= most).all():
        return bits_of(here)
    same = masks[..., :, None] == masks[..., None, :]
    bits = np.where(same & here[..., None, :], LANE_BIT[:, :, None], np.uint32(0))
    found: Array = np.bitwise_or.reduce(bits, axis=3)
    return found
