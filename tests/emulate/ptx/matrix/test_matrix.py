"""ldmatrix and mma.sync against plain matrix products, by the figures of the PTX ISA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulate.ptx.ptx_programs import Array, program, run

RNG = np.random.default_rng(2)
SHARED = ".shared .align 16 .b8 tile[2048];"
LANE = np.arange(32)
GROUP, MEMBER = LANE // 4, LANE % 4


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix(count: int, transposed: bool) -> None:
    """Register j of lane l holds row l/4, columns 2(l%4) and +1, of matrix j (or its transpose)."""
    matrices = np.arange(count * 64, dtype=np.uint16).reshape(count, 8, 8)
    padded = np.zeros((4, 8, 8), np.uint16)
    padded[:count] = matrices
    out = np.zeros((32, count), np.uint32)
    names = [f"%r{8 + j}" for j in range(count)]
    stores = "\n".join(f"    st.global.u32 [%a1+{4 * j}], {n};" for j, n in enumerate(names))
    body = f"""
    mov.u32 %r0, tile;
    mad.lo.u32 %r1, %t, 16, %r0;
    mad.wide.u32 %a0, %t, 16, %p0;
    ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%a0];
    st.shared.v4.u32 [%r1], {{%r2, %r3, %r4, %r5}};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x{count}{".trans" if transposed else ""}.shared.b16
        {{{", ".join(names)}}}, [%r1];
    mad.wide.u32 %a1, %t, {4 * count}, %p1;
{stores}
    """
    run(program(body, shared=SHARED), padded, out)
    got = out.view(np.uint16).reshape(32, count, 2)
    for j in range(count):
        matrix = matrices[j].T if transposed else matrices[j]
        for lane in LANE:
            row, col = GROUP[lane], 2 * MEMBER[lane]
            np.testing.assert_array_equal(got[lane, j], matrix[row, col : col + 2])


def fragments_16(a: Array, b: Array, k: int) -> tuple[Array, Array]:
    """Return A's and B's registers of m16n8k16 and m16n8k8 for 16-bit elements (PTX ISA, figures
    of mma)."""
    pairs = [2 * MEMBER, 2 * MEMBER + 1]
    a_regs = [
        np.stack([a[GROUP + 8 * down, c + 8 * right] for c in pairs], axis=1)
        for right in range(k // 8)
        for down in range(2)
    ]
    b_regs = [np.stack([b[c + 8 * down, GROUP] for c in pairs], axis=1) for down in range(k // 8)]
    return (
        np.stack([np.ascontiguousarray(r).view(np.uint32)[:, 0] for r in a_regs], axis=1),
        np.stack([np.ascontiguousarray(r).view(np.uint32)[:, 0] for r in b_regs], axis=1),
    )


def fragments_8(a: Array, b: Array, k: int) -> tuple[Array, Array]:
    """Return fragments of m16n8k32 with 8-bit elements: four along k in a register."""
    quads = 4 * MEMBER[:, None] + np.arange(4)
    a_regs = [
        a[(GROUP + 8 * down)[:, None], quads + 16 * right]
        for right in range(k // 16)
        for down in range(2)
    ]
    b_regs = [b[quads + 16 * down, GROUP[:, None]] for down in range(k // 16)]
    return (
        np.stack([np.ascontiguousarray(r).view(np.uint32)[:, 0] for r in a_regs], axis=1),
        np.stack([np.ascontiguousarray(r).view(np.uint32)[:, 0] for r in b_regs], axis=1),
    )


def multiply(shape: str, kinds: str, a_regs: Array, b_regs: Array, c: Array) -> Array:
    """Run one mma.sync on given fragments; C and D as m16n8 matrices."""
    word = "s32" if kinds.startswith("s32") else "f32"
    letter = "%r" if word == "s32" else "%f"
    c_regs = np.stack(
        [c[GROUP + 8 * (j // 2), 2 * MEMBER + j % 2] for j in range(4)], axis=1
    ).astype(c.dtype)
    out = np.zeros((32, 4), c.dtype)
    na, nb = a_regs.shape[1], b_regs.shape[1]
    a_names = [f"%r{j}" for j in range(na)]
    b_names = [f"%r{8 + j}" for j in range(nb)]
    acc = [f"{letter}{16 + j}" for j in range(4)]

    def loads(names: list[str], param: int, kind: str) -> str:
        lines = [f"    mad.wide.u32 %a{param}, %t, {4 * len(names)}, %p{param};"]
        lines += [
            f"    ld.global.{kind} {name}, [%a{param}+{4 * j}];" for j, name in enumerate(names)
        ]
        return "\n".join(lines)

    vector = {name: "{" + ", ".join(regs) + "}" for name, regs in
              (("d", acc), ("a", a_names), ("b", b_names))}  # fmt: skip
    stores = "\n".join(f"    st.global.{word} [%a3+{4 * j}], {n};" for j, n in enumerate(acc))
    body = "\n".join(
        [
            loads(a_names, 0, "u32"),
            loads(b_names, 1, "u32"),
            loads(acc, 2, word),
            f"    mma.sync.aligned.{shape}.row.col.{kinds}",
            f"        {vector['d']}, {vector['a']}, {vector['b']}, {vector['d']};",
            "    mad.wide.u32 %a3, %t, 16, %p3;",
            stores,
        ]
    )
    run(program(body, params=4), a_regs, b_regs, c_regs, out)
    result = np.zeros((16, 8), c.dtype)
    for j in range(4):
        result[GROUP + 8 * (j // 2), 2 * MEMBER + j % 2] = out[:, j]
    return result


@pytest.mark.parametrize("k", [8, 16])
def test_mma_f16(k: int) -> None:
    a = RNG.integers(-8, 8, (16, k)).astype(np.float16)
    b = RNG.integers(-8, 8, (k, 8)).astype(np.float16)
    c = RNG.integers(-8, 8, (16, 8)).astype(np.float32)
    got = multiply(f"m16n8k{k}", "f32.f16.f16.f32", *fragments_16(a, b, k), c)
    np.testing.assert_array_equal(got, a.astype(np.float32) @ b.astype(np.float32) + c)


def test_mma_bf16() -> None:
    def brain(x: Array) -> Array:
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)

    a, b = RNG.integers(-8, 8, (16, 16)), RNG.integers(-8, 8, (16, 8))
    c = np.zeros((16, 8), np.float32)
    got = multiply("m16n8k16", "f32.bf16.bf16.f32", *fragments_16(brain(a), brain(b), 16), c)
    np.testing.assert_array_equal(got, (a @ b).astype(np.float32))


def test_mma_s8() -> None:
    a: Any = RNG.integers(-128, 128, (16, 32)).astype(np.int8)
    b: Any = RNG.integers(-128, 128, (32, 8)).astype(np.int8)
    c = RNG.integers(-100, 100, (16, 8)).astype(np.int32)
    got = multiply("m16n8k32", "s32.s8.s8.s32", *fragments_8(a, b, 32), c)
    np.testing.assert_array_equal(got, a.astype(np.int32) @ b.astype(np.int32) + c)
