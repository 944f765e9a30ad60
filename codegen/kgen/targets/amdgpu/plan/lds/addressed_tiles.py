"""MMA tiles of an operand whose addresses in LDS are computed; others are at a constant distance.

A swizzle by position permutes each tile differently. A swizzle by line repeats above its mask.
"""

from __future__ import annotations

from kgen.targets.amdgpu.plan.lds.tile import Swizzle


def addressed(swizzle: Swizzle, tiles: tuple[int, ...]) -> tuple[int, ...]:
    """Return the tiles whose addresses are computed, of those that begin at these positions."""
    if swizzle.position_mask:
        return tiles
    return tuple(first for first in tiles if first <= swizzle.line_mask) or tiles[:1]


def place(swizzle: Swizzle, tiles: tuple[int, ...], tile: int) -> tuple[int, int]:
    """Return the number of the tile with a computed address from which `tile` is at a constant
    distance, and that distance in slots."""
    number = tile % len(addressed(swizzle, tiles))
    return number, tiles[tile] - tiles[number]
