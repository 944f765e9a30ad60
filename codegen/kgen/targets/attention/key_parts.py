"""Parts of the keys that workgroups divide, and the state of a row that a second kernel combines.

A workgroup attends to its part of the keys. It stores the result of each row, and the row's state:
the maximum of its scores, and the sum of its weights relative to that maximum. The second kernel
multiplies the results by the sums, all of them relative to the largest maximum, and divides by the
whole sum. T. Dao et al., Flash-Decoding for long-context inference, 2023.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import MmaAttention, Schedule
from kgen.spec import Attention
from kgen.targets.attention.head_matrices import HeadMatrices

#: Workspace with the states of rows: maximum and sum, both f32.
STATES, STATE_BYTES = "states", 8
#: What the name of the first kernel ends with.
PARTS_SUFFIX = "_parts"


def matrices_of(spec: Attention, schedule: Schedule) -> HeadMatrices:
    """Return the matrices of a schedule, once for each part of the keys."""
    if not isinstance(schedule, MmaAttention):
        return HeadMatrices(spec=spec)
    return HeadMatrices(spec=spec, packs_heads=schedule.packs_heads, parts=schedule.split_k)


def keys_of_part(spec: Attention, schedule: MmaAttention) -> int:
    """Return the most keys of a part, in whole blocks."""
    return -(-spec.keys // (schedule.block_n * schedule.split_k)) * schedule.block_n


def check_parts(spec: Attention, schedule: MmaAttention) -> None:
    """Check that every part of the keys can have a block. Raises ScheduleError."""
    blocks = -(-spec.keys // schedule.block_n)
    each = -(-blocks // schedule.split_k)
    filled = -(-blocks // each)
    if schedule.split_k > filled:
        raise ScheduleError(
            f"split_k={schedule.split_k} leaves parts of {spec.keys} keys empty: {blocks} blocks "
            f"of block_n={schedule.block_n}, {each} to a part, fill {filled}; try split_k={filled}"
        )
