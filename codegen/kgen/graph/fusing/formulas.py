"""Result of fusion: the formula of every materialized value, and the layouts of its operands."""

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
    """Operand of a formula: a materialized value, read in a layout.

    A value that one formula reads both as an index and as a number is two leaves, as the kernel
    reads them in different types.
    """

    root: str
    layout: StridedLayout
    is_index: bool = False


@frozen
class Lazy:
    """Formula of a value, whose variables are leaves.

    `axes` of `domain` are reduced by its row-wise functions; without such functions the domain is
    the value's shape. `inlined` are the values whose formulas were substituted.
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
    """Fused graph.

    - `roots` are the values that kernels write, in order, and `formulas` their formulas.
    - `products` maps a root to the product whose epilogue computes it.
    - `leaves` maps the formulas' variables to operands, and `operands` each product to its A and B.
    - `memory` has the layout of every materialized value.
    - `outputs` maps the model's outputs to roots.
    """

    graph: Graph
    roots: tuple[str, ...]
    formulas: Mapping[str, Lazy]
    products: Mapping[str, str]
    leaves: Mapping[str, Leaf]
    memory: Mapping[str, StridedLayout]
    operands: Mapping[str, tuple[Leaf, Leaf]]
    outputs: Mapping[str, str]


def is_scattered(value: GraphValue) -> bool:
    """Whether a value is a scatter, whose kernel writes into its table."""
    return isinstance(value.operation, FormulaNode) and is_scatter(value.operation.expression)


def viewed_operands(expression: Expression) -> tuple[frozenset[str], frozenset[str]]:
    """Return the operands of views in a formula, and those of them that must be materialized.

    An operand of a view must have its own shape, without broadcasting. Tables and indices of
    gathers and scatters, and operands that are read through several views, must be in memory.
    """
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
    """Return the expression with separate names for index inputs, and their old names."""
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
    """Return the variables that serve as indices of gathers and scatters."""
    if not size_of(expression).has_views:
        return frozenset()
    found: set[str] = set()
    for step in steps(expression):
        if step.primitive is Primitive.VIEW and step.name in INDEXED:
            found.update(inputs(step.arguments[1]))
    return frozenset(found)
