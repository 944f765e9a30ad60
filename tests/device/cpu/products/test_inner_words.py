"""Inner products of bf16 on CPUs without AVX512-BF16, two elements along K (a word) at a time."""

from __future__ import annotations

import dataclasses

import pytest

from kgen.schedule import InnerMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.inner import InnerPlan
from tests.device.cpu.cpu_support import best_of, check, here, require_qemu, target


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64-neon"])
def test_words_along_k(name: str) -> None:
    """K ends with a partial step, one word and half a word; rows begin inside a word; M is less
    or more than N; K is one block or several."""
    if name.startswith("aarch64"):
        require_qemu()
    found = target(name) if name.startswith("aarch64") else here(name)
    width = 2 * found.limits["vector_bytes"] // 4
    for m, n, k in ((1, 9, 4 * width), (3, 5, width + 1), (2, 4, width - 1), (5, 3, 1), (1, 1, 7)):
        spec = Matmul(m=m, n=n, k=k, dtype=DType.BF16, layout=Layout.NT, lda=k + 1, ldb=k + 3)
        planned = FAMILY.plan(spec, found, best_of(spec, found, "inner"))
        assert isinstance(planned, InnerPlan) and planned.words
        check(spec, found, planned.schedule)
    spec = Matmul(
        m=3, n=7, k=4 * width, dtype=DType.BF16, layout=Layout.NT, epilogue=(Epilogue.BIAS,)
    )
    chosen = best_of(spec, found, "inner")
    assert isinstance(chosen, InnerMatmul)
    check(
        spec,
        found,
        dataclasses.replace(chosen, kc=2 * width, mr=1, nr=2, nc=16, unroll=1, prefetch=2),
    )
    check(spec, found, dataclasses.replace(chosen, mr=1, nr=2, nc=16, unroll=2))
