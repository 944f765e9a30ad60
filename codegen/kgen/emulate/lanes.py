"""Addresses of inactive lanes, and serialisation of lanes that access the same address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def settle(address: Array, mask: Array | None) -> Array:
    """Return addresses in which inactive lanes have the address of an active one, so that all are
    valid."""
    if mask is None:
        return address
    shape = np.broadcast_shapes(address.shape, mask.shape)
    lanes = np.broadcast_to(mask, shape)
    everywhere = np.broadcast_to(address, shape)
    some = everywhere[np.unravel_index(int(lanes.argmax()), shape)]
    return np.where(lanes, everywhere, some)


def in_order(places: Array) -> tuple[Array, Array]:
    """Return the lanes in the order of their places, and an array of positions in that order.

    Lanes of one place keep their order. The second array has, for each lane, the position of the
    first lane with the same place.
    """
    order = np.argsort(places, kind="stable")
    by_place = places[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = by_place[1:] != by_place[:-1]
    return order, np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))


def turns(places: Array) -> Iterator[Array]:
    """Yield arrays of lanes with different places, which can access them at once.

    Each lane is in one of the arrays. The lanes of a place are in successive arrays, in order.
    """
    order, start = in_order(places)
    turn = np.arange(len(order)) - start
    by_turn = order[np.argsort(turn, kind="stable")]
    yield from np.split(by_turn, np.cumsum(np.bincount(turn))[:-1])
