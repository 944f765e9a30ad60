"""Exact results of a model: every intermediate value in f64, by onnx's reference evaluator.

The model is evaluated twice on the same inputs: in f64, and in its own types. The difference shows
the cost of rounding, and thus the tolerance of a correct program. The module shares no code with
the importer, the fusion or the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kgen.check.model.narrow import operators
from kgen.errors import GraphError
from kgen.graph.reading.branches import taken_branch
from kgen.graph.reading.definitions import OPERATORS
from kgen.graph.reading.onnx_file import Source, read, shown
from kgen.graph.reading.tensors import graphs_of
from kgen_runtime.array import host_dtype
from kgen_runtime.schema.program import Program
from kgen_runtime.values import frozen

Array = npt.NDArray[Any]
#: Element types that become f64.
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
#: Attributes that name the type of a result.
TYPE_ATTRIBUTES = ("to", "dtype", "output_datatype", "output_dtype")
#: Attributes whose default makes an operator's result f32, with their value for f64.
NARROW_DEFAULTS: Mapping[str, tuple[str, Any]] = {
    "ConstantOfShape": ("value", numpy_helper.from_array(np.zeros(1, np.float64))),
    "BlackmanWindow": ("output_datatype", TensorProto.DOUBLE),
    "HammingWindow": ("output_datatype", TensorProto.DOUBLE),
    "HannWindow": ("output_datatype", TensorProto.DOUBLE),
    "MelWeightMatrix": ("output_datatype", TensorProto.DOUBLE),
}
#: Quantising operators, with the input that is scaled: the dividend, or the scale of the result.
QUANTIZING: Mapping[str, int] = {
    "DynamicQuantizeLinear": 0, "QLinearConv": 6, "QLinearMatMul": 6, "QuantizeLinear": 0,
}  # fmt: skip
#: Relative distance from a rounding tie within which kernels may round to either side, and the
#: factor by which they may exceed the difference that this makes in an output.
NEAR_TIES, FLIPS = 2.0**-16, 4.0
#: Most characters of a quoted message.
MOST_SHOWN = 200
#: Most Ifs in a model.
MOST_BRANCHES = 256
#: Operators whose output is an index if their input is one.
KEEPING = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")


@frozen
class Truth:
    """Inputs of a model, and its values by name in f64 and in the model's own types.

    - `deviation` is the distance of each output from that of the original model, relative to its
      norm, if weights or products are narrow.
    - `moved` is the largest absolute change of an element that rounding causes: in outputs of a
      model with 16-bit products, and in all values of a quantised model.
    """

    inputs: Mapping[str, Array]
    exact: Mapping[str, Array]
    rounded: Mapping[str, Array]
    deviation: Mapping[str, float] = field(default_factory=dict)
    moved: Mapping[str, float] = field(default_factory=dict)
    #: Quantised values. Their definition leaves the rounding of ties open.
    quantized: frozenset[str] = frozenset()


def truth(
    source: Source,
    program: Program,
    *,
    seed: int = 0,
    given: Mapping[str, Array] | None = None,
    weights: str | None = None,
    products: str | None = None,
) -> Truth:
    """Evaluate a model on the inputs `given`, and on seeded random ones for the others.

    `weights` and `products` are the narrow types of the program. Raises GraphError for a model that
    the reference cannot evaluate.
    """
    model, path = read(source), shown(source)
    named = {i.name: i for i in model.graph.input}
    inputs = {}
    rng = np.random.default_rng(seed)
    values = program.by_name
    for value in (*program.inputs, *(values[state.input] for state in program.states)):
        if value.name not in named:
            raise GraphError(
                f"model={path} has no input {value.name}, which the program has; name the model "
                "that the program was compiled from"
            )
        rank = len(named[value.name].type.tensor_type.shape.dim)
        shape = value.shape if rank else ()
        drawn = _drawn(model, value.name, value.dtype.is_integer, shape, rng)
        array = (given or {}).get(value.name, drawn.astype(host_dtype(value.dtype)))
        inputs[value.name] = array.reshape(shape)
    model = flattened(model, inputs, path)
    wide = {name: _as_f64(array) for name, array in inputs.items()}
    exact = _values(in_f64(model), wide, path, weights, products)
    deviation, moved = {}, {}
    if weights is not None or products is not None:
        plain = _values(in_f64(model), wide, path)
        outputs = [o.name for o in model.graph.output]
        deviation = {name: _apart(exact[name], plain[name]) for name in outputs}
        if products is not None:
            moved = {name: _farthest(exact[name], plain[name]) for name in outputs}
    numbers = frozenset(n.output[0] for n in model.graph.node if n.op_type in QUANTIZING)
    for factor in (1.0 + NEAR_TIES, 1.0 - NEAR_TIES) if numbers else ():
        others = _values(with_factors(in_f64(model), factor), wide, path, weights, products)
        for name in others.keys() & exact.keys():
            found = FLIPS * _farthest(exact[name], others[name])
            moved[name] = max(moved.get(name, 0.0), found)
    rounded = _values(model, inputs, path, weights, products)
    for results in (exact, rounded):
        sizes = {c.size: results[c.output].shape[c.axis] for c in program.counts}
        results.update({name: np.asarray(size, np.int64) for name, size in sizes.items()})
    return Truth(
        inputs=inputs,
        exact=exact,
        rounded=rounded,
        deviation=deviation,
        moved=moved,
        quantized=numbers,
    )


def with_factors(model: onnx.ModelProto, factor: float) -> onnx.ModelProto:
    """Return the model with a factor before each quantisation; it flips numbers near a tie."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    name = "kgen:factor"
    found.graph.initializer.append(numpy_helper.from_array(np.float64(factor).reshape(()), name))
    nodes = []
    for node in found.graph.node:
        place = QUANTIZING.get(node.op_type)
        if place is not None:
            given = node.input[place]
            moved = f"{given}:{node.output[0]}:moved"
            nodes.append(helper.make_node("Mul", [given, name], [moved]))
            node.input[place] = moved
        nodes.append(node)
    _replace(found.graph, nodes)
    return found


