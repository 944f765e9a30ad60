"""Intrinsics of floating point, packed bytes and short dot products, against numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.emulate.llvm.llvm_kernels import Array, kernel, lanewise

LANES = 64
X = np.linspace(-12, 12, LANES).astype(np.float32)
X[:6] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40]
Y = np.roll(X, 3)


def unary(name: str, values: Array = X) -> Array:
    out = np.zeros(LANES, np.float32)
    lanewise(
        f"  %r = call float @{name}(float %a)",
        [values],
        out,
        declarations=f"declare float @{name}(float)",
    )
    return out


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("llvm.exp.f32", np.exp),
        ("llvm.exp2.f32", np.exp2),
        ("llvm.amdgcn.exp2.f32", np.exp2),
        ("llvm.log.f32", np.log),
        ("llvm.log2.f32", np.log2),
        ("llvm.amdgcn.log.f32", lambda x: np.log2(np.where(np.abs(x) < 2.0**-126, 0 * x, x))),
        ("llvm.sqrt.f32", np.sqrt),
        ("llvm.amdgcn.sqrt.f32", np.sqrt),
        ("llvm.amdgcn.rcp.f32", lambda x: 1 / x),
        ("llvm.amdgcn.rsq.f32", lambda x: 1 / np.sqrt(x)),
        ("llvm.fabs.f32", np.abs),
        ("llvm.floor.f32", np.floor),
    ],
)
def test_functions(name: str, function: Any) -> None:
    with np.errstate(all="ignore"):
        expected = function(X.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(unary(name), expected, rtol=3e-7, atol=1e-45)


def test_minima_and_maxima_differ_in_nan() -> None:
    out = np.zeros(LANES, np.float32)
    for name, function in (
        ("minnum", np.fmin),
        ("maxnum", np.fmax),
        ("minimumnum", np.fmin),
        ("minimum", np.minimum),
        ("maximum", np.maximum),
    ):
        lanewise(
            f"  %r = call float @llvm.{name}.f32(float %a, float %b)",
            [X, Y],
            out,
            declarations=f"declare float @llvm.{name}.f32(float, float)",
        )
        np.testing.assert_array_equal(out, function(X, Y), err_msg=name)
    lanewise(
        "  %r = call float @llvm.amdgcn.fmed3.f32(float %a, float -1.0, float 2.5)",
        [X],
        out,
        declarations="declare float @llvm.amdgcn.fmed3.f32(float, float, float)",
    )
    finite = np.isfinite(X)
    np.testing.assert_array_equal(out[finite], np.clip(X[finite], -1, 2.5))


@pytest.mark.parametrize("name", ["minimum", "maximum", "minimumnum", "maximumnum"])
def test_minus_zero_is_less_than_zero(name: str) -> None:
    a = np.zeros(LANES, np.float32)
    a[::2] = -0.0
    out = np.zeros(LANES, np.float32)
    for x, y in ((a, -a), (-a, a)):
        lanewise(
            f"  %r = call float @llvm.{name}.f32(float %a, float %b)",
            [x, y],
            out,
            declarations=f"declare float @llvm.{name}.f32(float, float)",
        )
        assert (np.signbit(out) == name.startswith("min")).all()


def test_fused_multiply_add_rounds_once() -> None:
    """(1 + u)**2 - (1 + 2u) is u**2, which two roundings lose."""
    u = np.float32(2**-13)
    a = np.full(LANES, 1 + u, np.float32)
    out = np.zeros(LANES, np.float32)
    lanewise(
        "  %r = call float @llvm.fma.f32(float %a, float %a, float %b)",
        [a, np.full(LANES, -(1 + 2 * u), np.float32)],
        out,
        declarations="declare float @llvm.fma.f32(float, float, float)",
    )
    assert (out == u * u).all()


def test_scaling_and_exponents() -> None:
    out = np.zeros(LANES, np.float32)
    n = np.arange(LANES, dtype=np.uint32)
    lanewise(
        """
  %pair = call { float, i32 } @llvm.frexp.f32.i32(float %a)
  %m = extractvalue { float, i32 } %pair, 0
  %e = extractvalue { float, i32 } %pair, 1
  %n = sub i32 %e, %b
  %r = call float @llvm.ldexp.f32.i32(float %m, i32 %n)""",
        [X, n],
        out,
        declarations="declare { float, i32 } @llvm.frexp.f32.i32(float)\n"
        "declare float @llvm.ldexp.f32.i32(float, i32)",
    )
    np.testing.assert_array_equal(out, np.ldexp(X, -n.astype(np.int32)))


def test_packing_toward_zero() -> None:
    values = np.array([1.00048828125 + 1e-7, -1.0009, 65519.0, 1e-9] * 16, np.float32)
    out = np.zeros(LANES, np.uint32)
    lanewise(
        """
  %h = call <2 x half> @llvm.amdgcn.cvt.pkrtz(float %a, float 3.5)
  %r = bitcast <2 x half> %h to i32""",
        [values],
        out,
        declarations="declare <2 x half> @llvm.amdgcn.cvt.pkrtz(float, float)",
    )
    halves = out.view(np.float16).reshape(-1, 2)
    assert halves[:4, 0].tolist() == [1.0, -1.0, 65504.0, 0.0]
    assert (halves[:, 1] == 3.5).all()


def test_bytes_and_fields() -> None:
    a = np.random.default_rng(0).integers(0, 1 << 32, LANES, dtype=np.uint32)
    b = a[::-1].copy()
    out = np.zeros(LANES, np.uint32)
    selector = 0x0C070005  # byte 5, byte 0, byte 7, zero
    lanewise(
        f"  %r = call i32 @llvm.amdgcn.perm(i32 %a, i32 %b, i32 {selector})",
        [a, b],
        out,
        declarations="declare i32 @llvm.amdgcn.perm(i32, i32, i32)",
    )
    parts = np.stack([b, a], axis=1).view(np.uint8)
    expected = np.stack([parts[:, 5], parts[:, 0], parts[:, 7], 0 * parts[:, 0]], axis=1)
    np.testing.assert_array_equal(out, expected.copy().view(np.uint32)[:, 0])
    for name, shift in (("ubfe", np.uint32), ("sbfe", np.int32)):
        lanewise(
            f"  %r = call i32 @llvm.amdgcn.{name}.i32(i32 %a, i32 7, i32 9)",
            [a],
            out,
            declarations=f"declare i32 @llvm.amdgcn.{name}.i32(i32, i32, i32)",
        )
        top = (a << np.uint32(16)).view(shift) >> shift(23)
        np.testing.assert_array_equal(out, top.view(np.uint32))
        # A field that ends behind the last bit has that bit, or zeros, there.
        lanewise(
            f"  %r = call i32 @llvm.amdgcn.{name}.i32(i32 %a, i32 27, i32 9)",
            [a],
            out,
            declarations=f"declare i32 @llvm.amdgcn.{name}.i32(i32, i32, i32)",
        )
        np.testing.assert_array_equal(out, (a.view(shift) >> shift(27)).view(np.uint32))


def test_dot_products() -> None:
    rng = np.random.default_rng(1)
    halves = rng.integers(-9, 9, (2, LANES, 2)).astype(np.float16)
    a, b = (np.ascontiguousarray(h).view(np.uint32)[:, 0] for h in halves)
    out = np.zeros(LANES, np.float32)
    lanewise(
        """
  %x = bitcast i32 %a to <2 x half>
  %y = bitcast i32 %b to <2 x half>
  %r = call float @llvm.amdgcn.fdot2(<2 x half> %x, <2 x half> %y, float %c, i1 false)""",
        [a, b, np.nan_to_num(X, posinf=1, neginf=2)],
        out,
        cpu="gfx1030",
        declarations="declare float @llvm.amdgcn.fdot2(<2 x half>, <2 x half>, float, i1 immarg)",
    )
    exact = (halves[0].astype(np.float64) * halves[1]).sum(axis=1)
    exact += np.nan_to_num(X, posinf=1, neginf=2)
    np.testing.assert_array_equal(out, exact.astype(np.float32))
    words = np.zeros(LANES, np.uint32)
    lanewise(
        "  %r = call i32 @llvm.amdgcn.sdot4(i32 %a, i32 %b, i32 -7, i1 false)",
        [a, b],
        words,
        cpu="gfx1030",
        declarations="declare i32 @llvm.amdgcn.sdot4(i32, i32, i32, i1 immarg)",
    )
    products = a.view(np.int8).astype(int) * b.view(np.int8).astype(int)
    expected = products.reshape(LANES, 4).sum(axis=1) - 7
    np.testing.assert_array_equal(words.view(np.int32), expected)


def test_hints_do_nothing_and_uniform_values_stay_small() -> None:
    """Scheduling words are accepted; a kernel of uniform values costs no more than one lane."""
    from tests.emulate.llvm.llvm_kernels import run

    source = kernel(
        """
  call void @llvm.amdgcn.sched.group.barrier(i32 8, i32 1, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  call void @llvm.assume(i1 true)
  %x = load float, ptr addrspace(1) %p
  %y = call float @llvm.exp2.f32(float %x)
  store float %y, ptr addrspace(1) %p
  ret void""",
        "ptr addrspace(1) %p",
        declarations="""
declare void @llvm.amdgcn.sched.group.barrier(i32 immarg, i32 immarg, i32 immarg)
declare void @llvm.amdgcn.s.setprio(i16 immarg)
declare void @llvm.assume(i1)
declare float @llvm.exp2.f32(float)""",
    )
    data = np.array([3.0], np.float32)
    run(source, entry="k", grid=(1, 1, 1), block=(256, 1, 1), arguments=[data], checks=False)
    assert data[0] == math.exp2(3)
