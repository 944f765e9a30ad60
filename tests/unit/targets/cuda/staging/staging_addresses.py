"""Shared-memory addresses of a warp's outputs, computed as the templates do."""

from __future__ import annotations

from kgen.targets.cuda.plan.epilogue.staging import EpilogueStaging


def run_address(staging: EpilogueStaging, lane: int, xor: int, shared: int) -> int:
    """Return the address of the lane's first run of adjacent outputs, plus an offset."""
    first = lane // 4 * staging.row_step_bytes + lane % 4 * staging.run_bytes
    return (staging.tile.swizzle(first) ^ xor) + shared


def unit_address(staging: EpilogueStaging, lane: int, xor: int, shared: int) -> int:
    """Return the address of the lane's first unit of a row, plus an offset."""
    row, unit = lane >> staging.units_per_row_log2, lane & staging.unit_mask
    first = row * staging.tile.row_bytes + unit * staging.unit_bytes
    return (staging.tile.swizzle(first) ^ xor) + shared
