"""Row-wise kernels executed here, under qemu and in the emulator; verification finds a changed
instruction."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import kgen_runtime
from kgen import pipeline
from kgen.bundle import pack
from kgen.check.verify.run import verify
from kgen.schedule import CpuRows, CpuSplitRows
from kgen.spec import DType, Elementwise, Rowwise
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.rows.rowwise import RowwisePlan
from kgen.targets.rows.shifted import head_of
from tests.device.cpu.cpu_support import (
    GuardedBytes,
    addresses,
    check,
    here,
    load,
    require_qemu,
    target,
)
from tests.device.cpu.test_streams import loaded
from tests.needs import executed

X86 = ("x86-64-v4+bf16", "x86-64", "x86-64-v3", "x86-64-v4")
F32, F16, BF16 = DType.F32, DType.F16, DType.BF16


def spec_of(text: str, *shapes: tuple[int, ...], dtype: DType = F32, last: int = 1) -> Rowwise:
    return Rowwise(expression=text, shapes=shapes, dtype=dtype, axes=tuple(range(-last, 0)))


SPECS = (
    spec_of("softmax(x)", (5, 1), dtype=F16),
    spec_of("softmax(x)", (9, 203), dtype=BF16),
    spec_of("log_softmax(x)", (9, 203)),
    spec_of("softmax(x)", (2, 40000), dtype=F16),
    spec_of("layer_norm(x, scale, shift)", (5, 97), (97,), (5, 1), dtype=F16),
    # A subnormal shift is a result by itself, which AVX512_BF16 makes zero as it rounds.
    spec_of("layer_norm(x, w, b)", (1, 7), (7,), (7,), dtype=BF16),
    # Lines: one element of the scale for each, and inputs that begin again in each.
    spec_of("layer_norm(x, scale, shift)", (3, 4, 37), (4, 1), (37,), last=2),
    spec_of("sum(x * scale + column)", (3, 2, 4, 5), (2, 1, 5), last=3),
    spec_of("amax(x) - amin(x)", (7, 33), dtype=BF16),
    spec_of("prod(x)", (3, 7)),
    spec_of("argmin(x)", (3, 300), dtype=F16),
    spec_of("mean(x) * scale", (7, 9), (7, 1)),
    # A mask over heads, a row's number in its matrix.
    spec_of("softmax(where(column <= row, x + mask, -inf))", (2, 3, 19, 19), (2, 1, 1, 19)),
    # Two values that are kept at once, and one that takes the other's place.
    spec_of("softmax(exp(x) / amax(x)) + tanh(x) * mean(tanh(x))", (3, 50)),
)


@pytest.mark.parametrize("name", X86)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.key)
def test_rows_on_this_cpu(spec: Rowwise, name: str) -> None:
    check(spec, here(name))


def test_rows_under_qemu() -> None:
    require_qemu()
    for spec in SPECS[1:7:2]:
        check(spec, target("aarch64-neon"))


@pytest.mark.parametrize("unroll", [1, 2, 3])
def test_rows_in_any_number_of_vectors(unroll: int) -> None:
    """Rows with and without whole steps, single vectors and a remainder; the last task is
    partial."""
    found = here("x86-64-v3")
    for cols in (1, 7, 8, 16, 17, 24, 25, 48):
        spec = spec_of("softmax(x) - mean(x)", (5, cols))
        check(spec, found, CpuRows(task=2, unroll=unroll))


@pytest.mark.parametrize("cols", [1, 16, 33, 300])
def test_rounded_by_an_instruction(cols: int) -> None:
    """The kernel requires AVX512-BF16, and rounds by it."""
    for text in ("softmax(x)", "log_softmax(x)"):
        spec = spec_of(text, (7, cols), dtype=BF16)
        kernel = pipeline.kernel(spec, target("x86-64-v4+bf16"))
        artifacts = pack([kernel]).manifest.kernels[0].artifacts
        assert any("avx512_bf16" in a.requires.get("features", ()) for a in artifacts)
        check(spec, target("x86-64-v4+bf16"))


def test_what_is_kept_lies_in_out_or_on_the_stack() -> None:
    for name in executed(X86[1:]):
        found = target(name)
        small = dataclasses.replace(found, limits={**found.limits, "l3_bytes": 4096})
        for limits, cols in ((found, 40000), (small, 128), (small, 127)):
            check(spec_of("softmax(x)", (2, cols)), limits)


def small_caches(name: str) -> Target:
    """Return a target whose last-level cache is as small as the tests' rows."""
    found = here(name)
    return dataclasses.replace(found, limits={**found.limits, "l3_bytes": 128})


