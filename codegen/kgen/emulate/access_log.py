"""Accesses to memory that no later access stands for: what race detectors must remember of several
lanes that read one place, or change it atomically, in no order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.signedinteger]

#: The log is gone through when it has as many entries, and whenever it has doubled since.
_LARGE = 1 << 16


class AccessLog:
    """Entries of a place in memory, who accessed it, and when."""

    def __init__(self) -> None:
        self._pieces: list[Array] = []
        self._size, self._limit = 0, _LARGE

    def append(self, place: Array, who: Array, group: Array, when: Array) -> None:
        """Note what one instruction does. Two lanes of a ``group``, a wave or warp, stand for the
        others at their place: for any lane that writes there later, one of them is another."""
        if not len(place):
            return
        order = np.lexsort((who, group, place))
        place, group = place[order], group[order]
        step = (place[1:] != place[:-1]) | (group[1:] != group[:-1])
        keep = np.concatenate([[True], step]) | np.concatenate([step, [True]])
        piece = np.stack([place, who[order], when[order]])[:, keep]
        self._pieces.append(piece)
        self._size += piece.shape[1]
        if self._size > self._limit:
            self._compress()

    def about(self, place: Array) -> tuple[Array, Array, Array]:
        """(index into ``place``, who, when) of the entries about some places. Of a place that
        comes several times the first and the last stand for all."""
        if not self._pieces:
            none = np.zeros(0, np.int64)
            return none, none, none
        if len(self._pieces) > 1:
            self._pieces = [np.concatenate(self._pieces, axis=1)]
        places, who, when = self._pieces[0]
        order = np.argsort(place, kind="stable")
        ordered = place[order]
        first = np.minimum(np.searchsorted(ordered, places), len(ordered) - 1)
        last = np.maximum(np.searchsorted(ordered, places, "right") - 1, 0)
        found = np.flatnonzero(ordered[first] == places)
        index = np.concatenate([order[first[found]], order[last[found]]])
        return index, np.tile(who[found], 2), np.tile(when[found], 2)

    def _compress(self) -> None:
        """Of what one lane did to a place only the last matters."""
        whole = np.concatenate(self._pieces, axis=1)
        place, who, _ = whole = whole[:, np.lexsort((whole[2], whole[1], whole[0]))]
        step = (place[1:] != place[:-1]) | (who[1:] != who[:-1])
        self._pieces = [whole[:, np.concatenate([step, [True]])]]
        self._size = self._pieces[0].shape[1]
        self._limit = max(_LARGE, 2 * self._size)
