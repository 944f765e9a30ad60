"""Parts of the keys that workgroups divide, and the state of a row that a second kernel combines.

A workgroup attends to its part of the keys. It stores the result of each row, and the row's state:
the maximum of its scores, and the sum of its weights relative to that maximum. The second kernel
multiplies the results by the sums, all of them relative to the largest maximum, and divides by the
whole sum. T. Dao et al., Flash-Decoding for long-context inference, 2023.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import MmaAttention, Schedule
from kgen.spec import Attention
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen_runtime.manifest import Tile

#: Workspace with the states of rows: maximum and sum, both f32.
STATES, STATE_BYTES = "states", 8
#: What the name of the first kernel ends with.
PARTS_SUFFIX = "_parts"


def matrices_of(spec: Attention, schedule: Schedule) -> HeadMatrices:
    """Return the matrices of a schedule, once for each part of the keys."""
    if not isinstance(schedule, MmaAttention):
        return HeadMatrices(spec=spec)
    return HeadMatrices(spec=spec, packs_heads=schedule.packs_heads, parts=schedule.split_k)


def packing_fills_blocks(spec: Attention, block_m: int) -> bool:
    """Return whether the queries of all heads of a K/V head need fewer blocks together."""
    packed, of_head = (-(-n // block_m) for n in (spec.group * spec.queries, spec.queries))
    return packed < spec.group * of_head


def keys_of_part(spec: Attention, schedule: MmaAttention) -> int:
    """Return the most keys of a part, in whole blocks."""
    return -(-spec.keys // (schedule.block_n * schedule.split_k)) * schedule.block_n


def head_strides(parted: HeadMatrices, row_bytes: int) -> dict[str, int]:
    """Return the distances of heads in a workspace whose rows have `row_bytes`, by dimension."""
    spec, found = parted.spec, parted.packed_strides(parted.rows * row_bytes)
    kv_heads = found.get("kv_head", parted.parts * parted.rows * row_bytes)
    packed = {"in_group": spec.queries * row_bytes} if parted.packs_heads else {}
    return {"batch": kv_heads * spec.kv_heads, "kv_head": kv_heads} | found | packed


def split_tile(tile: Tile | None, parts: int) -> Tile | None:
    """Return the tile of the first kernel, whose workgroups compute it together."""
    if tile is None:
        return None
    count, *shape = tile.shape
    return dataclasses.replace(tile, shape=(count // parts, *shape), parts=parts)


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
