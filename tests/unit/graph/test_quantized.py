"""Quantised operators, by the scalar reference, against ONNX's definitions; products of bytes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx
from onnx import TensorProto as T
from onnx import helper

from kgen.check.model.steps import without_steps
from kgen.check.model.truth import evaluator
from kgen.errors import GraphError
from kgen.graph.compile import load
from kgen.graph.ir import ConvolutionKernels
from kgen.graph.lowering.calls import Lowered
from kgen.graph.lowering.lower import lower, without_limits
from kgen.graph.reading.onnx_file import read
from kgen.ops.expression import call, constant, variable
from kgen.spec import Conv2d, Elementwise, Matmul
from kgen_runtime.dtypes import DType
from tests.onnx_models import Array, Maker, run
from tests.quantized_models import MODELS, Quantizer, qdq_cnn, qdq_mlp, qdq_mobile
from tests.unit.graph.test_edges import Edge

RNG = np.random.default_rng(3)


def edge(
    operator: str,
    inputs: tuple[Any, ...],
    constants: tuple[int, ...] = (),
    attributes: dict[str, Any] | None = None,
    **more: Any,
) -> Edge:
    arrays = [None if array is None else np.asarray(array) for array in inputs]
    return Edge(
        operator=operator, inputs=arrays, constants=constants, attributes=attributes or {}, **more
    )


def u8(*shape: int) -> Array:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def s8(*shape: int) -> Array:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def scales(*shape: int) -> Array:
    return RNG.uniform(0.005, 0.02, shape).astype(np.float32)


def along_two_axes(operator: str, *given: Array, **attributes: Any) -> Array:
    """Convolve along one axis by onnx's reference for two axes."""
    wide = [array[..., None] if array.ndim == 3 else array for array in given]
    (found,) = edge(operator, tuple(wide), attributes=attributes).values()
    return found[..., 0]


