"""Expressions that look at their inputs through views, element-wise and row-wise."""

from __future__ import annotations

import math
from functools import cached_property

from kgen.errors import SpecError, Unfit
from kgen.ops import Expression
from kgen.ops.views import has_views
from kgen.spec.formula import MAX_RANK, Formula, Shape
from kgen.spec.views import Reads, Shapes, reads_of
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen


@frozen
class Viewed(Formula):
    """`reads` say which elements of its inputs an expression takes; its domain is the shape that
    all outputs' expressions broadcast to."""

    @cached_property
    def domain(self) -> Shape:
        if not has_views(*self.formula_calls):
            return super().domain
        found = Shapes(self.shapes_of, self.coordinates).broadcast(self.formula_calls)
        if len(found) > MAX_RANK:
            raise SpecError(f"the output has {len(found)} dimensions; {MAX_RANK} is the limit")
        return found

    def _check_expression(self) -> None:
        super()._check_expression()
        for name in self.inputs:
            if all(read.tensor != name for read in self.reads.reads):
                raise Unfit(name, f"no element of input {name} is in the output; leave it out")

    @property
    def shapes_of(self) -> dict[str, Shape]:
        """The inputs' shapes by name."""
        return dict(zip(self.inputs, self.shapes, strict=True))

    @cached_property
    def reads(self) -> Reads:
        """The expressions without views, and where they read their operands."""
        return reads_of(self.formulas, self.shapes_of, self.domain, self.coordinates)

    @property
    def calls(self) -> tuple[Expression, ...]:
        """The outputs' expressions in calls, of the operands that are read."""
        return self.reads.expressions

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
