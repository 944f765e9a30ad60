"""Graph rewrite: `where(positions == position, row, state)` becomes a scatter into the state.

The KV cache of a decoder is a state, in which each step writes the row of its token. The `where`
reads and writes the whole cache; the scatter writes one row in place.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgen.graph.ir import FormulaNode, Graph, GraphValue, SourceNode, ViewNode
from kgen.graph.layout import ViewStep
from kgen.graph.reading.model import Array
from kgen.graph.rewrites.rewriting import Rewriting
from kgen.ops.expression import Expression, Primitive, constant, variable
from kgen.ops.registry import call_of
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

INDICES = (DType.S32, DType.S64)


def written_rows(graph: Graph, states: Mapping[str, str]) -> Graph:
    """Return the graph with such selections replaced by scatters.

    `states` maps each input to the output that replaces it in the next run.
    """
    found = {}
    sources = {
        v.operation.name: v for v in graph.values.values() if isinstance(v.operation, SourceNode)
    }
    for past, present in states.items():
        value = graph.values[graph.outputs[present]]
        row = _row_of(graph, value, sources[past])
        if row is not None:
            found[value.id] = row
    return _ScatterRows(graph, found).all() if found else graph


@frozen
class _Row:
    """Row that a step writes into a state, at index `position` along `axis`."""

    state: str
    row: str
    position: str
    axis: int


def _row_of(graph: Graph, value: GraphValue, state: GraphValue) -> _Row | None:
    operation = value.operation
    if not isinstance(operation, FormulaNode) or operation.expression.name != "where":
        return None
    chosen, row, old = operation.expression.arguments
    if old.name != state.id or row.primitive is not Primitive.INPUT:
        return None
    found = _place_of(graph, chosen, value)
    new = graph.values[row.name]
    if found is None or new.dtype is not value.dtype or new.id == state.id:
        return None
    position, axis = found
    behind = value.rank - axis
    if new.rank >= behind and new.shape[-behind] != 1:
        return None
    return _Row(state=state.id, row=row.name, position=position, axis=axis)


def _place_of(graph: Graph, chosen: Expression, value: GraphValue) -> tuple[str, int] | None:
    """Return the position and the axis that a condition compares with 0, 1, ..., or None."""
    steps: list[ViewStep] = []
    while chosen.primitive is Primitive.INPUT:
        operation = graph.values[chosen.name].operation
        if isinstance(operation, ViewNode):
            steps.insert(0, operation.step)
            chosen = variable(operation.of)
        elif isinstance(operation, FormulaNode):
            chosen, shape = operation.expression, graph.values[chosen.name].shape
        else:
            return None
    if chosen.name == "not_equal" and chosen.arguments[1] == constant(0.0):
        return _place_of(graph, chosen.arguments[0], value) if not steps else None
    if chosen.name != "equal" or any(a.primitive is not Primitive.INPUT for a in chosen.arguments):
        return None
    for places, position in (chosen.arguments, chosen.arguments[::-1]):
        known, at = _elements(graph, graph.values[places.name]), graph.values[position.name]
        if known is None or at.dtype not in INDICES or at.rank > 1 or at.shape not in ((), (1,)):
            continue
        for step in steps:
            known = step.of_array(np.broadcast_to(known, shape) if step is steps[0] else known)
        axes = [axis for axis, n in enumerate(known.shape) if n > 1]
        if len(axes) == 1:
            axis = axes[0] + value.rank - known.ndim
            if np.array_equal(known.reshape(-1), np.arange(value.shape[axis])):
                return position.name, axis
    return None


def _elements(graph: Graph, value: GraphValue) -> Array | None:
    """Return the elements of a constant or of a view of one; None for any other value."""
    operation = value.operation
    if isinstance(operation, ViewNode):
        known = _elements(graph, graph.values[operation.of])
        return None if known is None else operation.step.of_array(known)
    if isinstance(operation, SourceNode) and operation.kind == "constant":
        return graph.constants[operation.name]
    return None


def no_place(size: int) -> float:
    """Return an index that a scatter along an axis of `size` elements skips.

    The index lies before the first element when counted from the end. An index past the last
    element would be an error at run time.
    """
    return float(-size - 1)


class _ScatterRows(Rewriting):
    """Copy of a graph with each row-wise selection into a state replaced by a scatter."""

    def __init__(self, graph: Graph, rows: Mapping[str, _Row]) -> None:
        super().__init__(graph)
        self.rows = rows

    def visit(self, value: GraphValue) -> None:
        found = self.rows.get(value.id)
        if found is None:
            return self.copy(value)
        b = self.builder
        size = value.shape[found.axis]
        position = b.reshape(b.values[self.ids[found.position]], (1,))
        # The comparison is exact: a negative position matches nothing and does not count from the
        # end.
        at = variable(position.id)
        place = call_of("where", call_of("less", at, constant(0.0)), constant(no_place(size)), at)
        index = b.add(FormulaNode(expression=place), (1,), position.dtype, value.nodes)
        state, row = (b.values[self.ids[name]] for name in (found.state, found.row))
        made = FormulaNode(expression=b.scatter(state, index, row, found.axis))
        self.take(value, self.add(made, value))
