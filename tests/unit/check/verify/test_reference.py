"""Scalar reference against values worked out by hand, and its decoding of bits against other
code."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.spec import DType, Elementwise, Epilogue, Layout, Matmul, Spec
from kgen_runtime import blocks
from kgen_runtime.backends.reference import ReferenceBackend
from kgen_runtime.errors import DeviceError
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.reference.elements import elements
from kgen_runtime.reference.numbers import at, decode, encode, values
from kgen_runtime.reference.sums import dot, total
from tests.specs import relu_of, softmax_of

EntryFor = Callable[[Spec], KernelEntry]

FLOATS = (DType.F32, DType.F16, DType.BF16)


def f32(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_every_16_bit_number_survives_decoding_and_encoding(dtype: DType) -> None:
    for bits in range(1 << 16):
        value = decode(bits, dtype)
        if not math.isnan(value):
            assert encode(value, dtype) == bits


@pytest.mark.parametrize("dtype", list(DType))
def test_many_elements_are_read_as_each_alone(dtype: DType) -> None:
    """Every number of up to 16 bits; of larger types, random words."""
    size = dtype.itemsize
    count = 1 << min(8 * size, 16 if size == 2 else 12)
    words = [i * (2 ** (8 * size) // count + 1) % 2 ** (8 * size) for i in range(count)]
    buffer = memoryview(b"".join(word.to_bytes(size, "little") for word in words))
    expected = [decode(word, dtype) for word in words]
    places = [7, 0, 30]
    assert same(values(buffer, 0, count, 1, dtype), expected)
    assert same(values(buffer, 5, 40, 3, dtype), expected[5:125:3])
    assert same(at(buffer, 2, places, dtype), [expected[2 + place] for place in places])
    assert same(at(buffer, 2, range(3, 9), dtype), expected[5:11])


def same(found: list[float], expected: list[float]) -> bool:
    """Whether numbers are equal; all NaN are, and zeros of different signs are not."""
    return [repr(x) for x in found] == [repr(x) for x in expected]


@given(st.floats(width=64))
def test_rounding_agrees_with_numpy(value: float) -> None:
    with np.errstate(all="ignore"):
        wide, half = np.float32(value), np.float16(value)
    if math.isnan(value):
        assert math.isnan(decode(encode(value, DType.F16), DType.F16))
        return
    assert encode(value, DType.F64) == int(np.float64(value).view(np.uint64))
    assert encode(value, DType.F32) == int(wide.view(np.uint32))
    assert encode(value, DType.F16) == int(half.view(np.uint16))


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0 + 2**-8, 0x3F80),  # halfway: to even, down
        (1.0 + 3 * 2**-8, 0x3F82),  # halfway: to even, up
        (1.0 + 2**-8 + 2**-40, 0x3F81),  # above halfway, seen only in binary64
        (2.0**-134, 0x0000),  # half the smallest subnormal: to even
        (1.5 * 2.0**-133, 0x0002),
        (3.4e38, 0x7F80),  # rounds past the largest
        (3.38e38, 0x7F7E),
        (-0.0, 0x8000),
        (-math.inf, 0xFF80),
    ],
)
def test_bf16_is_rounded_once_to_nearest_even(value: float, bits: int) -> None:
    assert encode(value, DType.BF16) == bits


def test_matmul_is_what_the_definition_says() -> None:
    spec = Matmul(
        m=1,
        n=2,
        k=2,
        dtype=DType.F32,
        alpha=2.0,
        beta=-1.0,
        epilogue=(Epilogue.BIAS, Epilogue.RELU),
    )
    buffers = {"a": f32(1, 2), "b": f32(3, 4, 5, 6), "c": f32(1, 100), "bias": f32(0.5, 0.25)}
    element = elements(spec.to_json(), buffers)
    assert element((0, 0, 0)) == 2 * (1 * 3 + 2 * 5) - 1 + 0.5
    assert element((0, 0, 1)) == 0.0  # 2 (1*4 + 2*6) - 100 + 0.25 < 0


def test_the_scale_of_blocks_of_4_bits_is_f32() -> None:
    """The scale restores the range of numbers of 8 bits and less, so it does not depend on the
    output."""
    spec = Matmul(
        m=1,
        n=2,
        k=1,
        dtype=DType.F32,
        b_dtype="s4",
        layout=Layout.NT,
        out_dtype=DType.F16,
        epilogue="x * scale",
    )
    numbers = blocks.packed(np.array([[2], [-3]], np.int8), np.ones((2, 1)))
    scale = f32(1 + 2**-12, 0.5)
    element = elements(spec.to_json(), {"a": f32(4), "b": numbers.tobytes(), "scale": scale})
    assert [element((0, 0, j)) for j in range(2)] == [8 * (1 + 2**-12), -6]


@pytest.mark.parametrize("layout", Layout)
def test_layouts_leading_dimensions_and_batches_are_read_where_they_are(layout: Layout) -> None:
    spec = Matmul(m=2, n=3, k=2, dtype=DType.F32, layout=layout, lda=5, ldb=7, batch=2)
    a, b = list(range(1, 100)), list(range(50, 200))
    element = elements(spec.to_json(), {"a": f32(*a), "b": f32(*b)})
    rows_a, rows_b = spec.a_shape[0], spec.b_shape[0]
    for batch in range(2):
        for i in range(2):
            for j in range(3):
                total = 0
                for k in range(2):
                    at_a = k * 5 + i if layout[0] == "t" else i * 5 + k
                    at_b = j * 7 + k if layout[1] == "t" else k * 7 + j
                    total += a[batch * rows_a * 5 + at_a] * b[batch * rows_b * 7 + at_b]
                assert element((batch, i, j)) == total


def test_sums_are_exact_before_they_are_rounded() -> None:
    assert dot([1e16, 1.0, -1e16], [1.0] * 3, exact_products=True) == 1.0
    tiny = 1.0 + 2.0**-52
    # (1 + u)^2 - (1 + 2u) = u^2, which rounding the product first would lose.
    assert dot([tiny, -1.0], [tiny, 1.0 + 2.0**-51], exact_products=False) == 2.0**-104


@given(st.lists(st.tuples(*[st.floats(-1e100, 1e100).map(lambda x: x + 1e-90)] * 2), max_size=5))
def test_f64_sums_are_rounded_once(pairs: list[tuple[float, float]]) -> None:
    xs, ys = [a for a, _ in pairs], [b for _, b in pairs]
    exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    assert dot(xs, ys, exact_products=False) == float(exact)


def function(name: str, x: float) -> float:
    return float(DEFINITIONS[name](Scalars(), x))


def test_infinities_and_nan_follow_ieee() -> None:
    inf, nan = math.inf, math.nan
    assert math.isnan(dot([inf, 1.0], [0.0, 1.0], exact_products=True))
    assert math.isnan(dot([inf, -inf], [1.0, 1.0], exact_products=True))
    assert dot([inf, 1.0], [-1.0, 5.0], exact_products=True) == -inf
    assert math.isnan(function("relu", nan))
    assert (function("relu", -inf), function("relu", inf)) == (0.0, inf)


def test_sums_that_fsum_refuses() -> None:
    inf, large = math.inf, 1e308
    assert math.isnan(total([inf, 1.0, -inf]))
    assert math.isnan(total([large, large, math.nan]))
    assert total([large, large, -inf]) == -inf
    with pytest.raises(OverflowError):
        total([large, large])


def test_an_expression_of_inputs_that_are_equal_but_for_their_sign() -> None:
    spec = Elementwise(expression="reciprocal(x) + y", shapes=((4,), (1,)), dtype=DType.F32)
    element = elements(spec.to_json(), {"x": f32(0.0, -0.0, 0.0, 2.0), "y": f32(1.0)})
    inf = math.inf
    assert [element((i,)) for i in range(4)] == [inf, -inf, inf, 1.5]


def test_inputs_are_broadcast_along_any_axis() -> None:
    shapes = ((2, 3, 1, 5), (3, 4, 1), (5,), (2, 3, 4, 5))
    spec = Elementwise(expression="a + b * c - d", shapes=shapes, dtype=DType.F32)
    arrays = [
        np.random.default_rng(i).integers(-9, 9, shape).astype(np.float32)
        for i, shape in enumerate(shapes)
    ]
    buffers = dict(zip("abcd", (array.tobytes() for array in arrays), strict=True))
    element = elements(spec.to_json(), buffers)
    a, b, c, d = arrays
    expected = (a + b * c - d).reshape(-1)
    assert [element((i,)) for i in range(expected.size)] == expected.tolist()


@pytest.mark.parametrize("x", [-80.0, -5.0, -0.5, 0.0, 0.5, 5.0, 80.0])
def test_functions_are_their_definitions(x: float) -> None:
    close = {"rel_tol": 1e-12, "abs_tol": 1e-13}
    assert math.isclose(function("gelu", x), x / 2 * (1 + math.erf(x / math.sqrt(2))), **close)
    z = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    assert math.isclose(function("gelu_tanh", x), x / 2 * (1 + math.tanh(z)), **close)
    assert math.isclose(function("silu", x), x / (1 + math.exp(-x)), **close)


@pytest.mark.parametrize("log", [False, True])
def test_softmax_rows_that_are_nan(log: bool) -> None:
    inf, nan = math.inf, math.nan
    for row in ([nan, 0.0, 1.0], [inf, 0.0, 1.0], [-inf] * 3, [inf, -inf, 0.0]):
        spec = softmax_of(1, 3, dtype=DType.F32, log=log)
        element = elements(spec.to_json(), {"x": f32(*row)})
        assert all(math.isnan(element((0, col))) for col in range(3)), row


def test_softmax_does_not_overflow_and_sums_to_one() -> None:
    spec = softmax_of(2, 3, dtype=DType.F32)
    element = elements(spec.to_json(), {"x": f32(1e38, -1e38, 1e38, -math.inf, 3, 3)})
    assert [element((0, c)) for c in range(3)] == [0.5, 0.0, 0.5]
    assert [element((1, c)) for c in range(3)] == [0.0, 0.5, 0.5]
    log = softmax_of(1, 2, dtype=DType.F32, log=True)
    element = elements(log.to_json(), {"x": f32(2000.0, 0.0)})
    assert [element((0, c)) for c in range(2)] == [0.0, -2000.0]


@settings(max_examples=20)
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), dtype=st.sampled_from(FLOATS))
def test_the_backend_computes_the_whole_output(
    entry_for: EntryFor, shape: list[int], dtype: DType
) -> None:
    spec = relu_of(tuple(shape), dtype=dtype)
    bits = np.random.default_rng(0).integers(0, 1 << (8 * dtype.itemsize - 1), spec.elements)
    x = bits.astype(f"u{dtype.itemsize}")
    x[::2] |= x.dtype.type(1 << (8 * dtype.itemsize - 1))
    out = run_reference(entry_for(spec), {"x": x.tobytes()})
    for i, got in enumerate(np.frombuffer(out, x.dtype)):
        value = decode(int(x[i]), dtype)
        expected = math.nan if math.isnan(value) else max(value, 0.0)
        result = decode(int(got), dtype)
        assert result == expected or (math.isnan(result) and math.isnan(expected))


def test_the_backend_leaves_stride_gaps_alone(entry_for: EntryFor) -> None:
    spec = Matmul(m=2, n=2, k=1, dtype=DType.F32, ldc=3)
    out = run_reference(entry_for(spec), {"a": f32(1, 2), "b": f32(3, 4)})
    assert out == f32(3, 4) + b"\xa5" * 4 + f32(6, 8)


def run_reference(entry: KernelEntry, data: dict[str, bytes]) -> bytes:
    backend = ReferenceBackend()
    buffers = {}
    for param in entry.parameters:
        host = np.frombuffer(data.get(param.name, b"\xa5" * param.nbytes), np.uint8).copy()
        buffers[param.name] = backend.alloc(param.nbytes)
        backend.copy_to_device(buffers[param.name], host)
    backend.launch(backend.load(entry, {}), buffers)
    out = np.empty(entry.output.nbytes, np.uint8)
    backend.copy_from_device(out, buffers["out"])
    return out.tobytes()


def test_what_the_backend_refuses() -> None:
    with pytest.raises(DeviceError, match="reference:1"):
        ReferenceBackend(1)
    with pytest.raises(DeviceError, match="stream"):
        ReferenceBackend().launch(None, {}, stream=3)  # type: ignore[arg-type]
