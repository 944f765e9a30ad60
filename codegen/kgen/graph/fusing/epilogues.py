"""Epilogue fusion: which element-wise formulas become part of a GEMM or convolution kernel.

A product absorbs all formulas up to the farthest value that post-dominates it (all its uses lead to
that value). The formulas must be element-wise, and their other operands must have a shape that an
epilogue reads: n, m x 1, a single number, or the shape of the result. The module also chooses the
layout in which a product writes its result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kgen.graph.fusing.limits import MOST_CHARACTERS, MOST_OPERANDS, is_too_long
from kgen.graph.fusing.paths import joins_of, origin
from kgen.graph.fusing.products import convolution, extent_of, product_extents
from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, SourceNode, ViewNode
from kgen.graph.layout import StridedLayout, replayed
from kgen.graph.operators.signed_bytes import Dequantization, is_saturated
from kgen.ops.expression import Expression, substituted, variable
from kgen.ops.views import has_views
from kgen_runtime.dtypes import DType


class Epilogues:
    """Epilogues of all products of a graph.

    - `root_of` maps a product to the value that its kernel writes, and `products` is the inverse.
    - `regions` maps that value to the values that its kernel computes after the product.
    - `memory` has the layouts of results that are not packed.
    - `roots` are the materialized values.
    """

    def __init__(
        self, graph: Graph, order: Sequence[GraphValue], uses: Mapping[str, Sequence[str]]
    ) -> None:
        self.graph, self.values, self.order, self.uses = graph, graph.values, order, uses
        self.roots = {v.id for v in order if isinstance(v.operation, SourceNode | ProductNode)}
        self.root_of: dict[str, str] = {}
        self.products: dict[str, str] = {}
        self.regions: dict[str, frozenset[str]] = {}
        #: Written value of the region that each value belongs to.
        self.region_of: dict[str, str] = {}
        self.outputs = frozenset(graph.outputs.values())
        self.memory: dict[str, StridedLayout] = {}
        self.find()

    def find(self) -> None:
        """Absorb the formulas after each product, and choose the layouts of the results."""
        joins = joins_of(self.order, self.uses, self.outputs)
        # Go backwards: of several products that are added, the last one takes the sum of the others
        # as an operand.
        for value in reversed(self.order):
            if isinstance(value.operation, ProductNode):
                self._absorb(value, joins)
        for value in self.order:
            root = self.root_of.get(value.id, value.id)
            if isinstance(value.operation, ProductNode):
                self._reorder(value, root)

    def _absorb(self, product: GraphValue, joins: Mapping[str, str | None]) -> None:
        at: str | None = product.id
        while at is not None and (at := joins.get(at)) is not None:
            if isinstance(self.values[at].operation, ViewNode):
                continue
            previous = self.root_of.get(product.id)
            if previous is not None and self.is_widened(previous, at):
                continue
            region = self.between(product.id, at)
            if at in self.products or (region and self.is_taken(region, product.id)):
                return
            if region is None or not self.is_epilogue(product, at, region):
                return
            if previous is not None:
                self.roots.discard(previous)
                for name in self.regions[previous]:
                    del self.region_of[name]
                del self.products[previous], self.regions[previous]
            self.root_of[product.id], self.products[at] = at, product.id
            self.regions[at] = region
            self.region_of.update(dict.fromkeys(region, at))
            self.roots.add(at)

    def is_widened(self, root: str, end: str) -> bool:
        """Whether an epilogue would write s8 as f32.

        The conversion then stays with the consumers.
        """
        dtypes = self.values[root].dtype, self.values[end].dtype
        return dtypes == (DType.S8, DType.F32) and end not in self.outputs

    def is_taken(self, region: frozenset[str], product: str) -> bool:
        """Whether the epilogue of another product contains one of these values."""
        own = self.root_of.get(product)
        return any(self.region_of.get(name, own) != own for name in region)

    def between(self, product: str, end: str) -> frozenset[str] | None:
        """Return the formulas on all paths from a product to the value `end`.

        Returns None if a path holds another product, a view that moves elements or a reduction, or
        if there are more values than an epilogue can have.
        """
        found: set[str] = set()
        left = [*self.uses.get(product, ())]
        while left:
            name = left.pop()
            if name in found:
                continue
            if len(found) > MOST_CHARACTERS:
                return None
            operation = self.values[name].operation
            if isinstance(operation, ProductNode) or (
                isinstance(operation, ViewNode) and not operation.step.keeps_order
            ):
                return None
            if isinstance(operation, FormulaNode) and (
                operation.axes or has_views(operation.expression)
            ):
                return None
            found.add(name)
            if name != end:
                left += self.uses.get(name, ())
        operands = {x for name in found for x in self.values[name].operands}
        return frozenset(found) | {x for x in operands if self.is_dequantized(x, product)}

    def is_dequantized(self, name: str, product: str) -> bool:
        """Whether a value dequantises s8 for one formula only, in the shape of a product.

        The epilogue then reads the s8 operand itself.
        """
        value = self.values[name]
        if not isinstance(value.operation, FormulaNode) or len(self.uses[name]) != 1:
            return False
        parts = Dequantization.of(value.operation.expression)
        return (
            parts is not None
            and parts.numbers in self.values
            and self.values[parts.numbers].dtype is DType.S8
            and math.prod(value.shape) == math.prod(self.values[product].shape)
        )

    def is_epilogue(self, product: GraphValue, end: str, region: frozenset[str]) -> bool:
        """Whether an epilogue can compute all formulas of a region.

        Types, shapes and the number of operands must fit.
        """
        last = self.values[end]
        # The output of an f32 sum may have the type of the product's operands.
        types = {product.dtype, self.values[product.operands[0]].dtype}
        finishes_in = product.dtype
        if product.dtype is DType.S32:
            types, finishes_in = {DType.F32, DType.S8}, DType.F32
        if last.dtype not in types or math.prod(last.shape) != math.prod(product.shape):
            return False
        extents = product_extents(self.graph, product)
        operands = set()
        for name in region:
            value = self.values[name]
            if not isinstance(value.operation, FormulaNode):
                continue
            if math.prod(value.shape) != math.prod(product.shape):
                return False
            is_whole = value.dtype is DType.S8 and is_saturated(value.operation.expression)
            is_between = name != end and product.dtype is DType.S32
            if is_between and value.dtype is not finishes_in and not is_whole:
                # The kernel would not round an intermediate value to its integer type; saturated s8
                # needs no rounding.
                return False
            for operand in value.operands:
                at, views = origin(self.values, self.roots, operand)
                if operand in region or at in region or at == product.id:
                    if views and not all(step.keeps_order for step in views):
                        return False
                    continue
                operands.add(operand)
                layout = replayed(StridedLayout.of(self.values[at].shape), views)
                if layout is None:
                    return False
                # An operand of the result's shape has the output's type.
                own = self.values[at].dtype
                layout = layout.expanded(value.shape)
                extent = extent_of(self.graph, layout, extents, own.itemsize)
                if extent is None or own is not (last.dtype if extent == "mxn" else finishes_in):
                    return False
                if extent == "mxn" and own not in (finishes_in, DType.S8):
                    return False
                if extent == "mx1" and convolution(product) is not None:
                    return False
        expression = self.expanded(end, region)
        return not is_too_long(expression) and len(operands) <= MOST_OPERANDS - 3

    def expanded(self, end: str, region: frozenset[str]) -> Expression:
        """Return the formula of a value with all formulas of a region substituted."""
        done: dict[str, Expression] = {}
        for name in sorted(region, key=lambda name: int(name[1:])):
            operation = self.values[name].operation
            if isinstance(operation, ViewNode):
                done[name] = done.get(operation.of, variable(operation.of))
            else:
                assert isinstance(operation, FormulaNode)
                done[name] = substituted(operation.expression, done)
        return done[end]

    def _reorder(self, product: GraphValue, root: str) -> None:
        """Write the result in permuted order if all uses permute it first."""
        shape = self.values[root].shape
        wanted = self._wanted(root)
        if wanted is None or shape != product.shape or self.has_full_operand(root, product):
            return
        layout = wanted.reshaped(shape)
        if layout is None:
            return
        extents = product_extents(self.graph, product)
        cut = layout.reshaped(extents)
        if cut is None or (convolution(product) is not None and not cut.is_packed):
            return
        if cut.strides[-1] == 1 or extents[-1] == 1:
            self.memory[root] = layout

    def _wanted(self, name: str) -> StridedLayout | None:
        """Return the layout of a value in which every use sees a packed tensor.

        Uses may reshape and permute the value. Returns None if no layout serves all uses.
        """
        if name in self.outputs:
            return None
        found: set[StridedLayout | None] = set()
        for use in self.uses.get(name, ()):
            value = self.values[use]
            if not isinstance(value.operation, ViewNode):
                return None
            kind, axes = value.operation.step.kind, value.operation.step.numbers
            if kind == "permute" and axes[-1] == len(axes) - 1:
                back = [axes.index(axis) for axis in range(len(axes))]
                found.add(StridedLayout.of(value.shape).permuted(back))
            else:
                found.add(self._wanted(use) if kind == "reshape" else None)
        return found.pop() if len(found) == 1 else None

    def has_full_operand(self, root: str, product: GraphValue) -> bool:
        extents = product_extents(self.graph, product)
        for name in self.regions.get(root, ()):
            value = self.values[name]
            for operand in value.operands:
                at, views = origin(self.values, self.roots, operand)
                if at in self.regions[root] or at == product.id:
                    continue
                layout = replayed(StridedLayout.of(self.values[at].shape), views)
                if layout is None:
                    continue
                layout, itemsize = layout.expanded(value.shape), self.values[at].dtype.itemsize
                if extent_of(self.graph, layout, extents, itemsize) == "mxn":
                    return True
        return False
