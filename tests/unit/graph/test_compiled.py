"""Small models compiled for this CPU and run from a bundle, against onnx's reference.

Each is the smallest of a kind that a model of others, or a test of ONNX's own, showed to be wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx
from onnx import TensorProto as T
from onnx.reference import ReferenceEvaluator

import kgen
import kgen_runtime
from kgen.errors import GraphError
from tests.onnx_models import Maker

X = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
WHOLE = np.array([2**53 + 1, -(2**53) - 1, 5], np.int64)


def check(tmp_path: Path, m: Maker, *outputs: str, dtype: int = T.FLOAT, **inputs: Any) -> None:
    model = m.model(*outputs, dtype=dtype)
    onnx.save(model, tmp_path / "m.onnx")
    bundle = kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle
    bundle.save(tmp_path / "m.kgen")
    found = kgen_runtime.load(tmp_path / "m.kgen").program.run(inputs)
    found = found if isinstance(found, dict) else {outputs[0]: found}
    for name, expected in zip(outputs, ReferenceEvaluator(model).run(None, inputs), strict=True):
        assert (found[name].shape, found[name].dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found[name], expected, rtol=3e-6, atol=3e-6)


def beside_rows(m: Maker) -> str:
    """One number a row plus another one that is in memory."""
    return str(m.add("Add", m.add("ReduceMean", m.input("x", (3, 4)), axes=[1]), m.weight(3, 1)))


def unused(m: Maker) -> str:
    m.input("y", (5,))
    return str(m.add("Exp", m.input("x", (3, 4))))


def like_data(m: Maker) -> str:
    x = m.input("x", (3, 4))
    return str(m.add("Mul", x, m.add("CastLike", m.constant(2, np.int64), x)))


def chosen(truth: bool) -> Callable[[Maker], str]:
    """All of one side, which has fewer elements than the choice."""

    def make(m: Maker) -> str:
        which, row = m.constant(np.full((3, 4), truth), bool), m.weight(4)
        x = m.add("Softmax", m.input("x", (3, 4)))
        sides = (x, row) if truth else (row, x)
        return str(m.add("Neg", m.add("Where", which, *sides)))

    return make


def wide_choice(m: Maker) -> str:
    x = m.input("x", (3, 4))
    which = m.constant(np.ones((2, 3, 4)), bool)
    return str(m.add("Relu", m.add("Where", which, x, m.constant(0.0))))


def all_true(m: Maker) -> str:
    x = m.add("Greater", m.input("x", (3, 4)), m.constant(0.0))
    found = m.add("Xor", m.add("Or", x, m.constant([False], bool)), m.constant([[True]], bool))
    return str(m.add("Cast", found, to=T.FLOAT))


def repeated_heads(m: Maker) -> str:
    """Each of two heads twice, as torch.onnx.export writes repeat_interleave."""
    x = m.add("Transpose", m.input("x", (3, 4)), perm=[1, 0])
    x = m.add("Reshape", x, m.constant([2, 2, 1, 3, 1], np.int64))
    x = m.add("Tile", x, m.constant([1, 1, 2, 1, 5], np.int64))
    return str(m.add("Reshape", x, m.constant([2, 4, 3, 5], np.int64)))


def row_of_a_place(m: Maker) -> str:
    """By an index of no axes, as PyTorch's Embedding of one number: the place of the greatest of a
    row, and an element of several."""
    x = m.input("x", (3, 4))
    row = m.add("Gather", x, m.constant(1, np.int64))
    place = m.add("ArgMax", row, axis=0, keepdims=0)
    places = m.add("ArgMin", x, axis=0, keepdims=0)
    column = m.add("Gather", x, place, axis=1)
    other = m.add("Gather", x, m.add("Gather", places, m.constant(2, np.int64)))
    return str(m.add("Concat", column, m.add("Exp", other), axis=0))


def gate_of_what_is_padded(m: Maker) -> str:
    """Where the constant is, it meets other constants."""
    pads = m.constant([0, 1, 0, 1], np.int64)
    return str(m.add("Sigmoid", m.add("Pad", m.input("x", (3, 4)), pads, m.constant(1.5))))


def scaled_by_an_element(view: str) -> Callable[[Maker], str]:
    """A formula with a view in it, and one number of a larger tensor."""

    def make(m: Maker) -> str:
        x = m.input("x", (3, 4))
        row = m.add("Gather", x, m.constant(2, np.int64))
        first = m.add("Gather", row, m.constant(1, np.int64))
        match view:
            case "pad":
                seen = m.add("Pad", x, m.constant([1, 0, 0, 2], np.int64))
            case "concat":
                seen = m.add("Concat", x, m.add("Exp", x), axis=1)
            case "pool":
                wide = m.add("Unsqueeze", x, m.constant([0], np.int64))
                seen = m.add("MaxPool", wide, kernel_shape=[2])
            case "gather":
                seen = m.add("Gather", x, m.add("ArgMax", x, axis=1, keepdims=0), axis=1)
            case _:
                seen = m.add("CumSum", x, m.constant(1, np.int64))
        return str(m.add("Mul", seen, first))

    return make


def one_number(m: Maker) -> str:
    return str(m.add("ReduceMax", m.input("x", (3, 4)), keepdims=0))


def vectors(m: Maker) -> str:
    row = m.add("ReduceMax", m.input("x", (3, 4)), axes=[0], keepdims=0)
    return str(m.add("MatMul", row, m.weight(4)))


@pytest.mark.parametrize(
    "make",
    [
        *(beside_rows, unused, like_data, chosen(True), chosen(False), wide_choice, all_true),
        *(repeated_heads, row_of_a_place, gate_of_what_is_padded, one_number, vectors),
        *map(scaled_by_an_element, ("pad", "concat", "pool", "gather", "sum")),
    ],
)
def test_against_onnx(make: Callable[[Maker], str], tmp_path: Path) -> None:
    m = Maker()
    output = make(m)
    others: dict[str, Any] = {"y": np.ones(5, np.float32)} if make is unused else {}
    check(tmp_path, m, output, x=X, **others)


def test_a_norm_whose_mean_and_deviation_are_outputs(tmp_path: Path) -> None:
    m = Maker()
    x = m.input("x", (3, 4))
    mean = m.add("ReduceMean", x, axes=[1])
    variance = m.add(
        "Sub", m.add("ReduceMean", m.add("Mul", x, x), axes=[1]), m.add("Mul", mean, mean)
    )
    deviation = m.add("Sqrt", m.add("Add", variance, m.constant(1e-3)))
    y = m.add("Div", m.add("Sub", x, mean), deviation)
    check(tmp_path, m, y, mean, m.add("Reciprocal", deviation), x=X)


@pytest.mark.parametrize("operator", ["Add", "Min", "Equal"])
@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**63)])
def test_integers_that_no_f64_holds(operator: str, number: int, tmp_path: Path) -> None:
    m = Maker()
    y = m.add(operator, m.input("x", (3,), T.INT64), m.constant(number, np.int64))
    model = m.model(y, dtype=T.BOOL if operator == "Equal" else T.INT64)
    onnx.save(model, tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle.save(tmp_path / "m.kgen")
    found = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=WHOLE)
    with np.errstate(over="ignore"):
        expected = {"Add": np.add, "Min": np.minimum, "Equal": np.equal}[operator](WHOLE, number)
    assert (found == expected).all()


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, 7])
def test_padding_with_integers_that_no_f64_holds(number: int, tmp_path: Path) -> None:
    m = Maker()
    pads = m.constant([1, 0, 0, -1, 2, 1], np.int64)
    y = m.add("Pad", m.input("x", (2, 3, 1), T.INT64), pads, m.constant(number, np.int64))
    onnx.save(m.model(y, dtype=T.INT64), tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle.save(tmp_path / "m.kgen")
    x = np.stack([WHOLE, WHOLE + 1])[..., None]
    found = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=x)
    sides = ((1, 0), (0, 2), (0, 1))
    np.testing.assert_array_equal(found, np.pad(x[:1], sides, constant_values=number))


def test_sums_of_nothing_are_zero(tmp_path: Path) -> None:
    """Whatever is at the only place of an axis; and other operators take them."""
    m = Maker(opset=14)
    y = m.add("CumSum", m.input("x", (1, 3)), m.constant(0, np.int64), exclusive=1)
    x = np.array([[np.inf, np.nan, 2]], np.float32)
    check(tmp_path, m, y, m.add("Cos", y), m.add("Softmax", y), x=x)


def selu(x: Any) -> Any:
    return np.where(x > 0, 3 * x, 6 * np.expm1(x))


@pytest.mark.parametrize(
    ("operator", "opset", "attributes", "defined"),
    [
        ("Selu", 17, {"alpha": 2.0, "gamma": 3.0}, selu),
        ("Swish", 24, {"alpha": 1.7}, lambda x: x / (1 + np.exp(-1.7 * x))),
    ],
)
def test_numbers_of_a_nodes_own(
    operator: str, opset: int, attributes: Any, defined: Any, tmp_path: Path
) -> None:
    m = Maker(opset)
    onnx.save(m.model(m.add(operator, m.input("x", (3, 4)), **attributes)), tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle.save(tmp_path / "m.kgen")
    found = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=X)
    np.testing.assert_allclose(found, defined(X), rtol=3e-6, atol=3e-6)


def test_depth_in_rows_of_channels(tmp_path: Path) -> None:
    m = Maker(28)
    x = np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)
    y = m.add("SpaceToDepth", m.input("x", x.shape), blocksize=2, mode="CRD")
    onnx.save(m.model(y), tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle.save(tmp_path / "m.kgen")
    found = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=x)
    expected = x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 12, 2, 3)
    np.testing.assert_array_equal(found, expected)


def training(m: Maker) -> str:
    x = m.input("x", (3, 4))
    return str(m.add("Dropout", x, m.constant(0.5), m.constant(True, bool)))


def mask(m: Maker) -> str:
    _, kept = m.add("Dropout", m.input("x", (3, 4)), outputs=2)
    return str(m.add("Cast", kept, to=T.FLOAT))


def along_an_axis(m: Maker) -> str:
    """Before opset 7 an operand could be one of an axis that is not the last."""
    m.opset = 6
    return str(m.add("Add", m.input("x", (3, 3)), m.weight(3), broadcast=1, axis=0))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (training, "is in training mode; export"),
        (mask, "gives dropout0_1, which is used; kgen has"),
        (along_an_axis, "has axis=0, which kgen does not know"),
    ],
)
def test_what_is_refused(make: Callable[[Maker], str], why: str, tmp_path: Path) -> None:
    m = Maker()
    onnx.save(m.model(make(m)), tmp_path / "m.onnx")
    with pytest.raises(GraphError, match=why):
        kgen.compile_model(tmp_path / "m.onnx", ["native"])
