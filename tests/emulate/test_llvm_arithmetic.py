"""Scalar and vector instructions against the same IR compiled for this machine."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.llvm_kernels import Array, native, on_cpu

COUNT = 48
BINARY = ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor")
SHIFTS = ("shl", "lshr", "ashr")
PREDICATES = ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")
FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 65504.0, 6e-8, 1e-40, 3.0000002, 1e30]


def elementwise(expressions: list[str], types: list[str], result: str, declare: str = "") -> str:
    """A loop over COUNT elements: each expression, a line with {r}, fills an output array."""
    body, outputs = "", ""
    for n, type_ in enumerate(types):
        body += f"  %at{n} = getelementptr {type_}, ptr %in{n}, i64 %i\n"
        body += f"  %x{n} = load {type_}, ptr %at{n}\n"
    for n, expression in enumerate(expressions):
        body += expression.format(r=f"%r{n}", t=f"%t{n}") + "\n"
        body += f"  %o{n} = getelementptr {result}, ptr %out{n}, i64 %i\n"
        body += f"  store {result} %r{n}, ptr %o{n}\n"
        outputs += f", ptr %out{n}"
    inputs = ", ".join(f"ptr %in{n}" for n in range(len(types)))
    return f"""{declare}
define void @f({inputs}{outputs}) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{body}
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, {COUNT}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def compare(source: str, inputs: list[Array], outputs: int, dtype: str, lanes: int = 1) -> None:
    """The same bytes from the emulator and from this machine."""
    expected = [np.zeros(COUNT * lanes, dtype) for _ in range(outputs)]
    got = [np.zeros(COUNT * lanes, dtype) for _ in range(outputs)]
    native(source, "f", [*inputs, *expected])
    on_cpu(source, "f", [*inputs, *got])
    for n in range(outputs):
        a, b = got[n], expected[n]
        if a.dtype.kind == "f":  # the payload of a NaN is nobody's promise
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b), err_msg=f"output {n}")
            a, b = np.where(np.isnan(a), 0, a), np.where(np.isnan(b), 0, b)
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b), err_msg=f"output {n}")
        np.testing.assert_array_equal(a, b, err_msg=f"output {n}")


