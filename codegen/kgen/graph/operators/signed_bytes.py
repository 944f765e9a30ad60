"""Values of u8 as values of s8 that are 128 less, which products of bytes read."""

from __future__ import annotations

import numpy as np

from kgen.graph.ir import Builder, GraphValue, ViewNode
from kgen_runtime.dtypes import DType

#: What is subtracted from a number of u8.
OFFSET = 128


def signed(b: Builder, x: GraphValue) -> GraphValue:
    """The numbers of u8 less 128, as s8; a value of s8 itself."""
    if x.dtype is not DType.U8:
        return x
    if x.id not in b.signed:
        array, at = b.array(x), x.operation
        if array is not None:
            made = b.made("signed", (array.astype(np.int16) - OFFSET).astype(np.int8), DType.S8)
        elif isinstance(at, ViewNode):
            of = signed(b, b.values[at.of])
            made = b.add(ViewNode(of=of.id, step=at.step), x.shape, DType.S8)
        else:
            made = b.formula(b.call("sub", x, float(OFFSET)), x.shape, DType.S8)
        b.signed[x.id] = made
    return b.signed[x.id]


def unsigned(b: Builder, x: GraphValue) -> GraphValue:
    """The numbers of s8 and 128, as u8. Whoever reads them as s8 gets `x` itself."""
    found = b.formula(b.call("add", x, float(OFFSET)), x.shape, DType.U8)
    b.signed[found.id] = x
    return found
