"""Stream-k by mma.sync: the launch, K-tiles, refusals, and fields that it turns off."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kgen.errors import ScheduleError
from kgen.pipeline import plan as make_plan
from kgen.schedule import SplitMatmul
from kgen.spec import Epilogue, Matmul
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.mma.matmul import MmaPlan
from kgen.targets.cuda.schedule.candidates import candidates, choose
from kgen.targets.cuda.schedule.split_k import STREAM_GAIN

SM_80 = {target.name: target for target in TARGETS}["sm_80"]
SCHEDULE = SplitMatmul(
    block_m=64,
    block_n=32,
    block_k=32,
    num_stages=3,
    warp_m=32,
    warp_n=16,
    num_workgroups=10,
    group_m=3,
    stream_k=True,
)


def planned(**fields: Any) -> MmaPlan:
    sizes: dict[str, Any] = {"m": 200, "n": 100, "k": 500, "epilogue": (Epilogue.BIAS,)}
    plan = make_plan(Matmul(**(sizes | fields)), SM_80, SCHEDULE)
    assert isinstance(plan, MmaPlan)
    return plan


def test_launch_and_workspaces() -> None:
    """Each CTA has a part and a flag; there is a ticket, with room for it in shared memory."""
    plan = planned()
    (launch,) = plan.launches
    assert (launch.grid, launch.block) == ((10, 1, 1), (128, 1, 1))
    assert launch.arguments == ("a", "b", "bias", "out", "parts", "tickets")
    walk = launch.tile.walk if launch.tile is not None else None
    assert walk is not None and (walk.group, walk.shared, walk.steps) == (3, 16, 16)
    parts, tickets = plan.workspaces
    assert (parts.nbytes, parts.initial) == (10 * 64 * 32 * 4, "any")
    assert (tickets.nbytes, tickets.initial) == (4 + 10 * 4, "zero")
    assert plan.ticket_at == plan.pipeline.nbytes == plan.shared_bytes - 16


def test_a_cta_can_begin_with_any_tile() -> None:
    plan = planned()
    assert plan.pipeline.counted and plan.part_k == 0
    for operand in plan.operands:
        assert operand.copy.part_k == 32 and operand.copy.first_k == 0
        assert operand.copy.later_k_edge
    assert not any(operand.copy.later_k_edge for operand in planned(k=512).operands)


def test_overrides_turn_off_what_cannot_be_beside_them() -> None:
    alone = SCHEDULE.override(stream_k=0)
    assert (alone.num_workgroups, alone.group_m, alone.stream_k) == (0, 1, False)
    cut = SCHEDULE.override(split_k=4)
    assert (cut.split_k, cut.num_workgroups, cut.stream_k) == (4, 0, False)
    shared = cut.override(one_kernel=1).override(stream_k=1, num_workgroups=10)
    assert (shared.split_k, shared.one_kernel, shared.stream_k) == (1, False, True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"num_workgroups": 0},
            "stream_k=1 shares K-tiles among persistent CTAs, and num_workgroups is 0; "
            "try num_workgroups=132",
        ),
        (
            {"split_k": 2, "stream_k": 1, "num_workgroups": 10},
            "stream_k=1 shares all of K, and split_k=2 cuts K into slices; try split_k=1",
        ),
        (
            {"num_workgroups": 300},
            "num_workgroups=300 is more than the 256 K-tiles of all block tiles; "
            "try num_workgroups=256",
        ),
        (
            {"stream_k": 0, "num_workgroups": 10},
            "num_workgroups=10 and group_m=1 need stream_k=1, where "
            "persistent CTAs share block tiles; try "
            "num_workgroups=0,group_m=1",
        ),
        (
            {"stream_k": 0, "group_m": 4},
            "num_workgroups=0 and group_m=4 need stream_k=1, where "
            "persistent CTAs share block tiles; try "
            "num_workgroups=0,group_m=1",
        ),
    ],
)
def test_refusals(fields: dict[str, int], message: str) -> None:
    spec = Matmul(m=200, n=100, k=500)
    with pytest.raises(ScheduleError, match=re.escape(message)):
        make_plan(spec, SM_80, SCHEDULE.override(**fields))


def test_the_model_takes_it_where_waves_are_ragged() -> None:
    """Stream-k is chosen for 256 block tiles on 108 SMs, and not for full waves, few or many
    block tiles."""
    ragged = Matmul(m=2048, n=2048, k=2048)
    ranked = candidates(ragged, SM_80)
    best = ranked[0].schedule
    assert isinstance(best, SplitMatmul) and best.stream_k and best.num_workgroups == 108
    other = next(c for c in ranked if not getattr(c.schedule, "stream_k", False))
    assert 0.8 * other.seconds < ranked[0].seconds < other.seconds / STREAM_GAIN
    assert ranked[0].terms["reduction"] > 0
    for m, n, k in ((8192, 8192, 8192), (256, 256, 256), (128 * 108, 128, 4096)):
        chosen = choose(Matmul(m=m, n=n, k=k), SM_80)
        assert isinstance(chosen, SplitMatmul) and not chosen.stream_k, (m, n, k)


def test_no_cta_that_shares_waits_for_another_to_end() -> None:
    """The GPU runs all CTAs at once."""
    for candidate in candidates(Matmul(m=1536, n=3072, k=4096), SM_80):
        schedule = candidate.schedule
        if isinstance(schedule, SplitMatmul) and schedule.stream_k:
            per_sm = candidate.notes["CTAs/SM"]
            assert isinstance(per_sm, int) and schedule.num_workgroups <= 108 * per_sm
