"""Table of ONNX operators, and the construction of a model's graph from it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from kgen.errors import GraphError
from kgen.graph.ir import (
    PLAIN_CONVOLUTIONS,
    Builder,
    ConvolutionKernels,
    Graph,
    GraphValue,
    SourceNode,
    ViewNode,
)
from kgen.graph.operators import (
    convolutions,
    curves,
    deformed,
    determinants,
    einsum,
    elementwise,
    grids,
    poolings,
    products,
    quantized,
    recurrent,
    regions,
    resampling,
    rows,
    scatters,
    selections,
    transforms,
    views,
)
from kgen.graph.operators.registry import MissingInputError, Operator
from kgen.graph.operators.signed_bytes import signed
from kgen.graph.operators.widened import decoded, encoded
from kgen.graph.reading.function_bodies import has_body
from kgen.graph.reading.importer import MISFITS
from kgen.graph.reading.model import Model, Node, Shape
from kgen.graph.rewrites.orders import SIGNED, in_order, inverse
from kgen.spec.shapes import by_x
from kgen_runtime.dtypes import DType

OPERATORS: Mapping[str, Operator] = {
    operator.name: operator
    for operator in (
        *elementwise.OPERATORS,
        *transforms.OPERATORS,
        *curves.OPERATORS,
        *rows.OPERATORS,
        *views.OPERATORS,
        *products.OPERATORS,
        *quantized.OPERATORS,
        *einsum.OPERATORS,
        *convolutions.OPERATORS,
        *poolings.OPERATORS,
        *resampling.OPERATORS,
        *grids.OPERATORS,
        *regions.OPERATORS,
        *deformed.OPERATORS,
        *determinants.OPERATORS,
        *recurrent.OPERATORS,
        *scatters.OPERATORS,
        *selections.OPERATORS,
    )
}


#: Attributes that a lowering need not read. Either the results' shapes imply them, or they belong
#: to a mode or result that the node does not use, or they change nothing in inference with these
#: types.
IMPLIED: Mapping[str, Collection[str]] = {
    "AveragePool": ("ceil_mode", "count_include_pad"),
    "BatchNormalization": ("is_test", "momentum", "spatial"),
    "Cast": ("input_dtype", "round_mode", "saturate"),
    "CastLike": ("round_mode", "saturate"),
    "Concat": ("axis",),
    "ConvTranspose": ("group", "kernel_shape", "output_padding"),
    "DequantizeLinear": ("output_dtype",),
    "Dropout": ("is_test", "ratio", "seed"),
    "Flatten": ("axis",),
    "GRU": ("hidden_size", "output_sequence"),
    "LSTM": ("hidden_size", "output_sequence"),
    "LayerNormalization": ("stash_type",),
    "MaxPool": ("ceil_mode", "storage_order"),
    "QuantizeLinear": ("output_dtype", "precision", "saturate"),
    "RMSNormalization": ("stash_type",),
    "RNN": ("hidden_size", "output_sequence"),
    "Reshape": ("allowzero", "shape"),
    "RoiAlign": ("output_height", "output_width"),
    "STFT": ("onesided",),
    "Split": ("num_outputs",),
    "Squeeze": ("axes",),
    "TensorScatter": ("mode",),
    "Unsqueeze": ("axes",),
    **dict.fromkeys(
        ("Resize", "Upsample"),
        (
            *("axes", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside"),
            *("extrapolation_value", "keep_aspect_ratio_policy", "nearest_mode"),
        ),
    ),
}
#: Attributes that are 0 or 1.
FLAGS = frozenset(
    {
        *("allowzero", "antialias", "ceil_mode", "count_include_pad", "detect_negative"),
        *("detect_positive", "exclude_outside", "exclusive", "fmod", "input_forget", "keepdims"),
        *("layout", "linear_before_reset", "noop_with_empty_axes", "reverse", "saturate"),
        *("largest", "select_last_index", "sorted", "training_mode", "transA", "transB", "upper"),
    }
)
#: Attributes of any operator up to opset 6 that need not be read.
ALWAYS_IMPLIED = ("broadcast", "consumed_inputs")
#: Most elements of a value.
MOST_ELEMENTS = 1 << 40


def check_size(b: Builder, shape: Shape) -> None:
    """Raise GraphError for a result that is empty or larger than any memory."""
    if any(n < 1 for n in shape) or math.prod(shape) > MOST_ELEMENTS:
        raise b.refusal(
            f"has a result of shape {'x'.join(map(str, shape))}; results have 1 to "
            f"{MOST_ELEMENTS} elements",
            "export the model without it",
        )


def check_attributes(b: Builder, node: Node) -> None:
    """Raise GraphError for an unread attribute that may change the results."""
    known = {*node.asked, *ALWAYS_IMPLIED, *IMPLIED.get(node.operator, ())}
    if node.operator.startswith("Reduce"):
        known.update(("keepdims", "noop_with_empty_axes"))
    for name, value in node.attributes.items():
        if name not in known:
            raise b.refusal(
                f"has {name}={value}, an attribute that kgen does not support here",
                "export the model without it",
            )
        if name in FLAGS and value not in (0, 1):
            raise b.refusal(f"has {name}={value}; ONNX requires 0 or 1", "change it in the model")


def lowered(
    b: Builder, model: Model, node: Node, given: list[GraphValue | None]
) -> tuple[GraphValue, ...]:
    """Lower a node; return its results.

    Raises GraphError for an unsupported use of the operator.
    """
    for name in filter(None, node.outputs):
        check_size(b, model.tensors[name].shape if name in model.tensors else ())
    try:
        made = OPERATORS[node.operator].lower(b, node, given)
    except MISFITS as error:
        # No exporter writes such nodes: the inputs do not fit the operator.
        why = str(error)
        if isinstance(error, MissingInputError) and "".join(node.inputs[error.number :][:1]):
            name = node.inputs[error.number]
            why = f"{name} has shape {by_x(model.tensors[name].shape)}, without elements"
        raise b.refusal(
            f"has inputs and attributes that do not fit: {why}",
            "change them in the model, or export it again",
        ) from None
    check_attributes(b, node)
    results = made if isinstance(made, tuple) else (made,)
    for name, result in zip(node.outputs, results, strict=False):
        if name in model.tensors and result.shape != model.tensors[name].shape:
            shapes = ("x".join(map(str, s)) for s in (result.shape, model.tensors[name].shape))
            raise b.refusal(
                "has a result of shape {} by its inputs, {} by ONNX".format(*shapes),
                "change its attributes in the model, or export it again",
            )
    return results


def signed_values(b: Builder, found: Mapping[str, GraphValue]) -> dict[str, GraphValue]:
    """Return the s8 forms of computed u8 values, under names of their own."""
    computed = {
        name: value
        for name, value in found.items()
        if value.dtype is DType.U8 and not isinstance(value.operation, SourceNode)
    }
    return {f"{name}{SIGNED}": signed(b, value) for name, value in computed.items()}


class NodesRefused(GraphError):
    """Refusals of nodes whose operators have a function body, by the nodes' first results."""

    def __init__(self, refusals: Mapping[str, GraphError]) -> None:
        super().__init__(str(next(iter(refusals.values()))))
        self.refusals = refusals


