"""Distribution of an output over workgroups, so that all CUs have work and L2 is used.

- order of block tiles: groups of rows, or neighbours on one die, whichever moves the fewest bytes
  into L2
- split-k, if there are fewer block tiles than workgroups that the device holds
- stream-k, if the last round of workgroups would leave CUs without work
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kgen.schedule import SharedMatmul
from kgen.spec import Matmul
from kgen.targets.amdgpu import matrix
from kgen.targets.amdgpu.devices import device_of
from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.matmul.shared_k import step_tiles
from kgen.targets.amdgpu.schedule import traffic
from kgen.targets.base import Target
from kgen.targets.contraction.access import access_maps
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.contraction.shared_steps import fits_32_bits

#: Candidates for the rows of block tiles in a group.
GROUPS = (1, 2, 4, 8, 16)
SPLITS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
#: Part of CUs with work above which no other distribution is tried.
FULL = 0.95
#: Largest ratio of bytes at which another order is worthwhile.
WORTH = 0.95


def filled(
    spec: Matmul, target: Target, schedule: SharedMatmul, per_unit: float
) -> Iterator[SharedMatmul]:
    """Yield the schedule in the best order of block tiles, and with shares of K where they may pay.

    A CU holds `per_unit` workgroups.
    """
    device = device_of(target)
    blocks = block_tiles(spec, schedule.block_m, schedule.block_n).total
    slots = max(1, int(per_unit * device.units))
    ordered = _ordered(spec, target, schedule, blocks, slots)
    yield ordered
    if not _cuts(spec, target, schedule):
        return
    steps = spec.k // (schedule.block_k * step_tiles(schedule))
    if blocks < slots:
        splits = (split for split in SPLITS if split <= steps and blocks * split <= 2 * slots)
        yield from (dataclasses.replace(ordered, split_k=split) for split in splits)
    per_wave = -(-blocks // device.units)
    uneven = blocks < FULL * device.units * per_wave
    if uneven and slots <= blocks * steps and fits_32_bits(blocks, steps, slots):
        yield dataclasses.replace(ordered, num_workgroups=slots, stream_k=True)


def _ordered(
    spec: Matmul, target: Target, schedule: SharedMatmul, blocks: int, slots: int
) -> SharedMatmul:
    """Return the schedule in the order that moves the fewest bytes into L2, if most CUs have block
    tiles."""
    device = device_of(target)
    threads = schedule.num_warps * target.subgroup
    if 2 * blocks < device.units or blocks * threads > target.limits["grid_threads"]:
        return schedule
    held = min(blocks, slots)

    def nbytes(tried: SharedMatmul) -> int:
        return traffic.die_bytes(spec, tried, held, device.dies)

    rows = block_tiles(spec, schedule.block_m, schedule.block_n).rows
    orders = [
        dataclasses.replace(schedule, group_m=group, num_xcds=dies)
        for dies in dict.fromkeys((1, device.dies))
        for group in GROUPS
        if group <= rows
    ]
    best = min(orders, key=nbytes)
    return best if nbytes(best) < WORTH * nbytes(schedule) else schedule


def _cuts(spec: Matmul, target: Target, schedule: SharedMatmul) -> bool:
    """Return whether workgroups can share K: it has whole steps and no partial K-tile."""
    if matrix.instructions_of(spec, target)[0].by_lane:
        return False
    vector = WIDEST // spec.dtype.itemsize
    whole = all(access.run % vector == 0 for access in access_maps(spec) if access.inner == "row")
    return whole and spec.k % (schedule.block_k * step_tiles(schedule)) == 0
