"""Operators at the edges of their inputs and attributes: what they become, computed by the scalar
reference, against onnx's reference or a definition in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnx")
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kgen.errors import GraphError
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from kgen.graph.operators import OPERATORS, graph_of
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
        """The results that are right."""
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
    """Python's integers, rounded toward zero; 0 for a divisor of 0."""
    pairs = zip(x.ravel().tolist(), np.broadcast_to(y, x.shape).ravel().tolist(), strict=True)
    found = [
        0 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) for p, q in pairs
    ]
    return np.array(found, S64).astype(x.dtype).reshape(x.shape)


TIES = np.array([[1, 3, 3, -2, 3, 1, 0], [0, -1, 5, 5, -7, -1, 5]], F32)
UNUSUAL = np.array([[1, np.nan, np.inf, -np.inf, 3, np.nan, 2]], F32)
LEAST = np.iinfo(S32).min

EDGES: dict[str, Edge] = {
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
    "OneHot": Edge(
        operator="OneHot", inputs=(whole(-7, 9, 2, 3), np.array(5), np.array([-1, 4], F32)),
        constants=(1, 2), attributes={"axis": 1},
        expected=lambda x, *_: np.moveaxis(np.where(
            np.where(x < 0, x + 5, x)[..., None] == np.arange(5), F32(4), F32(-1)
        ), -1, 1),
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


#: Nodes that are refused, and words of the one line that says why.
REFUSED: dict[str, tuple[Edge, str]] = {
    "TopK of more than there are": (
        Edge(operator="TopK", inputs=(TIES, np.array([8])), constants=(1,), outputs=2,
             expected=sorted_rows(7)),
        "Axis has less than the requested k elements",
    ),
    "TopK, k from data": (
        Edge(operator="TopK", inputs=(TIES, np.array([2])), outputs=2),
        "the shape of y0 depends on the values of x1",
    ),
    "ReverseSequence beyond the end": (
        Edge(operator="ReverseSequence", inputs=(normal(2, 1), np.array([3])), constants=(1,),
             expected=lambda x, _: x),
        "sequence_lens outside of 0 to 2",
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
