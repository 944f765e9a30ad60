"""Common part of all renderers of expressions: names of values, and the order of instructions.

A family's `expressions.py` says how its instruction set spells each primitive; a function for which
the instruction set has a better form is `native` there, and reaches the renderer as a call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgen.ops import Expression, expand, steps
from kgen.ops import Primitive as P
from kgen.ops.expression import unknown, variable
from kgen.ops.registry import call_of
from kgen.ops.storage import bits_of
from kgen.spec import DType
from kgen_runtime.values import frozen


@frozen
class Rendered:
    """Instructions, one a line, and the names of their results.

    `numbers` and `truths` are all names that the lines define, for instruction sets that declare
    registers. `ordered` are the results of steps for which :meth:`Renderer.is_ordered` holds.
    """

    lines: tuple[str, ...]
    results: tuple[str, ...]
    numbers: tuple[str, ...]
    truths: tuple[str, ...]
    ordered: tuple[str, ...]

    @property
    def result(self) -> str:
        return self.results[-1] if self.results else ""


class Renderer(ABC):
    """Writes expressions as text of one instruction set, on values of one type."""

    @property
    def computes_in(self) -> DType:
        """Type of the values; f32 where the values are elements in their storage type."""
        return DType.F32

    @property
    def native(self) -> frozenset[str]:
        """Functions for which the instruction set has a better form than their expansion."""
        return frozenset()

    @property
    def primitives(self) -> frozenset[P]:
        """Primitives on values of this type: all in f32, fewer on elements in their storage
        type."""
        return frozenset(P)

    def has(self, *expressions: Expression) -> bool:
        """Return whether all steps of the expressions, once expanded, can be rendered."""
        beside = (P.INPUT, P.CONSTANT, P.CALL)
        return all(
            step.primitive in beside or step.primitive in self.primitives
            for step in self.steps(expressions)
        )

    def steps(self, expressions: Sequence[Expression]) -> tuple[Expression, ...]:
        """Expand calls and return the nodes of the expressions, each once."""
        return steps(*(expand(each, self.native, compute=self.computes_in) for each in expressions))

    @abstractmethod
    def constant(self, number: float) -> str:
        """Return the operand for a constant."""

    @abstractmethod
    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        """Return the lines that give `result` the value of a primitive or of a native call.

        Names of intermediate values start with `result`.
        """

    @abstractmethod
    def move(self, result: str, operand: str) -> str:
        """Return the line that copies a value or a constant to `result`."""

    def is_ordered(self, step: Expression) -> bool:
        """Return whether the assembler has to be told not to reorder or fuse the step."""
        return False

    def lowered(self, expression: Expression) -> Expression:
        """Return the expression in primitives and calls of native functions."""
        return expand(expression, self.native, compute=self.computes_in)

    def render(self, expression: Expression, inputs: Mapping[str, str], result: str) -> Rendered:
        """Render an expression, whose calls are expanded.

        `inputs` are operands by name. `result` names the value, even where that is an input;
        names of intermediate values are `result` and the primitive.
        """
        found = self.render_all([expression], inputs, result, [result])
        if found.result == result:
            return found
        return replace(
            found,
            lines=(*found.lines, self.move(result, found.result)),
            results=(result,),
            numbers=(*found.numbers, result),
        )

    def render_all(
        self,
        expressions: Sequence[Expression],
        inputs: Mapping[str, str],
        prefix: str,
        results: Sequence[str],
    ) -> Rendered:
        """Render several expressions; their common parts are computed once.

        `results` name the values; an expression that is an input keeps the input's name. Names of
        intermediate values start with `prefix`.
        """
        wanted = [self.lowered(expression) for expression in expressions]
        leaves = (s for s in steps(*wanted) if s.primitive is P.INPUT)
        known = {leaf: inputs[leaf.name] for leaf in leaves}
        return self.compute(wanted, known, prefix, dict(zip(wanted, results, strict=True)))

    def apply(self, function: str, x: str, result: str) -> Rendered:
        """Render a function of one value; its other arguments have their defaults."""
        return self.render(call_of(function, variable("x")), {"x": x}, result)

    def compute(
        self,
        wanted: Sequence[Expression],
        known: dict[Expression, str],
        prefix: str,
        names: Mapping[Expression, str] | None = None,
    ) -> Rendered:
        """Render expressions in primitives and native calls.

        `known` has the names of values computed before; every value computed here is added to it.
        `names` are given names of some steps. A constant that is wanted itself is copied to a
        name, because some instructions that read results take no constants.
        """
        counts: Counter[str] = Counter()
        lines: list[str] = []
        defined: dict[bool, list[str]] = {False: [], True: []}
        ordered: list[str] = []
        for step in unknown(wanted, known):
            if step.primitive is P.CONSTANT and step not in wanted:
                continue
            word = step.name or step.primitive.value
            counts[word] += 1
            number = counts[word] if counts[word] > 1 else ""
            name = (names or {}).get(step) or f"{prefix}_{word}{number}"
            if step.primitive is P.CONSTANT:
                lines.append(self.move(name, self.constant(step.number)))
            else:
                operands = [known.get(a) or self.constant(a.number) for a in step.arguments]
                lines += self.instruction(step, name, operands)
            defined[step.truth].append(name)
            ordered += [name] if self.is_ordered(step) else []
            known[step] = name
        return Rendered(
            lines=tuple(lines),
            results=tuple(known[each] for each in wanted),
            numbers=tuple(defined[False]),
            truths=tuple(defined[True]),
            ordered=tuple(ordered),
        )


@frozen
class BitsRenderer(Renderer):
    """Renders expressions on elements of a `dtype` whose bits are held in integers."""

    dtype: DType

    @property
    def native(self) -> frozenset[str]:
        return frozenset({"relu", "isnan"})

    @property
    def primitives(self) -> frozenset[P]:
        return frozenset({P.NEG, P.ABS, P.AND, P.OR, P.NOT, P.SELECT})

    def constant(self, number: float) -> str:
        bits = bits_of(number, self.dtype)
        assert bits is not None, number
        return self.literal(bits)

    @abstractmethod
    def literal(self, bits: int) -> str:
        """Return the operand for bits."""
