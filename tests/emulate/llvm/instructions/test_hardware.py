"""AMD instructions: arithmetic, 8-bit floats, buffer atomics, hidden arguments of a launch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault, UnknownInstruction
from kgen.errors import EmulationError
from tests.emulate.llvm.llvm_kernels import (
    LANE,
    OTHERS,
    WORDS,
    Array,
    kernel,
    lanewise,
    one_call,
    run,
)


def low_24(values: Array) -> Array:
    return (values & 0xFFFFFF).astype(np.int64)


def signed_24(values: Array) -> Array:
    return (low_24(values) ^ 0x800000) - 0x800000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mul.u24", low_24(WORDS) * low_24(OTHERS)),
        ("mul.i24", signed_24(WORDS) * signed_24(OTHERS)),
        ("mulhi.u24", (low_24(WORDS) * low_24(OTHERS)) >> 32),
        ("mulhi.i24", (signed_24(WORDS) * signed_24(OTHERS)) >> 32),
    ],
)
def test_products_of_24_bits(name: str, expected: Array) -> None:
    suffix = "" if "hi" in name else ".i32"
    got = one_call(
        f"i32 @llvm.amdgcn.{name}{suffix}(i32 %a, i32 %b)",
        f"i32 @llvm.amdgcn.{name}{suffix}(i32, i32)",
        [WORDS, OTHERS],
        np.uint32,
    )
    np.testing.assert_array_equal(got, expected.astype(np.uint32))


def test_bytes_of_words() -> None:
    third = np.arange(64, dtype=np.uint32)
    x, y = (v.view(np.uint8).reshape(-1, 4).astype(np.int64) for v in (WORDS, OTHERS))
    got = one_call(
        "i32 @llvm.amdgcn.sad.u8(i32 %a, i32 %b, i32 %c)",
        "i32 @llvm.amdgcn.sad.u8(i32, i32, i32)",
        [WORDS, OTHERS, third],
        np.uint32,
    )
    np.testing.assert_array_equal(got, np.abs(x - y).sum(axis=1) + third)
    got = one_call(
        "i32 @llvm.amdgcn.alignbyte(i32 %a, i32 %b, i32 %c)",
        "i32 @llvm.amdgcn.alignbyte(i32, i32, i32)",
        [WORDS, OTHERS, third],
        np.uint32,
    )
    both = [int(a) << 32 | int(b) for a, b in zip(WORDS, OTHERS, strict=True)]
    expected = [(v >> 8 * (i & 3)) & 0xFFFFFFFF for i, v in enumerate(both)]
    np.testing.assert_array_equal(got, expected)
    got = one_call(
        "i32 @llvm.amdgcn.sudot4(i1 true, i32 %a, i1 false, i32 %b, i32 %c, i1 false)",
        "i32 @llvm.amdgcn.sudot4(i1, i32, i1, i32, i32, i1)",
        [WORDS, OTHERS, third],
        np.uint32,
        cpu="gfx1100",
    )
    signed = WORDS.view(np.int8).reshape(-1, 4).astype(np.int64)
    np.testing.assert_array_equal(got, ((signed * y).sum(axis=1) + third).astype(np.uint32))


def test_angles_are_revolutions() -> None:
    turns = np.linspace(-2, 2, 64).astype(np.float32)
    for name in ("sin", "cos"):
        got = one_call(
            f"float @llvm.amdgcn.{name}.f32(float %a)",
            f"float @llvm.amdgcn.{name}.f32(float)",
            [turns],
            np.float32,
        )
        expected = [getattr(math, name)(2 * math.pi * float(t)) for t in turns]
        np.testing.assert_allclose(got, expected, atol=1e-6)


def test_zero_times_anything_and_parts_of_a_number() -> None:
    a = np.array([0, -0.0, np.inf, 3, -10, 0.75, np.nan, 2], np.float32)
    b = np.array([np.inf, np.nan, 0, 4, 2, -1, 0, 0.5], np.float32)
    got = one_call(
        "float @llvm.amdgcn.fmul.legacy(float %a, float %b)",
        "float @llvm.amdgcn.fmul.legacy(float, float)",
        [a, b],
        np.float32,
    )
    np.testing.assert_array_equal(got, [0, 0, 0, 12, -20, -0.75, 0, 1])
    got = one_call(
        "i32 @llvm.amdgcn.frexp.exp.i32.f32(float %a)",
        "i32 @llvm.amdgcn.frexp.exp.i32.f32(float)",
        [a],
        np.uint32,
    ).view(np.int32)
    np.testing.assert_array_equal(got, [0, 0, 0, 2, 4, 0, 0, 2])


@pytest.mark.parametrize(
    ("cpu", "kind", "one_is"),
    [
        ("gfx942", "fp8", 0x40),
        ("gfx950", "fp8", 0x38),
        ("gfx942", "bf8", 0x40),
        ("gfx950", "bf8", 0x3C),
    ],
)
def test_8_bit_floats_are_other_ones_on_gfx942(cpu: str, kind: str, one_is: int) -> None:
    words = np.full(8, one_is << 16, np.uint32)
    got = one_call(
        f"float @llvm.amdgcn.cvt.f32.{kind}(i32 %a, i32 2)",
        f"float @llvm.amdgcn.cvt.f32.{kind}(i32, i32 immarg)",
        [words],
        np.float32,
        cpu=cpu,
    )
    assert (got == 1).all()
    out: Array = np.zeros(8, np.float32)
    body = f"""
  %v = call <2 x float> @llvm.amdgcn.cvt.pk.f32.{kind}(i32 %a, i1 true)
  %x = extractelement <2 x float> %v, i32 0
  %y = extractelement <2 x float> %v, i32 1
  %two = fmul float %x, 2.0
  %r = fsub float %two, %y"""
    pair = f"declare <2 x float> @llvm.amdgcn.cvt.pk.f32.{kind}(i32, i1 immarg)"
    lanewise(body, [words], out, cpu=cpu, declarations=pair)
    assert (out == 2).all()


def test_8_bit_floats_need_a_processor() -> None:
    """A text that names only its wave size runs, except for instructions whose meaning depends
    on the processor."""
    with pytest.raises(EmulationError, match=r'what fp8 means .*"target-cpu"='):
        one_call(
            "float @llvm.amdgcn.cvt.f32.fp8(i32 %a, i32 0)",
            "float @llvm.amdgcn.cvt.f32.fp8(i32, i32 immarg)",
            [WORDS],
            np.float32,
            cpu='" "target-features"="+wavefrontsize64',
        )


def nearest_codes(numbers: Array, values: dict[int, float], beyond: int, nan: int) -> list[int]:
    """Return the code of the nearest value, an even one for ties; beyond the largest value, the
    next code."""
    codes = []
    for number in numbers.tolist():
        size = abs(number)
        if math.isnan(number):
            codes.append(nan)
            continue
        step = max(values.values()) - sorted(values.values())[-2]
        if size > max(values.values()) + step / 2:
            code = beyond
        else:
            code = min(values, key=lambda c: (abs(values[c] - size), c & 1))
        zero_of_fnuz = nan == 0x80 and code in (0, nan)
        codes.append(code | (0x80 if number < 0 and not zero_of_fnuz else 0))
    return codes


@pytest.mark.parametrize(
    ("cpu", "kind", "fraction", "bias", "last", "beyond"),
    [
        ("gfx942", "fp8", 3, 8, 0x7F, 0x80),
        ("gfx942", "bf8", 2, 16, 0x7F, 0x80),
        ("gfx950", "fp8", 3, 7, 0x7E, 0x7F),
        ("gfx1201", "bf8", 2, 15, 0x7B, 0x7C),
    ],
)
def test_rounding_to_8_bit_floats(
    cpu: str, kind: str, fraction: int, bias: int, last: int, beyond: int
) -> None:
    values = {
        code: (bool(code >> fraction) + code % 2**fraction / 2**fraction)
        * 2.0 ** (max(code >> fraction, 1) - bias)
        for code in range(last + 1)
    }
    rng = np.random.default_rng(2)
    a = np.exp(rng.uniform(-8, 7, 64)) * rng.choice((-1, 1), 64)
    a[:9] = [
        0,
        1.0625,
        1.125,
        1.1875,
        -1e9,
        np.nan,
        values[last],
        -values[1] / 4,
        values[last] * 1.3,
    ]
    a, b = a.astype(np.float32), rng.normal(0, 2, 64).astype(np.float32)
    expected = [
        np.array(nearest_codes(x, values, beyond, 0x80 if cpu == "gfx942" else 0x7F), np.uint32)
        for x in (a, b)
    ]
    pair = expected[0] | expected[1] << 8
    old = WORDS
    name = f"i32 @llvm.amdgcn.cvt.pk.{kind}.f32"
    for half in (0, 1):
        got = one_call(
            f"{name}(float %a, float %b, i32 %c, i1 {'true' if half else 'false'})",
            f"{name}(float, float, i32, i1 immarg)",
            [a, b, old],
            np.uint32,
            cpu=cpu,
        )
        kept = old & (0xFFFF if half else 0xFFFF0000)
        np.testing.assert_array_equal(got, kept | pair << (16 * half))


def test_the_number_of_the_xcd() -> None:
    asked = 20 | 3 << 11  # four bits of HW_REG_XCC_ID
    call, declaration = f"i32 @llvm.amdgcn.s.getreg(i32 {asked})", "i32 @llvm.amdgcn.s.getreg(i32)"
    got = one_call(call, declaration, [LANE], np.uint32)
    assert len(set(got.tolist())) == 1 and got[0] < 8
    with pytest.raises(EmulationFault, match="hardware register 20 of gfx1201"):
        one_call(call, declaration, [LANE], np.uint32, cpu="gfx1201")


def test_exponentials_of_the_hardware_know_no_subnormals() -> None:
    a = np.array([-126, -126.5, -200, 1.5], np.float32)
    name = "float @llvm.amdgcn.exp2.f32"
    got = one_call(f"{name}(float %a)", f"{name}(float)", [a], np.float32)
    np.testing.assert_allclose(got, [2.0**-126, 0, 0, 2**1.5], rtol=1e-6)
    name = "float @llvm.amdgcn.log.f32"
    tiny = np.array([2.0**-126, 2.0**-127], np.float32)
    got = one_call(f"{name}(float %a)", f"{name}(float)", [tiny], np.float32)
    np.testing.assert_array_equal(got, [-126, -np.inf])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", lambda n: n * (n - 1) // 2 + 5),
        ("smax", lambda n: max(5, n - 1)),
        ("umin", lambda n: 0),
        ("or", lambda n: 63 | 5),
        ("swap", lambda n: n - 1),
    ],
)
def test_buffer_atomics_do_nothing_out_of_range(name: str, expected: object) -> None:
    intrinsic = f"i32 @llvm.amdgcn.raw.ptr.buffer.atomic.{name}.i32"
    source = kernel(
        f"""
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(
    ptr addrspace(1) %p, i16 0, i64 4, i32 0)
  %low = icmp ult i32 %t, 64
  %at = select i1 %low, i32 0, i32 4
  %old = call {intrinsic}(i32 %t, ptr addrspace(8) %r, i32 %at, i32 0, i32 0)
  ret void""",
        "ptr addrspace(1) %p",
        declarations=f"""
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare {intrinsic}(i32, ptr addrspace(8), i32, i32, i32 immarg)""",
    )
    data = np.array([5, 77], np.uint32)
    run(source, entry="k", grid=(1, 1, 1), block=(128, 1, 1), arguments=[data])
    assert callable(expected)
    assert data.tolist() == [expected(64), 77]


def test_what_a_kernel_asks_of_its_launch() -> None:
    source = kernel(
        """
  %i4 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %d4 = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %groups = load i32, ptr addrspace(4) %i4, align 4
  %size.at = getelementptr i8, ptr addrspace(4) %i4, i32 12
  %size = load i16, ptr addrspace(4) %size.at, align 2
  %again.at = getelementptr i8, ptr addrspace(4) %d4, i32 4
  %again = load i16, ptr addrspace(4) %again.at, align 2
  %lanes.at = getelementptr i8, ptr addrspace(4) %d4, i32 12
  %lanes = load i32, ptr addrspace(4) %lanes.at, align 4
  %size.w = zext i16 %size to i32
  %again.w = zext i16 %again to i32
  %v0 = insertelement <4 x i32> poison, i32 %groups, i32 0
  %v1 = insertelement <4 x i32> %v0, i32 %size.w, i32 1
  %v2 = insertelement <4 x i32> %v1, i32 %again.w, i32 2
  %v3 = insertelement <4 x i32> %v2, i32 %lanes, i32 3
  %zero = icmp eq i32 %t, 0
  br i1 %zero, label %store, label %done
