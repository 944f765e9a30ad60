"""Matrix instructions of every shape and type against plain sums, element by element.

Where the lanes hold what is written out here from AMD's matrix instruction calculator: l is the
lane, e the packed element, r the register, b the block.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from kgen.emulate.llvm import run
from kgen.emulate.numerics import Numerics
from kgen.errors import EmulationError
from tests.emulate.llvm_kernels import Array, kernel


@dataclass(frozen=True, kw_only=True)
class Shape:
    name: str
    cpu: str
    m: int
    k: int
    blocks: int
    types: tuple[str, str, str]
    """Of A, of B, of C and D."""
    kinds: tuple[str, str]
    wave: int = 64

    @property
    def elements(self) -> int:
        return self.m * self.k * self.blocks // self.wave


_NAME = re.compile(r"\w+\.(\d+)x\d+x(\d+?)\.?((?:xf|bf|f|i|fp)\d+)(?:\.(\w+))?$")


def parse(text: str) -> Shape:
    """``cpu name blocks type-of-A type-of-D``, with _ for blanks."""
    cpu, name, blocks, operand, result = (word.replace("_", " ") for word in text.split())
    found = _NAME.match(name)
    assert found is not None
    m, k, kind, other = found.groups()
    return Shape(
        name=f"mfma.{name}",
        cpu=cpu,
        m=int(m),
        k=int(k),
        blocks=int(blocks),
        types=(operand, operand, result),
        kinds=(kind, other if other in ("fp8", "bf8") else kind),
    )


MFMA = [
    parse(line)
    for line in """
