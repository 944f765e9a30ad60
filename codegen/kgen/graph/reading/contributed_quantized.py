"""ONNX Runtime's quantised operators, written with DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from onnx import TensorProto, helper

from kgen.graph.reading.model import Array
from kgen.graph.reading.writer import Writer
from kgen.spec.shapes import by_x

#: First opset with scales per element of an axis.
AXIS = 13
#: Least number of an axis; shape inference knows the limits of a tensor's.
LEAST_AXIS = -(2**31)
#: Bits per weight that MatMulNBits supports.
WIDTHS = (2, 4, 8)


def read(w: Writer, first: int, axis: int | None = None) -> str:
    """Dequantise the inputs `first`, `first + 1` and `first + 2`: numbers, scale and zero point.

    With `axis`, a vector of scales has one element for each index along that axis.
    """
    given = [w.input(first + i) for i in range(3)]
    shape = w.known[given[1]].dims if given[1] in w.known else ()
    if axis is None or not shape or list(shape) == [1]:
        return w.add("DequantizeLinear", *filter(None, given))
    if w.opset < AXIS:
        raise w.refusal(
            f"has a scale for each column, which ONNX has from opset {AXIS} on, in a model of "
            f"opset {w.opset}", f"convert the model to opset {AXIS}",
        )  # fmt: skip
    return w.add("DequantizeLinear", *filter(None, given), axis=axis)


def written(w: Writer, x: str, scale: str, zero: str, like: str) -> list[str]:
    """Quantise a result; without a zero point, to the type of the value `like`."""
    return [w.add("QuantizeLinear", x, scale, zero or w.number(0.0, like))]


def of_two(operator: str, w: Writer) -> list[str]:
    found = w.add(operator, read(w, 0), read(w, 3))
    return written(w, found, w.input(6), w.input(7), w.input(0))


def of_one(operator: str, w: Writer) -> list[str]:
    """Write an operator of one tensor, with its own attributes."""
    own = {k: v for k, v in w.attributes.items() if k != "channels_last"}
    x = channels_first(w, read(w, 0))
    found = channels_as_given(w, w.add(operator, x, **own))
    return written(w, found, w.input(3), w.input(4), w.input(0))


def softmax(w: Writer) -> list[str]:
    """Write Softmax of one axis, or, as before opset 13, of the given axis and all that follow."""
    x, axis = read(w, 0), w.integer("axis", -1, LEAST_AXIS)
    is_new = w.integer("opset", w.opset) >= AXIS
    if axis == -1 or (is_new and w.opset >= AXIS):
        found = w.add("Softmax", x, axis=axis)
    elif is_new:
        raise w.refusal(
            f"has axis={axis} and opset={w.attributes['opset']}, in a model of opset {w.opset}",
            f"convert the model to opset {AXIS}",
        )
    else:
        rows = w.add("Softmax", w.add("Flatten", x, axis=axis), axis=-1)
        found = w.add("Reshape", rows, w.add("Shape", x))
    return written(w, found, w.input(3), w.input(4), w.input(0))


def channels_first(w: Writer, x: str) -> str:
    """Transpose an image whose channels are its last axis to ONNX's order."""
    if not w.attributes.get("channels_last"):
        return x
    axes = axes_of_images(w)
    return w.add("Transpose", x, perm=[0, axes - 1, *range(1, axes - 1)])


def channels_as_given(w: Writer, x: str) -> str:
    """Transpose an image of ONNX's order to the order of the node's input."""
    if not w.attributes.get("channels_last"):
        return x
    return w.add("Transpose", x, perm=[0, *range(2, axes_of_images(w)), 1])


def axes_of_images(w: Writer) -> int:
    """Return the number of axes by the kernel's shape; 4 for a node without one."""
    weights = w.known.get(w.input(3)) if w.node.op_type == "QLinearConv" else None
    if weights is not None:
        return len(weights.dims)
    return 2 + len(w.attributes.get("kernel_shape", (1, 1)))


def conv(w: Writer) -> list[str]:
    """Write ONNX Runtime's QLinearConv as ONNX's, which has channels first."""
    own = {k: v for k, v in w.attributes.items() if k != "channels_last"}
    x = channels_first(w, w.input(0))
    return [channels_as_given(w, w.add("QLinearConv", x, *w.node.input[1:], **own))]


