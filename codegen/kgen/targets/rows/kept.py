"""Which values of a row's elements are kept from phase to phase: those that cost more to compute
than to store and to load.

Each lies in a slot, which has a float for every element of the row. A slot is free again after the
last phase that reads it, and one value may take another's place element by element.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kgen.ops import Expression, steps
from kgen.ops import Primitive as P
from kgen.targets.rows.folds_and_phases import RowPhase
from kgen.targets.rows.plan import RowPlan
from kgen_runtime.values import frozen

#: They take as long as a dozen others; calls are of exponentials.
EXPENSIVE = frozenset({P.CALL, P.EXP2, P.LOG2, P.DIV, P.SQRT, P.RSQRT, P.RECIPROCAL})


@frozen
class Kept:
    """Value that phase number `phase` stores, and later ones read."""

    step: Expression
    phase: int
    slot: int


def kept_values(row: RowPlan, slots: int) -> tuple[Kept, ...]:
    """Return the values that phases keep for later phases, at most `slots` of them."""
    found: dict[Expression, Kept] = {}
    for phase in row.phases:
        later = row.phases[phase.number + 1 :]
        for step in _shared(row, phase, later, found.keys()):
            known = {*found, step}
            read = _values_read(row, later, known)
            taken = {kept.slot for kept in found.values() if kept.step in read}
            free = [slot for slot in range(slots) if slot not in taken]
            if free:
                found[step] = Kept(step=step, phase=phase.number, slot=free[0])
    return tuple(found.values())


def _shared(
    row: RowPlan, phase: RowPhase, later: Sequence[RowPhase], known: Collection[Expression]
) -> list[Expression]:
    """Return the expensive values that a phase computes and a later one would compute again."""
    here = row.elements(phase.wanted, known)
    # What is relative to an extreme as it is so far is another value later.
    running = {fold.step for fold in phase.folds}
    for step in steps(*here):
        if not running.isdisjoint(step.arguments):
            running.add(step)
    expensive: set[Expression] = set()
    for step in here:
        if step.primitive in EXPENSIVE or not expensive.isdisjoint(step.arguments):
            expensive.add(step)
    read = _values_read(row, later, {*known, *here})
    return [
        step
        for step in here
        if not step.truth and step not in running and step in expensive and step in read
    ]


def _values_read(
    row: RowPlan, phases: Sequence[RowPhase], known: Collection[Expression]
) -> set[Expression]:
    """Return the values that phases want and the arguments of what they compute, if some values
    are known."""
    found: set[Expression] = set()
    for phase in phases:
        found.update(phase.wanted)
        for needed in row.elements(phase.wanted, known):
            found.update(needed.arguments)
    return found
