"""Values of one store to LDS, compared with the bytes they replace and with other lanes' values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.order.equal_values import likeness
from kgen.emulate.llvm.order.lds_record import LdsAccess
from kgen.emulate.llvm.types import Array, LlvmType


class StoredToLds:
    """Raw values of a store, at any shape that broadcasts to [workgroup, lane].

    The race detector's accesses are one per lane: [access].
    """

    def __init__(
        self,
        raw: Array,
        there: Callable[[], Array],
        accesses: LdsAccess,
        shape: tuple[int, int],
        type_: LlvmType | None,
        *,
        apart: bool,
    ) -> None:
        """Keep the values; ``apart`` says that each workgroup has its own row of the tables."""
        self._raw, self._there, self._at = np.broadcast_to(raw, shape), there, accesses
        self._shape, self._type, self._apart = shape, type_, apart

    def like_what_is_there(self) -> Array:
        """Return how alike each lane's value and the bytes that it replaces are: [access]."""
        there = np.broadcast_to(self._there(), self._shape)
        rows, lanes = self._rows(self._at.row[:, 0]), self._at.lane[:, 0]
        return self._least(likeness(self._raw[rows, lanes], there[rows, lanes], self._type))

    def like_that_of(self, mine: Array, other: Array) -> Array:
        """Return how alike the values of accesses ``mine`` and of lanes ``other`` are.

        Lane ``other[i]`` is in the workgroup of access ``mine[i]``.
        """
        rows, lanes = self._rows(self._at.row[mine, 0]), self._at.lane[mine, 0]
        return self._least(likeness(self._raw[rows, lanes], self._raw[rows, other], self._type))

    def _rows(self, row: Array) -> Array | slice:
        """Return the workgroups of each row of the tables: one, or all if there is a single row."""
        return row if self._apart else slice(None)

    @staticmethod
    def _least(found: Array) -> Array:
        """Return the least likeness over the workgroups that share an access."""
        return np.asarray(found.min(axis=0)) if found.ndim == 2 else found
