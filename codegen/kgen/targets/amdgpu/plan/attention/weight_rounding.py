"""Rounding of a tile's weights to 16 bits."""

from __future__ import annotations

from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen_runtime.values import frozen


@frozen
class WeightRounding:
    """Rounding of the `registers` of a lane in a tile of scores. With `in_words`, arithmetic on
    their bits rounds to bf16."""

    registers: int
    in_words: bool

    @property
    def half_of_last_place(self) -> int:
        """Bits of an f32 that are half a unit in the last place of bf16."""
        return 1 << 15

    @property
    def high_halves(self) -> int:
        return Staging.HIGH_HALVES

    @property
    def score_words(self) -> str:
        """IR type of a tile's scores as 32-bit words."""
        return f"<{self.registers} x i32>"

    @property
    def tile_words(self) -> str:
        """IR type of a tile's rounded weights as 32-bit words."""
        return f"<{self.registers // 2} x i32>"

    @property
    def pairs(self) -> tuple[tuple[int, int, int], ...]:
        """Words of rounded weights, with the registers that they are made of."""
        return tuple((n, 2 * n, 2 * n + 1) for n in range(self.registers // 2))
