"""Skinny GEMMs with small N: B is transposed first, for inner products."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from kgen import pipeline
from kgen.schedule import InnerMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.inner import InnerPlan
from tests.device.cpu.cpu_support import addresses, best_of, check, here, load, require_qemu, target

TARGETS = ("x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4+bf16", "aarch64-neon")
FLOATS = (DType.F32, DType.F64, DType.F16, DType.BF16)
#: Types of A and, where it is narrower, of B.
PACKED = ((DType.F32, None), (DType.F64, None), (DType.BF16, None), (DType.F32, DType.BF16))


def transposing(spec: Matmul) -> InnerMatmul:
    """Return tiles whose height and width leave remainders."""
    nr = min(spec.n, 2)
    return InnerMatmul(
        mr=2, nr=nr, mc=6, kc=spec.k, nc=-(-spec.n // 4) * 4, pack_a=False, pack_b=True
    )


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_columns_of_every_type(name: str, dtype: DType) -> None:
    """N and K are less than, equal to and more than the size of a transpose. Each shape has two
    types, others on the next target."""
    if name.startswith("aarch64"):
        require_qemu()
    found = target(name) if name.startswith("aarch64") else here(name)
    shapes = (
        (13, 1, 40, 3),
        (7, 2, 33, 2),
        (5, 3, 70, 3),
        (9, 4, 64, 5),
        (14, 7, 131, 7),
        (6, 8, 8, 8),
        (3, 11, 29, 13),
        (1, 2, 1, 2),
        (2, 6, 3, 6),
        (4, 16, 65, 16),
    )
    turn = TARGETS.index(name) + FLOATS.index(dtype)
    for m, n, k, ldb in shapes[turn % 2 :: 2]:
        spec = Matmul(m=m, n=n, k=k, dtype=dtype, ldb=ldb, epilogue=(Epilogue.BIAS,))
        check(spec, found, transposing(spec))


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(("dtype", "b_dtype"), PACKED)
def test_packed_columns(name: str, dtype: DType, b_dtype: DType | None) -> None:
    """N is one panel or several, alone or in pairs; the last pair may be half. Each shape has
    two types, others on the next target."""
    if name.startswith("aarch64"):
        require_qemu()
    found = target(name) if name.startswith("aarch64") else here(name)
    shapes = ((13, 1, 40), (7, 2, 33), (9, 3, 131), (3, 4, 64), (4, 11, 65), (1, 2, 1))
    turn = TARGETS.index(name) + PACKED.index((dtype, b_dtype))
    for m, n, k in shapes[turn % 2 :: 2]:
        spec = Matmul(m=m, n=n, k=k, dtype=dtype, b_dtype=b_dtype, constant=("b",))
        check(spec, found, transposing(spec))


@pytest.mark.parametrize("constant", [(), ("b",)])
def test_several_matrices_in_several_tasks(constant: tuple[str, ...]) -> None:
    """B is transposed by the first task of each batch element, and by the first task of a
    thread."""
    found = here("x86-64-v3")
    spec = Matmul(m=41, n=3, k=64, dtype=DType.F32, batch=2)
    if constant:
        spec = dataclasses.replace(spec, batch=1, constant=("b",))
    schedule = transposing(spec)
    assert "br i1 %packs" in pipeline.source(FAMILY.plan(spec, found, schedule)).text
    check(spec, found, schedule)
    ready = load(spec, found, schedule)
    random = np.random.default_rng(0)
    sizes = ready.entry.sizes
    a, b = (random.standard_normal(sizes[name] // 4).astype(np.float32) for name in ("a", "b"))
    whole, parts = np.zeros((2, sizes["out"] // 4), np.float32)
    assert ready.kernel.launches[0].tasks == 7 * spec.batch
    ready.run(addresses({"a": a, "b": b, "out": whole}))
    cuts = (0, 1, 3, 7, 9, 12, 14)[: 4 if constant else None]
    for begin, end in reversed(list(itertools.pairwise(cuts))):
        ready.run_tasks(addresses({"a": a, "b": b, "out": parts}), begin, end)
    assert whole.all()
    assert np.array_equal(whole, parts)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "x86-64-v4+bf16"])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F64, DType.BF16])
def test_the_best_tiles_of_a_transposed_b(name: str, dtype: DType) -> None:
    """N from 1 to 9, with remainders of M and K."""
    found = here(name)
    for m, n, k in ((41, 4, 300), (6, 2, 70), (41, 3, 70), (9, 5, 64), (41, 8, 300), (5, 13, 70)):
        spec = Matmul(m=m, n=n, k=k, dtype=dtype)
        schedule = best_of(spec, found, "inner")
        planned = FAMILY.plan(spec, found, schedule)
        assert isinstance(planned, InnerPlan) and planned.transposed
        check(spec, found, schedule)


@pytest.mark.parametrize(("mr", "nr"), [(6, 1), (6, 2), (4, 2), (2, 4), (3, 3), (1, 6)])
def test_tiles_of_few_columns(mr: int, nr: int) -> None:
    """Remainders of rows and columns, with prefetch of the next rows."""
    found = here("x86-64-v3")
    for m, n, k in ((41, 6, 300), (7, 5, 70)):
        spec = Matmul(m=m, n=n, k=k, dtype=DType.F32, layout=Layout.NT)
        check(spec, found, best_of(spec, found, "inner", mr=mr, nr=nr, unroll=1, prefetch=1))
