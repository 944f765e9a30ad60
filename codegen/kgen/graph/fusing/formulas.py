"""Formulas of roots: what a fused graph is made of, and what a formula says of its operands."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.graph.fusing.limits import size_of
from kgen.graph.ir import FormulaNode, Graph, GraphValue
from kgen.graph.layout import StridedLayout
from kgen.graph.reading.model import Shape
from kgen.ops.expression import (
    Expression,
    Primitive,
    inputs,
    rebuilt,
    steps,
    substituted,
    variable,
    with_arguments,
)
from kgen.ops.views import INDEXED, has_views
from kgen.spec.inference import is_scatter
from kgen_runtime.values import frozen


@frozen
class Leaf:
    """A root, and the layout that a formula reads it in. What is an index and a number in one
    formula is two leaves, as a kernel reads both in types of their own."""

    root: str
    layout: StridedLayout
    is_index: bool = False


@frozen
class Lazy:
    """A value as a formula of leaves: its variables are theirs.

    `axes` of `domain` are those of its row-wise functions; without them the domain is its shape.
    `inlined` are the values that are in it.
    """

    value: GraphValue
    expression: Expression
    domain: Shape
    axes: tuple[int, ...] = ()
    inlined: frozenset[str] = frozenset()

    @property
    def is_plain(self) -> bool:
        return not has_views(self.expression)


@frozen
class Fused:
    """`roots` that kernels write, in order, with their formulas; `products` by the root that has
    them in its formula. `memory` is how a root's elements lie."""

    graph: Graph
    roots: tuple[str, ...]
    formulas: Mapping[str, Lazy]
    products: Mapping[str, str]
    leaves: Mapping[str, Leaf]
    memory: Mapping[str, StridedLayout]
    operands: Mapping[str, tuple[Leaf, Leaf]]
    outputs: Mapping[str, str]


def is_scattered(value: GraphValue) -> bool:
    """Whether a kernel of its own writes the value into another one."""
    return isinstance(value.operation, FormulaNode) and is_scatter(value.operation.expression)


def viewed_operands(expression: Expression) -> tuple[frozenset[str], frozenset[str]]:
    """Operands of views in a formula, which have to have their own shape; and of these the tables
    and indices of gathers and scatters, and what is looked at in several ways, which have to be in
    memory."""
    exact: set[str] = set()
    rooted: set[str] = set()
    looks: dict[Expression, dict[str, int]] = {}
    for step in steps(expression):
        if step.primitive is Primitive.INPUT:
            looks[step] = {step.name: 1}
            continue
        looks[step] = {}
        for argument in step.arguments:
            for name, count in looks[argument].items():
                looks[step][name] = looks[step].get(name, 0) + count
        if step.primitive is Primitive.VIEW:
            exact.update(inputs(step))
            if step.name in INDEXED:
                rooted.update(inputs(step.arguments[0]) + inputs(step.arguments[1]))
    rooted.update(name for name in exact if looks[expression][name] > 1)
    return frozenset(exact), frozenset(rooted)


def indices_apart(expression: Expression) -> tuple[Expression, dict[str, str]]:
    """The expression with names of their own for inputs where others are gathered or scattered by
    them, and the inputs by these names."""
    names: dict[str, str] = {}

    def change(step: Expression) -> Expression:
        if step.primitive is not Primitive.VIEW or step.name not in INDEXED:
            return step
        table, index, *others = step.arguments
        own = {name: f"{name} as an index" for name in inputs(index) if name not in names}
        names.update((new, name) for name, new in own.items())
        renamed = {name: variable(new) for name, new in own.items()}
        return with_arguments(step, (table, substituted(index, renamed), *others))

    return rebuilt(expression, change), names


def index_inputs(expression: Expression) -> frozenset[str]:
    """Variables by which others are gathered or scattered."""
    if not size_of(expression).has_views:
        return frozenset()
    found: set[str] = set()
    for step in steps(expression):
        if step.primitive is Primitive.VIEW and step.name in INDEXED:
            found.update(inputs(step.arguments[1]))
    return frozenset(found)
