"""Repetitions in a program: steps that differ from turn to turn in the places of their tensors.

The time steps of a recurrent layer are such turns, so a manifest has one of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from kgen_runtime.schema.program import Program, Repeat, Step, Value
from kgen_runtime.values import frozen

#: Turns from which a repetition has less text than its steps.
LEAST_TURNS = 3
#: Steps of one turn that are alike, but for their places: as many distances to a next turn are
#: tried.
MOST_ALIKE = 16


@frozen
class _StepLayout:
    """Step of a program: `number` is equal for steps that differ in nothing but the offsets of
    their tensors, of which `names` are the values."""

    number: int
    names: tuple[str, ...]
    offsets: tuple[int, ...]


def with_repeats(program: Program) -> Program:
    """The program with its repetitions: turns that are one another's, moved."""
    layouts = [*_layouts(program)]
    following = _following(layouts)
    repeats: list[Repeat] = []
    steps: list[Step] = []
    at = 0
    while at < len(layouts):
        found = _longest(layouts, following, at)
        if found is None:
            steps.append(program.steps[at])
            at += 1
            continue
        repeats.append(dataclasses.replace(found, first=len(steps)))
        steps += program.steps[at : at + found.count]
        at += found.count * found.turns
    if not repeats:
        return program
    return dataclasses.replace(
        program, steps=tuple(steps), repeats=tuple(repeats), values=_used(program, steps)
    )


def _layouts(program: Program) -> Iterator[_StepLayout]:
    numbers: dict[object, int] = {}
    values = program.by_name
    for number, step in enumerate(program.steps):
        bound = [values[name] for name in step.bindings.values()]
        seen = [(v.dtype, v.shape, v.strides, v.place.memory) for v in bound]
        waits = tuple(other - number for other in step.after)
        alike = (step.kernel, tuple(step.bindings), tuple(seen), step.nodes, waits)
        yield _StepLayout(
            number=numbers.setdefault(alike, len(numbers)),
            names=tuple(step.bindings.values()),
            offsets=tuple(value.place.offset for value in bound),
        )


def _following(layouts: Sequence[_StepLayout]) -> list[int | None]:
    """Position of the next step that is alike, by position."""
    found: list[int | None] = [None] * len(layouts)
    last: dict[int, int] = {}
    for at, step in enumerate(layouts):
        if step.number in last:
            found[last[step.number]] = at
        last[step.number] = at
    return found


def _longest(
    layouts: Sequence[_StepLayout], following: Sequence[int | None], at: int
) -> Repeat | None:
    """The repetition from a step on that leaves out most steps."""
    best: Repeat | None = None
    after = following[at]
    for _ in range(MOST_ALIKE):
        if after is None:
            break
        found = _repeated(layouts, at, after - at)
        if found is not None and (best is None or _left_out(found) > _left_out(best)):
            best = found
        after = following[after]
    return best


def _left_out(repeat: Repeat) -> int:
    return repeat.count * (repeat.turns - 1)


def _repeated(layouts: Sequence[_StepLayout], first: int, count: int) -> Repeat | None:
    """Repetition of so many steps, from a step on."""
    turns = 1
    moves: dict[str, int] = {}
    while first + (turns + 1) * count <= len(layouts):
        start = first + turns * count
        if any(layouts[first + i].number != layouts[start + i].number for i in range(count)):
            break
        pairs = zip(layouts[first : first + count], layouts[start : start + count], strict=True)
        distances = [
            (name, there - here)
            for one, other in pairs
            for name, here, there in zip(one.names, one.offsets, other.offsets, strict=True)
        ]
        if turns == 1:
            moves = dict(distances)
        if any(distance != turns * moves[name] for name, distance in distances):
            break
        turns += 1
    if turns < LEAST_TURNS:
        return None
    moving = {name: nbytes for name, nbytes in moves.items() if nbytes}
    return Repeat(first=first, count=count, turns=turns, moves=moving)


def _used(program: Program, steps: Sequence[Step]) -> tuple[Value, ...]:
    named = {name for step in steps for name in step.bindings.values()}
    named |= {value.name for value in (*program.inputs, *program.outputs)}
    named |= {name for state in program.states for name in (state.input, state.output)}
    return tuple(value for value in program.values if value.name in named)
