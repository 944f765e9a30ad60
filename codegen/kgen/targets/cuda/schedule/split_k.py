"""In how many parts a product's k is worth cutting."""

from __future__ import annotations

import math
from collections.abc import Callable

from kgen.schedule import GpuMatmul, SplitMatmul
from kgen.spec import Matmul
from kgen.targets.base import Candidate, Target
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.cuda.devices import device_of
from kgen.targets.cuda.plan.reduction.k_slices import SplitSchedule

#: How much faster a product in split-k slices must be.
SPLIT_GAIN = 1.1
#: The same of block tiles that CTAs share, where copies do not run on from one to the next.
STREAM_GAIN = 1.08
#: By how much a schedule that parts must be faster than may itself be slower than some.
GAINS = SPLIT_GAIN * STREAM_GAIN
#: Waves of which one more matters.
FEW_WAVES = 8
#: What hides the latency of a few small CTAs that share an SM.
WARPS_PER_SM = 16


def splits(
    spec: Matmul, target: Target, block_m: int, block_n: int, block_k: int, warps: int
) -> list[int]:
    """Split-k slices until each SM has two CTAs, or so many that they have WARPS_PER_SM."""
    if spec.batch_dims is not None:
        return [1]
    blocks = block_tiles(spec, block_m, block_n).total
    ctas = max(2, WARPS_PER_SM // warps) * device_of(target).sms
    return part_counts(blocks, -(-spec.k // block_k), ctas)


def part_counts(blocks: int, tiles: int, ctas: int) -> list[int]:
    """1, and more split-k slices: powers of two, and as many as make `ctas` or half of them; never
    more than take some of the `tiles` each."""
    most = min(tiles, ctas // blocks)
    powers = (1 << i for i in range(1, most.bit_length()))
    wanted = {*powers, ctas // 2 // blocks, most}
    each = {-(-tiles // split) for split in wanted if 1 < split <= most}
    return [1, *sorted(-(-tiles // count) for count in each)]


def ways_to_add(splits: list[int]) -> list[tuple[int, bool]]:
    """Each number of parts, and whether one kernel both multiplies and adds them."""
    return [(split, one) for split in splits for one in (False, True) if split > 1 or not one]


def shared_by(spec: Matmul, tile: GpuMatmul, sms: int) -> list[int]:
    """How many CTAs may share block tiles along k: one or two for each SM, where block tiles fill
    few waves of these, and not the last one."""
    if spec.batch_dims is not None:
        return []
    blocks = block_tiles(spec, tile.block_m, tile.block_n).total
    return [c for c in (sms, 2 * sms) if c < 2 * blocks and blocks < FEW_WAVES * c and blocks % c]


def group_of(rows: int, height: int, width: int, clusters: int) -> int:
    """Rows of tiles to walk together so that those of all clusters at once are about a square."""
    return max(1, min(rows, round(math.sqrt(clusters * width / height))))


def worthwhile(found: list[Candidate[GpuMatmul]]) -> list[Candidate[GpuMatmul]]:
    """Without split-k slices that gain little: they take a workspace, and mostly a second launch.
    The same of block tiles that are shared along k."""
    found = _clearly_faster(found, _shares, STREAM_GAIN)
    return _clearly_faster(found, _is_split, SPLIT_GAIN)


def in_one_part(schedule: GpuMatmul) -> bool:
    """Whether a schedule is worthwhile as it is."""
    return not _shares(schedule) and not _is_split(schedule)


def _shares(schedule: GpuMatmul) -> bool:
    return isinstance(schedule, SplitMatmul) and schedule.stream_k


def _is_split(schedule: GpuMatmul) -> bool:
    return isinstance(schedule, SplitSchedule) and schedule.split_k > 1


def _clearly_faster(
    found: list[Candidate[GpuMatmul]], special: Callable[[GpuMatmul], bool], gain: float
) -> list[Candidate[GpuMatmul]]:
    """Without special ones that are not faster than all others by this factor."""
    limit = min((c.seconds for c in found if not special(c.schedule)), default=math.inf) / gain
    return [c for c in found if not special(c.schedule) or c.seconds < limit]
