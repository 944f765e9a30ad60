"""MFMA of every shape and type against plain sums, element by element. The layout of lanes is
written here again, from AMD's matrix instruction calculator: l is the lane, e the packed
element, r the register, b the block."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from kgen.emulate.numerics import Numerics
from kgen.emulate.report import UnknownInstruction
from kgen.errors import EmulationError
from tests.emulate.matrix_shapes import Shape, multiply, source, storage

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


@pytest.mark.parametrize("kinds", [("fp8", "fp8"), ("bf8", "fp8")])
@pytest.mark.parametrize(("m", "k"), [(16, 128), (32, 64)])
def test_f8f6f4_without_scales(m: int, k: int, kinds: tuple[str, str]) -> None:
    """A lane has two runs of 16 values of k, half of K apart."""
    wide = "<8 x i32>"
    d_type = f"<{m * m // 64} x float>"
    s = Shape(
        name=f"mfma.scale.f32.{m}x{m}x{k}.f8f6f4.v8i32.v8i32",
        cpu="gfx950",
        m=m,
        k=k,
        blocks=1,
        types=(wide, wide, d_type),
        kinds=kinds,
    )
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, m)), rng.integers(-9, 9, (m, m))
    depth = [
        [16 * (lane // m) + e % 16 + (k // 2 if e >= 16 else 0) for e in range(32)]
        for lane in range(64)
    ]
    of_a = storage(np.stack([a[i % m, depth[i]] for i in range(64)]), kinds[0], s.cpu)
    of_b = storage(np.stack([b[depth[i], i % m] for i in range(64)]), kinds[1], s.cpu)
    at_d = [[d_place(s, lane, r)[1:] for r in range(m * m // 64)] for lane in range(64)]
    of_c = np.array([[c[p] for p in row] for row in at_d], np.float32)
    of_d = np.zeros_like(of_c)
    formats = [("fp8", "bf8").index(kind) for kind in kinds]
    text = source(
        s,
        f"{wide} %a, {wide} %b, {d_type} %c, i32 {formats[0]}, i32 {formats[1]}"
        ", i32 0, i32 0, i32 0, i32 0",
        f"{wide}, {wide}, {d_type}, i32 immarg, i32 immarg, i32 immarg, i32, i32 immarg, i32",
    )
    multiply(s, text, [of_a, of_b, of_c, of_d])
    np.testing.assert_array_equal(of_d, [[(c + a @ b)[p] for p in row] for row in at_d])
    for wrong in ("i32 0, i32 7, i32 0, i32 0", "i32 0, i32 %t, i32 0, i32 0"):
        with pytest.raises(UnknownInstruction, match="mfma"):
            multiply(
                s,
                text.replace("i32 0, i32 0, i32 0, i32 0)", wrong + ")"),
                [of_a, of_b, of_c, of_d],
            )


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
        with pytest.raises(EmulationError, match="only flush_subnormals applies to AMDGPU IR"):
            multiply(s, mfma_source(s), [a, ones, c, kept], numerics=wrong)
    other = mfma_source(s).replace("gfx90a", "gfx942")
    with pytest.raises(EmulationError, match="gfx90a"):
        multiply(s, other, [a, ones, c, kept], numerics=Numerics(flush_subnormals=True))
