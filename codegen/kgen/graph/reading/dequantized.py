"""Quantised constants: the integers behind a constant that DequantizeLinear produced.

Constant folding turns such a constant into floats. Integer products read the stored integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper

from kgen.graph.reading.model import Array, Dequantized

#: Stored types of at most 8 bits.
STORED = ("int8", "uint8", "int4", "uint4", "int2", "uint2")


def stored(
    node: onnx.NodeProto, given: Sequence[Array], known: Mapping[str, Dequantized]
) -> Dequantized | None:
    """Return the stored numbers of a folded node's result; None if they are not known."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    before = known.get(node.input[0]) if node.input else None
    if node.op_type == "Identity":
        return before
    if node.op_type == "Transpose" and before is not None:
        axes = attributes.get("perm", range(before.numbers.ndim)[::-1])
        return changed(before, lambda array: array.transpose(axes))
    if node.op_type == "Reshape" and before is not None and 0 not in given[1]:
        return changed(before, lambda array: array.reshape(given[1]))
    if node.op_type != "DequantizeLinear" or given[0].dtype.name not in STORED:
        return None
    numbers, scale, *others = given
    zero = others[0] if others else np.zeros(scale.shape, numbers.dtype)
    axis, block = attributes.get("axis", 1), attributes.get("block_size", 0)
    wide = np.uint8 if numbers.dtype.name.startswith("u") else np.int8
    scale, zero = (along(a, numbers.shape, axis, block) for a in (scale, zero.astype(wide)))
    return Dequantized(numbers=numbers.astype(wide, copy=False), scale=scale, zero=zero)


def changed(found: Dequantized, change: Callable[[Array], Array]) -> Dequantized:
    """Return a copy with `change` applied to all three arrays."""
    return Dequantized(
        numbers=change(found.numbers), scale=change(found.scale), zero=change(found.zero)
    )


def along(array: Array, shape: Sequence[int], axis: int, block: int) -> Array:
    """Broadcast scales or zero points to a tensor's shape, per tensor, per axis or per block."""
    if block:
        array = np.repeat(array, block, axis=axis)
        array = array[tuple(slice(n) for n in shape)]
    elif array.size == 1:
        array = array.reshape(())
    elif array.ndim == 1:
        array = array.reshape(-1, *(1,) * (len(shape) - 1 - axis % len(shape)))
    return np.broadcast_to(array, tuple(shape))
