"""Operators of opset 1 to 5 as those of opset 6, whose results ONNX can infer.

Each adapter is the text of ONNX's changelog for one operator: an attribute that became an input, or
a type that was a word. All others differ in `consumed_inputs`, which no result depends on. What
opset 6 says differently from later opsets stays as the model has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from kgen.errors import GraphError
from kgen.graph.reading.domains import DOMAINS, opsets_of
from kgen.graph.reading.order import shown_name
from kgen.graph.reading.tensors import graphs_of

#: Models of an older opset become models of this one.
OPSET = 6


def adapt(model: onnx.ModelProto) -> None:
    """Write a model's old operators as opset 6 has them, in place. Raises GraphError."""
    opset = opsets_of(model).get("", OPSET)
    if opset > OPSET:
        return
    _Adapting(opset).graph(model.graph)
    for imported in model.opset_import:
        if imported.domain in DOMAINS:
            imported.version = OPSET


class _Adapting:
    def __init__(self, opset: int) -> None:
        self.opset, self.count = opset, 0

    def graph(self, graph: onnx.GraphProto) -> None:
        for number, node in enumerate(graph.node):
            for attribute in node.attribute:
                for inner in graphs_of(attribute):
                    self.graph(inner)
            if node.domain not in DOMAINS:
                continue
            _take(node, "consumed_inputs")
            before, adapter = ADAPTERS.get(node.op_type, (0, None))
            if adapter is not None and self.opset < before:
                self.count += 1
                try:
                    graph.initializer.extend(adapter(node, f"{node.output[0]}/{self.count}"))
                except (KeyError, ValueError) as error:
                    raise GraphError(
                        f"node {shown_name(node, number)} ({node.op_type}) of opset {self.opset} "
                        f"is not as that opset says: {error}; export the model for opset 13 or "
                        "later"
                    ) from None


def _take(node: onnx.NodeProto, name: str) -> onnx.AttributeProto | None:
    """An attribute that the node has no longer; None if it had none of this name."""
    for i, attribute in enumerate(node.attribute):
        if attribute.name == name:
            found = onnx.AttributeProto()
            found.CopyFrom(attribute)
            del node.attribute[i]
            return found
    return None


def _needed(node: onnx.NodeProto, name: str) -> onnx.AttributeProto:
    found = _take(node, name)
    if found is None:
        raise ValueError(f"it has no {name}")
    return found


def _reshape(node: onnx.NodeProto, name: str) -> list[TensorProto]:
    """The shape is an input from opset 5 on."""
    shape = np.asarray(_needed(node, "shape").ints, np.int64)
    node.input.append(f"{name}/shape")
    return [numpy_helper.from_array(shape, node.input[1])]


def _concat(node: onnx.NodeProto, name: str) -> list[TensorProto]:
    """The axis has no default from opset 4 on; it was 1."""
    if all(attribute.name != "axis" for attribute in node.attribute):
        node.attribute.append(helper.make_attribute("axis", 1))
    return []


def _pad(node: onnx.NodeProto, name: str) -> list[TensorProto]:
    """`paddings` are `pads` from opset 2 on."""
    node.attribute.append(helper.make_attribute("pads", list(_needed(node, "paddings").ints)))
    return []


def _cast(node: onnx.NodeProto, name: str) -> list[TensorProto]:
    """The type is a number from opset 6 on; it was a word."""
    word = _needed(node, "to").s.decode(errors="replace")
    node.attribute.append(helper.make_attribute("to", TensorProto.DataType.Value(word.upper())))
    return []


def _upsample(node: onnx.NodeProto, name: str) -> list[TensorProto]:
    """Scales of height and width are those of all four axes from opset 7 on."""
    height, width = (_needed(node, f"{side}_scale").f for side in ("height", "width"))
    node.attribute.append(helper.make_attribute("scales", [1.0, 1.0, height, width]))
    return []


def _selu(node: onnx.NodeProto, name: str) -> list[TensorProto]:
    """The defaults have more digits from opset 6 on."""
    named = {attribute.name for attribute in node.attribute}
    for key, number in (("alpha", 1.6732), ("gamma", 1.0507)):
        if key not in named:
            node.attribute.append(helper.make_attribute(key, number))
    return []


#: By operator: the opset that has it as the adapter writes it, and the adapter. This one changes a
#: node and gives the constants that it takes, whose names begin with a name of its own.
ADAPTERS: Mapping[str, tuple[int, Callable[[onnx.NodeProto, str], list[TensorProto]]]] = {
    "Cast": (6, _cast),
    "Concat": (4, _concat),
    "Pad": (2, _pad),
    "Reshape": (5, _reshape),
    "Selu": (6, _selu),
    "Upsample": (7, _upsample),
}
