"""Unrolling of Loop and Scan with a constant trip count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
import onnx
from onnx import helper

from kgen.errors import GraphError
from kgen.graph.reading.branches import renamed
from kgen.graph.reading.inference import dims_of
from kgen.graph.reading.model import Array, Shape
from kgen.graph.reading.written_out import constant_node
from kgen_runtime.values import frozen

#: Most nodes that all unrolled loops of a model may have together.
MOST_UNROLLED = 1 << 13
#: First opset in which Scan has no batch axis.
SCAN_WITHOUT_BATCH = 9
LOOPS = ("Loop", "Scan")


class Unrollable(Exception):
    """Reason why a loop cannot be unrolled; part of a message."""


@frozen
class StepSlices:
    """Axis along which a Scan cuts a tensor into steps, and whether it starts at the end."""

    axis: int
    is_reversed: bool

    def taken(self, value: str, step: int, length: int, result: str) -> list[onnx.NodeProto]:
        """Return nodes that extract the slice of a step from an input."""
        number = length - 1 - step if self.is_reversed else step
        index = f"{result}/number"
        return [
            constant_node(index, np.asarray(number, np.int64)),
            helper.make_node("Gather", [value, index], [result], name=value, axis=self.axis),
        ]


@frozen
class Joined:
    """Result of a Loop or Scan that stacks the results of all steps along a new axis.

    `kind` is the declared type of one step, `values` the names of the steps' results.
    """

    slices: StepSlices
    kind: onnx.TypeProto
    values: list[str] = field(default_factory=list)

    def nodes(self, shape: Shape, result: str) -> list[onnx.NodeProto]:
        """Return nodes that stack the results of the steps, each of `shape`."""
        axis = _counted(self.slices.axis, len(shape) + 1)
        parts = [f"{result}/{number}" for number in range(len(self.values))]
        whole = np.asarray((*shape[:axis], 1, *shape[axis:]), np.int64)
        nodes = [constant_node(f"{result}/shape", whole)]
        for value, part in zip(self.values, parts, strict=True):
            nodes.append(
                helper.make_node("Reshape", [value, f"{result}/shape"], [part], name=result)
            )
        order = parts[::-1] if self.slices.is_reversed else parts
        return [*nodes, helper.make_node("Concat", order, [result], name=result, axis=axis)]

    def without_steps(self, result: str) -> Array:
        """Return the empty result of a loop without steps.

        Raises Unrollable if its shape is not declared.
        """
        tensor = self.kind.tensor_type
        dims = tensor.shape.dim
        if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in dims):
            raise Unrollable(f"it has no steps, and the shape of {result} is not declared")
        shape, axis = dims_of(self.kind), _counted(self.slices.axis, len(dims) + 1)
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        return np.zeros((*shape[:axis], 0, *shape[axis:]), dtype)


@frozen
class Steps:
    """Body of a Loop or Scan, for unrolling.

    All steps share `tensors` and `constants`; `shared` maps their names in the body to those in the
    model.
    """

    #: Prefix of the names of values that the loop computes.
    prefix: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    tensors: Sequence[onnx.TensorProto]
    constants: Sequence[onnx.NodeProto]
    nodes: Sequence[onnx.NodeProto]
    shared: Mapping[str, str]
    kinds: Sequence[onnx.TypeProto]

    def joined(self, slices: Sequence[StepSlices]) -> list[Joined]:
        """Return the loop's stacked results, before the first step."""
        first = len(self.kinds) - len(slices)
        pairs = zip(slices, self.kinds[first:], strict=True)
        return [Joined(slices=one, kind=kind) for one, kind in pairs]

    def step(self, number: int, given: Sequence[str]) -> tuple[list[onnx.NodeProto], list[str]]:
        """Return the nodes of a step on the values `given`, and the names of its results."""
        prefix = f"{self.prefix}/{number}"
        made = {value for node in self.nodes for value in node.output if value}
        names = {
            **self.shared,
            **{value: f"{prefix}/{value}" for value in made},
            **dict(zip(self.inputs, given, strict=True)),
        }
        nodes = [renamed(node, names) for node in self.nodes]
        for place, node in enumerate(nodes):
            # Equal node names in all steps let steps share kernels and manifest text.
            node.name = f"{self.prefix}/{node.name or f'{node.op_type}{place}'}"
        return nodes, [names.get(value, value) for value in self.outputs]


