"""Remedies for schedules that do not fit: found quickly, and they work."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule import Schedule
from kgen.spec import Matmul, Spec
from kgen.targets.base import Target


@pytest.mark.parametrize("overrides", [{"block_m": 100}, {"num_stages": 90}], ids=str)
def test_candidates_are_ranked_once(
    overrides: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranking takes most of the planning time, and is not repeated for each value."""
    spec, target = Matmul(m=64, n=64, k=8192), targets.find("sm_80")
    ranked: list[Spec] = []
    family = targets.family("cuda")
    choose = family.choose

    def counted(spec: Spec, target: Target) -> Schedule:
        ranked.append(spec)
        return choose(spec, target)

    monkeypatch.setattr(family, "choose", counted)
    with pytest.raises(ScheduleError) as refused:
        pipeline.plan_with(spec, target, overrides)
    assert ranked == [spec]
    advice = re.search(r"; try (\w+)=(\d+)$", str(refused.value))
    assert advice is not None
    pipeline.plan_with(spec, target, overrides | {advice[1]: int(advice[2])})
