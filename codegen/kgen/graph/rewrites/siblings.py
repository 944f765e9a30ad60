"""Graph rewrite: merge products that share A and have constant B into one wider product.

Query, key and value projections are the usual case: three products of the same rows, with or
without a bias. Consumers read slices of the wider result, which costs nothing if they read through
views. Products with other formulas after them stay separate, because those formulas fuse into
epilogues.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kgen.graph.ir import FormulaNode, Graph, GraphValue, ProductNode, SourceNode, ViewNode
from kgen.graph.layout import ViewStep
from kgen.graph.memory import ALIGNMENT
from kgen.graph.reading.model import Array
from kgen.graph.rewrites.rewriting import Rewriting
from kgen.ops.expression import call, variable
from kgen_runtime.values import frozen

#: Separator between the names of values that are concatenated.
BESIDE = "|"


@frozen
class Sibling:
    """Product with a constant matrix, and the bias that is added to it, if any."""

    product: GraphValue
    end: GraphValue
    bias: str = ""


def merged(graph: Graph) -> Graph:
    """Return the graph with each group of sibling products merged into one."""
    groups = [group for group in _groups(graph) if len(group) > 1]
    return _MergeSiblings(graph, groups).all() if groups else graph


def _groups(graph: Graph) -> Iterable[list[Sibling]]:
    uses: dict[str, list[GraphValue]] = {}
    for value in graph.values.values():
        for operand in dict.fromkeys(value.operands):
            uses.setdefault(operand, []).append(value)
    found: dict[tuple[object, ...], list[Sibling]] = {}
    outputs = frozenset(graph.outputs.values())
    for value in graph.values.values():
        operation = value.operation
        if not isinstance(operation, ProductNode) or operation.conv is not None:
            continue
        if not _is_matrix(graph, operation.b):
            continue
        sibling = _sibling(graph, value, uses.get(value.id, []))
        after = uses.get(sibling.end.id, [])
        if sibling.end.id in outputs or not after:
            continue
        is_aligned = value.shape[-1] * value.dtype.itemsize % ALIGNMENT == 0
        if is_aligned and all(isinstance(use.operation, ViewNode | ProductNode) for use in after):
            key = (operation.a, bool(sibling.bias), value.shape[:-1])
            found.setdefault(key, []).append(sibling)
    return found.values()


def _is_matrix(graph: Graph, name: str) -> bool:
    value = graph.values[name]
    return _is_constant(value) and value.rank == 2


def _is_constant(value: GraphValue) -> bool:
    return isinstance(value.operation, SourceNode) and value.operation.kind == "constant"


def _sibling(graph: Graph, product: GraphValue, uses: Sequence[GraphValue]) -> Sibling:
    """Return a product with its bias, if its only use is the addition of a constant vector."""
    alone = Sibling(product=product, end=product)
    if len(uses) != 1 or not isinstance(formula := uses[0].operation, FormulaNode):
        return alone
    for name in formula.operands:
        other = graph.values[name]
        sums = (
            call("add", map(variable, pair)) for pair in ((product.id, name), (name, product.id))
        )
        is_vector = _is_constant(other) and other.shape == product.shape[-1:]
        if is_vector and uses[0].shape == product.shape and formula.expression in sums:
            return Sibling(product=product, end=uses[0], bias=name)
    return alone


class _MergeSiblings(Rewriting):
    """Copy of a graph with each group of sibling products merged into one."""

    def __init__(self, graph: Graph, groups: Sequence[list[Sibling]]) -> None:
        super().__init__(graph)
        self.first = {group[0].product.id: group for group in groups}
        #: Products and biased results of all groups, which are replaced together.
        self.members = {
            name for group in groups for s in group for name in (s.product.id, s.end.id)
        }

    def visit(self, value: GraphValue) -> None:
        if value.id in self.first:
            self.group(self.first[value.id])
        elif value.id not in self.members:
            self.copy(value)

    def group(self, siblings: Sequence[Sibling]) -> None:
        b, first = self.builder, siblings[0]
        a = b.values[self.ids[first.product.operands[0]]]
        nodes = tuple(n for s in siblings for n in dict.fromkeys(s.product.nodes + s.end.nodes))
        wide = sum(s.product.shape[-1] for s in siblings)
        shape = (*first.product.shape[:-1], wide)
        product = ProductNode(a=a.id, b=self.beside([s.product.operands[1] for s in siblings]).id)
        found = b.add(product, shape, first.product.dtype, nodes)
        if first.bias:
            bias = self.beside([s.bias for s in siblings])
            total = call("add", (variable(found.id), variable(bias.id)))
            found = b.add(FormulaNode(expression=total), shape, found.dtype, nodes)
        names = [self.graph.names.get(s.end.id, "") for s in siblings]
        if all(names):
            self.names[found.id] = BESIDE.join(names)
        start = 0
        for sibling, name in zip(siblings, names, strict=True):
            count = sibling.end.shape[-1]
            step = ViewStep(kind="slice", numbers=(len(shape) - 1, start, count, 1))
            part = b.add(ViewNode(of=found.id, step=step), sibling.end.shape, found.dtype, ())
            self.ids[sibling.end.id] = part.id
            self.names.setdefault(part.id, name or part.id)
            start += count

    def beside(self, names: Sequence[str]) -> GraphValue:
        """Return constant matrices or vectors concatenated along their columns."""
        values = [self.graph.values[name] for name in names]
        arrays: list[Array] = [
            self.graph.constants[v.operation.name]
            for v in values
            if isinstance(v.operation, SourceNode)
        ]
        name = BESIDE.join(self.graph.names[name] for name in names)
        found = self.builder.constant(name, np.concatenate(arrays, axis=-1), values[0].dtype)
        self.names[found.id] = name
        return found
