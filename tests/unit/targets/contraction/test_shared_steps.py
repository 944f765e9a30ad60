"""Stream-k and split-k: every step has one workgroup, and shares are equal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.errors import ScheduleError
from kgen.spec import DType
from kgen.targets.amdgpu.plan.matmul.shared_k import Shares
from kgen.targets.contraction.partial_sums import PartialSums
from kgen.targets.contraction.shared_steps import SharedSteps
from kgen.targets.cuda.plan.reduction.stream_k import StreamK

SUMS = PartialSums(names=("acc0", "acc1", "acc2", "acc3"), dtype=DType.F32, threads=32)


def shared(waits: bool, blocks: int, block_steps: int, workgroups: int) -> SharedSteps:
    """Return the shares of a family whose workgroups wait for one another, or do not."""
    fields: dict[str, Any] = {
        "blocks": blocks,
        "block_steps": block_steps,
        "workgroups": workgroups,
        "holders": 1,
        "sums": SUMS,
    }
    return StreamK(**fields) if waits else Shares(**fields, step_tiles=2, accumulators=("acc",))


def steps_of(found: SharedSteps, number: int) -> list[int]:
    """Return the steps of a workgroup in its order: its share, then whole block tiles."""
    steps = [*range(found.begin(number), found.begin(number + 1))]
    for block in range(found.cut_blocks + number, found.blocks, found.workgroups):
        steps += range(block * found.block_steps, (block + 1) * found.block_steps)
    return steps


@given(st.booleans(), st.integers(1, 60), st.integers(1, 7), st.data())
@settings(deadline=None)
def test_every_step_has_one_workgroup(
    waits: bool, blocks: int, block_steps: int, data: st.DataObject
) -> None:
    workgroups = data.draw(st.integers(1, blocks * block_steps))
    found = shared(waits, blocks, block_steps, workgroups)
    steps = [steps_of(found, number) for number in range(workgroups)]
    assert sorted(step for each in steps for step in each) == [*range(blocks * block_steps)]
    lengths = [len(each) for each in steps]
    assert max(lengths) - min(lengths) <= 1
    assert found.has_whole == (found.cut_blocks < blocks)
    if blocks >= workgroups:
        shortest = min(found.begin(i + 1) - found.begin(i) for i in range(workgroups))
        assert shortest >= block_steps or not waits
        assert found.cut_blocks <= (2 * workgroups - 1 if waits else workgroups)


@given(st.integers(1, 60), st.integers(1, 7), st.data())
@settings(deadline=None)
def test_no_slot_for_a_part_is_written_twice(
    blocks: int, block_steps: int, data: st.DataObject
) -> None:
    """A CTA stores one part, of the block tile in which its share begins. A workgroup that waits
    for no other stores one more, of its last block tile."""
    workgroups = data.draw(st.integers(1, blocks * block_steps))
    for waits, slots in ((True, 1), (False, 2)):
        found = shared(waits, blocks, block_steps, workgroups)
        for number in range(workgroups):
            begin, end = found.begin(number), found.begin(number + 1)
            touched = {step // block_steps for step in range(begin, end)}
            parts = {
                block
                for block in touched
                if not begin <= block * block_steps <= (block + 1) * block_steps <= end
            }
            left = {block for block in parts if not waits or block * block_steps < begin}
            assert len(left) <= slots


@pytest.mark.parametrize(("waits", "cut"), [(True, [7, 5, 8, 15, 15]), (False, [3, 5, 1, 15, 15])])
def test_the_remainder_of_a_wave_is_shared(waits: bool, cut: list[int]) -> None:
    """There are 15 block tiles for 4 to 29 workgroups; those that wait share one wave more."""
    found = [shared(waits, 15, 4, workgroups).cut_blocks for workgroups in (4, 5, 7, 15, 29)]
    assert found == cut


def test_steps_beyond_32_bits_are_refused() -> None:
    with pytest.raises(ScheduleError, match=r"stream_k=1 with 65600000 K-tiles .* try stream_k=0$"):
        shared(True, 65600, 1000, 132).check("stream_k=1", "stream_k=0")
    shared(True, 31000, 1000, 132).check("stream_k=1", "stream_k=0")
