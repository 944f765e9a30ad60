"""Element-wise operations: any expression of the scalar language over tensors that broadcast."""

from __future__ import annotations

import math
from collections.abc import Container
from functools import cached_property
from typing import ClassVar

from kgen.errors import SpecError
from kgen.ops import Expression, expand, is_exact
from kgen.ops.views import has_views
from kgen.spec.formula import MAX_RANK, Formula, Shape
from kgen.spec.members import Member, OptionalMember
from kgen.spec.views import Reads, Shapes, input_uses, reads_of
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

#: What inputs may be by which others are gathered; the first where none is given.
INDEX_DTYPES = (DType.S32, DType.S64)


@frozen
class Elementwise(Formula):
    """out = expression, element by element.

    `index_dtype` is that of the inputs by which others are gathered.
    """

    op: ClassVar[str] = "elementwise"
    kind: ClassVar[str] = "element-wise"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    index_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)

    @cached_property
    def domain(self) -> Shape:
        if not has_views(self.formula_calls):
            return super().domain
        found = Shapes(self.shapes_of)[self.formula_calls]
        if len(found) > MAX_RANK:
            raise SpecError(f"the output has {len(found)} dimensions; {MAX_RANK} is the limit")
        return found

    def _check_expression(self) -> None:
        self._check_indices()
        super()._check_expression()
        for name in self.inputs:
            if all(read.tensor != name for read in self.reads.reads):
                raise SpecError(f"no element of input {name} is in the output; leave it out")

    def _check_indices(self) -> None:
        if self.index_inputs and self.index_dtype is None:
            object.__setattr__(self, "index_dtype", INDEX_DTYPES[0])
        known = INDEX_DTYPES if self.index_inputs else (None,)
        if self.index_dtype not in known:
            raise SpecError(
                f"index_dtype={self.index_dtype} is that of what gather takes: "
                f"{' or '.join(INDEX_DTYPES)}"
                + ("" if self.index_inputs else "; nothing is gathered here, so leave it out")
            )
        for name in sorted(self.index_inputs & input_uses(self.formula_calls)[0]):
            raise SpecError(
                f"input {name} of {self.expression!r} is an index and a number; take two"
            )

    @property
    def shape(self) -> Shape:
        return self.domain

    @property
    def shapes_of(self) -> dict[str, Shape]:
        """The inputs' shapes by name."""
        return dict(zip(self.inputs, self.shapes, strict=True))

    @cached_property
    def reads(self) -> Reads:
        """The expression without views, and where it reads its operands."""
        return reads_of(self.formula_calls, self.shapes_of, self.domain)

    @property
    def calls(self) -> Expression:
        """The expression in calls, of the operands that are read."""
        return self.reads.expression

    @cached_property
    def index_inputs(self) -> frozenset[str]:
        """Inputs by which others are gathered."""
        return input_uses(self.formula_calls)[1]

    def dtype_of(self, name: str) -> DType:
        if name in self.index_inputs:
            assert self.index_dtype is not None
            return self.index_dtype
        return self.dtype

    @property
    def key_of_indices(self) -> str:
        return f"_by_{self.index_dtype}" if self.index_inputs else ""

    def primitives(self, native: Container[str] = ()) -> Expression:
        return expand(self.calls, native)

    @property
    def bytes_moved(self) -> int:
        """Of the inputs, those that are read; of a gather, as many as it has in its output."""
        unread = sum(
            p.nbytes - self._elements_read(p) * p.dtype.itemsize
            for p in self.parameters
            if p.role == "input"
        )
        return super().bytes_moved - unread

    def _elements_read(self, of: TensorParam) -> int:
        """The most elements of an input that the output may take."""
        by_name = {read.name: read for read in self.reads.reads}
        index_of = {c.name: by_name[c.index] for c in self.reads.conditions if c.index}
        found = 0
        for read in self.reads.reads:
            if read.tensor == of.name:
                moving = [read.strides, *(index_of[name].strides for name, _ in read.indices)]
                sizes = zip(self.domain, zip(*moving, strict=True), strict=True)
                found += math.prod(n for n, strides in sizes if any(strides))
        return min(found, math.prod(of.shape))

    @cached_property
    def is_exact(self) -> bool:
        """Inputs and output are of one type, in which nothing has to be rounded."""
        return self.out is self.dtype and is_exact(self.calls, self.dtype)
