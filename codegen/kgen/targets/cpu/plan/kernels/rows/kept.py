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
    """A value that the phase of this number stores, and later ones read."""

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
            taken = {kept.slot for kept in found.values() if _is_read(row, kept.step, later, known)}
            free = [slot for slot in range(slots) if slot not in taken]
            if free:
                found[step] = Kept(step=step, phase=phase.number, slot=free[0])
    return tuple(found.values())


def _shared(
    row: RowPlan, phase: RowPhase, later: Sequence[RowPhase], known: Collection[Expression]
) -> list[Expression]:
    """The expensive values that a phase computes and a later one would compute again."""
    here = row.elements(phase.wanted, known)
    # What is relative to an extreme as it is so far is another value later.
    running = {fold.step for fold in phase.folds}
    return [
        step
        for step in here
        if not step.truth
        and running.isdisjoint(steps(step))
        and any(s.primitive in EXPENSIVE for s in row.elements([step], known))
        and _is_read(row, step, later, {*known, *here})
    ]


def _is_read(
    row: RowPlan, step: Expression, phases: Sequence[RowPhase], known: Collection[Expression]
) -> bool:
    """Whether a phase takes a known value, others being known as well."""
    return any(
        step in phase.wanted
        or any(step in needed.arguments for needed in row.elements(phase.wanted, known))
        for phase in phases
    )
