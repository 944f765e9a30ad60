"""Every group of PTX instructions against numpy, with special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.emulate.ptx.ptx_programs import Array, elementwise, program, run

RNG = np.random.default_rng(1)
N = 64
U = RNG.integers(0, 2**32, N, dtype=np.uint32)
U[:6] = [0, 1, 2**31, 2**31 - 1, 2**32 - 1, 31]
V = RNG.integers(0, 2**32, N, dtype=np.uint32)
V[:6] = [1, 2**32 - 1, 1, 2, 3, 0]
SMALL = RNG.integers(0, 40, N, dtype=np.uint32)
S, R = U.view(np.int32), V.view(np.int32)
F = RNG.standard_normal(N).astype(np.float32)
F[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3.4e38, 2.5]
G = RNG.standard_normal(N).astype(np.float32)
G[:8] = [1.0, 2.0, 3.0, -1.0, 1.0, 1.0, 10.0, np.nan]
with np.errstate(over="ignore"):
    HALF = F.astype(np.float16)

Reference = Callable[..., Array]


def _wide(a: Array, b: Array) -> Array:
    return a.astype(np.uint64) * b.astype(np.uint64)


INTEGER: list[tuple[str, Reference, list[Array]]] = [
    ("add.u32 {}, {}, {};", lambda a, b: a + b, [U, V]),
    ("sub.s32 {}, {}, {};", lambda a, b: a - b, [U, V]),
    ("mul.lo.u32 {}, {}, {};", lambda a, b: a * b, [U, V]),
    ("mul.hi.u32 {}, {}, {};", lambda a, b: (_wide(a, b) >> 32).astype(np.uint32), [U, V]),
    ("mad.lo.u32 {}, {}, {}, {};", lambda a, b, c: a * b + c, [U, V, SMALL]),
    ("min.s32 {}, {}, {};", lambda a, b: np.minimum(a.view("i4"), b.view("i4")).view("u4"), [U, V]),
    ("max.u32 {}, {}, {};", np.maximum, [U, V]),
    ("div.u32 {}, {}, {};", lambda a, b: a // b, [U, np.maximum(V, 1)]),
    ("rem.u32 {}, {}, {};", lambda a, b: a % b, [U, np.maximum(V, 1)]),
    ("div.s32 {}, {}, {};",
     lambda a, b: np.trunc(a.view("i4") / b.view("i4").astype(float)).astype("i8").astype("u4"),
     [U, np.maximum(V, 3)]),
    ("and.b32 {}, {}, {};", np.bitwise_and, [U, V]),
    ("xor.b32 {}, {}, {};", np.bitwise_xor, [U, V]),
    ("not.b32 {}, {};", np.invert, [U]),
    ("shl.b32 {}, {}, {};", lambda a, s: np.where(s > 31, 0, a << (s & 31)), [U, SMALL]),
    ("shr.u32 {}, {}, {};", lambda a, s: np.where(s > 31, 0, a >> (s & 31)), [U, SMALL]),
    ("shr.s32 {}, {}, {};",
     lambda a, s: (a.view("i4") >> np.minimum(s, 31).astype("i4")).view("u4"), [U, SMALL]),
    ("bfe.u32 {}, {}, 7, 5;", lambda a: (a >> 7) & 31, [U]),
    ("bfe.s32 {}, {}, 28, 4;", lambda a: (a.view("i4") >> 28).view("u4"), [U]),
    ("bfi.b32 {}, {}, {}, 8, 4;", lambda a, b: (b & ~np.uint32(0xF00)) | (a & 15) << 8, [U, V]),
    ("popc.b32 {}, {};", np.bitwise_count, [U]),
    ("lop3.b32 {}, {}, {}, {}, 0xCA;", lambda a, b, c: (a & b) | (~a & c), [U, V, SMALL]),
    ("prmt.b32 {}, {}, {}, 0x5410;", lambda a, b: (a & 0xFFFF) | (b << 16), [U, V]),
    ("shf.l.wrap.b32 {}, {}, {}, 8;", lambda a, b: (b << 8) | (a >> 24), [U, V]),
    ("abs.s32 {}, {};", lambda a: np.abs(a.view("i4")).view("u4"), [U]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("instruction", "reference", "sources"), INTEGER, ids=lambda x: str(x)[:16]
)
def test_integers(instruction: str, reference: Reference, sources: list[Array]) -> None:
    kinds = " ".join(["u32"] * (len(sources) + 1))
    got = elementwise(instruction, kinds, sources, np.uint32)
    np.testing.assert_array_equal(got, reference(*sources).astype(np.uint32))


FLOAT: list[tuple[str, Reference, list[Array]]] = [
    ("add.f32 {}, {}, {};", np.add, [F, G]),
    ("sub.f32 {}, {}, {};", np.subtract, [F, G]),
    ("mul.f32 {}, {}, {};", np.multiply, [F, G]),
    ("div.rn.f32 {}, {}, {};", np.divide, [F, G]),
    ("min.f32 {}, {}, {};", np.fmin, [F, G]),
    ("max.NaN.f32 {}, {}, {};", np.maximum, [F, G]),
    ("max.f32 {}, {}, {};", np.fmax, [F, G]),
    ("neg.f32 {}, {};", np.negative, [F]),
    ("abs.f32 {}, {};", np.abs, [F]),
    ("sqrt.rn.f32 {}, {};", np.sqrt, [F]),
    ("rcp.rn.f32 {}, {};", lambda a: np.float32(1) / a, [F]),
    ("fma.rn.f32 {}, {}, {}, {};",
     lambda a, b, c: (a.astype("f8") * b + c).astype("f4"), [F, G, F[::-1].copy()]),
    ("cvt.rzi.f32.f32 {}, {};", np.trunc, [F]),
]  # fmt: skip


@pytest.mark.parametrize(("instruction", "reference", "sources"), FLOAT, ids=lambda x: str(x)[:16])
def test_floats(instruction: str, reference: Reference, sources: list[Array]) -> None:
    kinds = " ".join(["f32"] * (len(sources) + 1))
    with np.errstate(all="ignore"):
        want = reference(*sources)
    np.testing.assert_array_equal(elementwise(instruction, kinds, sources, np.float32), want)


@pytest.mark.parametrize(
    ("instruction", "function"),
    [("ex2.approx.f32 {}, {};", np.exp2), ("lg2.approx.f32 {}, {};", np.log2),
     ("rsqrt.approx.f32 {}, {};", lambda a: 1 / np.sqrt(a))],
)  # fmt: skip
def test_approximate_functions(instruction: str, function: Any) -> None:
    x = np.abs(RNG.standard_normal(N)).astype(np.float32) + np.float32(0.1)
    got = elementwise(instruction, "f32 f32", [x], np.float32)
    np.testing.assert_allclose(got, function(x.astype(np.float64)), rtol=2e-7)


def test_flush_to_zero() -> None:
    tiny = np.array([1e-40, -1e-40, 1.5], np.float32)
    got = elementwise("add.ftz.f32 {}, {}, 0f00000000;", "f32 f32", [tiny], np.float32)
    np.testing.assert_array_equal(got, np.array([0, 0, 1.5], np.float32))


@pytest.mark.parametrize(
    ("instruction", "kinds", "source", "want"),
    [
        ("cvt.rni.s32.f32 {}, {};", "u32 f32", np.array([2.5, -3.5, 3e9, np.nan], "f4"),
         np.array([2, -4, 2**31 - 1, 0], "i4").view("u4")),
        ("cvt.rn.f32.s32 {}, {};", "f32 u32", np.array([-5, 7], "i4").view("u4"),
         np.array([-5, 7], "f4")),
        ("cvt.rn.f16.f32 {}, {};", "b16 f32", F, HALF.view("u2")),
        ("cvt.f32.f16 {}, {};", "f32 b16", HALF.view("u2"), HALF.astype("f4")),
        ("cvt.u32.u16 {}, {};", "u32 b16", np.array([65535, 1], "u2"), np.array([65535, 1], "u4")),
        ("cvt.rn.bf16.f32 {}, {};", "b16 f32", np.array([1.0, 1.00390625, 1.01171875, -2.5], "f4"),
         np.array([0x3F80, 0x3F80, 0x3F82, 0xC020], "u2")),
    ],
    ids=lambda x: str(x)[:18],
)  # fmt: skip
def test_conversions(instruction: str, kinds: str, source: Array, want: Array) -> None:
    with np.errstate(all="ignore"):
        got = elementwise(instruction, kinds, [source], want.dtype)
    if kinds.startswith("b16") and "f16" in instruction and "bf16" not in instruction:
        np.testing.assert_array_equal(got.view("f2"), want.view("f2"))
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("relation", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_are_false_with_nan_and_their_unordered_forms_true(relation: str) -> None:
    compare = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
               "eq": np.equal, "ne": np.not_equal}[relation]  # fmt: skip
    nan = np.isnan(F) | np.isnan(G)
    plain = elementwise(f"setp.{relation}.f32 {{}}, {{}}, {{}};", "pred f32 f32", [F, G], np.uint32)
    np.testing.assert_array_equal(plain != 0, compare(F, G) & ~nan)
    loose = elementwise(
        f"setp.{relation}u.f32 {{}}, {{}}, {{}};", "pred f32 f32", [F, G], np.uint32
    )
    np.testing.assert_array_equal(loose != 0, compare(F, G) | nan)


def test_packed_halves() -> None:
    pairs = RNG.standard_normal((N, 2)).astype(np.float16)
    words = pairs.view(np.uint32)[:, 0].copy()
    got = elementwise("fma.rn.f16x2 {}, {}, {}, {};", "u32 u32 u32 u32", [words] * 3, np.uint32)
    exact = pairs.astype(np.float64) ** 2 + pairs
    np.testing.assert_array_equal(got.view(np.float16).reshape(N, 2), exact.astype(np.float16))


def test_vector_loads_and_stores_of_bytes_to_words() -> None:
    source = np.arange(128, dtype=np.uint32)
    out = np.zeros(128, np.uint32)
    body = """
    mad.wide.u32 %a0, %i, 16, %p0;
    mad.wide.u32 %a1, %i, 16, %p1;
    ld.global.nc.v4.u32 {%r0, %r1, %r2, %r3}, [%a0];
    st.global.v2.u32 [%a1], {%r3, %r2};
    st.global.v2.u32 [%a1+8], {%r1, %r0};
    """
    run(program(body), source, out)
    np.testing.assert_array_equal(out.reshape(-1, 4), source.reshape(-1, 4)[:, ::-1])


def test_a_divergent_loop_reconverges() -> None:
    """Thread t adds up 0..t in a loop of t + 1 iterations; all threads meet at the store."""
    out = np.zeros(64, np.uint32)
    body = """
    mov.u32 %r0, 0;
    mov.u32 %r1, 0;