#: Operators whose second operand may be weights.
WEIGHTED = ("Conv", "Gemm", "MatMul")


def graph_of(model: Model, *, convolves: ConvolutionKernels = PLAIN_CONVOLUTIONS) -> Graph:
    """Build the graph of a model. Raises GraphError for unsupported uses of operators.

    If all refused operators have function bodies, the error is NodesRefused with all refusals.
    """
    weights = {node.inputs[1] for node in model.nodes if node.operator in WEIGHTED}
    b = Builder(model.tensors, model.dequantized, convolves=convolves, weights=weights)
    refusals: dict[str, GraphError] = {}
    found: dict[str, GraphValue] = {}
    #: Inputs as they are in memory.
    given_as: dict[str, GraphValue] = {}
    #: Results that no lowering computes, and their nodes.
    lacking: dict[str, Node] = {}
    for name in model.inputs:
        tensor = model.tensors[name]
        if name in model.stored:
            given_as[name], found[name] = decoded(b, name, model.stored[name])
        else:
            given_as[name] = found[name] = b.input(name, tensor.shape, tensor.dtype)

    def value(name: str) -> GraphValue | None:
        if name in model.constants and not model.constants[name].size:
            # An empty constant counts as a missing input.
            return None
        if name not in found and name in model.constants:
            found[name] = b.constant(name, model.constants[name], model.tensors[name].dtype)
        if name in lacking:
            b.node = lacking[name]
            refuse(
                lacking[name],
                b.refusal(
                    f"gives {name}, which is used; only its first results are supported",
                    f"make {name} by nodes of its own",
                ),
            )
        return found[name] if name else None

    def refuse(node: Node, why: GraphError) -> None:
        """Record a refusal and continue after the node, if a function body may replace the node."""
        if not has_body(node.operator, node.opset):
            raise why
        refusals.setdefault(next(filter(None, node.outputs)), why)
        for name in filter(None, node.outputs):
            lacking.pop(name, None)
            if name in model.tensors:
                found[name] = b.input(name, model.tensors[name].shape, model.tensors[name].dtype)

    for node in model.nodes:
        given = [value(name) for name in node.inputs]
        b.node = node
        try:
            results = lowered(b, model, node, given)
        except GraphError as why:
            refuse(node, why)
            continue
        lacking.update(dict.fromkeys(filter(None, node.outputs[len(results) :]), node))
        found.update(zip(node.outputs, results, strict=False))
    outputs = {}
    for name in model.outputs:
        output = value(name) or b.constant(name, model.constants[name], model.tensors[name].dtype)
        if name in model.stored:
            output = encoded(b, output, model.stored[name].dtype)
        outputs[name] = output.id
    if refusals:
        raise NodesRefused(refusals)
    names: dict[str, str] = {value.id: name for name, value in given_as.items()}
    for name, result in found.items():
        names.setdefault(result.id, name)
    # Constants that lowerings add have names of their own.
    for made_here in b.values.values():
        if isinstance(made_here.operation, SourceNode):
            names.setdefault(made_here.id, made_here.operation.name)
    b.node = None
    for name, result in (found | signed_values(b, found)).items():
        names.setdefault(result.id, name)
        # The operand of a permutation is the value in memory, so name it too.
        operation, order = result.operation, b.order_of(result)
        if order and isinstance(operation, ViewNode):
            names.setdefault(operation.of, in_order(name, inverse(order)))
    return Graph(
        name=model.name,
        inputs=tuple(given_as[name].id for name in model.inputs),
        outputs=outputs,
        values=b.values,
        constants=b.constants,
        names=names,
        counts=model.counts,
        dequantized=b.dequantized,
        originals=b.originals,
        stored=model.stored,
    )
