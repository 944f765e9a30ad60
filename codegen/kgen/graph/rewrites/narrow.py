"""Constant weights of products in fewer bits: bf16, s8 with a scale for each column, or s4 with one
for each block of 32 (:mod:`kgen_runtime.blocks`).

Each number becomes the nearest one that the narrow type has. The largest of a column of s8 is 127
scales; the scales go into the product's epilogue. Convolutions have columns too, one for each
output channel, in bf16 and s8; those of one channel per group stay as they are. A table of
embeddings that a product has the transpose of is looked up in as the product has it.
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

#: Types that weights may be narrowed to.
WEIGHTS = (BType.BF16, BType.S8, BType.S4)
#: Operators whose second operands are weights.
PRODUCTS = ("MatMul", "Gemm")
#: What the largest number of a column of s8 becomes.
LARGEST = 127.0


def weights_of(model: Model) -> frozenset[str]:
    """The constants that products of matrices have as their weights."""
    used = {node.inputs[1] for node in model.nodes if node.operator in PRODUCTS}
    return frozenset(used & model.constants.keys())


def convolutions_of(model: Model) -> dict[str, Array]:
    """Largest weight of each output channel, by the weights of convolutions.

    Without convolutions before a normalization, whose weights are not the model's, and those of one
    channel per group.
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
    """The graph with products by these constants, if they are matrices of f32, of narrow ones, and
    with these convolutions, but for s4.

    Raises GraphError for weights that are not finite, which s8 and s4 have no numbers for, and for
    a graph that has none to narrow, as one of f16.
    """
    narrowing = _Narrowing(graph, dtype, weights, {} if dtype is BType.S4 else convolutions)
    found = narrowing.all()
    if not narrowing.has_narrowed:
        raise GraphError(
            f"weights={dtype}: the model has no constant matrix of f32 that a product takes; leave "
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
        #: Numbers, and scales if they have some, of tables that are narrow, by their copies' ids.
        self.tables: dict[str, tuple[GraphValue, ...]] = {}
        self.has_narrowed = False
        self.tied = frozenset() if dtype is BType.S4 else self.tied_tables()

    def tied_tables(self) -> frozenset[str]:
        """Gathered tables whose transposes products read in a narrow type."""
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
        """A table's rows, as the columns of its transpose are."""
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
        """The rows of a narrow table in place of those of a table."""
        if step.primitive is not Primitive.VIEW or step.name != "gather":
            return step
        table, index, axis = step.arguments
        if table.name not in self.tables or axis.number:
            return step
        parts = [view("gather", (variable(p.id), index, axis)) for p in self.tables[table.name]]
        return parts[0] if len(parts) == 1 else call("mul", parts)

    def matrix(self, name: str) -> tuple[str, Array] | None:
        """The name and the elements, K x N, of a matrix that is to be narrowed."""
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
        """Largest weight of each output channel of a convolution, in all places of its kernel; None
        for other constants."""
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
            weights = self.blocks(shown, array)
            return self.take(value, self.add(ProductNode(a=a, b=weights.id), value))
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

    def blocks(self, name: str, array: Array) -> GraphValue:
        """A matrix whose columns are rows of blocks; its memory is theirs."""
        rows = self.constant(name, blocks.rounded(array.T), DType.U8)
        shown = self.builder.add(rows.operation, array.T.shape, rows.dtype)
        self.names[shown.id] = name
        return self.builder.permute(shown, (1, 0))

    def constant(self, name: str, array: Array, dtype: DType) -> GraphValue:
        self.has_narrowed = True
        found = self.builder.constant(name, np.ascontiguousarray(array), dtype)
        self.names[found.id] = name
        return found


def in_bf16(array: Array) -> Array:
    """The nearest numbers of bf16, the even one of two."""
    import ml_dtypes

    return array.astype(ml_dtypes.bfloat16)


def in_s8(array: Array, largest: Array | None = None) -> tuple[Array, Array]:
    """Whole numbers, and what each column of them is multiplied by, no subnormal number.

    `largest` holds the number of each column that becomes 127, if the array lacks some rows.
    """
    if largest is None:
        largest = np.abs(array).max(axis=0)
    scales = np.maximum(largest.astype(np.float64) / LARGEST, DType.F32.smallest_normal).astype(
        np.float32
    )
    numbers = np.rint(array.astype(np.float64) / scales.astype(np.float64))
    return np.clip(numbers, -LARGEST, LARGEST).astype(np.int8), scales
