"""Tensors in a model's protocol buffer, wherever they occur, and their size limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import onnx
from onnx import helper

from kgen.errors import GraphError

#: Most bytes of all constants of a model.
MOST_BYTES = 16 << 30
#: Most axes of a tensor: numpy's limit.
MOST_AXES = 64
#: Types with several elements per byte, and the bits of an element.
NARROW = {
    getattr(onnx.TensorProto, name): bits
    for name, bits in (("INT4", 4), ("UINT4", 4), ("FLOAT4E2M1", 4), ("INT2", 2), ("UINT2", 2),
                       ("FLOAT6E2M3", 6), ("FLOAT6E3M2", 6))
    if hasattr(onnx.TensorProto, name)
}  # fmt: skip


def tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield all tensors of a model: initializers, and tensors in attributes of any kind."""
    graphs, nodes = [model.graph], [function.node for function in model.functions]
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            yield from graph.initializer
            for sparse in graph.sparse_initializer:
                yield from (sparse.values, sparse.indices)
            nodes.append(graph.node)
        for attribute in attributes(nodes.pop()):
            yield from _of_attribute(attribute)
            graphs += graphs_of(attribute)


def attributes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.AttributeProto]:
    for node in nodes:
        yield from node.attribute


def graphs_of(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    return [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def _of_attribute(attribute: onnx.AttributeProto) -> Iterator[onnx.TensorProto]:
    if attribute.HasField("t"):
        yield attribute.t
    yield from attribute.tensors
    sparse = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
    for one in (*sparse, *attribute.sparse_tensors):
        yield from (one.values, one.indices)


def size_of(tensor: onnx.TensorProto) -> int:
    """Return the bytes of a tensor by its type and shape.

    Raises GraphError for an unknown type, and for a tensor larger than the limits.
    """
    try:
        bits = (
            NARROW.get(tensor.data_type)
            or 8 * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        )
    except Exception:
        raise GraphError(
            f"tensor {tensor.name} has the unknown type {tensor.data_type}; export the model again"
        ) from None
    if len(tensor.dims) <= MOST_AXES and min(tensor.dims, default=0) >= 0:
        nbytes = (int(math.prod(tensor.dims)) * bits + 7) // 8
        if nbytes <= MOST_BYTES:
            return nbytes
    raise GraphError(
        f"tensor {tensor.name} has the shape {'x'.join(map(str, tensor.dims[:MOST_AXES]))}; the "
        f"limits are {MOST_AXES} axes of 0 or more elements and {MOST_BYTES >> 30} GiB"
    )
