"""In-place outputs: a kernel's output reuses the memory of an input that dies at that kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kgen.graph.in_place import in_place
from kgen.graph.lowering.calls import Lowered
from kgen.graph.memory import Life

if TYPE_CHECKING:
    from kgen.targets.base import Plan


def reusable_parameters(plan: Plan) -> frozenset[str]:
    """Return the names of a kernel's parameters whose memory its output may reuse."""
    outputs = [p for p in plan.parameters if p.is_output]
    inputs = [p for p in plan.parameters if not p.is_output]
    spec, schedule = plan.operation.to_json(), plan.schedule.to_json()
    return in_place(spec, inputs, outputs, plan.launches, schedule)


def together(
    lowered: Lowered, plans: Mapping[int, Plan], lives: Mapping[str, Life]
) -> tuple[dict[str, Life], dict[str, str]]:
    """Merge the live ranges of buffers that share memory.

    Returns the merged ranges by the name of the first buffer that owns the memory, and that name
    for every buffer.
    """
    owner = {name: name for name in lives}
    #: Parameters whose memory an output may reuse, by the plan's id. Many calls share a plan.
    known: dict[int, frozenset[str]] = {}
    found = dict(lives)
    for number, call in enumerate(lowered.calls):
        made, *more = call.writes
        made = lowered.memory_of(made)
        if more or call.writes_behind_start or made not in lives or lives[made].first != number:
            continue
        plan = plans[number]
        names = known[id(plan)] if id(plan) in known else reusable_parameters(plan)
        known[id(plan)] = names
        for name, binding in call.bindings.items():
            under = lowered.memory_of(binding.buffer)
            users = [n for n, b in call.bindings.items() if lowered.memory_of(b.buffer) == under]
            if (
                under in lives
                and lives[under].last == number
                and lives[under].nbytes == lives[made].nbytes
                and not binding.offset
                and users == [name]
                and name in names
            ):
                first = owner[under]
                owner[made] = first
                found[first] = Life(
                    nbytes=found[first].nbytes, first=found[first].first, last=lives[made].last
                )
                del found[made]
                break
    return found, owner
