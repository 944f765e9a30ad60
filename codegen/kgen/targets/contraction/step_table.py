"""Table of K-tiles of an operand: the offset of each one's first k, and its filter position.

Kernels read an entry of the table for each K-tile. Where a K-tile spans several filter positions,
each access along a row has an entry.
"""

from __future__ import annotations

from functools import cached_property

from kgen.targets.contraction.access import AccessMap
from kgen.targets.contraction.row_masks import WORD_BITS, RowMasks
from kgen_runtime.values import frozen

WORD_BYTES = 4
#: Entries in a line of the rendered table.
LINE_ENTRIES = 4


@frozen
class StepTable:
    """Table of an operand that is read in K-tiles of `depth` by accesses of `vector` elements.

    An entry is an offset, in units of `unit_bytes`; if rows have `masks`, words with the bit of the
    filter position follow. With `by_sign`, the distance of that bit from the sign of its word
    follows instead, and an entry past the end of k has the sign bit itself. Otherwise, `end` is the
    first word of an entry past the end of k. `tiles` is the number of K-tiles, with those past the
    end. `first_k`, if not 0, is the extent of the first K-tile.
    """

    access: AccessMap
    masks: RowMasks | None
    depth: int
    vector: int
    unit_bytes: int
    tiles: int
    by_sign: bool = False
    end: int = 0
    first_k: int = 0

    @property
    def mask_words(self) -> int:
        return self.masks.words if self.masks else 0

    @property
    def shares_position(self) -> bool:
        """Whether all k of a K-tile have one filter position and exist together."""
        return self.access.run % self.depth == 0

    @property
    def entries_per_tile(self) -> int:
        return 1 if self.shares_position else self.depth // self.vector

    @property
    def entry_words(self) -> int:
        """Number of 32-bit words of an entry, a power of two."""
        return 1 << self.mask_words.bit_length()

    @property
    def entry_bytes(self) -> int:
        return self.entry_words * WORD_BYTES

    @property
    def tile_words(self) -> int:
        """Number of words of the table per K-tile."""
        return self.entry_words * self.entries_per_tile

    @property
    def tile_bytes(self) -> int:
        return self.tile_words * WORD_BYTES

    @cached_property
    def words(self) -> tuple[int, ...]:
        found: list[int] = []
        for tile in range(self.tiles):
            for column in range(self.entries_per_tile):
                entry = self._entry(tile, column * self.vector)
                found += [*entry, *[0] * (self.entry_words - len(entry))]
        return tuple(found)

    def lines(self, form: str) -> tuple[str, ...]:
        """Return the words of the table as signed numbers formatted by `form`, a few entries per
        line."""
        words, step = self.words, self.entry_words * LINE_ENTRIES
        return tuple(
            ", ".join(
                form.format(word if word < 2**31 else word - 2**32) for word in words[i : i + step]
            )
            + ("," if i + step < len(words) else "")
            for i in range(0, len(words), step)
        )

    def _entry(self, tile: int, col: int) -> tuple[int, ...]:
        k = self._k(tile, col)
        if k >= self.access.depth:
            bits = (self.end, *(0,) * (self.mask_words - 1)) if self.masks else ()
            return (0, *bits)
        offset = self.access.offset(0, k) * self.access.dtype.itemsize // self.unit_bytes
        bits = self.masks.bits_of(k) if self.masks else ()
        if self.by_sign:
            return offset, WORD_BITS - bits[0].bit_length()
        return (offset, *bits)

    def _k(self, tile: int, col: int) -> int:
        """Return the k at a column of a K-tile, or the end of k if it does not exist."""
        if not self.first_k:
            return tile * self.depth + col
        if tile:
            return self.first_k + (tile - 1) * self.depth + col
        return col if col < self.first_k else self.access.depth
