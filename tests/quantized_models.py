"""Small quantised models: QDQ, QOperator and dynamic, as quantisers of ONNX Runtime write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from tests.onnx_models import Array, Maker


class Quantizer(Maker):
    """Builder of a model with quantised weights and activations."""

    #: Type and zero point of activations in front of a Relu and behind one.
    def __init__(
        self, dtype: type[np.integer[Any]] = np.uint8, seed: int = 0, opset: int = 17
    ) -> None:
        super().__init__(opset=opset, seed=seed)
        self.dtype = dtype
        self.least = int(np.iinfo(dtype).min)

    def zero(self, above: int) -> str:
        return self.constant(self.least + above, self.dtype)

    def contributed(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return str(self.add(operator, *inputs, domain="com.microsoft", **attributes))

    def qdq(self, x: str, scale: float, above: int) -> str:
        """Quantise and dequantise; the zero point is `above` the least number."""
        step, zero = self.constant(scale), self.zero(above)
        return str(
            self.add("DequantizeLinear", self.add("QuantizeLinear", x, step, zero), step, zero)
        )

    def numbers(self, *shape: int, axis: int = 0) -> tuple[Array, Array]:
        """Return s8 weights with a scale for each element of an axis."""
        weights = self.rng.standard_normal(shape)
        others = tuple(i for i in range(len(shape)) if i != axis)
        scales = np.abs(weights).max(axis=others, keepdims=True) / 127
        spread = np.sqrt(np.prod(shape) / shape[axis])
        return np.rint(weights / scales).astype(np.int8), (scales / spread).reshape(-1)

    def weights(self, *shape: int, axis: int = 0) -> str:
        numbers, scales = self.numbers(*shape, axis=axis)
        zeros = self.constant(np.zeros(len(scales)), np.int8)
        given = self.constant(numbers, np.int8), self.constant(scales), zeros
        return str(self.add("DequantizeLinear", *given, axis=axis))

    def bias(self, count: int, scale: float) -> str:
        numbers = self.constant(self.rng.integers(-3000, 3000, count), np.int32)
        return str(self.add("DequantizeLinear", numbers, self.constant(scale)))

    def conv(self, x: str, *shape: int, relu: bool = True, **attributes: Any) -> str:
        y = self.add("Conv", x, self.weights(*shape), self.bias(shape[0], 2e-4), **attributes)
        return self.qdq(self.add("Relu", y), 0.04, 0) if relu else self.qdq(y, 0.05, 120)

    def finished(self, *outputs: str, dtype: int = T.FLOAT) -> onnx.ModelProto:
        model = self.model(*outputs, dtype=dtype)
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        return model


def qdq_mlp(dtype: type[np.integer[Any]] = np.uint8) -> onnx.ModelProto:
    """Return two layers: transposed weights with a scale for each output, and weights with one
    scale."""
    m = Quantizer(dtype)
    x = m.qdq(m.input("x", (5, 33)), 0.03, 125)
    w = m.add("Transpose", m.weights(20, 33))
    y = m.qdq(m.add("Relu", m.add("Add", m.add("MatMul", x, w), m.weight(20))), 0.02, 10)
    numbers, scales = m.numbers(20, 7, axis=1)
    w = m.add("DequantizeLinear", m.constant(numbers, np.int8), m.constant(scales.mean()))
    y = m.add("Add", m.add("MatMul", y, w), m.weight(1))
    return m.finished(m.qdq(y, 0.02, 120))


def qdq_cnn(dtype: type[np.integer[Any]] = np.uint8) -> onnx.ModelProto:
    """Return Conv, MaxPool, a residual block with a depthwise convolution, GlobalAveragePool,
    Gemm."""
    m = Quantizer(dtype)
    x = m.conv(
        m.qdq(m.input("x", (1, 3, 9, 9)), 0.03, 125), 8, 3, 3, 3, strides=[2, 2], pads=[1] * 4
    )
    x = m.qdq(m.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 0.04, 0)
    y = m.conv(x, 8, 8, 1, 1)
    y = m.conv(y, 8, 1, 3, 3, group=8, pads=[1] * 4)
    y = m.conv(y, 8, 8, 3, 3, pads=[1] * 4, relu=False)
    y = m.qdq(m.add("Relu", m.add("Add", x, y)), 0.06, 0)
    y = m.qdq(m.add("Flatten", m.qdq(m.add("GlobalAveragePool", y), 0.02, 0)), 0.02, 0)
    y = m.add("Gemm", y, m.weights(5, 8), m.bias(5, 2e-4), transB=1)
    return m.finished(m.qdq(y, 0.02, 128))


def qdq_mobile(dtype: type[np.integer[Any]] = np.uint8) -> onnx.ModelProto:
    """Return a residual block: expansion, depthwise convolution, squeeze and excitation,
    projection."""
    m = Quantizer(dtype)

    def hard_swish(x: str) -> str:
        return m.qdq(m.add("HardSwish", x), 0.03, 12)

    x = m.conv(m.qdq(m.input("x", (1, 3, 5, 7)), 0.03, 125), 6, 3, 1, 1, relu=False)
    y = hard_swish(m.conv(x, 10, 6, 1, 1, relu=False))
    y = hard_swish(m.conv(y, 10, 1, 3, 3, relu=False, group=10, pads=[1] * 4))
    s = m.conv(m.qdq(m.add("GlobalAveragePool", y), 0.01, 30), 4, 10, 1, 1)
    s = m.add("HardSigmoid", m.conv(s, 10, 4, 1, 1, relu=False), alpha=1 / 6, beta=0.5)
    y = m.qdq(m.add("Mul", y, m.qdq(s, 1 / 255, 0)), 0.02, 20)
    y = m.add("Add", x, m.conv(y, 6, 10, 1, 1, relu=False))
    return m.finished(m.qdq(y, 0.05, 120))


def qoperator_cnn(zero_of_weights: int = 0) -> onnx.ModelProto:
    m = Quantizer()
    scale, zero = m.constant(0.03), m.zero(125)
    q = m.add("QuantizeLinear", m.input("x", (1, 3, 9, 9)), scale, zero)

    def conv(q: str, scale: str, zero: str, *shape: int, **attributes: Any) -> tuple[str, str, str]:
        numbers, scales = m.numbers(*shape)
        zeros = np.full(len(scales), zero_of_weights)
        given = (m.constant(numbers, np.int8), m.constant(scales), m.constant(zeros, np.int8))
        bias = m.constant(m.rng.integers(-3000, 3000, shape[0]), np.int32)
        to = m.constant(0.05), m.zero(3)
        return m.add("QLinearConv", q, scale, zero, *given, *to, bias, **attributes), *to

    q = conv(q, scale, zero, 8, 3, 3, 3, strides=[2, 2], pads=[1] * 4)
    q = (m.add("MaxPool", q[0], kernel_shape=[2, 2], strides=[2, 2]), *q[1:])
    r = conv(*q, 8, 4, 3, 3, group=2, pads=[1] * 4)
    to = m.constant(0.07), m.zero(3)
    added = m.contributed("QLinearAdd", *q, *r, *to)
    mean = m.constant(0.03), m.zero(2)
    pooled = m.contributed("QLinearGlobalAveragePool", added, *to, *mean)
    flat = m.add("Reshape", pooled, m.constant([1, 8], np.int64))
    numbers, scales = m.numbers(5, 8)
    weights = m.constant(numbers, np.int8), m.constant(scales), m.constant(np.zeros(5), np.int8)
    bias = m.constant(m.rng.integers(-900, 900, 5), np.int32)
    last = m.constant(0.03), m.zero(128)
    found = m.contributed("QGemm", flat, *mean, *weights, bias, *last, transB=1)
    return m.finished(m.add("DequantizeLinear", found, *last))


def dynamic_linear(m: Quantizer, x: str, inputs: int, outputs: int, zero: int = 0) -> str:
    q, scale, of_q = m.add("DynamicQuantizeLinear", x, outputs=3)
    numbers, scales = m.numbers(inputs, outputs, axis=1)
    b = m.constant(numbers, np.int8), m.constant(zero, np.int8)
    y = m.add("Cast", m.add("MatMulInteger", q, b[0], of_q, b[1]), to=T.FLOAT)
    y = m.add("Mul", y, m.add("Mul", scale, m.constant(scales.mean())))
    return str(m.add("Add", y, m.weight(outputs)))


def dynamic_transformer() -> onnx.ModelProto:
    """Return a layer with two heads; the last weights have a zero point."""
    m, (rows, wide, heads) = Quantizer(), (6, 16, 2)
    x = m.input("x", (1, rows, wide))

    def split(y: str, perm: list[int]) -> str:
        shape = m.constant([1, rows, heads, wide // heads], np.int64)
        return str(m.add("Transpose", m.add("Reshape", y, shape), perm=perm))

    def normal(x: str, y: str) -> str:
        given = m.constant(np.ones(wide)), m.constant(np.zeros(wide))
        return str(m.add("LayerNormalization", m.add("Add", x, y), *given))

    orders = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    q, k, v = (split(dynamic_linear(m, x, wide, wide), order) for order in orders)
    scores = m.add("Softmax", m.add("Mul", m.add("MatMul", q, k), m.constant(0.35)))
    y = m.add("Transpose", m.add("MatMul", scores, v), perm=[0, 2, 1, 3])
    y = m.add("Reshape", y, m.constant([1, rows, wide], np.int64))
    x = normal(x, dynamic_linear(m, y, wide, wide))
    h = m.add("Relu", dynamic_linear(m, x, wide, 24))
    return m.finished(normal(x, dynamic_linear(m, h, 24, wide, zero=-3)))


def qdq_16_bits(dtype: type[np.integer[Any]] = np.uint16) -> onnx.ModelProto:
    """Return a layer with 16-bit activations, some beyond the limits, and s8 weights. Gather and
    Transpose move the quantised numbers."""
    m = Quantizer(dtype, opset=21)
    scale, zero = m.constant(4e-5), m.zero(33000)
    q = m.add("QuantizeLinear", m.input("x", (5, 24)), scale, zero)
    q = m.add("Gather", q, m.constant([4, 0, 2], np.int64))
    x = m.add("DequantizeLinear", m.add("Transpose", q), scale, zero)
    numbers, scales = m.numbers(6, 24, axis=0)
    w = m.add("DequantizeLinear", m.constant(numbers, np.int8), m.constant(scales), axis=0)
    return m.finished(m.qdq(m.add("Relu", m.add("MatMul", w, x)), 1e-4, 7))


def qdq_float8(kind: int = T.FLOAT8E4M3FN) -> onnx.ModelProto:
    """Return a convolution and a product with activations and weights of 8-bit floats."""
    m = Quantizer(opset=21)
    dtype = helper.tensor_dtype_to_np_dtype(kind)

    def qdq(x: str, scale: float) -> str:
        given = m.constant(scale), m.constant(0, dtype)
        return str(m.add("DequantizeLinear", m.add("QuantizeLinear", x, *given), *given))

    def weights(*shape: int) -> str:
        numbers = m.constant(m.rng.standard_normal(shape), dtype)
        return str(m.add("DequantizeLinear", numbers, m.constant(0.25)))

    x = qdq(m.input("x", (1, 3, 5, 5)), 0.01)
    y = m.add("Conv", x, weights(4, 3, 3, 3), pads=[1] * 4)
    y = m.add("Transpose", qdq(m.add("Relu", y), 0.03), perm=[0, 2, 3, 1])
    return m.finished(qdq(m.add("MatMul", y, weights(4, 6)), 0.002))


def matmul_nbits() -> onnx.ModelProto:
    """Return a layer with 4-bit weights in blocks of 16, with zero points."""
    m, (n, k, block) = Quantizer(), (6, 40, 16)
    blocks = -(-k // block)
    given = (
        m.constant(m.rng.integers(0, 256, (n, blocks, block // 2)), np.uint8),
        m.constant(m.rng.uniform(0.01, 0.1, n * blocks)),
        m.constant(m.rng.integers(0, 256, n * -(-blocks // 2)), np.uint8),
    )
    x = m.input("x", (3, k))
    y = m.contributed("MatMulNBits", x, *given, K=k, N=n, bits=4, block_size=block)
    return m.finished(m.add("Relu", y))


MODELS = {
    "QDQ MLP of u8": qdq_mlp,
    "QDQ MLP of s8": lambda: qdq_mlp(np.int8),
    "QDQ CNN of u8": qdq_cnn,
    "QDQ CNN of s8": lambda: qdq_cnn(np.int8),
    "QDQ MobileNet block": qdq_mobile,
    "QOperator CNN": qoperator_cnn,
    "QOperator CNN with zero points of weights": lambda: qoperator_cnn(7),
    "dynamic transformer": dynamic_transformer,
    "QDQ of u16": qdq_16_bits,
    "QDQ of s16": lambda: qdq_16_bits(np.int16),
    "QDQ of e4m3": qdq_float8,
    "QDQ of e5m2": lambda: qdq_float8(T.FLOAT8E5M2),
    "MatMulNBits": matmul_nbits,
}