@pytest.mark.parametrize("name", X86[1:])
@pytest.mark.parametrize("dtype", [F32, BF16], ids=str)
def test_rows_past_the_caches_wherever_they_lie(name: str, dtype: DType) -> None:
    """The output has any distance from an aligned address, and rows any length of at least a
    vector; no byte outside is written."""
    found = small_caches(name)
    for cols in (16, 31, 131):
        spec = spec_of("layer_norm(x)", (5, cols), dtype=dtype)
        plan = pipeline.plan(spec, found)
        assert "!nontemporal !0" in pipeline.source(plan).text
        check(spec, found)
        run = loaded(spec, name, CpuRows(task=2, unroll=2, nontemporal=True))
        plain = loaded(spec, name, CpuRows(task=2, unroll=2))
        x, expected = (GuardedBytes(spec.elements * dtype.itemsize, at_end=True) for _ in "xy")
        values = np.random.default_rng(0).standard_normal(spec.elements).astype(np.float32)
        bits = values.view(np.uint32) >> (32 - 8 * dtype.itemsize)
        x.data[:] = bits.astype(f"u{dtype.itemsize}").view(np.uint8)
        plain(x.address, expected.address, 0, 3)
        for shift in range(0, 64, 4 if cols > 64 else 12):
            out = GuardedBytes(x.data.size + shift, at_end=shift % 8 == 0)
            out.data[:] = 0xA5
            run(x.address, out.address + shift, 0, 3)
            assert np.array_equal(out.data[shift:], expected.data), (cols, shift)
            assert np.all(out.data[:shift] == 0xA5)


def test_lines_are_fetched_where_rows_come_from_memory() -> None:
    """Only data beyond the caches is prefetched, and results do not change."""

    def fetches(spec: Rowwise, of: Target) -> dict[str, int]:
        plan = pipeline.plan(spec, of)
        assert isinstance(plan, RowwisePlan)
        assert ("@llvm.prefetch" in pipeline.source(plan).text) == bool(plan.fetches)
        return {fetch.name: fetch.phase for fetch in plan.fetches}

    plain, small = here("x86-64-v3"), small_caches("x86-64-v3")
    norm = spec_of("layer_norm(x, scale, shift)", (5, 97), (97,), (5, 1))
    assert fetches(spec_of("var(x)", (5, 97)), small) == {"x": 0}
    assert fetches(norm, small) == {"x": 2}
    assert fetches(spec_of("softmax(x)", (5, 97), dtype=F16), small) == {"out": 1}
    assert fetches(spec_of("rms_norm(x)", (5, 97), dtype=F16), small) == {}
    for spec in (norm, spec_of("var(x)", (5, 97)), spec_of("softmax(x)", (5, 97), dtype=F16)):
        assert fetches(spec, plain) == {}
        check(spec, small)
    middle = dataclasses.replace(plain, limits={**plain.limits, "l3_bytes": 2 * norm.bytes_moved})
    assert fetches(norm, middle) == {}
    half = dataclasses.replace(plain, limits={**plain.limits, "l3_bytes": norm.bytes_moved})
    assert fetches(norm, half) == {"x": 2, "out": 1}
    assert not pipeline.plan(norm, half).schedule.nontemporal  # type: ignore[attr-defined]
    check(norm, half)


