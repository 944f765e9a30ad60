"""Epilogue of every CPU matmul: the code that finishes a vector of sums, and its functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from kgen.ops import Expression, steps
from kgen.ops import Primitive as P
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.expressions import CpuRenderer
from kgen.targets.cpu.plan.cpu_plan import access, fuses, vector_for
from kgen.targets.cpu.plan.math.functions import (
    Functions,
    NormalTail,
    functions_for,
    normal_tail,
)
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.epilogue import ACCUMULATOR, EpilogueArgument, FusedEpilogue
from kgen.targets.expressions import Rendered
from kgen_runtime.values import frozen

#: Functions that CPUs compute by code of their own instead of the general expression, by formula.
NATIVE: Mapping[str, str] = {
    "gelu": "x/2 (1 + erf(x / sqrt 2))",
    "gelu_tanh": "x/2 (1 + tanh u) = x / (1 + exp(-2u))",
    "silu": "x / (1 + exp(-x))",
}


@frozen
class Finish:
    """Epilogue of a vector of sums: its arguments, functions and types."""

    spec: Matmul
    target: Target
    compute: Vector
    out: Access

    @cached_property
    def epilogue(self) -> FusedEpilogue:
        return FusedEpilogue(spec=self.spec, fused=fuses(self.target))

    def access_of(self, argument: EpilogueArgument) -> Access:
        return access(self.target, argument.dtype, self.compute)

    @property
    def has_gelu(self) -> bool:
        return "gelu" in self.natives

    @property
    def _renderer(self) -> CpuRenderer:
        """Renderer that calls the functions in NATIVE as functions of the kernel's module."""
        return CpuRenderer(type=self.compute.floats, target=self.target, inlined=frozenset(NATIVE))

    @cached_property
    def lowered(self) -> Expression:
        """Epilogue in primitives and calls of functions of the module."""
        return self._renderer.lowered(self.epilogue.expression)

    def finished(
        self, prefix: str, sums: str, loaded: Mapping[str, str], part: Expression | None = None
    ) -> Rendered:
        """Return the lines that apply the epilogue, or a part of it, to a vector of sums. `loaded`
        maps stems of arguments to their operands. Every other argument is %<prefix>.<stem>, and
        `prefix` also begins the names of results."""
        e = self.epilogue
        values = {a.name: loaded.get(a.stem, f"%{prefix}.{a.stem}") for a in e.arguments}
        values[ACCUMULATOR] = sums
        return self._renderer.render(part or self.lowered, values, f"%{prefix}.finished")

    def of_numbers(self, function: Expression, values: Mapping[str, str], result: str) -> Rendered:
        """Return the lines that compute a function of `values` and of scalar arguments."""
        numbers = {a.name: f"%{a.stem}.all" for a in self.epilogue.numbers}
        return self._renderer.render(function, {**numbers, **values}, result)

    def loaded(self, row: str = "", numbers: str = "", columns: str = "") -> Mapping[str, str]:
        """Return the operands of arguments that are already loaded, by their stems. `row`,
        `numbers` and `columns` are the name prefixes of arguments per row, of scalars and of
        arguments per column. Arguments per column are loaded only if `columns` is not empty."""
        found = {a.stem: f"%{row}{a.stem}.all" for a in self.epilogue.by_row}
        found |= {a.stem: f"%{numbers}{a.stem}.all" for a in self.epilogue.numbers}
        by_column = self.epilogue.by_column if columns else ()
        return found | {a.stem: f"%{columns}{a.stem}" for a in by_column}

    @property
    def natives(self) -> Mapping[str, str]:
        """Functions in NATIVE that the epilogue calls, with their formulas."""
        if not self.epilogue.changes:
            return {}
        called = {step.name for step in steps(self.lowered) if step.primitive is P.CALL}
        return {name: formula for name, formula in NATIVE.items() if name in called}

    @property
    def module_functions(self) -> tuple[str, ...]:
        """Functions of the module that the epilogue calls."""
        if not self.epilogue.changes:
            return ()
        return self._renderer.functions(self.epilogue.expression)

    def pointer(self, name: str) -> str:
        """Return the pointer operand of an argument or of another tensor."""
        return f"%{next((a.stem for a in self.epilogue.arguments if a.name == name), name)}"

    def unloaded(self, loaded: Collection[str]) -> list[EpilogueArgument]:
        """Return the arguments whose stems are not among the loaded ones."""
        return [a for a in self.epilogue.arguments if a.stem not in loaded]

    @property
    def has_functions(self) -> bool:
        return bool(self.natives or self.module_functions)

    @property
    def declarations(self) -> tuple[str, ...]:
        """Declarations of intrinsics that only the epilogue needs."""
        if not self.epilogue.changes:
            return ()
        t = self.compute
        known = {f"{t} @{self.functions.multiply_add}.{t.suffix}({t}, {t}, {t})"}
        known |= {d for d in self.functions.declarations(t) if ".scalef." in d}
        if self.has_gelu:
            known |= {f"{t} @llvm.{name}.{t.suffix}({t})" for name in ("fabs", "roundeven")}
        found = list(self._renderer.declarations(self.epilogue.expression))
        found += self.functions.declarations(t) if self.module_functions else ()
        return tuple(d for d in dict.fromkeys(found) if d not in known)

    @property
    def functions(self) -> Functions:
        return functions_for(self.target, self.compute, self.spec.out)

    @property
    def normal_tail(self) -> NormalTail | None:
        """Approximation of the normal distribution's tail for gelu in f32; None for f64, which uses
        erfc."""
        return normal_tail(self.spec.out) if self.compute.scalar == "float" else None

    @property
    def types(self) -> set[Vector]:
        """Types in memory of the vectors that the epilogue loads and stores."""
        vectors = (*self.epilogue.by_column, *self.epilogue.full)
        return {self.out.stored, *(self.access_of(a).stored for a in vectors)}


def finishing_vector(spec: Matmul, target: Target, columns: int) -> Vector:
    """Return the vector type in which the epilogue computes, for `columns` columns."""
    dtype = DType.S32 if spec.out is DType.S32 else spec.finishes_in
    return vector_for(target, dtype, columns)
