"""Builder of the ONNX nodes that replace one contributed node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from kgen.errors import GraphError
from kgen.graph.reading.model import Array, Shape
from kgen.spec.shapes import by_x

DOMAIN = "com.microsoft"
#: First opset with the sizes of Split and the axes of Unsqueeze and ReduceSum as inputs, and with a
#: number of outputs of Split.
SIZES_AS_INPUT, NUM_OUTPUTS = 13, 18
#: First opset with CastLike, LayerNormalization, axes of ReduceMean as an input, and Gelu.
CAST_LIKE, LAYER_NORM, AXES_AS_INPUT, GELU = 15, 17, 18, 20
#: Activation functions of fused operators, with their attributes.
ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "": (), "Clip": ("min", "max"), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",), "Relu": (), "Sigmoid": (), "Tanh": (),
}  # fmt: skip


class Writer:
    """Nodes that replace one node, and the constants that they need."""

    def __init__(
        self, node: onnx.NodeProto, name: str, opset: int, known: Mapping[str, onnx.TensorProto]
    ) -> None:
        self.node, self.name, self.opset, self.known = node, name, opset, known
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.attributes: dict[str, Any] = {
            a.name: helper.get_attribute_value(a) for a in node.attribute
        }

    def input(self, number: int) -> str:
        """Return the name of an input; "" if it is left out."""
        return self.node.input[number] if number < len(self.node.input) else ""

    def text(self, name: str) -> str:
        found = self.attributes.get(name, b"")
        return str(found.decode(errors="replace") if isinstance(found, bytes) else found)

    def fresh(self) -> str:
        return f"{self.node.output[0]}/{len(self.nodes) + len(self.constants)}"

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Append a node; return the name of its first result."""
        name = self.fresh()
        names = [name, *(f"{name}.{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(operator, inputs, names, name=self.name, **attributes))
        return name

    def constant(self, array: Array) -> str:
        """Add a constant; return its name."""
        name = self.fresh()
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def array(self, number: int) -> Array:
        """Return the elements of an input. Raises GraphError unless it is an initializer."""
        name = self.input(number)
        if name not in self.known:
            raise self.refusal(f"reads {name} from data", "make it an initializer")
        return np.asarray(numpy_helper.to_array(self.known[name]))

    def sized(self, number: int, *shapes: Shape) -> Array:
        """Return the elements of an initializer in one of these shapes.

        Raises GraphError unless the input has the shape but for axes of one element.
        """
        array = self.array(number)
        given = [n for n in array.shape if n != 1]
        for shape in shapes:
            if given == [n for n in shape if n != 1]:
                return array.reshape(shape)
        name, wanted = self.input(number), " or ".join(map(by_x, shapes))
        raise self.refusal(
            f"has {name} of shape {by_x(array.shape)}", f"give it the shape {wanted}"
        )

    def integer(self, name: str, default: int | None = None, least: int = 1) -> int:
        """Return an attribute. Raises GraphError unless it is an integer of at least `least`."""
        found = self.attributes.get(name, default)
        if not isinstance(found, int) or found < least:
            why = f"lacks the attribute {name}" if found is None else f"has {name}={found}"
            raise self.refusal(why, f"give it an integer from {least} on")
        return found

    def number(self, value: float, like: str) -> str:
        """Add a scalar constant of the type of the value `like`; return its name."""
        name = self.constant(np.asarray(value, np.float32))
        return self.add("CastLike", name, like) if self.opset >= CAST_LIKE else name

    def mean(self, x: str, axes: Sequence[int] | None = (-1,), keepdims: int = 1) -> str:
        """Add a ReduceMean; of all axes for None."""
        own: dict[str, Any] = {} if axes is None else {"axes": list(axes)}
        if self.opset < AXES_AS_INPUT or axes is None:
            return self.add("ReduceMean", x, keepdims=keepdims, **own)
        name = self.constant(np.array(axes, np.int64))
        return self.add("ReduceMean", x, name, keepdims=keepdims)

    def row_sums(self, x: str) -> str:
        """Sum the elements along the second axis."""
        if self.opset < SIZES_AS_INPUT:
            return self.add("ReduceSum", x, axes=[1], keepdims=0)
        axes = self.constant(np.asarray([1], np.int64))
        return self.add("ReduceSum", x, axes, keepdims=0)

    def split(self, x: str, sizes: Sequence[int], axis: int, count: int = 0) -> list[str]:
        """Split a tensor along an axis, into `count` equal parts if there are no sizes."""
        count = count or len(sizes)
        given: dict[str, Any] = {"axis": axis, "outputs": count}
        inputs = [x]
        if sizes and self.opset >= SIZES_AS_INPUT:
            inputs.append(self.constant(np.asarray(sizes, np.int64)))
        elif sizes:
            given["split"] = sizes
        elif self.opset >= NUM_OUTPUTS:
            given["num_outputs"] = count
        first = self.add("Split", *inputs, **given)
        return [first, *(f"{first}.{i}" for i in range(1, count))]

    def unsqueezed(self, x: str, axis: int) -> str:
        if self.opset < SIZES_AS_INPUT:
            return self.add("Unsqueeze", x, axes=[axis])
        return self.add("Unsqueeze", x, self.constant(np.asarray([axis], np.int64)))

    def refusal(self, why: str, remedy: str) -> GraphError:
        return GraphError(f"node {self.name} ({DOMAIN}.{self.node.op_type}) {why}; {remedy}")

    def activated(self, x: str, *numbers: float) -> str:
        """Apply the node's activation function, with `numbers` as its attributes."""
        name = self.text("activation")
        if name not in ACTIVATIONS:
            known = ", ".join(filter(None, ACTIVATIONS))
            raise self.refusal(f"has activation={name}; kgen supports {known}", "export it unfused")
        if not name:
            return x
        if name == "Clip":
            if len(numbers) != 2:
                raise self.refusal(f"clips by {len(numbers)} numbers, not 2", "export it unfused")
            return self.add("Clip", x, *(self.number(n, x) for n in numbers))
        given: dict[str, Any] = dict(zip(ACTIVATIONS[name], numbers, strict=False))
        return self.add(name, x, **given)
