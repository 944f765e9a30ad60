"""Quantised operators of ONNX Runtime against definitions in numpy."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

pytest.importorskip("onnx")

from kgen.errors import GraphError
from kgen.graph.compile import load
from kgen.graph.lowering.lower import lower
from kgen.graph.reading.onnx_file import read
from tests.onnx_models import Array, run
from tests.unit.graph.test_contributed import of as of_arrays
from tests.unit.graph.test_edges import Edge
from tests.unit.graph.test_quantized import s8, scales, u8

F32 = np.float32


def of(operator: str, expected: Any, *inputs: Any, **given: Any) -> Edge:
    """Return a case whose inputs may be numbers; `known` are the constant inputs (default: all but
    the first). `softmax_opset` is the node's attribute, `opset` the model's."""
    known, softmax_opset = given.pop("known", None), given.pop("softmax_opset", None)
    arrays = (None if value is None else np.asarray(value) for value in inputs)
    edge = of_arrays(operator, expected, *arrays, **given)
    if softmax_opset is not None:
        edge.attributes["opset"] = softmax_opset
    known = edge.constants if known is None else known
    known = tuple(i for i in known if edge.inputs[i:] and edge.inputs[i] is not None)
    return dataclasses.replace(edge, constants=known)


STEP = F32(0.05)


def real(x: Array, scale: Any, zero: Any = 0) -> Array:
    return (x.astype(np.float64) - np.asarray(zero, np.float64)) * np.asarray(scale, np.float64)


def numbers(x: Array, scale: Any, zero: Array) -> Array:
    limits = np.iinfo(zero.dtype)
    found = np.rint(x / np.float64(scale)) + zero
    return np.asarray(np.clip(found, limits.min, limits.max).astype(zero.dtype))


def of_two(function: Any) -> Any:
    return lambda a, sa, za, b, sb, zb, sc, zc: numbers(
        function(real(a, sa, za), real(b, sb, zb)), sc, zc
    )


def of_one(function: Any) -> Any:
    return lambda x, s, z, to, zero: numbers(function(real(x, s, z)), to, zero)


def gemm(a: Array, sa: Any, za: Any, b: Array, sb: Array, zb: Any, c: Array, *to: Any) -> Array:
    found = real(a, sa, za) @ real(b.T, sb, zb) + real(c, sa * sb)
    return numbers(found, *to) if to else found.astype(F32)


def conv_of_last(
    x: Array, sx: Any, zx: Any, w: Array, sw: Array, zw: Array, scale: Any, zero: Any, bias: Array
) -> Array:
    """A convolution along the first axis of images, of two rows at most, with channels last."""
    kernel = real(w.T, sw, zw).reshape(-1, *w.shape[1::-1])
    rows = x.shape[1] - len(kernel) + 1
    parts = [real(x[:, i : i + rows], sx, zx) @ each for i, each in enumerate(kernel)]
    return numbers(sum(parts) + real(bias, sx * sw), scale, zero)


def to_float(a: Any, b: Any, sa: Any, sb: Any, za: Any, zb: Any, bias: Any) -> Array:
    return np.asarray(real(a, sa, za) @ real(b, sb, zb) + bias, F32)


def dynamic(x: Array, b: Array, scale: Any, zero: Any, bias: Any) -> Array:
    low, high = min(x.min(), 0), max(x.max(), 0)
    step = F32(high - low) / F32(255)
    middle = np.asarray(np.rint(-low / step), np.uint8)
    return to_float(numbers(x, step, middle), b, step, scale, middle, zero, bias)


def in_bytes(x: Array) -> Array:
    """Round numbers to u8 steps of the range of all numbers and zero."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    step = F32(high - low) / F32(255)
    zero = np.asarray(np.rint(-low / step), np.uint8)
    return real(numbers(x, step, zero), step, zero)


