"""Reference definitions of products with narrow weights or operands, for onnx's evaluator.

They round the model's own numbers by the definition of each type, and share no code with the
compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_gather import Gather as PlainGather

from kgen.graph.reading.definitions.sliding import Conv as PlainConv
from kgen_runtime.manifest import KernelEntry

Array = npt.NDArray[Any]
#: 16-bit types of both operands of a product.
HALVES = ("bf16", "f16")
#: Types that are supported for weights of convolutions and for embedding tables.
OF_OTHERS = ("bf16", "s8")
#: Significant bits of bf16, including the leading one.
BF16_BITS = 8
#: s8 number of the largest weight of a column, and the smallest scale.
LARGEST, LEAST_SCALE = 127.0, 2.0**-126


def weights_of(kernels: Iterable[KernelEntry]) -> str | None:
    """Return the type of a program's narrow weights; None without."""
    found = {kernel.spec["b_dtype"] for kernel in kernels if kernel.spec.get("b_dtype")}
    return str(found.pop()) if found else None


def products_of(kernels: Iterable[KernelEntry]) -> str | None:
    """Return the 16-bit type of both operands of a program's products; None without."""
    found = {kernel.spec["dtype"] for kernel in kernels if kernel.spec["op"] == "matmul"}
    return next((name for name in HALVES if name in found), None)


def operators(
    model: onnx.ModelProto, weights: str | None, products: str | None = None
) -> list[type[OpRun]]:
    """Return operators that round their constant weights, or both operands, before they compute."""
    if weights is None and products is None:
        return []
    known = constants_of(model)

    def narrow(node: onnx.NodeProto, a: Array, b: Array, axis: int) -> tuple[Array, Array]:
        """Round the operands of a product, unless both are constant."""
        if node.input[0] in known and node.input[1] in known:
            return a, b
        if products is not None:
            return rounded(a, products, axis=-1), rounded(b, products, axis=-1)
        if weights is not None and b.ndim == 2 and node.input[1] in known:
            b = rounded(b, weights, axis=axis)
        return a, b

    class MatMul(OpRun):  # type: ignore[misc]
        def _run(self, a: Array, b: Array) -> tuple[Array]:
            return (np.matmul(*narrow(self.onnx_node, a, b, axis=0)),)

    class Gemm(OpRun):  # type: ignore[misc]
        def _run(
            self, a: Array, b: Array, c: Array | None = None, alpha: float = 1.0,
            beta: float = 1.0, transA: int = 0, transB: int = 0,
        ) -> tuple[Array]:  # fmt: skip
            a, b = narrow(self.onnx_node, a, b, axis=1 if transB else 0)
            found = alpha * ((a.T if transA else a) @ (b.T if transB else b))
            found = found if c is None else found + beta * c
            return (found.astype(a.dtype),)

    normalized = {n.input[0] for n in model.graph.node if n.op_type == "BatchNormalization"}

    class Conv(PlainConv):
        """Convolution with rounded weights.

        Depthwise convolutions, and those before a BatchNormalization, keep their weights.
        """

        def _run(self, x: Array, w: Array, *given: Any, **attributes: Any) -> tuple[Array]:
            node = self.onnx_node
            sums = (attributes.get("group") or 1) == 1 or w.shape[1] > 1
            alone = sums and node.output[0] not in normalized
            if weights in OF_OTHERS and alone and node.input[1] in known:
                w = rounded(w.reshape(len(w), -1), weights, axis=1).reshape(w.shape)
            return super()._run(x, w, *given, **attributes)

    tied = tied_tables(model) if weights in OF_OTHERS else set()

    class Gather(PlainGather):  # type: ignore[misc]
        """Gather that reads a table with rounded rows if a product uses the table's transpose."""

        def _run(self, x: Array, indices: Array, axis: int | None = None) -> tuple[Array]:
            if weights is not None and not axis and self.onnx_node.input[0] in tied:
                x = rounded(x, weights, axis=1)
            return super()._run(x, indices, axis=axis or 0)  # type: ignore[no-any-return]

    return [MatMul, Gemm, Conv, Gather]


def tied_tables(model: onnx.ModelProto) -> set[str]:
    """Return the constant matrices whose transposes the model's products multiply by."""
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer if len(t.dims) == 2}
    for node in model.graph.node:
        if node.op_type == "Transpose" and node.input[0] in arrays:
            arrays[node.output[0]] = arrays[node.input[0]].T
    rows = [
        arrays[node.input[1]] if transposes_b(node) else arrays[node.input[1]].T
        for node in model.graph.node
        if node.op_type in ("MatMul", "Gemm") and node.input[1] in arrays
    ]
    return {
        node.input[0]
        for node in model.graph.node
        if node.op_type == "Gather" and node.input[0] in arrays
        if any(np.array_equal(arrays[node.input[0]], found) for found in rows)
    }


