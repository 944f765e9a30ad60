"""Products of bf16 by AVX512-BF16."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kgen import emulate, pipeline
from kgen.schedule import DotMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from tests.device.cpu.cpu_support import addresses, check, here, load, target

PAIRS = DotMatmul(mr=3, nr=32, mc=6, kc=32, nc=32)


@pytest.mark.parametrize("layout", list(Layout))
def test_pairs(layout: Layout) -> None:
    """Even and odd K, one and several blocks, and a long epilogue."""
    found = target("x86-64-v4+bf16")
    for k in (16, 67):
        spec = Matmul(m=17, n=41, k=k, dtype=DType.BF16, layout=layout, epilogue=(Epilogue.GELU,))
        check(spec, found)
        check(dataclasses.replace(spec, epilogue=(Epilogue.BIAS, Epilogue.GELU)), found, PAIRS)


def test_in_register_transposes_of_a() -> None:
    """A is transposed 8 x 8 at a time; the last transposes overlap. K is one block or several."""
    found = target("x86-64-v4+bf16")
    check(Matmul(m=19, n=17, k=37, dtype=DType.BF16, layout=Layout.TN), found)
    spec = Matmul(m=26, n=17, k=75, dtype=DType.BF16, layout=Layout.TT, lda=29, batch=2)
    check(spec, found, PAIRS.override(mr=4, mc=16))


@pytest.mark.parametrize("layout", [Layout.NN, Layout.TN])
def test_pairs_of_rows_where_they_lie(layout: Layout) -> None:
    """B is read in place, with one and several blocks of K, whole and partial panels, and one
    row of A."""
    found = target("x86-64-v4+bf16")
    for m, k in ((17, 70), (1, 64)):
        spec = Matmul(m=m, n=49, k=k, dtype=DType.BF16, layout=layout, epilogue=(Epilogue.BIAS,))
        check(spec, found, PAIRS.override(pack_b=0))
        check(spec, found, PAIRS.override(pack_b=0, kc=96))


def test_pairs_in_the_emulator_are_those_of_the_cpu() -> None:
    found = here("x86-64-v4+bf16")
    spec = Matmul(m=9, n=37, k=41, dtype=DType.BF16, out_dtype=DType.F32)
    kernel = pipeline.kernel(spec, found, DotMatmul(mr=3, nr=32, mc=9, kc=48, nc=64))
    generator = np.random.default_rng(0)
    a, b = (
        (generator.standard_normal(n).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        for n in (9 * 41, 41 * 37)
    )
    # Subnormals count as zero.
    a[:7], b[:7] = 1, 0x7F00
    outs = np.zeros((2, 9 * 37), np.float32)
    load(spec, found).run(addresses({"a": a, "b": b, "out": outs[0]}))
    emulate.run(
        kernel.source.text,
        language="llvm",
        entry=spec.key,
        grid=(1, 1, 1),
        block=(1, 1, 1),
        arguments=[a, b, outs[1], np.int64(0), np.int64(1)],
    )
    assert np.array_equal(*outs)
