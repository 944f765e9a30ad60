"""A product's epilogue on CPUs: its expression, and the functions of the module that it calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgen.ops import Expression, steps
from kgen.ops import Primitive as P
from kgen.targets.cpu.expressions import CpuRenderer
from kgen_runtime.values import frozen

#: Functions of which the family has a better form than the scalar language, and what they are.
NATIVE: Mapping[str, str] = {
    "gelu": "x/2 (1 + erf(x / sqrt 2))",
    "gelu_tanh": "x/2 (1 + tanh u) = x / (1 + exp(-2u))",
    "silu": "x / (1 + exp(-x))",
}


@frozen
class FinishRenderer(CpuRenderer):
    """Renderer that calls the functions in NATIVE, each a function of the module."""

    @property
    def native(self) -> frozenset[str]:
        return super().native | {*NATIVE}

    def natives(self, expression: Expression) -> tuple[str, ...]:
        """Return the native functions that an expression calls."""
        called = {step.name for step in steps(self.lowered(expression)) if step.primitive is P.CALL}
        return tuple(name for name in NATIVE if name in called)

    def functions(self, *expressions: Expression) -> tuple[str, ...]:
        return tuple(name for name in super().functions(*expressions) if name not in NATIVE)

    def declarations(self, *expressions: Expression) -> Iterator[str]:
        yield from dict.fromkeys(super().declarations(*expressions))
