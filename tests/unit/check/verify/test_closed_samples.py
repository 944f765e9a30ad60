"""Samples of workgroups that share pieces of the output: the sample has every workgroup that one
of them needs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from kgen import pipeline, targets
from kgen.check.verify import sampling, walk
from kgen.check.verify.sampling import Sample
from kgen.schedule import SplitMatmul, WgmmaMatmul
from kgen.spec import Matmul
from kgen_runtime.manifest import KernelEntry, TargetEntry, Tile

EntryFor = Callable[..., KernelEntry]


def planned(
    entry_for: EntryFor, spec: Matmul, target: str, schedule: SplitMatmul | WgmmaMatmul
) -> KernelEntry:
    found = targets.find(target)
    plan = pipeline.plan(spec, found, schedule)
    by_hand = TargetEntry(name=found.name, family=found.family, arch=found.arch)
    return replace(entry_for(spec), target=by_hand, launches=plan.launches)


def split(
    entry_for: EntryFor, m: int, n: int, batch: int, parts: int, one_kernel: bool = False
) -> KernelEntry:
    schedule = SplitMatmul(
        block_m=32,
        block_n=32,
        block_k=32,
        warp_m=16,
        warp_n=16,
        num_stages=2,
        split_k=parts,
        one_kernel=one_kernel,
    )
    return planned(entry_for, Matmul(m=m, n=n, k=512, batch=batch), "sm_80", schedule)


def covered(
    sample: Sample, shape: tuple[int, ...]
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    count = np.zeros(shape, np.int64)
    for box in sample.boxes:
        count[box] += 1
    return count


def of_tile(tile: Tile, workgroup: tuple[int, int, int]) -> tuple[slice, ...]:
    """Return the part of the tile, in its own shape, that a workgroup writes or contributes to."""
    return tuple(slice(*ends) for ends in sampling.written(tile, workgroup))


@pytest.mark.parametrize(
    ("m", "n", "batch", "parts"), [(620, 64, 1, 4), (290, 37, 3, 3), (161, 200, 2, 2)]
)
@pytest.mark.parametrize("budget", [1, 40, 90])
def test_all_parts_of_what_is_added_up_are_in_the_sample(
    entry_for: EntryFor, m: int, n: int, batch: int, parts: int, budget: int
) -> None:
    entry = split(entry_for, m, n, batch, parts)
    sample = sampling.sample(entry, budget, seed=3)
    assert sample is not None
    made, added = (np.zeros((batch, m, n), np.int64) for _ in range(2))
    for launch, count, workgroups in zip(
        entry.launches, (made, added), sample.workgroups, strict=True
    ):
        assert launch.tile is not None and len(workgroups) < np.prod(launch.grid)
        for workgroup in workgroups:
            count.reshape(launch.tile.shape)[of_tile(launch.tile, workgroup)] += 1
    assert set(np.unique(made)) == {0, parts}
    assert (made[added > 0] == parts).all()
    assert np.array_equal(added, covered(sample, (batch, m, n)))
    corners = itertools.product((0, -1), (0, -1), (0, -1))
    assert all(added[at] for at in corners)


@pytest.mark.parametrize("budget", [1, 40])
def test_all_parts_are_there_for_the_last_to_come(entry_for: EntryFor, budget: int) -> None:
    entry = split(entry_for, 290, 200, 2, 3, one_kernel=True)
    sample = sampling.sample(entry, budget, seed=3)
    (launch,) = entry.launches
    assert sample is not None and launch.tile is not None
    made = np.zeros((2, 290, 200), np.int64)
    (workgroups,) = sample.workgroups
    for workgroup in workgroups:
        made[of_tile(launch.tile, workgroup)] += 1
    assert np.array_equal(made, 3 * covered(sample, made.shape))
    assert all(made[at] for at in itertools.product((0, -1), (0, -1), (0, -1)))


def test_a_product_in_parts_runs_whole_if_the_budget_allows_it(entry_for: EntryFor) -> None:
    entry = split(entry_for, 300, 64, 1, 4)
    assert sampling.sample(entry, 80, seed=0) is None
    assert sampling.uncovered(entry.launches[0]) is None


def test_launches_that_do_not_say_what_they_need_run_whole(entry_for: EntryFor) -> None:
    entry = split(entry_for, 300, 64, 1, 4)
    first, last = entry.launches
    unsaid = replace(first, tile=None), replace(last, tile=None)
    for launches in ((first, unsaid[1]), (unsaid[0], last), (last, first)):
        assert sampling.sample(replace(entry, launches=launches), 1, seed=0) is None


def stream(entry_for: EntryFor, m: int, n: int, k: int, ctas: int) -> KernelEntry:
    schedule = WgmmaMatmul(
        block_m=64,
        block_n=64,
        block_k=64,
        num_stages=2,
        consumers=1,
        num_workgroups=ctas,
        stream_k=True,
    )
    return planned(entry_for, Matmul(m=m, n=n, k=k), "sm_90a", schedule)


#: More CTAs than pieces, fewer, whole waves, and steps that none divides.
STREAMS = [(64, 128, 512, 7), (320, 320, 320, 8), (640, 640, 128, 9), (192, 64, 448, 5)]


@pytest.mark.parametrize(("m", "n", "k", "ctas"), STREAMS)
def test_every_piece_has_one_writer(entry_for: EntryFor, m: int, n: int, k: int, ctas: int) -> None:
    launch = stream(entry_for, m, n, k, ctas).launches[0]
    assert launch.tile is not None
    written = [b for i in range(ctas) for b in walk.written(launch, launch.tile, (i, 0, 0))]
    assert len(written) == len(set(written)) == np.prod(walk.counts(launch.tile))


@pytest.mark.parametrize(("m", "n", "k", "ctas"), STREAMS)
def test_whoever_is_waited_for_is_in_the_sample(
    entry_for: EntryFor, m: int, n: int, k: int, ctas: int
) -> None:
    """The sample has every contribution to a piece that it writes."""
    entry = stream(entry_for, m, n, k, ctas)
    (launch,) = entry.launches
    assert launch.tile is not None and launch.tile.walk is not None
    plan = launch.tile.walk
    takes = [
        range(*(walk.begin(launch, plan, number) for number in (i, i + 1))) for i in range(ctas)
    ]
    for budget in range(1, ctas):
        sample = sampling.sample(entry, budget, seed=0)
        if sample is None:
            continue
        count = len(sample.workgroups[0])
        assert budget <= count < ctas
        assert sample.boxes
        numbers = range(ctas - count, ctas)
        boxes = {b for i in numbers for b in walk.written(launch, launch.tile, (i, 0, 0))}
        assert {tuple((s.start, s.stop) for s in box) for box in sample.boxes} == boxes
        for piece in range(plan.shared):
            steps = range(piece * plan.steps, (piece + 1) * plan.steps)
            who = {i for i in range(ctas) if set(steps) & set(takes[i])}
            if min(who) in numbers:
                assert who <= set(numbers)
