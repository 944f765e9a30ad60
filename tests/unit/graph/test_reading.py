"""Models as converters leave them: nodes in any order, dead nodes, folded constants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.backend.test.case.node as node_cases
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from kgen.check.model.truth import in_f64
from kgen.errors import GraphError
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.reading import importer
from kgen.graph.reading.importer import imported
from kgen.graph.reading.model import Model
from kgen.graph.reading.onnx_file import read
from tests.onnx_models import Maker


def read_back(tmp_path: Path, model: onnx.ModelProto) -> onnx.ModelProto:
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    return read(file)


def read_model(tmp_path: Path, model: onnx.ModelProto) -> Model:
    return imported(read_back(tmp_path, model), {}, OPERATORS)


def folded_to(tmp_path: Path, m: Maker, name: str, dtype: int = T.FLOAT) -> Any:
    """Return the elements of a value that must be a constant."""
    return read_model(tmp_path, m.model(name, dtype=dtype)).constants[name]


# -- order ------------------------------------------------------------------------------------


def shuffled_chain() -> tuple[Maker, str]:
    """Return a chain of 40 nodes with a branch, in random order."""
    m = Maker()
    x = first = m.input("x", (3,))
    for i in range(20):
        x = m.add("Add", m.add("Neg", x), first if i % 3 else x)
    m.rng.shuffle(m.nodes)
    return m, x


def test_nodes_in_any_order_are_sorted(tmp_path: Path) -> None:
    m, out = shuffled_chain()
    found = read_back(tmp_path, m.model(out))
    known = {"x"}
    for node in found.graph.node:
        assert known.issuperset(node.input), node.name
        known.update(node.output)
    assert len(found.graph.node) == 40


def test_sorted_nodes_keep_their_order(tmp_path: Path) -> None:
    m = Maker()
    x = m.input("x", (3,))
    far, near = m.add("Neg", x), m.add("Abs", x)
    model = m.model(m.add("Add", m.add("Exp", near), far))
    assert [n.name for n in read_back(tmp_path, model).graph.node] == [n.name for n in m.nodes]


def branch(name: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
    out = helper.make_tensor_value_info("z", T.FLOAT, [3])
    return helper.make_graph(list(nodes), name, [], [out])


def test_graphs_within_graphs_are_sorted_and_take_what_is_outside(tmp_path: Path) -> None:
    """A branch reads a value of a node that follows the If in the file."""
    later = helper.make_node("Neg", ["outer"], ["t"])
    first = helper.make_node("Abs", ["t"], ["z"])
    unused = helper.make_node("Det", ["t"], ["nothing"])
    m = Maker()
    m.input("x", (3,))
    m.constants["yes"] = np.asarray(True)
    ways = {
        "then_branch": branch("a", first, unused, later),
        "else_branch": branch("b", helper.make_node("Identity", ["outer"], ["z"])),
    }
    m.nodes.append(helper.make_node("If", ["yes"], ["y"], name="choose", **ways))
    m.nodes.append(helper.make_node("Exp", ["x"], ["outer"], name="exp"))
    model = read_model(tmp_path, m.model("y"))
    assert [node.operator for node in model.nodes] == ["Exp", "Neg", "Abs", "Identity"]


def test_a_cycle_is_named_by_its_nodes(tmp_path: Path) -> None:
    """The message names the nodes of the cycle, and none that depend on it."""
    m = Maker()
    m.input("x", (3,))
    pairs = [("x", "in"), ("c", "a"), ("a", "b"), ("b", "c"), ("c", "out")]
    m.nodes = [helper.make_node("Neg", [a], [b], name=f"to_{b}") for a, b in pairs]
    with pytest.raises(GraphError) as caught:
        read_back(tmp_path, m.model("out"))
    words = str(caught.value)
    assert "to_a (Neg), to_c (Neg), to_b (Neg) form a cycle" in words
    assert "to_out" not in words and "to_in" not in words


# -- dead nodes and results -------------------------------------------------------------------


def test_nodes_that_no_output_needs_are_dropped(tmp_path: Path) -> None:
    """Unused nodes may have an unknown operator, a data-dependent shape, or form a cycle."""
    m = Maker()
    x = m.input("x", (3,))
    y = m.add("Relu", x)
    m.add("Neg", m.add("NonZero", x, outputs=1))
    m.nodes.append(helper.make_node("Mystery", [y], ["m"], domain="elsewhere"))
    m.nodes.append(helper.make_node("Add", [y, "round"], ["round"], name="itself"))
    model = read_model(tmp_path, m.model(y))
    assert [node.name for node in model.nodes] == ["/Relu0"]


@pytest.mark.parametrize("opset", [6, 9, 12])
def test_an_optional_result_that_nothing_takes_is_left_out(tmp_path: Path, opset: int) -> None:
    """Dropout's mask is unused; before opset 10, ONNX does not define its shape."""
    m = Maker(opset=opset)
    y, _ = m.add("Dropout", m.input("x", (3,)), outputs=2)
    model = read_model(tmp_path, m.model(m.add("Relu", y)))
    assert [node.outputs for node in model.nodes] == [(y,), (m.nodes[1].output[0],)]
    assert len(graph_of(model).outputs) == 1


