"""Node replacements that need shapes and constants (Compress, Dropout, EyeLike, ...)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from kgen.graph.reading.empty import is_empty
from kgen.graph.reading.inference import dims_of
from kgen.graph.reading.model import Array

Types = Mapping[str, onnx.TypeProto]
Constants = Mapping[str, Array]
Nodes = list[onnx.NodeProto]
#: Function that returns the nodes that replace a node, or None to keep it. Its arguments are the
#: node, the types of its inputs, the types of its outputs, and the constants.
Replace = Callable[[onnx.NodeProto, Types, Types, Constants], Nodes | None]


def replaced(
    node: onnx.NodeProto, types: Types, typed: Types, constants: Constants
) -> Nodes | None:
    """Return the nodes that replace a node; None if it stays."""
    replace = REPLACED.get(node.op_type)
    if replace is None or not all(value in types for value in node.input if value):
        return None
    return replace(node, types, typed, constants)


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def constant_node(name: str, array: Array) -> onnx.NodeProto:
    value = numpy_helper.from_array(array)
    return helper.make_node("Constant", [], [name], name=name, value=value)


def compress(
    node: onnx.NodeProto, types: Types, typed: Types, constants: Constants
) -> Nodes | None:
    """Replace Compress by a constant condition with Gather."""
    x, condition = node.input
    if condition not in constants:
        return None
    places = np.flatnonzero(constants[condition])
    result, axis = node.output[0], attributes_of(node).get("axis")
    nodes = [constant_node(f"{result}/places", places.astype(np.int64))]
    if axis is None:
        flat = np.asarray([math.prod(dims_of(types[x]))], np.int64)
        names = [x, f"{result}/size"]
        nodes.append(constant_node(names[1], flat))
        nodes.append(helper.make_node("Reshape", names, [f"{result}/flat"], name=node.name))
        x = f"{result}/flat"
    gather = helper.make_node(
        "Gather", [x, f"{result}/places"], [result], name=node.name, axis=axis or 0
    )
    return [*nodes, gather]


def dropout(node: onnx.NodeProto, types: Types, typed: Types, constants: Constants) -> Nodes | None:
    """Replace a Dropout that returns a mask: in inference it keeps all elements."""
    mode = node.input[2] if len(node.input) > 2 else ""
    is_known = not mode or (mode in constants and not constants[mode].any())
    if len(node.output) < 2 or not node.output[1] or node.output[1] not in typed or not is_known:
        return None
    y, mask = node.output
    kind = typed[mask]
    dtype = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
    nodes = [constant_node(mask, np.ones(dims_of(kind), dtype))]
    return (
        [helper.make_node("Identity", [node.input[0]], [y], name=node.name), *nodes] if y else nodes
    )


def eye_like(
    node: onnx.NodeProto, types: Types, typed: Types, constants: Constants
) -> Nodes | None:
    """Replace EyeLike, which needs only the shape of its input, by a constant."""
    kind = typed.get(node.output[0])
    if kind is None:
        return None
    dtype = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
    shift, (rows, columns) = attributes_of(node).get("k", 0), dims_of(kind)
    return [constant_node(node.output[0], np.eye(rows, columns, k=shift, dtype=dtype))]


def conv_transpose(
    node: onnx.NodeProto, types: Types, typed: Types, constants: Constants
) -> Nodes | None:
    """Replace output_shape and auto_pad of a ConvTranspose by explicit pads."""
    given = attributes_of(node)
    automatic = given.get("auto_pad", b"NOTSET")
    named = automatic in (b"SAME_UPPER", b"SAME_LOWER")
    if node.output[0] not in typed or not (named or given.get("output_shape")):
        return None
    sizes, kernel = (dims_of(kind)[2:] for kind in (types[node.input[0]], types[node.input[1]]))
    wanted, ones = dims_of(typed[node.output[0]])[2:], (1,) * len(sizes)
    steps, apart = (given.get(name) or ones for name in ("strides", "dilations"))
    more = given.get("output_padding") or (0,) * len(sizes)
    totals = [
        step * (n - 1) + extra + (k - 1) * d + 1 - size
        for step, n, extra, k, d, size in zip(
            steps, sizes, more, kernel, apart, wanted, strict=True
        )
    ]
    # Elements past the last window come from output_padding.
    more = [extra + max(0, -total) for extra, total in zip(more, totals, strict=True)]
    halves = [max(0, total) // 2 for total in totals]
    others = [max(0, total) - half for total, half in zip(totals, halves, strict=True)]
    pads = [*halves, *others] if automatic == b"SAME_UPPER" else [*others, *halves]
    found = onnx.NodeProto()
    found.CopyFrom(node)
    del found.attribute[:]
    given |= {"pads": pads, "output_padding": more}
    for name, value in given.items():
        if name not in ("auto_pad", "output_shape"):
            found.attribute.append(helper.make_attribute(name, value))
    return [found]


def product_of_nothing(
    node: onnx.NodeProto, types: Types, typed: Types, constants: Constants
) -> Nodes | None:
    """Return beta C for a Gemm of matrices without elements."""
    first, _, addend = [*node.input, ""][:3]
    if not addend or not is_empty(types[first]):
        return None
    result = node.output[0]
    kind = helper.tensor_dtype_to_np_dtype(types[addend].tensor_type.elem_type)
    beta = attributes_of(node).get("beta", 1.0)
    names = [f"{result}/{what}" for what in ("shape", "beta", "wide")]
    return [
        constant_node(names[0], np.asarray(dims_of(typed[result]), np.int64)),
        constant_node(names[1], np.asarray(beta, kind)),
        helper.make_node("Expand", [addend, names[0]], [names[2]], name=node.name),
        helper.make_node("Mul", names[1:], [result], name=node.name),
    ]


def scatter_of_nothing(
    node: onnx.NodeProto, types: Types, typed: Types, constants: Constants
) -> Nodes | None:
    """Return the table of a scatter without indices."""
    if not is_empty(types[node.input[1]]):
        return None
    return [helper.make_node("Identity", node.input[:1], node.output, name=node.name)]


REPLACED: Mapping[str, Replace] = {
    "Compress": compress,
    "ConvTranspose": conv_transpose,
    "Dropout": dropout,
    "EyeLike": eye_like,
    "Gemm": product_of_nothing,
    "Scatter": scatter_of_nothing,
    "ScatterElements": scatter_of_nothing,
    "ScatterND": scatter_of_nothing,
}
