"""Integers, conversions and vectors against the same IR compiled for this machine."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.elementwise import COUNT, SPECIAL, compare, elementwise, integers
from tests.emulate.llvm.llvm_kernels import on_cpu

BINARY = ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor")
SHIFTS = ("shl", "lshr", "ashr")
PREDICATES = ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")


@pytest.mark.parametrize("bits", [8, 16, 24, 32, 33, 64])
def test_integer_operations(bits: int) -> None:
    memory = f"i{integers(bits, 0).dtype.itemsize * 8}"
    a, b = integers(bits, 1), integers(bits, 2)
    # No division by zero, and no quotient that overflows: both are undefined.
    b[(b == 0) | (b == (1 << bits) - 1)] = 3

    def narrow(expression: str) -> str:
        """Return ``expression`` on i<bits> values, widened to the stored type."""
        if memory == f"i{bits}":
            return expression.replace("A", "%x0").replace("B", "%x1").replace("R", "{r}")
        return (
            f"  {{t}}a = trunc {memory} %x0 to i{bits}\n  {{t}}b = trunc {memory} %x1 to i{bits}\n"
            + expression.replace("A", "{t}a").replace("B", "{t}b").replace("R", "{t}r")
            + f"\n  {{r}} = zext i{bits} {{t}}r to {memory}"
        )

    type_ = f"i{bits}"
    expressions = [narrow(f"  R = {op} {type_} A, B") for op in BINARY]
    amount = f"  {{t}}s = urem {type_} B, {bits}\n"
    expressions += [narrow(f"{amount}  R = {op} {type_} A, {{t}}s") for op in SHIFTS]
    expressions += [
        narrow(f"  {{t}}c = icmp {p} {type_} A, B\n  R = zext i1 {{t}}c to {type_}")
        for p in PREDICATES
    ]
    expressions += [
        narrow(f"  {{t}}c = icmp slt {type_} A, B\n  R = select i1 {{t}}c, {type_} A, {type_} B"),
        narrow(f"  {{t}}n = trunc {type_} A to i7\n  R = sext i7 {{t}}n to {type_}"),
        narrow(f"  {{t}}n = trunc {type_} A to i1\n  R = sext i1 {{t}}n to {type_}"),
        narrow(f"  R = call {type_} @llvm.fshl.{type_}({type_} A, {type_} B, {type_} A)"),
        narrow(f"  R = call {type_} @llvm.smax.{type_}({type_} A, {type_} B)"),
        narrow(f"  R = call {type_} @llvm.umin.{type_}({type_} A, {type_} B)"),
        narrow(f"  R = call {type_} @llvm.scmp.{type_}.{type_}({type_} A, {type_} B)"),
        narrow(f"  R = call {type_} @llvm.ucmp.{type_}.{type_}({type_} A, {type_} B)"),
        narrow(f"  R = call {type_} @llvm.ctpop.{type_}({type_} A)"),
        narrow(f"  R = call {type_} @llvm.ctlz.{type_}({type_} A, i1 false)"),
        narrow(f"  R = call {type_} @llvm.cttz.{type_}({type_} A, i1 false)"),
        narrow(f"  R = call {type_} @llvm.bitreverse.{type_}({type_} A)"),
        narrow(f"  R = call {type_} @llvm.abs.{type_}({type_} A, i1 false)"),
        narrow(f"  R = call {type_} @llvm.uadd.sat.{type_}({type_} A, {type_} B)"),
        narrow(f"  R = call {type_} @llvm.usub.sat.{type_}({type_} A, {type_} B)"),
    ]
    pair = f"{{{{{type_}, i1}}}}"
    overflow = f"  {{t}}o = call {pair} @llvm.smul.with.overflow.{type_}({type_} A, {type_} B)\n"
    expressions += [
        narrow(f"{overflow}  R = extractvalue {pair} {{t}}o, 0"),
        narrow(
            f"{overflow}  {{t}}w = extractvalue {pair} {{t}}o, 1\n  R = zext i1 {{t}}w to {type_}"
        ),
    ]
    source = elementwise(expressions, [memory, memory], memory)
    compare(source, [a, b], len(expressions), a.dtype.name)


def test_conversions() -> None:
    rng = np.random.default_rng(4)
    values = np.concatenate([(rng.standard_normal(COUNT - len(SPECIAL)) * 100), np.array(SPECIAL)])
    words = integers(32, 5)
    expressions = [
        "  {r} = bitcast float %x0 to i32",
        "  {t}d = fpext float %x0 to double\n  {t}s = fmul double {t}d, 0x3FD5555555555555\n"
        "  {t} = fptrunc double {t}s to float\n  {t}u = fcmp uno float {t}, 0.0\n"
        "  {t}c = select i1 {t}u, float 1.0, float {t}\n  {r} = bitcast float {t}c to i32",
        "  {t} = uitofp i32 %x1 to float\n  {r} = bitcast float {t} to i32",
        "  {t} = sitofp i32 %x1 to float\n  {r} = bitcast float {t} to i32",
        "  {t} = call float @llvm.minimum.f32(float %x0, float 1000.0)\n"
        "  {t}f = call float @llvm.fabs.f32(float {t})\n  {t}u = fcmp ult float {t}f, 1000.0\n"
        "  {t}s = select i1 {t}u, float {t}, float 7.5\n"
        "  {t}n = fcmp uno float {t}s, 0.0\n  {t}z = select i1 {t}n, float 2.0, float {t}s\n"
        "  {r} = fptosi float {t}z to i32",
        "  {r} = call i32 @llvm.fptosi.sat.i32.f32(float %x0)",
        "  {r} = call i32 @llvm.fptoui.sat.i32.f32(float %x0)",
        "  {t} = call i1 @llvm.is.fpclass.f32(float %x0, i32 507)\n  {r} = zext i1 {t} to i32",
        "  {t} = call i1 @llvm.is.fpclass.f32(float %x0, i32 152)\n  {r} = zext i1 {t} to i32",
    ]
    source = elementwise(expressions, ["float", "i32"], "i32")
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    # The bits of a NaN may differ between converters: keep to its class, tested above.
    singles[np.isnan(singles)] = np.float32(np.nan)
    compare(source, [singles, words], len(expressions), "uint32")


def test_vectors() -> None:
    """Vectors of four i32: element-wise operations, constant and dynamic elements, every kind of
    shuffle."""
    a, b = (np.resize(integers(32, seed), COUNT * 4) for seed in (6, 7))
    v = "<4 x i32>"
    expressions = [
        f"  {{r}} = add {v} %x0, %x1",
        f"  {{r}} = shl {v} %x0, splat (i32 3)",
        f"  {{t}} = icmp slt {v} %x0, <i32 5, i32 -9, i32 0, i32 77>\n"
        f"  {{r}} = select <4 x i1> {{t}}, {v} %x0, {v} %x1",
        f"  {{t}} = extractelement {v} %x0, i32 2\n"
        f"  {{r}} = insertelement {v} %x1, i32 {{t}}, i64 1",
        f"  {{t}}i = extractelement {v} %x1, i32 0\n  {{t}}m = and i32 {{t}}i, 3\n"
        f"  {{t}}e = extractelement {v} %x0, i32 {{t}}m\n"
        f"  {{r}} = insertelement {v} %x1, i32 {{t}}e, i32 {{t}}m",
        f"  {{r}} = shufflevector {v} %x0, {v} %x1, <4 x i32> <i32 7, i32 0, i32 5, i32 2>",
        f"  {{r}} = shufflevector {v} %x0, {v} poison, <4 x i32> zeroinitializer",
        f"  {{r}} = shufflevector {v} %x0, {v} %x1, <4 x i32> splat (i32 6)",
        f"  {{r}} = shufflevector {v} %x0, {v} %x1, <4 x i32> <i32 4, i32 5, i32 6, i32 7>",
        f"  {{r}} = shufflevector {v} %x0, {v} %x1, <4 x i32> <i32 2, i32 3, i32 4, i32 5>",
        f"  {{r}} = shufflevector {v} %x0, {v} poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>",
        f"  {{t}} = bitcast {v} %x0 to <8 x i16>\n"
        f"  {{t}}s = shufflevector <8 x i16> {{t}}, <8 x i16> poison, <8 x i32>"
        " <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>\n"
        f"  {{r}} = bitcast <8 x i16> {{t}}s to {v}",
        f"  {{t}} = icmp ult {v} %x0, %x1\n  {{t}}b = bitcast <4 x i1> {{t}} to i4\n"
        f"  {{t}}z = zext i4 {{t}}b to i32\n  {{r}} = insertelement {v} %x0, i32 {{t}}z, i32 3",
        f"  {{t}} = call i32 @llvm.vector.reduce.add.v4i32({v} %x0)\n"
        f"  {{r}} = insertelement {v} zeroinitializer, i32 {{t}}, i32 0",
        f"  {{t}} = call i32 @llvm.vector.reduce.smin.v4i32({v} %x0)\n"
        f"  {{r}} = insertelement {v} zeroinitializer, i32 {{t}}, i32 0",
        f"  {{t}} = call <2 x i32> @llvm.vector.extract.v2i32.v4i32({v} %x0, i64 2)\n"
        f"  {{r}} = call {v} @llvm.vector.insert.v4i32.v2i32({v} %x1, <2 x i32> {{t}}, i64 0)",
    ]
    source = elementwise(expressions, [v, v], v)
    compare(source, [a, b], len(expressions), "uint32", lanes=4)


def test_elements_out_of_range_are_not_taken_for_others() -> None:
    """LLVM calls such elements poison; the emulator makes them NaN, or all ones for integers."""
    source = """
