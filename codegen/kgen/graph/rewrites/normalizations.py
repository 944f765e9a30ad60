"""Graph rewrite: fold BatchNormalization after Conv into the convolution's weights and bias."""

from __future__ import annotations

import dataclasses

import numpy as np

from kgen.graph.reading.model import Array, Model, Node, TensorType

#: Positions of weights and bias among a convolution's inputs.
WEIGHTS, BIAS = 1, 2
#: Largest distance between the mean and the bias, in standard deviations. The folded bias is that
#: many times larger than the result, which costs log2(256) = 8 bits of accuracy.
MOST_DEVIATIONS = 256


def folded(model: Model) -> Model:
    """Return the model with foldable normalizations merged into the convolution before them.

    The convolution's weights must be constant, and only the normalization may use its result.
    Folded weights and biases are computed in f64 and rounded once.
    """
    uses: dict[str, int] = {}
    for node in model.nodes:
        for name in node.inputs:
            uses[name] = uses.get(name, 0) + 1
    for name in model.outputs:
        uses[name] = uses.get(name, 0) + 1
    made = {node.outputs[0]: node for node in model.nodes if node.operator == "Conv"}
    constants, tensors = dict(model.constants), dict(model.tensors)
    nodes: dict[str, Node | None] = {}
    for node in model.nodes:
        conv = made.get(node.inputs[0]) if node.operator == "BatchNormalization" else None
        if conv is None or uses[node.inputs[0]] > 1 or not is_constant(model, conv, node):
            continue
        new = {}
        for what, array in zip(("weights", "bias"), multiplied(model, conv, node), strict=True):
            new[what] = f"{node.name}:{what}"
            while new[what] in tensors:
                new[what] += "'"
            constants[new[what]] = array
            dtype = model.tensors[conv.inputs[WEIGHTS]].dtype
            tensors[new[what]] = TensorType(dtype=dtype, shape=array.shape)
        nodes[conv.outputs[0]] = None
        nodes[node.outputs[0]] = dataclasses.replace(
            conv,
            inputs=(conv.inputs[0], new["weights"], new["bias"]),
            outputs=(node.outputs[0],),
            others=(node.name,),
        )
    kept = (nodes.get(node.outputs[0], node) for node in model.nodes)
    return dataclasses.replace(
        model,
        nodes=tuple(node for node in kept if node is not None),
        constants=constants,
        tensors=tensors,
    )


def is_constant(model: Model, conv: Node, norm: Node) -> bool:
    """Whether all parameters are constant floats of matching shapes, and folding keeps accuracy."""
    known = model.constants
    vectors = [name for name in (*conv.inputs[BIAS:], *norm.inputs[1:5]) if name]
    weights = known.get(conv.inputs[WEIGHTS])
    return (
        weights is not None
        and all(name in known and known[name].shape == weights.shape[:1] for name in vectors)
        and all(known[name].dtype.kind == "f" for name in (conv.inputs[WEIGHTS], *vectors))
        and len(norm.inputs) == 5
        and not norm.attribute("training_mode", 0)
        and sum(bool(name) for name in norm.outputs) == 1
        and keeps_digits(model, conv, norm)
    )


def keeps_digits(model: Model, conv: Node, norm: Node) -> bool:
    """Whether the mean is close to the bias.

    Subtracting a mean from the sum cancels exactly; as part of a rounded bias it does not.
    """
    mean, variance = (model.constants[name].astype(np.float64) for name in norm.inputs[3:5])
    deviation = np.sqrt(variance + float(norm.attribute("epsilon", 1e-5)))
    return bool((np.abs(bias_of(model, conv) - mean) <= MOST_DEVIATIONS * deviation).all())


def bias_of(model: Model, conv: Node) -> Array:
    """Return a convolution's bias in f64, zeros if it has none."""
    if len(conv.inputs) > BIAS and conv.inputs[BIAS]:
        return model.constants[conv.inputs[BIAS]].astype(np.float64)
    return np.zeros(model.constants[conv.inputs[WEIGHTS]].shape[0])


def multiplied(model: Model, conv: Node, norm: Node) -> tuple[Array, Array]:
    """Return the weights and the bias of a convolution after folding its normalization."""
    weights = model.constants[conv.inputs[WEIGHTS]]
    scale, shift, mean, variance = (
        model.constants[name].astype(np.float64) for name in norm.inputs[1:5]
    )
    factor = scale / np.sqrt(variance + float(norm.attribute("epsilon", 1e-5)))
    by_output = factor.reshape(-1, *(1,) * (weights.ndim - 1))
    return (
        (weights.astype(np.float64) * by_output).astype(weights.dtype),
        ((bias_of(model, conv) - mean) * factor + shift).astype(weights.dtype),
    )
