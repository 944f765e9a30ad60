"""Bytes of A and B that concurrent workgroups read, by the order of block tiles.

Block tiles in one row of the output share rows of A, and those in one column share columns of B.
Workgroups that share an L2 read each shared row once, if they advance at the same pace. With
split-k they are at different depths and share nothing.
"""

from __future__ import annotations

from kgen.schedule import GpuMatmul, SharedMatmul
from kgen.spec import Matmul
from kgen.targets.contraction.grid import block_tiles


def grid(spec: Matmul, schedule: GpuMatmul) -> tuple[int, int, int]:
    """Return the rows and columns of block tiles of one product, and the rows of a group."""
    group = schedule.group_m if isinstance(schedule, SharedMatmul) else 1
    tiles = block_tiles(spec, schedule.block_m, schedule.block_n)
    return tiles.rows, tiles.cols, min(tiles.rows, group)


def device_bytes(spec: Matmul, schedule: GpuMatmul, held: int) -> int:
    """Return the bytes that `held` workgroups read, each byte once."""
    return _bytes(spec, schedule, *_span(spec, schedule, held))


def die_bytes(spec: Matmul, schedule: GpuMatmul, held: int, dies: int) -> int:
    """Return the bytes that `held` workgroups read through the L2 caches of all dies, each byte
    once per die."""
    rows, cols, group = grid(spec, schedule)
    of_die = min(-(-held // dies), rows * cols)
    if dies == 1 or (isinstance(schedule, SharedMatmul) and schedule.num_xcds == dies):
        return dies * _bytes(spec, schedule, *_span(spec, schedule, of_die))
    # A die has every dies-th block tile.
    places = [divmod(number % (rows * cols), group * cols) for number in range(0, held, dies)]
    high = {first * group + within % group for first, within in places}
    wide = {within // group for _, within in places}
    return dies * _bytes(spec, schedule, len(high), len(wide))


def _span(spec: Matmul, schedule: GpuMatmul, held: int) -> tuple[int, int]:
    """Return the rows and columns that `held` block tiles with consecutive numbers cover."""
    rows, cols, group = grid(spec, schedule)
    held = min(held, rows * cols)
    if held <= group * cols:
        return min(group, held), -(-held // group)
    return min(rows, group * -(-held // (group * cols))), cols


def _bytes(spec: Matmul, schedule: GpuMatmul, rows: int, cols: int) -> int:
    elements = rows * min(schedule.block_m, spec.m) + cols * min(schedule.block_n, spec.n)
    return elements * spec.k * spec.dtype.itemsize
