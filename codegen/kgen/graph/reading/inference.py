"""Types of what a node makes, by onnx's own inference."""

from __future__ import annotations

import math
from collections.abc import Mapping

import onnx
from onnx import defs, helper, numpy_helper, shape_inference

from kgen.errors import GraphError
from kgen.graph.reading.messages import shortened
from kgen.graph.reading.model import Array, Shape

#: Pools, and the opset from which their inference leaves out windows that begin behind the input,
#: as ONNX's text says of every opset.
POOLS = ("AveragePool", "LpPool", "MaxPool")
POOLS_AS_SAID = 22
#: The first opset that infers an Upsample, which has the scales of all axes.
UPSAMPLE_INFERRED = 7
#: The first opset whose Constant may be of any type; those before mean the same.
CONSTANT_OF_ANY_TYPE = 13
#: Elements of a constant whose values inference is told: those of a shape, not of weights.
MOST_TOLD = 4096


def inferred(
    node: onnx.NodeProto,
    name: str,
    types: Mapping[str, onnx.TypeProto],
    constants: Mapping[str, Array],
    opset: int,
) -> dict[str, onnx.TypeProto]:
    """Types of the tensors whose shapes follow from the inputs' types and constants.

    Raises GraphError, which calls the node `name`, if it does not fit its inputs.
    """
    if node.op_type in POOLS:
        opset = max(opset, POOLS_AS_SAID)
    elif node.op_type == "Upsample":
        opset = max(opset, UPSAMPLE_INFERRED)
    elif node.op_type == "Constant":
        opset = max(opset, CONSTANT_OF_ANY_TYPE)
    elif node.op_type == "Range":
        types = {value: _one_number(kind) for value, kind in types.items()}
        constants = {
            value: array.reshape(()) if array.size == 1 else array
            for value, array in constants.items()
        }
    elif node.op_type == "STFT" and all(a.name != "onesided" for a in node.attribute):
        # Inference takes 0 where the node has none, ONNX's text 1.
        given = onnx.NodeProto.FromString(node.SerializeToString())
        given.attribute.append(helper.make_attribute("onesided", 1))
        node = given
    elif node.op_type == "MaxUnpool" and len(node.input) > 2 and node.input[2] in constants:
        # The shape that the node is given, which inference does not read.
        shape = constants[node.input[2]].reshape(-1).tolist()
        kind = types[node.input[0]].tensor_type.elem_type
        return {node.output[0]: helper.make_tensor_type_proto(kind, shape)}
    try:
        schema = defs.get_schema(node.op_type, opset, "")
    except defs.SchemaError:
        return {}
    if schema.deprecated and (schema.has_function or schema.has_context_dependent_function):
        return {}  # Inference refuses GroupNormalization of opset 18, whose body is known.
    _check_numbers(node, name)
    told = {
        value: numpy_helper.from_array(array, value)
        for value, array in constants.items()
        if array.size <= MOST_TOLD
    }
    imports = [helper.make_opsetid("", opset)]
    try:
        found = shape_inference.infer_node_outputs(
            schema, node, dict(types), told, opset_imports=imports
        )
    except Exception as error:
        raise GraphError(
            f"node {name} ({node.op_type}) does not fit its inputs: {shortened(error)}; "
            "change it, or the shapes of its inputs"
        ) from None
    if schema.has_function and not all(map(_is_known, found.values())):
        found = _by_body(node, types, imports)
    return {value: kind for value, kind in found.items() if _is_known(kind)}


def _check_numbers(node: onnx.NodeProto, name: str) -> None:
    """Raise GraphError for attributes that ONNX's inference takes as indices without a check: it
    would read outside of its memory, or end the process."""
    given = {a.name: a.i for a in node.attribute}
    if node.op_type == "Split" and given.get("num_outputs", len(node.output)) != len(node.output):
        raise GraphError(
            f"node {name} (Split) has num_outputs={given['num_outputs']} and {len(node.output)} "
            "results; make them the same number in the model"
        )
    if node.op_type == "GatherND" and given.get("batch_dims", 0) < 0:
        raise GraphError(
            f"node {name} (GatherND) has batch_dims={given['batch_dims']}; it must be 0 or more; "
            "change it in the model"
        )


def _by_body(
    node: onnx.NodeProto,
    types: Mapping[str, onnx.TypeProto],
    imports: list[onnx.OperatorSetIdProto],
) -> dict[str, onnx.TypeProto]:
    """Types of an operator that ONNX defines only by a function body, as GreaterOrEqual before
    opset 16. Inference reads a body only within a model."""
    alone = helper.make_graph(
        [node],
        "body",
        [onnx.ValueInfoProto(name=value, type=kind) for value, kind in types.items()],
        [onnx.ValueInfoProto(name=value) for value in node.output if value],
    )
    model = helper.make_model(alone, opset_imports=imports)
    return {o.name: o.type for o in shape_inference.infer_shapes(model).graph.output}


def _one_number(kind: onnx.TypeProto) -> onnx.TypeProto:
    """The type of a number for that of a list of one: ONNX's own body of AffineGrid gives Range
    such lists."""
    if not _is_known(kind) or math.prod(dims_of(kind)) != 1:
        return kind
    return helper.make_tensor_type_proto(kind.tensor_type.elem_type, [])


def _is_known(kind: onnx.TypeProto) -> bool:
    """A tensor of a shape whose sizes are all given."""
    return (
        kind.HasField("tensor_type")
        and kind.tensor_type.HasField("shape")
        and all(dim.HasField("dim_value") for dim in kind.tensor_type.shape.dim)
    )


def dims_of(kind: onnx.TypeProto) -> Shape:
    return tuple(dim.dim_value for dim in kind.tensor_type.shape.dim)


def nbytes_of(kind: onnx.TypeProto) -> int:
    """Bytes of a tensor; texts count as pointers."""
    dtype = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
    return math.prod(dims_of(kind)) * int(dtype.itemsize)