define void @f(ptr %in, ptr %out, i32 %n) {
  %v = load <4 x float>, ptr %in
  %x = extractelement <4 x float> %v, i32 4
  %y = extractelement <4 x float> %v, i32 %n
  store float %x, ptr %out
  %o1 = getelementptr float, ptr %out, i64 1
  store float %y, ptr %o1
  %w = insertelement <4 x float> %v, float 1.0, i32 %n
  %o4 = getelementptr float, ptr %out, i64 4
  store <4 x float> %w, ptr %o4
  ret void
}
"""
    out = np.zeros(8, np.float32)
    on_cpu(source, "f", [np.arange(4, dtype=np.float32), out, np.int32(7)])
    assert np.isnan(out[[0, 1, 4, 5, 6, 7]]).all()
    on_cpu(source, "f", [np.arange(4, dtype=np.float32), out, np.int32(2)])
    assert out[1] == 2 and out[4:].tolist() == [0, 1, 1, 3]


def test_booleans() -> None:
    a, b = integers(8, 8), integers(8, 9)
    expressions = []
    for op in (*BINARY, *SHIFTS):
        if "div" not in op and "rem" not in op and op not in SHIFTS:
            expressions.append(
                "  {t}a = trunc i8 %x0 to i1\n  {t}b = trunc i8 %x1 to i1\n"
                f"  {{t}}r = {op} i1 {{t}}a, {{t}}b\n  {{r}} = zext i1 {{t}}r to i8"
            )
    expressions.append("  {t}a = trunc i8 %x0 to i1\n  {r} = sext i1 {t}a to i8")
    source = elementwise(expressions, ["i8", "i8"], "i8")
    compare(source, [a, b], len(expressions), "uint8")


def test_a_mask_leaves_out_what_is_not_scaled() -> None:
    """VSCALEFPS by its definition (Intel SDM): this machine may lack it."""
    vector = "<16 x float>"
    source = f"""
