"""Base of element-wise and row-wise specs: expressions that may read inputs through views."""

from __future__ import annotations

import math
from functools import cached_property

from kgen.errors import SpecError, Unfit
from kgen.ops import OUT, Expression
from kgen.ops.expression import Primitive, shown, steps
from kgen.ops.views import has_views
from kgen.spec.formula import Formula
from kgen.spec.inference import Shapes, is_scatter
from kgen.spec.shapes import MAX_RANK, Shape
from kgen.spec.views import Reads, reads_of
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen


@frozen
class Viewed(Formula):
    """Formula whose inputs may be read through views such as slice, pad, gather and scatter.

    `reads` are the input elements that the expression takes. The domain is the shape that all
    outputs' expressions broadcast to.
    """

    @cached_property
    def domain(self) -> Shape:
        if not has_views(*self.formula_calls):
            return super().domain
        shapes = Shapes(self.shapes_of, self.coordinates)
        found = shapes.broadcast(self.formula_calls)
        if self.scatter is not None:
            found = shapes.rows(self.scatter)
        if len(found) > MAX_RANK:
            raise SpecError(
                f"the output has {len(found)} dimensions; {MAX_RANK} is the limit; use fewer"
            )
        return found

    @property
    def scatter(self) -> Expression | None:
        """The output's expression if it is a scatter, whose domain is the shape of its rows."""
        return next(filter(is_scatter, self.formula_calls), None)

    @property
    def table(self) -> str:
        """Input into which a scatter writes; "" for any other expression."""
        return "" if self.scatter is None else self.scatter.arguments[0].name

    def _check_expression(self) -> None:
        super()._check_expression()
        self._check_scatter()
        for name in self.inputs:
            if name != self.table and all(read.tensor != name for read in self.reads.reads):
                raise Unfit(name, f"no element of input {name} reaches the output; leave it out")

    def _check_scatter(self) -> None:
        found = [step for step in steps(*self.formula_calls) if is_scatter(step)]
        if not found:
            return
        table = found[0].arguments[0]
        users = [s for s in steps(*self.formula_calls) for a in s.arguments if a is table]
        if (
            self.scatter is not found[0]
            or len(self.formula_calls) > 1
            or table.primitive is not Primitive.INPUT
            or len(users) > 1
            or self.out is not self.dtype_of(table.name)
        ):
            raise Unfit(
                "scatter",
                f"{shown(found[0])} writes into its table; make it all of the expression, and "
                "its table an input of the output's type that nothing else reads",
            )

    @property
    def shapes_of(self) -> dict[str, Shape]:
        """The inputs' shapes by name."""
        return dict(zip(self.inputs, self.shapes, strict=True))

    @cached_property
    def reads(self) -> Reads:
        """The expressions without views, and the input elements that they read."""
        return reads_of(self.formulas, self.shapes_of, self.domain, self.coordinates)

    @property
    def calls(self) -> tuple[Expression, ...]:
        """The outputs' expressions in calls, over the operands that are read."""
        return self.reads.expressions

    @property
    def bytes_moved(self) -> int:
        """Bytes of all outputs, and of the input elements that are read."""
        unread = sum(
            p.nbytes - self._elements_read(p) * p.dtype.itemsize
            for p in self.parameters
            if p.role == "input"
        )
        found = super().bytes_moved - unread
        if self.scatter is not None:
            # A scatter writes only the rows of its table.
            found -= (math.prod(self.output_shape(OUT)) - self.elements) * self.out.itemsize
        return found

    def _elements_read(self, of: TensorParam) -> int:
        """Return an upper bound of the elements of an input that the outputs read."""
        by_name = {read.name: read for read in self.reads.reads}
        index_of = {c.name: by_name[c.index] for c in self.reads.conditions if c.index}
        found = 0
        for read in self.reads.reads:
            if read.tensor == of.name:
                moving = [read.strides, *(index_of[name].strides for name, _ in read.indices)]
                sizes = zip(self.domain, zip(*moving, strict=True), strict=True)
                found += math.prod(n for n, strides in sizes if any(strides))
        return min(found, math.prod(of.shape))