LOOP:
    add.u32 %r1, %r1, %r0;
    add.u32 %r0, %r0, 1;
    setp.le.u32 %q0, %r0, %t;
    @%q0 bra LOOP;
    mad.wide.u32 %a0, %i, 4, %p0;
    st.global.u32 [%a0], %r1;
    """
    report = run(program(body, params=1), out, threads=32, ctas=2)
    t = np.arange(32)
    np.testing.assert_array_equal(out.reshape(2, 32), np.tile(t * (t + 1) // 2, (2, 1)))
    assert (report.workgroups_run, report.workgroups_total) == (2, 2)


def test_a_sample_of_workgroups_touches_only_its_own() -> None:
    out = np.zeros(4 * 32, np.uint32)
    body = "    mad.wide.u32 %a0, %i, 4, %p0;\n    st.global.u32 [%a0], 7;"
    report = run(program(body, params=1), out, ctas=4, workgroups=[(2, 0, 0)])
    np.testing.assert_array_equal(out.reshape(4, 32).any(axis=1), [False, False, True, False])
    assert (report.workgroups_run, report.workgroups_total) == (1, 4)


SHUFFLES = [
    ("bfly", 1, np.arange(32) ^ 1),
    ("down", 4, np.minimum(np.arange(32) + 4, 31 + 0 * np.arange(32))),
    ("idx", 5, np.full(32, 5)),
    ("up", 3, np.arange(32) - 3),
]


@pytest.mark.parametrize(("mode", "amount", "source"), SHUFFLES, ids=lambda x: str(x)[:6])
def test_shuffles(mode: str, amount: int, source: Array) -> None:
    out = np.zeros(32, np.uint32)
    clamp = 0 if mode == "up" else 31
    body = f"""
    mul.lo.u32 %r0, %t, 3;
    shfl.sync.{mode}.b32 %r1|%q0, %r0, {amount}, {clamp}, 0xffffffff;
    mad.wide.u32 %a0, %i, 4, %p0;
    st.global.u32 [%a0], %r1;
    """
    run(program(body, params=1), out)
    lanes = np.arange(32)
    inside = {"down": lanes + amount <= 31, "up": lanes >= amount}.get(mode, lanes >= 0)
    np.testing.assert_array_equal(out, np.where(inside, source, lanes) * 3)


def test_vote_and_ballot() -> None:
    out = np.zeros(32, np.uint32)
    body = """
    setp.lt.u32 %q0, %t, 5;
    vote.sync.ballot.b32 %r0, %q0, 0xffffffff;
    mad.wide.u32 %a0, %i, 4, %p0;
    st.global.u32 [%a0], %r0;
    """
    run(program(body, params=1), out)
    np.testing.assert_array_equal(out, np.full(32, 31))


def test_atomic_add_counts_every_lane() -> None:
    out = np.zeros(1, np.uint32)
    run(program("    red.global.add.u32 [%p0], 1;", params=1), out, threads=64, ctas=3)
    assert out[0] == 192


def test_scalar_parameters_are_checked() -> None:
    from kgen import emulate
    from kgen.errors import EmulationError

    with pytest.raises(EmulationError, match=r"takes these arguments: .*; it got \d; pass 1"):
        run(program("", params=1), U, V)
    with pytest.raises(EmulationError, match="its argument has 4; pass an array for a pointer"):
        emulate.run(
            program("", params=1), language="ptx", entry="f", grid=(1, 1, 1), block=(32, 1, 1),
            arguments=[np.int32(3)],
        )  # fmt: skip