def test_products_are_added_by_one_instruction() -> None:
    """A fused multiply-add is used where the CPU has it, and nothing else uses the product."""
    both, one = "sum(x * x) + amax(x * x)", "sum(x * x)"
    for text, name, fused in (
        (one, "x86-64-v3", True),
        (one, "x86-64", False),
        (both, "x86-64-v3", True),
        ("sum(x)", "x86-64-v3", False),
    ):
        source = pipeline.source(pipeline.plan(spec_of(text, (3, 67)), target(name))).text
        assert ("call <8 x float> @llvm.fma" in source) == fused, text
        check(spec_of(text, (3, 67)), here(name))
    # A product that is kept for later is there already.
    check(
        spec_of("sigmoid(x) * sigmoid(x) / sum(sigmoid(x) * sigmoid(x))", (3, 67)),
        here("x86-64-v3"),
    )


#: What is changed, from what, to what. The inputs of the first data set are below zero in no row
#: alone, so that a maximum over elements that are not there shows where they are negative.
MUTATIONS = (
    ("exchange", r"(%sum\.by1 = shufflevector <\d+ x float> )%\S+,", r"\1%sum.by2,"),
    ("join", r"(%sum\.u1\.fold\.sum\.joined = fadd .*), %\S+$", r"\1, zeroinitializer"),
    (
        "identity",
        r"(%sum\.t0\.fold\.sum = .*)%sum\.t0\.fold\.sum\.there",
        r"\1%sum.t0_exp2_nonpositive",
    ),
    ("kept", r"^ *store .*%sum\.u1\.kept\.0\.at.*\n", ""),
)


@pytest.mark.parametrize(
    ("what", "pattern", "replacement"), MUTATIONS, ids=[m[0] for m in MUTATIONS]
)
def test_verify_sees_one_changed_instruction(what: str, pattern: str, replacement: str) -> None:
    kernel = pipeline.kernel(spec_of("softmax(x)", (3, 100)), here("x86-64-v3"))
    text, count = re.subn(pattern, replacement, kernel.source.text, count=1, flags=re.MULTILINE)
    assert count == 1, f"{pattern} is not in the kernel"
    source = dataclasses.replace(kernel.source, text=text)
    assembled = FAMILY.assemble(source, kernel.plan)
    changed = dataclasses.replace(kernel, source=source, assembled=assembled)
    (result,) = verify(pack([changed])).kernels
    assert result.status == "failed", result.to_json()


@pytest.mark.parametrize("name", X86)
def test_exponentials_to_units_in_the_last_place(name: str) -> None:
    """Arguments are unrestricted, or known not to be above zero."""
    count = 1 << 14
    ends = ((-0.5, 0.5), (-126.0, 127.9), (-130.0, -124.0), (126.0, 130.0), (-1e9, 1e9))
    x = np.concatenate([np.linspace(*pair, count) for pair in ends]).astype(np.float32)
    x[:4] = np.inf, -np.inf, 0.0, np.array(0x7FC00001, np.uint32).view(np.float32)
    for text, argument in (
        ("exp2(x)", x),
        ("exp2(-abs(x))", -np.abs(x)),
        ("exp2(-abs(x) * 1.5)", -np.abs(x.astype(np.float64)) * 1.5),
    ):
        out = np.zeros_like(x)
        spec = Elementwise(expression=text, shapes=(x.shape,), dtype=F32)
        load(spec, here(name)).run(addresses({"x": x, "out": out}))
        with np.errstate(all="ignore"):
            true = np.exp2(argument.astype(np.float64))
            # A product that is rounded on the way costs digits, where it is.
            rounding = np.abs(argument) * 2.0**-24 * ("*" in text and name == "x86-64")
            bound = np.where(true < 2.0**-126, true, true * (2.0**-22 + rounding))
            right = np.abs(out.astype(np.float64) - true) <= bound
            right |= np.isinf(out) & (true >= 2.0**128) | np.isnan(out) & np.isnan(true)
        assert right.all(), (text, argument[~right][:5], out[~right][:5])
        assert out[2] == 1.0


def test_inputs_may_have_any_name() -> None:
    """Names of inputs do not clash with the kernel's values."""
    for name in ("r", "i", "s", "begin", "end", "entry", "maxnum", "kept0", "u0", "fold", "first"):
        for expression in (f"{name} * y", f"softmax({name} * y)"):
            kind = Rowwise if "softmax" in expression else Elementwise
            spec = kind(expression=expression, shapes=((3, 50), (50,)), dtype=F32)
            check(spec, here("x86-64-v3"))


