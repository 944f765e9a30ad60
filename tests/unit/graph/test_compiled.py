"""Small models compiled for this CPU and run from a bundle, against onnx's reference.

Each is the smallest of a kind that a model of others, or a test of ONNX's own, showed to be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx
from onnx import TensorProto as T
from onnx import helper
from onnx.reference import ReferenceEvaluator

import kgen
import kgen_runtime
from kgen.errors import GraphError, TargetError
from kgen.graph import operators
from kgen.graph.reading.importer import imported
from kgen.targets import find
from tests.onnx_models import Maker

Make = Callable[[Maker], str]
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
    """Add one number per row to another one that is in memory."""
    return str(m.add("Add", m.add("ReduceMean", m.input("x", (3, 4)), axes=[1]), m.weight(3, 1)))


def unused(m: Maker) -> str:
    m.input("y", (5,))
    return str(m.add("Exp", m.input("x", (3, 4))))


def like_data(m: Maker) -> str:
    x = m.input("x", (3, 4))
    return str(m.add("Mul", x, m.add("CastLike", m.constant(2, np.int64), x)))


def chosen(truth: bool) -> Make:
    """Return a node that selects from a condition and two inputs; the one that it always takes has
    fewer elements than the result."""

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
    """Repeat each of two heads, as torch.onnx.export writes repeat_interleave."""
    x = m.add("Transpose", m.input("x", (3, 4)), perm=[1, 0])
    x = m.add("Reshape", x, m.constant([2, 2, 1, 3, 1], np.int64))
    x = m.add("Tile", x, m.constant([1, 1, 2, 1, 5], np.int64))
    return str(m.add("Reshape", x, m.constant([2, 4, 3, 5], np.int64)))


def row_of_a_place(m: Maker) -> str:
    """Gather with an index without axes, as PyTorch's Embedding of one number does: at the position
    of a row's maximum."""
    x = m.input("x", (3, 4))
    row = m.add("Gather", x, m.constant(1, np.int64))
    place = m.add("ArgMax", row, axis=0, keepdims=0)
    places = m.add("ArgMin", x, axis=0, keepdims=0)
    column = m.add("Gather", x, place, axis=1)
    other = m.add("Gather", x, m.add("Gather", places, m.constant(2, np.int64)))
    return str(m.add("Concat", column, m.add("Exp", other), axis=0))


def gate_of_what_is_padded(m: Maker) -> str:
    """Pad with a constant and combine the result with other constants."""
    pads = m.constant([0, 1, 0, 1], np.int64)
    return str(m.add("Sigmoid", m.add("Pad", m.input("x", (3, 4)), pads, m.constant(1.5))))


def scaled_by_an_element(view: str) -> Callable[[Maker], str]:
    """A formula that contains a view, and one number of a larger tensor."""

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


@pytest.mark.integration
@pytest.mark.parametrize(
    "make",
    [
        *(beside_rows, unused, like_data, chosen(True), chosen(False), wide_choice, all_true),
        *(repeated_heads, row_of_a_place, gate_of_what_is_padded, one_number, vectors),
        *map(scaled_by_an_element, ("pad", "concat", "pool", "gather", "sum")),
    ],
)
def test_against_onnx(make: Make, tmp_path: Path) -> None:
    m = Maker()
    output = make(m)
    others: dict[str, Any] = {"y": np.ones(5, np.float32)} if make is unused else {}
    check(tmp_path, m, output, x=X, **others)


@pytest.mark.integration
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


@pytest.mark.integration
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


#: Distances that f32 does not have, in rows of both signs; -11 by 4 is no whole number.
ROWS = np.array([[2**24 + 1, 2**24, 3, -1], [-(2**24) - 2, -(2**24) - 3, -5, -1], [-4, 2, -8, -1]])
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "ReduceMax": lambda x: x.max(1), "ReduceMin": lambda x: x.min(1),
    "ReduceSum": lambda x: x.sum(1), "ReduceL1": lambda x: abs(x).sum(1),
    "ReduceSumSquare": lambda x: (x * x).sum(1), "ReduceProd": lambda x: x.prod(1),
    "ReduceMean": lambda x: np.trunc(x.sum(1) / 4), "ReduceL2": lambda x: np.sqrt((x * x).sum(1)),
    "ReduceLogSum": lambda x: np.log(x.sum(1)),
    "ReduceLogSumExp": lambda x: np.log(np.exp(x).sum(1)),
    "ArgMax": lambda x: x.argmax(1), "ArgMin": lambda x: x.argmin(1),
}  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_reductions_of_integers(operator: str, dtype: Any, tmp_path: Path) -> None:
    m, is_place = Maker(18), operator.startswith("Arg")
    wanted = dtype if not is_place else np.int64
    given = [] if is_place else [m.constant([1], np.int64)]
    at = {"axis": 1} if is_place else {}
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    y = m.add(operator, m.input("x", (3, 4), kind), *given, keepdims=0, **at)
    model = m.model(y, dtype=helper.np_dtype_to_tensor_dtype(np.dtype(wanted)))
    onnx.save(model, tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["native"]).bundle.save(tmp_path / "m.kgen")
    x = ROWS.astype(dtype)
    if operator in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp"):
        x = abs(x) % 19
    found = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=x)
    assert found.dtype == wanted
    with np.errstate(over="ignore"):
        assert (found == REDUCTIONS[operator](x).astype(wanted)).all()


