"""The values of one store to LDS, beside what is there and what other lanes store."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.order.equal_values import likeness
from kgen.emulate.llvm.order.lds_record import LdsAccess
from kgen.emulate.llvm.types import Array, LlvmType


class StoredToLds:
    """Raw values of a store at any broadcast shape of [workgroup, lane].

    The accesses are [lane, granule].
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
        """``apart`` says that each workgroup has its own row of the tables."""
        self._raw, self._there, self._at = np.broadcast_to(raw, shape), there, accesses
        self._shape, self._type, self._apart = shape, type_, apart

    def like_what_is_there(self) -> Array:
        """[access]: the likeness of each lane's value to the bytes that it replaces."""
        there = np.broadcast_to(self._there(), self._shape)
        rows, lanes = self._rows(self._at.row[:, 0]), self._at.lane[:, 0]
        return self._least(likeness(self._raw[rows, lanes], there[rows, lanes], self._type))

    def like_that_of(self, mine: Array, other: Array) -> Array:
        """The likeness of the values of some accesses to those of other lanes of their rows."""
        rows, lanes = self._rows(self._at.row[mine, 0]), self._at.lane[mine, 0]
        return self._least(likeness(self._raw[rows, lanes], self._raw[rows, other], self._type))

    def _rows(self, row: Array) -> Array | slice:
        """The workgroups of rows of the tables: all of them, where one row stands for all."""
        return row if self._apart else slice(None)

    @staticmethod
    def _least(found: Array) -> Array:
        """Least likeness over all workgroups that an access stands for."""
        return np.asarray(found.min(axis=0)) if found.ndim == 2 else found
