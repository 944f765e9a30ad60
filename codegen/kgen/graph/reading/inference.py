"""Shape and type inference for one node: onnx's inference, with corrections."""

from __future__ import annotations

import math
from collections.abc import Mapping

import onnx
from onnx import defs, helper, numpy_helper, shape_inference

from kgen.errors import GraphError
from kgen.graph.reading.messages import shortened
from kgen.graph.reading.model import Array, Shape

#: Pools, and the first opset whose inference drops windows that begin past the input, which ONNX's
#: text requires in every opset.
POOLS = ("AveragePool", "LpPool", "MaxPool")
POOLS_AS_SAID = 22
#: First opset whose inference supports an Upsample with scales for all axes.
UPSAMPLE_INFERRED = 7
#: First opset whose Constant may have any type; earlier ones mean the same.
CONSTANT_OF_ANY_TYPE = 13
#: Most elements of a constant whose values inference sees: enough for shapes, but not weights.
MOST_TOLD = 4096


def trains(node: onnx.NodeProto) -> bool:
    """Return whether a BatchNormalization is in training mode."""
    return any(a.name == "training_mode" and a.i for a in node.attribute)


def inferred(
    node: onnx.NodeProto,
    name: str,
    types: Mapping[str, onnx.TypeProto],
    constants: Mapping[str, Array],
    opset: int,
) -> dict[str, onnx.TypeProto]:
    """Return the types of a node's outputs whose shapes follow from its inputs.

    `constants` are the known inputs. Raises GraphError, naming the node `name`, if it does not fit
    its inputs.
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
        # Inference takes 0 for a missing attribute; ONNX's text says 1.
        given = onnx.NodeProto.FromString(node.SerializeToString())
        given.attribute.append(helper.make_attribute("onesided", 1))
        node = given
    elif node.op_type == "BatchNormalization" and len(node.output) == 1 and trains(node):
        # Inference wants all results; PyTorch's exporter writes one, to normalise weights.
        return {node.output[0]: types[node.input[0]]}
    elif node.op_type == "MeanVarianceNormalization" and node.input[0] in types:
        # Inference says nothing, and knows the function body in some opsets only.
        return {node.output[0]: types[node.input[0]]}
    elif node.op_type == "MaxUnpool" and len(node.input) > 2 and node.input[2] in constants:
        # Inference ignores the input that holds the output's shape.
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
    """Raise GraphError for attributes that onnx's inference uses as unchecked indices.

    It would read out of bounds or abort the process.
    """
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
    """Infer the types of an operator that ONNX defines only by a function body.

    GreaterOrEqual before opset 16 is one. onnx infers a body only within a model.
    """
    alone = helper.make_graph(
        [node],
        "body",
        [onnx.ValueInfoProto(name=value, type=kind) for value, kind in types.items()],
        [onnx.ValueInfoProto(name=value) for value in node.output if value],
    )
    model = helper.make_model(alone, opset_imports=imports)
    return {o.name: o.type for o in shape_inference.infer_shapes(model).graph.output}


def _one_number(kind: onnx.TypeProto) -> onnx.TypeProto:
    """Return the type of a scalar for a list of one number.

    ONNX's function body of AffineGrid passes such lists to Range.
    """
    if not _is_known(kind) or math.prod(dims_of(kind)) != 1:
        return kind
    return helper.make_tensor_type_proto(kind.tensor_type.elem_type, [])


def _is_known(kind: onnx.TypeProto) -> bool:
    """Whether a tensor's shape is known in full."""
    return (
        kind.HasField("tensor_type")
        and kind.tensor_type.HasField("shape")
        and all(dim.HasField("dim_value") for dim in kind.tensor_type.shape.dim)
    )


def dims_of(kind: onnx.TypeProto) -> Shape:
    return tuple(dim.dim_value for dim in kind.tensor_type.shape.dim)


def nbytes_of(kind: onnx.TypeProto) -> int:
    """Return the bytes of a tensor; strings count as pointers."""
    dtype = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
    return math.prod(dims_of(kind)) * int(dtype.itemsize)
