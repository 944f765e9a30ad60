"""Values of nodes whose inputs are all known, computed while a model is read.

onnx's reference computes them, with definitions of our own in place of what is wrong or missing in
it. A node that cannot be computed says why: the import leaves it to be lowered, and a refusal of it
repeats the reason.
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

#: Operators whose results have a size that depends on the values of their inputs: at most as many
#: elements as these, with an index along each axis for each.
OF_DATA = frozenset({"NonZero", "Unique", "Compress"})
#: Operators that onnx's reference computes in loops of Python.
SLOW = frozenset(
    {
        *("Conv", "ConvInteger", "ConvTranspose", "DeformConv", "QLinearConv"),
        *("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool", "MaxUnpool"),
        *("GRU", "LSTM", "RNN", "GridSample", "Resize", "RoiAlign", "Upsample"),
        *("Col2Im", "DFT", "NonMaxSuppression", "STFT", "TfIdfVectorizer"),
    }
)
#: Elements that a slow operator may make.
MOST_SLOW = 1 << 16
#: Operators whose results differ from run to run.
RANDOM = frozenset(
    {
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    }
)


class NotFolded(Exception):
    """Why a node of constants stays a node; part of a message."""


def check_foldable(
    node: onnx.NodeProto, given: Sequence[Array], typed: Mapping[str, onnx.TypeProto]
) -> None:
    """Raise NotFolded for a node of constants that must not be computed: it may have no end, take
    very long, or give texts or other results in each run."""
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
    """Bytes that a node's results take at most."""
    if node.op_type in OF_DATA:
        return sum(8 * max(1, array.ndim) * array.size for array in given)
    return sum(map(nbytes_of, typed.values()))


def computed(
    node: onnx.NodeProto,
    given: Mapping[str, Array],
    types: Mapping[str, onnx.TypeProto],
    opsets: Mapping[str, int],
) -> dict[str, Array]:
    """Results of a node by name. Raises NotFolded where its definition fails on these inputs."""
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
        raise NotFolded("its results are no tensors")
    return {name: np.asarray(value) for name, value in zip(names, found, strict=True)}
