"""Operations on the rows of a packed matrix."""

from __future__ import annotations

import math
from collections.abc import Container
from functools import cached_property
from typing import ClassVar

from kgen.errors import SpecError
from kgen.ops import COORDINATES, Expression, Row, expand, reduces
from kgen.ops.views import refuse_views
from kgen.spec.formula import FLOATS, Formula, Shape
from kgen.spec.members import Member, OptionalMember
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

#: Functions whose results are numbers of columns.
INDICES = frozenset({"argmax", "argmin"})
#: Up to it f32 holds the number of every column.
MAX_COLS = 2**24
MAX_ROWS = 2**31 - 1


def packed_pair(shape: tuple[int, ...], dtype: DType, out: DType) -> tuple[TensorParam, ...]:
    strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return (
        TensorParam(name="x", role="input", dtype=dtype, shape=shape, strides=strides),
        TensorParam(name="out", role="output", dtype=out, shape=shape, strides=strides),
    )


@frozen
class Rowwise(Formula):
    """out = expression, in which functions of whole rows are called: softmax(x), x / l2(x).

    A row is what lies along the last `axes` axes of the shape that the inputs broadcast to. Where
    every input is reduced, the output lacks these axes; else it has the whole shape. `column` is an
    element's number in its row, and `row` its row's number along the axis before them.
    """

    op: ClassVar[str] = "rowwise"
    kind: ClassVar[str] = "row-wise"
    out_dtypes: ClassVar[tuple[DType, ...]] = (*FLOATS, DType.S32)
    coordinates: ClassVar[frozenset[str]] = COORDINATES
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    axes: int = 1

    def _check_expression(self) -> None:
        self._check_int("axes", 1, len(self.domain))
        for what, count, limit in (("rows", self.rows, MAX_ROWS), ("columns", self.cols, MAX_COLS)):
            if count > limit:
                raise SpecError(f"{count} {what} are more than {limit}; use a smaller shape")
        super()._check_expression()

    @cached_property
    def domain(self) -> Shape:
        refuse_views(self.formula_calls, self.kind)
        return super().domain

    @property
    def default_out(self) -> DType:
        return DType.S32 if self.formula_calls.name in INDICES else self.dtype

    @property
    def key_of_axes(self) -> str:
        return f"_axes{self.axes}" if self.axes > 1 else ""

    @property
    def rows(self) -> int:
        return math.prod(self.domain[: -self.axes])

    @property
    def cols(self) -> int:
        return math.prod(self.domain[-self.axes :])

    @cached_property
    def is_reduced(self) -> bool:
        """The output is one number for a row."""
        return reduces(self.formula_calls)

    @property
    def shape(self) -> Shape:
        return self.domain[: -self.axes] or (1,) if self.is_reduced else self.domain

    def primitives(self, native: Container[str] = ()) -> Expression:
        return expand(self.formula_calls, native, Row(count=self.cols))
