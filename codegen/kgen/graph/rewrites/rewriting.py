"""Base class of graph rewrites: copy a graph value by value, and replace some values."""

from __future__ import annotations

import dataclasses

from kgen.graph.ir import Builder, FormulaNode, Graph, GraphValue, Operation, ProductNode, ViewNode
from kgen.ops.expression import substituted, variable


class Rewriting:
    """Copy of a graph with new ids. Subclasses override `visit` to replace values."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.builder = graph, Builder({})
        self.builder.constants = dict(graph.constants)
        #: Id of the copy by the id of the original value.
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def all(self) -> Graph:
        for value in self.graph.values.values():
            self.visit(value)
        return Graph(
            name=self.graph.name,
            inputs=tuple(self.ids[name] for name in self.graph.inputs),
            outputs={name: self.ids[of] for name, of in self.graph.outputs.items()},
            values=self.builder.values,
            constants=self.builder.constants,
            names=self.names,
            counts=self.graph.counts,
            stored=self.graph.stored,
            originals=self.graph.originals,
        )

    def visit(self, value: GraphValue) -> None:
        self.copy(value)

    def copy(self, value: GraphValue) -> None:
        self.take(value, self.add(self.moved(value.operation), value))

    def take(self, value: GraphValue, copy: GraphValue) -> None:
        """Register `copy` as the replacement of a value."""
        if value.id in self.graph.names:
            self.names[copy.id] = self.graph.names[value.id]
        self.ids[value.id] = copy.id

    def add(self, operation: Operation, like: GraphValue) -> GraphValue:
        return self.builder.add(operation, like.shape, like.dtype, like.nodes)

    def moved(self, operation: Operation) -> Operation:
        """Return an operation with its operands replaced by their copies."""
        match operation:
            case FormulaNode():
                new = {name: variable(self.ids[name]) for name in operation.operands}
                return FormulaNode(
                    expression=substituted(operation.expression, new), axes=operation.axes
                )
            case ViewNode():
                return ViewNode(of=self.ids[operation.of], step=operation.step)
            case ProductNode():
                return dataclasses.replace(
                    operation, a=self.ids[operation.a], b=self.ids[operation.b]
                )
        return operation
