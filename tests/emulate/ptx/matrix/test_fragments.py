"""Matrix instructions with layouts written out as the ISA's per-element formulas.

PTX ISA 9.7.14.5: for a_i, b_i, c_i of each lane the row and column, here as functions of the lane's
group (lane / 4), its place in the group (lane % 4) and i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tests.emulate.ptx.ptx_kernels import Array, kernel, launch

Position = Callable[[int, int, int], tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Shape of an mma: positions of the elements, and how many of them a register holds."""

    shape: str
    type: str
    accumulator: str
    a: Position
    b: Position
    counts: tuple[int, int]
    m: int = 16


def _c16(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def _c8(g: int, t: int, i: int) -> tuple[int, int]:
    return g, t * 2 + i


def _a_half16(g: int, t: int, i: int) -> tuple[int, int]:
    row = g if 0 <= i < 2 or 4 <= i < 6 else g + 8
    return row, t * 2 + (i & 1) + (0 if i < 4 else 8)


def _b_half16(g: int, t: int, i: int) -> tuple[int, int]:
    return t * 2 + (i & 1) + (0 if i < 2 else 8), g


def _a_half8(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def _a_byte32(g: int, t: int, i: int) -> tuple[int, int]:
    row = g if i < 4 or 8 <= i < 12 else g + 8
    return row, t * 4 + (i & 3) + (0 if i < 8 else 16)


CASES = [
    *(
        Case(shape="m16n8k16", type=t, accumulator=c, a=_a_half16, b=_b_half16, counts=(8, 4))
        for t, c in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"))
    ),
    *(
        Case(
            shape="m16n8k8",
            type=t,
            accumulator=c,
            a=_a_half8,
            b=lambda g, t, i: (t * 2 + i, g),
            counts=(4, 2),
        )
        for t, c in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"))
    ),
    Case(
        shape="m16n8k4",
        type="tf32",
        accumulator="f32",
        a=lambda g, t, i: (g + 8 * i, t),
        b=lambda g, t, i: (t, g),
        counts=(2, 1),
    ),
    Case(
        shape="m16n8k8",
        type="tf32",
        accumulator="f32",
        a=lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
        b=lambda g, t, i: (t + 4 * i, g),
        counts=(4, 2),
    ),
    *(
        Case(
            shape="m8n8k16",
            type=t,
            accumulator="s32",
            a=lambda g, t, i: (g, t * 4 + i),
            b=lambda g, t, i: (t * 4 + i, g),
            counts=(4, 4),
            m=8,
        )
        for t in ("s8", "u8")
    ),
    Case(
        shape="m16n8k16",
        type="s8",
        accumulator="s32",
        a=lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
        b=lambda g, t, i: (t * 4 + i, g),
        counts=(8, 4),
    ),
    Case(
        shape="m16n8k32",
        type="s8",
        accumulator="s32",
        a=_a_byte32,
        b=lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
        counts=(16, 8),
    ),
]
#: The storage of an element, and small exact values for it.
STORAGE = {
    "f16": "f2",
    "bf16": "u2",
    "tf32": "f4",
    "s8": "i1",
    "u8": "u1",
    "f32": "f4",
    "s32": "i4",
}


def encode(values: Array, type_: str) -> Array:
    if type_ == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(STORAGE[type_])


def fragment(matrix: Array, position: Position, count: int, type_: str) -> Array:
    """Return [32, registers] words: each lane's elements, packed in order."""
    lanes = np.array(
        [[position(lane // 4, lane % 4, i) for i in range(count)] for lane in range(32)]
    )
    return encode(matrix[lanes[..., 0], lanes[..., 1]], type_).view(np.uint32).reshape(32, -1)


def unfragment(words: Array, position: Position, count: int, type_: str, shape: Array) -> Array:
    found = np.zeros(shape.shape)
    elements = np.ascontiguousarray(words).view(STORAGE[type_]).reshape(32, count)
    for lane in range(32):
        for i in range(count):
            found[position(lane // 4, lane % 4, i)] = elements[lane, i]
    return found


def mma_program(name: str, a: int, b: int, c: int, accumulator: str) -> str:
    """Return a program in which each lane loads its registers, multiplies, and stores its
    results."""

    def names(first: int, count: int, kind: str = "%r") -> str:
        return "{" + ", ".join(f"{kind}{i}" for i in range(first, first + count)) + "}"

    def load(pointer: str, first: int, count: int, kind: str = "%r") -> str:
        head = f"  mad.wide.u32 %d0, %r63, {4 * count}, %{pointer};\n"
        return head + "".join(
            f"  ld.global.b32 {kind}{first + i}, [%d0+{4 * i}];\n" for i in range(count)
        )

    kind = "%f" if accumulator == "f32" else "%r"
    body = "  mov.u32 %r63, %tid.x;\n"
    body += load("a", 0, a) + load("b", 20, b) + load("c", 40 if kind == "%r" else 0, c, kind)
    first = 40 if kind == "%r" else 0
    accumulators = names(first, c, kind)
    body += f"  {name} {accumulators}, {names(0, a)}, {names(20, b)}, {accumulators};\n"
    body += f"  mad.wide.u32 %d0, %r63, {4 * c}, %out;\n"
    body += "".join(f"  st.global.b32 [%d0+{4 * i}], {kind}{first + i};\n" for i in range(c))
    return kernel(body.replace("{}", ""), params=("a", "b", "c", "out"))


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.shape}.{c.type}.{c.accumulator}")
def test_mma(case: Case) -> None:
    rng = np.random.default_rng(1)
    k = int(case.shape.split("k")[1])
    low = 0 if case.type == "u8" else -8
    a, b = rng.integers(low, 9, (case.m, k)), rng.integers(low, 9, (k, 8))
    c = rng.integers(-100, 100, (case.m, 8))
    per_lane = case.m * 8 // 32
    position = _c16 if case.m == 16 else _c8
    words = [
        fragment(a, case.a, case.counts[0], case.type),
        fragment(b, case.b, case.counts[1], case.type),
        fragment(c, position, per_lane, case.accumulator),
    ]
    types = f"{case.accumulator}.{case.type}.{case.type}.{case.accumulator}"
    name = f"mma.sync.aligned.{case.shape}.row.col.{types}"
    out = np.zeros_like(words[2])
    counts = [w.shape[1] for w in words]
    launch(mma_program(name, counts[0], counts[1], counts[2], case.accumulator), *words, out)
    got = unfragment(out, position, per_lane, case.accumulator, c)
    assert (got == a @ b + c).all()


def test_mma_keeps_not_a_number_and_infinity() -> None:
    a, b, c = np.ones((16, 16)), np.ones((16, 8)), np.zeros((16, 8))
    a[3, 5], b[2, 6] = np.nan, np.inf
    words = [
        fragment(m, p, n, t)
        for m, p, n, t in ((a, _a_half16, 8, "f16"), (b, _b_half16, 4, "f16"), (c, _c16, 4, "f32"))
    ]
    out = np.zeros_like(words[2])
    name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    launch(mma_program(name, 4, 2, 4, "f32"), *words, out)
    got = unfragment(out, _c16, 4, "f32", c)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, a @ b)


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("layouts", ["row.row", "row.col", "col.row", "col.col"])
@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 8, 16), (8, 32, 16)])
def test_wmma(shape: tuple[int, int, int], layouts: str, space: str, type_: str) -> None:
    m, n, k = shape
    rng = np.random.default_rng(2)
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (k, n))
    c = rng.integers(-99, 99, (m, n)).astype(np.float32)
    a_layout, b_layout = layouts.split(".")
    stored = [
        np.ascontiguousarray(encode(matrix if layout == "row" else matrix.T, type_))
        for matrix, layout in ((a, a_layout), (b, b_layout))
    ]
    strides = [s.shape[1] for s in stored]
    counts = [8, 8] if type_ == "f16" else [m * k // 64, k * n // 64]
    names = f"m{m}n{n}k{k}"
    regs = [", ".join(f"%r{20 * j + i}" for i in range(count)) for j, count in enumerate(counts)]
    floats = ", ".join(f"%f{i}" for i in range(8))
    body = (
        copy_to_shared(stored) if space == "shared" else "  mov.b64 %d1, %a;\n  mov.b64 %d2, %b;\n"
    )
    point = ("%d1", "%d2")
    for j, which in enumerate("ab"):
        body += (
            f"  wmma.load.{which}.sync.aligned.{(a_layout, b_layout)[j]}.{names}.{space}.{type_} "
            f"{{{regs[j]}}}, [{point[j]}], {strides[j]};\n"
        )
    body += f"  wmma.load.c.sync.aligned.row.{names}.global.f32 {{{floats}}}, [%c], {n};\n"
    types = "f32.f32" if type_ == "f16" else "f32.bf16.bf16.f32"
    body += (
        f"  wmma.mma.sync.aligned.{layouts}.{names}.{types} {{{floats}}}, {{{regs[0]}}}, "
        f"{{{regs[1]}}}, {{{floats}}};\n"
        f"  wmma.store.d.sync.aligned.row.{names}.global.f32 [%out], {{{floats}}}, {n};\n"
    )
    source = kernel(
        body, params=("a", "b", "c", "out"), declarations="  .shared .align 128 .b8 tile[4096];"
    )
    out = np.full((m, n), np.nan, np.float32)
    launch(source, *stored, c, out)
    assert (out == a @ b + c).all()


def copy_to_shared(matrices: list[Array]) -> str:
    """Return code in which each lane copies 2-byte elements; %d1 and %d2 point to the matrices
    in shared memory."""
    body, start = "  mov.u32 %r63, %tid.x;\n", 0
    for pointer, (name, matrix) in zip(
        ("%d1", "%d2"), zip("ab", matrices, strict=True), strict=True
    ):
        for first in range(0, matrix.size, 32):
            offset = start + 2 * first
            body += (
                f"  mad.wide.u32 %d0, %r63, 2, %{name};\n  ld.global.b16 %h0, [%d0+{2 * first}];\n"
                f"  mov.u32 %r62, tile;\n  mad.lo.u32 %r62, %r63, 2, %r62;\n"
                f"  st.shared.b16 [%r62+{offset}], %h0;\n"
            )
        body += f"  mov.u64 {pointer}, tile;\n  add.u64 {pointer}, {pointer}, {start};\n"
        start += 2 * matrix.size
    return body + "  bar.warp.sync 0xffffffff;\n"


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_stmatrix_is_the_inverse_of_ldmatrix(count: int, transposed: bool) -> None:
    registers = ", ".join(f"%r{i}" for i in range(count))
    trans = ".trans" if transposed else ""
    body = f"""
  mov.u32 %r63, %tid.x;
  mov.u32 %r62, tile;
  mad.wide.u32 %d0, %r63, {4 * count}, %in;
{"".join(f"  ld.global.b32 %r{i}, [%d0+{4 * i}];{chr(10)}" for i in range(count))}
  rem.u32 %r61, %r63, {8 * count};
  mad.lo.u32 %r60, %r61, 16, %r62;
  stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r60], {{{registers}}};
  bar.warp.sync 0xffffffff;
  ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [%r60];
  mad.wide.u32 %d0, %r63, {4 * count}, %out;
{"".join(f"  st.global.b32 [%d0+{4 * i}], %r{i};{chr(10)}" for i in range(count))}
"""
    source = kernel(body, params=("in", "out"), declarations="  .shared .align 16 .b8 tile[1024];")
    data = np.random.default_rng(3).integers(0, 2**32, 32 * count, np.uint32)
    out = np.zeros_like(data)
    launch(source, data, out)
    assert (out == data).all()
