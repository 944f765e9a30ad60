"""Weight-only quantisation: constant weights of products in bf16, s8 or s4.

s8 has a scale per column, and the largest weight of a column becomes 127; s4 has a scale per block
of 32 (:mod:`kgen_runtime.blocks`). Each weight becomes the nearest number of the type. Scales of s8
become part of the product's epilogue. Zero points of weights that a model stores in 4 bits become a
second, small product. Convolutions support bf16 and s8, with a scale per output channel; depthwise
convolutions keep their weights. An embedding table whose transpose a product reads (tied weights)
is looked up in its narrow form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from kgen.errors import GraphError
from kgen.graph.ir import (
    TRANSPOSED,
    FormulaNode,
    Graph,
    GraphValue,
    ProductNode,
    SourceNode,
    ViewNode,
)
from kgen.graph.reading.model import Array, Model
from kgen.graph.rewrites.rewriting import Rewriting
from kgen.graph.rewrites.siblings import BESIDE
from kgen.graph.rewrites.tied_weights import gathered_tables
from kgen.ops.expression import Expression, Primitive, call, rebuilt, variable, view
from kgen.spec.choices import BType
from kgen_runtime import blocks
from kgen_runtime.dtypes import DType

#: Types of narrow weights.
WEIGHTS = (BType.BF16, BType.S8, BType.S4)
#: Operators whose second operand is a matrix of weights.
PRODUCTS = ("MatMul", "Gemm")
#: Quantised value of the largest weight of a column of s8.
LARGEST = 127.0


def weights_of(model: Model) -> frozenset[str]:
    """Return the constants that matrix products take as weights."""
    used = {node.inputs[1] for node in model.nodes if node.operator in PRODUCTS}
    return frozenset(used & model.constants.keys())


def convolutions_of(model: Model) -> dict[str, Array]:
    """Return the largest weight of each output channel, by the name of a convolution's weights.

    Depthwise convolutions are excluded, and convolutions before a BatchNormalization, whose weights
    change when the normalization is folded.
    """
    normalized = {n.inputs[0] for n in model.nodes if n.operator == "BatchNormalization"}
    return {
        node.inputs[1]: np.abs(weights).reshape(len(weights), -1).max(axis=1)
        for node in model.nodes
        if node.operator == "Conv" and not node.others and node.outputs[0] not in normalized
        if (weights := model.constants.get(node.inputs[1])) is not None and weights.size
        if weights.shape[1] > 1 or node.attribute("group", 1) == 1
    }


def narrowed(
    graph: Graph, dtype: BType, weights: frozenset[str], convolutions: Mapping[str, Array]
) -> Graph:
    """Return the graph with narrow weights in products and convolutions that take these constants.

    Convolutions keep their weights for s4. Raises GraphError for weights with NaN or infinity,
    which s8 and s4 cannot hold, and for a model without a constant f32 matrix.
    """
    narrowing = _Narrowing(graph, dtype, weights, {} if dtype is BType.S4 else convolutions)
    found = narrowing.all()
    if not narrowing.has_narrowed:
        raise GraphError(
            f"weights={dtype}: the model has no constant matrix of f32 that a product reads; leave "
            "weights out, or export the model in f32"
        )
    return found


class _Narrowing(Rewriting):
    def __init__(
        self,
        graph: Graph,
        dtype: BType,
        weights: frozenset[str],
        convolutions: Mapping[str, Array],
    ) -> None:
        super().__init__(graph)
        self.dtype, self.weights, self.convolutions = dtype, weights, convolutions
        #: Narrow form of each table, by the table's id: quantised elements, and scales for s8.
        self.tables: dict[str, tuple[GraphValue, ...]] = {}
        self.has_narrowed = False
        self.tied = frozenset() if dtype is BType.S4 else self.tied_tables()

    def tied_tables(self) -> frozenset[str]:
        """Return the gathered tables whose transposes products read as weights."""
        tables, found = gathered_tables(self.graph), set()
        for value in self.graph.values.values() if tables else ():
            if isinstance(value.operation, ProductNode) and value.dtype is DType.F32:
                _, array = self.matrix(value.operation.b) or ("", None)
                table = None if array is None else tables.get(array.shape[::-1])
                if array is not None and table is not None:
                    rows = self.graph.constants[cast(SourceNode, table.operation).name]
                    found |= {table.id} if np.array_equal(rows.T, array) else set()
        return frozenset(found)

    def visit(self, value: GraphValue) -> None:
        operation = value.operation
        if value.id in self.tied:
            self.copy(value)
            return self.narrow_table(value, cast(SourceNode, operation).name)
        if isinstance(operation, FormulaNode) and self.tables:
            looked_up = rebuilt(cast(FormulaNode, self.moved(operation)).expression, self.look_up)
            made = FormulaNode(expression=looked_up, axes=operation.axes)
            return self.take(value, self.add(made, value))
        if not isinstance(operation, ProductNode) or value.dtype is not DType.F32:
            return self.copy(value)
        matrix = self.matrix(operation.b)
        if matrix is None:
            return self.copy(value)
        self.multiply(value, operation, *matrix)

    def narrow_table(self, value: GraphValue, name: str) -> None:
        """Quantise a table with a scale per row, which is a column of the transpose."""
        array, shown = self.graph.constants[name], f"{name}:{self.dtype}"
        if self.dtype is BType.BF16:
            numbers = self.constant(shown, in_bf16(array), DType.BF16)
            self.tables[self.ids[value.id]] = (numbers,)
            return
        found, scales = in_s8(self.finite(name, array).T)
        self.tables[self.ids[value.id]] = (
            self.constant(shown, found.T, DType.S8),
            self.constant(f"{shown}:scales", scales[:, None], DType.F32),
        )

    def look_up(self, step: Expression) -> Expression:
        """Return a Gather of a narrow table in place of a Gather of the table."""
        if step.primitive is not Primitive.VIEW or step.name != "gather":
            return step
        table, index, axis = step.arguments
        if table.name not in self.tables or axis.number:
            return step
        parts = [view("gather", (variable(p.id), index, axis)) for p in self.tables[table.name]]
        return parts[0] if len(parts) == 1 else call("mul", parts)

    def matrix(self, name: str) -> tuple[str, Array] | None:
        """Return the name and the K x N elements of a matrix to quantise.

        Returns None for any other operand.
        """
        value = self.graph.values[name]
        operation = value.operation
        if isinstance(operation, ViewNode) and operation.step.kind == "permute":
            found = self.matrix(operation.of)
            return None if found is None else (f"{found[0]}{TRANSPOSED}", found[1].T)
        if not isinstance(operation, SourceNode) or operation.kind != "constant" or value.rank != 2:
            return None
        known = all(
            part.removesuffix(TRANSPOSED) in self.weights or self.largest(part) is not None
            for part in operation.name.split(BESIDE)
        )
        if value.dtype is not DType.F32 or not known:
            return None
        return operation.name, self.graph.constants[operation.name]

    def largest(self, name: str) -> Array | None:
        """Return the largest weight of each output channel of a convolution.

        Returns None for other constants.
        """
        return self.convolutions.get(self.graph.originals.get(name, ""))

    def multiply(self, value: GraphValue, operation: ProductNode, name: str, array: Array) -> None:
        b = self.builder
        shown = f"{name}:{self.dtype}"
        a = self.ids[operation.a]
        if self.dtype is BType.BF16:
            weights = self.constant(shown, in_bf16(array), DType.BF16)
            made = ProductNode(a=a, b=weights.id, conv=operation.conv)
            return self.take(value, self.add(made, value))
        array = self.finite(name, array)
        if self.dtype is BType.S4:
            return self.take(value, self.by_blocks(value, a, shown, array))
        columns = [self.largest(part) for part in name.split(BESIDE)]
        found = [column for column in columns if column is not None]
        whole = len(found) == len(columns)
        numbers, scales = in_s8(array, np.concatenate(found) if whole else None)
        weights = self.constant(shown, numbers, DType.S8)
        factors = self.constant(f"{shown}:scale", scales, DType.F32)
        product = self.add(ProductNode(a=a, b=weights.id, conv=operation.conv), value)
        scaled = call("mul", (variable(product.id), variable(factors.id)))
        self.take(
            value, b.add(FormulaNode(expression=scaled), value.shape, value.dtype, value.nodes)
        )

    def finite(self, name: str, array: Array) -> Array:
        if not np.isfinite(array).all():
            raise GraphError(
                f"weights {name} hold NaN or infinity, which {self.dtype} lacks; leave --weights "
                "out, or take bf16"
            )
        return array

    def by_blocks(self, value: GraphValue, a: str, name: str, array: Array) -> GraphValue:
        """Return a product with a matrix of s4.

        With zero points, a number is added to all weights of a block. A second product computes
        these terms: the sums of A over each block, times a small matrix of these numbers.
        """
        b, weights = self.builder, array.T
        if not blocks.is_quantised(weights) and blocks.is_quantised(
            halves := blocks.spread(weights)
        ):
            weights, a = halves, self.spread(b.values[a], value.nodes).id
        numbers, added = blocks.rounded_and_added(weights)
        rows = self.constant(name, numbers, DType.U8)
        shown = b.add(rows.operation, weights.shape, rows.dtype)
        self.names[shown.id] = name
        product = self.add(ProductNode(a=a, b=b.permute(shown, (1, 0)).id), value)
        if not added.any():
            return product
        beside = self.constant(f"{name}:added", added.T, DType.F32)
        sums = self.sums_of_blocks(b.values[a], value.nodes)
        other = self.add(ProductNode(a=sums.id, b=beside.id), value)
        total = call("add", (variable(product.id), variable(other.id)))
        return self.add(FormulaNode(expression=total), value)

    def padded(self, a: GraphValue, count: int, nodes: tuple[str, ...]) -> GraphValue:
        """Return a tensor with this many zeros behind its last axis."""
        if not count:
            return a
        *outer, k = a.shape
        wider = FormulaNode(expression=view("pad", (variable(a.id), len(outer), 0, count, 0.0)))
        return self.builder.add(wider, (*outer, k + count), a.dtype, nodes)

    def spread(self, a: GraphValue, nodes: tuple[str, ...]) -> GraphValue:
        """Return A with as many zeros behind each block of 16 along its last axis."""
        b, (*outer, k) = self.builder, a.shape
        whole = self.padded(a, -k % blocks.HALF, nodes)
        split = b.reshape(whole, (*outer, -(-k // blocks.HALF), blocks.HALF))
        return b.reshape(self.padded(split, blocks.HALF, nodes), (*outer, 2 * whole.shape[-1]))

    def sums_of_blocks(self, a: GraphValue, nodes: tuple[str, ...]) -> GraphValue:
        """Return the sums of the last axis' blocks, the last of which may be a part of one."""
        b, (*outer, k) = self.builder, a.shape
        count = -(-k // blocks.BLOCK)
        whole = self.padded(a, count * blocks.BLOCK - k, nodes)
        split = b.reshape(whole, (*outer, count, blocks.BLOCK))
        total = FormulaNode(expression=call("sum", (variable(split.id),)), axes=(a.rank,))
        sums = b.add(total, (*outer, count, 1), a.dtype, nodes)
        return b.reshape(sums, (*outer, count))

    def constant(self, name: str, array: Array, dtype: DType) -> GraphValue:
        self.has_narrowed = True
        found = self.builder.constant(name, np.ascontiguousarray(array), dtype)
        self.names[found.id] = name
        return found


def in_bf16(array: Array) -> Array:
    """Round to bf16, to nearest with ties to even."""
    import ml_dtypes

    return array.astype(ml_dtypes.bfloat16)


def in_s8(array: Array, largest: Array | None = None) -> tuple[Array, Array]:
    """Return the quantised matrix in s8, and the scale of each column; no scale is subnormal.

    `largest` is the magnitude that becomes 127, for each column. By default it is the largest one
    in the array; a caller with only some of the rows gives that of all rows.
    """
    if largest is None:
        largest = np.abs(array).max(axis=0)
    scales = np.maximum(largest.astype(np.float64) / LARGEST, DType.F32.smallest_normal).astype(
        np.float32
    )
    numbers = np.rint(array.astype(np.float64) / scales.astype(np.float64))
    return np.clip(numbers, -LARGEST, LARGEST).astype(np.int8), scales
