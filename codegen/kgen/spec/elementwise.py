"""Element-wise operations: any expression of the scalar language over tensors that broadcast."""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property
from typing import ClassVar

from kgen.ops import Expression, expand, is_exact
from kgen.spec.formula import Formula, Shape
from kgen.spec.members import Member, OptionalMember
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.values import frozen


@frozen
class Elementwise(Formula):
    """out = expression, element by element; outputs have the shape that all inputs broadcast to."""

    op: ClassVar[str] = "elementwise"
    kind: ClassVar[str] = "element-wise"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)

    def output_shape(self, name: str) -> Shape:
        return self.domain

    def primitives(self, native: Container[str] = ()) -> tuple[Expression, ...]:
        return tuple(expand(calls, native) for calls in self.formula_calls)

    @cached_property
    def is_exact(self) -> bool:
        """Inputs and outputs are of one type, in which nothing has to be rounded."""
        exact = all(is_exact(calls, self.dtype) for calls in self.formula_calls)
        return self.out is self.dtype and exact
