"""Opset converter: rewrites operators of opset 1 to 5 as operators of opset 6.

ONNX's shape inference supports opset 6 and later. Each adapter follows ONNX's changelog for one
operator: an attribute became an input, an input became an attribute, or a type name became a
number. The other operators differ only in `consumed_inputs`, which affects no result. Differences
between opset 6 and later opsets remain, such as broadcasting by attributes; lowerings handle them.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from kgen.errors import GraphError
from kgen.graph.reading.domains import DOMAINS, opsets_of
from kgen.graph.reading.messages import shortened
from kgen.graph.reading.order import shown_name
from kgen.graph.reading.tensors import graphs_of

#: Constants by name.
Constants = MutableMapping[str, TensorProto]
#: Opset that older models are converted to.
OPSET = 6
#: Most copies that a Tile of opset 1 may make.
MOST_TILES = 1024


def adapt(model: onnx.ModelProto) -> None:
    """Convert the operators of a model and its functions to opset 6 in place. Raises GraphError."""
    for part in (model, *model.functions):
        opset = opsets_of(part).get("", OPSET)
        if opset > OPSET:
            continue
        if isinstance(part, onnx.ModelProto):
            _Adapting(opset).graph(part.graph, {})
        else:
            _adapt_function(part, opset)
        for imported in part.opset_import:
            if imported.domain in DOMAINS:
                imported.version = OPSET


def _adapt_function(function: onnx.FunctionProto, opset: int) -> None:
    """Convert a function. A function has no initializers, so new constants become nodes."""
    graph = onnx.GraphProto(node=function.node)
    _Adapting(opset).graph(graph, {})
    constants = [
        helper.make_node("Constant", [], [tensor.name], value=tensor)
        for tensor in graph.initializer
    ]
    del function.node[:]
    function.node.extend([*constants, *graph.node])


class _Adapting:
    def __init__(self, opset: int) -> None:
        self.opset, self.count = opset, 0

    def graph(self, graph: onnx.GraphProto, outer: Constants) -> None:
        known = ChainMap(_constants(graph), outer)
        for number, node in enumerate(graph.node):
            for attribute in node.attribute:
                for inner in graphs_of(attribute):
                    self.graph(inner, known)
            if node.domain not in DOMAINS:
                continue
            _take(node, "consumed_inputs")
            before, adapter = ADAPTERS.get(node.op_type, (0, None))
            if adapter is not None and self.opset < before:
                self.count += 1
                try:
                    made = adapter(node, f"{node.output[0]}/{self.count}", known)
                except (KeyError, TypeError, ValueError) as error:
                    raise GraphError(
                        f"node {shown_name(node, number)} ({node.op_type}) of opset {self.opset} "
                        f"does not follow that opset: {error}; export the model for opset 13 or "
                        "later"
                    ) from None
                graph.initializer.extend(made)


def _constants(graph: onnx.GraphProto) -> dict[str, TensorProto]:
    """Return a graph's own constants by name."""
    found = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in DOMAINS:
            found.update((node.output[0], a.t) for a in node.attribute if a.HasField("t"))
    return found


def _numbers(node: onnx.NodeProto, input: int, what: str, known: Constants) -> list[int]:
    """Return the integers of an input. Raises ValueError unless it is a constant of integers."""
    name = node.input[input] if input < len(node.input) else ""
    if not name:
        raise ValueError(f"it has no {what}")
    if name not in known:
        raise ValueError(f"its {what} {name} is not a constant")
    array = np.asarray(numpy_helper.to_array(known[name])).reshape(-1)
    with np.errstate(all="ignore"):
        numbers = array.astype(np.int64)
    if not np.array_equal(numbers, array):
        raise ValueError(f"its {what} {name} is not an integer: {shortened(str(array[:4]))}")
    return [int(n) for n in numbers]


