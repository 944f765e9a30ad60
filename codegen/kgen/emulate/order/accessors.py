"""Who accessed each place of memory in one way, as far as no later access stands for it.

An access is a tag, an integer above 0 with the time in its high bits: who made it, and what else a
detector wants to know, are below. With each tag goes the source line of the access, or 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.signedinteger]
#: From tags to who made the accesses, and from there to their groups: waves or warps.
Part = Callable[[Array], Array]

#: The log is gone through when it has as many entries, and whenever it has doubled since.
_LARGE = 1 << 16


class AccessLog:
    """Tags of accesses to places, of several lanes that accessed one in no order."""

    def __init__(self, owner: Part, group: Part) -> None:
        self._owner, self._group = owner, group
        self._pieces: list[Array] = []
        self._size, self._limit = 0, _LARGE

    def append(self, place: Array, tag: Array, line: Array | int = 0) -> None:
        """Note what one instruction does. Two lanes of a group stand for the others at their place:
        for any lane that writes there later, one of them is another."""
        if not len(place):
            return
        who = self._owner(tag)
        group = self._group(who)
        order = np.lexsort((who, group, place))
        place, group = place[order], group[order]
        step = (place[1:] != place[:-1]) | (group[1:] != group[:-1])
        keep = np.concatenate([[True], step]) | np.concatenate([step, [True]])
        lines = np.broadcast_to(np.asarray(line, np.int64), tag.shape)
        piece = np.stack([place, tag[order], lines[order]])[:, keep]
        self._pieces.append(piece)
        self._size += piece.shape[1]
        if self._size > self._limit:
            self._compress()

    def about(self, place: Array) -> tuple[Array, Array, Array]:
        """(index into `place`, tag, line) of the entries about some places. Of a place that comes
        several times the first and the last stand for all."""
        if not self._pieces:
            none = np.zeros(0, np.int64)
            return none, none, none
        if len(self._pieces) > 1:
            self._pieces = [np.concatenate(self._pieces, axis=1)]
        places, tags, lines = self._pieces[0]
        order = np.argsort(place, kind="stable")
        ordered = place[order]
        first = np.minimum(np.searchsorted(ordered, places), len(ordered) - 1)
        last = np.maximum(np.searchsorted(ordered, places, "right") - 1, 0)
        found = np.flatnonzero(ordered[first] == places)
        index = np.concatenate([order[first[found]], order[last[found]]])
        return index, np.tile(tags[found], 2), np.tile(lines[found], 2)

    def _compress(self) -> None:
        """Keep only the last access of a lane to a place."""
        whole = np.concatenate(self._pieces, axis=1)
        whole = whole[:, np.lexsort((whole[1], self._owner(whole[1]), whole[0]))]
        place, who = whole[0], self._owner(whole[1])
        step = (place[1:] != place[:-1]) | (who[1:] != who[:-1])
        self._pieces = [whole[:, np.concatenate([step, [True]])]]
        self._size = self._pieces[0].shape[1]
        self._limit = max(_LARGE, 2 * self._size)


class Accessors:
    """`last` [place] as tags, 0 for nobody, and their `lines`. Others are in a log, but for those
    whom the last one stands for: what happened before it happened before all that it happened
    before.
    """

    def __init__(self, places: int, owner: Part, group: Part) -> None:
        # Zeros take memory only where they are touched.
        self.last = np.zeros(places, np.int64)
        self.lines = np.zeros(places, np.int32)
        self._owner, self._log = owner, AccessLog(owner, group)

    def note(
        self,
        place: Array,
        tag: Array,
        before: Callable[[Array, Array], Array],
        line: int = 0,
    ) -> None:
        """Remember accesses; `before` says whether the last ones happened before some of them."""
        last = self.last[place]
        other = np.flatnonzero((last > 0) & (self._owner(last) != self._owner(tag)))
        if other.size:
            other = other[~before(other, last[other])]
            self._log.append(place[other], last[other], self.lines[place[other]])
        self.last[place] = tag
        if line:
            self.lines[place] = line
        lost = self.last[place] != tag
        if lost.any():
            self._log.append(place[lost], tag[lost], line)

    def before_last(self, place: Array) -> tuple[Array, Array, Array]:
        """(index into `place`, tag, line) of all that the log has about places."""
        return self._log.about(place)
