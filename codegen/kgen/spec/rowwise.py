"""Operations on rows of tensors or of views of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import ClassVar

from kgen.errors import SpecError
from kgen.ops import COORDINATES, Expression, RowFacts, reduces
from kgen.ops.views import has_views, refuse_others
from kgen.spec.enum_fields import Member, Members, OptionalMember
from kgen.spec.shapes import MAX_RANK, Shape, packed
from kgen.spec.spec import whole
from kgen.spec.view_expressions import Viewed
from kgen.spec.views import Read, Reads
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.values import frozen

#: Functions whose results are numbers of columns.
INDICES = frozenset({"argmax", "argmin"})
#: Up to it f32 holds the number of every column.
MAX_COLS = 2**24
MAX_ROWS = 2**31 - 1


class Axes:
    """A field of axis numbers, which may be given as one."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> tuple[int, ...]:
        return (-1,) if instance is None else instance.__dict__[self.name]

    def __set__(self, instance: object, value: int | Iterable[int]) -> None:
        given = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        found = tuple(whole(self.name, axis, -MAX_RANK, MAX_RANK) for axis in given)
        instance.__dict__[self.name] = found


@frozen
class Rowwise(Viewed):
    """out = expression, in which functions of whole rows are called: softmax(x), x / l2(x).

    A row is what lies along the `axes` of the shape that the inputs broadcast to: numbers as
    numpy's `axis` takes them, by default the last one. An output of which every input is reduced
    lacks these axes; any other has the whole shape. `column` is an element's number in its row, and
    `row` its row's number along the last axis that is kept.
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
                    f"{'x'.join(map(str, self.domain))}; it must be {-rank} to {rank - 1}"
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
        # Each input has its own name, whatever that is.
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
        """The other axes, along which rows are numbered."""
        return tuple(axis for axis in range(len(self.domain)) if axis not in self.axes)

    @property
    def rows(self) -> int:
        return math.prod(self.domain[axis] for axis in self.kept)

    @property
    def cols(self) -> int:
        return math.prod(self.domain[axis] for axis in self.axes)

    @property
    def height(self) -> int:
        """Rows from one whose `row` is 0 to the next."""
        return self.domain[self.kept[-1]] if self.kept else 1

    @cached_property
    def reduced(self) -> Mapping[str, bool]:
        """Whether an output is one number for a row."""
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
        """An output's strides in the domain's dimensions, 0 along those that it lacks."""
        if not self.reduced[name]:
            return packed(self.domain)
        steps = dict(zip(self.kept, packed(self.output_shape(name)), strict=False))
        return tuple(steps.get(axis, 0) for axis in range(len(self.domain)))

    @property
    def row(self) -> RowFacts:
        return RowFacts(count=self.cols)
