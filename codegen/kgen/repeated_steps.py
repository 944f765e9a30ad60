"""Compression of a program's steps: repetitions that differ only in the offsets of their tensors.

The time steps of a recurrent layer are such repetitions. A manifest lists the steps of the first
turn only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from kgen_runtime.schema.program import Program, Repeat, Step, Value
from kgen_runtime.values import frozen

#: Fewest turns of a repetition; two turns would save no text.
LEAST_TURNS = 3
#: Most later steps, equal but for their offsets, that are tried as the start of the second turn.
MOST_ALIKE = 16


@frozen
class _StepLayout:
    """Step of a program: its tensors' names and offsets.

    Steps that differ only in the offsets of their tensors have the same `number`.
    """

    number: int
    names: tuple[str, ...]
    offsets: tuple[int, ...]


def with_repeats(program: Program) -> Program:
    """Return the program with repeated steps listed once, with their number of turns."""
    layouts = [*_layouts(program)]
    following = _following(layouts)
    repeats: list[Repeat] = []
    steps: list[Step] = []
    failed: dict[int, int] = {}
    at = 0
    while at < len(layouts):
        found = _longest(layouts, following, at, failed)
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
    """Return, for each step, the position of the next one with the same number."""
    found: list[int | None] = [None] * len(layouts)
    last: dict[int, int] = {}
    for at, step in enumerate(layouts):
        if step.number in last:
            found[last[step.number]] = at
        last[step.number] = at
    return found


def _longest(
    layouts: Sequence[_StepLayout], following: Sequence[int | None], at: int, failed: dict[int, int]
) -> Repeat | None:
    """Return the repetition from a step on that removes the most steps."""
    best: Repeat | None = None
    after = following[at]
    for _ in range(MOST_ALIKE):
        if after is None:
            break
        found = _repeated(layouts, at, after - at, failed)
        if found is not None and (best is None or _left_out(found) > _left_out(best)):
            best = found
        after = following[after]
    return best


def _left_out(repeat: Repeat) -> int:
    return repeat.count * (repeat.turns - 1)


def _repeated(
    layouts: Sequence[_StepLayout], first: int, count: int, failed: dict[int, int]
) -> Repeat | None:
    """Return the repetition of `count` steps from step `first` on; None if there is none.

    `failed` holds, by count, the last step from which no repetition starts because a later step
    differs. Steps that are equal and do not repeat are thus compared once for each count.
    """
    if first <= failed.get(count, -1) or first + LEAST_TURNS * count > len(layouts):
        return None
    moves: dict[str, int] = {}
    #: Last step that binds a value.
    last: dict[str, int] = {}
    for at in range(first, first + count):
        one, *others = (layouts[at + turn * count] for turn in range(LEAST_TURNS))
        distances = [b - a for a, b in zip(one.offsets, others[0].offsets, strict=False)]
        for name, distance in zip(one.names, distances, strict=False):
            if moves.setdefault(name, distance) != distance:
                failed[count] = last[name]
                return None
            last[name] = at
        if not all(_is_turn(one, other, turn, moves) for turn, other in enumerate(others, 1)):
            failed[count] = at
            return None
    turns = LEAST_TURNS
    while first + (turns + 1) * count <= len(layouts) and all(
        _is_turn(layouts[at], layouts[at + turns * count], turns, moves)
        for at in range(first, first + count)
    ):
        turns += 1
    moving = {name: nbytes for name, nbytes in moves.items() if nbytes}
    return Repeat(first=first, count=count, turns=turns, moves=moving)


def _is_turn(one: _StepLayout, other: _StepLayout, turn: int, moves: Mapping[str, int]) -> bool:
    """Whether a step equals the one in the first turn, moved by `turn` turns."""
    return one.number == other.number and all(
        there - here == turn * moves[name]
        for name, here, there in zip(one.names, one.offsets, other.offsets, strict=True)
    )


def _used(program: Program, steps: Sequence[Step]) -> tuple[Value, ...]:
    named = {name for step in steps for name in step.bindings.values()}
    named |= {value.name for value in (*program.inputs, *program.outputs)}
    named |= {name for state in program.states for name in (state.input, state.output)}
    return tuple(value for value in program.values if value.name in named)
