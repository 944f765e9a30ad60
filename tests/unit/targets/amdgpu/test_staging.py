"""Copies of tiles to LDS: every element arrives once, from the right address, aligned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.errors import ScheduleError
from kgen.spec import DType
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.plan.lds.tile import LdsTile
from kgen.targets.amdgpu.plan.staging import layout
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.contraction.access import AccessMap, Axis, Digit

TARGETS = {t.name: t for t in FAMILY.targets}
SIZES = st.sampled_from([1, 2, 3, 8, 17, 40, 64, 113, 128])


def make(
    shape: tuple[int, int] = (128, 128),
    block: tuple[int, int] = (64, 32),
    *,
    target: str = "gfx942",
    threads: int = 128,
    transposed: bool = False,
    lds_axis: Axis = "k",
    interleave: int = 1,
    memory: DType = DType.F16,
    gap: int = 0,
    overhang: bool = False,
) -> Staging:
    for_mma = lds_axis == "k"
    row, k = (1, shape[0] + gap) if transposed else (shape[1] + gap, 1)
    access = AccessMap(
        name="a",
        dtype=memory,
        row=(Digit(extent=shape[0], stride=row),),
        k=(Digit(extent=shape[1], stride=k),),
        inner="row" if transposed else "k",
    )
    return layout.make(
        access,
        target=TARGETS[target],
        tile=LdsTile(
            dtype=memory if for_mma else DType.F32,
            stages=2,
            rows=block[0],
            depth=block[1],
            slot_rows=1 if for_mma else 4,
            slot_k=16 // memory.itemsize if for_mma else 1,
            interleave=interleave,
            fragment_rows=16,
        ),
        threads=threads,
        loads=lambda tile: (rows := np.arange(0, block[0], tile.slot_rows)[:32], 0 * rows, 16),
        overhang=overhang,
    )


def arrivals(s: Staging) -> dict[int, tuple[int, int]]:
    """Return a map from LDS element to (row, depth) in the tile, by the template's steps."""
    landed: dict[int, tuple[int, int]] = {}
    for thread in range(s.threads):
        for chunk in s.chunks:
            row, k = s.place(thread + chunk)
            loads = {x.index: x for x in s.loads}
            for store in s.stores:
                at = s.tile.element(row + store.row, k + store.k)
                assert at * s.tile.dtype.itemsize % s.store_type.nbytes == 0
                for i, (load, lane) in enumerate(store.elements):
                    # A load that transposes gives each thread the depths of its row.
                    by_depth = s.fast == "k" or s.transposing_load
                    along = (0, lane) if by_depth else (lane, 0)
                    where = (row + loads[load].row + along[0], k + loads[load].k + along[1])
                    assert at + i not in landed
                    landed[at + i] = where
    return landed


@settings(max_examples=60, deadline=None)
@given(
    rows=SIZES,
    k=SIZES,
    block=st.sampled_from([(16, 16), (64, 32), (48, 16), (128, 16), (256, 64)]),
    threads=st.sampled_from([32, 64, 256]),
    transposed=st.booleans(),
    lds_axis=st.sampled_from(["row", "k"]),
    memory=st.sampled_from([DType.F32, DType.F16]),
    interleave=st.sampled_from([1, 2, 4]),
    target=st.sampled_from(sorted(TARGETS)),
)
def test_every_element_arrives_once_in_its_place(
    rows: int,
    k: int,
    block: tuple[int, int],
    threads: int,
    transposed: bool,
    lds_axis: Axis,
    memory: DType,
    interleave: int,
    target: str,
) -> None:
    if lds_axis == "row" or block[0] % (16 * interleave):
        interleave = 1
    try:
        s = make(
            (rows, k),
            block,
            threads=threads,
            transposed=transposed,
            lds_axis=lds_axis,
            memory=memory,
            interleave=interleave,
            target=target,
        )
    except ScheduleError:
        assert block[0] * block[1] % threads
        return
    landed = arrivals(s)
    assert len(landed) == block[0] * block[1]
    assert all(at == s.tile.element(row, depth) for at, (row, depth) in landed.items())
    assert max(landed) * s.tile.dtype.itemsize < s.tile.nbytes // s.tile.stages


@pytest.mark.parametrize("overhang", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("lds_axis", ["row", "k"])
@pytest.mark.parametrize("shape", [(64, 32), (65, 40), (60, 36), (7, 33), (1, 64), (1, 1)])
def test_no_load_leaves_the_matrix(
    shape: tuple[int, int], lds_axis: Axis, transposed: bool, overhang: bool
) -> None:
    """Accesses of the partial tile stay inside their line; accesses of whole tiles do, or reach
    a line that the partial tile has."""
    s = make(shape, transposed=transposed, lds_axis=lds_axis, overhang=overhang)
    rows, k = shape
    partial = k % s.block_k or (s.block_k if s.overhangs else 0)
    if s.memory_axis == "row":
        assert rows % s.piece == 0
        assert s.last_piece_row + s.piece == rows
        end = (k - partial - 1) * s.k_stride + s.last_row + s.vector
        assert end <= (k - 1) * s.k_stride + rows
        assert overhang or s.last_row + s.vector == rows
    else:
        assert k % s.piece == 0 and not s.overhangs
        assert (k - partial) % s.vector == 0
        assert s.last_row == s.last_piece_row == rows - 1
    assert s.vector % s.piece == 0
    # The last block's clamped loads stay inside: its limit is never below its first row.
    first_row = (shape[0] - 1) // s.block_rows * s.block_rows
    assert min(s.last_row, s.last_piece_row) >= first_row


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("lds_axis", ["row", "k"])
def test_load_offsets_follow_the_strides(lds_axis: Axis, transposed: bool) -> None:
    s = make((65, 67), transposed=transposed, lds_axis=lds_axis, gap=5)
    assert {s.row_stride, s.k_stride} == {1, (65 if transposed else 67) + 5}
    for load in s.loads:
        assert load.offset == load.row * s.row_stride + load.k * s.k_stride
    assert s.slow_stride == max(s.row_stride, s.k_stride)
    assert s.steps(3) == 3 * s.block_k * s.k_stride


def test_far_tiles_need_wide_offsets() -> None:
    assert make().offset_type == "i32"
    assert make(gap=2**27).offset_type == "i64"


def test_rows_that_are_contiguous_twice_are_still_right() -> None:
    """With K = 1, both strides are 1."""
    s = make((64, 1))
    assert (s.memory_axis, s.piece) == ("k", 1)
    assert len(arrivals(s)) == 64 * 32


def test_uneven_shares_name_a_block_that_fits() -> None:
    with pytest.raises(ScheduleError, match="try block_k=64") as error:
        make(block=(16, 16), threads=1024)
    assert "block_m=16" in str(error.value)
    make(block=(16, 64), threads=1024)
