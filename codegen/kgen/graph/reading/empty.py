"""Values without elements: they are constants, and nodes that split them off or join them do
without them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper

from kgen.graph.reading.inference import dims_of
from kgen.graph.reading.model import Array

#: The opset from which the sizes of a Split are an input.
SIZES_ARE_INPUT = 13


def is_empty(kind: onnx.TypeProto) -> bool:
    """Whether a tensor of a type of fixed shape has no elements."""
    return math.prod(dims_of(kind)) == 0


def empty_results(typed: Mapping[str, onnx.TypeProto]) -> dict[str, Array]:
    """The values of those results that have no elements."""
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
    """A Split without results that have no elements, or a Concat without such inputs, and constants
    that it takes; None for a node that has none of them, and for any other operator."""
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


def _copy(
    node: onnx.NodeProto, inputs: list[str], outputs: list[str], operator: str
) -> onnx.NodeProto:
    """A node of fewer inputs and results; Identity of one of each."""
    is_same = len(inputs) == len(outputs) == 1
    found = helper.make_node("Identity" if is_same else operator, inputs, outputs, name=node.name)
    if not is_same:
        found.attribute.extend(a for a in node.attribute if a.name == "axis")
    return found