@pytest.mark.integration
@pytest.mark.parametrize("operator", [name for name in REDUCTIONS if name.startswith("Reduce")])
def test_reductions_over_no_axes(operator: str, tmp_path: Path) -> None:
    """Each element is a row of its own."""
    m = Maker(18)
    y = m.add(operator, m.input("x", (3, 4)), noop_with_empty_axes=1)
    x = X if operator != "ReduceLogSum" else abs(X)
    check(tmp_path, m, m.add("Neg", y), x=x)


@pytest.mark.integration
def test_integers_made_wider(tmp_path: Path) -> None:
    """Integers are computed in the type that they had before the cast."""
    m = Maker(18)
    x = m.add("Cast", m.input("x", (3, 4), T.INT32), to=T.INT64)
    y, z = m.add("Mul", x, m.constant(3, np.int64)), m.add("ReduceSum", x)
    check(tmp_path, m, y, z, dtype=T.INT64, x=np.full((3, 4), 2**30, np.int32))


ENDS = [0, 5, -1, 127, 128, -128, -129, 200, 255, 256, 300, 2**31 - 1, -(2**31)]
WIDE_ENDS = [*ENDS, 2**31, -(2**31) - 1, 2**32 + 7, 2**63 - 1, -(2**63)]
INTEGERS = (np.int64, np.int32, np.int8, np.uint8)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("to", INTEGERS)
def test_casts_of_integers_wrap_around(dtype: Any, to: Any, tmp_path: Path) -> None:
    given = np.array(WIDE_ENDS if dtype is np.int64 else ENDS).astype(dtype)
    kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in (dtype, to)]
    m = Maker()
    y = m.add("Cast", m.input("x", given.shape, kinds[0]), to=kinds[1])
    # What was cast is computed with as what it has become.
    x = m.add("Mul", "x", m.constant(3, dtype))
    z = m.add("Add", m.add("Cast", x, to=kinds[1]), m.constant(3, to))
    with np.errstate(over="ignore"):
        check(tmp_path, m, y, z, dtype=kinds[1], x=given)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("operator", "dtype"),
    [
        *((operator, dtype) for operator in ("Add", "Sub", "Mul", "Abs") for dtype in INTEGERS),
        *(("Neg", dtype) for dtype in (np.int64, np.int32, np.int8)),
    ],
)
def test_arithmetic_of_integers_wraps_around(operator: str, dtype: Any, tmp_path: Path) -> None:
    x = np.array(ENDS).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    m = Maker()
    given = [m.input("x", (len(x),), kind)]
    if operator not in ("Neg", "Abs"):
        given.append(m.input("y", (len(x), 1), kind))
    y = m.add(operator, *given)
    more = {"y": x[:, None]} if len(given) > 1 else {}
    with np.errstate(over="ignore"):
        check(tmp_path, m, y, m.add("Add", y, m.constant(100, dtype)), dtype=kind, x=x, **more)


def sliced_mask(m: Maker) -> str:
    """Slice a mask from a table, as GPT-2 does."""
    ends = [m.constant(v, np.int64) for v in ([1, 0], [4, 4], [0, 1])]
    kept = m.add("Slice", m.input("mask", (5, 6), T.BOOL), *ends)
    return str(m.add("Softmax", m.add("Where", kept, m.input("x", (3, 4)), m.constant(-1e9))))


def turned_mask(m: Maker) -> str:
    mask = m.add("Transpose", m.input("mask", (4, 3), T.BOOL))
    return str(m.add("Where", mask, m.input("x", (3, 4)), m.constant(0.0)))


def split_mask(m: Maker) -> str:
    parts = m.add("Split", m.input("mask", (3, 8), T.BOOL), outputs=2, axis=1)
    return str(m.add("Where", m.add("And", *parts), m.input("x", (3, 4)), m.constant(0.0)))


