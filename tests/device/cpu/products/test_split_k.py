"""Split-k of skinny GEMMs: slices of K in a first launch, their sum in a second one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen_runtime
from kgen import pipeline
from kgen.bundle import pack
from kgen.errors import ScheduleError
from kgen.schedule import CpuSplitMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.blis import BlisPlan
from tests.device.cpu.cpu_support import check, here, target
from tests.open_devices import verify

#: 75 of K in slices of 32, 32 and 11; 40 columns in three panels.
SPLIT = CpuSplitMatmul(mr=3, nr=16, mc=6, kc=16, nc=64, pack_a=True, pack_b=False, split_k=3)


def product(**fields: Any) -> Matmul:
    return Matmul(**dict[str, Any](m=5, n=40, k=75, dtype=DType.F32) | fields)


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_slices_and_their_remainder(name: str) -> None:
    found = here(name)
    epilogue = (Epilogue.BIAS, Epilogue.RESIDUAL, Epilogue.GELU)
    schedule = SPLIT.override(nr=8) if name == "x86-64" else SPLIT
    check(product(epilogue=epilogue, alpha=0.5), found, schedule)
    if name == "x86-64-v3":
        check(product(dtype=DType.BF16), found, SPLIT)
        check(product(layout=Layout.TN, k=48, lda=9, ldb=43), found, SPLIT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fadd <8 x float> %x.sum1, %x.slice2", "fadd <8 x float> %x.sum1, zeroinitializer"),
        ("%slice.start = mul nuw i64 %task, 32", "%slice.start = mul nuw i64 %task, 16"),
        ("%acc.offset = mul nuw i64 %task, 1", "%acc.offset = mul nuw i64 %begin, 1"),
    ],
)
def test_mistakes_are_seen(old: str, new: str) -> None:
    """Verification finds a slice that is not added, one that starts too early, and one that is
    added twice."""
    found = here("x86-64-v3")
    plan = FAMILY.plan(product(), found, SPLIT)
    assert (
        isinstance(plan, BlisPlan) and plan.slices and (plan.slices.count, plan.slices.k) == (3, 32)
    )
    kernel = pipeline.kernel(product(), found, SPLIT)
    assert old in kernel.source.text
    source = dataclasses.replace(kernel.source, text=kernel.source.text.replace(old, new))
    wrong = dataclasses.replace(kernel, source=source, assembled=FAMILY.assemble(source, plan))
    (result,) = verify(pack([wrong])).kernels
    assert not result.passed


def test_more_threads_give_the_same(tmp_path: Path) -> None:
    """The schedule determines the slices, not the number of threads."""
    found, spec = here("x86-64-v3"), product(m=6, n=64, k=300)
    path = pack([pipeline.kernel(spec, found, SPLIT)]).save(tmp_path / "k.kgen")
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(p.shape, np.float32) for p in spec.parameters[:2])
    results = []
    for threads in (1, 2, 3):
        with kgen_runtime.load(path, device="cpu", num_threads=threads) as kernels:
            results.append(kernels.matmul(a, b).tobytes())
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    ("fields", "changed", "message"),
    [
        ({}, {"mc": 3}, "mc=3 is less than 5"),
        ({}, {"nc": 32}, "nc=32 is less than 40"),
        ({"batch": 2}, {}, "requires batch=1"),
        ({"constant": ("b",)}, {}, "requires batch=1"),
        ({"layout": Layout.NT}, {}, "requires batch=1"),
        ({}, {"kc": 48, "split_k": 1}, "leaves one slice of k=75"),
    ],
)
def test_what_cannot_be_split(
    fields: dict[str, Any], changed: dict[str, int], message: str
) -> None:
    with pytest.raises(ScheduleError, match=message):
        FAMILY.plan(product(**fields), target("x86-64-v3"), SPLIT.override(**changed))