X = (RNG.standard_normal((3, 5, 4)) * 2).astype(np.float32)
#: Halves, which are rounded to even, and numbers beyond the limits.
TIES = np.array([-300, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 300], np.float32)
CASES: dict[str, Edge] = {
    "QuantizeLinear, ties": edge("QuantizeLinear", (TIES, np.float32(1), np.int8(1)), (1, 2)),
    "QuantizeLinear, u8 by default": edge("QuantizeLinear", (TIES, np.float32(1)), (1,)),
    "QuantizeLinear, axis": edge(
        "QuantizeLinear", (X, scales(5), u8(5)), (1, 2), {"axis": 1}, opset=13
    ),
    "QuantizeLinear, blocks": edge(
        "QuantizeLinear", (X, scales(3, 3, 4), s8(3, 3, 4)), (1, 2), {"axis": 1, "block_size": 2}
    ),
    "DequantizeLinear, axis": edge("DequantizeLinear", (u8(3, 5), scales(5), u8(5)), (1, 2)),
    "DequantizeLinear, scale from data": edge("DequantizeLinear", (u8(3, 5), scales(), u8())),
    "DequantizeLinear, no zero point": edge("DequantizeLinear", (u8(3, 5), scales()), (1,)),
    "DequantizeLinear, s32": edge(
        "DequantizeLinear", (RNG.integers(-9000, 9000, 7).astype(np.int32), scales()), (1,)
    ),
    "MatMulInteger, from data": edge("MatMulInteger", (u8(2, 3, 9), s8(2, 9, 4), u8(), s8())),
    "MatMulInteger, no zero points": edge("MatMulInteger", (u8(3, 9), u8(9, 4)), (1,)),
    "MatMulInteger, columns": edge(
        "MatMulInteger", (u8(3, 300), u8(300, 4), u8(), u8(4)), (1, 2, 3)
    ),
    "MatMulInteger, constant A": edge(
        "MatMulInteger", (u8(3, 300), u8(300, 4), u8(), u8()), (0, 2)
    ),
    "MatMulInteger, rows": edge(
        "MatMulInteger", (s8(3, 9), s8(9, 4), s8(3, 1), s8()), (1, 2, 3),
        expected=lambda a, b, c, d: (a.astype(np.int32) - c) @ (b.astype(np.int32) - d),
    ),
    "ConvInteger": edge(
        "ConvInteger", (u8(2, 3, 5, 4), u8(4, 3, 3, 2), u8(), u8()), (1, 2, 3),
        {"pads": [1, 0, 1, 1], "strides": [2, 1]},
    ),
    "ConvInteger, zero point from data": edge(
        "ConvInteger", (u8(1, 3, 5, 4), s8(4, 3, 3, 3), u8()), (1,), {"pads": [1, 1, 1, 1]},
    ),
    "ConvInteger, channels": edge(
        "ConvInteger", (u8(1, 3, 5, 4), u8(3, 1, 3, 3), u8(), u8()), (1, 2, 3),
        {"pads": [1, 1, 1, 1], "group": 3},
    ),
    "ConvInteger, channels, zero point from data": edge(
        "ConvInteger", (u8(2, 3, 5, 4), s8(3, 1, 3, 2), u8()), (1,),
        {"pads": [1, 1, 1, 0], "group": 3, "strides": [2, 1]},
    ),
    "ConvInteger, one axis": edge(
        "ConvInteger", (u8(2, 4, 7), u8(6, 2, 3), u8(), u8()), (1, 2, 3), {"group": 2},
        expected=lambda *given: along_two_axes("ConvInteger", *given, group=2),
    ),
    "QLinearConv, one axis": edge(
        "QLinearConv",
        (u8(1, 3, 5), scales(), u8(), s8(4, 3, 2), scales(4), np.zeros(4, np.int8),
         np.float32(0.05), u8(), RNG.integers(-900, 900, 4).astype(np.int32)),
        tuple(range(1, 9)), {"strides": [2]},
        expected=lambda *given: along_two_axes("QLinearConv", *given, strides=[2, 1]),
    ),
    "Resize of integers": edge(
        "Resize", (u8(1, 2, 5, 4), None, np.array([1, 1, 1.6, 0.75], np.float32)), (2,),
        {"mode": "cubic"},
    ),
    "QLinearMatMul": edge(
        "QLinearMatMul",
        (u8(2, 3, 9), scales(), u8(), u8(2, 9, 4), scales(), u8(), np.float32(0.02), u8()),
        (1, 2, 4, 5, 6, 7),
    ),
    "QLinearConv": edge(
        "QLinearConv",
        (u8(1, 3, 5, 4), scales(), u8(), s8(4, 3, 3, 3), scales(4), np.zeros(4, np.int8),
         np.float32(0.05), u8(), RNG.integers(-900, 900, 4).astype(np.int32)),
        tuple(range(1, 9)), {"pads": [1, 1, 1, 1]},
    ),
    "QLinearConv, channels": edge(
        "QLinearConv",
        (u8(1, 7, 8, 9), scales(), u8(), s8(7, 1, 3, 3), scales(7), np.zeros(7, np.int8),
         np.float32(0.05), u8(), RNG.integers(-900, 900, 7).astype(np.int32)),
        tuple(range(1, 9)), {"pads": [3, 3, 3, 3], "dilations": [3, 3], "group": 7},
    ),
    "DynamicQuantizeLinear": edge("DynamicQuantizeLinear", (X,), outputs=3, opset=13),
    "DynamicQuantizeLinear of zeros": edge(
        "DynamicQuantizeLinear", (np.zeros_like(X),), outputs=3, opset=13
    ),
    "MaxPool, u8": edge("MaxPool", (u8(1, 2, 5, 4),), (), {"kernel_shape": [3, 2]}),
}  # fmt: skip


CONVOLUTIONS = [name for name in CASES if name.startswith(("ConvInteger", "QLinearConv"))]


def calls(model: onnx.ModelProto, *, on_cpus: bool = False) -> Lowered:
    """Return a model's calls. CPU kernels pad with any zero point and support depthwise
    convolutions."""
    kernels = ConvolutionKernels(pads_with_zero_point=on_cpus, depthwise=on_cpus)
    return lower(load(model, {}, convolves=kernels))


