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
    """Instructions, one a line, and what holds the results. `numbers` and `truths` are the names
    that they define, for instruction sets that declare registers; `ordered` are the results that
    :meth:`Renderer.is_ordered` is about."""

    lines: tuple[str, ...]
    results: tuple[str, ...]
    numbers: tuple[str, ...]
    truths: tuple[str, ...]
    ordered: tuple[str, ...]

    @property
    def result(self) -> str:
        """The last one."""
        return self.results[-1] if self.results else ""


class Renderer(ABC):
    """Expressions as text of one instruction set, on values of one type."""

    @property
    def computes_in(self) -> DType:
        """The type of the values; f32 where they are elements as they are stored."""
        return DType.F32

    @property
    def native(self) -> frozenset[str]:
        """Functions of which there is a better form than their expansion."""
        return frozenset()

    @property
    def primitives(self) -> frozenset[P]:
        """Primitives on values of this type: all in f32, fewer on elements in their storage
        type."""
        return frozenset(P)

    def has(self, *expressions: Expression) -> bool:
        """Whether it renders all steps of expressions in calls."""
        beside = (P.INPUT, P.CONSTANT, P.CALL)
        return all(
            step.primitive in beside or step.primitive in self.primitives
            for step in self.steps(expressions)
        )

    def steps(self, expressions: Sequence[Expression]) -> tuple[Expression, ...]:
        """Return the nodes of expressions in calls, each once."""
        return steps(*(expand(each, self.native, compute=self.computes_in) for each in expressions))

    @abstractmethod
    def constant(self, number: float) -> str:
        """The operand for a constant."""

    @abstractmethod
    def instruction(self, step: Expression, result: str, operands: Sequence[str]) -> list[str]:
        """The lines that give `result` the value of a primitive, or of a call of a native
        function; more values than that have names that start with `result`."""

    @abstractmethod
    def move(self, result: str, operand: str) -> str:
        """The line that gives `result` a value that is there under another name, or a constant."""

    def is_ordered(self, step: Expression) -> bool:
        """A primitive that must be done as it stands, for instruction sets that have to be told."""
        return False

    def lowered(self, expression: Expression) -> Expression:
        """An expression in primitives and in calls of native functions."""
        return expand(expression, self.native, compute=self.computes_in)

    def render(self, expression: Expression, inputs: Mapping[str, str], result: str) -> Rendered:
        """An expression in calls. `inputs` are operands by name; `result` names the value, one that
        is an input as well, and starts the names of what is computed on the way, which say which
        primitive gave them."""
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
        """Several at once, of which common parts are computed once. `results` name their values,
        but for inputs, which keep their names; `prefix` starts the names of what is computed on
        the way."""
        wanted = [self.lowered(expression) for expression in expressions]
        leaves = (s for s in steps(*wanted) if s.primitive is P.INPUT)
        known = {leaf: inputs[leaf.name] for leaf in leaves}
        return self.compute(wanted, known, prefix, dict(zip(wanted, results, strict=True)))

    def apply(self, function: str, x: str, result: str) -> Rendered:
        """A function of one value, its other arguments their defaults."""
        return self.render(call_of(function, variable("x")), {"x": x}, result)

    def compute(
        self,
        wanted: Sequence[Expression],
        known: dict[Expression, str],
        prefix: str,
        names: Mapping[Expression, str] | None = None,
    ) -> Rendered:
        """Expressions in primitives and native calls, from what is `known`, to which they and all
        that is computed on the way are added. `names` says what some are to be called. A constant
        that is wanted itself becomes a value with a name: not all instructions that read results
        take constants."""
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
    """Values are the bits of elements of a `dtype`, in integers."""

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
        """The operand for bits."""
