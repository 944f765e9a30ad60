"""Intrinsics that few kernels use, in every lane, against numpy or plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.emulate.llvm.llvm_kernels import (
    LANE,
    OTHERS,
    WORDS,
    Array,
    as_signed,
    in_lanes,
    lanewise,
)

FLOATS = np.random.default_rng(5).normal(size=64).astype(np.float32) * 9
POSITIVE = np.abs(FLOATS) + np.float32(0.125)


EXACT: dict[str, tuple[bool, Callable[[int, int], int]]] = {
    name: (name[0] == "s", operation)
    for name, operation in {
        "uadd": lambda a, b: a + b,
        "sadd": lambda a, b: a + b,
        "usub": lambda a, b: a - b,
        "ssub": lambda a, b: a - b,
        "umul": lambda a, b: a * b,
        "smul": lambda a, b: a * b,
    }.items()
}


def exact(name: str) -> list[int]:
    is_signed, operation = EXACT[name]
    read = as_signed if is_signed else int
    return [operation(read(int(a)), read(int(b))) for a, b in zip(WORDS, OTHERS, strict=True)]


def limits(name: str) -> tuple[int, int]:
    return (-(1 << 31), (1 << 31) - 1) if name[0] == "s" else (0, (1 << 32) - 1)


@pytest.mark.parametrize("name", EXACT)
def test_with_overflow(name: str) -> None:
    call = f"@llvm.{name}.with.overflow.i32"
    declare = f"declare {{i32, i1}} {call}(i32, i32)"
    body = f"  %pair = call {{i32, i1}} {call}(i32 %a, i32 %b)\n"
    low, high = limits(name)
    value = in_lanes(
        body + "  %r = extractvalue {i32, i1} %pair, 0", [WORDS, OTHERS], np.uint32, declare
    )
    np.testing.assert_array_equal(value, [v & 0xFFFFFFFF for v in exact(name)])
    flag = body + "  %o = extractvalue {i32, i1} %pair, 1\n  %r = zext i1 %o to i32"
    wrapped = in_lanes(flag, [WORDS, OTHERS], np.uint32, declare)
    np.testing.assert_array_equal(wrapped, [not low <= v <= high for v in exact(name)])


@pytest.mark.parametrize("name", ["uadd", "sadd", "usub", "ssub"])
def test_saturating(name: str) -> None:
    call = f"@llvm.{name}.sat.i32(i32"
    body = f"  %r = call i32 {call} %a, i32 %b)"
    got = in_lanes(body, [WORDS, OTHERS], np.uint32, f"declare i32 {call}, i32)")
    low, high = limits(name)
    expected = [min(max(v, low), high) & 0xFFFFFFFF for v in exact(name)]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["uadd", "sadd", "usub", "ssub"])
@pytest.mark.parametrize("half", [0, 32])
def test_saturating_64_bits(name: str, half: int) -> None:
    call = f"@llvm.{name}.sat.i64(i64"
    body = f"""
  %x = zext i32 %a to i64
  %y = zext i32 %b to i64
  %p = mul i64 %x, 4294967297
  %q = mul i64 %y, 4294967297
  %s = call i64 {call} %p, i64 %q)
  %h = lshr i64 %s, {half}
  %r = trunc i64 %h to i32"""
    got = in_lanes(body, [WORDS, OTHERS], np.uint32, f"declare i64 {call}, i64)")
    is_signed, operation = EXACT[name]
    low, high = (-(1 << 63), (1 << 63) - 1) if is_signed else (0, (1 << 64) - 1)
    x, y = ([int(w) * 0x100000001 for w in words] for words in (WORDS, OTHERS))
    if is_signed:
        x, y = ([v - (v >> 63 << 64) for v in values] for values in (x, y))
    sums = list(map(operation, x, y))
    assert 0 < sum(not low <= v <= high for v in sums) < len(sums)
    expected = [min(max(v, low), high) >> half & 0xFFFFFFFF for v in sums]
    np.testing.assert_array_equal(got, expected)


def fshr(a: int, b: int, c: int) -> int:
    return (((a << 32) | b) >> (c % 32)) & 0xFFFFFFFF


def udot4(a: int, b: int, c: int) -> int:
    return (sum(x * y for x, y in zip(a.to_bytes(4), b.to_bytes(4), strict=True)) + c) % (1 << 32)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("@llvm.bswap.i32(i32 %a)", lambda a, b, c: int.from_bytes(a.to_bytes(4), "little")),
        ("@llvm.fshr.i32(i32 %a, i32 %b, i32 %c)", fshr),
        ("@llvm.umax.i32(i32 %a, i32 %b)", lambda a, b, c: max(a, b)),
        (
            "@llvm.smin.i32(i32 %a, i32 %b)",
            lambda a, b, c: min(as_signed(a), as_signed(b)) & 0xFFFFFFFF,
        ),
        ("@llvm.expect.i32(i32 %a, i32 7)", lambda a, b, c: a),
        ("@llvm.ssa.copy.i32(i32 %a)", lambda a, b, c: a),
        ("@llvm.amdgcn.udot4(i32 %a, i32 %b, i32 %c, i1 false)", udot4),
        ("@llvm.amdgcn.writelane.i32(i32 %a, i32 5, i32 %b)", lambda a, b, c: a if c == 5 else b),
        ("@llvm.amdgcn.set.inactive.i32(i32 %a, i32 %b)", lambda a, b, c: a),
        # quad_perm [1, 0, 3, 2]: lanes change places with their neighbours
        (
            "@llvm.amdgcn.mov.dpp.i32(i32 %a, i32 177, i32 15, i32 15, i1 true)",
            lambda a, b, c: int(WORDS[c ^ 1]),
        ),
    ],
)
def test_integers(call: str, expected: Callable[[int, int, int], int]) -> None:
    got = in_lanes(
        f"  %r = call i32 {call}", [WORDS, OTHERS, LANE], np.uint32, declared("i32", call)
    )
    rows = zip(WORDS.tolist(), OTHERS.tolist(), LANE.tolist(), strict=True)
    np.testing.assert_array_equal(got, [expected(*row) for row in rows])


def declared(result: str, call: str) -> str:
    """Return the declaration of a call's function, from its arguments' types."""
    name, arguments = call.rstrip(")").split("(", 1)
    types = [argument.rsplit(" ", 1)[0] for argument in arguments.split(", ")]
    immediate = [type_ == "i1" or ("dpp" in name and i) for i, type_ in enumerate(types)]
    marked = [f"{t} immarg" if m else t for t, m in zip(types, immediate, strict=True)]
    return f"declare {result} {name}({', '.join(marked)})"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("@llvm.sin.f32(float %a)", math.sin),
        ("@llvm.cos.f32(float %a)", math.cos),
        ("@llvm.tanh.f32(float %a)", math.tanh),
        ("@llvm.amdgcn.tanh.f32(float %a)", math.tanh),
        ("@llvm.exp10.f32(float %a)", lambda a: 10.0**a),
        ("@llvm.log10.f32(float %b)", lambda a: math.log10(abs(a) + 0.125)),
        ("@llvm.nearbyint.f32(float %a)", lambda a: float(round(a))),
        ("@llvm.canonicalize.f32(float %a)", lambda a: a),
        ("@llvm.pow.f32(float %b, float %a)", lambda a: (abs(a) + 0.125) ** a),
        ("@llvm.fmuladd.f32(float %a, float %b, float %a)", lambda a: a * (abs(a) + 0.125) + a),
        ("@llvm.maximumnum.f32(float %a, float %b)", lambda a: abs(a) + 0.125),
        ("@llvm.amdgcn.fract.f32(float %a)", lambda a: a - math.floor(a)),
        ("@llvm.amdgcn.frexp.mant.f32(float %a)", lambda a: math.frexp(a)[0]),
        ("@llvm.amdgcn.fma.legacy(float %a, float %b, float %b)", lambda a: legacy(a)),
        ("@llvm.amdgcn.fmad.ftz.f32(float %a, float %b, float %b)", lambda a: legacy(a)),
    ],
)
def test_floats(call: str, expected: Callable[[float], float]) -> None:
    body = f"  %r = call float {call}"
    got = in_lanes(body, [FLOATS, POSITIVE], np.float32, declared("float", call))
    np.testing.assert_allclose(got, [expected(float(a)) for a in FLOATS], rtol=3e-6, atol=1e-6)


def legacy(a: float) -> float:
    return a * (abs(a) + 0.125) + (abs(a) + 0.125)


def test_classes() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-40], np.float32)
    call = "@llvm.amdgcn.class.f32(float %a, i32 516)"  # +inf and -inf
    body = f"  %c = call i1 {call}\n  %r = zext i1 %c to i32"
    got = in_lanes(body, [values], np.uint32, declared("i1", call))
    np.testing.assert_array_equal(got, np.isinf(values))


REDUCTIONS: dict[str, Callable[[list[int]], int]] = {
    "and": lambda v: v[0] & v[1] & v[2] & v[3],
    "or": lambda v: v[0] | v[1] | v[2] | v[3],
    "xor": lambda v: v[0] ^ v[1] ^ v[2] ^ v[3],
    "mul": lambda v: math.prod(v) % (1 << 32),
    "umax": max,
    "umin": min,
    "smax": lambda v: max(map(as_signed, v)) & 0xFFFFFFFF,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_integers(name: str) -> None:
    body = vector("i32", ["%a", "%b", "%c", "%a"])
    body += f"  %r = call i32 @llvm.vector.reduce.{name}.v4i32(<4 x i32> %v3)"
    declare = f"declare i32 @llvm.vector.reduce.{name}.v4i32(<4 x i32>)"
    got = in_lanes(body, [WORDS, OTHERS, LANE], np.uint32, declare)
    rows = zip(WORDS.tolist(), OTHERS.tolist(), LANE.tolist(), strict=True)
    np.testing.assert_array_equal(got, [REDUCTIONS[name]([a, b, c, a]) for a, b, c in rows])


@pytest.mark.parametrize("name", ["fmin", "fmax", "fminimum", "fmaximum"])
def test_reductions_of_floats(name: str) -> None:
    other = np.roll(FLOATS, 1)
    body = vector("float", ["%a", "%b", "%a", "%b"])
    body += f"  %r = call float @llvm.vector.reduce.{name}.v4f32(<4 x float> %v3)"
    declare = f"declare float @llvm.vector.reduce.{name}.v4f32(<4 x float>)"
    got = in_lanes(body, [FLOATS, other], np.float32, declare)
    np.testing.assert_array_equal(got, (np.minimum if "min" in name else np.maximum)(FLOATS, other))


def vector(type_: str, values: list[str]) -> str:
    """Return code that makes a vector of the values, in %v3."""
    before, code = "poison", ""
    for i, value in enumerate(values):
        code += f"  %v{i} = insertelement <4 x {type_}> {before}, {type_} {value}, i32 {i}\n"
        before = f"%v{i}"
    return code


HINTS = {
    "llvm.amdgcn.iglp.opt": "i32 0",
    "llvm.amdgcn.s.sleep": "i32 1",
    "llvm.amdgcn.s.setprio": "i16 1",
    "llvm.amdgcn.s.wait.loadcnt": "i16 0",
    "llvm.amdgcn.s.wait.storecnt": "i16 0",
    "llvm.amdgcn.s.wait.dscnt": "i16 0",
    "llvm.amdgcn.s.wait.expcnt": "i16 0",
    "llvm.amdgcn.s.wait.kmcnt": "i16 0",
    "llvm.amdgcn.s.dcache.inv": "",
    "llvm.amdgcn.s.dcache.wb": "",
    "llvm.amdgcn.s.nop": "i16 0",
    "llvm.amdgcn.sched.barrier": "i32 0",
    "llvm.amdgcn.wave.barrier": "",
    "llvm.donothing": "",
    "llvm.sideeffect": "",
}


def test_hints_change_nothing() -> None:
    calls = "".join(f"  call void @{name}({value})\n" for name, value in HINTS.items())
    declare = "".join(
        f"declare void @{name}({value.split()[0] + ' immarg' if value else ''})\n"
        for name, value in HINTS.items()
    )
    got = in_lanes(calls + "  %r = add i32 %a, 1", [LANE], np.uint32, declare)
    np.testing.assert_array_equal(got, LANE + 1)


@pytest.mark.parametrize("name", ["memcpy", "memmove", "memcpy.inline", "memset", "memset.inline"])
def test_bytes_of_private_memory(name: str) -> None:
    """Two words move by one: only memmove may overlap."""
    value = "i8 7" if "set" in name else "ptr addrspace(5) %from"
    types = "p5" if "set" in name else "p5.p5"
    value_type = value.rsplit(" ", 1)[0]
    body = f"""
  %from = alloca [4 x i32], align 4, addrspace(5)
  store i32 %a, ptr addrspace(5) %from
  %second = getelementptr i32, ptr addrspace(5) %from, i32 1
  %third = getelementptr i32, ptr addrspace(5) %from, i32 2
  store i32 %b, ptr addrspace(5) %second
  store i32 0, ptr addrspace(5) %third
  %to = getelementptr i32, ptr addrspace(5) %from, i32 {1 if name == "memmove" else 2}
  call void @llvm.{name}.{types}.i32(ptr addrspace(5) %to, {value}, i32 8, i1 false)
  %x = load i32, ptr addrspace(5) %to
  %fourth = getelementptr i32, ptr addrspace(5) %to, i32 1
  %y = load i32, ptr addrspace(5) %fourth
  %r = sub i32 %x, %y"""
    size = "i32 immarg" if "inline" in name else "i32"
    declare = f"declare void @llvm.{name}.{types}.i32(ptr addrspace(5), {value_type}, {size}, i1)"
    got = in_lanes(body, [WORDS, OTHERS], np.uint32, declare.replace("i1)", "i1 immarg)"))
    np.testing.assert_array_equal(got, 0 * WORDS if "set" in name else WORDS - OTHERS)


def test_promises_about_pointers_change_nothing() -> None:
    body = """
  %s = alloca i32, align 4, addrspace(5)
  call void @llvm.lifetime.start.p5(ptr addrspace(5) %s)
  %q = call ptr addrspace(5) @llvm.launder.invariant.group.p5(ptr addrspace(5) %s)
  call void @llvm.prefetch.p5(ptr addrspace(5) %q, i32 0, i32 3, i32 1)
  store i32 %a, ptr addrspace(5) %q
  %r = load i32, ptr addrspace(5) %s
  call void @llvm.lifetime.end.p5(ptr addrspace(5) %s)"""
    declare = """