declare {vector} @llvm.x86.avx512.mask.scalef.ps.512({vector}, {vector}, {vector}, i16, i32 immarg)
define void @f(ptr %a, ptr %n, ptr %kept, i16 %mask, ptr %out) {{
  %x = load {vector}, ptr %a, align 4
  %y = load {vector}, ptr %n, align 4
  %z = load {vector}, ptr %kept, align 4
  %r = call {vector} @llvm.x86.avx512.mask.scalef.ps.512({vector} %x, {vector} %y, {vector} %z, i16 %mask, i32 4)
  store {vector} %r, ptr %out, align 4
  ret void
}}
"""  # noqa: E501
    random = np.random.default_rng(0)
    a, kept = random.standard_normal((2, 16)).astype(np.float32)
    n = random.uniform(-9, 9, 16).astype(np.float32)
    scaled = np.ldexp(a, np.floor(n).astype(np.int32))
    for mask in (0, 1, 0x8000, 0xA53C, 0xFFFF):
        out = np.full(16, np.nan, np.float32)
        on_cpu(source, "f", [a, n, kept, np.uint16(mask), out])
        wanted = [mask >> lane & 1 for lane in range(16)]
        np.testing.assert_array_equal(out, np.where(wanted, scaled, kept), err_msg=f"{mask:#x}")
