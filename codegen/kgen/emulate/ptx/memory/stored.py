"""Values of a store, compared with memory: unordered writes of equal values leave the same bytes
and are not a race."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.types import Array


class StoredBytes:
    """Bytes [lane of the chunk, unit, byte] that a store writes, and the bytes in memory before
    it."""

    def __init__(
        self, values: Sequence[Array], there: Sequence[Array], shape: tuple[int, ...], unit: int
    ) -> None:
        """Compare values: `values` and `there` have an array of unsigned integers per element of
        the vector, which broadcast to `shape`; a unit has `unit` bytes."""
        values = [mine.astype(old.dtype) for mine, old in zip(values, there, strict=True)]
        self._new, self._old = (_bytes(elements, shape, unit) for elements in (values, there))

    @property
    def units(self) -> int:
        """Units that each lane writes."""
        return int(self._new.shape[1])

    def unchanged(self, lane: Array, unit: Array) -> Array:
        """Return whether units of lanes keep their bytes."""
        found: Array = (self._new[lane, unit] == self._old[lane, unit]).all(axis=-1)
        return found

    def alike(self, lane: Array, unit: Array, other: Array, its: Array) -> Array:
        """Return whether units of lanes get the same bytes as units of other lanes."""
        found: Array = (self._new[lane, unit] == self._new[other, its]).all(axis=-1)
        return found


def last_of(place: Array) -> Array:
    """Return for each entry the index of the last entry with the same place, whose write
    remains."""
    found, first = np.unique(place[::-1], return_index=True)
    last: Array = len(place) - 1 - first[np.searchsorted(found, place)]
    return last


def _bytes(elements: Sequence[Array], shape: tuple[int, ...], unit: int) -> Array:
    whole = np.stack([np.broadcast_to(element, shape).reshape(-1) for element in elements], axis=1)
    found: Array = np.ascontiguousarray(whole).view(np.uint8).reshape(len(whole), -1, unit)
    return found
