"""Inlining of function bodies, for operators without a lowering and local functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

import onnx
from onnx import defs, helper

from kgen.errors import GraphError
from kgen.graph.reading.branches import renamed
from kgen.graph.reading.domains import DOMAINS, opsets_of
from kgen.graph.reading.order import arrange_graph
from kgen.graph.reading.tensors import graphs_of
from kgen_runtime.values import frozen


class NodeRefused(GraphError):
    """Refusal of the node whose first result is `output`; its function body may be supported."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


@frozen
class FunctionBody:
    """Nodes that compute a node's results from its inputs, and the opsets that they belong to."""

    nodes: Sequence[onnx.NodeProto]
    opsets: Mapping[str, int]


def has_body(operator: str, opset: int, domain: str = "") -> bool:
    """Whether ONNX defines an operator of one of its domains by a function body."""
    try:
        schema = defs.get_schema(operator, opset, domain)
    except defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


def body_by_schema(
    node: onnx.NodeProto, name: str, types: Mapping[str, onnx.TypeProto], opsets: Mapping[str, int]
) -> FunctionBody | None:
    """Return ONNX's function body of a node's operator for inputs of these types, or None."""
    domain = "" if node.domain in DOMAINS else node.domain
    opset = opsets.get(domain, 1)
    if not has_body(node.op_type, opset, domain):
        return None
    schema = defs.get_schema(node.op_type, opset, domain)
    kinds = [types.get(value, onnx.TypeProto()).SerializeToString() for value in node.input]
    if schema.has_function:
        version = _nearest(schema.function_opset_versions, opset)
        text = schema.get_function_with_opset_version(version)
    else:
        version = _nearest(schema.context_dependent_function_opset_versions, opset)
        text = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), kinds
        )
    if not text:
        return None
    function = onnx.FunctionProto.FromString(text)
    if node.op_type == "DynamicQuantizeLinear":
        _scale_zeros(function)
    defaults = {
        name: attribute.default_value
        for name, attribute in schema.attributes.items()
        if attribute.default_value.type != onnx.AttributeProto.UNDEFINED
    }
    return body_of(function, node, name, defaults)


def _scale_zeros(function: onnx.FunctionProto) -> None:
    """Quantise zeros to zeros, with the scale 1 / 255 of ONNX's reference.

    ONNX's body divides 0 by 0 for them.
    """
    place = next(i for i, node in enumerate(function.node) if "X_Range" in node.output)
    function.node[place].output[0] = "X_Spread"
    number = helper.make_tensor("One", onnx.TensorProto.FLOAT, (), [1.0])
    one = helper.make_node("Constant", [], ["One"], value=number)
    are_zeros = helper.make_node("Equal", ["X_Spread", "Q_Min"], ["Are_Zeros"])
    spread = helper.make_node("Where", ["Are_Zeros", "One", "X_Spread"], ["X_Range"])
    for node in (spread, are_zeros, one):
        function.node.insert(place + 1, node)


def body_of(
    function: onnx.FunctionProto,
    node: onnx.NodeProto,
    name: str,
    defaults: Mapping[str, onnx.AttributeProto],
) -> FunctionBody:
    """Return the nodes of a function, specialised for the node `name` that calls it.

    Names, inputs and attributes are those of the call; nodes that no result needs are dropped.
    `defaults` has the values of attributes that the calling node leaves out.
    """
    prefix = next(value for value in node.output if value)
    given = {
        **defaults,
        **{attribute.name: attribute for attribute in function.attribute_proto},
        **{attribute.name: attribute for attribute in node.attribute},
    }
    formal = zip_longest(function.input, node.input[: len(function.input)], fillvalue="")
    names = {inner: outer for inner, outer in formal if inner}
    made = {value for inner in function.node for value in inner.output if value}
    names.update({value: f"{prefix}/{value}" for value in made})
    wanted = [
        (inner, outer) for inner, outer in zip(function.output, node.output, strict=False) if outer
    ]
    copies = []
    for inner, outer in wanted:
        if inner in made and names[inner] == f"{prefix}/{inner}":
            names[inner] = outer
        else:  # An input of the function, or a value that it returns twice.
            copies.append(helper.make_node("Identity", [names.get(inner, inner)], [outer]))
    nodes = [renamed(bound(inner, given), names) for inner in function.node]
    for inner in nodes:
        first = next((value for value in inner.output if value), inner.op_type)
        inner.name = f"{name}/{inner.name or first.removeprefix(f'{prefix}/')}"
    outputs = [onnx.ValueInfoProto(name=outer) for _, outer in wanted]
    graph = helper.make_graph([*nodes, *copies], name, [], outputs)
    opsets = opsets_of(function)
    arrange_graph(graph, opsets)
    return FunctionBody(nodes=list(graph.node), opsets=opsets)


def bound(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """Return a function's node with references to the function's attributes replaced by values.

    Subgraphs are included. A reference without a value is dropped.
    """
    found = onnx.NodeProto()
    found.CopyFrom(node)
    del found.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name and attribute.ref_attr_name not in given:
            continue
        one = found.attribute.add()
        one.CopyFrom(given[attribute.ref_attr_name] if attribute.ref_attr_name else attribute)
        one.name = attribute.name
        for graph in () if attribute.ref_attr_name else graphs_of(one):
            nodes = [bound(inner, given) for inner in graph.node]
            del graph.node[:]
            graph.node.extend(nodes)
    return found


def _nearest(versions: Sequence[int], opset: int) -> int:
    """Return the newest version of a body up to an opset, otherwise the oldest.

    All versions of a body compute the same results.
    """
    return max((v for v in versions if v <= opset), default=min(versions))