def gathered_mask(m: Maker) -> str:
    rows = m.add("Gather", m.input("mask", (5, 4), T.BOOL), m.constant([4, 0, 1], np.int64))
    joined = m.add("Concat", rows, "mask", axis=0)
    x = m.add("Concat", m.input("x", (3, 4)), m.weight(5, 4), axis=0)
    return str(m.add("Where", joined, x, m.constant(0.0)))


def cast_mask(m: Maker) -> str:
    ends = [m.constant(v, np.int64) for v in ([1], [4], [0])]
    kept = m.add("Cast", m.add("Slice", m.input("mask", (5, 4), T.BOOL), *ends), to=T.FLOAT)
    return str(m.add("Add", kept, m.input("x", (3, 4))))


@pytest.mark.integration
@pytest.mark.parametrize("make", [sliced_mask, turned_mask, split_mask, gathered_mask, cast_mask])
def test_views_of_truth_values(make: Make, tmp_path: Path) -> None:
    m = Maker()
    y = make(m)
    shape = next(i for i in m.inputs if i.name == "mask").type.tensor_type.shape
    mask = np.random.default_rng(2).integers(0, 2, [d.dim_value for d in shape.dim], bool)
    check(tmp_path, m, y, x=X, mask=mask)


def signs(m: Maker) -> tuple[str, str]:
    x = m.input("x", (3, 4))
    return m.add("Greater", x, m.constant(0.0)), m.add("Less", x, m.constant(0.5))


def padded_truth(m: Maker) -> str:
    return str(m.add("Pad", signs(m)[0], m.constant([1, 0, 0, 2], np.int64)))


def joined_truths(m: Maker) -> str:
    return str(m.add("Concat", *signs(m), axis=1))


def grown_truth(m: Maker) -> str:
    truth = m.add("Cast", m.add("Relu", m.input("x", (3, 4))), to=T.BOOL)
    return str(m.add("Expand", truth, m.constant([2, 3, 4], np.int64)))


def chosen_truth(m: Maker) -> str:
    """Choose one of two truth values; one of them is in memory."""
    positive, small = signs(m)
    return str(m.add("Not", m.add("Where", positive, small, m.input("mask", (3, 4), T.BOOL))))


def equal_truths(m: Maker) -> str:
    return str(m.add("Equal", *signs(m)))


def truth_behind_a_product(m: Maker) -> str:
    y = m.add("MatMul", m.input("x", (3, 4)), m.weight(4, 4))
    masks = m.add("Less", "x", m.constant(0.0)), m.input("mask", (3, 4), T.BOOL)
    return str(m.add("Where", m.add("Greater", y, m.constant(0.0)), *masks))


def least_truth(m: Maker) -> str:
    m.opset = 20
    found = m.add("ReduceMin", signs(m)[1], m.constant([1], np.int64))
    return str(m.add("Not", found))


@pytest.mark.integration
@pytest.mark.parametrize(
    "make",
    [padded_truth, joined_truths, grown_truth, chosen_truth, equal_truths, truth_behind_a_product,
     least_truth],
)  # fmt: skip
def test_truth_values_as_numbers(make: Make, tmp_path: Path) -> None:
    m = Maker()
    y = make(m)
    more = {"mask": X > 1} if any(i.name == "mask" for i in m.inputs) else {}
    check(tmp_path, m, y, dtype=T.BOOL, x=X, **more)


@pytest.mark.integration
def test_an_if_whose_results_are_truth_values(tmp_path: Path) -> None:
    m = Maker()
    x, zero = m.input("x", (3, 4)), m.constant(0.0)
    branches = {}
    for operator, branch in (("Greater", "then_branch"), ("Less", "else_branch")):
        node = helper.make_node(operator, [x, zero], [operator])
        result = helper.make_tensor_value_info(operator, T.BOOL, [3, 4])
        branches[branch] = helper.make_graph([node], operator, [], [result])
    y = m.add("If", m.input("c", (), T.BOOL), **branches)
    check(tmp_path, m, y, dtype=T.BOOL, x=X, c=np.array(False))


@pytest.mark.integration
def test_rows_of_s64_on_a_gpu(tmp_path: Path) -> None:
    """Rows of s64 are refused; rows of truth values are counted."""
    m = Maker(18)
    x, one = m.input("x", (3, 4), T.INT64), m.constant([1], np.int64)
    mask = m.add("Cast", m.add("Equal", x, m.constant(0, np.int64)), to=T.INT64)
    onnx.save(m.model(m.add("ReduceSum", mask, one), dtype=T.INT64), tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["sm_80", "gfx942", "vulkan1.3"])
    onnx.save(m.model(m.add("ReduceSum", x, one), dtype=T.INT64), tmp_path / "m.onnx")
    with pytest.raises(TargetError, match="computed in s64, and sm_80 reduces rows in f32, s32"):
        kgen.compile_model(tmp_path / "m.onnx", ["sm_80"])


