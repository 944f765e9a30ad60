"""wgmma: types, shapes, fragments and descriptors.

D is taken from each thread's registers by the formulas of PTX ISA 9.7.15.5.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import Numerics
from kgen.emulate.ptx.ops.matrix.wgmma import matrix_product
from tests.emulate.ptx.ptx_kernels import Array
from tests.emulate.ptx.wgmma_programs import (
    B_AT,
    DEPTH,
    DTYPES,
    K_MAJOR,
    MN_MAJOR,
    Place,
    d_position,
    fragment,
    launch,
    program,
)


@pytest.mark.parametrize("columns", [8, 96, 128, 136, 256])
def test_columns_that_are_multiplied_in_parts(columns: int) -> None:
    rng = np.random.default_rng(columns)
    a, b = (rng.integers(-128, 128, (3, rows, 32)).astype(np.float32) for rows in (64, columns))
    exact = a.astype(np.int64) @ b.astype(np.int64).swapaxes(1, 2)
    assert np.array_equal(matrix_product(a, b), exact)


def values(rng: np.random.Generator, shape: tuple[int, int], type_: str) -> Array:
    return rng.integers(0 if type_ == "u8" else -4, 5, shape)


def multiply(
    types: tuple[str, str, str],
    n: int,
    a_place: Place,
    b_place: Place,
    *,
    a_registers: bool = False,
    scales: tuple[int, int] = (1, 1),
    accumulate: int = 1,
    **options: Any,
) -> tuple[Array, Array]:
    """Return (D of the program, the expected D)."""
    d_type, a_type, b_type = types
    k = DEPTH[a_type]
    rng = np.random.default_rng(n)
    a, b = values(rng, (64, k), a_type), values(rng, (n, k), b_type)
    c = rng.integers(-99, 99, (64, n))
    image = bytearray(np.random.default_rng(9).integers(0, 256, 65536, np.uint8).tobytes())
    if not a_registers:
        a_place.put(image, 0, a.astype(DTYPES[a_type]))
    b_place.put(image, B_AT, b.astype(DTYPES[b_type]))
    storage = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[d_type]
    registers = fragment(c, d_position, n // 2).astype(storage)
    a_words = np.zeros((128, 4), np.uint32)
    if a_registers:
        a_words = a_fragment(a.astype(DTYPES[a_type]))
    immediates = ""
    if a_type not in ("s8", "u8"):
        immediates = f", {scales[0]}, {scales[1]}"
    if a_type in ("f16", "bf16"):
        majors = [b_place.mn_major] if a_registers else [a_place.mn_major, b_place.mn_major]
        immediates += "".join(f", {int(m)}" for m in majors)
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d_type}.{a_type}.{b_type}"
    source = program(name, n, immediates=immediates, a_registers=a_registers, accumulate=accumulate)
    launch(source, image, registers, a_words, (a_place.descriptor, b_place.descriptor), **options)
    found = np.zeros((64, n))
    for thread in range(128):
        for i in range(n // 2):
            found[d_position(thread, i)] = registers[thread, i]
    return found, scales[0] * scales[1] * (a @ b.T) + accumulate * c


def a_fragment(a: Array) -> Array:
    """Return [128, 4] registers of A: each has 4 bytes of a row, at the lane's 4 bytes of K."""
    row_bytes = np.ascontiguousarray(a).view(np.uint8)
    words = np.zeros((128, 4), np.uint32)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for r in range(4):
            row = 16 * warp + lane // 4 + 8 * (r % 2)
            first = 4 * (lane % 4) + 16 * (r // 2)
            words[thread, r] = row_bytes[row, first : first + 4].copy().view(np.uint32)[0]
    return words


@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.parametrize(
    "types",
    [
        ("f32", "f16", "f16"),
        ("f16", "f16", "f16"),
        ("f32", "bf16", "bf16"),
        ("f32", "tf32", "tf32"),
        ("f32", "e4m3", "e5m2"),
        ("f16", "e5m2", "e4m3"),
        ("s32", "s8", "u8"),
        ("s32", "u8", "s8"),
    ],
)
def test_types(types: tuple[str, str, str], a_registers: bool) -> None:
    got, wanted = multiply(types, 32, K_MAJOR[128], K_MAJOR[32], a_registers=a_registers)
    assert (got == wanted).all()


@pytest.mark.parametrize("n", [8, 24, 128, 256])
def test_columns(n: int) -> None:
    got, wanted = multiply(("f32", "f16", "f16"), n, K_MAJOR[64], K_MAJOR[128])
    assert (got == wanted).all()


@pytest.mark.parametrize("a_major", [K_MAJOR, MN_MAJOR])
@pytest.mark.parametrize("b_major", [K_MAJOR, MN_MAJOR])
@pytest.mark.parametrize("span", [0, 32, 64, 128])
def test_swizzles_and_majors(
    a_major: dict[int, Place], b_major: dict[int, Place], span: int
) -> None:
    got, wanted = multiply(("f32", "bf16", "bf16"), 64, a_major[span], b_major[span])
    assert (got == wanted).all()


@pytest.mark.parametrize("scales", [(1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("accumulate", [0, 1])
def test_scales(scales: tuple[int, int], accumulate: int) -> None:
    got, wanted = multiply(
        ("f32", "f16", "f16"), 16, K_MAJOR[32], K_MAJOR[32], scales=scales, accumulate=accumulate
    )
    assert (got == wanted).all()


def test_the_short_accumulator() -> None:
    got, wanted = multiply(
        ("f32", "e4m3", "e4m3"),
        8,
        K_MAJOR[32],
        K_MAJOR[32],
        numerics=Numerics(fp8_accumulator_bits=4),
    )
    assert (got != wanted).any()
    np.testing.assert_allclose(got, wanted, atol=40)
