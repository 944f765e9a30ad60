"""The float64 oracle and its error bounds, against the scalar reference on small shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.check import tensors
from kgen.check.oracle import operations as oracle
from kgen.check.oracle import rowwise, tolerance
from kgen.check.oracle.elementwise import Arrays
from kgen.check.oracle.tolerance import Estimate
from kgen.check.verify import compare, cost, inputs
from kgen.spec import DType, Epilogue, Layout, Matmul, Spec
from kgen.spec.choices import NARROW
from kgen.spec.epilogue import steps_of
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.formulas import formulas_in
from kgen_runtime.manifest import KernelEntry, Tolerance
from kgen_runtime.reference.numbers import decode, encode
from tests.specs import relu_of, softmax_of
from tests.unit.check.verify.oracle_agreement import agree

EntryFor = Callable[..., KernelEntry]
DTYPES = (DType.F64, DType.F32, DType.F16, DType.BF16)
FLOATS = DTYPES[1:]


@st.composite
def matmuls(draw: st.DrawFn) -> Matmul:
    sizes = st.integers(1, 5)
    dtype = draw(st.sampled_from(DTYPES))
    batch = draw(st.integers(1, 3))
    chain = draw(st.lists(st.sampled_from(Epilogue), max_size=3, unique=True))
    plain = Matmul(m=draw(sizes), n=draw(sizes), k=draw(sizes), dtype=dtype)
    layout = draw(st.sampled_from(Layout))
    b_dtype = draw(st.sampled_from([None, *NARROW.get(dtype, ())]))
    if b_dtype == "s4":
        layout = Layout.NT
    fields = {"m": plain.m, "n": plain.n, "k": plain.k, "dtype": dtype, "layout": layout}
    fields["b_dtype"] = b_dtype
    packed = Matmul(**fields)
    gap = st.integers(0, 3)
    assert packed.lda and packed.ldb and packed.ldc
    return Matmul(
        **fields,
        out_dtype=dtype if dtype is DType.F64 else draw(st.sampled_from(FLOATS)),
        lda=packed.lda + draw(gap),
        ldb=packed.ldb + draw(gap),
        ldc=packed.ldc + draw(gap),
        batch=batch,
        batch_stride_a=draw(st.sampled_from([None, 0, 1, 40])),
        batch_stride_b=draw(st.sampled_from([None, 0, 1, 40])),
        batch_stride_c=draw(st.sampled_from([None, 40])),
        alpha=draw(st.sampled_from([1.0, -0.5, 0.1])),
        beta=draw(st.sampled_from([0.0, 2.0, 0.3])),
        epilogue=tuple(chain),
    )


@settings(max_examples=150, deadline=None)
@given(spec=matmuls())
def test_matmul_agrees_with_the_scalar_reference(entry_for: EntryFor, spec: Matmul) -> None:
    agree(entry_for(spec))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 9),
    cols=st.integers(1, 9),
    dtype=st.sampled_from(FLOATS),
    log=st.booleans(),
)
def test_softmax_agrees_with_the_scalar_reference(
    entry_for: EntryFor, rows: int, cols: int, dtype: DType, log: bool
) -> None:
    agree(entry_for(softmax_of(rows, cols, dtype=dtype, log=log)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_relu_agrees_with_the_scalar_reference(entry_for: EntryFor, dtype: DType) -> None:
    agree(entry_for(relu_of((3, 5, 7), dtype=dtype)))


def test_panels_cover_the_output_once(entry_for: EntryFor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "PANEL_ELEMENTS", 64)
    for spec in (
        Matmul(m=70, n=130, k=40, batch=3),
        softmax_of(70, 5),
        relu_of((13, 17)),
    ):
        entry = entry_for(spec)
        shape = oracle.output_shape(entry)
        times = np.zeros(shape, int)
        pieces = cost.panels(entry, tuple(slice(0, n) for n in shape))
        for piece in pieces:
            times[piece] += 1
        assert len(pieces) > 1 and (times == 1).all()


@given(st.floats(width=64), st.sampled_from(DTYPES))
def test_both_roundings_agree(value: float, dtype: DType) -> None:
    bits = tensors.encode(tensors.round_to(np.array([value]), dtype), dtype)
    expected = encode(value, dtype)
    assert int(bits[0]) == expected or math.isnan(value)
    decoded = float(tensors.decode(bits, dtype)[0])
    assert decoded == decode(expected, dtype) or math.isnan(value)


def simulated(spec: Matmul, data: inputs.DataSet) -> np.ndarray:
    """Return the result of an f32 kernel that adds one product after another and rounds every
    step."""
    views = {p.name: tensors.strided_bits(data.buffers[p.name], p) for p in spec.parameters[:-1]}
    f32 = {n: tensors.decode(v, spec.parameter(n).dtype).astype("f4") for n, v in views.items()}
    accumulator = np.zeros((spec.m, spec.n), np.float32)
    for k in range(spec.k):
        accumulator += f32["a"][:, k : k + 1] * f32["b"][k : k + 1]
    x = np.float32(spec.alpha) * accumulator
    if spec.beta:
        x = x + np.float32(spec.beta) * f32["c"]
    for step in steps_of(spec.epilogue) or ():
        if step in ("bias", "residual"):
            x = x + f32[step]
        else:
            x = DEFINITIONS[step](Arrays(), x.astype(np.float64)).astype(np.float32)
    return tensors.round_to(x.astype(np.float64), spec.out)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"alpha": 0.1, "beta": 0.3},
        {"epilogue": (Epilogue.BIAS, Epilogue.GELU)},
        {"epilogue": (Epilogue.RESIDUAL, Epilogue.SILU, Epilogue.RELU)},
        {"epilogue": (Epilogue.GELU_TANH, Epilogue.BIAS)},
    ],
    ids=str,
)
def test_an_honest_kernel_is_inside_its_bound_and_a_wrong_one_is_not(
    entry_for: EntryFor, spec: dict[str, object], dtype: DType
) -> None:
    made = Matmul(m=17, n=19, k=200, dtype=dtype, **spec)  # type: ignore[arg-type]
    entry = entry_for(made)
    box = (slice(0, 1), slice(0, 17), slice(0, 19))
    for data in list(inputs.data_sets(entry, seed=3))[:2]:
        got = simulated(made, data)
        found = oracle.estimate(entry, data.buffers, box, data.whole)
        assert ratio(found, got, dtype) <= 1.0, data.name
        # One of 200 products left out.
        wrong = simulated(replace(made, k=199, lda=200), data)
        assert ratio(found, wrong, dtype) > 1.0, data.name


@pytest.mark.parametrize("out", FLOATS)
@pytest.mark.parametrize("k", [4096, 65536])
def test_one_lost_product_shows_however_many_there_are(
    entry_for: EntryFor, k: int, out: DType
) -> None:
    """Sums of whole numbers are exact. The bound on random data grows with K, and is wide for
    types of few bits."""
    entry = entry_for(Matmul(m=16, n=16, k=k, dtype=DType.BF16, out_dtype=out))
    whole = next(d for d in inputs.data_sets(entry, 0) if d.whole)
    found = oracle.estimate(entry, whole.buffers, (slice(0, 1), slice(0, 16), slice(0, 16)), True)
    a, b = (
        tensors.decode(tensors.strided_bits(whole.buffers[p.name], p), p.dtype)
        for p in entry.inputs
    )
    lost = found.value[0] - np.outer(a[:, -1], b[-1])
    assert ratio(found, tensors.round_to(found.value[0], out), out) == 0.0
    assert ratio(found, tensors.round_to(lost, out), out) > 1.0


def ratio(found: Estimate, got: np.ndarray, dtype: DType) -> float:
    exact = found.error[0] == 0
    want = np.where(exact, tensors.round_to(found.value[0], dtype), found.value[0])
    bound = np.where(exact, 1e-300, tolerance.final(found, dtype)[0])
    return float((np.abs(got - want) / bound).max())


def test_the_bound_of_a_sum_is_no_wider_than_it_says() -> None:
    """The bound is factor sqrt(K) u_acc (|A| |B|), here 3 sqrt(16) 2**-24 5."""
    target = Tolerance(accumulate=DType.F32, factor=3.0, reason="a test")
    value, magnitude = np.zeros(1), np.full(1, 5.0)
    found = tolerance.product(value, magnitude, 16, False, target)
    assert float(found.error[0]) == 3.0 * 4.0 * 2.0**-24 * 5.0
    assert float(tolerance.final(found, DType.F32)[0]) == pytest.approx(float(found.error[0]))


def test_an_infinite_product_has_no_bound_beside_an_underflow() -> None:
    """Two factors of 1e-30, multiplied first, are zero in f32, and the product is NaN."""
    target = Tolerance(accumulate=DType.F32, factor=3.0, reason="a test")
    x = np.array([[np.inf, 1e-30, 1e-30], [-np.inf, 1e-30, 4.0], [np.inf, 1e30, 1e30]])
    rows = rowwise.BoundedRows({}, 3, target, DType.F32)
    value, error = rows.fold("prod", (x, np.zeros(x.shape)))
    np.testing.assert_array_equal(value[:, 0], [np.inf, -np.inf, np.inf])
    np.testing.assert_array_equal(error[:, 0], [np.inf, 0.0, 0.0])


def test_an_overflow_has_the_sign_of_what_overflows() -> None:
    """The largest f16 is 65504; a sum near it may become infinite, but not of the other sign."""
    error = np.full(1, 100.0)
    expected = Estimate(value=np.full(1, 65500.0), error=error, accumulate=DType.F32)
    for got, wrong in ((np.inf, 0.0), (-np.inf, np.inf)):
        assert float(compare.deviations(expected, np.full(1, got), DType.F16)[0][0]) == wrong


def test_whole_numbers_must_come_out_exact(entry_for: EntryFor) -> None:
    spec = Matmul(m=8, n=8, k=4096, dtype=DType.F16, alpha=0.5, beta=2.0, epilogue=(Epilogue.BIAS,))
    entry = entry_for(spec)
    whole = next(d for d in inputs.data_sets(entry, 0) if d.whole)
    box = (slice(0, 1), slice(0, 8), slice(0, 8))
    assert not oracle.estimate(entry, whole.buffers, box, True).error.any()
    assert oracle.estimate(entry, whole.buffers, box, False).error.all()


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_an_honest_softmax_is_inside_its_bound(
    entry_for: EntryFor, log: bool, scale: float
) -> None:
    entry = entry_for(softmax_of(4, 5000, dtype=DType.F32, log=log))
    x = (np.random.default_rng(0).standard_normal((4, 5000)) * scale).astype(np.float32)
    buffers = {"x": x.view(np.uint8).reshape(-1)}
    box = (slice(0, 4), slice(0, 5000))
    found = oracle.estimate(entry, buffers, box)
    shifted = x - x.max(axis=1, keepdims=True)
    # One term after another, as one lane would add them.
    sums = np.exp(shifted).cumsum(axis=1, dtype=np.float32)[:, -1:]
    got = shifted - np.log(sums) if log else np.exp(shifted) / sums
    error = np.abs(got - found.value) / tolerance.final(found, DType.F32)
    assert error.max() <= 1.0
    assert error.max() > 0.01, "the bound is too wide to catch anything"


@pytest.mark.parametrize("flushed", [False, True])
def test_results_that_are_rounded_may_be_zero_where_the_kernel_says_so(flushed: bool) -> None:
    """A norm times 0 equals its shift exactly; 2^-130 is subnormal, and 2^-126 is not. The other
    output keeps its bound."""
    target = Tolerance(
        accumulate=DType.F32,
        factor=4.0,
        flushed_outputs=("out",) if flushed else (),
        reason="a test",
    )
    found = formulas_in("h = add(x, shift); out = layer_norm(x, scale, shift, 1e-05)")
    ones, shift = np.ones((1, 3)), np.array([[-(2.0**-130), 2.0**-126, 1.0]])
    values = {"x": 0.0 * ones, "scale": 0.0 * ones, "shift": shift}
    for name, error in (("h", 0.0), ("out", 2.0**-130 if flushed else 0.0)):
        found_of = rowwise.estimate(found, name, values, 0, 1, target, out=DType.BF16)
        np.testing.assert_array_equal(found_of.value, shift)
        np.testing.assert_array_equal(found_of.error, [[error, 0.0, 0.0]])


def specs_with_gaps() -> tuple[Spec, ...]:
    return (
        Matmul(
            m=3, n=4, k=5, lda=9, ldb=7, ldc=6, batch=2, beta=1.0, epilogue=(Epilogue.RESIDUAL,)
        ),
        Matmul(m=3, n=4, k=5, layout=Layout.TT, lda=4, ldb=8),
    )


@pytest.mark.parametrize("spec", specs_with_gaps(), ids=lambda s: s.key)
def test_gaps_of_inputs_hold_nan(entry_for: EntryFor, spec: Spec) -> None:
    entry = entry_for(spec)
    data = next(inputs.data_sets(entry, 0))
    for param in entry.inputs:
        flat = tensors.decode(tensors.flat_bits(data.buffers[param.name], param.dtype), param.dtype)
        assert np.isnan(flat).sum() == param.extent - math.prod(param.shape)


def test_sums_in_f64_are_rounded_though_the_oracle_does_not_see_it() -> None:
    start = Estimate(value=np.array([0.1, 4.0]), error=np.zeros(2), accumulate=DType.F64)
    error = start.add(np.array([0.2, 3.0])).error
    assert 2.0**-53 * 0.3 < error[0] < 2.0**-51 * 0.3
    assert error[1] == 0.0


def test_an_exact_sum_of_inexact_operands_is_rounded() -> None:
    start = Estimate(value=np.array([1.0]), error=np.array([2.0**-26]), accumulate=DType.F32)
    assert start.add(np.array([2.0])).error[0] > 3.0 * DType.F32.unit_roundoff