def max_pool(w: Writer) -> list[str]:
    """Write NhwcMaxPool as MaxPool."""
    own = dict(w.attributes)
    w.attributes["channels_last"] = 1
    return [channels_as_given(w, w.add("MaxPool", channels_first(w, w.input(0)), **own))]


def where(w: Writer) -> list[str]:
    found = w.add("Where", w.input(0), read(w, 1), read(w, 4))
    return written(w, found, w.input(7), w.input(8), w.input(1))


def reduced_mean(w: Writer) -> list[str]:
    found = w.mean(read(w, 0), w.attributes.get("axes"), int(w.attributes.get("keepdims", 1)))
    return written(w, found, w.input(3), w.input(4), w.input(0))


def concat(w: Writer) -> list[str]:
    parts = [read(w, first) for first in range(2, len(w.node.input), 3)]
    found = w.add("Concat", *parts, axis=w.integer("axis", least=LEAST_AXIS))
    return written(w, found, w.input(0), w.input(1), w.input(2))


def gemm(w: Writer) -> list[str]:
    """Write Gemm.

    The unit of the bias is the product of both scales; without a scale the output is f32.
    """
    is_transposed = int(w.attributes.get("transB", 0))
    own = {"transA": int(w.attributes.get("transA", 0)), "transB": is_transposed}
    given = [read(w, 0), read(w, 3, axis=0 if is_transposed else 1)]
    if w.input(6):
        unit = w.add("Mul", w.input(1), w.input(4))
        given.append(w.add("Mul", w.add("Cast", w.input(6), to=TensorProto.FLOAT), unit))
    found, alpha = w.add("Gemm", *given, **own), w.attributes.get("alpha", 1.0)
    if alpha != 1.0:
        found = w.add("Mul", found, w.number(alpha, found))
    return written(w, found, w.input(7), w.input(8), w.input(0)) if w.input(7) else [found]


def matmul_to_float(w: Writer) -> list[str]:
    """Write MatMulIntegerToFloat: inputs A, B, scales of A and B, zero points of A and B, bias."""
    a = w.add("DequantizeLinear", *filter(None, (w.input(0), w.input(2), w.input(4))))
    return by_columns(w, a, (w.input(1), w.input(3), w.input(5)), w.input(6))


def dynamic_matmul(w: Writer) -> list[str]:
    """Write DynamicQuantizeMatMul: inputs A in floats, B, scale of B, zero point of B, bias."""
    first = w.add("DynamicQuantizeLinear", w.input(0), outputs=3)
    a = w.add("DequantizeLinear", first, f"{first}.1", f"{first}.2")
    return by_columns(w, a, (w.input(1), w.input(2), w.input(3)), w.input(4))


def by_columns(w: Writer, a: str, b: tuple[str, str, str], bias: str) -> list[str]:
    """Multiply by a matrix with one scale, or one per column."""
    tensor = w.known.get(b[0])
    scales = w.known.get(b[1])
    each = scales is not None and list(scales.dims) not in ([], [1])
    if each and (tensor is None or w.opset < AXIS):
        raise w.refusal(
            "has a scale for each column, of a B from data or before opset 13",
            "make B an initializer, and convert the model to opset 13",
        )
    axis = {"axis": len(tensor.dims) - 1} if each and tensor is not None else {}
    wide = w.add("DequantizeLinear", *filter(None, b), **axis)
    found = w.add("MatMul", a, wide)
    return [w.add("Add", found, bias) if bias else found]


