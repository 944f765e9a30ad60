"""Products of a model whose constant weights have fewer bits, for onnx's own reference.

Weights are rounded here by the definition of each type, from the model's own numbers, and nothing is
shared with what rounds them for the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.reference.op_run import OpRun

from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry

Array = npt.NDArray[Any]
#: Bits of a number of bf16, the leading one among them.
BF16_BITS = 8
#: The largest number of s8 that weights become, and the least scale of a column.
LARGEST, LEAST_SCALE = 127.0, 2.0**-126


def weights_of(kernels: Iterable[KernelEntry]) -> DType:
    """The type of a program's weights; f32 where none is narrow."""
    found = {kernel.spec.get("b_dtype") for kernel in kernels} - {None}
    return DType(found.pop()) if found else DType.F32


def operators(model: onnx.ModelProto, weights: DType) -> list[type[OpRun]]:
    """Products that round those of their second operands that are constant matrices."""
    if weights is DType.F32:
        return []
    known = constants_of(model)

    class MatMul(OpRun):  # type: ignore[misc]
        def _run(self, a: Array, b: Array) -> tuple[Array]:
            if b.ndim == 2 and self.onnx_node.input[1] in known:
                b = rounded(b, weights, axis=0)
            return (np.matmul(a, b),)

    class Gemm(OpRun):  # type: ignore[misc]
        def _run(
            self, a: Array, b: Array, c: Array | None = None, alpha: float = 1.0,
            beta: float = 1.0, transA: int = 0, transB: int = 0,
        ) -> tuple[Array]:  # fmt: skip
            if self.onnx_node.input[1] in known:
                b = rounded(b, weights, axis=1 if transB else 0)
            found = alpha * ((a.T if transA else a) @ (b.T if transB else b))
            found = found if c is None else found + beta * c
            return (found.astype(a.dtype),)

    return [MatMul, Gemm]


def constants_of(model: onnx.ModelProto) -> set[str]:
    """Names of values that depend on no input."""
    known = {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        if all(not name or name in known for name in node.input):
            known.update(node.output)
    return known


def rounded(weights: Array, dtype: DType, axis: int) -> Array:
    """The nearest numbers that the narrow type has; columns go along `axis`."""
    exact = weights.astype(np.float64)
    if dtype is DType.BF16:
        digits, exponents = np.frexp(exact)
        steps = 2.0**BF16_BITS
        found = np.ldexp(np.rint(digits * steps) / steps, exponents)
    else:
        largest = np.max(np.abs(exact), axis=axis, keepdims=True)
        scales = np.float32(np.maximum(largest / LARGEST, LEAST_SCALE)).astype(np.float64)
        found = np.rint(exact / scales) * scales
    return found.astype(weights.dtype)
