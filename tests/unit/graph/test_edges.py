"""Operators at the edges of their inputs and attributes: what they become, computed by the scalar
reference, against onnx's reference or a definition in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnx")
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kgen.check.model.truth import evaluator, in_f64
from kgen.errors import GraphError
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.operators.resampling import MODES
from kgen.graph.reading.importer import imported
from kgen.graph.rewrites.normalizations import folded
from tests.onnx_models import Array, run

RNG = np.random.default_rng(7)
F32, S32, S64 = np.float32, np.int32, np.int64


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(F32)


def whole(low: int, high: int, *shape: int, dtype: Any = S64) -> Array:
    return RNG.integers(low, high, shape).astype(dtype)


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A node, its inputs, which of them are constants, and its results where onnx's reference is
    wrong or lacks the operator."""

    operator: str
    inputs: Sequence[Any]
    constants: Sequence[int] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 21
    domain: str = ""
    expected: Callable[..., Any] | None = None

    def model(self) -> onnx.ModelProto:
        arrays = {f"x{i}": a for i, a in enumerate(self.inputs) if a is not None}
        names = [f"x{i}" if a is not None else "" for i, a in enumerate(self.inputs)]
        known = {f"x{i}" for i in self.constants}
        node = helper.make_node(
            self.operator, names, [f"y{i}" for i in range(self.outputs)], name="/node",
            domain=self.domain, **self.attributes,
        )  # fmt: skip
        graph = helper.make_graph(
            [node], "main",
            [
                helper.make_tensor_value_info(
                    n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape
                )
                for n, a in arrays.items() if n not in known
            ],
            [helper.make_tensor_value_info(n, self.kind(n), None) for n in node.output],
            [numpy_helper.from_array(a, n) for n, a in arrays.items() if n in known],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=opsets)

    def kind(self, output: str) -> int:
        found = self.values()[int(output[1:])]
        return int(helper.np_dtype_to_tensor_dtype(np.asarray(found).dtype))

    def values(self) -> list[Array]:
        """Return the expected results."""
        return self._values

    @cached_property
    def _values(self) -> list[Array]:
        if self.expected is not None:
            found = self.expected(*self.inputs)
            return list(found) if isinstance(found, tuple) else [found]
        names = [f"x{i}" if a is not None else "" for i, a in enumerate(self.inputs)]
        node = helper.make_node(
            self.operator, names, [f"y{i}" for i in range(self.outputs)], **self.attributes
        )
        given = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in zip(names, self.inputs, strict=True) if n
        ]  # fmt: skip
        made = [onnx.ValueInfoProto(name=name) for name in node.output]
        model = helper.make_model(
            helper.make_graph([node], "main", given, made),
            opset_imports=[helper.make_opsetid("", self.opset)],
        )
        arrays = {n: a for n, a in zip(names, self.inputs, strict=True) if n}
        with np.errstate(all="ignore"):
            return list(ReferenceEvaluator(model).run(None, arrays))


def sorted_rows(k: int, largest: bool = True) -> Callable[..., Any]:
    """TopK along the last axis, with NaN as the largest number."""

    def expected(x: Array, *_: Any) -> tuple[Array, Array]:
        wide, last = x.astype(np.float64), np.isnan(x)
        keys = (-wide, ~last) if largest else (wide, last)
        order = np.lexsort(keys, axis=-1)[..., :k]
        return np.take_along_axis(x, order, -1), order

    return expected


def truncated(x: Array, y: Array) -> Array:
    """Quotient of Python's integers, rounded toward zero; 0 for a divisor of 0."""
    pairs = zip(x.ravel().tolist(), np.broadcast_to(y, x.shape).ravel().tolist(), strict=True)
    found = [
        0 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) for p, q in pairs
    ]
    return np.array(found, S64).astype(x.dtype).reshape(x.shape)


def joined_by(function: Any, axis: int = 0) -> Callable[..., Any]:
    """ScatterElements with a ufunc; an element may be written several times."""

    def expected(x: Array, index: Array, rows: Array) -> Array:
        found = x.copy()
        for at in np.ndindex(*index.shape):
            place = (*at[:axis], index[at], *at[axis + 1 :])
            found[place] = function(found[place], rows[at])
        return found

    return expected


def sampled(mode: str, padding: str, aligned: bool) -> Edge:
    """Return a GridSample of three images whose grid reaches past the image on all sides."""
    grid = RNG.uniform(-1.7, 1.7, (2, 2, 4, 2)).astype(F32)
    grid[0, 0, :3] = [[-1, 1], [1, -1], [0, 0]]
    return Edge(
        operator="GridSample", inputs=(normal(2, 3, 4, 5), grid), opset=20,
        attributes={"mode": mode, "padding_mode": padding, "align_corners": int(aligned)},
    )  # fmt: skip


def regions(mode: str, corner: str, scale: float) -> Edge:
    """Regions of two images within, across and beyond the borders; one has no size. One sample of
    each bin lies exactly on an element."""
    places = np.array([[0, 0, 4, 4], [-3, 1, 9, 2], [7, 7, 9, 30], [2, 2, 2, 2]], F32) / scale
    return Edge(
        operator="RoiAlign", inputs=(normal(2, 3, 5, 6), places, np.array([1, 0, 0, 1])),
        attributes={
            "mode": mode, "coordinate_transformation_mode": corner, "output_height": 2,
            "output_width": 3, "sampling_ratio": 2, "spatial_scale": scale,
        }, opset=22,
    )  # fmt: skip


