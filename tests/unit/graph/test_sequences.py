"""Sequences and optional values that are known when a model is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from kgen.check.model.truth import evaluator
from kgen.errors import GraphError
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from tests.onnx_models import Array, Maker, run

A, B, C = (np.arange(n, dtype=np.float32).reshape(-1, 3) / 4 - 1 for n in (6, 3, 12))
INPUTS = {"a": A, "b": B, "c": C}


def number(m: Maker, value: Any) -> str:
    return m.constant(value, np.int64)


def inserted_and_erased(m: Maker) -> list[str]:
    """Insert four tensors into an empty sequence, by each kind of position, and erase two."""
    s = m.add("SequenceEmpty")
    for name, place in (("a", None), ("b", 0), ("c", -1), ("b", 3)):
        s = m.add("SequenceInsert", s, name, *([] if place is None else [number(m, place)]))
    s = m.add("SequenceErase", s, number(m, -4))
    s = m.add("Identity", m.add("SequenceErase", s))
    return [m.add("ConcatFromSequence", s, axis=0), m.add("SequenceLength", s)]


def stacked(m: Maker) -> list[str]:
    s = m.add("SequenceConstruct", "a", m.constant(A), m.add("Neg", "a"))
    return [m.add("ConcatFromSequence", s, axis=axis, new_axis=1) for axis in (0, 2, -2)]


def taken(m: Maker) -> list[str]:
    """Split into pieces of one size, of listed sizes, and of size 1 with and without the axis."""
    splits = [
        m.add("SplitToSequence", "c", number(m, 3)),
        m.add("SplitToSequence", "c", number(m, [1, 2]), axis=-1),
        m.add("SplitToSequence", "c", axis=1),
        m.add("SplitToSequence", "c", keepdims=0),
    ]
    return [m.add("SequenceAt", s, number(m, -1)) for s in splits]


def mapped(m: Maker) -> list[str]:
    """Map a body with two results over a sequence, a single tensor and another sequence."""
    operands = [helper.make_tensor_value_info(n, T.FLOAT, None) for n in ("x", "y", "z")]
    results = [helper.make_tensor_value_info(n, T.FLOAT, None) for n in ("product", "x")]
    nodes = [
        helper.make_node("Add", ["y", "z"], ["sum"]),
        helper.make_node("Mul", ["x", "sum"], ["product"]),
    ]
    body = helper.make_graph(nodes, "body", operands, results)
    one, other = m.add("SequenceConstruct", "a", "b"), m.add("SequenceConstruct", "b", "b")
    found = m.add("SequenceMap", one, "b", other, outputs=2, body=body)
    return [m.add("ConcatFromSequence", s, axis=0) for s in found]


def looped(m: Maker) -> list[str]:
    """A Loop that appends to a sequence, as exporters write lists."""
    kind = helper.make_tensor_sequence_value_info
    step = helper.make_tensor_value_info("i", T.INT64, [])
    more = helper.make_tensor_value_info("more", T.BOOL, [])
    same = helper.make_tensor_value_info("same", T.BOOL, [])
    nodes = [
        helper.make_node("Identity", ["more"], ["same"]),
        helper.make_node("Cast", ["i"], ["number"], to=T.FLOAT),
        helper.make_node("Mul", ["number", "a"], ["product"]),
        helper.make_node("SequenceInsert", ["list", "product"], ["longer"]),
    ]
    before, after = kind("list", T.FLOAT, None), kind("longer", T.FLOAT, None)
    body = helper.make_graph(nodes, "body", [step, more, before], [same, after])
    s = m.add("Loop", number(m, 3), m.constant(True, np.bool_), m.add("SequenceEmpty"), body=body)
    return [m.add("ConcatFromSequence", s, axis=0), m.add("SequenceLength", s)]


CASES: dict[str, tuple[int, Callable[[Maker], list[str]]]] = {
    f"{name}, opset {opset}": (opset, make)
    for opset in (12, 21)
    for name, make in {
        "insert": inserted_and_erased, "stack": stacked, "take": taken, "loop": looped,
    }.items()
}  # fmt: skip


def model_of(make: Callable[[Maker], list[str]], opset: int = 21) -> onnx.ModelProto:
    m = Maker(opset=opset)
    for name, array in INPUTS.items():
        m.input(name, array.shape)
    outputs = make(m)
    found = m.model(*outputs)
    for output in found.graph.output:
        if output.name.startswith(("sequencelength", "optionalhas")):
            kind = T.INT64 if output.name.startswith("sequencelength") else T.BOOL
            output.type.tensor_type.elem_type = kind
    return found


def results(model: onnx.ModelProto) -> list[Array]:
    _, graph = graph_by_bodies(model, {})
    found = run(lower(fuse(graph)), INPUTS)
    return [found[output.name] for output in model.graph.output]


@pytest.mark.parametrize("name", CASES)
def test_against_the_definitions(name: str) -> None:
    opset, make = CASES[name]
    model = model_of(make, opset)
    expected = evaluator(model).run(None, INPUTS)
    for one, other in zip(results(model), expected, strict=True):
        np.testing.assert_array_equal(one, np.ravel(other))


def test_a_body_for_each_tensor() -> None:
    """ONNX's reference fails on this body."""
    product, same = results(model_of(mapped))
    each = [A * (B + B), B * (B + B)]
    np.testing.assert_array_equal(product, np.concatenate(each).ravel())
    np.testing.assert_array_equal(same, np.concatenate([A, B]).ravel())


def test_optional_values() -> None:
    """Optional values with a tensor and without one, a tensor, and an input that is left out."""

    def make(m: Maker) -> list[str]:
        kind = helper.make_tensor_type_proto(T.FLOAT, None)
        full, empty = m.add("Optional", "a"), m.add("Optional", type=kind)
        has = [m.add("OptionalHasElement", *given) for given in ([full], [empty], ["a"], [])]
        both = [m.add("OptionalGetElement", given) for given in (full, "b")]
        return [*has, m.add("Add", *both)]

    *has, total = results(model_of(make))
    assert [bool(each.item()) for each in has] == [True, False, True, False]
    np.testing.assert_array_equal(total, (A + B).ravel())


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda m: [m.add("SequenceConstruct", "a", "b")], "is a sequence or an optional value"),
        (
            lambda m: [m.add("Relu", m.add("SequenceConstruct", "a"))],
            r"Relu: /Relu1 \(it reads a sequence\)",
        ),
        (
            lambda m: [
                m.add("SequenceAt", m.add("SequenceConstruct", "a"), m.input("n", (), T.INT64))
            ],
            r"SequenceAt: /SequenceAt1 \(its position n depends on data\)",
        ),
        (
            lambda m: [m.add("SequenceAt", m.add("SequenceConstruct", "a"), number(m, 1))],
            "takes position 1 of 1 in a sequence; change it",
        ),
        (
            lambda m: [m.add("ConcatFromSequence", m.add("SequenceEmpty"), axis=0)],
            "concatenates a sequence without tensors",
        ),
        (
            lambda m: [m.add("SequenceLength", m.add("SplitToSequence", "c", number(m, [1, 2])))],
            r"splits 4 into sizes \[1, 2\]",
        ),
        (
            lambda m: [m.add("OptionalGetElement", m.add("SequenceEmpty"))],
            "reads an optional value that is empty",
        ),
    ],
)
def test_refused(make: Callable[[Maker], list[str]], why: str) -> None:
    with pytest.raises(GraphError, match=why) as raised:
        graph_by_bodies(model_of(make), {})
    assert "\n" not in str(raised.value) and len(str(raised.value)) <= 500
