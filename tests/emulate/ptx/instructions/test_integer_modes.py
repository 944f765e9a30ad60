"""Modes of integer instructions that compilers seldom use: .relu, .shiftamt, modes of prmt."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_programs import Array, elementwise

RANDOM = np.random.default_rng(12)
A, B = (RANDOM.integers(0, 2**32, 32, np.uint32) for _ in range(2))
A[:4] = [0, 1, 0x80000000, 0xFFFFFFFF]


@pytest.mark.parametrize("name", ["min", "max"])
def test_not_below_zero(name: str) -> None:
    got = elementwise(f"{name}.relu.s32 {{}}, {{}}, {{}};", "u32 u32 u32", [A, B], np.int32)
    function = np.minimum if name == "min" else np.maximum
    assert (got == np.maximum(function(A.view(np.int32), B.view(np.int32)), 0)).all()
    got = elementwise(f"{name}.relu.s16x2 {{}}, {{}}, {{}};", "u32 u32 u32", [A, B], np.uint32)
    halves = np.maximum(function(A.view(np.int16), B.view(np.int16)), 0)
    assert (got.view(np.int16) == halves).all()


@pytest.mark.parametrize("type_", ["u32", "s32"])
def test_the_leading_bit(type_: str) -> None:
    def leading(value: int) -> int:
        flipped = ~value & 0xFFFFFFFF if type_ == "s32" and value >> 31 else value
        return flipped.bit_length() - 1

    found = [leading(int(value)) for value in A]
    place = elementwise(f"bfind.{type_} {{}}, {{}};", "u32 u32", [A], np.int32)
    assert place.tolist() == found
    shift = elementwise(f"bfind.shiftamt.{type_} {{}}, {{}};", "u32 u32", [A], np.int32)
    assert shift.tolist() == [31 - at if at >= 0 else -1 for at in found]


def permuted(mode: str, a: int, b: int, c: int) -> int:
    """Permute byte by byte, by the text of PTX ISA 9.7.9.7 instead of its table."""
    source = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    match mode:
        case "f4e":  # forward four extract
            chosen = [c + i for i in range(4)]
        case "b4e":  # backward
            chosen = [(c - i) % 8 for i in range(4)]
        case "rc8":  # replicate 8
            chosen = [c] * 4
        case "ecl":  # edge clamp left
            chosen = [max(c, i) for i in range(4)]
        case "ecr":  # edge clamp right
            chosen = [min(c, i) for i in range(4)]
        case _:  # replicate 16
            chosen = [c % 2 * 2 + i % 2 for i in range(4)]
    return int.from_bytes(bytes(source[i] for i in chosen), "little")


@pytest.mark.parametrize("mode", ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])
def test_permutations_of_bytes(mode: str) -> None:
    c: Array = np.arange(32, dtype=np.uint32) + 4
    source = f"prmt.b32.{mode} {{}}, {{}}, {{}}, {{}};"
    got = elementwise(source, "u32 u32 u32 u32", [A, B, c], np.uint32)
    wanted = [permuted(mode, *map(int, (x, y, z % 4))) for x, y, z in zip(A, B, c, strict=True)]
    assert got.tolist() == wanted