def recurrent(operator: str, gates: int, *, opset: int = 22, **given: Any) -> Edge:
    """Return a recurrent layer on two sequences of four steps, and its results by numpy."""
    lengths, way = given.pop("lengths", None), given.pop("direction", "forward")
    first, constants = given.pop("first", False), given.pop("constants", (1, 2, 3))
    count, units, size = 2 if way == "bidirectional" else 1, 3, 2
    x, w, r = (
        normal(4, 2, size),
        normal(count, gates * units, size),
        normal(count, gates * units, units),
    )
    bias, h = normal(count, 2 * gates * units), normal(count, 2, units)
    inputs: list[Any] = [x, w, r, bias, lengths, h if first else None]
    if given.get("layout"):
        inputs[0] = np.ascontiguousarray(x.transpose(1, 0, 2))
        inputs[5] = np.ascontiguousarray(h.transpose(1, 0, 2)) if first else None
    outputs = 3 if operator == "LSTM" else 2

    def expected(*_: Any) -> tuple[Array, ...]:
        ys = np.zeros((4, count, 2, units), F32)
        finals = []
        for d in range(count):
            states = [(h[d] if first else np.zeros((2, units))).astype(float), np.zeros((2, units))]
            backwards = way == "reverse" or d == 1
            for batch in range(2):
                state = [s[batch] for s in states]
                steps = range(4 if lengths is None else int(lengths[batch]))
                for t in reversed(steps) if backwards else steps:
                    state = cell(operator, x[t, batch], w[d], r[d], bias[d], state, given)
                    ys[t, d, batch] = state[0]
                for s, new in zip(states, state, strict=True):
                    s[batch] = new
            finals.append(states)
        last = [np.stack([f[i] for f in finals]).astype(F32) for i in range(outputs - 1)]
        if given.get("layout"):
            return ys.transpose(2, 0, 1, 3), *(v.transpose(1, 0, 2) for v in last)
        return ys, *last

    return Edge(
        operator=operator, inputs=inputs, constants=constants, outputs=outputs, opset=opset,
        attributes={"hidden_size": units, "direction": way, **given}, expected=expected,
    )  # fmt: skip


def cell(
    operator: str, x: Array, w: Array, r: Array, bias: Array, state: list[Array], given: Any
) -> list[Array]:
    h, c = state
    n, limit = len(h), given.get("clip", np.inf)
    wb, rb = np.split(bias.astype(float), 2)

    def cut(v: Array) -> Array:
        return np.clip(v, -limit, limit)

    def sigmoid(v: Array) -> Array:
        return 1 / (1 + np.exp(-cut(v)))

    if operator == "RNN":
        total = cut(w @ x + r @ h + wb + rb)
        name = given.get("activations", ["Tanh"])[0]
        if name == "Affine":
            return [given["activation_alpha"][0] * total + given["activation_beta"][0], c]
        return [np.where(total >= 0.25, total, 0.0) if name != "Tanh" else np.tanh(total), c]
    if operator == "GRU":
        z, s = (sigmoid(w[i : i + n] @ x + r[i : i + n] @ h + wb[i : i + n] + rb[i : i + n])
                for i in (0, n))  # fmt: skip
        new = np.tanh(cut(w[2 * n :] @ x + r[2 * n :] @ (s * h) + wb[2 * n :] + rb[2 * n :]))
        return [(1 - z) * new + z * h, c]
    i, o, f, g = np.split(w @ x + r @ h + wb + rb, 4)
    taken = sigmoid(i)
    kept = 1 - taken if given.get("input_forget") else sigmoid(f)
    c = kept * c + taken * np.tanh(cut(g))
    return [sigmoid(o) * np.tanh(cut(c)), c]


def einsum(equation: str, *shapes: Sequence[int]) -> Edge:
    return Edge(
        operator="Einsum", inputs=[normal(*shape) for shape in shapes],
        attributes={"equation": equation}, constants=tuple(range(1, len(shapes))),
        expected=lambda *xs: np.einsum(equation, *xs).astype(F32),
    )  # fmt: skip


def resized(shape: Sequence[int], *given: Any, **attributes: Any) -> Edge:
    inputs = (normal(*shape), *given)
    return Edge(
        operator="Resize", inputs=inputs, attributes=attributes, opset=19,
        constants=tuple(i for i, v in enumerate(inputs) if i and v is not None),
    )  # fmt: skip


def pooled_with_places(**attributes: Any) -> Edge:
    """MaxPool with the places of its results, among ties, by loops."""
    x = whole(0, 4, 2, 2, 5, 6).astype(F32)

    def expected(x: Array) -> tuple[Array, Array]:
        pads = attributes.get("pads", [0] * 4)
        (sy, sx), (dy, dx) = (attributes.get(n, [1, 1]) for n in ("strides", "dilations"))
        ky, kx = attributes["kernel_shape"]
        rows = (5 + pads[0] + pads[2] - (ky - 1) * dy - 1) // sy + 1
        columns = (6 + pads[1] + pads[3] - (kx - 1) * dx - 1) // sx + 1
        values, places = np.zeros((2, 2, rows, columns), F32), np.zeros((2, 2, rows, columns), S64)
        for n, c, i, j in np.ndindex(values.shape):
            seen = [
                (-x[n, c, y, z], number, y, z)
                for number, (p, q) in enumerate(np.ndindex(ky, kx))
                for y, z in [(i * sy + p * dy - pads[0], j * sx + q * dx - pads[1])]
                if 0 <= y < 5 and 0 <= z < 6
            ]
            value, _, y, z = min(seen)
            values[n, c, i, j] = -value
            inner = z * 5 + y if attributes.get("storage_order") else y * 6 + z
            places[n, c, i, j] = (n * 2 + c) * 30 + inner
        return values, places

    return Edge(
        operator="MaxPool", inputs=(x,), attributes=attributes, outputs=2, expected=expected
    )  # fmt: skip


