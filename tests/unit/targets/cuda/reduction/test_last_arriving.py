"""Split-k in one kernel: parts have separate memory, and are added once and in order."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import pytest

from kgen.errors import ScheduleError
from kgen.pipeline import plan as make_plan
from kgen.schedule import SplitFmaMatmul, SplitMatmul
from kgen.spec import DType, Epilogue, Matmul
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.matmul_fma import FmaPlan
from kgen.targets.cuda.plan.mma.matmul import MmaPlan
from kgen.targets.cuda.plan.reduction.last_arriving import (
    HELD,
    ON_THEIR_WAY,
    LastArriving,
    PartSums,
    is_last_arriving,
)
from kgen.targets.cuda.schedule.candidates import candidates, choose

BY_NAME = {target.name: target for target in TARGETS}
SM_80 = BY_NAME["sm_80"]
SCHEDULE = SplitMatmul(
    block_m=64,
    block_n=32,
    block_k=32,
    num_stages=3,
    warp_m=32,
    warp_n=16,
    split_k=4,
    one_kernel=True,
)
FMA = SplitFmaMatmul(
    block_m=32,
    block_n=32,
    block_k=16,
    num_stages=2,
    thread_m=4,
    thread_n=2,
    split_k=4,
    one_kernel=True,
)


def last_arriving(k: int = 4096, **fields: int) -> LastArriving:
    plan = make_plan(Matmul(m=64, n=64, k=k), SM_80, SCHEDULE.override(**fields))
    assert isinstance(plan, MmaPlan) and plan.last_arriving is not None
    return plan.last_arriving


def test_launch_and_workspaces() -> None:
    """The launch computes all parts; each block tile has a counter and parts of whole tiles."""
    spec = Matmul(m=100, n=200, k=512, batch=3, beta=1.0, epilogue=(Epilogue.BIAS,))
    plan = make_plan(spec, SM_80, SCHEDULE)
    (launch,) = plan.launches
    assert (launch.grid, launch.entry_point) == ((7, 2, 12), spec.key)
    assert launch.arguments == ("a", "b", "c", "bias", "out", "parts", "arrivals")
    assert launch.tile is not None and (launch.tile.parts, launch.tile.shape[0]) == (4, 3)
    parts, arrivals = plan.workspaces
    assert (parts.nbytes, parts.initial) == (7 * 2 * 3 * 4 * 64 * 32 * 4, "any")
    assert (arrivals.nbytes, arrivals.initial) == (7 * 2 * 3 * 4, "zero")


@pytest.mark.parametrize("schedule", [SCHEDULE, FMA], ids=["mma", "fma"])
def test_outputs_are_the_products(schedule: SplitMatmul | SplitFmaMatmul) -> None:
    """Slices are multiplied, and the whole product is stored."""
    dtype = DType.F32 if schedule is FMA else DType.F16
    spec = Matmul(m=64, n=64, k=500, dtype=dtype, epilogue=(Epilogue.RELU,))
    plan = make_plan(spec, SM_80, schedule)
    assert isinstance(plan, MmaPlan | FmaPlan)
    assert (plan.spec, plan.output.spec) == (spec, spec)
    assert plan.part_k == plan.pipeline.k_tiles * schedule.block_k == 128
    assert plan.split == schedule.split_k


def numbers(found: LastArriving, groups: Sequence[Sequence[PartSums]]) -> list[int]:
    """Return the parts that are added to every sum, in order; all sums agree."""
    added: dict[str, list[int]] = {name: [] for name in found.sums.names}
    for part in itertools.chain.from_iterable(groups):
        for name, register in zip(part.sums, part.registers, strict=True):
            number, _, place = register.removeprefix("part").partition("_")
            assert name == f"acc_{place}"
            added[name].append(int(number))
        numbers = {access.offset // found.sums.nbytes for access in part.accesses}
        assert numbers == {int(number)}
    (order,) = {tuple(found) for found in added.values()}
    return list(order)


@pytest.mark.parametrize("split", [2, 5, 8, 9, 16, 17, 31])
@pytest.mark.parametrize("warps", [(16, 16), (32, 16), (64, 32), (64, 64)])
def test_all_parts_are_added_once_and_in_order(split: int, warps: tuple[int, int]) -> None:
    high, wide = warps
    found = last_arriving(k=64 * split, block_n=64, warp_m=high, warp_n=wide, split_k=split)
    size = found.sums.nbytes
    order = [0, *numbers(found, found.first_groups)]
    each = numbers(found, found.groups)
    at = found.first_bytes // size
    for _ in range(found.turns):
        order += [at + part for part in each]
        at += found.turn_bytes // size
    assert order == list(range(split))
    assert found.block_bytes == split * size
    held = len(found.sums.names)
    for group in (*found.first_groups, *found.groups):
        waiting = sum(len(part.registers) for part in group)
        assert waiting <= ON_THEIR_WAY and held + waiting <= HELD


def test_threads_have_places_of_their_own() -> None:
    sums = last_arriving().sums
    places = [
        access.offset + thread * sums.thread_bytes + 4 * i
        for access in sums.accesses
        for thread in range(sums.threads)
        for i in range(len(access.registers))
    ]
    assert sorted(places) == list(range(0, sums.nbytes, 4))
    assert sums.nbytes == 64 * 32 * 4


def test_one_part_needs_nobody_to_add_it() -> None:
    whole = SCHEDULE.override(split_k=1)
    assert not whole.one_kernel
    plan = make_plan(Matmul(m=64, n=64, k=512), SM_80, whole)
    assert isinstance(plan, MmaPlan) and plan.last_arriving is None and not plan.workspaces


@pytest.mark.parametrize("name", ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_120"])
def test_the_model_takes_it_where_outputs_are_few(name: str) -> None:
    """A single kernel saves a launch; for many outputs, one SM would have too many parts to add."""
    few = candidates(Matmul(m=64, n=64, k=8192), BY_NAME[name])
    other = next(c for c in few if not getattr(c.schedule, "one_kernel", False))
    assert is_last_arriving(few[0].schedule)
    assert 0.8 * other.seconds < few[0].seconds < 0.95 * other.seconds
    many = choose(Matmul(m=512, n=512, k=8192), BY_NAME[name])
    assert not is_last_arriving(many)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"split_k": 1, "one_kernel": 1},
            "one_kernel=1 adds the slices of split-k, and split_k=1 makes none",
        ),
        (
            {"split_k": 200},
            "split_k=200 leaves slices of k=4096 empty: 128 K-tiles of "
            "block_k=32, 1 to a slice, fill 128; try split_k=128",
        ),
    ],
)
def test_refusals(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        last_arriving(**fields)
