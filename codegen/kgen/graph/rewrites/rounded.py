"""Mixed precision: matrix products of f32 read bf16 or f16 operands, and still accumulate in f32.

The conversion is inserted before all views of an operand, at the value that is written to memory.
The producer then writes 16-bit numbers, and the product reads half the bytes.
"""

from __future__ import annotations

from collections.abc import Collection

from kgen.errors import GraphError
from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, SourceNode, ViewNode
from kgen.graph.reading.model import Array, Model
from kgen.graph.rewrites.narrow import PRODUCTS, in_bf16
from kgen.graph.rewrites.rewriting import Rewriting
from kgen.ops.expression import call, variable
from kgen_runtime.dtypes import DType

#: Types of the operands.
TYPES = (DType.BF16, DType.F16)


def product_nodes(model: Model) -> frozenset[str]:
    """Return the names of the nodes that are matrix products."""
    return frozenset(node.name for node in model.nodes if node.operator in PRODUCTS)


def rounded(graph: Graph, dtype: DType, nodes: Collection[str]) -> Graph:
    """Return the graph with the f32 products of these nodes on 16-bit operands.

    Raises GraphError if the model has no such product.
    """
    rounding = _Rounding(graph, dtype, nodes)
    found = rounding.all()
    if not rounding.has_rounded:
        raise GraphError(
            f"products={dtype}: the model has no MatMul or Gemm of f32; leave products out, or "
            "export the model in f32"
        )
    return found


class _Rounding(Rewriting):
    def __init__(self, graph: Graph, dtype: DType, nodes: Collection[str]) -> None:
        super().__init__(graph)
        self.dtype, self.nodes = dtype, nodes
        self.has_rounded = False

    def visit(self, value: GraphValue) -> None:
        operation = value.operation
        operands = [self.graph.values[name] for name in value.operands]
        if (
            not isinstance(operation, ProductNode)
            or any(operand.dtype is not DType.F32 for operand in operands)
            or not any(node in self.nodes for node in value.nodes)
        ):
            return self.copy(value)
        self.has_rounded = True
        a, b = (self.rounded(operand) for operand in operands)
        self.take(value, self.add(ProductNode(a=a.id, b=b.id), value))

    def rounded(self, value: GraphValue) -> GraphValue:
        """Return an operand converted to the 16-bit type."""
        operation, b = value.operation, self.builder
        name = self.graph.names.get(value.id)
        if isinstance(operation, ViewNode):
            of = self.rounded(self.graph.values[operation.of])
            made = b.add(
                ViewNode(of=of.id, step=operation.step), value.shape, self.dtype, value.nodes
            )
        elif isinstance(operation, SourceNode) and operation.kind == "constant":
            name = f"{operation.name}:{self.dtype}"
            made = b.constant(name, self.narrow(self.graph.constants[operation.name]), self.dtype)
        else:
            cast = call("cast", (variable(self.ids[value.id]),))
            made = b.add(FormulaNode(expression=cast), value.shape, self.dtype, value.nodes)
        if name is not None:
            self.names.setdefault(made.id, name)
        return made

    def narrow(self, array: Array) -> Array:
        return in_bf16(array) if self.dtype is DType.BF16 else array.astype(self.dtype.storage)