@pytest.mark.parametrize(
    ("name", "on_cpus"),
    [*((name, False) for name in CASES), *((name, True) for name in CONVOLUTIONS)],
)
def test_against_onnx(name: str, on_cpus: bool) -> None:
    case = CASES[name]
    given = {f"x{i}": a for i, a in enumerate(case.inputs) if i not in case.constants}
    made_of = calls(case.model(), on_cpus=on_cpus)
    made = run(made_of, given)
    if name in CONVOLUTIONS:
        specs = [call.spec for call in made_of.calls if isinstance(call.spec, Conv2d)]
        assert {spec.dtype for spec in specs} <= {DType.S8} and (specs or not on_cpus)
        assert on_cpus or not any(spec.padding_value for spec in specs)
    for number, expected in enumerate(case.values()):
        found = made[f"y{number}"].reshape(np.shape(expected))
        if np.asarray(expected).dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=2e-6)
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_verification_knows_convolutions(name: str) -> None:
    case = CASES[name]
    given = {f"x{i}": a for i, a in enumerate(case.inputs) if i not in case.constants}
    for found, expected in zip(
        evaluator(read(case.model())).run(None, given), case.values(), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_groups_of_a_dynamic_convolution() -> None:
    """The zero point has the image's axes, which the products of the groups lack."""
    m = Quantizer()
    q, _, zero = m.add("DynamicQuantizeLinear", m.input("x", (1, 4, 5, 3)), outputs=3)
    weights = m.constant(s8(6, 2, 3, 3), np.int8)
    model = m.model(m.add("ConvInteger", q, weights, zero, group=2), dtype=T.INT32)
    given = {"x": RNG.standard_normal((1, 4, 5, 3)).astype(np.float32)}
    (expected,) = evaluator(read(model)).run(None, given)
    (found,) = run(calls(model), given).values()
    np.testing.assert_array_equal(found, expected.reshape(-1))


@pytest.mark.parametrize("from_data", [False, True])
@pytest.mark.parametrize("on_cpus", [False, True])
def test_padding_of_padded_bytes(on_cpus: bool, from_data: bool) -> None:
    """A Pad's result is padded again by a convolution, both with the zero point."""
    m = Quantizer()
    x = m.input("x", (1, 2, 4, 3))
    if from_data:
        x = m.add("DequantizeLinear", *m.add("DynamicQuantizeLinear", x, outputs=3))
    else:
        x = m.qdq(x, 0.03, 125)
    x = m.add("Pad", x, m.constant([0, 0, 1, 0, 0, 0, 0, 1], np.int64))
    model = m.finished(m.add("Conv", x, m.weights(3, 2, 3, 3), pads=[1, 0, 1, 1]))
    found = calls(model, on_cpus=on_cpus)
    (spec,) = (call.spec for call in found.calls if isinstance(call.spec, Conv2d))
    assert spec.dtype is DType.S8 and bool(spec.padding_value) is (on_cpus and not from_data)
    given = {"x": RNG.standard_normal((1, 2, 4, 3)).astype(np.float32)}
    (expected,) = evaluator(read(model)).run(None, given)
    (made,) = run(found, given).values()
    np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)


def test_residual_blocks_of_bytes_are_convolutions() -> None:
    """Each 3x3 layer is one convolution of bytes, with its residual sum and quantisation; no window
    is copied."""
    found = calls(qdq_cnn(), on_cpus=True)
    made = [call.spec for call in found.calls if isinstance(call.spec, Conv2d)]
    assert [spec.padding_value for spec in made] == [-3, -128, -128]
    assert [spec.is_depthwise for spec in made] == [False, True, False]
    assert {spec.out for spec in made} == {DType.S8}


def products(found: Lowered) -> list[Matmul]:
    """Return the products, including those of convolutions."""
    specs = [call.spec for call in found.calls]
    own = [spec.product if isinstance(spec, Conv2d) else spec for spec in specs]
    return [spec for spec in own if isinstance(spec, Matmul)]


OF_FLOATS = ("MatMulNBits", "QDQ of u16", "QDQ of s16", "QDQ of e4m3", "QDQ of e5m2")


@pytest.mark.parametrize("name", [name for name in MODELS if name not in OF_FLOATS])
def test_products_are_of_bytes(name: str) -> None:
    found = products(calls(MODELS[name]()))
    heads = 2 if name.startswith("dynamic") else 0
    assert [spec.dtype for spec in found].count(DType.F32) == heads
    assert len(found) > heads + 1
    assert DType.S32 not in [spec.out for spec in found]


@pytest.mark.parametrize("make", [qdq_mlp, qdq_cnn, qdq_mobile])
def test_values_between_products_are_bytes(make: Any) -> None:
    """Only the model's input and its output are floats."""
    found = calls(make())
    floats = {b.id for b in found.buffers.values() if b.dtype is DType.F32} - found.constants.keys()
    assert floats == {*found.inputs.values(), *found.outputs.values()}


def test_a_mlp_has_no_kernels_beside_its_products() -> None:
    found = calls(qdq_mlp())
    assert len(found.calls) == 3  # quantise, two products of which the second one dequantises


