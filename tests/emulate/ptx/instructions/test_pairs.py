"""Pairs of f32 in 64 bits, and the SIMD video instructions on the parts of words."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from kgen.emulate import UnknownInstruction
from tests.emulate.ptx.ptx_kernels import Array, evaluate

RNG = np.random.default_rng(11)
WORDS = RNG.integers(0, 1 << 32, (3, 128), dtype=np.uint32)
WORDS[:, :4] = [[0, 2**32 - 1, 0x80808080, 0x7F7F7F7F]] * 3


def pairs(low: Array, high: Array) -> Array:
    return np.stack([low, high], axis=-1).astype(np.float32).view(np.uint64)[:, 0]


A, B, C = (pairs(RNG.normal(size=128), RNG.normal(size=128)) for _ in range(3))


@pytest.mark.parametrize(
    ("name", "function"), [("add", np.add), ("sub", np.subtract), ("mul", np.multiply)]
)
def test_arithmetic_of_pairs(name: str, function: np.ufunc) -> None:
    got = evaluate(f"  {name}.rn.f32x2 %y, %x0, %x1;", ["b64", "b64"], "b64", A, B)
    wanted = function(A.view(np.float32), B.view(np.float32))
    np.testing.assert_array_equal(got.view(np.float32), wanted)


def test_a_fused_product_of_pairs_rounds_once() -> None:
    """(1 + 2^-12)^2 - 1 contains 2^-24, which a rounded product loses."""
    a = pairs(np.full(128, 1 + 2.0**-12), np.full(128, 3.0))
    c = pairs(np.full(128, -1.0), np.full(128, 0.5))
    got = evaluate("  fma.rn.f32x2 %y, %x0, %x1, %x2;", ["b64"] * 3, "b64", a, a, c)
    low, high = got.view(np.float32).reshape(-1, 2).T
    assert (low == np.float32(2.0**-11 + 2.0**-24)).all()
    assert (high == 9.5).all()


@pytest.mark.parametrize(
    ("rounding", "low", "high"),
    [("rn", 1, -1), ("rz", 1, -1), ("rp", 1 + 2.0**-23, -1), ("rm", 1, -1 - 2.0**-23)],
)
def test_roundings_of_pairs(rounding: str, low: float, high: float) -> None:
    a, b = (
        pairs(np.ones(128), -np.ones(128)),
        pairs(np.full(128, 2.0**-25), np.full(128, -(2.0**-25))),
    )
    got = evaluate(f"  add.{rounding}.f32x2 %y, %x0, %x1;", ["b64", "b64"], "b64", a, b)
    assert (got.view(np.float32).reshape(-1, 2) == np.array([low, high], np.float32)).all()


def test_pairs_flush_subnormals_when_they_are_told_to() -> None:
    tiny = pairs(np.full(128, 2.0**-130), np.full(128, 1.0))
    zero = pairs(np.zeros(128), np.zeros(128))
    for word, low in ((".ftz", 0.0), ("", 2.0**-130)):
        code = f"  add.rn{word}.f32x2 %y, %x0, %x1;"
        got = evaluate(code, ["b64", "b64"], "b64", tiny, zero).view(np.float32).reshape(-1, 2)
        assert (got == np.array([low, 1.0], np.float32)).all()


def test_other_instructions_have_no_pairs() -> None:
    with pytest.raises(UnknownInstruction, match=r"max\.f32x2"):
        evaluate("  max.f32x2 %y, %x0, %x1;", ["b64", "b64"], "b64", A, B)


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "absdiff": lambda a, b: abs(a - b),
    "min": min,
    "max": max,
}


def _lanes(word: int, count: int, signed: bool) -> list[int]:
    bits = 32 // count
    values = [word >> bits * i & (1 << bits) - 1 for i in range(count)]
    return [v - (1 << bits) if signed and v >> bits - 1 else v for v in values]


@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("name", OPERATIONS)
def test_video_instructions(name: str, lanes: int) -> None:
    """Results are those of Python's integers, for all result types, operands and final
    operations."""
    bits = 32 // lanes
    for kinds in itertools.product("us", repeat=3):
        for ending in ("", ".sat", ".add"):
            types = "".join(f".{kind}32" for kind in kinds)
            code = f"  v{name}{lanes}{types}{ending} %y, %x0, %x1, %x2;"
            got = evaluate(code, ["b32"] * 3, "b32", *WORDS)
            for a, b, c, word in zip(*WORDS.tolist(), got.tolist(), strict=True):
                mine = _lanes(a, lanes, kinds[1] == "s"), _lanes(b, lanes, kinds[2] == "s")
                each = [OPERATIONS[name](x, y) for x, y in zip(*mine, strict=True)]
                if ending == ".add":
                    assert word == (c + sum(each)) % (1 << 32)
                    continue
                least = -(1 << bits - 1) if kinds[0] == "s" else 0
                most = least + (1 << bits) - 1
                if ending == ".sat":
                    each = [min(max(value, least), most) for value in each]
                merged = sum((value % (1 << bits)) << bits * i for i, value in enumerate(each))
                assert word == merged
