"""If operators: inline the branch of a constant condition, or both and a Where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from kgen.errors import GraphError

#: Explanation for an error in a branch of an If whose condition is not constant.
NEEDED = (
    "depends on data, so both of its branches are computed; make its condition constant if only "
    "one of them fits"
)
#: Limit of subgraph nesting.
MOST_NESTED = 16


def branch_of(
    node: onnx.NodeProto, condition: bool
) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto], list[str]]:
    """Return the constants and nodes of a branch, and the names of its results.

    Names inside get a prefix from the If and the branch, so that they are unique in the model.
    """
    wanted = "then_branch" if condition else "else_branch"
    graph = next((a.g for a in node.attribute if a.name == wanted), None)
    if graph is None or len(graph.output) != len(node.output):
        raise GraphError(
            f"node {node.name} (If) lacks a {wanted} with {len(node.output)} results; export the "
            "model again"
        )
    prefix = f"{node.name or node.output[0]}/{wanted}"
    made = {name for inner in graph.node for name in inner.output if name}
    names = {name: f"{prefix}/{name}" for name in made | {t.name for t in graph.initializer}}
    nodes = [renamed(inner, names) for inner in graph.node]
    for inner in nodes:
        if inner.name:
            inner.name = f"{prefix}/{inner.name}"
    tensors = []
    for tensor in graph.initializer:
        copied = onnx.TensorProto()
        copied.CopyFrom(tensor)
        copied.name = names[tensor.name]
        tensors.append(copied)
    return tensors, nodes, [names.get(value.name, value.name) for value in graph.output]


def taken_branch(
    node: onnx.NodeProto, condition: bool
) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """Return the constants and nodes that compute an If whose condition is constant."""
    tensors, nodes, results = branch_of(node, condition)
    pairs = [(one, other) for one, other in zip(results, node.output, strict=True) if other]
    return tensors, nodes + [helper.make_node("Identity", [one], [other]) for one, other in pairs]


def choices(
    node: onnx.NodeProto, shape: Sequence[int], ones: Sequence[str], others: Sequence[str]
) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """Return the constants and nodes that select an If's results from those of its branches.

    `shape` is the shape of the condition, which has one element. `ones` and `others` name the
    results of the branches.
    """
    (condition,), name = node.input, node.name or node.output[0]
    tensors, nodes = [], []
    if shape:
        # Where broadcasts a scalar condition to any result.
        whole, condition = condition, f"{name}/condition"
        empty = numpy_helper.from_array(np.zeros(0, np.int64), f"{condition}/shape")
        tensors.append(empty)
        nodes.append(helper.make_node("Reshape", [whole, empty.name], [condition]))
    for one, other, result in zip(ones, others, node.output, strict=True):
        if result:
            nodes.append(helper.make_node("Where", [condition, one, other], [result], name=name))
    return tensors, nodes


def check_alike(node: onnx.NodeProto, result: str, *kinds: onnx.TypeProto) -> None:
    """Raise GraphError unless a result has the same type and shape in both branches."""
    tensors = [kind.tensor_type for kind in kinds]
    one, other = (
        f"{'x'.join(str(dim.dim_value) for dim in t.shape.dim) or 'one number'} of "
        f"{onnx.TensorProto.DataType.Name(t.elem_type)}"
        for t in tensors
    )
    if one != other:
        raise GraphError(
            f"node {node.name} (If) makes {result}, {one} in one branch and {other} in the other, "
            "and its condition depends on data; make both equal, or the condition constant"
        )


def renamed(node: onnx.NodeProto, names: Mapping[str, str], depth: int = 0) -> onnx.NodeProto:
    """Return a copy of a node with values renamed, also where its subgraphs capture them."""
    if depth > MOST_NESTED:
        raise GraphError(
            f"subgraphs are nested more than {MOST_NESTED} deep, the limit; export the model "
            "without them"
        )
    found = onnx.NodeProto()
    found.CopyFrom(node)
    found.input[:] = [names.get(name, name) for name in node.input]
    found.output[:] = [names.get(name, name) for name in node.output]
    for attribute in found.attribute:
        if attribute.type != onnx.AttributeProto.GRAPH:
            continue
        graph = attribute.g
        own = {tensor.name for tensor in graph.initializer}
        own |= {value.name for value in graph.input}
        own |= {name for inner in graph.node for name in inner.output}
        outer = {old: new for old, new in names.items() if old not in own}
        nodes = [renamed(inner, outer, depth + 1) for inner in graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
        for value in graph.output:
            value.name = outer.get(value.name, value.name)
    return found
