"""Graph traversal for fusion: sources of views, uses of values, and post-dominators."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from kgen.graph.ir import Graph, GraphValue, ViewNode
from kgen.graph.layout import ViewStep
from kgen.graph.reading.model import Shape

#: Longest chain of views that is read as one layout. Each consumer walks the whole chain.
MOST_VIEWS = 64


def origin(
    values: Mapping[str, GraphValue], roots: Container[str], name: str
) -> tuple[str, tuple[ViewStep, ...]]:
    """Return the materialized value or formula that a chain of views reads, and the views."""
    found: list[ViewStep] = []
    while name not in roots and isinstance(at := values[name].operation, ViewNode):
        found.append(at.step)
        name = at.of
    return name, simplified(values[name].shape, reversed(found))


def simplified(shape: Shape, views: Iterable[ViewStep]) -> tuple[ViewStep, ...]:
    """Return the views without those that change nothing.

    Of adjacent reshapes the last one remains.
    """
    found: list[ViewStep] = []
    #: Shapes before each of these views, and after the last one.
    shapes = [shape]
    for step in views:
        if found and found[-1].kind == step.kind == "reshape":
            found.pop()
            shapes.pop()
        if step.kind == "reshape" and shapes[-1] == step.numbers:
            continue
        found.append(step)
        shapes.append(shape_behind(shapes[-1], (step,)))
    return tuple(found)


def shape_behind(shape: Shape, views: Iterable[ViewStep]) -> Shape:
    """Return the shape after a chain of views."""
    for step in views:
        match step.kind:
            case "permute":
                shape = tuple(shape[axis] for axis in step.numbers)
            case "slice":
                axis, _, count, _ = step.numbers
                shape = (*shape[:axis], count, *shape[axis + 1 :])
            case _:
                shape = step.numbers
    return shape


def ends_of_runs(order: Iterable[GraphValue]) -> set[str]:
    """Return the views to materialize, so that no chain of views is longer than MOST_VIEWS."""
    run: dict[str, int] = {}
    for value in order:
        at = value.operation
        if isinstance(at, ViewNode):
            run[value.id] = run.get(at.of, 0) + 1
    return {name for name, length in run.items() if length % MOST_VIEWS == 0}


def reachable(graph: Graph) -> set[str]:
    found = set(graph.outputs.values())
    for value in reversed(list(graph.values.values())):
        if value.id in found:
            found.update(value.operands)
    return found


def uses_of(graph: Graph, used: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for value in graph.values.values():
        if value.id in used:
            for operand in dict.fromkeys(value.operands):
                found.setdefault(operand, []).append(value.id)
    return found


def joins_of(
    order: Sequence[GraphValue], uses: Mapping[str, Sequence[str]], outputs: Container[str]
) -> dict[str, str | None]:
    """Return the immediate post-dominator of each value: the first value that all its uses lead to.

    None stands for the end of the graph, which follows every output. The algorithm is that of K.
    Cooper, T. Harvey and K. Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
    """
    found: dict[str, str | None] = {}
    depth: dict[str | None, int] = {None: 0}
    for value in reversed(order):
        after: list[str | None] = list(uses.get(value.id, ()))
        if value.id in outputs or not after:
            after.append(None)
        join, *others = after
        for other in others:
            while join != other:
                if depth[join] >= depth[other]:
                    assert join is not None
                    join = found[join]
                else:
                    assert other is not None
                    other = found[other]
        found[value.id] = join
        depth[value.id] = depth[join] + 1
    return found
