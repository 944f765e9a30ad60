"""Graph rewrite: tied weights share memory; a transposed copy of a constant becomes a view.

The output projection of a decoder multiplies by the transpose of the embedding table, which the
model stores as a second constant. The rewrite applies only to a skinny GEMM (:data:`SKINNY`), whose
time is that of reading B: it reads B unpacked as fast as prepacked.
"""

from __future__ import annotations

import math

import numpy as np

from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, SourceNode
from kgen.graph.rewrites.rewriting import Rewriting
from kgen.ops.expression import Expression, Primitive, steps

#: Largest M of a GEMM that is limited by reading B, whatever its layout.
SKINNY = 4


def tied(graph: Graph) -> Graph:
    """Return the graph with skinny products that read the transposes of gathered tables."""
    tables = gathered_tables(graph)
    return _ShareTable(graph, tables).all() if tables else graph


def gathered_tables(graph: Graph) -> dict[tuple[int, ...], GraphValue]:
    """Return the constant matrices that a Gather reads, by shape."""
    found = {}
    for value in graph.values.values():
        if isinstance(value.operation, FormulaNode):
            for name in _gathered(value.operation.expression):
                table = graph.values[name]
                if _is_matrix(table):
                    found[table.shape] = table
    return found


def _gathered(expression: Expression) -> list[str]:
    """Return the names of the tables that an expression gathers from."""
    return [
        step.arguments[0].name
        for step in steps(expression)
        if step.primitive is Primitive.VIEW and step.name == "gather" and step.arguments[0].name
    ]


def _is_matrix(value: GraphValue) -> bool:
    operation = value.operation
    return isinstance(operation, SourceNode) and operation.kind == "constant" and value.rank == 2


class _ShareTable(Rewriting):
    """Copy of a graph with transposes of gathered tables replaced by views of the tables."""

    def __init__(self, graph: Graph, tables: dict[tuple[int, ...], GraphValue]) -> None:
        super().__init__(graph)
        self.tables = tables

    def visit(self, value: GraphValue) -> None:
        operation = value.operation
        if not isinstance(operation, ProductNode) or operation.conv is not None:
            return self.copy(value)
        if math.prod(value.shape[:-1]) > SKINNY:
            return self.copy(value)
        table = self.table(self.graph.values[operation.b])
        if table is None:
            return self.copy(value)
        made = self.builder.permute(self.builder.values[self.ids[table.id]], (1, 0))
        self.take(value, self.add(ProductNode(a=self.ids[operation.a], b=made.id), value))

    def table(self, matrix: GraphValue) -> GraphValue | None:
        """Return the table that a constant matrix is the transpose of, or None."""
        found = self.tables.get(matrix.shape[::-1])
        if found is None or found.dtype is not matrix.dtype or not _is_matrix(matrix):
            return None
        one, other = (
            self.graph.constants[v.operation.name]
            for v in (found, matrix)
            if isinstance(v.operation, SourceNode)
        )
        return found if np.array_equal(one.T, other) else None
