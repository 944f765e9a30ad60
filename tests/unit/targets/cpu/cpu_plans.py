"""The plan of a spec on a CPU, for tests."""

from __future__ import annotations

import dataclasses

from kgen.schedule import Schedule
from kgen.spec import Spec
from kgen.targets.base import Plan
from kgen.targets.cpu import FAMILY


def plan(
    spec: Spec, target: str, schedule: Schedule | None = None, *, core: str | None = None
) -> Plan:
    """By the schedule that the heuristics choose, on that core, where none is given."""
    found = FAMILY.find(target)
    assert found is not None
    found = dataclasses.replace(found, device=core or found.device)
    return FAMILY.plan(spec, found, schedule or FAMILY.choose(spec, found))