def test_numbers_with_halves_are_rounded_without_an_instruction() -> None:
    x = np.array([0.5, 1.5, -2.5, 4194304.5, -4194305.5, 8388607.5, 3e9, np.nan], np.float32)
    out = np.zeros_like(x)
    spec = Elementwise(expression="round(x)", shapes=(x.shape,), dtype=F32)
    load(spec, here("x86-64")).run(addresses({"x": x, "out": out}))
    assert np.array_equal(out, np.rint(x), equal_nan=True)


def test_columns_are_rounded_and_saturated() -> None:
    """NaN becomes 0; ties go to the even number."""
    x = np.array([[0.5], [1.5], [-2.5], [np.nan], [np.inf], [-3e9]], np.float32)
    out = np.zeros(6, np.int32)
    spec = Rowwise(expression="amax(x)", shapes=(x.shape,), dtype=F32, out_dtype=DType.S32)
    for name in executed(X86):
        load(spec, here(name)).run(addresses({"x": x, "out": out}))
        assert out.tolist() == [0, 2, -2, 0, 2**31 - 1, -(2**31)]


def streaming(name: str) -> Target:
    """Return a target whose caches hold no row."""
    found = here(name)
    return dataclasses.replace(found, limits={**found.limits, "l2_bytes": 64, "l3_bytes": 64})


@pytest.mark.parametrize("name", X86[2:])
@pytest.mark.parametrize("text", ["softmax(x) + logsumexp(x)", "layer_norm(x) + argmin(x)"])
def test_rows_that_no_cache_keeps(text: str, name: str) -> None:
    """Rows are read once or twice: one vector and less, steps with and without a remainder,
    whole lines, and rows that share a line."""
    for cols in (5, 63, 1030):
        check(spec_of(text, (3, cols), dtype=BF16 if cols == 63 else F32), streaming(name))
    check(spec_of(text.replace("(x)", "(x + y)", 1), (2, 3, 70), (3, 1), last=2), streaming(name))
    columns = Rowwise(expression=text, shapes=((130, 17),), dtype=F32, axes=(0,))
    check(columns, streaming(name))


@pytest.mark.parametrize(
    ("name", "cols"),
    [("x86-64-v4", 1030), ("x86-64-v3", 1030), ("x86-64-v3", 65), ("x86-64-v3", 64)],
)
def test_rows_in_parts(name: str, cols: int) -> None:
    """Each reduction has one launch; parts with and without a remainder, more parts than a
    vector has elements, row and element outputs, several inputs."""
    found = here(name)
    for text in ("softmax(x) + logsumexp(x)", "layer_norm(x) + argmin(x)", "var(x)", "argmax(x)"):
        dtype = BF16 if "norm" in text else F32
        check(spec_of(text, (3, cols), dtype=dtype), found, CpuSplitRows(task=32, unroll=2))
    both = "h = x * column; m = amax(h); out = rms_norm(h, w) * row"
    spec = Rowwise(expression=both, shapes=((3, cols), (cols,)), dtype=F32, axes=(1,))
    check(spec, found, CpuSplitRows(task=64 if cols > 64 else 32, unroll=2))


def test_threads_do_not_change_what_parts_give(tmp_path: Path) -> None:
    """Results have the same bits with one and with several threads."""
    x = np.random.default_rng(0).standard_normal((3, 300_001)).astype(np.float32)
    bundle = pack([pipeline.kernel(spec_of("layer_norm(x)", x.shape), here("x86-64-v3"))])
    assert len(bundle.manifest.kernels[0].launches) == 2
    path, found = bundle.save(tmp_path / "rows.kgen"), []
    for threads in (1, 2, 3):
        with kgen_runtime.load(path, device="cpu", num_threads=threads) as kernels:
            (kernel,) = kernels.values()
            found += [np.asarray(kernel(x)).copy() for _ in range(5)]
    assert all(np.array_equal(out, found[0]) for out in found)


def test_reductions_of_what_is_the_same_for_a_row_that_is_streamed() -> None:
    check(spec_of("x * softmax(y) + argmax(y)", (3, 333), (3, 1), dtype=F32), streaming("x86-64"))


