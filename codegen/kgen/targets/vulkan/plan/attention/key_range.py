"""Range of keys that a query attends to, and that the queries of a workgroup attend to."""

from __future__ import annotations

from kgen.spec import Attention
from kgen_runtime.values import frozen


@frozen
class KeyRange:
    """Ranges of keys, as ids of type uint, without their %.

    `length_place` is the id of the index in `kv_length` at which the number of keys is.
    """

    spec: Attention
    block_q: int
    block_k: int
    length_place: str

    @property
    def length(self) -> str:
        """Id of the number of keys."""
        return "length" if self.spec.kv_length else f"uint_{self.spec.keys}"

    @property
    def last_key(self) -> str:
        """Id of the last key, if there is one."""
        return "last_key" if self.spec.kv_length else f"uint_{self.spec.keys - 1}"

    @property
    def to_window(self) -> str:
        """Id of the distance from a position to the first key of its window, modulo 2^32."""
        assert self.spec.window is not None
        return f"uint_0x{(1 - self.spec.window) % 2**32:x}" if self.spec.window > 1 else "uint_0"

    @property
    def block_mask(self) -> str:
        """Id of the mask that gives the first key of a key's block."""
        return f"uint_0x{-self.block_k % 2**32:x}"

    @property
    def to_last_row(self) -> int:
        """Distance from a block's first row to its last."""
        return self.block_q - 1

    @property
    def last_query(self) -> int:
        return self.spec.queries - 1

    @property
    def has_groups(self) -> bool:
        """Whether a block may have queries of several heads."""
        return self.spec.group > 1

    @property
    def first_key(self) -> str:
        """Id of the first key of the first block."""
        return "first_key" if self.spec.has_window else "uint_0"

    @property
    def end_key(self) -> str:
        """Id of the end of the keys that some query of the block attends to."""
        return "end_key" if self.spec.limits_keys else self.length

    @property
    def keys_end_inside(self) -> bool:
        """Whether keys can end inside a block."""
        return self.spec.kv_length or self.spec.keys % self.block_k != 0

    @property
    def counts_steps(self) -> bool:
        """Whether the values of some keys of a block may not be read."""
        return self.keys_end_inside or self.spec.limits_keys

    @property
    def block_steps(self) -> str:
        """Id of the number of a block's keys whose values are read."""
        return "steps" if self.counts_steps else f"uint_{self.block_k}"
