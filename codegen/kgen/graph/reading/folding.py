"""Constant folding: compute nodes whose inputs are all constant while the model is read.

onnx's reference evaluator computes them, with :mod:`kgen.graph.reading.definitions` in place of
operators that it computes wrongly or not at all. If a node cannot be folded, the reason is kept for
the message in case the node is refused later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from kgen.graph.reading.definitions import FOLDED
from kgen.graph.reading.inference import dims_of, nbytes_of
from kgen.graph.reading.messages import shortened
from kgen.graph.reading.model import Array
from kgen.graph.reading.tensors import graphs_of

#: Operators whose output size depends on the values of their inputs. An output has at most one
#: element per input element and axis.
OF_DATA = frozenset({"NonZero", "Unique", "Compress"})
#: Operators that onnx's reference computes in Python loops.
SLOW = frozenset(
    {
        *("Conv", "ConvInteger", "ConvTranspose", "DeformConv", "QLinearConv"),
        *("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool", "MaxUnpool"),
        *("GRU", "LSTM", "RNN", "GridSample", "Resize", "RoiAlign", "Upsample"),
        *("Col2Im", "DFT", "NonMaxSuppression", "STFT", "TfIdfVectorizer"),
    }
)
#: Most elements that a slow operator may compute.
MOST_SLOW = 1 << 16
#: Operators whose results differ from run to run.
RANDOM = frozenset(
    {
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    }
)


class NotFolded(Exception):
    """Reason why a node of constants is not folded; part of a message."""


def check_foldable(
    node: onnx.NodeProto, given: Sequence[Array], typed: Mapping[str, onnx.TypeProto]
) -> None:
    """Raise NotFolded for a node of constants that must not be computed.

    Such a node may not terminate, takes very long, makes strings, or gives other results in each
    run.
    """
    if node.op_type in RANDOM:
        raise NotFolded("it is random")
    if any(graphs_of(attribute) for attribute in node.attribute):
        raise NotFolded("it has a subgraph, which may not terminate")
    if any(array.dtype.hasobject for array in given):
        raise NotFolded("it reads strings")
    if not all(v in typed or node.op_type in OF_DATA for v in node.output if v):
        raise NotFolded("ONNX does not say the shape of its results")
    elements = sum(math.prod(dims_of(kind)) for kind in typed.values())
    if node.op_type in SLOW and elements > MOST_SLOW:
        raise NotFolded(f"it makes {elements} elements; the limit of {node.op_type} is {MOST_SLOW}")


def bytes_of_results(
    node: onnx.NodeProto, given: Sequence[Array], typed: Mapping[str, onnx.TypeProto]
) -> int:
    """Return the largest number of bytes that a node's results may take."""
    if node.op_type in OF_DATA:
        return sum(8 * max(1, array.ndim) * array.size for array in given)
    return sum(map(nbytes_of, typed.values()))


def computed(
    node: onnx.NodeProto,
    given: Mapping[str, Array],
    types: Mapping[str, onnx.TypeProto],
    opsets: Mapping[str, int],
) -> dict[str, Array]:
    """Return a node's results by name. Raises NotFolded if the reference fails on these inputs."""
    names = [name for name in node.output if name]
    alone = helper.make_graph(
        [node],
        "fold",
        [helper.make_value_info(name, types[name]) for name in given],
        [onnx.ValueInfoProto(name=name) for name in names],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    model = helper.make_model(alone, opset_imports=imports)
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model, new_ops=list(FOLDED)).run(None, dict(given))
    except Exception as error:
        raise NotFolded(
            f"computing it raised {type(error).__name__}: {shortened(error)}"
        ) from error
    if not all(isinstance(value, np.ndarray | np.generic) for value in found):
        raise NotFolded("its results are not tensors")
    return {name: np.asarray(value) for name, value in zip(names, found, strict=True)}