def _apart(values: Array, others: Array) -> float:
    """Return the norm of a difference, relative to the norm of `others`."""
    norm = float(np.linalg.norm(others.astype(np.float64)))
    return float(np.linalg.norm((values - others).astype(np.float64))) / (norm or 1.0)


def _farthest(values: Array, others: Array) -> float:
    if values.dtype.kind not in "biuf" or values.shape != others.shape:
        return 0.0
    apart = np.abs(values.astype(np.float64) - others.astype(np.float64))
    return float(np.max(apart, initial=0.0, where=np.isfinite(apart)))


def _drawn(
    model: onnx.ModelProto, name: str, is_integer: bool, shape: tuple[int, ...], rng: Any
) -> Array:
    """Return random inputs in a useful range.

    Indices lie in the indexed table, other integers are 0 or 1, and floats are normally
    distributed.
    """
    if not is_integer:
        return np.asarray(rng.standard_normal(shape))
    return np.asarray(rng.integers(0, _places(model, name) or 2, shape))


def _places(model: onnx.ModelProto, name: str) -> int | None:
    """Return the number of rows of the smallest table that an input indexes."""
    sizes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    names, found = {name}, []
    for node in model.graph.node:
        if node.op_type in KEEPING and node.input[0] in names:
            names.update(node.output)
        if node.op_type == "Gather" and node.input[1] in names and node.input[0] in sizes:
            axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
            found.append(sizes[node.input[0]][axis])
    return min(found, default=None)


def flattened(model: onnx.ModelProto, inputs: Mapping[str, Array], path: str) -> onnx.ModelProto:
    """Return the model with each If replaced by the branch that these inputs select.

    The values inside the branch then have names.
    """
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for _ in range(MOST_BRANCHES):
        nodes = list(found.graph.node)
        number = next((i for i, node in enumerate(nodes) if node.op_type == "If"), None)
        if number is None:
            return found
        node = nodes[number]
        known = _values(_before(found, node.input[0]), inputs, path)[node.input[0]]
        tensors, inner = taken_branch(node, bool(known.reshape(-1)[0]))
        found.graph.initializer.extend(tensors)
        _replace(found.graph, [*nodes[:number], *inner, *nodes[number + 1 :]])
    raise GraphError(
        f"model={path}: it has more than {MOST_BRANCHES} branches, the limit; verify without it"
    )


def _before(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """Return the part of a model that computes a value."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    kept: list[onnx.NodeProto] = []
    needed = {name}
    for node in reversed(found.graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.insert(0, node)
    _replace(found.graph, kept)
    del found.graph.output[:]
    found.graph.output.extend([onnx.ValueInfoProto(name=name)])
    return found


def _replace(graph: onnx.GraphProto, nodes: list[onnx.NodeProto]) -> None:
    """Replace a graph's nodes; the new ones may include its own."""
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def _values(
    model: onnx.ModelProto,
    inputs: Mapping[str, Array],
    path: str,
    weights: str | None = None,
    products: str | None = None,
) -> dict[str, Array]:
    # Of two definitions with one name the first takes effect.
    own = [*operators(model, weights, products), *OPERATORS]
    try:
        with np.errstate(all="ignore"):
            found = evaluator(model, own).run(None, dict(inputs), intermediate=True)
    except Exception as error:
        why = str(error).split("\n")[0][:MOST_SHOWN]
        raise GraphError(
            f"model={path}: onnx's reference cannot compute it: {why}; verify without it"
        ) from None
    return {name: np.asarray(value) for name, value in found.items() if value is not None}


def evaluator(model: onnx.ModelProto, own: Sequence[Any] = OPERATORS) -> ReferenceEvaluator:
    """Return onnx's evaluator of a model with corrected definitions, also inside its functions."""

    class DefinedEvaluator(ReferenceEvaluator):  # type: ignore[misc]
        def __init__(self, proto: Any, **options: Any) -> None:
            super().__init__(proto, **{"new_ops": list(own), **options})

    return DefinedEvaluator(model)


def _as_f64(array: Array) -> Array:
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def in_f64(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with f64 in place of all narrower floats."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    _widen_graph(found.graph)
    for function in found.functions:
        _widen_nodes(function.node)
    return found


def _widen_graph(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _widen(tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type in FLOATS:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    _widen_nodes(graph.node)


def _widen_nodes(nodes: Iterable[onnx.NodeProto]) -> None:
    """Widen the constants and result types of nodes and of their subgraphs."""
    for node in nodes:
        name, default = NARROW_DEFAULTS.get(node.op_type, ("", None))
        if name and all(attribute.name != name for attribute in node.attribute):
            node.attribute.append(helper.make_attribute(name, default))
        for attribute in node.attribute:
            for graph in graphs_of(attribute):
                _widen_graph(graph)
            if attribute.type == onnx.AttributeProto.TENSOR:
                _widen(attribute.t)
            if attribute.name in TYPE_ATTRIBUTES and attribute.i in FLOATS:
                attribute.i = TensorProto.DOUBLE
            if node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
                number = np.asarray(helper.get_attribute_value(attribute), np.float64)
                attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(number)))


def _widen(tensor: TensorProto) -> None:
    if tensor.data_type in FLOATS:
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64)))
        tensor.name = name