def test_a_product_whose_epilogue_has_numbers_alone() -> None:
    """The epilogue's formula is of s32, except for the cast in it."""
    m = Quantizer(np.int8)
    x = m.qdq(m.input("x", (3, 9)), 0.03, 128)
    numbers, _ = m.numbers(9, 4)
    w = m.add("DequantizeLinear", m.constant(numbers, np.int8), m.constant(0.01))
    found = calls(m.finished(m.qdq(m.add("MatMul", x, w), 0.02, 128)))
    assert len(found.calls) == 2  # quantise, product


def test_a_bias_of_one_number_is_in_the_factors_of_its_product() -> None:
    """A bias of equal numbers becomes a number of the formula; zero, too."""
    for bias in (0.0, 0.25):
        m = Quantizer()
        x = m.qdq(m.input("x", (3, 9)), 0.03, 125)
        y = m.add("Add", m.add("MatMul", x, m.weights(9, 4, axis=1)), m.constant(np.full(4, bias)))
        model = m.finished(m.qdq(m.add("Relu", y), 0.02, 12))
        *_, product = products(found := calls(model))
        assert "div" not in product.epilogue and product.epilogue.count("add(") == 1
        given = {"x": RNG.standard_normal((3, 9)).astype(np.float32)}
        (expected,) = evaluator(read(model)).run(None, given)
        (made,) = run(found, given).values()
        np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=1e-6)


def test_a_large_integer_convolution_is_one_product() -> None:
    """Its sums are exact in s32, and would not be in f32."""
    case = edge(
        "ConvInteger", (u8(1, 16, 112, 112), s8(4, 16, 3, 3)), (1,), {"pads": [1] * 4},
        expected=lambda x, w: np.zeros(1, np.int32),
    )  # fmt: skip
    (product,) = products(calls(case.model()))
    assert (product.dtype, product.out, product.k) == (DType.S8, DType.S32, 144)


def test_equal_quantisation_is_left_out() -> None:
    """A reshape between equal quantisations reads and writes bytes as they are."""
    m = Quantizer()
    x = m.qdq(m.add("Flatten", m.qdq(m.input("x", (3, 5)), 0.1, 7)), 0.1, 7)
    found = calls(m.finished(m.qdq(m.add("Reshape", x, m.constant([15], np.int64)), 0.1, 7)))
    assert len(found.calls) == 1


def test_a_block_with_a_residual_is_a_kernel_for_each_product() -> None:
    """Activation and residual sum of bytes are in the epilogues."""
    found = calls(qdq_mobile()).calls
    kinds = [type(call.spec).__name__ for call in found]
    assert sum("residual" in call.bindings for call in found) == 1
    assert kinds.count("Matmul") == 5
    # The input as bytes, convolution by channel, mean, its product with the image, and the output.
    assert (kinds.count("Elementwise"), kinds.count("Rowwise"), len(kinds)) == (4, 1, 10)


def test_convolutions_by_channel_are_depthwise_kernels_of_bytes() -> None:
    """Every value between two layers is stored as bytes, on targets with and without depthwise
    kernels."""
    found = calls(qdq_mobile(), on_cpus=True).calls
    (spec,) = (call.spec for call in found if isinstance(call.spec, Conv2d))
    assert spec.is_depthwise and (spec.dtype, spec.out) == (DType.S8, DType.S8)
    assert spec.padding_value == 12 - 128
    assert sum(isinstance(call.spec, Elementwise) for call in found) == 3


@pytest.mark.parametrize(
    ("least", "most", "kept"),
    [
        (-128.0, 127.0, ()),
        (-200.0, 300.0, ()),
        (-128.0, 126.0, ("min", "max")),
        (-127.0, 127.0, ("max",)),
    ],
)
def test_limits_of_bytes_are_those_of_the_store(
    least: float, most: float, kept: tuple[str, ...]
) -> None:
    x = call("round", (variable("x"),))
    expression = call("min", (call("max", (x, constant(least))), constant(most)))
    assert without_limits(expression, DType.F32) == expression
    found = without_limits(expression, DType.S8)
    for name in kept:
        assert found.name == name
        found = found.arguments[0]
    assert found == (x if kept else variable("x"))