declare void @llvm.lifetime.start.p5(ptr addrspace(5))
declare void @llvm.lifetime.end.p5(ptr addrspace(5))
declare ptr addrspace(5) @llvm.launder.invariant.group.p5(ptr addrspace(5))
declare void @llvm.prefetch.p5(ptr addrspace(5), i32 immarg, i32 immarg, i32 immarg)"""
    np.testing.assert_array_equal(in_lanes(body, [WORDS], np.uint32, declare), WORDS)


def test_rows_by_selectors_of_each_lane() -> None:
    out: Array = np.zeros(64, np.uint32)
    name = "i32 @llvm.amdgcn.permlane16.var"
    lanewise(
        f"  %r = call {name}(i32 0, i32 %a, i32 %b, i1 true, i1 true)",
        [WORDS, LANE * 7],
        out,
        cpu="gfx1201",
        declarations=f"declare {name}(i32, i32, i32, i1 immarg, i1 immarg)",
    )
    np.testing.assert_array_equal(out, WORDS[(LANE & ~np.uint32(15)) + LANE * 7 % 16])


def test_a_dot_product_of_bf16() -> None:
    pairs = np.random.default_rng(6).integers(-50, 50, (2, 64, 2)).astype(np.float32)
    a, b = ((p.view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)[:, 0] for p in pairs)
    out: Array = np.zeros(64, np.float32)
    name = "float @llvm.amdgcn.fdot2.f32.bf16"
    lanewise(
        f"""
  %x = bitcast i32 %a to <2 x bfloat>
  %y = bitcast i32 %b to <2 x bfloat>
  %r = call {name}(<2 x bfloat> %x, <2 x bfloat> %y, float 3.0, i1 false)""",
        [a, b],
        out,
        cpu="gfx1100",
        declarations=f"declare {name}(<2 x bfloat>, <2 x bfloat>, float, i1 immarg)",
    )
    np.testing.assert_array_equal(out, (pairs[0] * pairs[1]).sum(axis=1) + 3)
