"""Topological sort of a graph's nodes, which also drops unused nodes and unused optional results.

Some converters write nodes out of order.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

import onnx
from onnx import defs

from kgen.errors import GraphError
from kgen.graph.reading.domains import DOMAINS, opsets_of
from kgen.graph.reading.tensors import graphs_of

_OPTIONAL = defs.OpSchema.FormalParameterOption.Optional
#: Most nodes of a cycle that a message names.
MOST_SHOWN = 5


def arrange(model: onnx.ModelProto) -> None:
    """Sort the nodes of a model's graphs in place, and drop what no output needs.

    Raises GraphError for a cycle, and for a value that two nodes make.
    """
    arrange_graph(model.graph, opsets_of(model))


def shown_name(node: onnx.NodeProto, number: int) -> str:
    """Return a node's name for messages: its own, or its operator and first result."""
    return node.name or next((f"{node.op_type}:{o}" for o in node.output if o), f"#{number}")


def taken_by(node: onnx.NodeProto) -> set[str]:
    """Return the names of the values that a node and its subgraphs use."""
    found, graphs = set(node.input), [g for a in node.attribute for g in graphs_of(a)]
    while graphs:
        graph = graphs.pop()
        found.update(o.name for o in graph.output)
        for inner in graph.node:
            found.update(inner.input)
            graphs += [g for a in inner.attribute for g in graphs_of(a)]
    return found - {""}


def arrange_graph(graph: onnx.GraphProto, opsets: Mapping[str, int]) -> set[str]:
    """Sort a graph and its subgraphs; return the names that it captures from outside."""
    nodes = list(graph.node)
    makers = _makers(nodes)
    taken = [set(filter(None, node.input)) for node in nodes]
    for names, node in zip(taken, nodes, strict=True):
        for attribute in node.attribute:
            for inner in graphs_of(attribute):
                names |= arrange_graph(inner, opsets)
    wanted = {o.name for o in graph.output}
    needed = _needed(taken, makers, wanted)
    order = _sorted(nodes, taken, makers, needed)
    used = wanted.union(*(taken[i] for i in order))
    for i in order:
        _drop_unused_results(nodes[i], used, opsets)
    if order != list(range(len(nodes))):
        kept = [onnx.NodeProto.FromString(nodes[i].SerializeToString()) for i in order]
        del graph.node[:]
        graph.node.extend(kept)
    given = {t.name for t in graph.initializer} | {i.name for i in graph.input}
    return used - given - makers.keys()


def _makers(nodes: Sequence[onnx.NodeProto]) -> dict[str, int]:
    """Return the number of the node that makes each value."""
    found: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in found:
                raise GraphError(
                    f"node {shown_name(node, i)} ({node.op_type}) makes {name}, which node "
                    f"{shown_name(nodes[found[name]], found[name])} makes as well; export the "
                    "model again"
                )
            found[name] = i
    return found


def _needed(taken: Sequence[set[str]], makers: Mapping[str, int], wanted: set[str]) -> set[int]:
    """Return the numbers of the nodes that the wanted values depend on."""
    found: set[int] = set()
    waiting = [makers[name] for name in wanted if name in makers]
    while waiting:
        i = waiting.pop()
        if i not in found:
            found.add(i)
            waiting += [makers[name] for name in taken[i] if name in makers]
    return found


def _sorted(
    nodes: Sequence[onnx.NodeProto],
    taken: Sequence[set[str]],
    makers: Mapping[str, int],
    needed: set[int],
) -> list[int]:
    """Return the numbers of the needed nodes in topological order.

    A sorted graph keeps its order.
    """
    before = {i: {makers[name] for name in taken[i] if name in makers} for i in needed}
    after: dict[int, list[int]] = {}
    for i, makers_of in before.items():
        for maker in makers_of:
            after.setdefault(maker, []).append(i)
    left = {i: len(makers_of) for i, makers_of in before.items()}
    ready = [i for i, count in left.items() if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for user in after.get(i, ()):
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, user)
    if len(order) < len(needed):
        raise GraphError(_cycle(nodes, before, needed.difference(order)))
    return order


def _cycle(nodes: Sequence[onnx.NodeProto], before: Mapping[int, set[int]], left: set[int]) -> str:
    """Return the message about one cycle among nodes that wait for each other."""
    at, seen = min(left), dict[int, None]()
    while at not in seen:
        seen[at] = None
        at = min(before[at] & left)
    ring = list(seen)[list(seen).index(at) :]
    names = [f"{shown_name(nodes[i], i)} ({nodes[i].op_type})" for i in ring[:MOST_SHOWN]]
    more = f" and {len(ring) - MOST_SHOWN} more" if len(ring) > MOST_SHOWN else ""
    return (
        f"nodes {', '.join(names)}{more} form a cycle: each reads a result of the next; export the "
        "model again"
    )


def _drop_unused_results(node: onnx.NodeProto, used: set[str], opsets: Mapping[str, int]) -> None:
    """Remove a node's optional results that nothing uses."""
    if len(node.output) < 2 or used.issuperset(node.output):
        return
    domain = "" if node.domain in DOMAINS else node.domain
    try:
        schema = defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except defs.SchemaError:
        return
    results = zip(node.output, schema.outputs, strict=False)
    for i, (name, result) in enumerate(results):
        if i and name not in used and result.option == _OPTIONAL:
            node.output[i] = ""
    while node.output and not node.output[-1]:
        node.output.pop()
