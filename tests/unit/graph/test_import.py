"""Models that cannot be compiled: one clear line, exit 2, nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import kgen
from kgen.cli.main import main
from kgen.errors import GraphError
from kgen.graph.operators import OPERATORS
from kgen.graph.reading.importer import imported
from tests.onnx_models import Maker, lowered, mlp


def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, model: Any, *options: str) -> str:
    """Return the line that refuses a model, or the bytes of a file."""
    file = tmp_path / "model.onnx"
    file.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    bundle = tmp_path / "model.kgen"
    status = main(["compile", str(file), "--target", "x86-64-v3", "-o", str(bundle), *options])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("kgen compile: ") and err.count("\n") == 1
    assert not bundle.exists() and len(list(tmp_path.glob("*.kgen*"))) == 0
    return err


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no graph with outputs"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not an ONNX file"),
        (mlp().SerializeToString()[:-200], "not an ONNX file, or is truncated"),
        (mlp().SerializeToString()[:700], "not an ONNX file, or is truncated"),
    ],
    ids=["empty", "image", "cut", "short"],
)
def test_no_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: bytes, why: str
) -> None:
    assert why in refused(capsys, tmp_path, data)


def test_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    missing, out = str(tmp_path / "m.onnx"), tmp_path / "none.kgen"
    assert main(["compile", missing, "--target", "native", "-o", str(out)]) == 2
    assert not out.exists()
    assert "cannot be read: No such file" in capsys.readouterr().err


def test_shapes_left_open(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "x=batchx13; give --shape x=batchx13 with numbers" in refused(
        capsys, tmp_path, mlp("batch")
    )
    assert "x=4x12 does not fit the model's batchx13" in refused(
        capsys, tmp_path, mlp("batch"), "--shape", "x=4x12"
    )
    assert "no such input or dimension; it has the inputs x" in refused(
        capsys, tmp_path, mlp("batch"), "--shape", "y=4x12"
    )
    for text in ("x=4xb", "x=4x13,", "x=4x13,4"):
        line = refused(capsys, tmp_path, mlp("batch"), "--shape", text)
        assert "does not have the form NAME=SIZExSIZE" in line
    line = refused(capsys, tmp_path, mlp("batch"), "--shape", "x=4x13,y=2,x=4x13")
    assert "--shape sets x twice" in line


def test_unsupported_operators_are_all_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    m = Maker()
    x = m.add("Cumsum", m.input("x", (3, 5)))
    y = m.add("RandomNormalLike", m.add("Relu", m.input("y", (9,))))
    z = m.add("RandomNormalLike", m.add("Relu", m.input("z", (9,))))
    line = refused(capsys, tmp_path, m.model(x, y, z))
    assert (
        "3 nodes have operators that kgen does not support: RandomNormalLike (2): "
        "/RandomNormalLike2, /RandomNormalLike4; Cumsum: /Cumsum0" in line
    )
    assert "kgen targets --operators" in line
    line = refused(capsys, tmp_path, m.model(x))
    assert (
        "1 node has an operator that kgen does not support: Cumsum: /Cumsum0; kgen targets" in line
    )


def test_a_shape_that_depends_on_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    m = Maker()
    shape = m.input("s", (2,), T.INT64)
    line = refused(capsys, tmp_path, m.model(m.add("Reshape", m.input("x", (6,)), shape)))
    assert "the shape of reshape0_0 depends on the values of s; make what decides" in line


def test_a_cycle(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    m = Maker()
    m.nodes = [
        helper.make_node("Neg", ["b"], ["a"], name="first"),
        helper.make_node("Neg", ["a"], ["b"], name="second"),
    ]
    m.input("x", (3,))
    assert "nodes first (Neg), second (Neg) form a cycle" in refused(capsys, tmp_path, m.model("b"))


@pytest.mark.integration
def test_an_input_that_is_an_output(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    m = Maker()
    x = m.input("x", (2, 3))
    err = refused(capsys, tmp_path, m.model(m.add("Relu", x), x))
    assert "x is an input and an output of the model; make the output by an Identity" in err
    onnx.save(m.model(m.add("Identity", x)), tmp_path / "m.onnx")
    bundle = kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"]).bundle
    assert [v.name for v in bundle.manifest.programs[0].outputs] == ["identity1_0"]


def external(place: str, **more: str) -> onnx.ModelProto:
    """Return a model with a weight in an external file."""
    model = mlp()
    tensor = next(t for t in model.graph.initializer if tuple(t.dims) == (13, 24))
    tensor.ClearField("raw_data")
    tensor.data_location = T.EXTERNAL
    for key, value in {"location": place, **more}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return model


@pytest.mark.parametrize(
    ("place", "more", "why"),
    [
        ("gone.bin", {}, "gone.bin, which has the data of c0, cannot be read"),
        ("../secret.bin", {}, "'../secret.bin', outside of the model's folder"),
        ("/etc/passwd", {}, "outside of the model's folder"),
        ("link.bin", {}, "outside of the model's folder"),
        ("short.bin", {}, "short.bin does not hold the 1248 bytes of c0"),
        ("short.bin", {"offset": "-4"}, "does not hold the 1248 bytes"),
        ("short.bin", {"length": "99999999999999"}, "does not hold the 1248 bytes"),
    ],
)
def test_data_beside_the_model(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    place: str,
    more: dict[str, str],
    why: str,
) -> None:
    (tmp_path / "short.bin").write_bytes(bytes(1000))
    (tmp_path / "link.bin").symlink_to("/etc/passwd")
    assert why in refused(capsys, tmp_path, external(place, **more))


def test_data_beside_the_model_is_read(tmp_path: Path) -> None:
    from kgen.graph.reading.onnx_file import read

    model = mlp()
    plain = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=100)
    assert (tmp_path / "m.onnx").stat().st_size < 1500
    for tensor in read(tmp_path / "m.onnx").graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), plain[tensor.name])


def cached(tmp_path: Path, data: str = "blobs/5ec0") -> Path:
    """Return a model as a download cache stores it: the model and its data are links to blobs in
    one folder."""
    from onnx.external_data_helper import convert_model_to_external_data

    model = mlp()
    convert_model_to_external_data(model, location="model.onnx_data", size_threshold=100)
    (tmp_path / "made").mkdir()
    onnx.save(model, tmp_path / "made/model.onnx")
    snapshot = tmp_path / "models--mlp/snapshots/0a1b/onnx"
    blobs = tmp_path / "models--mlp/blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (tmp_path / "made/model.onnx").rename(blobs / "1dea")
    (tmp_path / "made/model.onnx_data").rename(blobs / "5ec0")
    (tmp_path / "models--mlp/other").write_bytes(bytes(1 << 12))
    (snapshot / "model.onnx").symlink_to("../../../blobs/1dea")
    (snapshot / "model.onnx_data").symlink_to(f"../../../{data}")
    return snapshot / "model.onnx"


def test_data_behind_the_links_of_a_download_cache(tmp_path: Path) -> None:
    from kgen.graph.reading.onnx_file import read

    plain = {t.name: numpy_helper.to_array(t) for t in mlp().graph.initializer}
    for tensor in read(cached(tmp_path)).graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), plain[tensor.name])


def test_data_beside_the_file_that_a_model_links_to(tmp_path: Path) -> None:
    from kgen.graph.reading.onnx_file import read

    onnx.save(mlp(), tmp_path / "m.onnx", save_as_external_data=True, size_threshold=100)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere/link.onnx"
    link.symlink_to(tmp_path / "m.onnx")
    assert len(read(link).graph.initializer) == 4


@pytest.mark.parametrize(
    "data", ["other", "../../../../../../../../../etc/passwd", "blobs/../other"]
)
def test_a_link_out_of_both_folders_is_refused(tmp_path: Path, data: str) -> None:
    from kgen.graph.reading.onnx_file import read

    with pytest.raises(GraphError, match="outside of the model's folder"):
        read(cached(tmp_path, data))


def test_what_is_computed_from_shapes_is_folded() -> None:
    m = Maker()
    x = m.input("x", ("n", 4))
    shape = m.add("Shape", x)
    rows = m.add("Gather", shape, m.constant(0, np.int64))
    first = m.add("Unsqueeze", rows, m.constant([0], np.int64))
    sizes = m.add("Concat", first, m.constant([2, 2], np.int64), axis=0)
    found = imported(m.model(m.add("Reshape", x, sizes)), {"x": (3, 4)}, OPERATORS)
    assert [node.operator for node in found.nodes] == ["Reshape"]
    assert found.tensors[found.outputs[0]].shape == (3, 2, 2)


#: Numbers that onnx's own reference folds to others.
NUMBERS = np.linspace(-1, 2, 24, dtype=np.float32).reshape(2, 3, 4) ** 3
SOFTMAX = np.exp(NUMBERS) / np.exp(NUMBERS).sum((1, 2), keepdims=True)


@pytest.mark.parametrize(
    ("opset", "operator", "given", "attributes", "expected"),
    [
        (11, "Softmax", [], {}, SOFTMAX),
        (11, "LogSoftmax", [], {"axis": -2}, np.log(SOFTMAX)),
        (13, "Softmax", [], {"axis": 0}, 1 / (1 + np.exp(NUMBERS[::-1] - NUMBERS))),
        (
            *(13, "BatchNormalization", [[1, 2, 3], [0, 1, 2], [3, 2, 1], [4, 1, 4]]),
            {"epsilon": 0.0},
            (NUMBERS - [[3], [2], [1]]) / [[2], [1], [2]] * [[1], [2], [3]] + [[0], [1], [2]],
        ),
        (
            *(17, "Resize", [[], [1, 1, 1.7]]),
            {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
            [[np.interp(np.arange(6) * 0.6, range(4), row) for row in m] for m in NUMBERS],
        ),
        (
            *(17, "MaxPool", []),
            {"kernel_shape": [2], "strides": [3], "auto_pad": "SAME_LOWER"},
            NUMBERS[..., [0, 3]],
        ),
    ],
)
def test_constants_are_what_operators_are_defined_as(
    opset: int, operator: str, given: list[Any], attributes: dict[str, Any], expected: Any
) -> None:
    m = Maker(opset)
    y = m.add(operator, m.constant(NUMBERS), *map(m.constant, given), **attributes)
    found = imported(m.model(m.add("Add", m.input("x", (1,)), y)), {}, OPERATORS)
    assert len(found.nodes) == 1
    np.testing.assert_allclose(found.constants[y], expected, rtol=1e-5, atol=1e-6)


def test_a_product_of_constants_beyond_f32_is_infinity() -> None:
    """ONNX Runtime gives infinity, too. An expression's own numbers beyond f32 are refused
    instead."""
    m = Maker()
    large = m.constant(1e30)
    product = m.add("Mul", large, large)
    cast = m.add("Cast", m.constant(-1e39, np.float64), to=T.FLOAT)
    x = m.input("x", (3,))
    found, _ = lowered(m, m.add("Add", m.add("Mul", x, product), m.add("Mul", x, cast)))
    assert [str(call.spec.to_json()["expression"]) for call in found.calls] == [
        "add(mul(x0, inf), mul(x0, -inf))"
    ]


def test_a_matrix_that_nodes_give_on_is_one_matrix() -> None:
    """A matrix passes through many Identity nodes, as torch.onnx.export writes weights that layers
    share."""
    m = Maker()
    weights = m.constant(np.ones((2048, 2048), np.float32))  # 16 MiB, of which 256 may be made.
    x = m.input("x", (1, 2048))
    for _ in range(30):
        x = m.add("MatMul", x, m.add("Identity", weights))
    found = imported(m.model(x), {}, OPERATORS)
    assert [node.operator for node in found.nodes] == ["MatMul"] * 30
    arrays = [found.constants[node.inputs[1]] for node in found.nodes]
    assert all(np.shares_memory(array, arrays[0]) for array in arrays)


def test_a_shape_that_only_an_operators_definition_gives() -> None:
    """GreaterOrEqual of opset 13 has no shape inference but that of its body, Greater or Equal."""
    m = Maker(opset=13)
    output = m.add("GreaterOrEqual", m.input("x", (2, 3)), m.constant(0.5))
    found = imported(m.model(m.add("Cast", output, to=int(T.FLOAT))), {}, OPERATORS)
    assert [node.operator for node in found.nodes] == ["GreaterOrEqual", "Cast"]
    assert found.tensors[found.outputs[0]].shape == (2, 3)


def test_weights_that_are_normalised_when_the_model_is_read() -> None:
    """PyTorch's exporter normalises weights by a BatchNormalization in training mode."""
    m = Maker()
    given = [m.weight(1, 4, 9), *(m.constant(np.full(4, n)) for n in (2.0, 0.5, 0.0, 1.0))]
    weights = m.add("BatchNormalization", *given, training_mode=1, epsilon=0.25)
    model = m.model(m.add("Add", m.input("x", (1, 4, 9)), weights))
    (array,) = (a for a in imported(model, {}, OPERATORS).constants.values() if a.ndim == 3)
    x = m.constants[given[0]].astype(np.float64)
    centred = x - x.mean(axis=2, keepdims=True)
    expected = centred / np.sqrt(np.square(centred).mean(axis=2, keepdims=True) + 0.25) * 2 + 0.5
    np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-6)
