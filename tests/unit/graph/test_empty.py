"""Values without elements within a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import kgen
import kgen_runtime
from kgen.errors import GraphError
from kgen.graph.compile import graph_by_bodies
from kgen.graph.fusing.fuse import fuse
from kgen.graph.lowering.lower import lower
from kgen_runtime.errors import ArgumentError
from tests.onnx_models import Array, Maker, run

X = (np.arange(10, dtype=np.float32).reshape(2, 5) - 4.5) / 4


def computed(model: onnx.ModelProto) -> tuple[Array, list[str]]:
    """Return the output, and the operators of the imported nodes."""
    found, graph = graph_by_bodies(model, {})
    (output,) = run(lower(fuse(graph)), {"x": X}).values()
    return output, [node.operator for node in found.nodes]


def split(m: Maker, x: str, *sizes: int) -> list[str]:
    """Split along axis 1."""
    if m.opset < 13:
        return list(m.add("Split", x, outputs=len(sizes), axis=1, split=sizes))
    return list(m.add("Split", x, m.constant(sizes, np.int64), outputs=len(sizes), axis=1))


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_parts_without_elements(opset: int) -> None:
    """Empty parts are split off, used in formulas and joined again."""
    m = Maker(opset=opset)
    a, b, c = split(m, m.input("x", X.shape), 2, 0, 3)
    joined = m.add("Concat", m.add("Neg", c), m.add("Exp", b), m.add("Abs", a), b, axis=1)
    found, operators = computed(m.model(joined))
    expected = np.concatenate([-X[:, 2:], np.abs(X[:, :2])], axis=1)
    np.testing.assert_allclose(found.reshape(X.shape), expected)
    assert operators == ["Split", "Neg", "Abs", "Concat"]


def test_a_body_leaves_out_a_result_without_elements() -> None:
    """A convolution with one tap has no state."""
    m = Maker(opset=27)
    x = m.input("x", (1, *X.shape))
    weights = np.arange(1, 3, dtype=np.float32).reshape(2, 1, 1)
    result, state = m.add("CausalConvWithState", x, m.constant(weights, np.float32), outputs=2)
    _, graph = graph_by_bodies(m.model(result, state), {})
    found = run(lower(fuse(graph)), {"x": X[None]})
    np.testing.assert_allclose(found[result].reshape(X.shape), X * weights[:, 0])
    assert found[state].size == 0


def test_one_part_is_the_whole() -> None:
    m = Maker(opset=13)
    none, whole = split(m, m.input("x", X.shape), 0, 5)
    found, operators = computed(m.model(m.add("Neg", m.add("Concat", whole, none, axis=1))))
    np.testing.assert_allclose(found.reshape(X.shape), -X)
    assert operators == ["Identity", "Identity", "Neg"]


def test_a_sum_over_nothing_is_a_constant() -> None:
    m = Maker(opset=13)
    x = m.input("x", X.shape)
    none, _ = split(m, x, 0, 5)
    total = m.add("ReduceSum", none, m.constant([1], np.int64), keepdims=1)
    found, operators = computed(m.model(m.add("Add", x, m.add("Exp", total))))
    np.testing.assert_allclose(found.reshape(X.shape), X + 1, rtol=1e-6)
    assert operators == ["Add"]


@pytest.mark.parametrize(("beta", "transposed"), [(1.0, False), (-0.5, True)])
def test_a_product_over_nothing_is_its_addend(beta: float, transposed: bool) -> None:
    m = Maker(opset=13)
    none = m.constant(np.zeros((0, 3) if transposed else (3, 0))), m.constant(np.zeros((0, 5)))
    x = m.add("Slice", m.input("x", X.shape), *(m.constant([n], np.int64) for n in (0, 1, 0)))
    product = m.add("Gemm", *none, x, beta=beta, transA=int(transposed))
    found, _ = computed(m.model(product))
    np.testing.assert_allclose(found.reshape(3, 5), np.broadcast_to(X[:1] * beta, (3, 5)))


@pytest.mark.parametrize("operator", ["ScatterND", "ScatterElements"])
def test_a_scatter_of_nothing_is_its_table(operator: str) -> None:
    m = Maker(opset=18)
    shape = (0, 2) if operator == "ScatterND" else (2, 0)
    updates = m.constant(np.zeros(shape[:1] if operator == "ScatterND" else shape))
    x, indices = m.input("x", X.shape), m.constant(np.zeros(shape), np.int64)
    found, operators = computed(m.model(m.add(operator, x, indices, updates)))
    np.testing.assert_array_equal(found.reshape(X.shape), X)
    assert operators == ["Identity"]


@pytest.mark.integration
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_inputs_and_outputs_without_elements(device: str, tmp_path: Path) -> None:
    """An empty cache is joined with the first tokens, and is also an output under another name."""
    m = Maker(opset=13)
    past, x = m.input("past", (0, 5)), m.input("x", X.shape)
    joined = m.add("Neg", m.add("Concat", past, x, axis=0))
    none, total = m.add("Neg", past), m.add("ReduceSum", past)
    path = kgen.compile_model(m.model(joined, none, total), ["x86-64-v3"]).bundle.save(
        tmp_path / "x.kgen"
    )
    given = {"past": np.zeros((0, 5), np.float32), "x": X}
    with kgen_runtime.load(path, device=device) as kernels:
        program = kernels.program
        found = program.run(given)
        assert found[none].shape == (0, 5) and found[none].dtype == np.float32
        np.testing.assert_array_equal(found[joined], -X)
        np.testing.assert_array_equal(found[total], [[0]])
        call = program.prepare({n: kernels.to_device(v) for n, v in given.items()})
        held = call()[joined]
        np.testing.assert_array_equal(held if device == "cpu" else held.numpy(), -X)
        with pytest.raises(ArgumentError, match=r"past has shape 1x5; expected 0x5; pass that sha"):
            program.run(past=np.zeros((1, 5), np.float32), x=X)


@pytest.mark.integration
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_model_that_computes_nothing(device: str, tmp_path: Path) -> None:
    """A program whose outputs are all empty has no steps, and its bundle no kernels."""
    m = Maker()
    made = kgen.compile_model(
        m.model(m.add("Neg", m.input("x", ("rows", 5)))), ["x86-64-v3"], shapes={"rows": 0}
    )
    assert made.bundle.manifest.kernels == () and made.bundle.manifest.programs[0].steps == ()
    path = made.save(tmp_path / "x.kgen")
    with kgen_runtime.load(path, device=device) as kernels:
        x = np.zeros((0, 5), np.float32)
        assert (
            kernels.program.run(x=x).shape
            == kernels.program.prepare(x=kernels.to_device(x))().shape
        )
        assert kernels.program.profile(x=x) == []
    with kgen_runtime.load(path) as kernels:
        assert len(kernels) == 0


@pytest.mark.parametrize(
    ("operator", "identity"),
    [("Sum", 0), ("Prod", 1), ("Max", -np.inf), ("Min", np.inf), ("SumSquare", 0), ("L1", 0),
     ("L2", 0), ("LogSum", -np.inf), ("LogSumExp", -np.inf)],
)  # fmt: skip
def test_a_reduction_of_nothing_is_the_operators_identity(operator: str, identity: float) -> None:
    m = Maker(opset=18)
    x = m.input("x", (1, 2))
    none = m.add("Slice", x, *(m.constant([n], np.int64) for n in (2, 9, 1)))
    reduced = m.add(f"Reduce{operator}", none, m.constant([1], np.int64))
    model, _ = graph_by_bodies(m.model(m.add("Add", x, reduced)), {})
    np.testing.assert_array_equal(model.constants[reduced], [[identity]])


def test_a_fixed_size_of_0_is_taken_as_open_if_a_shape_is_given() -> None:
    """Some exporters write 0 for what is open."""
    m = Maker()
    proto = m.model(m.add("Neg", m.input("x", (0, 5))))
    model, _ = graph_by_bodies(proto, {})
    assert model.tensors["x"].shape == (0, 5)
    model, _ = graph_by_bodies(proto, {"x": (2, 5)})
    assert model.tensors["x"].shape == (2, 5)
    with pytest.raises(GraphError, match="--shape x=2x6 does not fit the model's 0x5"):
        graph_by_bodies(proto, {"x": (2, 6)})


def test_a_range_of_lists_of_one_number() -> None:
    """ONNX's function body of AffineGrid has a Range of one-element lists."""
    m = Maker(opset=20)
    x = m.input("x", X.shape)
    bounds = [m.constant([n], np.int64) for n in (0, 10, 2)]
    steps = m.add("Cast", m.add("Range", *bounds), to=onnx.TensorProto.FLOAT)
    found, _ = computed(m.model(m.add("Add", x, steps)))
    np.testing.assert_allclose(found.reshape(X.shape), X + np.arange(0, 10, 2), rtol=1e-6)
