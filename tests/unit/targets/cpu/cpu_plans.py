"""Plans and schedules of CPU kernels, for tests."""

from __future__ import annotations

from kgen import pipeline, targets
from kgen.schedule import BlockedMatmul, Schedule
from kgen.spec import Matmul, Spec
from kgen.targets.base import Plan
from kgen.targets.cpu.schedule.cost_model import best


def plan(spec: Spec, target: str, schedule: Schedule | None = None) -> Plan:
    """Return the plan of a schedule, or of the chosen one."""
    return pipeline.plan(spec, targets.find(target), schedule)


def best_of(spec: Matmul, target: str, mainloop: str, **fixed: int) -> BlockedMatmul:
    """Return the best legal schedule of a main loop that has these fields."""
    found = best(spec, targets.find(target), fixed, mainloop)
    assert found is not None
    return found
