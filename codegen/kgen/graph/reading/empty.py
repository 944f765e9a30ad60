"""Tensors without elements: they become constants, and Split and Concat no longer refer to them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np
import onnx
from onnx import helper

from kgen.graph.reading.inference import dims_of
from kgen.graph.reading.model import Array

#: First opset in which the sizes of a Split are an input.
SIZES_ARE_INPUT = 13


def is_empty(kind: onnx.TypeProto) -> bool:
    """Whether a tensor type of fixed shape has no elements."""
    return math.prod(dims_of(kind)) == 0


def empty_results(typed: Mapping[str, onnx.TypeProto]) -> dict[str, Array]:
    """Return an empty array for each result without elements, by name."""
    return {
        name: np.zeros(dims_of(kind), helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type))
        for name, kind in typed.items()
        if is_empty(kind)
    }


def without_empty(
    node: onnx.NodeProto,
    types: Mapping[str, onnx.TypeProto],
    typed: Mapping[str, onnx.TypeProto],
    opset: int,
) -> tuple[onnx.NodeProto, dict[str, Array]] | None:
    """Return a Split without its empty results, or a Concat without its empty inputs.

    The second value holds the constants that the new node needs. Returns None if the node has no
    empty values, and for any other operator.
    """
    if node.op_type == "Concat":
        left = [value for value in node.input if value in types and not is_empty(types[value])]
        if len(left) in (0, len(node.input)) or not types.keys() >= {*node.input}:
            return None
        found = _copy(node, left, node.output, "Concat")
        return found, {}
    results = [value for value in node.output if value in typed and not is_empty(typed[value])]
    if node.op_type != "Split" or len(results) in (0, len(node.output)):
        return None
    found = _copy(node, node.input[:1], results, "Split")
    if len(results) == 1:
        return found, {}
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
    sizes = [dims_of(typed[value])[axis] for value in results]
    if opset < SIZES_ARE_INPUT:
        found.attribute.append(helper.make_attribute("split", sizes))
        return found, {}
    found.input.append(f"{results[0]}/sizes")
    return found, {found.input[1]: np.asarray(sizes, np.int64)}


def without_results(node: onnx.NodeProto, known: Collection[str]) -> onnx.NodeProto:
    """Return the node without results that are already known."""
    if not any(value in known for value in node.output):
        return node
    found = onnx.NodeProto()
    found.CopyFrom(node)
    found.output[:] = ["" if value in known else value for value in node.output]
    return found


def _copy(
    node: onnx.NodeProto, inputs: list[str], outputs: list[str], operator: str
) -> onnx.NodeProto:
    """Return a copy with fewer inputs and results; an Identity if one of each remains."""
    is_same = len(inputs) == len(outputs) == 1
    found = helper.make_node("Identity" if is_same else operator, inputs, outputs, name=node.name)
    if not is_same:
        found.attribute.extend(a for a in node.attribute if a.name == "axis")
    return found
