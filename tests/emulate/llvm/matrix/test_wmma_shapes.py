"""WMMA of every shape and type against plain sums, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulate.llvm.llvm_kernels import Array
from tests.emulate.matrix_shapes import Shape, multiply, source, storage


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
    """Return (row, k) of A's elements and (row, column) of D's registers, by lane."""
    if s.cpu == "gfx1100":
        a = [[(lane % 16, e) for e in range(s.k)] for lane in range(32)]
        return a, [[(2 * r + lane // 16, lane % 16) for r in range(8)] for lane in range(32)]
    a = [[(lane % 16, gfx12_depth(s, lane, e)) for e in range(s.k // 2)] for lane in range(32)]
    return a, [[(8 * (lane // 16) + r, lane % 16) for r in range(8)] for lane in range(32)]


def gfx12_depth(s: Shape, lane: int, e: int) -> int:
    if s.kinds[0] in ("f16", "bf16"):
        return 8 * (e // 4) + 4 * (lane // 16) + e % 4
    return s.k // 2 * (lane // 16) + e


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
