"""Numbers of split-k slices and of stream-k CTAs that are worth ranking."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from kgen.schedule import GpuMatmul, MmaAttention, Schedule, SplitMatmul
from kgen.spec import Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.cuda.devices import device_of
from kgen.targets.cuda.plan.reduction.k_slices import SplitSchedule

S = TypeVar("S", bound=Schedule)

#: Least predicted gain of split-k.
SPLIT_GAIN = 1.1
#: Least predicted gain of stream-k, if copies do not run on from one block tile to the next.
STREAM_GAIN = 1.08
#: A schedule without slices that takes more than this factor times the fastest one's time is not
#: chosen, whatever the other candidates are.
GAINS = SPLIT_GAIN * STREAM_GAIN
#: Number of waves above which a partial wave does not matter.
FEW_WAVES = 8
#: Warps per SM that hide the latency of small CTAs.
WARPS_PER_SM = 16


def splits(
    spec: Matmul, target: Target, block_m: int, block_n: int, block_k: int, warps: int
) -> list[int]:
    """Return numbers of split-k slices, up to two CTAs per SM, or up to WARPS_PER_SM warps."""
    if spec.batch_dims is not None:
        return [1]
    blocks = block_tiles(spec, block_m, block_n).total
    ctas = max(2, WARPS_PER_SM // warps) * device_of(target).sms
    return part_counts(blocks, -(-spec.k // block_k), ctas)


def part_counts(blocks: int, tiles: int, ctas: int) -> list[int]:
    """Return 1 and larger numbers of split-k slices: powers of two, and those that give `ctas` CTAs
    or half of them. Every slice has at least one of the `tiles`."""
    most = min(tiles, ctas // blocks)
    powers = (1 << i for i in range(1, most.bit_length()))
    wanted = {*powers, ctas // 2 // blocks, most}
    each = {-(-tiles // split) for split in wanted if 1 < split <= most}
    return [1, *sorted(-(-tiles // count) for count in each)]


def ways_to_add(splits: list[int]) -> list[tuple[int, bool]]:
    """Return pairs: a number of slices, and whether one kernel both multiplies and adds them."""
    return [(split, one) for split in splits for one in (False, True) if split > 1 or not one]


def shared_by(spec: Matmul, tile: GpuMatmul, sms: int) -> list[int]:
    """Return numbers of CTAs that may share block tiles along k: one or two per SM, if block tiles
    fill few waves of them and the last wave is partial."""
    if spec.batch_dims is not None:
        return []
    blocks = block_tiles(spec, tile.block_m, tile.block_n).total
    return [c for c in (sms, 2 * sms) if c < 2 * blocks and blocks < FEW_WAVES * c and blocks % c]


def group_of(rows: int, height: int, width: int, clusters: int) -> int:
    """Return group_m such that the block tiles of all clusters that run at once are nearly a
    square."""
    return max(1, min(rows, round(math.sqrt(clusters * width / height))))


def worthwhile(found: list[Candidate[S]]) -> list[Candidate[S]]:
    """Return the candidates without split-k or stream-k schedules that gain little: those need a
    workspace, and split-k mostly needs a second launch."""
    found = _clearly_faster(found, _shares, STREAM_GAIN)
    return _clearly_faster(found, _is_split, SPLIT_GAIN)


def in_one_part(schedule: GpuMatmul) -> bool:
    """Return whether a schedule uses neither split-k nor stream-k."""
    return not _shares(schedule) and not _is_split(schedule)


def _shares(schedule: Schedule) -> bool:
    return isinstance(schedule, SplitMatmul) and schedule.stream_k


def _is_split(schedule: Schedule) -> bool:
    return isinstance(schedule, SplitSchedule | MmaAttention) and schedule.split_k > 1


def _clearly_faster(
    found: list[Candidate[S]], special: Callable[[S], bool], gain: float
) -> list[Candidate[S]]:
    """Return the candidates; a special one is left out unless it is faster than all others by the
    factor `gain`."""
    limit = min((c.seconds for c in found if not special(c.schedule)), default=math.inf) / gain
    return [c for c in found if not special(c.schedule) or c.seconds < limit]