def test_windows_read_bytes_that_were_computed_once() -> None:
    m = Quantizer()
    y = m.conv(m.qdq(m.input("x", (1, 4, 5, 6)), 0.03, 125), 4, 1, 3, 3, group=4)
    first, *_ = calls(m.finished(y)).calls
    assert isinstance(first.spec, Elementwise) and first.spec.out is DType.S8


@pytest.mark.parametrize(("count", "is_kept"), [(2, False), (3, True)])
def test_few_numbers_may_be_one_step_apart(count: int, is_kept: bool) -> None:
    exact = np.arange(100, dtype=np.int8)
    made = exact.copy()
    made[:count] += np.int8(1)
    made[50] += np.int8(2)
    found = without_steps(made, exact, 1.0)
    assert bool(np.any(found[:count] != exact[:count])) is is_kept
    assert found[50] != exact[50]


def test_few_floats_may_be_moved_by_a_step() -> None:
    exact = np.arange(1, 101, dtype=np.float64)
    made = (exact * (1 + 1e-6)).astype(np.float32)
    made[:3] += np.array([0.4, 0.25, 2], np.float32)
    found = without_steps(made, exact, 0.5)
    np.testing.assert_allclose(found[[0, 1, 3]], exact[[0, 1, 3]], rtol=1e-5)
    assert found[2] == made[2]


@pytest.mark.parametrize(
    ("dtype", "axis"), [(np.int16, None), (np.uint16, None), (np.int16, 0), (np.uint16, 1)]
)
@pytest.mark.parametrize(
    ("opset", "domain"), [(21, ""), (13, "com.microsoft"), (11, "com.microsoft")]
)
def test_numbers_of_16_bits_inside_of_a_model(
    dtype: type[np.integer[Any]], axis: int | None, opset: int, domain: str
) -> None:
    """16-bit values saturate as ONNX defines, with any zero point. ONNX Runtime has them before
    opset 21, too."""
    m = Maker(opset=opset)
    count, limits = (1, 4, 3)[(axis or -1) + 1], np.iinfo(dtype)
    steps = RNG.uniform(1e-4, 1e-3, () if axis is None else count).astype(np.float32)
    zeros = np.full(steps.shape, limits.min) if axis is None else np.arange(count) + limits.min + 9
    given = m.constant(steps), m.constant(zeros, dtype)
    own = {} if axis is None else {"axis": axis}
    q = m.add("QuantizeLinear", m.input("x", (4, 3)), *given, domain=domain, **own)
    model = m.model(m.add("Cast", m.add("Transpose", q), to=T.INT32), dtype=T.INT32)
    x = np.array([[0, 1, 80], [-1, 9, 1e9], [-1e9, 0.4, 3], [2, 0.01, np.inf]], np.float32)
    wide = (array if axis != 0 else array[:, None] for array in (steps, zeros))
    step, zero = (np.asarray(array, np.float64) for array in wide)
    expected = np.clip(np.rint(x / step) + zero, limits.min, limits.max)
    (found,) = run(calls(model), {"x": x}).values()
    np.testing.assert_array_equal(found.reshape(3, 4), expected.T)
    assert {limits.max} < {*expected.reshape(-1)}


#: Numbers around the limits and halves of 8-bit floats, and numbers that they lack.
ROUNDED = np.array(
    [0, -0.0, 0.3, -1.9, 7.5, 8.5, 17, 19, -18, 2**-9, 3 * 2**-10, 2**-17, 0.0137, 240, 248, 448,
     464, 465, -480, 57344, 61440, -65536, 1e30, np.inf, -np.inf, np.nan],
    np.float32,
)  # fmt: skip


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("kind", [T.FLOAT8E4M3FN, T.FLOAT8E4M3FNUZ, T.FLOAT8E5M2, T.FLOAT8E5M2FNUZ])
def test_numbers_rounded_to_8_bit_floats(kind: int, saturate: int) -> None:
    m = Maker(opset=21)
    x = m.input("x", ROUNDED.shape)
    q = m.add("Cast", x, to=kind, saturate=saturate)
    q = m.add("Reshape", q, m.constant([1, -1], np.int64))
    like = m.constant(0.0, helper.tensor_dtype_to_np_dtype(kind))
    other = m.add("CastLike", x, like, saturate=saturate)
    model = m.model(*(m.add("Cast", each, to=T.FLOAT) for each in (q, other)))
    expected, _ = evaluator(read(model)).run(None, {"x": ROUNDED})
    found, by_like = run(calls(model), {"x": ROUNDED}).values()
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_array_equal(by_like, expected[0])
    is_zero = expected[0] == 0
    np.testing.assert_array_equal(np.signbit(found)[is_zero], np.signbit(expected[0])[is_zero])


