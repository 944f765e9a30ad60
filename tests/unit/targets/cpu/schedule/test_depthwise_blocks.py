"""Blocks of depthwise convolutions that the cost model chooses, and prefetches of their tasks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import CpuDepthwise
from kgen.spec import Conv2d
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.depthwise import DepthwisePlan
from kgen.targets.cpu.schedule import depthwise_blocks

V3, V4 = "x86-64-v3", "x86-64-v4"


def depthwise(channels: int, sizes: tuple[int, ...], *kernel: int, **fields: Any) -> Conv2d:
    given: dict[str, Any] = {
        "dtype": "f32",
        "groups": channels,
        "weight_layout": "hwio",
        "padding": "same",
    } | fields
    return Conv2d(input=(1, channels, *sizes), weights=(channels, 1, *kernel), **given)


def chosen(conv: Conv2d, target: str) -> CpuDepthwise:
    schedule = FAMILY.choose(conv, targets.find(target))
    assert isinstance(schedule, CpuDepthwise)
    return schedule


def planned(conv: Conv2d, **fields: int) -> DepthwisePlan:
    plan = pipeline.plan_with(conv, targets.find(V3), fields)
    assert isinstance(plan, DepthwisePlan)
    return plan


@pytest.mark.parametrize(
    ("channels", "size", "blocks"),
    # Whole rows fit in the first image; others need parts of the columns, of the channels, or both.
    [(32, 14, ""), (64, 112, "columns"), (240, 14, "channels"), (288, 56, "columns channels")],
)
def test_blocks_keep_the_rows_of_the_kernel_in_l1(channels: int, size: int, blocks: str) -> None:
    schedule = chosen(depthwise(channels, (size, size), 3, 3), V3)
    fields = {"columns": schedule.columns, "channels": schedule.channels}
    assert " ".join(name for name, value in fields.items() if value) == blocks
    columns, of_block = schedule.columns or size, schedule.channels or channels
    # Three rows that are read, and one that is prefetched, with an element at each end.
    nbytes = 4 * (columns + 2) * of_block * 4
    assert nbytes < targets.find(V3).limits["l1_bytes"]


@pytest.mark.parametrize("target", [V3, V4])
@pytest.mark.parametrize(
    ("channels", "size", "kernel", "dtype"),
    [(960, 7, 3, "s8"), (576, 14, 5, "s8"), (960, 7, 5, "f32"), (96, 56, 7, "f32")],
)
def test_two_threads_share_the_blocks(
    target: str, channels: int, size: int, kernel: int, dtype: str
) -> None:
    """No thread computes much more than half, whatever the last blocks are."""
    conv = depthwise(channels, (size, size), kernel, kernel, dtype=dtype)
    schedule = chosen(conv, target)
    extents = (size, size, channels)
    parts = (schedule.task, schedule.columns or size, schedule.channels or channels)
    cuts = [
        [min(part, extent - at) for at in range(0, extent, part)]
        for extent, part in zip(extents, parts, strict=True)
    ]
    threads = [0, 0]
    for block in itertools.product(*cuts):
        threads[threads.index(min(threads))] += math.prod(block)
    assert max(threads) / sum(threads) < 0.6


@pytest.mark.parametrize(
    ("sizes", "kernel", "fields"),
    [
        ((9, 23), (3, 3), {}),
        ((9, 23), (5, 4), {"stride": (1, 2)}),
        ((17, 23), (3, 3), {"stride": 2}),
        ((17, 23), (3, 3), {"dilation": (1, 3)}),
        ((17, 23), (3, 2), {"dilation": 2, "stride": (2, 1)}),
        ((17, 23), (2, 2), {"stride": 3, "padding": 0}),
        ((5, 9, 11), (3, 3, 3), {}),
    ],
)
def test_tasks_prefetch_what_no_row_before_reads(
    sizes: tuple[int, ...], kernel: tuple[int, ...], fields: dict[str, Any]
) -> None:
    """A row of the output prefetches its elements, by the definition of a convolution, except
    those that earlier outputs read."""
    conv = depthwise(8, sizes, *kernel, **fields)
    *outer, width = conv.out_sizes
    plan = planned(conv, tile=4, prefetch=1)
    strides = [math.prod(sizes[axis + 1 :]) * 32 for axis in range(len(sizes))]

    def window(*output: int) -> set[tuple[int, ...]]:
        axes = (
            [at * step - before + place * apart for place in range(count)]
            for at, step, (before, _), count, apart in zip(
                output, conv.strides, conv.pads, conv.kernel, conv.dilations, strict=True
            )
        )
        return set(itertools.product(*axes))

    def first(*output: int) -> int:
        starts = map(min, zip(*window(*output), strict=True))
        return sum(start * stride for start, stride in zip(starts, strides, strict=True))

    row = [extent // 2 for extent in outer]
    below = (*row[:-1], row[-1] + 1)
    before = itertools.product(*(range(-20, n + 1) for n in below), range(-20, width))
    seen = set().union(*(window(*each) for each in before if each[:-1] != below))
    for tile in plan.tiles:
        outputs = range(tile.first, tile.first + tile.count)
        behind = set().union(*(window(*below, x) for x in range(-20, tile.first)))
        new = set().union(*(window(*below, x) for x in outputs)) - behind - seen
        addresses = {sum(at * s for at, s in zip(each, strides, strict=True)) for each in new}
        start = first(*row, tile.first)
        assert {start + offset for offset in plan.fetched(tile)} == addresses


def test_only_images_with_rows_are_prefetched() -> None:
    line, wide = depthwise(64, (900,), 5), depthwise(64, (1, 900), 1, 5)
    assert chosen(line, V3).prefetch == chosen(wide, V3).prefetch == 0
    assert chosen(depthwise(64, (2, 900), 1, 5), V3).prefetch == 1
    assert not any(map(planned(line).fetched, planned(line).tiles))
    with pytest.raises(ScheduleError, match="prefetch=2 needs rows, and the images have one axis"):
        planned(line, prefetch=2)


def test_threads_share_an_image_of_one_row() -> None:
    plan = planned(depthwise(64, (9000,), 5))
    assert plan.launches[-1].grid[0] >= 2


def test_given_fields_are_kept() -> None:
    conv = depthwise(64, (14, 14), 3, 3)
    given = {"tile": 5, "columns": 10, "channels": 24, "task": 3, "prefetch": 2}
    for name, value in given.items():
        least = {"tile": 5} if name == "columns" else {}
        assert getattr(planned(conv, **least, **{name: value}).schedule, name) == value
    assert {name: getattr(planned(conv, **given).schedule, name) for name in given} == given


def test_candidates_are_ranked_and_predicted_alone() -> None:
    conv, target = depthwise(240, (28, 28), 5, 5), targets.find(V4)
    found = FAMILY.candidates(conv, target)
    assert found[0].schedule == FAMILY.choose(conv, target) and len(found) > 5
    assert len({each.schedule for each in found}) == len(found)
    for each in found:
        assert isinstance(each.schedule, CpuDepthwise)
        assert FAMILY.predicted(conv, target, each.schedule) == each
    whole = depthwise_blocks.predicted(conv, target, CpuDepthwise(task=28, tile=14))
    assert whole.terms["rows"] > found[0].terms["rows"] and whole.seconds > found[0].seconds
