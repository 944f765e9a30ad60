"""First-fit allocator of ranges in a block of memory."""

from __future__ import annotations

from bisect import bisect_left


class FreeRanges:
    """Free ranges of a block in ascending order; adjacent ranges are merged."""

    def __init__(self, nbytes: int) -> None:
        self._starts, self._ends = [0], [nbytes]
        self._whole = nbytes

    @property
    def is_whole(self) -> bool:
        """Whether no range of the block is taken."""
        return self._starts == [0] and self._ends == [self._whole]

    def take(self, nbytes: int) -> int | None:
        """Take `nbytes` from the first free range that is large enough; return its start, or
        None."""
        for i, start in enumerate(self._starts):
            if self._ends[i] - start >= nbytes:
                self._starts[i] = start + nbytes
                if self._starts[i] == self._ends[i]:
                    del self._starts[i], self._ends[i]
                return start
        return None

    def give(self, start: int, nbytes: int) -> None:
        """Free a range that was taken."""
        end = start + nbytes
        at = bisect_left(self._starts, start)
        follows = at > 0 and self._ends[at - 1] == start
        precedes = at < len(self._starts) and self._starts[at] == end
        if follows and precedes:
            self._ends[at - 1] = self._ends[at]
            del self._starts[at], self._ends[at]
        elif follows:
            self._ends[at - 1] = end
        elif precedes:
            self._starts[at] = start
        else:
            self._starts.insert(at, start)
            self._ends.insert(at, end)