def test_results_that_are_not_optional_stay(tmp_path: Path) -> None:
    """A Split keeps all of its parts."""
    m = Maker(opset=13)
    parts = m.add("Split", m.input("x", (6,)), outputs=3)
    model = read_model(tmp_path, m.model(parts[1]))
    assert model.nodes[0].outputs == tuple(parts)
    assert model.tensors[parts[1]].shape == (2,)


def test_an_optional_result_in_the_middle(tmp_path: Path) -> None:
    """LSTM's last state is used, and its last hidden state is not."""
    m = Maker(opset=14)
    x = m.input("x", (2, 1, 3))
    y, h, c = m.add("LSTM", x, m.weight(1, 16, 3), m.weight(1, 16, 4), hidden_size=4, outputs=3)
    model = read_model(tmp_path, m.model(y, c))
    assert model.nodes[0].outputs == (y, "", c)
    assert h


# -- folding ----------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1, 2])
def test_gather_elements_of_constants(tmp_path: Path, axis: int) -> None:
    """The data has more positions than numpy.choose takes, and the indices have fewer along other
    axes."""
    rng = np.random.default_rng(3)
    data = rng.standard_normal((40, 50, 60)).astype(np.float32)
    shape = [35, 45, 55]
    shape[axis] = 128
    places = rng.integers(-data.shape[axis], data.shape[axis], shape)
    m = Maker()
    y = m.add("GatherElements", m.constant(data), m.constant(places, np.int64), axis=axis)
    expected = np.empty(shape, np.float32)
    for at in np.ndindex(*shape):  # ONNX's own words: output[i][j][k] = data[index[i][j][k]][j][k]
        place = list(at)
        place[axis] = places[at]
        expected[at] = data[tuple(place)]
    np.testing.assert_array_equal(folded_to(tmp_path, m, y), expected)


def test_a_failed_fold_names_the_node_and_the_reason(tmp_path: Path) -> None:
    m = Maker()
    x = m.input("x", (3, 2))
    counts = [m.constant(n, np.int64) for n in (2, 4, 100)]
    bad = m.add("MelWeightMatrix", *counts, m.constant(0), m.constant(5000))
    with pytest.raises(
        GraphError,
        match=r"MelWeightMatrix: /MelWeightMatrix0 \(it supports constants"
        r" only, but computing it raised IndexError: index \d+ is out of bounds",
    ):
        read_model(tmp_path, m.model(m.add("Add", x, bad)))  # fmt: skip


def test_a_failed_fold_of_an_operator_with_kernels_says_why(tmp_path: Path) -> None:
    """The node is left to be lowered; its refusal repeats why it was not computed."""
    m = Maker(opset=13)
    x = m.input("x", (4, 3))
    y = m.add("Add", x, m.add("Gather", m.weight(2, 3), m.constant([0, 1, 0, 5], np.int64)))
    with pytest.raises(GraphError) as caught:
        graph_of(read_model(tmp_path, m.model(y)))
    words = str(caught.value)
    assert "node /Gather0 (Gather) has an index outside of the 2 elements of axis 0" in words
    assert "computing it raised IndexError: index 5 is out of bounds" in words
    assert len(words) <= 500


def test_a_node_that_is_not_folded_says_why(tmp_path: Path) -> None:
    m = Maker(opset=13)
    made = m.add("RandomNormal", shape=[3])
    with pytest.raises(
        GraphError, match=r"/RandomNormal0 \(it supports constants only, but it is "
    ):
        read_model(tmp_path, m.model(m.add("Add", m.input("x", (3,)), made)))


