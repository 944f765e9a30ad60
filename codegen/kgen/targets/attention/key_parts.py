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
from kgen.spec import Attention, DType
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.batch import BatchTerm
from kgen.targets.contraction.partial_sums import PARTS
from kgen.targets.header import counted
from kgen_runtime.manifest import Launch, Workspace
from kgen_runtime.values import frozen

#: Workspace with the states of rows: maximum and sum, both f32.
STATES, STATE_BYTES = "states", 8
#: What the name of the first kernel ends with.
PARTS_SUFFIX = "_parts"


@frozen
class PartedRows:
    """Results and states of rows in workspaces, a part of the keys after another.

    `matrices` are those of the first kernel.
    """

    matrices: HeadMatrices

    @property
    def heads(self) -> HeadMatrices:
        """Heads of the output."""
        return HeadMatrices(spec=self.matrices.spec)

    @property
    def row_bytes(self) -> int:
        """Bytes of the results of a row."""
        return self.matrices.spec.out_head * DType.F32.itemsize

    @property
    def state_bytes(self) -> int:
        return STATE_BYTES

    def results_at(self, part: int) -> int:
        """Return the bytes from a row's results in the first part to those in another."""
        return part * self.matrices.rows * self.row_bytes

    def state_at(self, part: int) -> int:
        """Return the bytes from a row's state in the first part to that in another."""
        return part * self.matrices.rows * STATE_BYTES

    @property
    def result_terms(self) -> tuple[BatchTerm, ...]:
        """Terms of the address of a head's results."""
        return self.heads.terms(head_strides(self.matrices, self.row_bytes))

    @property
    def state_terms(self) -> tuple[BatchTerm, ...]:
        """Terms of the address of a head's states."""
        return self.heads.terms(head_strides(self.matrices, STATE_BYTES))

    @property
    def workspaces(self) -> tuple[Workspace, ...]:
        rows = self.matrices.count * self.matrices.rows
        return (
            Workspace(name=PARTS, nbytes=rows * self.row_bytes),
            Workspace(name=STATES, nbytes=rows * STATE_BYTES),
        )

    def first_launch(self, launch: Launch) -> Launch:
        """Return the launch of the first kernel, which stores results in a workspace."""
        arguments = tuple(PARTS if name == "out" else name for name in launch.arguments)
        tile = launch.tile
        if tile is not None:
            # Workgroups compute a tile of the output together.
            count, *shape = tile.shape
            parts = self.matrices.parts
            tile = dataclasses.replace(tile, shape=(count // parts, *shape), parts=parts)
        return dataclasses.replace(launch, arguments=arguments, tile=tile)


def with_states(launch: Launch, matrices: HeadMatrices) -> Launch:
    """Return a launch that stores the states of rows instead of `lse`, if keys are divided."""
    if not matrices.is_split:
        return launch
    names = (name for name in launch.arguments if name != "lse")
    return dataclasses.replace(
        launch, entry_point=launch.entry_point + PARTS_SUFFIX, arguments=(*names, STATES)
    )


def softmax_notes(
    matrices: HeadMatrices, *, blocks: int, block_n: int, is_counted: bool, resident: str
) -> tuple[str, ...]:
    """Return comments on the softmax over `blocks` of keys; the `resident` values stay in
    registers."""
    split = f"keys divided into {matrices.parts} parts, results of each in workspaces"
    return (
        *((split,) if matrices.is_split else ()),
        f"online softmax over {'up to ' * is_counted}{counted(blocks, 'block')} of {block_n} "
        f"keys; {resident} stay in registers",
    )


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
