"""Helpers for many lanes at once: active addresses, turns at shared places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def settle(address: Array, mask: Array | None) -> Array:
    """Addresses whose inactive lanes hold the address of an active one, so that any is valid."""
    if mask is None:
        return address
    shape = np.broadcast_shapes(address.shape, mask.shape)
    lanes = np.broadcast_to(mask, shape)
    everywhere = np.broadcast_to(address, shape)
    some = everywhere[np.unravel_index(int(lanes.argmax()), shape)]
    return np.where(lanes, everywhere, some)


def in_order(places: Array) -> tuple[Array, Array]:
    """(lanes by place, those of one place in their order; where in it each one's place begins)"""
    order = np.argsort(places, kind="stable")
    by_place = places[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = by_place[1:] != by_place[:-1]
    return order, np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))


def turns(places: Array) -> Iterator[Array]:
    """Index arrays that together are all lanes; each holds a place at most once, and lanes of one
    place come in order."""
    order, start = in_order(places)
    turn = np.arange(len(order)) - start
    by_turn = order[np.argsort(turn, kind="stable")]
    yield from np.split(by_turn, np.cumsum(np.bincount(turn))[:-1])
