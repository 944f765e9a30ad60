"""Expansion of repeated steps in a program: sessions run one flat list of steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kgen_runtime.dtypes import DType
from kgen_runtime.schema.program import Place, Program, Repeat, Step, Value

#: Type, shape, strides and place of a value.
Shown = tuple[DType, tuple[int, ...], tuple[int, ...], Place]


def shown(value: Value) -> Shown:
    return value.dtype, value.shape, value.strides, value.place


def written_out(program: Program) -> Program:
    """Return the program with the steps of every turn of its repetitions written out. libkgen has
    checked the repetitions."""
    if not program.repeats:
        return program
    values = _Values(program)
    steps: list[Step] = []
    behind = 0
    for repeat in program.repeats:
        steps += program.steps[behind : repeat.first]
        behind = repeat.first + repeat.count
        for turn in range(repeat.turns):
            steps += (
                _in_turn(step, repeat, turn, values)
                for step in program.steps[repeat.first : behind]
            )
    steps += program.steps[behind:]
    return dataclasses.replace(
        program, steps=tuple(steps), values=tuple(values.by_name.values()), repeats=()
    )


def _in_turn(step: Step, repeat: Repeat, turn: int, values: _Values) -> Step:
    if not turn:
        return step
    return dataclasses.replace(
        step,
        bindings=values.moved(step.bindings, repeat.moves, turn),
        after=tuple(number + turn * repeat.count for number in step.after),
    )


class _Values:
    """Values by name, including the values of later turns."""

    def __init__(self, program: Program) -> None:
        self.by_name = {value.name: value for value in program.values}
        self._known = {shown(value): value.name for value in program.values}

    def moved(
        self, bindings: Mapping[str, str], moves: Mapping[str, int], turn: int
    ) -> dict[str, str]:
        """Return the bindings of a turn; values that move are added."""
        return {
            parameter: self._moved(self.by_name[name], moves[name] * turn, turn)
            if moves.get(name)
            else name
            for parameter, name in bindings.items()
        }

    def _moved(self, value: Value, nbytes: int, turn: int) -> str:
        place = dataclasses.replace(value.place, offset=value.place.offset + nbytes)
        moved = dataclasses.replace(value, place=place)
        if (known := self._known.get(shown(moved))) is not None:
            return known
        name = f"{value.name}+{turn}"
        while name in self.by_name:
            name += "'"
        self._known[shown(moved)] = name
        self.by_name[name] = dataclasses.replace(moved, name=name)
        return name