def unpacked(array: Array, bits: int) -> Array:
    """Unpack numbers of a few bits along the last axis; the lowest bits of a byte come first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    found = array.astype(np.uint8)[..., None] >> shifts & np.uint8((1 << bits) - 1)
    return np.asarray(found.reshape(*array.shape[:-1], -1))


def blocks_of(numbers: Array, scales: Array, zeros: Array | None, bits: int, block: int) -> Array:
    """Dequantise rows of numbers whose blocks of `block` along the last axis have one scale.

    Scales have the shape rows x blocks. Zero points of the type of the scales are stored as they
    are, and others are packed as the numbers. The result has whole blocks.
    """
    rows, blocks = scales.shape
    given = unpacked(numbers.reshape(rows, -1), bits).reshape(rows, -1)
    given = np.pad(given, ((0, 0), (0, max(0, blocks * block - given.shape[1]))))
    if zeros is None:
        zeros = np.full((rows, blocks), 1 << bits - 1)
    elif zeros.dtype == np.uint8:
        zeros = unpacked(zeros.reshape(rows, -1), bits)[:, :blocks]
    wide = given.reshape(rows, blocks, block).astype(np.float32)
    wide = wide - zeros.reshape(rows, blocks, 1).astype(np.float32)
    wide = wide * scales.reshape(rows, blocks, 1).astype(np.float32)
    return np.asarray(wide.reshape(rows, -1).astype(scales.dtype))


def matmul_nbits(w: Writer) -> list[str]:
    """Write MatMulNBits as MatMul with dequantised weights.

    B is stored as N rows of blocks along K, with a scale and a zero point per block.
    """
    k, n, block = (w.integer(name) for name in ("K", "N", "block_size"))
    bits = w.integer("bits", 4)
    if bits not in WIDTHS or w.input(4):
        what = "an order of groups (g_idx)" if w.input(4) else f"bits={bits}"
        raise w.refusal(f"has {what}", "export it without g_idx, in 2, 4 or 8 bits")
    blocks = -(-k // block)
    numbers = w.sized(1, (n, blocks, -(-block * bits // 8)))
    scales = w.sized(2, (n, blocks), (n * blocks,)).reshape(n, blocks)
    zeros = None
    if w.input(3):
        count = blocks if w.array(3).dtype != np.uint8 else -(-blocks * bits // 8)
        zeros = w.sized(3, (n, count), (n * count,))
    wide = blocks_of(numbers, scales, zeros, bits, block)
    found = w.add("MatMul", w.input(0), w.constant(np.ascontiguousarray(wide[:, :k].T)))
    return [w.add("Add", found, w.input(5)) if w.input(5) else found]


def gather_blocks(w: Writer) -> list[str]:
    """Write GatherBlockQuantized: numbers gathered as bytes, and dequantised by blocks of an axis.

    The axis of the blocks becomes two, blocks and their elements, until the numbers are gathered.
    """
    table, scales = w.array(0), w.array(2)
    bits, block = w.integer("bits", 4), w.integer("block_size", 128)
    given = (("gather_axis", 0), ("quantize_axis", 1))
    by, of = (w.integer(name, n, LEAST_AXIS) for name, n in given)
    is_packed = table.dtype == np.uint8 and bits < 8
    rank = table.ndim
    fits = -rank <= by < rank and -rank <= of < rank and by % rank != of % rank
    if bits not in WIDTHS or not fits or (is_packed and of % rank != rank - 1):
        raise w.refusal(
            f"has a table of {rank} axes and {bits} bits, gathered along axis {by} and in blocks "
            f"along axis {of}",
            "export it with 2, 4 or 8 bits, and blocks along another axis than gather_axis, the "
            "last one of a table of bytes",
        )
    by, of = by % rank, of % rank
    numbers = unpacked(table, bits) if is_packed else table
    numbers = numbers.astype(np.int8 if table.dtype.name == "int4" else np.uint8)
    sizes = list(numbers.shape)
    count, blocks = sizes[of], -(-sizes[of] // block)
    block = min(block, count)
    of_scales = (*sizes[:of], blocks, *sizes[of + 1 :])
    w.sized(2, of_scales)
    zero: Array = np.full(scales.shape, 1 << bits - 1 if table.dtype == np.uint8 else 0)
    if w.input(3):
        last = -(-of_scales[-1] * bits // 8) if is_packed else of_scales[-1]
        packed = w.sized(3, (*of_scales[:-1], last))
        zero = unpacked(packed, bits)[..., : of_scales[-1]] if is_packed else packed
    numbers = np.pad(
        numbers, [(0, blocks * block - n if i == of else 0) for i, n in enumerate(sizes)]
    )

    def taken(array: Array, elements: int) -> str:
        of_blocks = array.reshape(*sizes[:of], blocks, elements, *sizes[of + 1 :])
        constant = w.constant(np.ascontiguousarray(of_blocks))
        return w.add("Gather", constant, w.input(1), axis=by + (by > of))

    kind = {"to": helper.np_dtype_to_tensor_dtype(scales.dtype)}
    found = w.add("Cast", taken(numbers, block), **kind)
    found = w.add("Sub", found, w.add("Cast", taken(zero.astype(numbers.dtype), 1), **kind))
    found = w.add("Mul", found, taken(scales, 1))
    sizes[of] = blocks * block
    around = (w.constant(np.array(part, np.int64)) for part in (sizes[:by], sizes[by + 1 :]))
    before, behind = around
    shape = w.add("Concat", before, w.add("Shape", w.input(1)), behind, axis=0)
    # Axes behind the gathered one are counted from the last one.
    axis = of if of < by else of - rank
    ends = (w.constant(np.array([n], np.int64)) for n in (0, count, axis))
    return [w.add("Slice", w.add("Reshape", found, shape), *ends)]


def dynamic_lstm(w: Writer) -> list[str]:
    """Write DynamicQuantizeLSTM as LSTM, with the inputs of all steps as bytes.

    The state stays in floats, where ONNX Runtime rounds it to bytes in each step.
    """
    first = w.add("DynamicQuantizeLinear", w.input(0), outputs=3)
    x = w.add("DequantizeLinear", first, f"{first}.1", f"{first}.2")
    others = [w.input(number) for number in range(3, 8)]
    weights = gate_weights(w, 1, 8), gate_weights(w, 2, 10)
    found = w.add("LSTM", x, *weights, *others, outputs=3, **w.attributes)
    return [found, f"{found}.1", f"{found}.2"]


def gate_weights(w: Writer, first: int, scale: int) -> str:
    """Dequantise weights [directions, inputs, gates]; return them as [directions, gates, inputs].

    There is a scale, and a zero point, for each direction or each of its gates.
    """
    numbers = w.array(first)
    if numbers.ndim != 3:
        name, shape = w.input(first), by_x(numbers.shape)
        raise w.refusal(f"has {name} of shape {shape}", "give it 3 axes: directions, inputs, gates")
    ways, size, gates = numbers.shape
    allowed = (ways,), (ways, gates)
    scales = w.sized(scale, *allowed)
    zeros = np.zeros(scales.shape, numbers.dtype)
    if w.input(scale + 1):
        zeros = w.sized(scale + 1, *allowed)
    each = [np.broadcast_to(v.reshape(ways, -1), (ways, gates)) for v in (scales, zeros)]
    if w.opset < AXIS:
        wide = (numbers.astype(np.float32) - each[1][:, None]) * each[0][:, None]
        return w.constant(np.ascontiguousarray(wide.transpose(0, 2, 1)))
    given = (numbers.transpose(1, 0, 2).reshape(size, -1), *(v.reshape(-1) for v in each))
    matrix = w.add("DequantizeLinear", *map(w.constant, map(np.ascontiguousarray, given)), axis=1)
    shape = w.constant(np.array([ways, gates, size], np.int64))
    return w.add("Reshape", w.add("Transpose", matrix, perm=[1, 0]), shape)


def linear(w: Writer) -> list[str]:
    """Write ONNX Runtime's QuantizeLinear or DequantizeLinear as ONNX's."""
    given = [name for name in w.node.input if name]
    return [w.add(w.node.op_type, *given, **w.attributes)]


WRITERS: Mapping[str, Callable[[Writer], list[str]]] = {
    "DynamicQuantizeLSTM": dynamic_lstm,
    "DynamicQuantizeMatMul": dynamic_matmul,
    "GatherBlockQuantized": gather_blocks,
    "MatMulIntegerToFloat": matmul_to_float,
    "MatMulNBits": matmul_nbits,
    "NhwcMaxPool": max_pool,
    "QGemm": gemm,
    "QLinearAdd": partial(of_two, "Add"),
    "QLinearAveragePool": partial(of_one, "AveragePool"),
    "QLinearConcat": concat,
    "QLinearConv": conv,
    "QLinearGlobalAveragePool": partial(of_one, "GlobalAveragePool"),
    "QLinearLeakyRelu": partial(of_one, "LeakyRelu"),
    "QLinearMul": partial(of_two, "Mul"),
    "QLinearReduceMean": reduced_mean,
    "QLinearSigmoid": partial(of_one, "Sigmoid"),
    "QLinearSoftmax": softmax,
    "QLinearWhere": where,
}