def transposes_b(gemm: onnx.NodeProto) -> bool:
    return any(a.name == "transB" and a.i for a in gemm.attribute)


def constants_of(model: onnx.ModelProto) -> set[str]:
    """Return the names of values that depend on no input."""
    known = {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        if all(not name or name in known for name in node.input):
            known.update(node.output)
    return known


def rounded(weights: Array, dtype: str, axis: int) -> Array:
    """Round weights to a narrow type and back; columns extend along `axis`."""
    columns = np.moveaxis(weights.astype(np.float64), axis, -1)
    return np.moveaxis(ROUNDED[dtype](columns), -1, axis).astype(weights.dtype)


def to_bf16(columns: Array) -> Array:
    digits, exponents = np.frexp(columns)
    steps = 2.0**BF16_BITS
    return np.asarray(np.ldexp(np.rint(digits * steps) / steps, exponents))


def to_s8(columns: Array) -> Array:
    largest = np.max(np.abs(columns), axis=-1, keepdims=True)
    scales = np.float32(np.maximum(largest / LARGEST, LEAST_SCALE)).astype(np.float64)
    return np.asarray(np.rint(columns / scales) * scales)


def to_s4(columns: Array) -> Array:
    """Round blocks of 32 numbers to s4 and back.

    Columns that are quantised in blocks of 16 instead keep their numbers.

    The first number of largest magnitude becomes -8 times the scale, which is f16. It becomes
    another multiple if the whole block then has whole multiples that s4 holds. A column whose every
    block has such multiples, of zero or of its least number, keeps all of them.
    """
    found, are_kept = in_blocks(columns, 32)
    halves = (found, False) if are_kept else in_blocks(columns, 16)
    return halves[0] if halves[1] else found


def in_blocks(columns: Array, width: int) -> tuple[Array, bool]:
    """Round blocks of `width` numbers; the second result says whether all columns are kept."""
    found: Array = np.zeros_like(columns)
    spaced: Array = np.zeros_like(columns)
    is_kept = np.full(columns.shape[:-1], True)
    for start in range(0, columns.shape[-1], width):
        part = columns[..., start : start + width]
        least, most = part.min(axis=-1), part.max(axis=-1)
        first = np.argmin(part, axis=-1) < np.argmax(part, axis=-1)
        is_least = (-least > most) | ((-least == most) & first)
        top = np.where(is_least, least, most)
        scales = np.full_like(top, np.nan)
        # The last multiple that fits is taken: -8 before 7, -7, 6, ...
        for multiple in (-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6, -7, 7, -8):
            kept = np.where(top == 0.0, np.nan, top / multiple)
            scales = np.where(are_whole(part / kept[..., None]), kept, scales)
        is_known = np.isfinite(scales) | (top == 0.0)
        scales = np.where(np.isfinite(scales), scales, top / -8.0)
        scales = scales.astype(np.float16).astype(np.float64)[..., None]
        steps = np.where(scales == 0.0, 1.0, scales)
        rounded = np.clip(np.rint(part / steps), -8.0, 7.0) * scales
        found[..., start : start + width] = rounded
        numbers, fits = evenly_spaced(part, least[..., None], most[..., None])
        spaced[..., start : start + width] = np.where(is_known[..., None], rounded, numbers)
        is_kept &= is_known | fits
    return np.where(is_kept[..., None], spaced, found), bool(is_kept.all())


def evenly_spaced(part: Array, least: Array, most: Array) -> tuple[Array, Array]:
    """Round rows of at most 16 evenly spaced numbers to a step in f16, with the eighth number above
    the least in f32; the second result says which rows are such."""
    found, fits = np.zeros_like(part), np.full(part.shape[:-1], False)
    for count in range(15, 0, -1):
        step = np.where(most > least, (most - least) / count, np.nan)
        number = np.rint((part - least) / step)
        near = np.abs((part - least) / step - number) <= 1 / 128
        at = np.all(near, axis=-1)
        middle = (least + 8.0 * step).astype(np.float32).astype(np.float64)
        whole = middle + (number - 8.0) * step.astype(np.float16).astype(np.float64)
        found, fits = np.where(at[..., None], whole, found), fits | at
    return found, fits


def are_whole(multiples: Array) -> Array:
    """Whether each row has numbers of s4 alone, to 7 binary places."""
    nearest = np.rint(multiples)
    are_near = np.abs(multiples - nearest) <= 1 / 128
    return np.asarray(np.all(are_near & (nearest >= -8) & (nearest <= 7), axis=-1))


def to_f16(columns: Array) -> Array:
    return columns.astype(np.float16).astype(np.float64)


ROUNDED: dict[str, Callable[[Array], Array]] = {
    "bf16": to_bf16, "f16": to_f16, "s8": to_s8, "s4": to_s4,
}  # fmt: skip