@pytest.mark.parametrize("kind", [T.INT16, T.UINT16, T.INT4, T.UINT4])
@pytest.mark.parametrize("of", [T.FLOAT, T.INT32, T.BOOL])
def test_casts_to_small_integers_wrap_around(kind: int, of: int) -> None:
    """Casts between integers discard the higher bits."""
    numbers = np.array([0, 1, 7, -8, 100, 65535, 40000, -32768, 3])
    if of == T.FLOAT:
        limits = ml_dtypes.iinfo(helper.tensor_dtype_to_np_dtype(kind))
        numbers = np.clip(numbers, limits.min, limits.max) + 0.25 * (numbers > 0)
    x = numbers.astype(helper.tensor_dtype_to_np_dtype(of))
    m = Maker(opset=21)
    q = m.add("Cast", m.input("x", x.shape, of), to=kind)
    outputs = [m.add("Cast", q, to=to) for to in (T.INT32, T.INT8, T.BOOL)]
    for output, dtype in zip(outputs, (T.INT32, T.INT8, T.BOOL), strict=True):
        model = m.model(output, dtype=dtype)
        (expected,) = evaluator(read(model)).run(None, {"x": x})
        (found,) = run(calls(model), {"x": x}).values()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize(("opset", "domain"), [(21, ""), (13, "com.microsoft")])
def test_constants_that_are_quantised_saturate(
    dtype: type[np.integer[Any]], opset: int, domain: str
) -> None:
    """Numbers beyond 32 bits, such as those of masks, saturate in constant folding too."""
    m, limits = Maker(opset=opset), np.iinfo(dtype)
    array = np.array([3e38, -3e38, np.inf, -np.inf, 2.0**31, -(2.0**31), 7, -5], np.float32)
    given = m.constant(0.5), m.constant(limits.min // 2 + limits.max // 4, dtype)
    q = m.add("QuantizeLinear", m.constant(array), *given, domain=domain)
    real = m.add("DequantizeLinear", q, *given, domain=domain)
    model = m.model(m.add("Mul", m.input("x", (8,)), real))
    middle = limits.min // 2 + limits.max // 4
    numbers = np.clip(np.rint(array / np.float64(0.5)) + middle, limits.min, limits.max)
    (found,) = run(calls(model), {"x": np.ones(8, np.float32)}).values()
    np.testing.assert_array_equal(found, (numbers - middle) * 0.5)


def refused(m: Maker, *outputs: str, dtype: int = T.FLOAT) -> str:
    with pytest.raises(GraphError) as raised:
        calls(m.model(*outputs, dtype=dtype))
    assert "\n" not in str(raised.value) and len(str(raised.value)) <= 500
    return str(raised.value)


def test_refusals() -> None:
    m = Maker()
    x = m.input("x", (3, 5))
    found = m.add("QuantizeLinear", x, m.constant(np.ones(4)), m.constant(np.zeros(4), np.int8))
    assert "scales or zero points of shape 4 for axis 1 of 3x5" in refused(m, found, dtype=T.INT8)
    m = Maker()
    x, w = m.input("x", (1, 2, 20, 20), T.UINT8), m.constant(np.ones((2, 1, 17, 17)), np.int8)
    found = m.add("ConvInteger", x, w, group=2)
    assert "a kernel of 289 elements" in refused(m, found, dtype=T.INT32)
    m = Maker()
    y = m.add("Unknown", m.input("x", (3, 5)), domain="other")
    error = refused(m, m.add("DynamicQuantizeLinear", y, outputs=3)[0], dtype=T.UINT8)
    assert "1 node has an operator" in error and "DynamicQuantizeLinear" not in error
    m = Maker(opset=21)
    x = m.input("x", (3, 5))
    found = m.add("QuantizeLinear", x, m.constant(1.0), m.constant(0, ml_dtypes.int4))
    error = f"output {found} is of INT4, which kernels do not support; make it INT8"
    assert error in refused(m, found, dtype=T.INT4)
    found = m.add("QuantizeLinear", x, m.constant(1.0), m.constant(0, np.int16))
    found = m.add("Add", found, found)
    assert f"makes {found}, which is of INT16" in refused(m, m.add("Cast", found, to=T.FLOAT))
