"""Record of the accesses to places of memory, for race detectors: the last one, and unordered ones.

An access is a tag: a positive integer with the time in its high bits. The bits below identify the
lane and whatever else a race detector needs. Each tag is stored with the source line of the access,
or 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.signedinteger]
#: Function from tags to lanes, or from lanes to their groups: waves or warps.
Part = Callable[[Array], Array]

#: Number of entries at which the log is first compressed; later whenever it has doubled since.
_LARGE = 1 << 16


class AccessLog:
    """Log of the accesses to places that several lanes accessed without an order."""

    def __init__(self, owner: Part, group: Part) -> None:
        self._owner, self._group = owner, group
        self._pieces: list[Array] = []
        self._size, self._limit = 0, _LARGE

    def append(self, place: Array, tag: Array, line: Array | int = 0) -> None:
        """Append the accesses of one instruction.

        Of each place and group, only the accesses of the lowest and the highest lane are kept:
        whichever lane writes there later, one of the two is another lane.
        """
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
        """Return (index into `place`, tag, line) of the log entries about the given places.

        If a place occurs several times in `place`, its entries are returned for the first and the
        last occurrence.
        """
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
        """Keep only the last access of each lane to each place."""
        whole = np.concatenate(self._pieces, axis=1)
        whole = whole[:, np.lexsort((whole[1], self._owner(whole[1]), whole[0]))]
        place, who = whole[0], self._owner(whole[1])
        step = (place[1:] != place[:-1]) | (who[1:] != who[:-1])
        self._pieces = [whole[:, np.concatenate([step, [True]])]]
        self._size = self._pieces[0].shape[1]
        self._limit = max(_LARGE, 2 * self._size)


class Accessors:
    """Last access to each place, `last` [place] as a tag (0: none) and `lines` [place], and a log
    of other accesses.

    An access that happens before the last one is not kept: whatever happens after the last one
    happens after it too.
    """

    def __init__(self, places: int, owner: Part, group: Part) -> None:
        # Zero pages take memory only when they are touched.
        self.last = np.zeros(places, np.int64)
        self.lines = np.zeros(places, np.int32)
        self._owner, self._log = owner, AccessLog(owner, group)

    def note(
        self, place: Array, tag: Array, before: Callable[[Array, Array], Array], line: int = 0
    ) -> None:
        """Record accesses. `before(which, last)` returns whether the last accesses `last` happen
        before the new accesses number `which`."""
        last = self.last[place]
        other = np.flatnonzero((last > 0) & (self._owner(last) != self._owner(tag)))
        if other.size:
            other = other[~before(other, last[other])]
            self._log.append(place[other], last[other], self.lines[place[other]])
        self.last[place] = tag
        if line:
            self.lines[place] = line
        lost = self.last[place] != tag
        if np.count_nonzero(lost):
            self._log.append(place[lost], tag[lost], line)

    def before_last(self, place: Array) -> tuple[Array, Array, Array]:
        """Return (index into `place`, tag, line) of all log entries about the given places."""
        return self._log.about(place)
