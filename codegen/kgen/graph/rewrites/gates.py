"""Graph rewrite: a gate of channels multiplies the weights of the product that follows.

A squeeze-and-excite block multiplies each channel of an image by a number that the model computes,
and a 1x1 convolution reads the result: (x * gate) W = x (gate^T * W). The weights are scaled
instead of the image if they are smaller; the image is then read once, by the product.
"""

from __future__ import annotations

import math

from kgen.graph.fusing.paths import reachable, uses_of
from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, SourceNode
from kgen.graph.rewrites.rewriting import Rewriting
from kgen.ops.expression import Primitive, call, variable

#: Passes over scaled weights that a product of constant weights does without: the multiplication
#: by the gate, and packing.
PASSES = 2


def gated(graph: Graph) -> Graph:
    """Return the graph with gates of large images moved to the weights of their products."""
    uses, outputs = uses_of(graph, reachable(graph)), set(graph.outputs.values())
    found = {}
    for value in graph.values.values():
        operation = value.operation
        if not isinstance(operation, ProductNode) or operation.conv is not None:
            continue
        is_read_again = operation.a in outputs or uses.get(operation.a) != [value.id]
        if not is_read_again and (gate := _gate(graph, operation)) is not None:
            found[value.id] = gate
    return _MoveGates(graph, found).all() if found else graph


def _gate(graph: Graph, product: ProductNode) -> tuple[GraphValue, GraphValue] | None:
    """Return the image and the gate of its channels whose product is A; None for another A."""
    a, b = graph.values[product.a], graph.values[product.b]
    is_constant = isinstance(b.operation, SourceNode) and b.operation.kind == "constant"
    if not isinstance(a.operation, FormulaNode) or not is_constant or b.rank != 2:
        return None
    whole = a.operation.expression
    if whole.name != "mul" or any(x.primitive is not Primitive.INPUT for x in whole.arguments):
        return None
    factors = [graph.values[x.name] for x in whole.arguments]
    image, gate = sorted(factors, key=lambda value: math.prod(value.shape), reverse=True)
    if a.dtype.is_integer or {image.dtype, gate.dtype, b.dtype} != {a.dtype}:
        return None
    if gate.rank != a.rank or a.rank < 2:
        return None
    images, *between, channels = gate.shape
    fits = image.shape == a.shape and channels == a.shape[-1]
    if not fits or max(between, default=1) > 1 or isinstance(gate.operation, SourceNode):
        return None
    is_larger = math.prod(a.shape) > PASSES * images * math.prod(b.shape)
    return (image, gate) if is_larger else None


class _MoveGates(Rewriting):
    """Copy of a graph in which some products multiply an image by gated weights."""

    def __init__(self, graph: Graph, gates: dict[str, tuple[GraphValue, GraphValue]]) -> None:
        super().__init__(graph)
        self.gates = gates

    def visit(self, value: GraphValue) -> None:
        if value.id not in self.gates:
            return self.copy(value)
        b, operation = self.builder, value.operation
        assert isinstance(operation, ProductNode)
        image, gate = self.gates[value.id]
        weights = self.graph.values[operation.b]
        images = gate.shape[0]
        batch = (images, *gate.shape[1:-2]) if images > 1 else ()
        column = b.reshape(b.values[self.ids[gate.id]], (*batch, gate.shape[-1], 1))
        scaled = b.add(
            FormulaNode(
                expression=call("mul", (variable(column.id), variable(self.ids[weights.id])))
            ),
            (*batch, *weights.shape),
            value.dtype,
            self.graph.values[operation.a].nodes,
        )
        self.take(value, self.add(ProductNode(a=self.ids[image.id], b=scaled.id), value))
