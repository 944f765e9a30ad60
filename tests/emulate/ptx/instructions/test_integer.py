"""PTX integer arithmetic, logic, shifts and bit fields against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emulate.ptx.ptx_kernels import Array, bits, evaluate

_SPECIAL = [0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF]


def values(type_: str, seed: int, count: int = 128) -> Array:
    """Return small numbers, limits of the type and random bits."""
    width = bits(type_)
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 2**63, count, np.uint64) * np.uint64(2) + np.uint64(seed & 1)
    special = np.array(_SPECIAL, np.uint64)
    ends = np.array([2 ** (width - 1), 2 ** (width - 1) - 1, 2**width - 1], np.uint64)
    raw[: len(special)] = rng.permutation(special)
    raw[len(special) : len(special) + 3] = rng.permutation(ends)
    return (
        rng.permutation(raw)
        .astype(f"u{width // 8}")
        .view(f"{'i' if type_[0] == 's' else 'u'}{width // 8}")
    )


def truncate(value: int, type_: str) -> int:
    width = bits(type_)
    value &= (1 << width) - 1
    return value - (1 << width) if type_[0] == "s" and value >> (width - 1) else value


def expect(function: Callable[..., int], output: str, *arrays: Array) -> list[int]:
    rows = zip(*(a.tolist() for a in arrays), strict=True)
    return [truncate(function(*row), output) for row in rows]


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("type_", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, type_: str) -> None:
    a, b = values(type_, 1), values(type_, 2)
    got = evaluate(f"{name}.{type_} %y, %x0, %x1;", [type_] * 2, type_, a, b)
    assert got.tolist() == expect(BINARY[name], type_, a, b)


@pytest.mark.parametrize("type_", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_high_product(type_: str) -> None:
    a, b = values(type_, 3), values(type_, 4)
    got = evaluate(f"mul.hi.{type_} %y, %x0, %x1;", [type_] * 2, type_, a, b)
    assert got.tolist() == expect(lambda x, y: (x * y) >> bits(type_), type_, a, b)


@pytest.mark.parametrize("type_", ["s16", "u16", "s32", "u32"])
def test_wide_product_and_sum(type_: str) -> None:
    wide = f"{type_[0]}{2 * bits(type_)}"
    a, b, c = values(type_, 5), values(type_, 6), values(wide, 7)
    got = evaluate(f"mul.wide.{type_} %y, %x0, %x1;", [type_] * 2, wide, a, b)
    assert got.tolist() == expect(lambda x, y: x * y, wide, a, b)
    got = evaluate(f"mad.wide.{type_} %y, %x0, %x1, %x2;", [type_, type_, wide], wide, a, b, c)
    assert got.tolist() == expect(lambda x, y, z: x * y + z, wide, a, b, c)


@pytest.mark.parametrize("type_", ["s16", "s32", "u32", "s64", "u64"])
def test_division_goes_towards_zero(type_: str) -> None:
    a, b = values(type_, 8), values(type_, 9)
    b[b == 0] = 7

    def quotient(x: int, y: int) -> int:
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    got = evaluate(f"div.{type_} %y, %x0, %x1;", [type_] * 2, type_, a, b)
    assert got.tolist() == expect(quotient, type_, a, b)
    got = evaluate(f"rem.{type_} %y, %x0, %x1;", [type_] * 2, type_, a, b)
    assert got.tolist() == expect(lambda x, y: x - quotient(x, y) * y, type_, a, b)


@pytest.mark.parametrize("type_", ["s16", "s32", "s64"])
def test_sign(type_: str) -> None:
    a = values(type_, 10)
    got = evaluate(f"neg.{type_} %y, %x0;", [type_], type_, a)
    assert got.tolist() == expect(lambda x: -x, type_, a)
    got = evaluate(f"abs.{type_} %y, %x0;", [type_], type_, a)
    assert got.tolist() == expect(abs, type_, a)


def test_saturating_add() -> None:
    a, b = values("s32", 11), values("s32", 12)
    got = evaluate("add.sat.s32 %y, %x0, %x1;", ["s32"] * 2, "s32", a, b)
    low, high = -(2**31), 2**31 - 1
    assert got.tolist() == [
        min(max(x + y, low), high) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]


@pytest.mark.parametrize("type_", ["b16", "b32", "b64"])
def test_logic(type_: str) -> None:
    a, b = values(type_, 13), values(type_, 14)
    for name, function in (("and", a & b), ("or", a | b), ("xor", a ^ b)):
        got = evaluate(f"{name}.{type_} %y, %x0, %x1;", [type_] * 2, type_, a, b)
        assert got.tolist() == function.tolist()
    assert evaluate(f"not.{type_} %y, %x0;", [type_], type_, a).tolist() == (~a).tolist()


@pytest.mark.parametrize("table", [0x00, 0x80, 0x96, 0xE8, 0xCA, 0xFF, 0x1B])
def test_logic3(table: int) -> None:
    a, b, c = (values("b32", seed) for seed in (15, 16, 17))

    def combine(x: int, y: int, z: int) -> int:
        found = 0
        for bit in range(32):
            row = (x >> bit & 1) << 2 | (y >> bit & 1) << 1 | (z >> bit & 1)
            found |= (table >> row & 1) << bit
        return found

    got = evaluate(f"lop3.b32 %y, %x0, %x1, %x2, {table};", ["b32"] * 3, "b32", a, b, c)
    assert got.tolist() == expect(combine, "b32", a, b, c)


@pytest.mark.parametrize("width", [16, 32, 64])
def test_shifts_clamp_their_amount(width: int) -> None:
    amounts = np.resize(np.array([0, 1, 5, 15, 16, 31, 32, 33, 63, 64, 200], np.uint32), 128)
    for type_, code, function in (
        ("b", "shl.b", lambda x, n: x << n if n < width else 0),
        ("u", "shr.u", lambda x, n: x >> n),
        ("s", "shr.s", lambda x, n: x >> min(n, width)),
    ):
        a = values(f"{type_}{width}", 18)
        got = evaluate(
            f"{code}{width} %y, %x0, %x1;",
            [f"{type_}{width}", "u32"],
            f"{type_}{width}",
            a,
            amounts,
        )
        assert got.tolist() == expect(function, f"{type_}{width}", a, amounts)


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
@pytest.mark.parametrize("direction", ["l", "r"])
def test_funnel_shift(direction: str, mode: str) -> None:
    a, b = values("b32", 19), values("b32", 20)
    amounts = np.resize(np.array([0, 1, 16, 31, 32, 40], np.uint32), 128)

    def shift(low: int, high: int, n: int) -> int:
        n = n & 31 if mode == "wrap" else min(n, 32)
        both = high << 32 | low
        return both >> n if direction == "r" else (both << n) >> 32

    got = evaluate(
        f"shf.{direction}.{mode}.b32 %y, %x0, %x1, %x2;",
        ["b32", "b32", "u32"],
        "b32",
        a,
        b,
        amounts,
    )
    assert got.tolist() == expect(shift, "b32", a, b, amounts)


@pytest.mark.parametrize("type_", ["u32", "s32", "u64", "s64"])
def test_bit_field_extract(type_: str) -> None:
    """Bit fields follow the pseudocode of the ISA."""
    width = bits(type_)
    a = values(type_, 21)
    start = np.resize(np.array([0, 1, 8, 20, 31, 32, 60, 63, 64, 255], np.uint32), 128)
    length = np.resize(np.array([0, 1, 7, 8, 31, 32, 33, 64, 255], np.uint32), 128)

    def extract(x: int, first: int, count: int) -> int:
        raw = x & ((1 << width) - 1)
        sign = 0
        if type_[0] == "s" and count:
            sign = raw >> min(first + count - 1, width - 1) & 1
        found = 0
        for i in range(width):
            bit = raw >> (first + i) & 1 if i < count and first + i < width else sign
            found |= bit << i
        return found

    got = evaluate(
        f"bfe.{type_} %y, %x0, %x1, %x2;", [type_, "u32", "u32"], type_, a, start, length
    )
    assert got.tolist() == expect(extract, type_, a, start, length)


@pytest.mark.parametrize("type_", ["b32", "b64"])
def test_bit_field_insert(type_: str) -> None:
    width = bits(type_)
    a, b = values(type_, 22), values(type_, 23)
    start = np.resize(np.array([0, 1, 8, 20, 31, 32, 60, 64], np.uint32), 128)
    length = np.resize(np.array([0, 1, 7, 8, 31, 32, 64, 255, 3], np.uint32), 128)

    def insert(x: int, y: int, first: int, count: int) -> int:
        for i in range(count):
            if first + i < width:
                y = y & ~(1 << (first + i)) | (x >> i & 1) << (first + i)
        return y

    got = evaluate(
        f"bfi.{type_} %y, %x0, %x1, %x2, %x3;",
        [type_, type_, "u32", "u32"],
        type_,
        a,
        b,
        start,
        length,
    )
    assert got.tolist() == expect(insert, type_, a, b, start, length)


def test_byte_permute() -> None:
    a, b, selector = (values("b32", seed) for seed in (24, 25, 26))

    def permute(x: int, y: int, s: int) -> int:
        data = (y << 32 | x).to_bytes(8, "little")
        found = 0
        for i in range(4):
            pick = s >> (4 * i) & 0xF
            byte = data[pick & 7]
            if pick & 8:
                byte = 0xFF if byte & 0x80 else 0
            found |= byte << (8 * i)
        return found

    got = evaluate("prmt.b32 %y, %x0, %x1, %x2;", ["b32"] * 3, "b32", a, b, selector)
    assert got.tolist() == expect(permute, "b32", a, b, selector)


@pytest.mark.parametrize("type_", ["b32", "b64"])
def test_bit_counts(type_: str) -> None:
    width = bits(type_)
    a = values(type_, 27)
    got = evaluate(f"popc.{type_} %y, %x0;", [type_], "u32", a)
    assert got.tolist() == expect(int.bit_count, "u32", a)
    got = evaluate(f"clz.{type_} %y, %x0;", [type_], "u32", a)
    assert got.tolist() == expect(lambda x: width - x.bit_length(), "u32", a)
    got = evaluate(f"brev.{type_} %y, %x0;", [type_], type_, a)
    assert got.tolist() == expect(lambda x: int(f"{x:0{width}b}"[::-1], 2), type_, a)
    signed = f"s{width}"
    got = evaluate(f"bfind.{signed} %y, %x0;", [signed], "u32", a.view(f"i{width // 8}"))
    assert got.tolist() == expect(
        lambda x: (x if x >= 0 else ~x).bit_length() - 1, "u32", a.view(f"i{width // 8}")
    )


def test_dot_product_of_bytes() -> None:
    a, b, c = values("b32", 28), values("b32", 29), values("s32", 30)
    got = evaluate("dp4a.s32.s32 %y, %x0, %x1, %x2;", ["b32", "b32", "s32"], "s32", a, b, c)
    x, y = a.view(np.int8).reshape(-1, 4), b.view(np.int8).reshape(-1, 4)
    assert got.tolist() == ((x.astype(np.int64) * y).sum(1) + c).astype(np.int32).tolist()


def test_packed_minimum() -> None:
    a, b = values("b32", 31), values("b32", 32)
    got = evaluate("min.s16x2 %y, %x0, %x1;", ["b32", "b32"], "b32", a, b)
    assert (got.view(np.int16) == np.minimum(a.view(np.int16), b.view(np.int16))).all()
