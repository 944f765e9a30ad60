"""Merge kernels that differ only in constants into one kernel, whose operands are these constants.

Each layer of a quantised model has its own scales and zero points. Without the merge, layers of
equal shapes would need a kernel each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from kgen.graph.lowering.calls import Binding, CallBuffer, Lowered
from kgen.graph.rewrites.requantized import requantized
from kgen.ops.expression import (
    Expression,
    Primitive,
    call,
    constant,
    rebuilt,
    substituted,
    variable,
    with_arguments,
)
from kgen.ops.parse import parse
from kgen.spec import Conv2d, Matmul, Spec
from kgen.spec.conv2d import PADDING
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Functions whose arguments may be numbers or tensors alike.
ARITHMETIC = ("add", "sub", "mul", "div", "min", "max")
#: Type of the constants that become operands; kernels compute with them in f32.
NUMBER = DType.F32
#: Limits of signed bytes.
LEAST, LARGEST = -128, 127


@frozen
class Numbered:
    """Formula in which names replace the constants of its arithmetic, and these constants."""

    formula: Expression
    numbers: tuple[float, ...]

    @staticmethod
    def of(expression: Expression) -> Numbered:
        numbers: list[float] = []

        def change(step: Expression) -> Expression:
            arguments = list(step.arguments)
            for place, argument in enumerate(arguments):
                if argument.primitive is Primitive.CONSTANT and step.name in ARITHMETIC:
                    arguments[place] = variable(name_of(len(numbers)))
                    numbers.append(argument.number)
            return with_arguments(step, tuple(arguments))

        return Numbered(formula=rebuilt(expression, change), numbers=tuple(numbers))


def with_equal_limits(expression: Expression) -> Expression:
    """Return the formula with the limits of signed bytes in place of those that a zero point moves:
    it is added before and subtracted after. Kernels that differ in it have the same limits."""

    def change(step: Expression) -> Expression:
        if step.name != "min" or step.arguments[0].name != "max":
            return step
        (rounded, low), high = step.arguments[0].arguments, step.arguments[1]
        numbers = {low.primitive, high.primitive} == {Primitive.CONSTANT}
        size = high.number - low.number == LARGEST - LEAST and low.number.is_integer()
        if rounded.name != "round" or not (numbers and size):
            return step
        zero = constant(LEAST - low.number)
        moved = call("round", (call("add", (rounded, zero)),))
        return call("sub", (call("min", (call("max", (moved, LEAST)), LARGEST)), zero))

    return rebuilt(expression, change)


def with_fewest_operands(formulas: Sequence[Numbered], specs: Sequence[Spec]) -> list[Numbered]:
    """Return formulas of a group of kernels with equal limits if they need fewer operands then."""
    moved = [
        Numbered.of(with_equal_limits(parse(spec.epilogue)))
        for spec in specs
        if isinstance(spec, Matmul | Conv2d)
    ]
    is_one = len({each.formula for each in moved}) == 1
    return moved if is_one and len(differing(moved)) < len(differing(formulas)) else [*formulas]


def differing(formulas: Sequence[Numbered]) -> dict[tuple[float, ...], str]:
    """Return the constants in which formulas differ, one of each formula, and their name."""
    columns = zip(*(formula.numbers for formula in formulas), strict=True)
    return {column: name_of(n) for n, column in enumerate(columns) if len(set(column)) > 1}


def name_of(number: int) -> str:
    return f"shared{number}"


def with_shared_kernels(lowered: Lowered, most_tensors: int) -> Lowered:
    """Return the calls, with one kernel for 8-bit products that differ only in constants.

    A kernel has up to `most_tensors` operands and outputs.
    """
    groups: dict[object, list[int]] = {}
    formulas: dict[int, Numbered] = {}
    for at, kernel in enumerate(lowered.calls):
        if isinstance(kernel.spec, Matmul | Conv2d) and kernel.spec.dtype is DType.S8:
            formulas[at] = Numbered.of(parse(kernel.spec.epilogue))
            groups.setdefault((others_of(kernel.spec), formulas[at].formula), []).append(at)
    calls, buffers = list(lowered.calls), dict(lowered.buffers)
    constants = dict(lowered.constants)
    for members in groups.values():
        specs = [calls[at].spec for at in members]
        numbered = with_fewest_operands([formulas[at] for at in members], specs)
        found = shared(specs, numbered, most_tensors)
        if found is None:
            continue
        spec, names = found
        for at, before, own in zip(members, specs, numbered, strict=True):
            given = {name: (own.numbers[n], NUMBER) for name, n in names.items()}
            if isinstance(spec, Conv2d) and spec.pads_with_operand:
                assert isinstance(before, Conv2d)
                given[PADDING] = (float(before.padding_value), DType.S8)
            bindings = dict(calls[at].bindings)
            for name, (number, dtype) in given.items():
                buffer = CallBuffer(id=f"{dtype} {number!r}", dtype=dtype, elements=1)
                buffers[buffer.id] = buffer
                constants[buffer.id] = np.array([number], dtype.storage)
                bindings[name] = Binding(buffer=buffer.id)
            calls[at] = dataclasses.replace(calls[at], spec=spec, bindings=bindings)
    return dataclasses.replace(lowered, calls=tuple(calls), buffers=buffers, constants=constants)


def others_of(spec: Matmul | Conv2d) -> tuple[object, ...]:
    """Return the fields that must be equal: all but the formula and the number that pads images."""
    apart = ("epilogue", "padding_value")
    names = [field.name for field in dataclasses.fields(spec) if field.name not in apart]
    return type(spec), *(getattr(spec, name) for name in names)


def shared(
    specs: Sequence[Spec], formulas: Sequence[Numbered], most_tensors: int
) -> tuple[Spec, dict[str, int]] | None:
    """Return one spec for all of these, and a table from each operand that it adds to the position
    of that operand's constant in the formula.

    Return None if the specs are equal, or differ in too many constants."""
    spec = specs[0]
    assert isinstance(spec, Matmul | Conv2d)
    pads = len({each.padding_value for each in specs if isinstance(each, Conv2d)}) > 1
    columns = list(zip(*(formula.numbers for formula in formulas), strict=True))
    apart = differing(formulas)
    count = len(spec.parameters) + len(apart) + pads
    if not (apart or pads) or count > most_tensors:
        return None
    values = {
        name_of(n): variable(apart[column]) if column in apart else constant(column[0])
        for n, column in enumerate(columns)
    }
    names = {name: n for n in range(len(columns)) if (name := name_of(n)) in apart.values()}
    found = dataclasses.replace(
        spec,
        epilogue=str(requantized(substituted(formulas[0].formula, values))),
        epilogue_shapes=(*(spec.epilogue_shapes or ()), *(f"{name}=1" for name in names)),
        epilogue_dtypes=(*(spec.epilogue_dtypes or ()), *(f"{name}={NUMBER}" for name in names)),
    )
    if pads and isinstance(found, Conv2d):
        found = dataclasses.replace(found, padding_value=PADDING)
    return found, names
