"""What all renderers of expressions share: names of values, and the order of instructions.

A family's `expressions.py` says how its instruction set spells each primitive; a function of which
it has a better form is `native` there, and reaches it as a call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from kgen.ops import Expression, Primitive, expand, steps
from kgen_runtime.values import frozen


@frozen
class Rendered:
    """Instructions, one a line, and what holds the result. `numbers` and `truths` are the names
    that they define, for instruction sets that declare registers."""

    lines: tuple[str, ...]
    result: str
    numbers: tuple[str, ...]
    truths: tuple[str, ...]


class Renderer(ABC):
    """Expressions as text of one instruction set."""

    #: Functions that the instruction set has a better form of than their expansion.
    native: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def constant(self, number: float) -> str:
        """The operand for a constant."""

    @abstractmethod
    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        """The lines that give `result` the value of a primitive, or of a call of a native
        function; more values than that have names that start with `result`."""

    def render(self, expression: Expression, inputs: Mapping[str, str], result: str) -> Rendered:
        """An expression in calls. `inputs` are operands by name; `result` names the value, and
        starts the names of what is computed on the way, which say which primitive gave them."""
        known: dict[Expression, str] = {}
        counts: Counter[str] = Counter()
        lines: list[str] = []
        names: dict[bool, list[str]] = {False: [], True: []}
        primitives = expand(expression, self.native)
        for step in steps(primitives):
            if step.primitive is Primitive.CONSTANT:
                known[step] = self.constant(step.number)
            elif step.primitive is Primitive.INPUT:
                known[step] = inputs[step.name]
            else:
                word = step.name or step.primitive.value
                counts[word] += 1
                number = counts[word] if counts[word] > 1 else ""
                name = result if step is primitives else f"{result}_{word}{number}"
                lines += self.instruction(step, name, [known[a] for a in step.arguments])
                names[step.truth].append(name)
                known[step] = name
        return Rendered(
            lines=tuple(lines),
            result=known[primitives],
            numbers=tuple(names[False]),
            truths=tuple(names[True]),
        )
