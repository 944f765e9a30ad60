"""Sparse constants, converted to dense ones."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np
import onnx
from onnx import helper, numpy_helper

from kgen.errors import GraphError
from kgen.graph.reading.functions import every
from kgen.graph.reading.tensors import MOST_AXES

#: Most bytes of a model's sparse constants in dense form.
MOST_DENSE = 256 << 20


def make_dense(model: onnx.ModelProto) -> None:
    """Convert a model's sparse constants to dense ones in place.

    Raises GraphError for constants that are too large, or whose indices do not fit their shape.
    """
    left = MOST_DENSE
    for sparse in model.graph.sparse_initializer:
        dense = _dense(sparse, sparse.values.name, left)
        left -= len(dense.raw_data)
        model.graph.initializer.append(dense)
    del model.graph.sparse_initializer[:]
    functions = (every(function.node) for function in model.functions)
    for node in (*every(model.graph.node), *chain.from_iterable(functions)):
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "sparse_value":
                dense = _dense(attribute.sparse_tensor, node.output[0], left)
                left -= len(dense.raw_data)
                attribute.CopyFrom(helper.make_attribute("value", dense))


def _dense(sparse: onnx.SparseTensorProto, name: str, left: int) -> onnx.TensorProto:
    shape = tuple(sparse.dims)
    try:
        values = numpy_helper.to_array(sparse.values)
        indices = numpy_helper.to_array(sparse.indices).astype(np.int64)
    except Exception as error:
        raise GraphError(
            f"sparse constant {name} cannot be read: {error}; export it again"
        ) from None
    too_large = math.prod(shape) * values.itemsize > left
    if min(shape, default=0) < 0 or len(shape) > MOST_AXES or too_large:
        shown = "x".join(map(str, shape[:MOST_AXES]))
        raise GraphError(
            f"sparse constant {name} has the shape {shown}; sparse constants may have "
            f"{MOST_DENSE >> 20} MiB as dense ones, and {MOST_AXES} axes, so export it as a dense "
            "one"
        )
    # Indices are flat, with one number per value, or have one number per axis.
    by_axis = indices.ndim == 2 and indices.shape[1] == len(shape)
    sizes = np.asarray(shape if by_axis else [math.prod(shape)], np.int64)
    places = indices.reshape(-1, len(sizes))
    if len(places) != values.size or (places < 0).any() or (places >= sizes).any():
        raise GraphError(
            f"sparse constant {name} has indices that do not fit its {values.size} values and its "
            f"shape {'x'.join(map(str, shape))}; export it as a dense one"
        )
    found = np.zeros(shape, values.dtype)
    flat = np.ravel_multi_index(tuple(places.T), tuple(sizes)) if values.size else []
    found.reshape(-1)[flat] = values.reshape(-1)
    return numpy_helper.from_array(found, name)