def rows_of_itself(m: Maker) -> str:
    """Write a tensor into itself, in another order."""
    x = m.input("x", (5, 4))
    return str(m.add("ScatterND", x, m.constant([[1], [2], [0], [4], [3]], np.int64), x))


def computed_of_the_table(m: Maker) -> str:
    t = m.add("Tanh", m.input("x", (3, 4)))
    index = m.constant([[2], [0], [-2]], np.int64)
    return str(m.add("ScatterND", t, index, m.add("Mul", t, m.constant(2.0))))


def one_constant_place(m: Maker) -> str:
    x = m.input("x", (3, 4))
    y = m.add("ScatterND", x, m.constant([[2, -1]], np.int64), m.constant([7.0]))
    index, rows = m.constant([[-1]], np.int64), m.constant([[5.0]])
    return str(m.add("ScatterElements", y, index, rows, axis=1))


def constant_places(m: Maker) -> str:
    index = m.constant([[0, -1], [1, 2]], np.int32)
    rows = m.constant([[1.0, 2.0], [3.0, 4.0]])
    return str(m.add("ScatterElements", m.input("x", (3, 4)), index, rows, axis=0))


def a_part_of_a_choice(m: Maker) -> str:
    """Choose by an input with fewer axes than the result, beside a view."""
    x = m.input("x", (2, 4))
    chosen = m.add("Where", m.add("Greater", x, m.constant(0.1)), x, m.constant(-1.0))
    bounds = (m.constant([n], np.int64) for n in (0, 1, 1))
    index = m.constant([[2], [1]], np.int64)
    return str(m.add("ScatterElements", chosen, index, m.add("Slice", chosen, *bounds), axis=1))


@pytest.mark.integration
@pytest.mark.parametrize(
    "make",
    [
        rows_of_itself, computed_of_the_table, one_constant_place, constant_places,
        a_part_of_a_choice,
    ],
)  # fmt: skip
def test_scatters_and_views_of_formulas(make: Make, tmp_path: Path) -> None:
    m = Maker(18)
    y = make(m)
    shape = [d.dim_value for d in m.inputs[0].type.tensor_type.shape.dim]
    check(tmp_path, m, y, x=np.random.default_rng(2).standard_normal(shape).astype("f"))


@pytest.mark.integration
def test_functions_of_doubles(tmp_path: Path) -> None:
    """A model of f64 keeps its digits; onnx's own erf has those of f32."""
    m = Maker(20)
    x = m.input("x", (5, 70), T.DOUBLE)
    product = m.add("Mul", m.add("Gelu", x), m.add("Selu", x))
    y = m.add("Add", m.add("Softmax", m.add("Tanh", product), axis=-1), m.add("Erf", product))
    onnx.save(m.model(y, dtype=T.DOUBLE), tmp_path / "m.onnx")
    kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"]).bundle.save(tmp_path / "m.kgen")
    given = np.random.default_rng(0).standard_normal((5, 70))
    found: Any = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=given)
    erf = np.vectorize(math.erf)
    # ONNX's defaults of Selu are floats of 32 bits.
    alpha, gamma = 1.67326319217681884765625, 1.05070102214813232421875
    selu = gamma * np.where(given > 0, given, alpha * np.expm1(given))
    inner = given / 2 * (1 + erf(given / math.sqrt(2))) * selu
    powers = np.exp(np.tanh(inner))
    expected = powers / powers.sum(-1, keepdims=True) + erf(inner)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.integration
def test_normalization_of_close_numbers(tmp_path: Path) -> None:
    """The variance is no difference of two squares, which would cancel."""
    m = Maker(17)
    y = m.add("MeanVarianceNormalization", m.input("x", (3, 2, 4)), axes=[0, -1])
    x = np.float32(10 + np.random.default_rng(0).standard_normal((3, 2, 4)) / 100)
    kgen.compile_model(m.model(y), ["x86-64-v3"]).bundle.save(tmp_path / "m.kgen")
    found = kgen_runtime.load(tmp_path / "m.kgen").program.run(x=x)
    wide = x.astype(np.float64)
    apart = wide - wide.mean((0, 2), keepdims=True)
    np.testing.assert_allclose(found, apart / wide.std((0, 2), keepdims=True), atol=1e-3)


