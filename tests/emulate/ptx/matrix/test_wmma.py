"""wmma of all shapes and types against numpy: loads, products and stores, by rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import Numerics, run
from tests.emulate.ptx.ptx_programs import Array
from tests.emulate.ptx.ptxas import assemble

#: By type of A and B: (numpy's type, elements of a register, depth, type of C).
TYPES: dict[str, tuple[Any, int, int, str]] = {
    "f16": (np.float16, 2, 16, "f32"),
    "bf16": (np.uint16, 2, 16, "f32"),
    "tf32": (np.float32, 1, 8, "f32"),
    "s8": (np.int8, 4, 16, "s32"),
    "u8": (np.uint8, 4, 16, "s32"),
}
SHAPES = [(16, 16), (32, 8), (8, 32)]
#: The ISA has tf32 for 16x16 only.
CASES = [(t, *shape) for t in TYPES for shape in SHAPES if t != "tf32" or shape == (16, 16)]


def registers(letter: str, count: int) -> str:
    return "{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}"


def program(type_: str, m: int, n: int, *, a_by: str, b_by: str, saturates: bool) -> str:
    _, together, k, sums = TYPES[type_]
    shape = f"m{m}n{n}k{k}"
    counts = {"a": m * k // 32 // together, "b": k * n // 32 // together, "c": m * n // 32}
    if type_ == "f16":
        counts |= {"a": 8, "b": 8}
    a, b, c = (registers(letter, count) for letter, count in counts.items())
    kind = ".f32.f32" if type_ == "f16" else f".{sums}.{type_}.{type_}.{sums}"
    float_ = "f32" if sums == "f32" else "b32"
    strides = {"a": k if a_by == "row" else m, "b": n if b_by == "row" else k}
    source = f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 pa, .param .u64 pb, .param .u64 pc)
{{
    .reg .b32 %a<8>, %b<8>;
    .reg .{float_} %c<8>;
    .reg .b64 %pa, %pb, %pc;
    ld.param.u64 %pa, [pa];
    ld.param.u64 %pb, [pb];
    ld.param.u64 %pc, [pc];
    wmma.load.a.sync.aligned.{a_by}.{shape}.global.{type_} {a}, [%pa], {strides["a"]};
    wmma.load.b.sync.aligned.{b_by}.{shape}.global.{type_} {b}, [%pb], {strides["b"]};
    wmma.load.c.sync.aligned.row.{shape}.global.{sums} {c}, [%pc], {n};
    wmma.mma.sync.aligned.{a_by}.{b_by}.{shape}{kind}{".satfinite" if saturates else ""}
        {c}, {a}, {b}, {c};
    wmma.store.d.sync.aligned.row.{shape}.global.{sums} [%pc], {c}, {n};
    ret;
}}
"""
    assemble(source, "sm_80")
    return source


def stored(type_: str, values: Array, by: str) -> Array:
    """Return whole numbers in the kernel's storage type."""
    dtype = TYPES[type_][0]
    if type_ == "bf16":
        values = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    laid_out = values if by == "row" else values.T
    return np.ascontiguousarray(laid_out.astype(dtype))


def multiply(
    type_: str,
    a: Array,
    b: Array,
    c: Array,
    a_by: str,
    b_by: str,
    saturates: bool = False,
    **options: Any,
) -> Array:
    source = program(type_, len(a), b.shape[1], a_by=a_by, b_by=b_by, saturates=saturates)
    out = c.copy()
    arguments = [stored(type_, a, a_by), stored(type_, b, b_by), out]
    run(
        source,
        language="ptx",
        entry="f",
        grid=(1, 1, 1),
        block=(32, 1, 1),
        arguments=arguments,
        **options,
    )
    return out


@pytest.mark.parametrize(("type_", "m", "n"), CASES)
@pytest.mark.parametrize(("a_by", "b_by"), [("row", "col"), ("col", "row")])
def test_products(type_: str, m: int, n: int, a_by: str, b_by: str) -> None:
    _, _, k, sums = TYPES[type_]
    random = np.random.default_rng(m)
    low = 0 if type_ == "u8" else -9
    a, b = random.integers(low, 10, (m, k)), random.integers(low, 10, (k, n))
    c = random.integers(-99, 99, (m, n)).astype(np.int32 if sums == "s32" else np.float32)
    assert (multiply(type_, a, b, c, a_by, b_by) == a @ b + c).all()


@pytest.mark.parametrize("saturates", [False, True])
def test_sums_beyond_the_largest(saturates: bool) -> None:
    a, b = np.full((16, 16), -128), np.full((16, 16), -128)
    c = np.full((16, 16), 2**31 - 1, np.int32)
    wanted = 2**31 - 1 if saturates else -(2**31) + 2**18 - 1
    assert (multiply("s8", a, b, c, "row", "col", saturates) == wanted).all()


def test_the_truncating_adder() -> None:
    """Three quarters of a unit in the last place are rounded up to one, or cut off."""
    a, b = np.zeros((16, 16)), np.zeros((16, 16))
    a[:, 0], b[0, :] = 1, 1.5
    c = np.full((16, 16), 2.0**24, np.float32)
    cut = Numerics(truncating_adder=True)
    assert (multiply("f16", a, b, c, "row", "row") == 2.0**24 + 2).all()
    assert (multiply("f16", a, b, c, "row", "row", numerics=cut) == 2.0**24).all()