def responses(x: Array, before: int, behind: int, alpha: float, beta: float, bias: float) -> Array:
    """LRN by a loop over channels."""
    found = np.empty_like(x)
    for c in range(x.shape[1]):
        near = x[:, max(c - before, 0) : c + behind + 1]
        found[:, c] = x[:, c] / (bias + alpha * (near**2).sum(1)) ** beta
    return found


def curve(operator: str, function: Any, *points: float) -> Edge:
    """A function of numbers, some of which may be outside its domain or overflow."""

    @np.errstate(all="ignore")
    def expected(x: Array) -> Array:
        found: Array = function(x.astype(np.float64)).astype(F32)
        return found

    x = np.array([*points, np.nan], F32)
    return Edge(operator=operator, inputs=(x,), opset=22, expected=expected)


def bits(operator: str, function: Callable[[int, int], int], dtype: Any, **given: Any) -> Edge:
    """Shifts and bitwise operations of Python's integers, cut to a type. Shifts by the width or
    more, or by less than 0, lose all bits but the sign."""
    info = np.iinfo(dtype)
    numbers = [info.min, info.max, 0, 1, info.max // 3, info.max - 1, info.min // 2]
    others = [0, 1, info.bits - 1, info.bits, info.bits + 1, info.max, 5]
    others += [-1, info.min, -info.bits] if info.min else []
    pairs = [(x, y) for x in numbers for y in others]

    def expected(*_: Array) -> Array:
        found = [function(x, y) % (1 << info.bits) for x, y in pairs]
        return np.array(found, f"u{info.bits // 8}").astype(dtype)

    x, y = (np.array(numbers, dtype) for numbers in zip(*pairs, strict=True))
    inputs = (x,) if operator == "BitwiseNot" else (x, y)
    return Edge(operator=operator, inputs=inputs, opset=28, expected=expected, attributes=given)


def shifted(x: int, n: int) -> int:
    return x << n if 0 <= n < 64 else 0


def shifted_right(x: int, n: int) -> int:
    return x >> n if 0 <= n < 64 else min(x, 0) >> 64


def transform(
    shape: Sequence[int], axis: int, length: int | None = None, **attributes: Any
) -> Edge:
    """DFT by numpy's FFT."""
    x = normal(*shape)

    def expected(x: Array, *_: Any) -> Array:
        half: dict[str, Any] = {"n": length, "axis": axis if axis >= 0 else axis + 1}
        wide = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
        if attributes.get("inverse") and attributes.get("onesided"):
            return np.fft.irfft(wide, **half)[..., None].astype(F32)
        if attributes.get("onesided"):
            found = np.fft.rfft(wide.real, **half)
        else:
            found = (np.fft.ifft if attributes.get("inverse") else np.fft.fft)(wide, **half)
        return np.stack([found.real, found.imag], -1).astype(F32)

    return Edge(
        operator="DFT", opset=20, constants=(1, 2), attributes=attributes, expected=expected,
        inputs=(x, None if length is None else np.array(length), np.array(axis)),
    )  # fmt: skip


def frames(x: Array, step: Any, window: Any, length: Any, half: int = 1) -> Array:
    """STFT by numpy's FFT of each frame."""
    size = len(window) if window is not None else int(length)
    wide = x[..., 0] + (1j * x[..., 1] if x.ndim > 2 and x.shape[-1] == 2 else 0)
    starts = range(0, x.shape[1] - size + 1, int(step))
    found = np.stack([wide[:, s : s + size] * (1 if window is None else window) for s in starts], 1)
    made = np.fft.fft(found)[..., : size // 2 + 1] if half else np.fft.fft(found)
    return np.stack([made.real, made.imag], -1).astype(F32)


TIES = np.array([[1, 3, 3, -2, 3, 1, 0], [0, -1, 5, 5, -7, -1, 5]], F32)
UNUSUAL = np.array([[1, np.nan, np.inf, -np.inf, 3, np.nan, 2]], F32)
SIZES = np.array([1, 1, 2, 2])
LEAST = np.iinfo(S32).min

EDGES: dict[str, Edge] = {
    "MeanVarianceNormalization": Edge(
        operator="MeanVarianceNormalization",
        inputs=(np.sin(np.arange(120, dtype=np.float32)).reshape(2, 3, 4, 5),),
        attributes={"axes": [0, -1]},
    ),
    "TopK": Edge(operator="TopK", inputs=(TIES, np.array([4])), constants=(1,), outputs=2),
    "TopK, smallest": Edge(
        operator="TopK", inputs=(TIES, np.array([7])), constants=(1,), outputs=2,
        attributes={"largest": 0}, expected=sorted_rows(7, False),
    ),
    "TopK, in the middle": Edge(
        operator="TopK", inputs=(normal(2, 5, 3), np.array([2])), constants=(1,), outputs=2,
        attributes={"axis": 1},
    ),
    "TopK, one of one": Edge(
        operator="TopK", inputs=(normal(3, 1), np.array([1])), constants=(1,), outputs=2
    ),
    "TopK, long rows": Edge(
        operator="TopK", inputs=(whole(0, 9, 2, 101).astype(F32), np.array([3])), constants=(1,),
        outputs=2, expected=sorted_rows(3),
    ),
    "TopK, unusual numbers": Edge(
        operator="TopK", inputs=(UNUSUAL, np.array([6])), constants=(1,), outputs=2,
        expected=sorted_rows(6),
    ),
    "TopK, integers": Edge(
        operator="TopK", inputs=(whole(-9, 9, 3, 6, dtype=S32), np.array([4])), constants=(1,),
        outputs=2, expected=sorted_rows(4),
    ),
    "TopK, old": Edge(
        operator="TopK", inputs=(TIES,), outputs=2, opset=9, attributes={"k": 3},
        expected=sorted_rows(3),
    ),
    "Hardmax": Edge(operator="Hardmax", inputs=(TIES,)),
    "Hardmax, old": Edge(
        operator="Hardmax", inputs=(TIES.reshape(2, 7, 1),), opset=11,
        expected=lambda x: (np.arange(7) == x.reshape(2, 7).argmax(1)[:, None])
        .reshape(x.shape).astype(F32),
    ),
    "ArgMax, last": Edge(operator="ArgMax", inputs=(TIES,), attributes={
        "axis": 1, "select_last_index": 1,
    }),
    "ArgMin, last": Edge(operator="ArgMin", inputs=(TIES,), attributes={
        "axis": 0, "select_last_index": 1, "keepdims": 0,
    }),
    **{
        f"MatMul of {kind}, {ranks}": Edge(
            operator="MatMul", inputs=[whole(-(2**30), 2**30, *n, dtype=kind) for n in shapes],
        )
        for kind in ("int32", "int64")
        for ranks, shapes in {
            "matrices": ((3, 4), (4, 2)), "batches": ((2, 1, 3, 4), (5, 4, 2)),
            "vectors": ((4,), (4,)),
        }.items()
    },
    "Gemm of integers": Edge(
        operator="Gemm", inputs=[whole(-99, 99, *n, dtype="int64") for n in ((3, 4), (5, 4), (5,))],
        attributes={"transB": 1, "alpha": 2.0},
    ),
    "OneHot": Edge(
        operator="OneHot", inputs=(whole(-7, 9, 2, 3), np.array(5), np.array([-1, 4], F32)),
        constants=(1, 2), attributes={"axis": 1},
        expected=lambda x, *_: np.moveaxis(np.where(
            np.where(x < 0, x + 5, x)[..., None] == np.arange(5), F32(4), F32(-1)
        ), -1, 1),
    ),
    "OneHot of fractions": Edge(
        operator="OneHot", constants=(1, 2),
        inputs=(np.array([0, 2, -1, 9]), np.array(3), np.array([-1e30, 0.25], F32)),
        expected=lambda x, *_: np.array(
            [[0.25 if n == m else -1e30 for n in range(3)] for m in (0, 2, 2, 9)], F32
        ),
    ),
    "OneHot, values from data": Edge(
        operator="OneHot", inputs=(normal(4) * 3, np.array([3]), np.array([7, -2])),
        constants=(1,),
        expected=lambda x, _, v: np.where(
            np.where(np.trunc(x) < 0, np.trunc(x) + 3, np.trunc(x))[:, None] == np.arange(3),
            v[1], v[0],
        ),
    ),
    "Trilu": Edge(operator="Trilu", inputs=(normal(2, 3, 4),)),
    "Trilu, lower": Edge(
        operator="Trilu", inputs=(whole(1, 9, 4, 3), np.array(-1)), constants=(1,),
        attributes={"upper": 0},
    ),
    "Trilu, far": Edge(
        operator="Trilu", inputs=(normal(3, 3), np.array(2**40)), constants=(1,),
        expected=lambda x, _: np.zeros_like(x),
    ),
    "Trilu, infinite": Edge(
        operator="Trilu", inputs=(np.full((2, 2), np.inf, F32), np.array(1)), constants=(1,)
    ),
    "ReverseSequence": Edge(
        operator="ReverseSequence", inputs=(normal(4, 3, 2), np.array([1, 4, 3])), constants=(1,)
    ),
    "ReverseSequence, from data": Edge(
        operator="ReverseSequence", inputs=(normal(3, 4), np.array([0, 4, 3])),
        attributes={"batch_axis": 0, "time_axis": 1},
    ),
    "GatherND, batches": Edge(
        operator="GatherND", inputs=(normal(2, 3, 4), whole(-3, 3, 2, 5, 1)),
        attributes={"batch_dims": 1},
    ),
    "GatherND, two batches": Edge(
        operator="GatherND", inputs=(normal(2, 3, 4, 5), whole(0, 4, 2, 3, 2)),
        attributes={"batch_dims": 2},
    ),
    "GatherND, constant batches": Edge(
        operator="GatherND", inputs=(normal(2, 3, 4), whole(0, 3, 2, 2)), constants=(1,),
        attributes={"batch_dims": 1},
    ),
    "Div, integers": Edge(
        operator="Div", expected=truncated,
        inputs=(
            np.array([7, -7, 7, -7, 6, -6, LEAST, LEAST, 5], S32),
            np.array([2, 2, -2, -2, -3, 3, 2, 3, 0], S32),
        ),
    ),
    "Div, bytes": Edge(
        operator="Div", expected=truncated,
        inputs=(
            np.array([7, -7, 127, -128, 9], np.int8), np.array([2, 2, -2, 1, 0], np.int8),
        ),
    ),
    "Div, unsigned": Edge(
        operator="Div", expected=truncated,
        inputs=(np.array([255, 254, 3], np.uint8), np.array([2, 255, 0], np.uint8)),
    ),
    "Mean": Edge(operator="Mean", inputs=(normal(2, 3), normal(3), normal(2, 1))),
    "Mean of one": Edge(operator="Mean", inputs=(normal(2, 3),)),
    "IsInf, below": Edge(operator="IsInf", inputs=(UNUSUAL,), attributes={"detect_positive": 0}),
    "IsInf, above": Edge(operator="IsInf", inputs=(UNUSUAL,), attributes={"detect_negative": 0}),
    "IsInf, none": Edge(
        operator="IsInf", inputs=(UNUSUAL,),
        attributes={"detect_negative": 0, "detect_positive": 0},
        expected=lambda x: np.zeros(x.shape, bool),
    ),
    "CumProd": Edge(
        operator="CumProd", inputs=(normal(3, 5), np.array(1)), constants=(1,), opset=26,
        expected=lambda x, _: np.cumprod(x, 1),
    ),
    "CumProd, back": Edge(
        operator="CumProd", inputs=(normal(3, 4), np.array(0)), constants=(1,), opset=26,
        attributes={"reverse": 1, "exclusive": 1},
        expected=lambda x, _: np.stack([x[1] * x[2], x[2], np.ones(4, F32)]),
    ),
    "LayerNormalization, further results": Edge(
        operator="LayerNormalization", inputs=(normal(2, 3, 4), normal(3, 4)), outputs=3,
        attributes={"axis": 1},
    ),
    "ScatterElements, add": Edge(
        operator="ScatterElements", inputs=(normal(5), np.array([1, -1, 1, 1]), normal(4)),
        attributes={"reduction": "add"}, expected=joined_by(np.add),
    ),
    "ScatterElements, mul beside": Edge(
        operator="ScatterElements",
        inputs=(normal(3, 4, 2), whole(-4, 4, 2, 5, 1), normal(2, 5, 1)),
        attributes={"reduction": "mul", "axis": 1}, expected=lambda x, i, r: joined_by(
            np.multiply, 1
        )(x, i % 4, r),
    ),
    "ScatterElements, max of integers": Edge(
        operator="ScatterElements", constants=(1,),
        inputs=(whole(-9, 0, 4, dtype=S32), np.array([0, 2, 0]), whole(-9, 0, 3, dtype=S32)),
        attributes={"reduction": "max"}, expected=joined_by(np.maximum),
    ),
    "ScatterElements, min": Edge(
        operator="ScatterElements", inputs=(normal(4, 3), whole(0, 4, 6, 3), normal(6, 3)),
        attributes={"reduction": "min"}, expected=joined_by(np.minimum),
    ),
    **{
        f"ScatterElements, {how} of {dtype.__name__}": Edge(
            operator="ScatterElements", attributes={"reduction": how},
            inputs=(
                np.array([100, 90, 3], dtype), np.array([0, -3, 1, 0]),
                np.array([120, 7, 111, 101], dtype),
            ),
            expected=joined_by(function),
        )
        for how, function in (("add", np.add), ("mul", np.multiply), ("max", np.maximum))
        for dtype in (np.int8, np.uint8)
    },
    "ScatterND, add": Edge(
        operator="ScatterND", attributes={"reduction": "add"},
        inputs=(normal(3, 2, 2), np.array([[0, 1], [2, -1], [0, 1]]), normal(3, 2)),
        expected=lambda x, i, r: np.stack([
            [x[p, q] + sum(r[k] for k in range(3) if (i[k, 0], i[k, 1] % 2) == (p, q))
             for q in range(2)] for p in range(3)
        ]).astype(F32),
    ),
    "ScatterND, max": Edge(
        operator="ScatterND", attributes={"reduction": "max"}, constants=(1,),
        inputs=(normal(4), np.array([[3], [0], [3]]), normal(3)),
        expected=lambda x, i, r: joined_by(np.maximum)(x, i[:, 0], r),
    ),
    "Scatter": Edge(
        operator="Scatter", inputs=(normal(3, 3), np.array([[1, 0, 2]]), normal(1, 3)), opset=10,
        expected=joined_by(lambda _, new: new),
    ),
    **{
        f"GridSample, {mode}, {padding}{', aligned' if aligned else ''}": sampled(
            mode, padding, aligned
        )
        for mode in ("linear", "nearest", "cubic")
        for padding in ("zeros", "border", "reflection")
        for aligned in (False, True)
    },
    "GridSample, three axes": Edge(
        operator="GridSample", opset=20,
        inputs=(normal(1, 2, 3, 1, 4), RNG.uniform(-1.2, 1.2, (1, 2, 2, 2, 3)).astype(F32)),
    ),
    "GridSample, far": Edge(
        operator="GridSample", opset=20,
        inputs=(normal(1, 1, 2, 2), np.full((1, 1, 2, 2), 1e12, F32)),
        expected=lambda x, _: np.zeros((1, 1, 1, 2), F32),
    ),
    **{
        f"RoiAlign, {mode}, {corner}": regions(mode, corner, scale)
        for mode in ("avg", "max")
        for corner, scale in (("half_pixel", 0.25), ("output_half_pixel", 1.0))
    },
    **{
        f"Det of {n} rows": Edge(
            operator="Det", inputs=(normal(2, 3, n, n),), opset=22,
            expected=lambda x: np.linalg.det(x.astype(np.float64)).astype(F32),
        )
        for n in (1, 2, 3, 4)
    },
    "Pow of integers": Edge(
        operator="Pow", opset=15,
        inputs=(np.array([-3, 2, 0, -1, 7], S32), np.array([3, 31, 0, 5, 11], S32)),
        expected=lambda *_: np.array([-27, -(2**31), 1, -1, 7**11 % 2**32], np.int64).astype(S32),
    ),
    "Einsum, hidden": einsum("...ij,...jk", (2, 1, 3, 4), (1, 5, 4, 2)),
    "Einsum, hidden sum": einsum("i...->...", (3, 2, 4)),
    "Einsum, diagonal": einsum("ii->i", (4, 4)),
    "Einsum, trace": einsum("bii", (2, 3, 3)),
    "Einsum, diagonal of a product": einsum("iji,jk->ik", (3, 2, 3), (2, 4)),
    "Einsum, three": einsum("ij,jk,kl->il", (2, 9), (9, 3), (3, 4)),
    "Einsum, four": einsum("ab,cb,a,ce->e", (2, 3), (4, 3), (2,), (4, 5)),
    "Einsum, spaces": einsum(" ... i , i -> ... ", (2, 2, 3), (3,)),
    "Einsum, long axis of one": einsum("ij,ij->ij", (2, 3), (2, 3)),
    "LSTM, lengths": recurrent("LSTM", 4, lengths=np.array([3, 0], S32)),
    "LSTM, coupled": recurrent("LSTM", 4, input_forget=1, clip=0.3),
    "LSTM, batch first": recurrent(
        "LSTM", 4, layout=1, lengths=np.array([1, 4], S32), direction="bidirectional",
    ),
    "GRU, lengths": recurrent(
        "GRU", 3, lengths=np.array([2, 4], S32), first=True, direction="reverse",
        constants=(1, 2, 3, 4),
    ),
    "GRU, batch first": recurrent("GRU", 3, layout=1, first=True, clip=0.4),
    "RNN, affine": recurrent(
        "RNN", 1, activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.25],
    ),
    "RNN, functions of two directions": recurrent("RNN", 1, activations=["Tanh", "Tanh"]),
    "RNN, threshold": recurrent(
        "RNN", 1, activations=["ThresholdedRelu"], activation_alpha=[0.25], layout=1,
        lengths=np.array([4, 1], S32), clip=0.25,
    ),
    **{
        f"Resize, {mode}, antialias, {size}": resized(
            (1, 2, 7, 9), None, None, np.array(size), mode=mode, antialias=1, axes=[2, 3]
        )
        for mode in ("linear", "cubic") for size in ((3, 4), (7, 12), (2, 20))
    },
    "Resize, antialias without outside": resized(
        (1, 1, 6, 8), None, np.array([1, 1, 0.4, 0.7], F32), mode="cubic", antialias=1,
        exclude_outside=1,
    ),
    "Resize, not larger": resized(
        (1, 2, 4, 3), None, None, np.array([7, 9]), mode="linear", axes=[2, 3],
        keep_aspect_ratio_policy="not_larger",
    ),
    "Resize, not smaller": resized(
        (1, 2, 4, 3), None, None, np.array([7, 9]), mode="nearest", axes=[2, 3],
        keep_aspect_ratio_policy="not_smaller",
    ),
    **{
        f"Resize, crop, {mode}": resized(
            (1, 1, 4, 5), np.array([0, 0, 0.4, -0.3, 1, 1, 1.2, 0.8], F32), None,
            np.array([1, 1, 3, 4]), mode=mode, extrapolation_value=10.0,
            coordinate_transformation_mode="tf_crop_and_resize",
        )
        for mode in MODES
    },
    "Resize, crop to one": resized(
        (1, 1, 4, 5), np.array([0.2, 0.1, 0.6, 0.9], F32), None, np.array([1, 5]), mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize", axes=[2, 3],
    ),
    "Resize, axes from the last one": Edge(
        operator="Resize", inputs=(normal(1, 1, 4, 6), None, np.array([0.5, 2], F32)), opset=19,
        constants=(2,), attributes={"axes": [-1, -2]},
        expected=lambda x, *_: x[..., ::2].repeat(2, 2),
    ),
    "Resize, to one place": Edge(
        operator="Resize", inputs=(normal(1, 1, 4, 6), None, None, np.array([1, 1, 4, 1])),
        constants=(3,), opset=19, attributes={
            "mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel",
        },
        expected=lambda x, *_: x[..., :1],
    ),
    "MaxPool, places": pooled_with_places(kernel_shape=[2, 3], strides=[2, 1]),
    "MaxPool, places in pads": pooled_with_places(
        kernel_shape=[3, 3], pads=[1, 1, 1, 0], strides=[2, 2]
    ),
    "MaxPool, places apart": pooled_with_places(kernel_shape=[2, 2], dilations=[3, 2]),
    "MaxPool, places by columns": pooled_with_places(kernel_shape=[2, 2], storage_order=1),
    "MaxPool, places of large windows": pooled_with_places(kernel_shape=[4, 5]),
    "MaxPool, places of all": pooled_with_places(kernel_shape=[5, 6]),
    **{
        f"MaxPool, places of the least {dtype.__name__}": Edge(
            operator="MaxPool", inputs=(np.full((1, 1, 3, 3), least, dtype),), outputs=2,
            attributes={"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]},
            expected=lambda x: (x, np.array([[[[0, 0, 1], [0, 0, 1], [3, 3, 4]]]])),
        )
        for dtype, least in ((F32, -np.inf), (np.int8, -128))
    },
    "MaxPool, bytes": Edge(
        operator="MaxPool", inputs=(whole(-9, -1, 1, 1, 4, 4, dtype=np.int8),),
        attributes={"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]},
        expected=lambda x: np.pad(x, ((0, 0), (0, 0), (1, 0), (1, 0)), constant_values=-128)[
            0, 0, np.arange(4)[:, None, None, None] + np.arange(2)[:, None],
            np.arange(4)[:, None, None] + np.arange(2),
        ].max((2, 3))[None, None],
    ),
    "MaxUnpool": Edge(
        operator="MaxUnpool", inputs=(normal(1, 2, 2, 2), np.array(
            [[[[0, 3], [8, 15]], [[17, 18], [24, 30]]]]
        )), attributes={"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
    "MaxUnpool, larger": Edge(
        operator="MaxUnpool", constants=(2,),
        attributes={"kernel_shape": [2, 2], "strides": [2, 2]},
        inputs=(normal(1, 1, 2, 2), np.array([[[[0, 3], [8, 15]]]]), np.array([1, 1, 5, 6])),
    ),
    **{
        f"LpPool, {p}": Edge(
            operator="LpPool", inputs=(normal(1, 2, 5, 4),), opset=22,
            attributes={"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 0, 1], "p": p},
            expected=lambda x, p=p: np.stack([[[[
                (np.abs(np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1))))[
                    0, c, 2 * i : 2 * i + 3, j : j + 2
                ] ** p).sum() ** (1 / p) for j in range(4)] for i in range(2)] for c in range(2)]]
            ).astype(F32),
        )
        for p in (1, 2, 3)
    },
    "GlobalLpPool": Edge(
        operator="GlobalLpPool", inputs=(normal(2, 3, 4, 2),), attributes={"p": 3}, opset=22,
        expected=lambda x: (np.abs(x) ** 3).sum((2, 3), keepdims=True) ** F32(1 / 3),
    ),
    "LpNormalization": Edge(
        operator="LpNormalization", opset=22, attributes={"axis": 1, "p": 1},
        inputs=(np.array([[1, -3], [0, 0]], F32),),
        expected=lambda x: np.array([[0.25, -0.75], [0, 0]], F32),
    ),
    "LRN": Edge(
        operator="LRN", inputs=(normal(2, 7, 3, 2),),
        attributes={"size": 4, "alpha": 0.5, "beta": 0.6, "bias": 2.0},
        expected=lambda x: responses(x, 1, 2, 0.5 / 4, 0.6, 2.0),
    ),
    "LRN, wider than the channels": Edge(
        operator="LRN", inputs=(normal(1, 2, 3),), attributes={"size": 5},
        expected=lambda x: responses(x, 2, 2, 1e-4 / 5, 0.75, 1.0),
    ),
    "Tan": curve("Tan", np.tan, 0, 1, -1.5, 3, 100),
    "Atan": curve("Atan", np.arctan, 0, 1e-20, 0.4, -0.5, 1, 2.4, -2.5, 1e30, np.inf, -np.inf),
    "Asin": curve("Asin", np.arcsin, 0, 1e-20, 1, -1, 0.3, -0.9999, 1.5),
    "Acos": curve("Acos", np.arccos, 0, 1, -1, 0.3, -0.9999, 0.99999, -2),
    "Sinh": curve("Sinh", np.sinh, 0, 1e-20, 0.5, -1, 5, -20, 89, 100, np.inf, -np.inf),
    "Cosh": curve("Cosh", np.cosh, 0, 1e-20, 0.5, -1, 5, -20, 89, 100, np.inf, -np.inf),
    "Asinh": curve("Asinh", np.arcsinh, 0, 1e-20, 0.5, -1, 5e3, -1e20, 1e38, np.inf, -np.inf),
    "Acosh": curve("Acosh", np.arccosh, 1, 1.0001, 2, 1e20, np.inf, 0.5, -3, -np.inf),
    "Atanh": curve("Atanh", np.arctanh, 0, 1e-20, 0.3, -0.9999, 1, -1, 2, -np.inf),
    "DFT": transform((2, 5, 1), 1),
    "DFT, complex": transform((6, 2, 2), -3),
    "DFT, half": transform((2, 7, 1), 1, onesided=1),
    "DFT, inverse": transform((2, 5, 2), 1, inverse=1),
    "DFT, padded": transform((1, 5, 1), 1, 8),
    "DFT, cut": transform((1, 5, 2), 1, 3),
    "STFT": Edge(
        operator="STFT", inputs=(normal(2, 11, 1), np.array(3), None, np.array(5)),
        constants=(1, 3), expected=frames,
    ),
    "STFT, window": Edge(
        operator="STFT", inputs=(normal(1, 9, 1), np.array(2), normal(4)), constants=(1, 2),
        expected=lambda x, step, window: frames(x, step, window, None),
    ),
    "STFT, complex by a window from data": Edge(
        operator="STFT", inputs=(normal(1, 9, 2), np.array(2), normal(4)), constants=(1,),
        attributes={"onesided": 0},
        expected=lambda x, step, window: frames(x, step, window, None, 0),
    ),
    "Col2Im": Edge(
        operator="Col2Im", inputs=(normal(1, 12, 25), np.array([5, 6]), np.array([2, 3])),
        constants=(1, 2), attributes={"pads": [1, 0, 0, 1]}, opset=18, expected=None,
    ),
    "Col2Im, apart": Edge(
        operator="Col2Im", inputs=(normal(2, 4, 6), np.array([6, 5]), np.array([2, 2])),
        constants=(1, 2), attributes={"strides": [2, 1], "dilations": [1, 3], "pads": [0, 0, 0, 0]},
        opset=18,
    ),
    "Col2Im, infinite": Edge(
        operator="Col2Im", constants=(1, 2), opset=18, inputs=(
            np.where(np.arange(36).reshape(1, 4, 9) % 17 == 5, np.inf, F32(1)),
            np.array([4, 4]), np.array([2, 2]),
        ),
    ),
    **{
        f"{operator} {direction} {np.dtype(dtype).name}": bits(operator, function, dtype, **given)
        for dtype in (np.int8, np.uint8, np.int32, np.int64)
        for operator, direction, function, given in (
            ("BitShift", "left", shifted, {"direction": "LEFT"}),
            ("BitShift", "right", shifted_right, {"direction": "RIGHT"}),
            ("BitwiseAnd", "of", lambda x, y: x & y, {}),
            ("BitwiseOr", "of", lambda x, y: x | y, {}),
            ("BitwiseXor", "of", lambda x, y: x ^ y, {}),
            ("BitwiseNot", "of", lambda x, _: ~x, {}),
        )
    },
    "Col2Im, three axes": Edge(
        operator="Col2Im", inputs=(normal(1, 8, 8), np.array([3, 3, 3]), np.array([2, 2, 2])),
        constants=(1, 2), opset=18,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_against_expected(name: str) -> None:
    edge = EDGES[name]
    model = imported(edge.model(), {}, OPERATORS)
    calls = lower(fuse(graph_of(folded(model))))
    found = run(calls, {f"x{i}": a for i, a in enumerate(edge.inputs) if a is not None})
    for i, expected in enumerate(edge.values()):
        made = found[f"y{i}"]
        assert made.dtype == expected.dtype and made.size == expected.size
        np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize("name", EDGES)
def test_definitions(name: str) -> None:
    """The definitions against which models are verified give the expected values in f64."""
    edge = EDGES[name]
    names = [value.name for value in edge.model().graph.input]
    given = {f"x{i}": a for i, a in enumerate(edge.inputs) if f"x{i}" in names}
    wide = {n: a.astype(np.float64) if a.dtype == F32 else a for n, a in given.items()}
    with np.errstate(all="ignore"):
        found = evaluator(in_f64(edge.model())).run(None, wide)
        for made, expected in zip(found, edge.values(), strict=True):
            assert np.asarray(made).dtype == np.float64 or expected.dtype != F32
            narrow = np.asarray(made).astype(expected.dtype)
            assert narrow.shape == expected.shape
            np.testing.assert_allclose(narrow, expected, rtol=5e-6, atol=5e-6)


def test_weights_of_a_definition_are_no_f32() -> None:
    """Resize f64 values by a scale that is an attribute."""
    image = RNG.standard_normal((1, 1, 1, 2))
    edge = resized((1, 1, 1, 2), None, None, np.array([1, 1, 1, 5]), mode="cubic")
    (found,) = evaluator(in_f64(edge.model())).run(None, {"x0": image})
    # The second of five elements is at 0.1, between two elements and beside their copies.
    x = np.array([0.1, 1.1, 0.9, 1.9])
    near, far = (
        1.25 * x[[0, 2]] ** 3 - 2.25 * x[[0, 2]] ** 2 + 1,
        -0.75 * x[[1, 3]] ** 3 + 3.75 * x[[1, 3]] ** 2 - 6 * x[[1, 3]] + 3,
    )
    first, second = image[0, 0, 0]
    expected = first * (near[0] + far[0]) + second * (near[1] + far[1])
    assert abs(found[0, 0, 0, 1] - expected) < 1e-14


#: Nodes that are refused, and words of the one line that says why.
REFUSED: dict[str, tuple[Edge, str]] = {
    "TopK of more than there are": (
        Edge(operator="TopK", inputs=(TIES, np.array([8])), constants=(1,), outputs=2,
             expected=sorted_rows(7)),
        "Axis has less than the requested k elements",
    ),
    "MaxUnpool beyond the end": (
        Edge(operator="MaxUnpool", inputs=(normal(1, 1, 2), np.array([[[0, 4]]])), constants=(1,),
             attributes={"kernel_shape": [2], "strides": [2]}, expected=lambda x, _: x),
        "has an index outside of an axis of 4 elements",
    ),
    "ReverseSequence beyond the end": (
        Edge(operator="ReverseSequence", inputs=(normal(2, 1), np.array([3])), constants=(1,),
             expected=lambda x, _: x),
        "sequence_lens outside of 0 to 2",
    ),
    "Einsum with a letter for nothing": (
        Edge(operator="Einsum", inputs=(normal(2, 3),), attributes={"equation": "ij->ik"},
             expected=lambda x: x),
        "a label missing from the inputs",
    ),
    "GridSample of another batch": (
        Edge(operator="GridSample", inputs=(normal(2, 1, 3, 3), normal(1, 2, 2, 2)), opset=20,
             expected=lambda x, _: x),
        "Dimension mismatch",
    ),
    "RoiAlign with samples by the size of regions": (
        Edge(operator="RoiAlign", inputs=(normal(1, 1, 3, 3), normal(1, 4), np.array([0])),
             opset=22, expected=lambda *_: normal(1)),
        "has sampling_ratio=0",
    ),
    "Det of many rows": (
        Edge(operator="Det", inputs=(normal(5, 5),), opset=22, expected=lambda *_: normal(1)),
        "has matrices of 5 rows; 4 is the limit",
    ),
    "Resize by a roi from data": (
        Edge(operator="Resize", inputs=(normal(1, 1, 2, 2), normal(8), None, SIZES),
             constants=(3,), expected=lambda *_: normal(1),
             attributes={"coordinate_transformation_mode": "tf_crop_and_resize"}),
        "roi from data",
    ),
    "LSTM with an activation of no name": (
        Edge(operator="RNN", inputs=(normal(2, 1, 2), normal(1, 3, 2), normal(1, 3, 3)), outputs=2,
             attributes={"hidden_size": 3, "activations": ["Unknown"]},
             expected=lambda *_: (normal(1), normal(1))),
        "has activations=Unknown; it must have 1 of Affine",
    ),
    "OneHot without a depth": (
        Edge(operator="OneHot", inputs=(np.array([0]), np.array(3), np.array([0, 1], F32))),
        "the shape of y0 depends on the values of x1, x2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    edge, why = REFUSED[name]
    with pytest.raises(GraphError) as raised:
        graph_of(folded(imported(edge.model(), {}, OPERATORS)))
    message = str(raised.value)
    assert why in message and "\n" not in message and len(message) <= 500
