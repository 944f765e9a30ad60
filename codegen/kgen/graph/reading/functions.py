"""A model's own functions, put in the place of their uses, where that stays within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from onnx import inliner

from kgen.errors import GraphError
from kgen.graph.reading.tensors import attributes, graphs_of

#: Bytes of nodes that functions may become: one that calls another twice, which calls another
#: twice, has no end in practice. And functions within functions.
MOST_BYTES, MOST_NESTED = 256 << 20, 64

Key = tuple[str, str, str]


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without functions. Raises GraphError."""
    if not model.functions:
        return model
    known = {(f.domain, f.name, f.overload): f for f in model.functions}
    sizes: dict[Key, int] = {}

    def size_of(nodes: Iterable[onnx.NodeProto], within: tuple[Key, ...]) -> int:
        """Bytes of what these nodes become."""
        total = 0
        for node in every(nodes):
            key = (node.domain, node.op_type, node.overload)
            total += function_size(key, within) if key in known else node.ByteSize()
        return total

    def function_size(key: Key, within: tuple[Key, ...]) -> int:
        if key in within or len(within) == MOST_NESTED:
            how = "calls itself" if key in within else f"is nested more than {MOST_NESTED} deep"
            raise GraphError(f"function {key[1]} {how}; export the model without it")
        if key not in sizes:
            sizes[key] = size_of(known[key].node, (*within, key))
        return sizes[key]

    total = size_of(model.graph.node, ())
    if total > MOST_BYTES:
        raise GraphError(
            f"the model's functions become {total >> 20} MiB of nodes; {MOST_BYTES >> 20} MiB is "
            "the limit; export it without functions"
        )
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:
        raise GraphError(f"the model's functions cannot be inlined: {error}") from None


def every(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """These nodes, and those of graphs within them."""
    left = [nodes]
    while left:
        for node in left.pop():
            yield node
            left += [g.node for a in attributes([node]) for g in graphs_of(a)]