gfx90a f32.32x32x1f32 2 float <32_x_float>
gfx90a f32.16x16x1f32 4 float <16_x_float>
gfx90a f32.4x4x1f32 16 float <4_x_float>
gfx90a f32.32x32x4f16 2 <4_x_half> <32_x_float>
gfx90a f32.16x16x4f16 4 <4_x_half> <16_x_float>
gfx90a f32.4x4x4f16 16 <4_x_half> <4_x_float>
gfx90a f32.32x32x2bf16 2 <2_x_i16> <32_x_float>
gfx90a f32.16x16x2bf16 4 <2_x_i16> <16_x_float>
gfx90a f32.4x4x2bf16 16 <2_x_i16> <4_x_float>
gfx90a f32.32x32x4bf16 1 <2_x_i16> <16_x_float>
gfx90a f32.16x16x8bf16 1 <2_x_i16> <4_x_float>
gfx90a f32.32x32x4bf16.1k 2 <4_x_i16> <32_x_float>
gfx90a f32.16x16x4bf16.1k 4 <4_x_i16> <16_x_float>
gfx90a f32.4x4x4bf16.1k 16 <4_x_i16> <4_x_float>
gfx90a f64.16x16x4f64 1 double <4_x_double>
gfx90a f64.4x4x4f64 4 double double
gfx90a i32.32x32x4i8 2 i32 <32_x_i32>
gfx90a i32.16x16x4i8 4 i32 <16_x_i32>
gfx90a i32.4x4x4i8 16 i32 <4_x_i32>
gfx90a i32.32x32x8i8 1 i32 <16_x_i32>
gfx90a i32.16x16x16i8 1 i32 <4_x_i32>
gfx942 i32.16x16x32.i8 1 i64 <4_x_i32>
gfx942 i32.32x32x16.i8 1 i64 <16_x_i32>
gfx942 f32.16x16x8.xf32 1 <2_x_float> <4_x_float>
gfx942 f32.32x32x4.xf32 1 <2_x_float> <16_x_float>
gfx942 f32.16x16x32.fp8.bf8 1 i64 <4_x_float>
gfx942 f32.32x32x16.bf8.fp8 1 i64 <16_x_float>
gfx942 f32.16x16x32.bf8.fp8 1 i64 <4_x_float>
gfx942 f32.32x32x16.fp8.bf8 1 i64 <16_x_float>
gfx950 f32.16x16x32.bf8.bf8 1 i64 <4_x_float>
gfx950 f32.32x32x16.fp8.fp8 1 i64 <16_x_float>
gfx950 f32.16x16x32.fp8.fp8 1 i64 <4_x_float>
gfx950 f32.32x32x16.bf8.bf8 1 i64 <16_x_float>
gfx950 i32.16x16x64.i8 1 <4_x_i32> <4_x_i32>
gfx950 i32.32x32x32.i8 1 <4_x_i32> <16_x_i32>
""".strip().splitlines()
]


def a_place(s: Shape, lane: int, e: int) -> tuple[int, int, int]:
    """(block, row, k)"""
    return (
        lane // s.m % s.blocks,
        lane % s.m,
        s.elements * (lane // (s.m * s.blocks)) + e,
    )


def d_place(s: Shape, lane: int, r: int) -> tuple[int, int, int]:
    """(block, row, column)"""
    if s.kinds[0] == "f64" and s.m == 4:
        return lane // 4 % 4, lane // 16, lane % 4
    if s.kinds[0] == "f64":
        return 0, 4 * r + lane // 16, lane % 16
    if s.m == 4:
        return lane // 4, r, lane % 4
    each = s.m * s.m // 64
    s_ = r % each
    return r // each, 4 * (64 // s.m) * (s_ // 4) + 4 * (lane // s.m) + s_ % 4, lane % s.m


def minifloat(value: int, kind: str, fnuz: bool) -> int:
    """The code of an integer from -3 to 3."""
    fraction, bias = {"fp8": (3, 7), "bf8": (2, 15)}[kind]
    bias += fnuz
    if value == 0:
        return 0
    size = abs(value)
    exponent = 1 if size >= 2 else 0
    rest = (size - (1 << exponent)) << (fraction - exponent)
    return (0x80 if value < 0 else 0) | (bias + exponent) << fraction | rest


def storage(values: Array, kind: str, cpu: str) -> Array:
    """Integers [lane, element] as they lie in memory: [lane, bytes...]"""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind in ("fp8", "bf8"):
        codes: Array = np.vectorize(lambda v: minifloat(v, kind, cpu == "gfx942"))(values)
        return codes.astype(np.uint8)
    if kind == "iu4":
        pairs = (values & 15).reshape(len(values), -1, 2)
        return (pairs[..., 0] | pairs[..., 1] << 4).astype(np.uint8)
    types = {"f16": np.float16, "f32": np.float32, "xf32": np.float32, "f64": np.float64}
    return values.astype(types.get(kind, np.int8))


def source(s: Shape, call: str, declaration: str) -> str:
    loads = "".join(
        f"""
  %{x}.at = getelementptr {type_}, ptr addrspace(1) %{x}.p, i32 %t
  %{x} = load {type_}, ptr addrspace(1) %{x}.at, align 1"""
        for x, type_ in zip("abc", s.types, strict=True)
    )
    d = s.types[2]
    return kernel(
        f"""{loads}
  %d = call {d} @llvm.amdgcn.{s.name}({call})
  %d.at = getelementptr {d}, ptr addrspace(1) %d.p, i32 %t
  store {d} %d, ptr addrspace(1) %d.at, align 1
  ret void""",
        ", ".join(f"ptr addrspace(1) %{x}.p" for x in "abcd"),
        cpu=s.cpu,
        declarations=f"declare {d} @llvm.amdgcn.{s.name}({declaration})",
    )


def multiply(s: Shape, text: str, arrays: list[Array], **options: Any) -> None:
    block = (s.wave, 1, 1)
    run(text, entry="k", grid=(1, 1, 1), block=block, arguments=arrays, **options)


def mfma_source(s: Shape, modifiers: tuple[int, int, int] = (0, 0, 0)) -> str:
    a, b, d = s.types
    flags = ", ".join(f"i32 {flag}" for flag in modifiers)
    return source(
        s, f"{a} %a, {b} %b, {d} %c, {flags}", f"{a}, {b}, {d}, i32 immarg, i32 immarg, i32 immarg"
    )


@pytest.mark.parametrize(
    ("s", "broadcast"),
    [(s, broadcast) for s in MFMA for broadcast in (False, True) if s.blocks > 1 or not broadcast],
    ids=lambda value: f"{value.cpu}-{value.name}" if isinstance(value, Shape) else str(value),
)
def test_mfma(s: Shape, broadcast: bool) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (s.blocks, s.m, s.k))
    b = rng.integers(-3, 4, (s.blocks, s.k, s.m))
    c = rng.integers(-99, 99, (s.blocks, s.m, s.m))
    registers = s.m * s.m * s.blocks // 64
    at_a = [[a_place(s, lane, e) for e in range(s.elements)] for lane in range(64)]
    at_d = [[d_place(s, lane, r) for r in range(registers)] for lane in range(64)]
    assert len({place for row in at_d for place in row}) == c.size
    d_type = {"i": np.int32, "d": np.float64}.get(s.types[2].split()[-1][0], np.float32)
    of_a = storage(np.array([[a[p] for p in row] for row in at_a]), s.kinds[0], s.cpu)
    of_b = storage(
        np.array([[b[block, k, j] for block, j, k in row] for row in at_a]), s.kinds[1], s.cpu
    )
    of_c = np.array([[c[p] for p in row] for row in at_d]).astype(d_type)
    of_d = np.zeros_like(of_c)
    # cbsz 1, abid 1: of each pair of blocks, the A of the second.
    modifiers = (1, 1, 0) if broadcast else (0, 0, 0)
    multiply(s, mfma_source(s, modifiers), [of_a, of_b, of_c, of_d])
    if broadcast:
        a = np.repeat(a[1::2], 2, axis=0)
    d = c + a @ b
    np.testing.assert_array_equal(of_d, [[d[p] for p in row] for row in at_d])


@pytest.mark.parametrize(("pattern", "lanes"), [(1, lambda i: i % 32), (6, lambda i: i % 16 + 32)])
def test_lanes_of_b_that_are_taken_from_others(pattern: int, lanes: Callable[[int], int]) -> None:
    s = next(s for s in MFMA if s.name == "mfma.f32.4x4x1f32")
    a, b = np.ones((64, 1), np.float32), np.arange(64, dtype=np.float32)[:, None]
    d = np.zeros((64, 4), np.float32)
    multiply(s, mfma_source(s, (0, 0, pattern)), [a, b, np.zeros_like(d), d])
    np.testing.assert_array_equal(d[:, 0], [lanes(lane) for lane in range(64)])


def test_xf32_has_ten_bits_of_fraction() -> None:
    s = next(s for s in MFMA if s.name.endswith("16x16x8.xf32"))
    a = np.full((64, 2), 1 + 2.0**-11 + 2.0**-12, np.float32)
    d = np.zeros((64, 4), np.float32)
    multiply(s, mfma_source(s), [a, np.ones_like(a), np.zeros_like(d), d])
    assert (d == 8 * (1 + 2.0**-10)).all()


def test_mfma_on_gfx90a_may_flush_subnormals() -> None:
    s = next(s for s in MFMA if s.name == "mfma.f32.32x32x4f16")
    a = np.full((64, 4), 2.0**-20, np.float16)
    c = np.zeros((64, 32), np.float32)
    kept, flushed = np.zeros_like(c), np.zeros_like(c)
    ones = np.full((64, 4), 1.0, np.float16)
    multiply(s, mfma_source(s), [a, ones, c, kept])
    multiply(s, mfma_source(s), [a, ones, c, flushed], numerics=Numerics(flush_subnormals=True))
    assert (kept == 4 * 2.0**-20).all() and not flushed.any()
    for wrong in (Numerics(truncating_adder=True), Numerics(fp8_accumulator_bits=13)):
        with pytest.raises(EmulationError, match="NVIDIA"):
            multiply(s, mfma_source(s), [a, ones, c, kept], numerics=wrong)
    other = mfma_source(s).replace("gfx90a", "gfx942")
    with pytest.raises(EmulationError, match="gfx90a"):
        multiply(s, other, [a, ones, c, kept], numerics=Numerics(flush_subnormals=True))


# -- WMMA ---------------------------------------------------------------------------------------


def wmma(cpu: str, name: str, operand: str, result: str, kind: str, k: int = 16) -> Shape:
    types = (operand, operand, result)
    kinds = (kind, kind)
    return Shape(
        name=f"wmma.{name}", cpu=cpu, m=16, k=k, blocks=1, types=types, kinds=kinds, wave=32
    )


F16_D = [
    wmma("gfx1100", "f16.16x16x16.f16.v16f16.v16f16", "<16 x half>", "<16 x half>", "f16"),
    wmma("gfx1100", "bf16.16x16x16.bf16.v16i16.v16i16", "<16 x i16>", "<16 x i16>", "bf16"),
    wmma("gfx1100", "f16.16x16x16.f16.tied.v16f16.v16f16", "<16 x half>", "<16 x half>", "f16"),
    wmma("gfx1100", "bf16.16x16x16.bf16.tied.v16i16.v16i16", "<16 x i16>", "<16 x i16>", "bf16"),
    wmma("gfx1201", "f16.16x16x16.f16.v8f16.v8f16", "<8 x half>", "<8 x half>", "f16"),
]
INTEGER = [
    wmma("gfx1100", "i32.16x16x16.iu8.v8i32.v4i32", "<4 x i32>", "<8 x i32>", "iu8"),
    wmma("gfx1100", "i32.16x16x16.iu4.v8i32.v2i32", "<2 x i32>", "<8 x i32>", "iu4"),
    wmma("gfx1201", "i32.16x16x16.iu8.v8i32.v2i32", "<2 x i32>", "<8 x i32>", "iu8"),
    wmma("gfx1201", "i32.16x16x16.iu4.v8i32.i32", "i32", "<8 x i32>", "iu4"),
    wmma("gfx1201", "i32.16x16x32.iu4.v8i32.v2i32", "<2 x i32>", "<8 x i32>", "iu4", 32),
]
FP8 = [
    Shape(
        name=f"wmma.f32.16x16x16.{a}.{b}.v8f32.v2i32",
        cpu="gfx1201",
        m=16,
        k=16,
        blocks=1,
        types=("<2 x i32>", "<2 x i32>", "<8 x float>"),
        kinds=(a, b),
        wave=32,
    )
    for a in ("fp8", "bf8")
    for b in ("fp8", "bf8")
]


def places(s: Shape) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
    """(row, k) of A's elements and (row, column) of D's registers, by lane."""
    if s.cpu == "gfx1100":
        a = [[(lane % 16, e) for e in range(s.k)] for lane in range(32)]
        return a, [[(2 * r + lane // 16, lane % 16) for r in range(8)] for lane in range(32)]
    a = [
        [(lane % 16, 8 * (e // 4) + 4 * (lane // 16) + e % 4) for e in range(s.k // 2)]
        for lane in range(32)
    ]
    return a, [[(8 * (lane // 16) + r, lane % 16) for r in range(8)] for lane in range(32)]


def wmma_data(s: Shape, low: int, high: int) -> tuple[Array, Array, Array, list[Any]]:
    rng = np.random.default_rng(0)
    a, b = rng.integers(low, high, (16, s.k)), rng.integers(low, high, (s.k, 16))
    c = rng.integers(-99, 99, (16, 16))
    at_a, at_d = places(s)
    of_a = storage(np.array([[a[p] for p in row] for row in at_a]), s.kinds[0], s.cpu)
    of_b = storage(np.array([[b[k, j] for j, k in row] for row in at_a]), s.kinds[1], s.cpu)
    return a @ b, c, np.array([[c[p] for p in row] for row in at_d]), [of_a, of_b, at_d]


@pytest.mark.parametrize("s", FP8, ids=lambda s: s.name)
def test_wmma_of_8_bit_floats(s: Shape) -> None:
    product, c, of_c, (a, b, at_d) = wmma_data(s, -3, 4)
    d = np.zeros((32, 8), np.float32)
    x, y, z = s.types
    multiply(
        s,
        source(s, f"{x} %a, {y} %b, {z} %c", f"{x}, {y}, {z}"),
        [a, b, of_c.astype(np.float32), d],
    )
    np.testing.assert_array_equal(d, [[(product + c)[p] for p in row] for row in at_d])


@pytest.mark.parametrize("signs", ["00", "11", "01"])
@pytest.mark.parametrize("s", INTEGER, ids=lambda s: f"{s.cpu}-{s.name}")
def test_wmma_of_integers(s: Shape, signs: str) -> None:
    product, c, of_c, (a, b, at_d) = wmma_data(s, 0, 8)
    if signs != "00":  # of two operands that have their sign bits set, what each says of them
        bits = {"iu8": 8, "iu4": 4}[s.kinds[0]]
        a, b = (np.full_like(x.view(np.uint8), 0xFF) for x in (a, b))
        left = -1 if signs[0] == "1" else (1 << bits) - 1
        right = -1 if signs[1] == "1" else (1 << bits) - 1
        product = np.full((16, 16), s.k * left * right)
    d = np.zeros((32, 8), np.int32)
    x, y, z = s.types
    first, second = (f"i1 {'true' if sign == '1' else 'false'}" for sign in signs)
    call = f"{first}, {x} %a, {second}, {y} %b, {z} %c, i1 false"
    declaration = f"i1 immarg, {x}, i1 immarg, {y}, {z}, i1 immarg"
    multiply(s, source(s, call, declaration), [a, b, of_c.astype(np.int32), d])
    np.testing.assert_array_equal(d, [[(product + c)[p] for p in row] for row in at_d])
    # Near the end of the range: wrapped, or kept in it.
    most = np.full_like(of_c, 2**31 - 1).astype(np.int32)
    multiply(
        s, source(s, call.replace("%c, i1 false", "%c, i1 true"), declaration), [a, b, most, d]
    )
    expected = np.clip(2**31 - 1 + product, -(2**31), 2**31 - 1)
    np.testing.assert_array_equal(d, [[expected[p] for p in row] for row in at_d])


@pytest.mark.parametrize(
    ("s", "upper"),
    # Packed, on gfx12, there are no halves to choose from.
    [(s, upper) for s in F16_D for upper in (False, True) if s.cpu == "gfx1100" or not upper],
    ids=lambda value: f"{value.cpu}-{value.name}" if isinstance(value, Shape) else str(value),
)
def test_wmma_with_a_16_bit_accumulator(s: Shape, upper: bool) -> None:
    product, c, of_c, (a, b, at_d) = wmma_data(s, -3, 4)
    gfx11 = s.cpu == "gfx1100"
    whole = np.full((32, 16 if gfx11 else 8), 7)
    half = slice(int(upper), None, 2) if gfx11 else slice(None)
    whole[:, half] = of_c
    stored = storage(whole, s.kinds[0], s.cpu)
    d = np.zeros_like(stored)
    x, y, z = s.types
    flag = f"i1 {'true' if upper else 'false'}"
    text = source(s, f"{x} %a, {y} %b, {z} %c, {flag}", f"{x}, {y}, {z}, i1 immarg")
    multiply(s, text, [a, b, stored, d])
    expected = np.full_like(whole, 7)
    expected[:, half] = [[(product + c)[p] for p in row] for row in at_d]
    np.testing.assert_array_equal(d, storage(expected, s.kinds[0], s.cpu))