def _take(node: onnx.NodeProto, name: str) -> onnx.AttributeProto | None:
    """Remove an attribute and return it; None if the node lacks it."""
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


def _reshape(node: onnx.NodeProto, name: str, known: Constants) -> list[TensorProto]:
    """Opset 5 made the shape an input."""
    shape = np.asarray(_needed(node, "shape").ints, np.int64)
    node.input.append(f"{name}/shape")
    return [numpy_helper.from_array(shape, node.input[1])]


def _concat(node: onnx.NodeProto, name: str, known: Constants) -> list[TensorProto]:
    """Opset 4 removed the default of the axis, which was 1."""
    if all(attribute.name != "axis" for attribute in node.attribute):
        node.attribute.append(helper.make_attribute("axis", 1))
    return []


def _pad(node: onnx.NodeProto, name: str, known: Constants) -> list[TensorProto]:
    """Opset 2 renamed `paddings` to `pads`."""
    node.attribute.append(helper.make_attribute("pads", list(_needed(node, "paddings").ints)))
    return []


def _cast(node: onnx.NodeProto, name: str, known: Constants) -> list[TensorProto]:
    """Opset 6 made the type a number; before, it was a name."""
    word = _needed(node, "to").s.decode(errors="replace")
    node.attribute.append(helper.make_attribute("to", TensorProto.DataType.Value(word.upper())))
    return []


def _upsample(node: onnx.NodeProto, name: str, known: Constants) -> list[TensorProto]:
    """Opset 7 has scales for all four axes; before, only for height and width."""
    height, width = (_needed(node, f"{side}_scale").f for side in ("height", "width"))
    node.attribute.append(helper.make_attribute("scales", [1.0, 1.0, height, width]))
    return []


def _selu(node: onnx.NodeProto, name: str, known: Constants) -> list[TensorProto]:
    """Opset 6 gave the defaults of alpha and gamma more digits."""
    named = {attribute.name for attribute in node.attribute}
    for key, number in (("alpha", 1.6732), ("gamma", 1.0507)):
        if key not in named:
            node.attribute.append(helper.make_attribute(key, number))
    return []


def _tile(node: onnx.NodeProto, name: str, known: Constants) -> list[TensorProto]:
    """Opset 6 made the repeats of all axes one input; before, there was one count and its axis.

    The old form becomes a Concat, which needs no rank.
    """
    counts = {
        what: _numbers(node, i, what, known) for i, what in enumerate(("tiles", "axis"), start=1)
    }
    if any(len(numbers) != 1 for numbers in counts.values()):
        raise ValueError("its tiles and its axis are not one number each")
    ((tiles,), (axis,)) = counts.values()
    if not 1 <= tiles <= MOST_TILES:
        raise ValueError(f"it makes {tiles} copies; 1 to {MOST_TILES} are the limits")
    node.op_type = "Concat"
    node.input[:] = [node.input[0]] * tiles
    node.attribute.append(helper.make_attribute("axis", axis))
    return []


def _split(node: onnx.NodeProto, name: str, known: Constants) -> list[TensorProto]:
    """Opset 2 made the sizes an attribute; before, they could be an input."""
    if len(node.input) > 1 and node.input[1]:
        _take(node, "split")
        sizes = _numbers(node, 1, "split", known)
        node.attribute.append(helper.make_attribute("split", sizes))
    del node.input[1:]
    return []


#: Adapter of each operator, and the first opset that needs none. An adapter changes a node and
#: returns the constants that the node needs, whose names begin with a given prefix.
ADAPTERS: Mapping[
    str, tuple[int, Callable[[onnx.NodeProto, str, Constants], list[TensorProto]]]
] = {
    "Cast": (6, _cast),
    "Concat": (4, _concat),
    "Pad": (2, _pad),
    "Reshape": (5, _reshape),
    "Selu": (6, _selu),
    "Split": (2, _split),
    "Tile": (6, _tile),
    "Upsample": (7, _upsample),
}