@pytest.mark.parametrize("name", X86[2:])
def test_online_sums_and_places_of_infinities(name: str) -> None:
    """Rows have -inf before any number, +inf after numbers, NaN after the maximum, or equal
    maxima of which one is a signed zero."""
    rows = np.full((6, 333), -np.inf, np.float32)
    rows[1, 300] = -1000.0
    rows[2, 7:] = 3.0
    rows[2, 250] = np.inf
    rows[3, :], rows[3, [200, 210]] = 5.0, np.nan
    rows[4, 100], rows[4, 130] = -0.0, 0.0
    rows[5, :], rows[5, [17, 180]] = -1.0, 88.0
    found = streaming(name)
    places = np.zeros(6, np.int32)
    load(spec_of("argmax(x)", rows.shape), found).run(addresses({"x": rows, "out": places}))
    assert places.tolist() == [0, 300, 250, 200, 100, 17]
    sums = np.zeros(6, np.float32)
    load(spec_of("logsumexp(x)", rows.shape), found).run(addresses({"x": rows, "out": sums}))
    assert np.isnan(sums[3])
    expected = [-np.inf, -1000.0, np.inf, 0.0, np.log(2), 88.0 + np.log(2)]
    assert np.allclose(sums[[0, 1, 2, 4, 5]], np.delete(expected, 3), rtol=2e-7)
    out = np.zeros_like(rows)
    load(spec_of("softmax(x)", rows.shape), found).run(addresses({"x": rows, "out": out}))
    assert np.isnan(out[[0, 2, 3]]).all()
    assert out[1, 300] == 1.0 and np.all(out[4, [100, 130]] == 0.5)
    assert np.allclose(out[5, [17, 180]], 0.5) and out[5].sum() == 1.0


@pytest.mark.parametrize("streamed", [False, True])
def test_a_large_mean_costs_a_variance_no_digits(streamed: bool) -> None:
    """Two passes: the mean of n elements is off by d <= n / (lanes x vectors) u |mean|, which adds
    d^2 to the variance; the mean of squares less the square of the mean would lose all digits.
    Shifted sums of a streamed row have the error of its sums, 1 + 2 n / h times at most, however
    large the mean is: the worst row has all that differs among the h first columns."""
    cols, mean = 100_003, 1e4
    spec = spec_of("var(x)", (2, cols))
    found = streaming("x86-64-v3") if streamed else here("x86-64-v3")
    x = np.random.default_rng(0).standard_normal((2, cols)).astype(np.float32) + np.float32(mean)
    plan = pipeline.plan(spec, found)
    assert isinstance(plan, RowwisePlan)
    head = head_of(plan.row.phases[0]) if streamed else cols
    assert 64 <= cols / head < 66 or not streamed
    x[1, :head] += 1000.0 if streamed else 0.0
    exact = x.astype(np.float64).var(axis=1)
    chain = cols / plan.run.step
    unit = 2.0**-24
    got = np.zeros(2, np.float32)
    load(spec, found).run(addresses({"x": x, "out": got}))
    off = 0.0 if streamed else (chain * unit * mean) ** 2
    times = np.array([1.0, 1.0 + 2.0 * cols / head if streamed else 1.0])
    assert np.all(np.abs(got - exact) <= off + 2 * chain * unit * exact * times)
    assert np.all(np.abs(got - exact) < 1e-3 * exact)
    # What one pass without a shift would give.
    squares = (x * x).mean(axis=1) - x.mean(axis=1) ** 2
    assert np.abs(squares - exact)[0] > exact[0]


def test_equal_elements_have_no_variance() -> None:
    """The variance is neither negative nor large."""
    x = np.array([[0.1], [1e15], [-3e-39], [0.0]], np.float32).repeat(1030, axis=1)
    out = np.zeros(4, np.float32)
    load(spec_of("var(x)", x.shape), streaming("x86-64-v3")).run(addresses({"x": x, "out": out}))
    assert np.all(out >= 0.0) and np.all(out <= (x[:, 0] * 2.0**-22) ** 2)
