"""The branch of an If whose condition is known, in place of the If."""

from __future__ import annotations

from collections.abc import Container, Mapping

import onnx
from onnx import helper

from kgen.errors import GraphError

#: Graphs within graphs.
MOST_NESTED = 16


def branch_of(
    node: onnx.NodeProto, condition: bool, taken: Container[str]
) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """The constants and nodes of the branch that is taken, which make the If's results. Values of
    the branch whose names are taken get others."""
    wanted = "then_branch" if condition else "else_branch"
    graph = next((a.g for a in node.attribute if a.name == wanted), None)
    if graph is None or len(graph.output) != len(node.output):
        raise GraphError(f"node {node.name} (If) has no {wanted} with its results")
    outputs = [value.name for value in graph.output]
    made = {name for inner in graph.node for name in inner.output if name}
    own = made | {tensor.name for tensor in graph.initializer}
    names: dict[str, str] = {}
    for name, result in zip(outputs, node.output, strict=True):
        if name in made and name not in names and result:
            names[name] = result
    prefix = node.name or node.output[0]
    for name in own:
        if name not in names and name in taken:
            names[name] = f"{prefix}/{name}"
    nodes = [_renamed(inner, names, 0) for inner in graph.node]
    tensors = []
    for tensor in graph.initializer:
        copied = onnx.TensorProto()
        copied.CopyFrom(tensor)
        copied.name = names.get(tensor.name, tensor.name)
        tensors.append(copied)
    # What is no branch's own value, or is a result twice.
    for name, result in zip(outputs, node.output, strict=True):
        if result and names.get(name, name) != result:
            nodes.append(helper.make_node("Identity", [names.get(name, name)], [result]))
    return tensors, nodes


def _renamed(node: onnx.NodeProto, names: Mapping[str, str], depth: int) -> onnx.NodeProto:
    """A node with other names for some values, those that its graphs take from outside too."""
    if depth > MOST_NESTED:
        raise GraphError(f"graphs are nested more than {MOST_NESTED} deep; export without them")
    found = onnx.NodeProto()
    found.CopyFrom(node)
    found.input[:] = [names.get(name, name) for name in node.input]
    found.output[:] = [names.get(name, name) for name in node.output]
    for attribute in found.attribute:
        if attribute.type != onnx.AttributeProto.GRAPH:
            continue
        graph = attribute.g
        own = {tensor.name for tensor in graph.initializer}
        own |= {name for inner in graph.node for name in inner.output}
        outer = {old: new for old, new in names.items() if old not in own}
        nodes = [_renamed(inner, outer, depth + 1) for inner in graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
        for value in graph.output:
            value.name = outer.get(value.name, value.name)
    return found
