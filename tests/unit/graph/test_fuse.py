"""Fusion does not depend on how an exporter writes a model: three exports of one encoder give equal
kernels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from onnx.reference import ReferenceEvaluator

from kgen.errors import GraphError
from kgen.graph.fusing.fuse import fuse
from kgen.graph.fusing.outputs import with_further_outputs
from kgen.graph.ir import Builder, Graph
from kgen.graph.lowering.calls import Lowered
from kgen.graph.lowering.lower import lower
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.reading.importer import imported
from kgen.graph.reading.onnx_file import read
from kgen.graph.rewrites.gates import gated
from kgen.graph.rewrites.siblings import merged
from kgen.graph.rewrites.tied_weights import tied
from kgen.ops import formulas
from kgen.ops.expression import depth, view
from kgen.ops.parse import DEEPEST
from kgen.spec import Elementwise, Matmul, Rowwise
from kgen_runtime.dtypes import DType
from tests.onnx_models import ENCODER_SHAPES, EXPORTED, Maker, mlp, run


def lowered(model: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Lowered:
    return lower(fuse(graph_of(imported(model, shapes or {}, OPERATORS))))


def encoder(exporter: str) -> Lowered:
    shapes: Mapping[str, tuple[int, ...]] = ENCODER_SHAPES if exporter == "torchscript" else {}
    return lowered(read(EXPORTED[exporter]), shapes)


@pytest.mark.parametrize("count", [12, 15, 40])
def test_what_follows_a_product_is_cut_where_formulas_are(count: int) -> None:
    """An epilogue has the length limit of a formula, whatever its numbers are."""
    m = Maker(opset=17)
    y = m.add("MatMul", m.input("x", (2, 3)), m.constant(np.eye(3), np.float32))
    for _ in range(count):
        y = m.add("Add", m.add("Mul", y, m.constant(0.5, np.float32)), m.constant(1, np.float32))
    program = lowered(m.model(y))
    assert sum(isinstance(call.spec, Matmul) for call in program.calls) == 1
    (found,) = run(program, {"x": np.full((2, 3), 8, np.float32)}).values()
    np.testing.assert_allclose(found, 2 + 6 * 0.5**count, rtol=1e-6)


def written_out(model: onnx.ModelProto) -> onnx.ModelProto:
    """Encoder with normalizations and gelus written out, as exporters of TensorFlow, Paddle and
    older opsets do."""
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, Any] = {}
    for node in model.graph.node:
        (y,) = node.output
        if node.op_type not in ("LayerNormalization", "Gelu"):
            nodes.append(node)
            continue
        x, *vectors = node.input
        if node.op_type == "Gelu":
            constants |= {f"{y}.half": 0.5, f"{y}.one": 1.0, f"{y}.root": 2**0.5}
            steps = [
                ("Div", x, f"{y}.root"), ("Erf", f"{y}.0"), ("Add", f"{y}.1", f"{y}.one"),
                ("Mul", x, f"{y}.2"), ("Mul", f"{y}.3", f"{y}.half"),
            ]  # fmt: skip
        else:
            constants |= {f"{y}.axes": [-1], f"{y}.two": 2.0}
            constants[f"{y}.eps"] = next(a.f for a in node.attribute if a.name == "epsilon")
            steps = [
                ("ReduceMean", x, f"{y}.axes"), ("Sub", x, f"{y}.0"), ("Pow", f"{y}.1", f"{y}.two"),
                ("ReduceMean", f"{y}.2", f"{y}.axes"), ("Add", f"{y}.3", f"{y}.eps"),
                ("Sqrt", f"{y}.4"), ("Div", f"{y}.1", f"{y}.5"), ("Mul", f"{y}.6", vectors[0]),
                ("Add", f"{y}.7", vectors[1]),
            ]  # fmt: skip
        for number, (operator, *given) in enumerate(steps):
            name = y if number == len(steps) - 1 else f"{y}.{number}"
            nodes.append(onnx.helper.make_node(operator, given, [name], name=f"/{name}"))
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.node[:]
    found.graph.node.extend(nodes)
    found.graph.initializer.extend(
        onnx.numpy_helper.from_array(
            np.array(value, np.int64 if isinstance(value, list) else np.float32), name
        )
        for name, value in constants.items()
    )
    return found


def test_exporters_give_the_same_kernels() -> None:
    """The TorchScript exporter leaves shapes open and computes them; dynamo writes them in; others
    have no operator for normalizations and gelu."""
    first, second = (encoder(name) for name in EXPORTED)
    third = lowered(written_out(read(EXPORTED["dynamo"])))
    specs = [call.spec for call in first.calls]
    assert [call.spec for call in second.calls] == specs
    assert [call.spec for call in third.calls] == specs


def test_an_encoder_has_no_copies_and_no_loose_formulas() -> None:
    """Heads are strides; bias, gelu, scale, mask and residual are epilogues."""
    calls = encoder("dynamo").calls
    products = [call.spec for call in calls if isinstance(call.spec, Matmul)]
    rows = [call.spec for call in calls if isinstance(call.spec, Rowwise)]
    others = [call for call in calls if not isinstance(call.spec, Matmul | Rowwise)]
    assert len(rows) == 1 + 2 * 3
    # The embedding, and the mask: read as a number, and made one that is added.
    assert len(others) == 3
    texts = [spec.epilogue for spec in products]
    assert sum("gelu" in text for text in texts) == 2
    assert sum("residual" in text for text in texts) == 4
    scores = next(spec for spec in products if spec.n == 7)
    assert scores.layout == "nt" and scores.batch == 2 and scores.batch_stride_a == 16


def decomposed(order: str) -> Lowered:
    """A layer norm with mean and variance written out, its terms in some order."""
    m = Maker()
    x = m.input("x", (4, 6))
    mean = m.add("ReduceMean", x, axes=[-1])
    d = m.add("Sub", x, mean)
    square = m.add("Mul", d, d) if order == "mul" else m.add("Pow", d, m.constant(2.0))
    variance = m.add("ReduceMean", square, axes=[-1])
    root = m.add("Sqrt", m.add("Add", variance, m.constant(1e-5)))
    return lowered(
        m.model(m.add("Add", m.add("Mul", m.add("Div", d, root), m.weight(6)), m.weight(6)))
    )


@pytest.mark.parametrize("order", ["mul", "pow"])
def test_a_decomposed_layer_norm_is_one_kernel(order: str) -> None:
    (call,) = decomposed(order).calls
    assert isinstance(call.spec, Rowwise)
    assert len(call.nodes) == 9


def test_what_several_kernels_need_is_written_once() -> None:
    m = Maker()
    x = m.add("Exp", m.add("Mul", m.input("x", (4, 6)), m.constant(2.0)))
    a = m.linear(x, 6, 3)
    b = m.add("Softmax", x, axis=-1)
    found = lowered(m.model(a, b))
    assert [type(call.spec).__name__ for call in found.calls] == [
        "Elementwise",
        "Matmul",
        "Rowwise",
    ]


def test_two_products_in_one_sum() -> None:
    """The first product is the residual of the second."""
    m = Maker()
    x = m.input("x", (4, 6))
    found = lowered(m.model(m.add("Tanh", m.add("Add", m.linear(x, 6, 3), m.linear(x, 6, 3)))))
    assert len(found.calls) == 2
    assert sum("residual" in call.spec.epilogue for call in found.calls) == 1  # type: ignore[attr-defined]


def test_outputs_of_every_kind() -> None:
    """An input, a constant, a view and one value twice are outputs; a kernel writes each."""
    m = Maker()
    x = m.input("x", (2, 3))
    y = m.add("Neg", x)
    outputs = [
        x, m.constant([1.0, 2.0]), m.add("Transpose", y, perm=[1, 0]), y, m.add("Identity", y),
        m.add("Slice", y, *(m.constant([n], np.int64) for n in (0, 1, 0))),
    ]  # fmt: skip
    found = lowered(m.model(*outputs))
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    values = run(found, {"x": array})
    assert len(set(found.outputs.values())) == 6
    assert {*found.outputs.values()} <= {buffer for call in found.calls for buffer in call.writes}
    np.testing.assert_array_equal(values[outputs[0]], array.reshape(-1))
    np.testing.assert_array_equal(values[outputs[1]], [1.0, 2.0])
    np.testing.assert_array_equal(values[outputs[2]], -array.T.reshape(-1))
    np.testing.assert_array_equal(values[outputs[4]], -array.reshape(-1))
    np.testing.assert_array_equal(values[outputs[5]], -array[0])


def test_chains_are_cut_where_a_kernel_would_be_too_long() -> None:
    m = Maker()
    x = m.input("x", (2, 3))
    for _ in range(120):
        x = m.add("Sin", m.add("Mul", x, m.constant(1.1)))
    many = [m.input(f"y{i}", (2, 3)) for i in range(30)]
    for y in many:
        x = m.add("Add", x, y)
    found = lowered(m.model(x))
    assert 5 < len(found.calls) < 40
    rng = np.random.default_rng(0)
    given = {name: rng.standard_normal((2, 3)).astype(np.float32) for name in ("x", *many)}
    (value,) = run(found, given).values()
    expected = given["x"].astype(np.float64)
    for _ in range(120):
        expected = np.sin(1.1 * expected)
    expected = expected + sum(given[y] for y in many)
    np.testing.assert_allclose(value, expected.reshape(-1), rtol=1e-4, atol=1e-4)


def test_every_buffer_is_written_before_it_is_read() -> None:
    for found in (encoder("dynamo"), lowered(mlp())):
        known = {*found.inputs.values(), *found.constants}
        for call in found.calls:
            read_ = {b.buffer for name, b in call.bindings.items() if name != "out"}
            assert read_ <= known
            known.update(call.writes)
        assert set(found.outputs.values()) <= known


@pytest.mark.parametrize(("width", "calls"), [(64, 3), (48, 5)])
def test_siblings_are_one_product(width: int, calls: int) -> None:
    """Three products of the same rows become one, unless a part of its result would start at an
    unaligned address."""
    m = Maker()
    x = m.input("x", (3, 8))
    a, b, c = (m.linear(x, 8, width) for _ in range(3))
    turned = m.add("Transpose", b, perm=[1, 0])
    y = m.add("MatMul", m.add("MatMul", a, turned), c)
    graph = graph_of(imported(m.model(y), {}, OPERATORS))
    apart, found = lower(fuse(graph)), lower(fuse(merged(graph)))
    assert (len(apart.calls), len(found.calls)) == (5, calls)
    given = {"x": m.rng.standard_normal((3, 8)).astype(np.float32)}
    (one,), (other,) = run(apart, given).values(), run(found, given).values()
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_names_of_kernels_depend_on_no_hash() -> None:
    keys = [[call.spec.key for call in encoder("dynamo").calls] for _ in range(2)]
    assert keys[0] == keys[1]
    assert all(re.fullmatch(r"\w+", key) for key in itertools.chain(*keys))


def attention(batch: int, heads: int, groups: int, rows: int, keys: int = 5) -> onnx.ModelProto:
    """Attention in which `groups` heads share a head of K and V, which exporters repeat by an
    expansion and a reshape."""
    m, size = Maker(), 64
    kept = heads // groups

    def headed(name: str, rows: int, heads: int) -> str:
        x = m.input(name, (batch, rows, heads * size))
        shape = m.constant((batch, rows, heads, size), np.int64)
        return str(m.add("Transpose", m.add("Reshape", x, shape), perm=[0, 2, 1, 3]))

    def repeated(x: str) -> str:
        if groups == 1:
            return x
        sizes = (batch, kept, groups, keys, size)
        x = m.add("Unsqueeze", x, m.constant([2], np.int64))
        x = m.add("Expand", x, m.constant(sizes, np.int64))
        return str(m.add("Reshape", x, m.constant((batch, heads, keys, size), np.int64)))

    q = headed("q", rows, heads)
    k, v = (repeated(headed(name, keys, kept)) for name in "kv")
    scores = m.add("MatMul", q, m.add("Transpose", k, perm=[0, 1, 3, 2]))
    shares = m.add("Softmax", m.add("Mul", scores, m.constant(0.125)), axis=-1)
    y = m.add("Transpose", m.add("MatMul", shares, v), perm=[0, 2, 1, 3])
    return m.model(m.add("Reshape", y, m.constant((batch, rows, heads * size), np.int64)))


@pytest.mark.parametrize(
    ("sizes", "dims"),
    [
        ((1, 4, 1, 3), [4, 4]),
        # Sequences and heads; sequences, heads and their groups.
        ((2, 4, 1, 3), [(2, 4), (2, 4)]),
        ((2, 4, 2, 3), [(2, 2, 2), (2, 2, 2)]),
        ((1, 6, 3, 3), [(2, 3), (2, 3)]),
        # One row of several heads that share keys: rows of one product.
        ((1, 6, 3, 1), [2, 2]),
        ((2, 6, 3, 1), [(2, 2), (2, 2)]),
    ],
)
def test_heads_are_strides_whatever_the_batch(sizes: tuple[int, ...], dims: list[object]) -> None:
    """There are three kernels (scores, softmax, sums of values) and no copy."""
    model = attention(*sizes)
    found = lowered(model)
    scores, softmax, values = (call.spec for call in found.calls)
    assert isinstance(scores, Matmul) and isinstance(values, Matmul)
    assert isinstance(softmax, Rowwise)
    assert [p.batch_dims or p.batch for p in (scores, values)] == dims
    assert scores.m == values.m == sizes[3] * (sizes[2] if sizes[3] == 1 else 1)
    rng = np.random.default_rng(0)
    inputs = {
        i.name: rng.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim], "f")
        for i in model.graph.input
    }
    (made,) = run(found, inputs).values()
    (exact,) = ReferenceEvaluator(model).run(None, inputs)
    np.testing.assert_allclose(made, exact.reshape(-1), rtol=1e-4, atol=1e-5)


def test_rows_read_a_part_of_an_input_as_it_lies() -> None:
    """A slice of an input is read in place, also in another type."""
    m = Maker()
    mask = m.add("Cast", m.input("mask", (8,), onnx.TensorProto.INT64), to=1)
    part = [m.constant(n, np.int64) for n in ([1], [7], [1])]
    kept = m.add("Slice", m.add("Mul", m.input("x", (5, 8)), mask), *part)
    model = m.model(m.add("ReduceMax", kept, axes=[1], keepdims=0))
    (call,) = (found := lowered(model)).calls
    assert isinstance(call.spec, Rowwise) and call.spec.dtypes == ("f32", "s64")
    assert "slice(x0, 1, 1, 7, 1)" in call.spec.expression
    given = {"x": np.random.default_rng(0).standard_normal((5, 8), "f")}
    given["mask"] = np.array([1, 0, 2, 1, -1, 3, 1, 4])
    (expected,) = ReferenceEvaluator(model).run(None, given)
    (result,) = run(found, given).values()
    np.testing.assert_allclose(result.reshape(-1), expected, rtol=1e-6)


def test_what_is_made_of_a_result_is_a_further_output() -> None:
    """A norm is written both in f32, as a residual, and in the type of the next product, by one
    kernel."""
    m = Maker()
    x = m.add("Softmax", m.input("x", (3, 8)))
    narrow = m.add("Cast", m.add("Mul", x, m.constant(300.0)), to=onnx.TensorProto.FLOAT16)
    other = m.add("Mul", x, m.input("y", (3, 8)))
    apart = lowered(m.model(x, narrow, other))
    found = with_further_outputs(apart)
    assert [type(call.spec) for call in apart.calls] == [Rowwise, Elementwise, Elementwise]
    first, second = found.calls
    assert isinstance(first.spec, Rowwise) and first.spec.output_dtypes == ("f32", "f16")
    assert first.spec.expression == "out = softmax(x0); also = cast(mul(out, 300))"
    # The product takes another tensor, too, and stays.
    assert second.spec.expression == "mul(x0, x1)"  # type: ignore[attr-defined]
    given = {name: m.rng.standard_normal((3, 8)).astype(np.float32) for name in "xy"}
    for name, array in run(apart, given).items():
        np.testing.assert_array_equal(run(found, given)[name], array)
    kept = with_further_outputs(apart, {apart.outputs[narrow]})
    assert kept.calls == apart.calls


def embedded(rows: int) -> Lowered:
    """Return rows of a table, and their product with its transpose."""
    m = Maker()
    table = m.rng.standard_normal((50, 48)).astype(np.float32)
    x = m.add("Gather", m.constant(table), m.input("ids", (rows,), onnx.TensorProto.INT64))
    y = m.add("MatMul", m.add("Tanh", x), m.constant(table.T))
    return lower(fuse(tied(graph_of(imported(m.model(y), {}, OPERATORS)))))


def test_tied_weights_lie_once() -> None:
    """A skinny GEMM reads the table unpacked; a GEMM with large M has its own copy, packed."""
    found = embedded(3)
    (table,) = found.constants
    product = found.calls[-1]
    assert isinstance(product.spec, Matmul) and product.spec.layout == "nt"
    assert not product.spec.constant and product.bindings["b"].buffer == table
    many = embedded(16)
    assert len(many.constants) == 2 and many.calls[-1].spec.constant == ("b",)  # type: ignore[attr-defined]
    ids = np.array([4, 0, 49])
    (array,) = found.constants.values()
    (value,) = run(found, {"ids": ids}).values()
    expected = np.tanh(array[ids].astype(np.float64)) @ array.T.astype(np.float64)
    np.testing.assert_allclose(value, expected.reshape(-1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("images", "size", "scaled"), [(1, 5, 6 * 10), (2, 5, 2 * 6 * 10), (2, 4, 2 * 6 * 4 * 4)]
)
def test_a_gate_multiplies_the_smaller_of_image_and_weights(
    images: int, size: int, scaled: int
) -> None:
    """Each image has its own gate, and so its own scaled weights."""
    m = Maker()
    x = m.add("Conv", m.input("x", (images, 3, size, size)), m.weight(6, 3, 1, 1))
    gate = m.add("Sigmoid", m.add("Conv", m.add("GlobalAveragePool", x), m.weight(6, 6, 1, 1)))
    model = m.model(m.add("Conv", m.add("Mul", x, gate), m.weight(10, 6, 1, 1)))
    found = lower(fuse(gated(graph_of(imported(model, {}, OPERATORS)))))
    (scaling,) = (call for call in found.calls if call.spec.key.startswith("mul_"))
    assert found.buffers[scaling.writes[0]].elements == scaled
    given = {"x": m.rng.standard_normal((images, 3, size, size)).astype(np.float32)}
    (value,) = run(found, given).values()
    (expected,) = ReferenceEvaluator(model).run(None, given)
    np.testing.assert_allclose(value, expected.reshape(-1), rtol=1e-5, atol=1e-6)


def test_rows_without_the_reduced_axis_are_in_the_rows_kernel() -> None:
    """TensorFlow's exporter drops the reduced axis of a layer norm and adds it before
    broadcasting."""
    m = Maker()
    x = m.input("x", (2, 5, 7))
    back = m.constant([2, 1, 7], np.int64)
    fifth = m.constant(0.2)
    mean = m.add(
        "Mul", m.add("ReduceMean", m.add("Mul", x, m.constant(5.0)), axes=[1], keepdims=0), fifth
    )
    squares = m.add(
        "Mul", m.add("ReduceSum", m.add("Mul", x, x), m.constant([1], np.int64), keepdims=0), fifth
    )
    variance = m.add("Max", m.add("Sub", squares, m.add("Mul", mean, mean)), m.constant(0.0))
    root = m.add("Sqrt", m.add("Add", m.add("Reshape", variance, back), m.constant(1e-3)))
    centred = m.add("Sub", x, m.add("Reshape", mean, back))
    model = m.model(m.add("Mul", m.add("Mul", centred, m.add("Reciprocal", root)), m.weight(5, 1)))
    (call,) = (found := lowered(model)).calls
    assert isinstance(call.spec, Rowwise)
    given = {"x": m.rng.standard_normal((2, 5, 7)).astype(np.float32)}
    (expected,) = ReferenceEvaluator(model).run(None, given)
    (made,) = run(found, given).values()
    np.testing.assert_allclose(made, expected.reshape(-1), rtol=1e-5, atol=1e-6)


def test_what_no_kernel_can_look_at_is_refused() -> None:
    """An index without axes is refused; operators never make one."""
    b = Builder({})
    table, index = b.input("table", (3, 4), DType.F32), b.input("index", (), DType.S64)
    looked = view("gather", (b.tensor(table), b.tensor(index), 0))
    row = b.formula(looked, (4,), DType.F32)
    graph = Graph(
        name="main",
        inputs=(table.id, index.id),
        outputs={"row": row.id},
        values=b.values,
        constants={},
        names={index.id: "index"},
    )
    with pytest.raises(GraphError, match=r"^index of shape \(\) is read through a view"):
        fuse(graph)


def test_a_long_chain_is_several_kernels() -> None:
    """A view lets a formula be longer, but never deeper than an expression may be."""
    m = Maker()
    y = m.add("Pad", m.input("x", (4, 8)), m.constant([0, 1, 0, 1], np.int64))
    for _ in range(180):
        y = m.add("Abs", y)
    calls = lowered(m.model(y)).calls
    depths = [depth(at) for call in calls for at in formulas(call.spec.expression).values()]  # type: ignore[attr-defined]
    assert max(depths) <= DEEPEST and sum(depths) == 181


@pytest.mark.parametrize("shape", [(6,), (1, 1, 6), (1, 200, 6)])
def test_scales_of_channels_are_no_gates(shape: tuple[int, ...]) -> None:
    """The scale of a norm, and a factor of each element, are not treated as gates."""
    m = Maker()
    scale = m.add("Sigmoid", m.input("scale", shape))
    x = m.add("Mul", m.input("x", (1, 200, 6)), scale)
    graph = graph_of(imported(m.model(m.add("MatMul", x, m.weight(6, 4))), {}, OPERATORS))
    assert (gated(graph) is graph) == (shape != (1, 1, 6))
