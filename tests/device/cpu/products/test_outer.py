"""Skinny GEMMs that stream several rows of B at once, by every instruction."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from kgen import pipeline
from kgen.errors import ScheduleError
from kgen.schedule import OuterMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.cpu.plan.kernels.gemv import OuterPlan, rows_of_b
from tests.device.cpu.cpu_support import addresses, best_of, check, here, load, require_qemu, target
from tests.needs import LEVELS

TARGETS = [
    ("x86-64", DType.F32),
    ("x86-64", DType.BF16),
    ("x86-64", DType.S8),
    ("x86-64-v3", DType.F32),
    ("x86-64-v3", DType.BF16),
    ("x86-64-v3", DType.S8),
    ("x86-64-v3+vnni", DType.S8),
    ("x86-64-v4", DType.F64),
    ("x86-64-v4", DType.BF16),
    ("x86-64-v4", DType.S8),
    ("x86-64-v4+vnni", DType.S8),
    ("x86-64-v4+bf16", DType.BF16),
    ("aarch64-neon", DType.F32),
    ("aarch64-neon", DType.BF16),
    ("aarch64-neon+dotprod", DType.S8),
]
#: Blocks of K, shorter parts and single rows after them; fewer rows than are taken at once; columns
#: in whole steps and strips, or not, in one block and several, the last one shorter.
CASES: list[dict[str, Any]] = [
    {"m": 1, "k": 71, "strips": 7},
    {"m": 2, "k": 24, "strips": 3, "over": 5, "batch": 2, "ldb": 900, "beta": 0.5},
    {"m": 3, "k": 3, "over": 1, "epilogue": (Epilogue.BIAS,), "layout": Layout.TN},
    {"m": 1, "k": 13, "strips": 4, "over": -1, "lda": 20, "layout": Layout.NN},
    {"m": 2, "k": 21, "strips": 10, "over": 3, "batch": 2, "beta": 0.5},
    {"m": 2, "k": 9, "strips": 6},
]


@pytest.mark.parametrize(("name", "dtype"), TARGETS)
def test_outer_products(name: str, dtype: DType) -> None:
    if name.startswith("aarch64"):
        require_qemu()
        found = target(name)
    else:
        # AVX-VNNI is emulated where the CPU lacks it.
        found = target(name) if name == "x86-64-v3+vnni" else here(name)
    for case in CASES:
        fields = dict(case)
        out = DType.F64 if dtype is DType.F64 else DType.F32
        wide = Matmul(m=1, n=64, k=64, dtype=dtype, out_dtype=out)
        wide_rows = rows_of_b(wide, found)
        assert wide_rows
        width = wide_rows.strip
        n = fields.pop("strips", 1) * width + fields.pop("over", 0)
        if width > 16 and found.limits["vector_registers"] == 16:
            fields["m"] = 1
        spec = Matmul(n=n, dtype=dtype, out_dtype=out, **fields)
        if rows_of_b(spec, found) is None:
            continue
        schedule = OuterMatmul(
            mr=spec.m,
            nr=width,
            mc=spec.m,
            kc=12,
            nc=2 * width,
            pack_a=False,
            pack_b=False,
            parts=2 if spec.m > 1 else 4,
            prefetch=spec.m - 1,
            apart=spec.m,
            tasks_per_pass=spec.m,
        )
        check(spec, found, schedule)


@pytest.mark.parametrize(
    ("name", "dtype", "words"),
    [
        ("x86-64-v4", DType.F32, False),
        ("x86-64-v4", DType.F64, False),
        ("x86-64-v4", DType.BF16, False),
        ("x86-64-v4", DType.S8, False),
        ("x86-64-v4+vnni", DType.S8, False),
        ("x86-64-v4+bf16", DType.BF16, False),
        ("x86-64-v4+bf16", DType.BF16, True),
    ],
)
def test_outer_products_in_vectors_of_half_a_line(name: str, dtype: DType, words: bool) -> None:
    """Streams are adjacent or apart, the last step is partial; bf16 by pairs and by words."""
    found = here(name)
    for fields in CASES:
        out = DType.F64 if dtype is DType.F64 else DType.F32
        wide = rows_of_b(Matmul(m=1, n=64, k=64, dtype=dtype, out_dtype=out), found, words=words)
        assert wide
        width = wide.halved.strip
        n = fields.get("strips", 1) * 2 * width + fields.get("over", 0)
        given = {name: value for name, value in fields.items() if name not in ("strips", "over")}
        spec = Matmul(n=n, dtype=dtype, out_dtype=out, **given)
        if n < 64 or rows_of_b(spec, found, words=words) is None:
            continue
        for part, halves in itertools.product((1, 3), (True, False) if words else (True,)):
            schedule = OuterMatmul(
                mr=spec.m,
                nr=2 * width,
                mc=spec.m,
                kc=4 * part,
                nc=4 * width,
                pack_a=False,
                pack_b=False,
                parts=4,
                prefetch=1,
                apart=8,
                halves=halves,
                words=words,
            )
            planned = pipeline.plan(spec, found, schedule)
            assert isinstance(planned, OuterPlan)
            assert planned.sum_vector.bytes == (32 if halves else 64)
            assert bool(planned.words) == (words or (name, dtype) == ("x86-64-v4", DType.BF16))
            check(spec, found, schedule)


@pytest.mark.parametrize(
    ("name", "dtype", "n", "fields", "line"),
    [
        (
            "x86-64-v3",
            DType.F32,
            64,
            {"halves": 1},
            "halves=1 requires vectors of 64 bytes; ",
        ),
        ("x86-64-v4", DType.F32, 8, {"halves": 1}, "halves=1 requires vectors of 64 bytes; "),
        ("x86-64-v4", DType.F32, 64, {"words": 1}, "words=1 requires bf16 operands, not"),
    ],
)
def test_vectors_that_have_no_half_and_types_that_have_no_words(
    name: str, dtype: DType, n: int, fields: dict[str, int], line: str
) -> None:
    spec = Matmul(m=1, n=n, k=64, dtype=dtype)
    schedule = OuterMatmul(mr=1, nr=n, mc=1, kc=4, nc=n, pack_a=False, pack_b=False, parts=1)
    with pytest.raises(ScheduleError, match=line):
        pipeline.plan(spec, target(name), schedule.override(**fields))


@pytest.mark.parametrize("name", [*LEVELS, "x86-64-v3+vnni"])
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16, DType.S8], ids=lambda d: d.value)
def test_the_best_outer_products(dtype: DType, name: str) -> None:
    """B exceeds the second-level cache; K and N are odd."""
    found = here(name)
    rows = {DType.F32: 2, DType.BF16: 1, DType.S8: 1}[dtype]
    side = 1101 if dtype is DType.F32 else 2051
    spec = Matmul(m=rows, n=side, k=side, dtype=dtype)
    if rows_of_b(spec, found) is not None:
        check(spec, found, best_of(spec, found, "outer"))
    else:
        check(spec, found)


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("threads", [1, 2])
def test_tasks_that_are_one_pass(threads: int, name: str) -> None:
    """A thread computes any number of tasks in one pass, from any first task on."""
    found = here(name)
    spec = Matmul(m=1, n=7 * 64 + 5, k=40, dtype=DType.F32, batch=2)
    rows = rows_of_b(spec, found)
    assert rows
    width = rows.strip
    schedule = OuterMatmul(
        mr=1, nr=width, mc=1, kc=8, nc=64, pack_a=False, pack_b=False, parts=4, tasks_per_pass=3
    )
    ready = load(spec, found, schedule, num_threads=threads)
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 10, (2, 1, 40)).astype(np.float32)
    b = rng.integers(-9, 10, (2, 40, spec.n)).astype(np.float32)
    for _ in range(3):
        out = np.full((2, 1, spec.n), np.nan, np.float32)
        ready.run(addresses({"a": a, "b": b, "out": out}))
        assert np.array_equal(out, a @ b)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("x86-64-v3", DType.F32),
        ("x86-64-v3", DType.BF16),
        ("x86-64-v4", DType.F32),
        ("x86-64-v4+bf16", DType.BF16),
    ],
)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1101, 253), (2, 1553, 247), (4, 1009, 261)])
def test_outer_products_and_strips(name: str, dtype: DType, m: int, n: int, k: int) -> None:
    """Rows of B are adjacent or far apart; strips contain all of K, and the last one is partial."""
    found = here(name)
    spec = Matmul(m=m, n=n, k=k, dtype=dtype, out_dtype=DType.F32)
    # Sixteen registers hold what is multiplied of four rows of A for two rows of B.
    for parts in (2, 4) if m < 4 or "v4" in name else (2,):
        for part in (1, 64):
            schedule = best_of(spec, found, "outer", parts=parts, kc=parts * part, words=0)
            check(spec, found, schedule)
    strips = "dot" if "+bf16" in name else "blis"
    even = dataclasses.replace(spec, k=k + 1, lda=None, ldb=None)
    check(even, found, best_of(even, found, strips, pack_b=0, kc=k + 1, ahead=0))


@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [31, 32, 33, 79])
def test_columns_of_words_of_bf16(m: int, n: int) -> None:
    """Infinities, NaN and subnormal numbers do not reach the other column of a word."""
    found = here("x86-64-v3")
    k = 7
    spec = Matmul(m=m, n=n, k=k, dtype=DType.BF16, out_dtype=DType.F32)
    ready = load(spec, found, best_of(spec, found, "outer"))
    rng = np.random.default_rng(n)
    a = rng.integers(1, 9, (1, m, k)).astype(np.float32)
    b = rng.integers(-9, 10, (1, k, n)).astype(np.float32)
    b[0, 2, 4], b[0, 3, 5], b[0, 4, n - 1] = np.inf, np.nan, -np.inf
    # The least subnormal and normal number of bf16.
    b[0, :, 8], b[0, :, 9] = 2.0**-133, 2.0**-126
    out = np.zeros((1, m, n), np.float32)
    halves = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)]
    ready.run(addresses({"a": halves[0], "b": halves[1], "out": out}))
    with np.errstate(invalid="ignore"):
        assert np.array_equal(out, a @ b, equal_nan=True)