store:
  store <4 x i32> %v3, ptr addrspace(1) %p
  br label %done
done:
  ret void""",
        "ptr addrspace(1) %p",
        declarations="""
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()""",
    )
    out = np.zeros(4, np.uint32)
    run(
        source,
        entry="k",
        grid=(3, 1, 1),
        block=(96, 1, 1),
        arguments=[out],
        workgroups=[(1, 0, 0)],
    )
    assert out.tolist() == [3, 96, 96, 288]


def test_packed_atomics_and_unknown_words() -> None:
    source = kernel(
        """
  %v = insertelement <2 x half> <half 1.0, half 2.0>, half 1.0, i32 0
  %o = atomicrmw fadd ptr addrspace(1) %p, <2 x half> %v syncscope("agent") monotonic, align 4
  ret void""",
        "ptr addrspace(1) %p",
    )
    data = np.zeros(2, np.float16)
    run(source, entry="k", grid=(2, 1, 1), block=(64, 1, 1), arguments=[data])
    assert data.tolist() == [128, 256]
    with pytest.raises(UnknownInstruction, match=r"ds\.gws\.init"):
        declaration = "declare void @llvm.amdgcn.ds.gws.init(i32, i32)"
        body = "  call void @llvm.amdgcn.ds.gws.init(i32 0, i32 0)\n  ret void"
        run(
            kernel(body, "", declarations=declaration),
            entry="k",
            grid=(1, 1, 1),
            block=(64, 1, 1),
            arguments=[],
        )