def lstm(
    x: Array, w: Array, r: Array, bias: Array, sw: Array, zw: Array, sr: Array, zr: Array
) -> Array:
    """Return an LSTM layer of both directions, [time, direction, batch, units]."""
    found, (units, gates) = [], r.shape[1:]
    for way, inputs in enumerate((in_bytes(x), in_bytes(x)[::-1])):
        given = inputs @ real(w[way], sw[way], zw[way]) + bias[way, :gates] + bias[way, gates:]
        h, c, made = np.zeros((x.shape[1], units)), np.zeros((x.shape[1], units)), []
        for step in given:
            parts = np.split(step + h @ real(r[way], sr[way], zr[way]), 4, axis=1)
            i, o, f = (1 / (1 + np.exp(-part)) for part in parts[:3])
            c = f * c + i * np.tanh(parts[3])
            made.append(h := o * np.tanh(c))
        found.append(made[::-1] if way else made)
    return np.asarray(np.stack(found, 1), F32)


def layer(each: bool, opset: int = 21) -> Edge:
    """Return a DynamicQuantizeLSTM with a scale for each gate, or for each direction."""
    scale = [scales(2, 12) if each else scales(2) for _ in range(2)]
    zero = [s8(2, 12) if each else s8(2) for _ in range(2)]
    given = (
        X.reshape(5, 2, 12), s8(2, 12, 12), s8(2, 3, 12), scales(2, 24), None, None, None, None,
        scale[0], zero[0], scale[1], zero[1],
    )  # fmt: skip
    own = {"hidden_size": 3, "direction": "bidirectional"}
    return of("DynamicQuantizeLSTM", lambda *a: lstm(*a[:4], *a[8:]), *given, opset=opset, **own)


def table(
    data: Array, zero: Array | None, *, blocks: int = 3, by: int = 0, along: int | None = None
) -> Edge:
    """Return a GatherBlockQuantized of 4-bit numbers in blocks of 16, with an index of two axes."""
    axis = data.ndim - 1 if along is None else along

    def gather(x: Array, at: Array, scale: Array, zero: Array | None = None) -> Array:
        less = np.zeros(scale.shape) if zero is None else zero.astype(F32)
        count = range(x.shape[axis])
        each, less = (np.repeat(v, 16, axis).take(count, axis) for v in (scale, less))
        return real(x.astype(F32), each, less).take(at, by).astype(F32)

    sizes = [blocks if i == axis else n for i, n in enumerate(data.shape)]
    given = [data, np.array([[4, 0], [6, 4], [-1, 2]]), scales(*sizes)]
    given += [] if zero is None else [zero]
    return of("GatherBlockQuantized", gather, *given, block_size=16, quantize_axis=axis,
              gather_axis=by, known=(0, *range(2, len(given))))  # fmt: skip


S4 = np.random.default_rng(6).integers(-8, 8, (7, 40)).astype(ml_dtypes.int4)
U4 = np.random.default_rng(7).integers(0, 16, (7, 40)).astype(ml_dtypes.uint4)


def of_bits(bits: int, block: int) -> Any:
    """Return MatMulNBits in numpy, for weights of `bits` bits in blocks of `block` rows."""

    def nbits(x: Array, b: Array, scale: Array, zero: Array | None = None) -> Array:
        k = x.shape[-1]
        shifts = range(0, 8, bits)
        low = np.stack([b >> s & (1 << bits) - 1 for s in shifts], -1).reshape(len(b), -1)
        blocks = np.arange(k) // block
        each = scale.reshape(len(b), -1)[:, blocks]
        less = np.full(each.shape, 1 << bits - 1)
        if zero is not None:
            rows = zero.reshape(len(b), -1)
            less = np.stack([rows >> s & (1 << bits) - 1 for s in shifts], -1)
            less = less.reshape(len(b), -1)[:, blocks]
        return np.asarray(x @ real(low[:, :k], each, less).T, F32)

    return nbits


