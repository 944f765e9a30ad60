"""Keys that queries attend to, by position and by length."""

from __future__ import annotations

from kgen.spec import Attention
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen


@frozen
class KeyLimits:
    """Limits of the keys of a warp's `warp_m` queries, in at most `blocks` blocks of `block_n`."""

    spec: Attention
    warp_m: int
    block_n: int
    blocks: int
    #: Whether keys can end inside a block.
    keys_end_inside: bool

    @property
    def last_reach(self) -> int:
        """Distance from the position behind the last query to the end of its keys."""
        return self.spec.reach - 1

    @property
    def last_start(self) -> int:
        """Distance from the position of a warp's first row to the first key of its last row."""
        return self.warp_m - 1 - self.spec.window_before

    @property
    def masks_positions(self) -> bool:
        return self.spec.limits_keys or self.keys_end_inside

    @property
    def last_block(self) -> int:
        """First key of the last block."""
        return (self.blocks - 1) * self.block_n

    @property
    def block_n_log2(self) -> int:
        return log2(self.block_n)

    @property
    def block_round(self) -> int:
        return self.block_n - 1

    @property
    def block_mask(self) -> int:
        return -self.block_n