def steps_of(node: onnx.NodeProto, name: str, num_inputs: int, num_outputs: int) -> Steps:
    """Return the body of a Loop or Scan, which must have these numbers of inputs and outputs."""
    graph = next((a.g for a in node.attribute if a.name == "body"), None)
    found = (len(graph.input), len(graph.output)) if graph is not None else (0, 0)
    if graph is None or found != (num_inputs, num_outputs):
        raise GraphError(
            f"node {name} ({node.op_type}) has a body of {found[0]} inputs and {found[1]} results; "
            f"its own inputs and results require {num_inputs} and {num_outputs}; export the model "
            "again"
        )
    constants = [inner for inner in graph.node if inner.op_type == "Constant"]
    values = {value for inner in constants for value in inner.output}
    values |= {tensor.name for tensor in graph.initializer}
    prefix = next((value for value in node.output if value), name)
    shared = {value: f"{prefix}/{value}" for value in values}
    tensors = []
    for tensor in graph.initializer:
        tensors.append(onnx.TensorProto())
        tensors[-1].CopyFrom(tensor)
        tensors[-1].name = shared[tensor.name]
    return Steps(
        prefix=prefix,
        inputs=[value.name for value in graph.input],
        outputs=[value.name for value in graph.output],
        tensors=tensors,
        constants=[renamed(inner, shared) for inner in constants],
        nodes=[inner for inner in graph.node if inner.op_type != "Constant"],
        shared=shared,
        kinds=[value.type for value in graph.output],
    )


@frozen
class ScanLayout:
    """Number of states of a Scan, and how its inputs and results are cut into steps."""

    num_states: int
    inputs: Sequence[StepSlices]
    outputs: Sequence[StepSlices]


def scan_of(node: onnx.NodeProto, name: str, opset: int) -> ScanLayout:
    """Return the layout of a Scan. Raises Unrollable for one with a batch axis."""
    if opset < SCAN_WITHOUT_BATCH:
        raise Unrollable(f"opset {opset} gives it a batch axis, which is not supported")
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    num_inputs = int(attributes.get("num_scan_inputs", 0))
    num_states = len(node.input) - num_inputs
    num_outputs = len(node.output) - num_states
    if num_inputs < 1 or num_states < 0 or num_outputs < 0:
        raise GraphError(
            f"node {name} (Scan) has num_scan_inputs={num_inputs} for {len(node.input)} inputs and "
            f"{len(node.output)} results; change it in the model"
        )

    def slices(kind: str, count: int) -> list[StepSlices]:
        axes = attributes.get(f"scan_{kind}_axes", [0] * count)
        directions = attributes.get(f"scan_{kind}_directions", [0] * count)
        if (len(axes), len(directions)) != (count, count):
            raise GraphError(
                f"node {name} (Scan) has {len(axes)} scan_{kind}_axes and {len(directions)} "
                f"scan_{kind}_directions for {count} {kind}s; change them in the model"
            )
        pairs = zip(axes, directions, strict=True)
        return [StepSlices(axis=int(axis), is_reversed=bool(back)) for axis, back in pairs]

    return ScanLayout(
        num_states=num_states,
        inputs=slices("input", num_inputs),
        outputs=slices("output", num_outputs),
    )


def length_of(name: str, scan: ScanLayout, shapes: Sequence[Shape]) -> int:
    """Return the trip count of a Scan whose inputs have these shapes."""
    lengths = []
    for cut, shape in zip(scan.inputs, shapes, strict=True):
        lengths.append(shape[_counted(cut.axis, len(shape))])
    if len(set(lengths)) > 1:
        raise GraphError(
            f"node {name} (Scan) has inputs of {', '.join(map(str, lengths))} steps; they must "
            "have the same number; change the model"
        )
    return lengths[0]


def check_unrolled(name: str, operator: str, number: int) -> None:
    """Raise GraphError if the unrolled loops of a model have more nodes than the limit."""
    if number > MOST_UNROLLED:
        raise GraphError(
            f"node {name} ({operator}): the steps of the model's loops have more than "
            f"{MOST_UNROLLED} nodes, the limit; compile the model for fewer steps, or export the "
            "body as a model of its own and repeat it"
        )


def trip_count(array: Array | None, name: str) -> int:
    """Return the largest trip count that a Loop's first input allows.

    Without that input, return a number above the limit.
    """
    if array is None:
        return MOST_UNROLLED + 1
    if array.size != 1:
        raise GraphError(
            f"node {name} (Loop) has a trip count of {array.size} elements; it must have 1; "
            "change it in the model"
        )
    return int(array.reshape(-1)[0])


def _counted(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of {rank} axes")
    return axis % rank
