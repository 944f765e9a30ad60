"""Every operator of the table, in models that fuse it with others, against onnx's own reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
from onnx import TensorProto as T

from kgen.errors import GraphError
from kgen.graph.fusing.limits import MOST_OPERANDS
from kgen.graph.operators import OPERATORS
from tests.onnx_models import Maker, lowered, reference, run
from tests.onnx_operators import CASES as WINDOWS
from tests.onnx_operators import written_cache
from tests.unit.graph.test_edges import EDGES
from tests.unit.graph.test_quantized import CASES as QUANTIZED

Make = Callable[[Maker], str]


def unary(operator: str, **attributes: Any) -> Make:
    """Apply an operator with a formula before and after it, so that both are fused with it."""

    def make(m: Maker) -> str:
        x = m.add("Mul", m.input("x", (3, 5)), m.constant(1.5))
        return str(m.add("Add", m.add(operator, x, **attributes), m.weight(5)))

    return make


def positive(operator: str) -> Make:
    def make(m: Maker) -> str:
        x = m.add("Add", m.add("Abs", m.input("x", (3, 5))), m.constant(0.1))
        return str(m.add(operator, x))

    return make


def binary(operator: str, truth: bool = False, bools: bool = False) -> Make:
    def make(m: Maker) -> str:
        x, y = m.input("x", (2, 3, 5)), m.weight(3, 1)
        if bools:
            x, y = (m.add("Greater", v, m.constant(0.0)) for v in (x, y))
        found = m.add(operator, x, y)
        return str(m.add("Cast", found, to=T.FLOAT) if truth else found)

    return make


def reduction(operator: str, as_input: bool = False) -> Make:
    def make(m: Maker) -> str:
        x = m.input("x", (2, 3, 5))
        y = m.add("Add", m.add("Abs", x), m.constant(0.5))
        if as_input:
            kept = m.add(operator, y, m.constant([1], np.int64), keepdims=1)
            return str(m.add("Sub", y, kept))
        flat = m.add(operator, y, axes=[0, 2], keepdims=0)
        return str(m.add("Div", y, m.add("Unsqueeze", flat, m.constant([0, 2], np.int64))))

    return make


def clip(m: Maker) -> str:
    return str(m.add("Clip", m.input("x", (3, 5)), m.constant(-0.4), m.constant(0.6)))


def where(m: Maker) -> str:
    x = m.input("x", (3, 5))
    return str(m.add("Where", m.add("Less", x, m.weight(5)), x, m.constant(-2.0)))


def cast_like(m: Maker) -> str:
    x = m.input("x", (3, 5))
    return str(m.add("CastLike", m.add("Less", x, m.constant(0.0)), m.weight(1)))


def prelu(m: Maker) -> str:
    return str(m.add("PRelu", m.input("x", (3, 5)), m.weight(5)))


def batch_norm(m: Maker) -> str:
    x = m.input("x", (2, 3, 4))
    vectors = [m.constant(np.abs(m.rng.standard_normal(3)) + 0.1) for _ in range(4)]
    return str(m.add("BatchNormalization", x, *vectors))


def norm(operator: str, count: int, **attributes: Any) -> Make:
    def make(m: Maker) -> str:
        shape = (2, 3, 5)
        size = 3 if operator == "InstanceNormalization" else 5
        x = m.add("Add", m.input("x", shape), m.weight(5))
        return str(
            m.add(operator, x, *(m.weight(size, scale=1) for _ in range(count)), **attributes)
        )

    return make


def logical_not(m: Maker) -> str:
    x = m.add("Not", m.add("Less", m.input("x", (3, 5)), m.constant(0.0)))
    return str(m.add("Cast", x, to=T.FLOAT))


def flattened(m: Maker) -> str:
    x = m.add("Transpose", m.input("x", (2, 3, 5)), perm=[2, 0, 1])
    one = m.constant([1], np.int64)
    x = m.add("Squeeze", m.add("Unsqueeze", x, one), one)
    return str(m.add("Neg", m.add("Flatten", x, axis=2)))


def heads(m: Maker) -> str:
    """Attention whose heads are made by reshapes and permutations; the result is in the model's
    order."""
    x = m.input("x", (1, 5, 8))
    q, k, v = (
        m.add(
            "Transpose",
            m.add("Reshape", m.linear(x, 8, 8), m.constant([0, 0, 2, 4], np.int64)),
            perm=perm,
        )
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    )
    scores = m.add("Softmax", m.add("Div", m.add("MatMul", q, k), m.constant(2.0)), axis=-1)
    y = m.add("Transpose", m.add("MatMul", scores, v), perm=[0, 2, 1, 3])
    return m.linear(str(m.add("Reshape", y, m.constant([1, 5, 8], np.int64))), 8, 3)


def batched(m: Maker) -> str:
    """Multiply with two batch dimensions whose strides do not merge: an operand is copied."""
    x = m.input("x", (2, 3, 8))
    x = m.add("Reshape", x, m.constant([2, 3, 2, 4], np.int64))
    split = m.add("Transpose", x, perm=[0, 2, 1, 3])
    back = m.add("Transpose", split, perm=[0, 1, 3, 2])
    return str(m.add("MatMul", m.add("Exp", split), back))


def vectors(m: Maker) -> str:
    return str(
        m.add("MatMul", m.weight(3), m.add("MatMul", m.input("x", (2, 3, 5)), m.weight(5, 4)))
    )


def gemm(m: Maker) -> str:
    x = m.input("x", (5, 3))
    return str(
        m.add("Gemm", x, m.weight(4, 5), m.weight(4), transA=1, transB=1, alpha=0.5, beta=2.0)
    )


def conv(m: Maker) -> str:
    """Convolve one axis as rows with strides, with a formula and a residual after it."""
    x = m.input("x", (1, 9, 4))
    y = m.add("Transpose", x, perm=[0, 2, 1])
    y = m.add("Conv", y, m.weight(6, 4, 3), m.weight(6))
    return str(m.add("Relu", m.add("Transpose", y, perm=[0, 2, 1])))


def conv_2d(**attributes: Any) -> Make:
    def make(m: Maker) -> str:
        x = m.input("x", (2, 3, 7, 6))
        return str(m.add("Tanh", m.add("Conv", x, m.weight(4, 3, 3, 2), m.weight(4), **attributes)))

    return make


def slices(m: Maker) -> str:
    """Slice forward, with a step, and backward."""
    x = m.input("x", (4, 9))
    ends = [m.constant(v, np.int64) for v in ([1, 8], [4, 0], [0, 1], [2, -3])]
    return str(m.add("Mul", m.add("Slice", x, *ends), m.constant(3.0)))


def split(m: Maker) -> str:
    a, b = m.add("Split", m.input("x", (4, 6)), m.constant([2, 4], np.int64), outputs=2, axis=1)
    return str(m.add("Add", m.add("ReduceSum", b, m.constant([1], np.int64)), a))


def one_column(m: Maker) -> str:
    """Take one element of each row, cut from wider rows."""
    ends = [m.constant([v], np.int64) for v in (1, 2, 1)]
    return str(m.add("Slice", m.input("x", (4, 6)), *ends))


def column(operator: str, *inputs: str) -> Make:
    def make(m: Maker) -> str:
        x = m.add("Mul", one_column(m), m.weight(4, 1))
        given = [m.constant([1], np.int64) if name == "axes" else m.weight(1) for name in inputs]
        return str(m.add(operator, x, *given))

    return make


def one_part(opset: int, *sizes: int, **attributes: Any) -> Make:
    """Return the making of a split of which only the middle part is used."""

    def make(m: Maker) -> str:
        m.opset = opset
        named = [m.constant(sizes, np.int64)] if sizes else []
        _, part, _ = m.add("Split", m.input("x", (2, 7)), *named, outputs=3, axis=1, **attributes)
        return str(m.add("Neg", part))

    return make


def repeated_column(m: Maker) -> str:
    return str(m.add("Tile", one_column(m), m.constant([1, 3], np.int64)))


def rotated(m: Maker) -> str:
    """Negate half of each row and move it to the front, as rotary embeddings do."""
    x = m.add("Mul", m.input("x", (3, 8)), m.weight(8))
    a, b = m.add("Split", x, outputs=2, axis=-1, num_outputs=2)
    y = m.add("Concat", m.add("Neg", b), a, axis=-1)
    return str(m.add("Add", m.add("Mul", y, m.weight(8)), x))


def padded(m: Maker) -> str:
    x = m.add("Pad", m.input("x", (3, 5)), m.constant([1, 0, 0, 2], np.int64), m.constant(7.0))
    return str(m.add("Relu", x))


def tiled(m: Maker) -> str:
    return str(m.add("Sin", m.add("Tile", m.input("x", (2, 3)), m.constant([2, 1], np.int64))))


def expanded(m: Maker) -> str:
    x = m.add("Expand", m.input("x", (3, 1)), m.constant([2, 3, 4], np.int64))
    return str(m.add("Add", m.add("Exp", x), m.add("ReduceMax", x, axes=[0], keepdims=1)))


def gathered(m: Maker) -> str:
    """Gather by data, by evenly spaced constants and by others."""
    ids = m.add("Cast", m.input("x", (2, 3)), to=T.INT64)
    x = m.add("Gather", m.weight(7, 6), ids)
    even = m.add("Gather", x, m.constant([1, 3, 5], np.int64), axis=2)
    return str(m.add("Gather", even, m.constant([2, 0, -2], np.int64), axis=2))


def modulo(m: Maker) -> str:
    return str(
        m.add("Mod", m.add("Cast", m.input("x", (3, 5)), to=T.INT64), m.constant(2, np.int64))
    )


def cut_modulo(m: Maker) -> str:
    return str(m.add("Mod", m.input("x", (3, 5)), m.constant(0.3), fmod=1))


def is_nothing(operator: str) -> Make:
    def make(m: Maker) -> str:
        x = m.input("x", (3, 5))
        y = m.add("Div", x, m.add("Relu", x))
        return str(m.add("Cast", m.add(operator, y), to=T.FLOAT))

    return make


def cumulative(**attributes: Any) -> Make:
    def make(m: Maker) -> str:
        x = m.add("CumSum", m.input("x", (3, 5)), m.constant(1, np.int64), **attributes)
        return str(m.add("CumSum", m.add("Mul", x, m.weight(5)), m.constant(0, np.int64)))

    return make


def old_softmax(m: Maker) -> str:
    m.opset = 11
    return str(m.add("Softmax", m.input("x", (2, 3, 5)), axis=1))


def many(operator: str) -> Make:
    """Combine more inputs than a kernel may have; they broadcast, and one is a number."""

    def make(m: Maker) -> str:
        x = m.input("x", (3, 5))
        terms = [m.add(name, x) for name in ("Exp", "Abs", "Tanh", "Relu", "Sigmoid")]
        weights = [m.weight(*shape) for shape in ((5,), (3, 1), (2, 3, 5), (1,), (5,)) * 3]
        return str(m.add(operator, *weights, m.constant(0.5), *terms))

    return make


CASES: dict[str, Make] = {
    **{name: unary(name) for name in (
        "Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "HardSwish", "Identity", "Mish", "Neg",
        "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Tanh",
        "Dropout",
    )},
    "LeakyRelu": unary("LeakyRelu", alpha=0.3), "Elu": unary("Elu", alpha=0.7),
    "Celu": unary("Celu", alpha=1.3), "HardSigmoid": unary("HardSigmoid"),
    **{name: positive(name) for name in ("Log", "Reciprocal", "Sqrt")},
    **{name: binary(name) for name in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum")},
    **{f"{name} of many": many(name) for name in ("Max", "Min", "Sum")},
    **{name: binary(name, truth=True) for name in (
        "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
    )},
    **{name: binary(name, truth=True, bools=True) for name in ("And", "Or", "Xor")},
    **{name: reduction(name) for name in (
        "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceLogSumExp", "ReduceSumSquare", "ReduceLogSum",
    )},
    "ReduceSum": reduction("ReduceSum", as_input=True),
    "Pow": lambda m: m.add("Pow", m.input("x", (3, 5)), m.constant(3.0)),
    "Not": logical_not, "Clip": clip, "Where": where, "Cast": where, "CastLike": cast_like,
    "PRelu": prelu, "BatchNormalization": batch_norm, "Mod": modulo, "Mod, fmod": cut_modulo,
    "IsNaN": is_nothing("IsNaN"), "IsInf": is_nothing("IsInf"),
    "Softmax": norm("Softmax", 0, axis=1), "LogSoftmax": norm("LogSoftmax", 0),
    "LayerNormalization": norm("LayerNormalization", 2, epsilon=1e-3),
    "InstanceNormalization": norm("InstanceNormalization", 2),
    "GlobalAveragePool": norm("GlobalAveragePool", 0), "GlobalMaxPool": norm("GlobalMaxPool", 0),
    "Flatten": flattened, "Squeeze": flattened, "Unsqueeze": flattened, "Transpose": flattened,
    "Reshape": heads, "MatMul": heads, "batched": batched, "vectors": vectors, "Gemm": gemm,
    "CumSum": cumulative(), "CumSum, back": cumulative(reverse=1, exclusive=1),
    "Slice": slices, "Split": split, "Concat": rotated, "Pad": padded, "Tile": tiled,
    "Softmax of a column": column("Softmax"), "LogSoftmax of a column": column("LogSoftmax"),
    "ReduceSum of a column": column("ReduceSum", "axes"), "Tile of a column": repeated_column,
    "LayerNormalization of a column": column("LayerNormalization", "scale", "shift"),
    "Split, one part": one_part(17, 2, 4, 1), "Split, of equal ones": one_part(18, num_outputs=3),
    "Split, by an attribute": one_part(11, split=[3, 2, 2]),
    "Expand": expanded, "Gather": gathered, "old softmax": old_softmax, "Conv": conv,
    "TensorScatter": written_cache(), "TensorScatter round": written_cache(mode="circular"),
    "Conv plain": conv_2d(), "Conv padded": conv_2d(pads=[1, 0, 2, 1]),
    "Conv strided": conv_2d(strides=[2, 3], dilations=[2, 1], pads=[1, 1, 1, 1]),
    "Conv same": conv_2d(auto_pad="SAME_UPPER", strides=[2, 1]),
    "Conv same, lower": conv_2d(auto_pad="SAME_LOWER"),
}  # fmt: skip
#: Opsets of operators that are newer than 17.
NEWER = {"Mish": 18, "Gelu": 20, "Swish": 24, "RMSNormalization": 23, "Concat": 18}
NEWER |= dict.fromkeys(("TensorScatter", "TensorScatter round"), 24)
#: What onnx's reference gets wrong: axes of old Softmax.
DEFINED: dict[str, Callable[[Any], Any]] = {
    "old softmax": lambda x: np.exp(x) / np.exp(x).sum((1, 2), keepdims=True),
}


@pytest.mark.parametrize("name", CASES)
def test_against_onnx(name: str) -> None:
    m = Maker(opset=NEWER.get(name, 17))
    output = CASES[name](m)
    calls, model = lowered(m, output, dtype=T.INT64 if name == "Mod" else T.FLOAT)
    shape = [d.dim_value for d in m.inputs[0].type.tensor_type.shape.dim]
    x = (m.rng.standard_normal(shape) * 2).astype(np.float32)
    x.flat[0] = 0.0
    expected = DEFINED[name](x) if name in DEFINED else reference(model, x=x)
    (found,) = run(calls, {"x": x}).values()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=3e-6, atol=3e-6)


#: What reductions are of one number, where they are not that number.
ALONE: dict[str, Callable[[Any], Any]] = {
    "ArgMax": lambda x: 0.0, "ReduceLogSum": np.log, "ReduceSumSquare": lambda x: x * x,
}  # fmt: skip


@pytest.mark.parametrize(
    "operator", ["ArgMax", *(name for name in OPERATORS if name.startswith("Reduce"))]
)
def test_a_number_is_a_row_of_one(operator: str) -> None:
    m = Maker()
    x = m.input("x", ())
    both = (m.add(operator, m.add("Exp", x)), m.add(operator, x, keepdims=0))
    calls, _ = lowered(m, m.add("Add", *(m.add("Cast", y, to=T.FLOAT) for y in both)))
    (made,) = run(calls, {"x": np.full((), 1.7, np.float32)}).values()
    alone = ALONE.get(operator, lambda x: x)
    np.testing.assert_allclose(made, [alone(np.exp(1.7)) + alone(1.7)], rtol=3e-6)


@pytest.mark.parametrize("operator", ["GlobalAveragePool", "GlobalMaxPool"])
def test_channels_of_one_number(operator: str) -> None:
    m = Maker()
    calls, _ = lowered(m, m.add("Neg", m.add(operator, m.input("x", (2, 3)))))
    x = m.rng.standard_normal((2, 3)).astype(np.float32)
    (made,) = run(calls, {"x": x}).values()
    np.testing.assert_array_equal(made, -x.reshape(-1))


@pytest.mark.parametrize("operator", ["Max", "Min", "Sum"])
def test_no_kernel_takes_more_operands_than_it_may(operator: str) -> None:
    m = Maker()
    calls, _ = lowered(m, many(operator)(m))
    counts = [len(call.spec.to_json()["shapes"]) for call in calls.calls]
    assert len(counts) > 1 and max(counts) <= MOST_OPERANDS


@pytest.mark.parametrize(
    ("operator", "attributes", "opset", "defined"),
    [
        ("Gelu", {"approximate": "none"}, 20, "gelu"),
        ("Gelu", {"approximate": "tanh"}, 20, "gelu_tanh"),
        ("Swish", {}, 24, "silu"),
        ("RMSNormalization", {}, 23, "rms"),
    ],
)
def test_newer_operators(operator: str, attributes: Any, opset: int, defined: str) -> None:
    m = Maker(opset=opset)
    extra = [m.constant(np.linspace(0.5, 2, 5))] if operator == "RMSNormalization" else []
    output = m.add(operator, m.input("x", (3, 5)), *extra, **attributes)
    calls, _ = lowered(m, output)
    x = m.rng.standard_normal((3, 5)).astype(np.float32)
    (found,) = run(calls, {"x": x}).values()
    if defined == "rms":
        expected = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * np.linspace(0.5, 2, 5)
    else:
        from kgen_runtime.expressions.definitions import DEFINITIONS
        from kgen_runtime.expressions.mathematics import Scalars

        expected = np.vectorize(lambda v: DEFINITIONS[defined](Scalars(), v))(x.astype(float))
    np.testing.assert_allclose(found.reshape(3, 5), expected, rtol=3e-6, atol=3e-6)


def test_every_operator_has_a_case() -> None:
    tested = {"DeformConv", "Gelu", "Swish", "RMSNormalization"} | {
        name.split(",")[0] for name in WINDOWS
    }
    tested |= {edge.operator for edge in (EDGES | QUANTIZED).values()}
    tested -= {"If", "DynamicQuantizeLinear"}  # Its branch is taken at import.
    assert set(OPERATORS) - set(CASES) == tested - set(CASES)


@pytest.mark.parametrize(
    ("operator", "given", "attributes", "why"),
    [
        ("Gather", np.array([7]), {}, "index outside of the 3"),
    ],
)
def test_uses_that_are_not_taken(
    operator: str, given: Any, attributes: dict[str, Any], why: str
) -> None:
    m = Maker()
    more = [] if given is None else [m.constant(given, given.dtype)]
    output = m.add(operator, m.input("x", (3, 5)), *more, **attributes)
    with pytest.raises(GraphError, match=why):
        lowered(m, output)


def test_a_sum_along_an_axis_that_is_not_there() -> None:
    m = Maker()
    output = m.add("CumSum", m.input("x", ()), m.constant(0, np.int64))
    with pytest.raises(GraphError, match="has a single number, which has no axis"):
        lowered(m, output)


def test_an_input_without_elements() -> None:
    m = Maker()
    pads = m.constant([], np.int64)
    with pytest.raises(GraphError, match=f"do not fit: {pads} has shape 0, without elements"):
        lowered(m, m.add("Pad", m.input("x", ()), pads))