def integers(bits: int, seed: int) -> Array:
    """Random integers with the extremes among them, in the storage of ``i<bits>``."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(f"u{max(1, (1 << (bits - 1).bit_length()) // 8)}")
    values = (
        rng.integers(0, 1 << bits, COUNT, dtype=np.uint64, endpoint=False)
        if bits < 64
        else (rng.integers(0, 1 << 64, COUNT, dtype=np.uint64))
    )
    values[:4] = [0, 1, (1 << bits) - 1, 1 << (bits - 1)]
    return np.random.default_rng(seed).permutation(values).astype(dtype)


@pytest.mark.parametrize("bits", [8, 16, 24, 32, 33, 64])
def test_integer_operations(bits: int) -> None:
    memory = f"i{integers(bits, 0).dtype.itemsize * 8}"
    a, b = integers(bits, 1), integers(bits, 2)
    # No division by zero, and no quotient that overflows: both are undefined.
    b[(b == 0) | (b == (1 << bits) - 1)] = 3

    def narrow(expression: str) -> str:
        """``expression`` on i<bits> values, widened again to what is stored."""
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


@pytest.mark.parametrize(("type_", "dtype"), [("float", "float32"), ("double", "float64")])
def test_floating_operations(type_: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    inputs = []
    for seed in range(3):
        values = (rng.standard_normal(COUNT) * 3).astype(dtype)
        with np.errstate(over="ignore"):
            values[: len(SPECIAL)] = np.array(np.roll(SPECIAL, seed)).astype(dtype)
        inputs.append(values)
    binary = [f"  {{r}} = {op} {type_} %x0, %x1" for op in ("fadd", "fsub", "fmul", "fdiv")]
    compares = [
        f"  {{t}}c = fcmp {p} {type_} %x0, %x1\n"
        f"  {{r}} = select i1 {{t}}c, {type_} %x0, {type_} %x2"
        for p in FLOAT_PREDICATES
    ]
    one = [
        f"  {{r}} = call {type_} @llvm.{name}.{_suffix(type_)}({type_} %x0)"
        for name in ("fabs", "sqrt", "floor", "ceil", "trunc", "rint", "roundeven", "round")
    ]
    two = [
        f"  {{r}} = call {type_} @llvm.{name}.{_suffix(type_)}({type_} %x0, {type_} %x1)"
        for name in ("copysign", "minimum", "maximum")
    ]
    other = [f"  {{r}} = fneg {type_} %x0", f"  {{r}} = freeze {type_} %x1"]
    if type_ == "float":
        other.append("  {r} = call float @llvm.fma.f32(float %x0, float %x1, float %x2)")
    expressions = binary + compares + one + two + other
    source = elementwise(expressions, [type_] * 3, type_)
    compare(source, inputs, len(expressions), dtype)


def _suffix(type_: str) -> str:
    return {"float": "f32", "double": "f64"}[type_]


def test_half_against_numpy() -> None:
    """Not every machine has conversions to half: numpy is the oracle."""
    rng = np.random.default_rng(10)
    with np.errstate(over="ignore"):
        a, b, c = (
            np.concatenate(
                [rng.standard_normal(COUNT - len(SPECIAL)) * 9, np.roll(SPECIAL, n)]
            ).astype(np.float16)
            for n in range(3)
        )
    expressions = [f"  {{r}} = {op} half %x0, %x1" for op in ("fadd", "fsub", "fmul", "fdiv")]
    expressions += [
        "  {r} = fneg half %x0",
        "  {r} = call half @llvm.fma.f16(half %x0, half %x1, half %x2)",
        "  {t} = fpext half %x0 to float\n  {t}s = fmul float {t}, 0.3333333432674408\n"
        "  {r} = fptrunc float {t}s to half",
        "  {t} = fcmp oge half %x0, %x1\n  {r} = select i1 {t}, half %x0, half 0xH3C00",
        "  {t} = fptosi half %x0 to i32\n  {t}m = and i32 {t}, 255\n"
        "  {r} = uitofp i32 {t}m to half",
    ]
    outs = [np.zeros(COUNT, np.float16) for _ in expressions]
    on_cpu(elementwise(expressions, ["half"] * 3, "half"), "f", [a, b, c, *outs])
    with np.errstate(all="ignore"):
        expected = [a + b, a - b, a * b, a / b, -a]
        exact = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
        expected.append(exact.astype(np.float16))
        expected.append((a.astype(np.float32) * np.float32(1 / 3)).astype(np.float16))
        expected.append(np.where(a >= b, a, np.float16(1)))
    for n, reference in enumerate(expected):
        np.testing.assert_array_equal(outs[n], reference, err_msg=expressions[n])
    small = np.abs(a) < 1000
    whole = np.trunc(a[small]).astype(np.int64) & 255
    np.testing.assert_array_equal(outs[-1][small], whole.astype(np.float16))


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


def test_bfloat_rounds_to_nearest_even() -> None:
    bits = np.arange(0, 1 << 32, (1 << 32) // 40, dtype=np.uint64)[:COUNT].astype(np.uint32)
    ties = np.array([0x3F808000, 0x3F818000, 0x3F807FFF, 0x7F7FFFFF, 0x7F800000, 0x7FC00001])
    values = np.resize(np.concatenate([bits, ties]), COUNT).astype(np.uint32).view(np.float32)
    out = np.zeros(COUNT, np.uint16)
    source = elementwise(
        ["  {t} = fptrunc float %x0 to bfloat\n  {r} = bitcast bfloat {t} to i16"],
        ["float"],
        "i16",
    )
    on_cpu(source, "f", [values, out])
    expected = values.view(np.uint32).astype(np.uint64)
    expected = ((expected + 0x7FFF + ((expected >> 16) & 1)) >> 16).astype(np.uint16)
    nan = np.isnan(values)
    np.testing.assert_array_equal(out[~nan], expected[~nan])
    assert ((out[nan] & 0x7FFF) > 0x7F80).all()


def test_vectors() -> None:
    """Four lanes of i32: elementwise, constant and dynamic elements, every kind of shuffle."""
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
    """LLVM calls them poison: here NaN, and all ones for integers."""
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