def test_what_no_kernel_computes_is_refused_with_its_nodes(tmp_path: Path) -> None:
    """GPUs have no reductions of s64, and thus no products."""
    m = Maker()
    y = m.add("MatMul", m.input("x", (2, 3), T.INT64), m.input("w", (3, 2), T.INT64))
    onnx.save(m.model(y, dtype=T.INT64), tmp_path / "m.onnx")
    why = r"reduces rows in f32, s32 only; use .* \(node /MatMul0\)$"
    with pytest.raises(TargetError, match=why):
        kgen.compile_model(tmp_path / "m.onnx", ["sm_80"])


@pytest.mark.integration
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


@pytest.mark.integration
def test_sums_of_nothing_are_zero(tmp_path: Path) -> None:
    """The sum over an empty axis is zero, also where other operators read it."""
    m = Maker(opset=14)
    y = m.add("CumSum", m.input("x", (1, 3)), m.constant(0, np.int64), exclusive=1)
    x = np.array([[np.inf, np.nan, 2]], np.float32)
    check(tmp_path, m, y, m.add("Cos", y), m.add("Softmax", y), x=x)


def selu(x: Any) -> Any:
    return np.where(x > 0, 3 * x, 6 * np.expm1(x))


@pytest.mark.integration
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


@pytest.mark.integration
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


def mean_of_a_norm(m: Maker) -> str:
    given = m.input("x", (1, 3, 4)), m.weight(1, 3, 4), m.weight(4)
    _, mean = m.add("SkipLayerNormalization", *given, outputs=2, domain="com.microsoft")
    return str(m.add("Neg", mean))


def test_targets_are_given_as_build_takes_them(tmp_path: Path) -> None:
    m = Maker()
    onnx.save(m.model(unused(m)), tmp_path / "m.onnx")
    for targets in ("vulkan1.3", find("vulkan1.3"), ["vulkan1.3"], [find("vulkan1.3")]):
        made = kgen.compile_model(tmp_path / "m.onnx", targets).bundle
        assert [program.target for program in made.manifest.programs] == ["vulkan1.3"]
    for given in (5, [5], None):
        with pytest.raises(TargetError, match=r"is not a target; give a name such as 'sm_80'"):
            kgen.compile_model(tmp_path / "m.onnx", given)  # type: ignore[arg-type]


def test_shapes_are_sizes_of_any_library(tmp_path: Path) -> None:
    m = Maker()
    onnx.save(m.model(m.add("Exp", m.input("x", ("rows", 4)))), tmp_path / "m.onnx")
    shapes: list[Any] = [(3, 4), [3, 4], np.array([3, 4])]
    for shape in shapes:
        made = kgen.compile_model(tmp_path / "m.onnx", "vulkan1.3", shapes={"x": shape})
        assert made.bundle.manifest.programs[0].inputs[0].shape == (3, 4)
    for wrong in ({"x": "3x4"}, {"x": 3.5}, {"x": (3, 4.5)}, "x=3x4"):
        with pytest.raises(
            GraphError, match=r"shapes=.* is not a mapping .*; give \{'x': \(8, 16\)\}"
        ):
            kgen.compile_model(tmp_path / "m.onnx", "vulkan1.3", shapes=wrong)  # type: ignore[arg-type]
    with pytest.raises(
        GraphError, match="--shape x=3 does not fit the model's rowsx4; give as many sizes"
    ):
        kgen.compile_model(tmp_path / "m.onnx", "vulkan1.3", shapes={"x": 3})
    for size in (-3, 10**30):
        with pytest.raises(GraphError, match=f"shapes: x has a size of {size}; it must be 0 to"):
            kgen.compile_model(tmp_path / "m.onnx", "vulkan1.3", shapes={"x": (size, 4)})


@pytest.mark.integration
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (training, "is in training mode; export"),
        (mean_of_a_norm, "gives mean and deviation, which kgen does not support"),
    ],
)
def test_what_is_refused(make: Make, why: str, tmp_path: Path) -> None:
    m = Maker()
    onnx.save(m.model(make(m)), tmp_path / "m.onnx")
    with pytest.raises(GraphError, match=why):
        kgen.compile_model(tmp_path / "m.onnx", ["native"])


def test_an_attribute_that_no_lowering_reads_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operators, "IMPLIED", {})
    m = Maker()
    dropped = m.add("Dropout", m.input("x", (3, 3)), seed=5)
    model = imported(m.model(dropped), {}, operators.OPERATORS)
    with pytest.raises(GraphError, match="has seed=5, an attribute that kgen does not support"):
        operators.graph_of(model)
