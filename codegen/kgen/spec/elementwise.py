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
    """out = expression, element by element."""

    op: ClassVar[str] = "elementwise"
    kind: ClassVar[str] = "element-wise"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)

    @property
    def shape(self) -> Shape:
        return self.domain

    def primitives(self, native: Container[str] = ()) -> Expression:
        return expand(self.formula_calls, native)

    @cached_property
    def is_exact(self) -> bool:
        """Inputs and output are of one type, in which nothing has to be rounded."""
        return self.out is self.dtype and is_exact(self.formula_calls, self.dtype)
