"""Range of keys that a warp's queries attend to, limited by position and by key length."""

from __future__ import annotations

from kgen.spec import Attention
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen


@frozen
class KeyLimits:
    """Key range of a warp with `warp_m` queries; at most `blocks` blocks of `block_n` keys."""

    spec: Attention
    warp_m: int
    block_n: int
    blocks: int
    #: Whether the last key can lie inside a block.
    keys_end_inside: bool

    @classmethod
    def of_rows(cls, matrices: HeadMatrices, warp_m: int, block_n: int) -> KeyLimits:
        """Return the range of a warp with `warp_m` rows of a matrix of queries."""
        spec = matrices.spec
        return cls(
            spec=spec,
            warp_m=spec.queries if matrices.divides_rows else warp_m,
            block_n=block_n,
            blocks=-(-spec.keys // block_n),
            keys_end_inside=spec.kv_length or spec.keys % block_n > 0,
        )

    @property
    def last_reach(self) -> int:
        """Offset of the end of the last query's keys from the position after that query."""
        return self.spec.reach - 1

    @property
    def last_start(self) -> int:
        """Offset of the first key of a warp's last row from the position of its first row."""
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
        """Mask that rounds a key's number down to the first key of its block."""
        return -self.block_n
