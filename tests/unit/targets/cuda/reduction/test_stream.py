"""Stream-k by warpgroups: workspaces, the launch, the choice, refusals."""

from __future__ import annotations

import re

import pytest

from kgen.errors import ScheduleError
from kgen.schedule import WgmmaMatmul
from kgen.spec import Matmul
from kgen.targets.cuda.limits import TARGETS
from kgen.targets.cuda.plan.wgmma.matmul import plan_wgmma
from kgen.targets.cuda.schedule.candidates import candidates, choose

SM_90A = {target.name: target for target in TARGETS}["sm_90a"]
SCHEDULE = WgmmaMatmul(
    block_m=64, block_n=64, block_k=64, num_stages=3, consumers=1, num_workgroups=132, stream_k=True
)


def test_workspaces_and_launch() -> None:
    planned = plan_wgmma(Matmul(m=64 * 144, n=64, k=640), SM_90A, SCHEDULE)
    (launch,) = planned.launches
    assert launch.grid == (132, 1, 1)
    assert launch.arguments == ("a_map", "b_map", "out", "parts", "tickets")
    parts, tickets = planned.workspaces
    assert (parts.nbytes, parts.initial) == (132 * 64 * 64 * 4, "any")
    assert (tickets.nbytes, tickets.initial) == (4 + 132 * 4, "zero")


def test_the_model_takes_it_for_a_wave_and_a_little() -> None:
    """144 block tiles of 128 x 256 take two waves, and little more than one if they are shared."""
    spec = Matmul(m=1536, n=3072, k=4096)
    best = choose(spec, SM_90A)
    assert isinstance(best, WgmmaMatmul) and best.stream_k
    ranked = candidates(spec, SM_90A)
    other = next(c for c in ranked if not getattr(c.schedule, "stream_k", False))
    assert 0.6 * other.seconds < ranked[0].seconds < 0.9 * other.seconds
    assert ranked[0].terms["reduction"] > 0
    for m, n, k in ((4096, 4096, 4096), (2048, 2048, 2048), (1000, 1000, 1000)):
        square = choose(Matmul(m=m, n=n, k=k), SM_90A)
        assert isinstance(square, WgmmaMatmul) and not square.stream_k


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"num_workgroups": 0},
            "stream_k=1 shares K-tiles among persistent CTAs, and num_workgroups is 0; "
            "try num_workgroups=132",
        ),
        ({"cluster_m": 2, "block_n": 128}, "try pingpong=0,cluster_m=1,cluster_n=1,split_k=1"),
        ({"consumers": 2, "pingpong": 1}, "try pingpong=0,cluster_m=1,cluster_n=1,split_k=1"),
        (
            {"num_workgroups": 1441},
            "num_workgroups=1441 is more than the 1440 K-tiles of all block tiles; "
            "try num_workgroups=1440",
        ),
    ],
)
def test_refusals(fields: dict[str, int], message: str) -> None:
    spec = Matmul(m=64 * 144, n=64, k=640)
    with pytest.raises(ScheduleError, match=re.escape(message)):
        plan_wgmma(spec, SM_90A, SCHEDULE.override(**fields))
