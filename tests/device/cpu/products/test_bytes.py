"""Products of s8 on every CPU target have exact sums, by any instruction."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from kgen import emulate, pipeline
from kgen.errors import ScheduleError
from kgen.schedule import AmxMatmul, CpuMatmul, DotMatmul, InnerMatmul, Schedule
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul, Scale
from tests.device.cpu.cpu_support import addresses, best_of, check, here, load, require_qemu, target
from tests.needs import LEVELS, WIDE, executed

X86 = ("x86-64", "x86-64-v3", "x86-64-v3+vnni", "x86-64-v4", "x86-64-v4+vnni", "x86-64-amx")
ARM = ("aarch64-neon", "aarch64-neon+dotprod")
#: Small blocks, so that small shapes have several of them along every axis.
BLOCKS: dict[str, Schedule] = {
    **dict.fromkeys(X86, DotMatmul(mr=3, nr=16, mc=6, kc=64, nc=32)),
    "x86-64": DotMatmul(mr=2, nr=8, mc=6, kc=64, nc=32),
    "x86-64-amx": AmxMatmul(mr=16, nr=16, mc=16, kc=64, nc=16),
    "aarch64-neon": CpuMatmul(mr=2, nr=8, mc=8, kc=32, nc=16),
    "aarch64-neon+dotprod": DotMatmul(mr=3, nr=8, mc=6, kc=32, nc=16),
}


def product(m: int, n: int, k: int, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype=DType.S8, **fields)


def cases(layout: Layout) -> list[Matmul]:
    """Return cases with whole and partial groups and runs of K, padded rows, a batch that shares
    B, and every output type."""
    finished: dict[str, Any] = {"scales": tuple(Scale), "epilogue": (Epilogue.BIAS, Epilogue.RELU)}
    return [
        product(7, 41, 64, layout=layout),
        product(10, 37, 133, layout=layout, out_dtype=DType.S8, **finished),
        product(5, 19, 68, layout=layout, batch=2, batch_stride_b=0, lda=70, ldb=71, ldc=43),
        product(4, 33, 6, layout=layout, out_dtype=DType.F16, alpha=0.25, beta=-2.0),
        product(4, 20, 3, layout=layout, out_dtype=DType.F32, epilogue=(Epilogue.GELU,)),
    ]


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("name", X86)
def test_x86(name: str, layout: Layout) -> None:
    """The emulator runs instructions that the CPU lacks. A target runs half of a case's layouts,
    the next target the other half."""
    found = target(name)
    turn = X86.index(name) + (layout in (Layout.NN, Layout.TT))
    for i, spec in enumerate(cases(layout)):
        if (i + turn) % 2 == 0:
            check(spec, found, BLOCKS[name] if i in (1, 2) else None)


@pytest.mark.parametrize("name", ARM)
def test_under_qemu(name: str) -> None:
    require_qemu()
    found = target(name)
    for layout in (Layout.NN, Layout.TT):
        for spec in cases(layout)[1:3]:
            check(spec, found, BLOCKS[name])


@pytest.mark.parametrize("name", [*X86, "aarch64-neon+dotprod"])
def test_in_register_transposes_of_a(name: str) -> None:
    """A is transposed 16 x 16 at a time; the last transposes overlap. K is one block or several."""
    if name.startswith("aarch64"):
        require_qemu()
    found = target(name)
    small = BLOCKS[name].override(mr=16 if "amx" in name else 4, mc=32)
    check(product(21, 9, 83, layout=Layout.TN), found)
    check(product(49, 9, 150, layout=Layout.TN, lda=51), found, small)


@pytest.mark.parametrize("name", [*X86, "aarch64-neon+dotprod"])
def test_inner_products(name: str) -> None:
    """Skinny GEMMs with contiguous K: remainders of K and of tiles, and several blocks of K."""
    if name not in X86:
        require_qemu()
    found = target(name)
    specs = [product(3, 37, 300, layout=Layout.NT), *cases(Layout.NT)[1:3]]
    for spec in specs if name in X86 else specs[:1]:
        check(spec, found, best_of(spec, found, "inner"))
    spec = product(5, 70, 256, layout=Layout.NT, epilogue=(Epilogue.BIAS,), out_dtype=DType.F32)
    schedule = InnerMatmul(mr=2, nr=3, mc=6, kc=128, nc=48, pack_a=False, pack_b=False)
    check(spec, found, schedule)


def test_inner_products_without_an_instruction_are_refused() -> None:
    spec = product(2, 64, 64, layout=Layout.NT)
    schedule = InnerMatmul(mr=2, nr=2, mc=2, kc=64, nc=64, pack_a=False, pack_b=False)
    with pytest.raises(ScheduleError, match="use a blocked main loop"):
        pipeline.plan(spec, target("aarch64-neon"), schedule)


@pytest.mark.parametrize("name", [*X86, *ARM])
def test_packed_ahead(name: str) -> None:
    if name in ARM:
        require_qemu()
    found = target(name)
    spec = product(6, 37, 75, layout=Layout.NT, constant=(ConstantOperand.B,), batch=2)
    check(spec, found, BLOCKS[name].override(pack_b=0))


def test_the_largest_sums_do_not_saturate() -> None:
    """Products of -128 by -128 exceed the 16 bits of VPMADDUBSW, and are the largest for
    VPDPBUSD."""
    a, b = np.full((2, 4096), -128, np.int8), np.full((4096, 17), -128, np.int8)
    a[1], b[:, 1] = 127, 127
    names = executed(("x86-64", "x86-64-v3", "x86-64-v3+vnni", "x86-64-v4", *WIDE))
    for name, layout in itertools.product(names, Layout):
        if layout.a_transposed:
            continue
        spec = product(2, 17, 4096, layout=layout)
        stored = np.ascontiguousarray(b.T if layout.b_transposed else b)
        out = np.zeros((2, 17), np.int32)
        load(spec, target(name)).run(addresses({"a": a, "b": stored, "out": out}))
        assert np.array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("name", ["x86-64-v4", "x86-64-v4+vnni", "x86-64-v3", "x86-64"])
def test_the_emulator_gives_what_the_cpu_gives(name: str) -> None:
    found, spec = here(name), product(5, 37, 43)
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-128, 128, n, np.int8) for n in (5 * 43, 43 * 37))
    outs = np.zeros((2, 5 * 37), np.int32)
    load(spec, found, BLOCKS[name]).run(addresses({"a": a, "b": b, "out": outs[0]}))
    kernel = pipeline.kernel(spec, found, BLOCKS[name])
    emulate.run(
        kernel.source.text,
        language="llvm",
        entry=spec.key,
        grid=(1, 1, 1),
        block=(1, 1, 1),
        arguments=[
            a,
            b,
            outs[1],
            np.int64(0),
            np.int64(pipeline.plan(spec, found, BLOCKS[name]).launches[0].grid[0]),
        ],
    )
    assert np.array_equal(*outs)


@pytest.mark.parametrize("name", LEVELS)
def test_several_threads(name: str) -> None:
    spec, found = product(64, 64, 128), here(name)
    a = np.arange(64 * 128).astype(np.int8).reshape(64, 128)
    b = np.arange(128 * 64).astype(np.int8).reshape(128, 64)
    out = np.zeros((64, 64), np.int32)
    # Tiles of AMX have 16 rows.
    amx = found.has("amx_tile")
    tasks = {"nc": 32} if amx else {"mc": 12, "mr": 2, "nr": 16, "pack_a": 1}
    schedule = best_of(spec, found, "amx" if amx else "dot", **tasks)
    load(spec, found, schedule, num_threads=3).run(addresses({"a": a, "b": b, "out": out}))
    assert np.array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize(
    ("name", "m"), [("x86-64-v3", 3), ("x86-64-v3", 7), ("x86-64-v4", 13), ("x86-64-v4+vnni", 13)]
)
def test_streams_that_are_packed(name: str, m: int) -> None:
    """Rows of B map to one cache set; M, N and K are no multiples of tiles and blocks."""
    on, spec = here(name), product(m, 1051, 1036, ldb=2048)
    for packs_b in (0, 1):
        check(spec, on, best_of(spec, on, "dot", pack_b=packs_b, kc=256))


def test_refusals() -> None:
    spec, found = product(16, 16, 18), target("x86-64-v4+vnni")
    with pytest.raises(ScheduleError, match=r"pack_a=0 requires .* multiple of 4, .* k=18; try pa"):
        pipeline.plan_with(spec, found, {"pack_a": 0})
    with pytest.raises(
        ScheduleError, match=r"pack_b=0 requires .* multiple of 4; layout=nn, k=18; try"
    ):
        pipeline.plan_with(spec, found, {"pack_b": 0})
    with pytest.raises(ScheduleError, match="kc=32 is not a multiple of 64, the elements of"):
        pipeline.plan_with(dataclasses.replace(spec, k=100, lda=None, ldb=None), found, {"kc": 32})
    with pytest.raises(ScheduleError, match=r"mr=7 with nr=64 needs 35 vector registers"):
        pipeline.plan_with(product(70, 64, 64), found, {"mr": 7, "mc": 7, "nr": 64, "nc": 64})
    with pytest.raises(ScheduleError, match="mainloop=blis is not supported for s8 on x86-64-v4"):
        pipeline.plan(spec, found, CpuMatmul(mr=1, nr=16, mc=1, kc=16, nc=16))