#: Results that are ours on purpose: onnx's cases keep a part of an element between the corners
#: that align, which ONNX Runtime does not.
OUR_OWN = (
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # onnx's own cases overflow on purpose
def test_what_is_folded_is_what_onnx_expects() -> None:
    """ONNX's single-node cases, with inputs as constants, give the expected values."""
    folded, wrong = 0, []
    for case in node_cases.collect_testcases(None):
        given, expected = case.data_sets[0]
        arrays = [*given, *expected]
        if len(case.model.graph.node) != 1 or case.model.graph.node[0].domain:
            continue
        if not all(isinstance(a, np.ndarray) and a.dtype.kind in "biuf" for a in arrays):
            continue
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        for value, array in zip(model.graph.input, given, strict=True):
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
        try:
            read = imported(model, {}, OPERATORS)
        except GraphError:
            continue
        for output, array in zip(model.graph.output, expected, strict=True):
            if output.name not in read.constants or case.name in OUR_OWN:
                continue
            folded += 1
            one = read.constants[output.name]
            stored = read.stored.get(output.name)  # Folded in a wider type.
            dtype = one.dtype if stored is None else stored.dtype.storage
            same = (dtype, one.shape) == (array.dtype, array.shape)
            if not same or not np.allclose(one, array, rtol=1e-3, atol=1e-6, equal_nan=True):
                wrong.append(case.name)
    assert not wrong
    assert folded > 800


def test_constants_of_nodes_are_what_the_model_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large weight in a Constant node, as some exporters write it, may be cast and transposed."""
    monkeypatch.setattr(importer, "MOST_FOLDED", 1 << 10)
    m = Maker()
    x = m.input("x", (2, 64))
    weight = m.rng.standard_normal((32, 64)).astype(np.float16)
    held = m.add("Constant", value=numpy_helper.from_array(weight))
    y = m.add("MatMul", x, m.add("Transpose", m.add("Cast", held, to=T.FLOAT), perm=[1, 0]))
    model = read_model(tmp_path, m.model(y))
    (found,) = model.constants.values()
    np.testing.assert_array_equal(found, weight.T.astype(np.float32))


def test_intermediate_constants_are_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folding a chain of nodes holds at most two of its values at a time."""
    monkeypatch.setattr(importer, "MOST_FOLDED", 10 << 10)
    m = Maker()
    x = m.input("x", (1024,))
    made = m.add("Expand", m.constant(1.0), m.constant([1024], np.int64))
    for _ in range(20):
        made = m.add("Neg", made)
    model = read_model(tmp_path, m.model(m.add("Add", x, made)))
    assert list(model.constants) == [made]
    both = Maker()
    x = both.input("x", (1024,))
    wide = both.constant([1024], np.int64)
    parts = [both.add("Expand", both.constant(float(i)), wide) for i in range(20)]
    with pytest.raises(GraphError, match=r"/Expand2 .* that constant folding may add; use"):
        read_model(tmp_path, both.model(both.add("Sum", x, *parts)))


def test_a_constant_is_kept_while_a_branch_takes_it_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folding nodes inside a branch does not release constants of the outer graph."""
    inner = branch(
        "a",
        helper.make_node("Neg", ["c"], ["n"]),
        helper.make_node("Exp", ["c"], ["e"]),
        helper.make_node("Add", ["n", "e"], ["z"]),
    )
    m = Maker()
    x = m.input("x", (3,))
    m.constants["yes"] = np.asarray(True)
    m.constants["k"] = np.asarray([1, 2, 3], np.float32)
    m.nodes.append(helper.make_node("Abs", ["k"], ["c"], name="abs"))
    m.nodes.append(helper.make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner))
    out = m.add("Add", m.add("Add", x, "y"), m.add("Neg", "c"))
    model = read_model(tmp_path, m.model(out))
    assert [node.operator for node in model.nodes] == ["Add", "Add"]


# -- what a model is verified against ---------------------------------------------------------


def test_the_model_in_f64_has_no_narrow_defaults() -> None:
    """ConstantOfShape without a value gives f32, which onnx's reference does not combine with
    f64."""
    m = Maker(opset=13)
    x = m.input("x", (2, 3))
    zero = m.add("ConstantOfShape", m.add("Shape", x))
    found = m.add("Cast", m.add("Equal", x, zero), to=T.FLOAT)
    window = m.add("Cast", m.constant([1, 2, 3]), to=T.FLOAT)
    wide = in_f64(m.model(m.add("Add", found, window)))
    kinds = onnx.shape_inference.infer_shapes(wide, strict_mode=True).graph.value_info
    assert {v.name: v.type.tensor_type.elem_type for v in kinds}[zero] == T.DOUBLE
