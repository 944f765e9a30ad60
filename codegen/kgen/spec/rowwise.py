"""Spec of operations on rows of tensors, such as softmax and normalizations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import ClassVar

from kgen.errors import SpecError
from kgen.ops import COORDINATES, Expression, RowFacts, reduces
from kgen.ops.views import has_views, refuse_others
from kgen.spec.enum_fields import ConvertedField, Member, Members, OptionalMember
from kgen.spec.shapes import MAX_RANK, Shape, packed
from kgen.spec.spec import whole
from kgen.spec.view_expressions import Viewed
from kgen.spec.views import Read, Reads
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.values import frozen

#: Functions whose results are column indices.
INDICES = frozenset({"argmax", "argmin"})
#: Largest number of columns: f32 holds every column index up to it.
MAX_COLS = 2**24
MAX_ROWS = 2**31 - 1


class Axes(ConvertedField[tuple[int, ...], int | Iterable[int]]):
    """Field for axis numbers; a single one may be given without a tuple."""

    default = (-1,)

    def converted(self, value: int | Iterable[int]) -> tuple[int, ...]:
        given = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        return tuple(whole(self.name, axis, -MAX_RANK, MAX_RANK) for axis in given)


@frozen
class Rowwise(Viewed):
    """Row-wise operation: an expression with functions of whole rows, such as softmax(x).

    A row extends along the `axes` of the shape that the inputs broadcast to. They are numbered as
    numpy's `axis`; the default is the last one. An output whose inputs are all reduced lacks these
    axes, and any other has the whole shape. In the expression, `column` is an element's index in
    its row, and `row` the index of its row along the last axis that is kept.
    """

    op: ClassVar[str] = "rowwise"
    kind: ClassVar[str] = "row-wise"
    coordinates: ClassVar[frozenset[str]] = COORDINATES
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    dtypes: Members[DType, DTypeLike] = Members(DType)
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    out_dtypes: Members[DType, DTypeLike] = Members(DType)
    axes: Axes = Axes()

    def _check_expression(self) -> None:
        rank = len(self.domain)
        for axis in self.axes:
            if not -rank <= axis < rank:
                raise SpecError(
                    f"axes={axis} is out of range for inputs that broadcast to "
                    f"{'x'.join(map(str, self.domain))}; give {-rank} to {rank - 1}"
                )
        axes = sorted(axis % rank for axis in self.axes)
        twice = [axis for axis in axes if axes.count(axis) > 1]
        if twice or not axes:
            what = f"names axis {twice[0]} twice" if twice else "names no axis"
            given = ",".join(map(str, self.axes))
            raise SpecError(f"axes={given} {what}; name each axis that is reduced once")
        object.__setattr__(self, "axes", tuple(axes))
        for what, count, limit in (("rows", self.rows, MAX_ROWS), ("columns", self.cols, MAX_COLS)):
            if count > limit:
                raise SpecError(f"{count} {what} are more than {limit}; use a smaller shape")
        super()._check_expression()

    @cached_property
    def domain(self) -> Shape:
        refuse_others(self.formula_calls, self.kind)
        return super().domain

    @cached_property
    def reads(self) -> Reads:
        if has_views(*self.formula_calls):
            return super().reads
        # Without views, each input is one read under its own name, even a name that reads avoid.
        found = (
            Read(name=name, tensor=name, offset=0, strides=self.broadcast_strides(name))
            for name in self.inputs
        )
        return Reads(expressions=self.formula_calls, reads=tuple(found), conditions=())

    def default_out(self, calls: Expression) -> DType:
        return DType.S32 if calls.name in INDICES else super().default_out(calls)

    @property
    def key_of_axes(self) -> str:
        count = len(self.axes)
        if self.axes == tuple(range(len(self.domain)))[-count:]:
            return f"_axes{count}" if count > 1 else ""
        return f"_axis{'_'.join(map(str, self.axes))}"

    @property
    def kept(self) -> tuple[int, ...]:
        """Axes that are not reduced; rows are numbered along them."""
        return tuple(axis for axis in range(len(self.domain)) if axis not in self.axes)

    @property
    def rows(self) -> int:
        return math.prod(self.domain[axis] for axis in self.kept)

    @property
    def cols(self) -> int:
        return math.prod(self.domain[axis] for axis in self.axes)

    @property
    def height(self) -> int:
        """Number of values of `row`: the size of the last axis that is kept."""
        return self.domain[self.kept[-1]] if self.kept else 1

    @cached_property
    def reduced(self) -> Mapping[str, bool]:
        """Whether each output has one number per row, by its name."""
        return {name: reduces(calls) for name, calls in self.formulas.items()}

    @property
    def out_cols(self) -> int:
        """Columns of the widest output."""
        return 1 if all(self.reduced.values()) else self.cols

    def output_shape(self, name: str) -> Shape:
        if not self.reduced[name]:
            return self.domain
        return tuple(self.domain[axis] for axis in self.kept) or (1,)

    def output_strides(self, name: str) -> Shape:
        """Return an output's strides in the domain's dimensions; 0 along axes that it lacks."""
        if not self.reduced[name]:
            return packed(self.domain)
        steps = dict(zip(self.kept, packed(self.output_shape(name)), strict=False))
        return tuple(steps.get(axis, 0) for axis in range(len(self.domain)))

    @property
    def row(self) -> RowFacts:
        return RowFacts(count=self.cols)