def of_rows(bits: int, block: int) -> Any:
    """Return rows of a table: MatMulNBits times the unit matrix gives them as columns."""

    def rows(table: Array, index: Array, scale: Array, zero: Array | None = None) -> Array:
        unit = np.eye(table.shape[1] * 8 // bits)
        return np.asarray(of_bits(bits, block)(unit, table, scale, zero).T[index], F32)

    return rows


X = np.random.default_rng(5).standard_normal((3, 40)).astype(F32)
ZERO, TO = np.uint8(120), (F32(0.07), np.uint8(9))
PAIR = (u8(2, 5), STEP, ZERO, u8(5), STEP, np.uint8(130), *TO)
C = np.arange(-3, 3).astype(np.int32) * 500
BIAS = np.linspace(-1, 1, 6).astype(F32)
FLAT = (u8(4, 33), F32(0.02), ZERO)
CASES: dict[str, Edge] = {
    "QLinearAdd": of("QLinearAdd", of_two(np.add), *PAIR),
    "QLinearMul": of("QLinearMul", of_two(np.multiply), *PAIR),
    "QLinearSigmoid": of(
        "QLinearSigmoid", of_one(lambda x: 1 / (1 + np.exp(-x))), s8(3, 9), STEP, np.int8(3),
        F32(1 / 256), np.int8(-128),
    ),
    "QLinearLeakyRelu": of(
        "QLinearLeakyRelu", of_one(lambda x: np.where(x < 0, x * F32(0.2), x)), s8(3, 9), STEP,
        np.int8(3), F32(0.04), np.int8(-9), alpha=0.2,
    ),
    "QLinearGlobalAveragePool": of(
        "QLinearGlobalAveragePool", of_one(lambda x: x.mean((2, 3), keepdims=True)),
        u8(2, 3, 5, 7), STEP, ZERO, F32(0.013), np.uint8(100),
    ),
    "QLinearAveragePool": of(
        "QLinearAveragePool", of_one(lambda x: (x[..., 1:] + x[..., :-1]) / 2), u8(2, 3, 7), STEP,
        ZERO, F32(0.031), np.uint8(100), kernel_shape=[2],
    ),
    "QLinearAveragePool, channels last": of(
        "QLinearAveragePool", of_one(lambda x: (x[:, 1:] + x[:, :-1]) / 2), u8(2, 7, 3), STEP,
        ZERO, F32(0.031), np.uint8(100), kernel_shape=[2], channels_last=1,
    ),
    "QLinearGlobalAveragePool, channels last": of(
        "QLinearGlobalAveragePool", of_one(lambda x: x.mean((1, 2), keepdims=True)),
        u8(2, 5, 7, 3), STEP, ZERO, F32(0.013), np.uint8(100), channels_last=1,
    ),
    "QLinearConv, channels last": of(
        "QLinearConv", conv_of_last, u8(2, 4, 5, 3), STEP, ZERO, s8(6, 3, 2, 1), scales(6),
        np.zeros(6, np.int8), *TO, C, channels_last=1,
    ),
    "QLinearConv": of(
        "QLinearConv", lambda x, *a: conv_of_last(x.swapaxes(1, 2), *a).swapaxes(1, 2),
        u8(2, 3, 5), STEP, ZERO, s8(6, 3, 1), scales(6), np.zeros(6, np.int8), *TO, C,
    ),
    "NhwcMaxPool": of(
        "NhwcMaxPool", lambda x: np.maximum(x[:, 1:], x[:, :-1]), s8(2, 7, 5, 3),
        kernel_shape=[2, 1],
    ),
    "QLinearWhere": of(
        "QLinearWhere",
        lambda k, a, sa, za, b, sb, zb, *to: numbers(
            np.where(k, real(a, sa, za), real(b, sb, zb)), *to
        ),
        np.array([[True], [False]]), *PAIR,
    ),
    **{
        f"QLinearReduceMean, opset {opset}{', all axes' * (axes is None)}": of(
            "QLinearReduceMean",
            of_one(lambda x, axes=axes: x.mean(axes and tuple(axes), keepdims=True)), u8(2, 5, 3),
            STEP, ZERO, F32(0.013), np.uint8(100), opset=opset, **({"axes": axes} if axes else {}),
        )
        for opset, axes in ((13, [1]), (21, [1, 2]), (21, None))
    },
    "QLinearSoftmax": of(
        "QLinearSoftmax", of_one(lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)), u8(3, 9),
        STEP, ZERO, F32(1 / 256), np.uint8(0), axis=-1, opset=21,
    ),
    **{
        f"QLinearSoftmax of opset {softmax} in a model of opset {opset}": of(
            "QLinearSoftmax",
            of_one(lambda x, a=axes: np.exp(x) / np.exp(x).sum(a, keepdims=True)), u8(3, 4, 5),
            STEP, ZERO, F32(1 / 256), np.uint8(0), axis=1, opset=opset, softmax_opset=softmax,
        )
        for softmax, opset, axes in ((12, 21, (1, 2)), (12, 12, (1, 2)), (13, 21, (1,)))
    },
    "QLinearConcat": of(
        "QLinearConcat",
        lambda s, z, a, sa, za, b, sb, zb: numbers(
            np.concatenate([real(a, sa, za), real(b, sb, zb)], 1), s, z
        ),
        *TO, u8(2, 3), STEP, ZERO, u8(2, 5), F32(0.2), np.uint8(7), axis=1,
    ),
    "QGemm": of("QGemm", gemm, *FLAT, s8(6, 33), scales(6), np.zeros(6, np.int8), C, *TO, transB=1),
    "QGemm, floats": of("QGemm", gemm, *FLAT, u8(6, 33), scales(), np.uint8(7), C, transB=1),
    "MatMulIntegerToFloat": of(
        "MatMulIntegerToFloat", to_float, u8(4, 33), u8(33, 6), F32(0.02), scales(6), ZERO, u8(6),
        BIAS,
    ),
    "DynamicQuantizeMatMul": of(
        "DynamicQuantizeMatMul", dynamic, X, s8(40, 6), scales(6), np.zeros(6, np.int8), BIAS
    ),
    **{
        f"MatMulNBits, {bits} bits{', zero points' * (zero is not None)}": of(
            "MatMulNBits", of_bits(bits, 16), X, u8(6, 3, 2 * bits), scales(18), zero,
            K=40, N=6, bits=bits, block_size=16,
        )
        for bits in (2, 4, 8)
        for zero in (None, u8(6 * -(-3 * bits // 8)))
    },
    **{
        f"GatherBlockQuantized, {bits} bits{', zero points' * (zero is not None)}": of(
            "GatherBlockQuantized", of_rows(bits, 16), u8(6, 5 * bits), np.array([[4, 0], [2, 4]]),
            scales(18).reshape(6, 3), zero, bits=bits, block_size=16, gather_axis=0,
            quantize_axis=-1, known=(0, 2, 3),
        )
        for bits in (2, 4, 8)
        for zero in (None, u8(6, -(-3 * bits // 8)))
    },
    "DynamicQuantizeLSTM, directions": layer(False),
    "DynamicQuantizeLSTM, gates": layer(True),
    "DynamicQuantizeLSTM, before scales of an axis": layer(True, opset=11),
    "GatherBlockQuantized, s4": table(S4, None),
    "GatherBlockQuantized, s4, zero points": table(S4, S4[:, :3]),
    "GatherBlockQuantized, u4": table(U4, None),
    "GatherBlockQuantized, u4, zero points": table(U4, U4[:, :3]),
    "GatherBlockQuantized, one block of a short row": table(S4[:, :9], None, blocks=1),
    "GatherBlockQuantized, blocks along the first axis": table(S4.T, S4.T[:3], by=1, along=0),
    "GatherBlockQuantized, blocks along the middle axis": table(
        U4.reshape(7, 40, 1), None, along=1
    ),
    "GatherBlockQuantized, three axes": table(S4.reshape(7, 1, 40), S4[:, None, :3]),
    "QuantizeLinear": of(
        "QuantizeLinear", lambda x, s, z: numbers(x, s[:, None], z[:, None]), X, scales(3), s8(3),
        axis=0,
    ),
    "QuantizeLinear, before scales of an axis": of(
        "QuantizeLinear", lambda x, s, z: numbers(x, s[:, None], z[:, None]), X, scales(3), s8(3),
        axis=0, opset=10,
    ),
    "DequantizeLinear": of(
        "DequantizeLinear", lambda x, s, z: real(x, s, z).astype(F32), u8(3, 5), STEP, ZERO
    ),
    "DequantizeLinear, weights of 16 bits before opset 21": of(
        "DequantizeLinear", lambda x, s, z: real(x, s, z).astype(F32),
        np.array([0, 1, 40000, 65535], np.uint16), STEP, np.uint16(65535),
        opset=13, known=(0, 1, 2),
    ),
}  # fmt: skip


def changed(name: str, inputs: dict[int, Array], **attributes: int | None) -> Edge:
    """A case with other inputs and attributes; None removes one."""
    edge = CASES[name]
    own = {k: v for k, v in {**edge.attributes, **attributes}.items() if v is not None}
    arrays = tuple(inputs.get(i, array) for i, array in enumerate(edge.inputs))
    return dataclasses.replace(edge, inputs=arrays, attributes=own)


def model(edge: Edge, folder: Path) -> onnx.ModelProto:
    onnx.save(edge.model(), folder / "model.onnx")
    return read(folder / "model.onnx")


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(name: str, tmp_path: Path) -> None:
    edge = CASES[name]
    given = {i: np.asarray(a) for i, a in enumerate(edge.inputs) if a is not None}
    kept = {f"x{i}": a for i, a in given.items() if i not in edge.constants}
    (made,) = run(lower(load(model(edge, tmp_path), {})), kept).values()
    (expected,) = edge.values()
    if expected.dtype == F32:
        np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(made.reshape(expected.shape), expected)


@pytest.mark.parametrize(
    ("edge", "why"),
    [
        (
            of("QGemm", None, *FLAT, s8(6, 33), scales(6), np.zeros(6, np.int8), opset=12),
            "opset 13",
        ),
        (
            of("MatMulNBits", None, X, u8(6, 3, 6), scales(18), K=40, N=6, bits=3, block_size=16),
            "bits=3",
        ),
        (
            of(
                "GatherBlockQuantized",
                None,
                u8(6, 16),
                C,
                scales(6, 1),
                gather_axis=1,
                known=(0, 2),
            ),
            "gathered along axis 1",
        ),
        (
            of(
                "MatMulNBits",
                None,
                X,
                u8(6, 3, 8),
                scales(18),
                u8(12),
                np.arange(40) // 16,
                K=40,
                N=6,
                bits=4,
                block_size=16,
            ),
            r"has an order of groups \(g_idx\); export it without g_idx",
        ),
        (changed("MatMulNBits, 4 bits", {}, K=None), "lacks the attribute K; give it an integer"),
        (changed("MatMulNBits, 4 bits", {}, block_size=0), "has block_size=0; give it an integer"),
        (changed("MatMulNBits, 4 bits", {}, block_size=2**40), "has x1 of shape 6x3x8; give it"),
        (changed("MatMulNBits, 4 bits", {2: scales(17)}), "x2 of shape 17; give it the shape 6x3"),
        (
            changed("MatMulNBits, 4 bits, zero points", {3: u8(11)}),
            "x3 of shape 11; give it the shape 6x2 or 12",
        ),
        (changed("QLinearConcat", {}, axis=None), "lacks the attribute axis"),
        (
            changed("QLinearSoftmax of opset 12 in a model of opset 12", {}, opset=13),
            "has axis=1 and opset=13, in a model of opset 12; convert",
        ),
        (
            changed("GatherBlockQuantized, u4", {}, block_size=10**9),
            "x2 of shape 7x3; give it the shape 7x1",
        ),
        (
            changed("GatherBlockQuantized, 4 bits, zero points", {3: u8(6, 3)}),
            "x3 of shape 6x3; give it the shape 6x2",
        ),
        (
            changed("DynamicQuantizeLSTM, gates", {8: scales(2, 11)}),
            "x8 of shape 2x11; give it the shape 2 or 2x12",
        ),
        (changed("DynamicQuantizeLSTM, gates", {1: s8(12, 12)}), "x1 of shape 12x12; give it 3"),
    ],
)
def test_refused(edge: Edge, why: str, tmp_path: Path) -> None:
    plain = Edge(**{**vars(edge), "expected": lambda *given: np.zeros(1, F32)})
    with pytest.raises(GraphError, match=why) as raised:
        model(plain, tmp_path)
    assert "\n" not in str(raised.value) and len(str(raised.value)) <= 500


def test_weights_beside_the_model(tmp_path: Path) -> None:
    """Weights in an external file are unpacked when the model is read."""
    edge = CASES["MatMulNBits, 4 bits, zero points"]
    onnx.save_model(
        edge.model(), tmp_path / "model.onnx", save_as_external_data=True, location="data",
        size_threshold=0,
    )  # fmt: skip
    calls = lower(load(tmp_path / "model.onnx", {}))
    (made,) = run(calls, {"x0": edge.inputs[0]}).values()
    (expected,) = edge.values()
    np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)
