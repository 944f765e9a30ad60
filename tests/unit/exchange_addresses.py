"""Where the lanes of a warp put and take outputs in shared memory, as the templates compute it."""

from __future__ import annotations

from kgen.targets.cuda.plan.epilogue.staging import Exchange


def run_address(exchange: Exchange, lane: int, xor: int, shared: int) -> int:
    """The lane's first run of neighbouring outputs, moved."""
    first = lane // 4 * exchange.row_step_bytes + lane % 4 * exchange.run_bytes
    return (exchange.tile.swizzle(first) ^ xor) + shared


def unit_address(exchange: Exchange, lane: int, xor: int, shared: int) -> int:
    """The lane's first unit of a row, moved."""
    row, unit = lane >> exchange.units_per_row_log2, lane & exchange.unit_mask
    first = row * exchange.tile.row_bytes + unit * exchange.unit_bytes
    return (exchange.tile.swizzle(first) ^ xor) + shared
