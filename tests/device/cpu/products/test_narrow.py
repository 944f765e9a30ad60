"""Products of f32 by a narrower B, in every main loop that supports one, against the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import pipeline
from kgen.bundle import pack
from kgen.errors import ScheduleError
from kgen.schedule import CpuMatmul, InnerMatmul, OuterMatmul
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul
from kgen.spec.choices import BType
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.cpu_plan import vector_for
from tests.device.cpu.cpu_support import check, here, require_qemu, target
from tests.needs import LEVELS, WIDE
from tests.open_devices import verify

TARGETS = (*WIDE, "x86-64", "x86-64-v3", "x86-64-v4", "aarch64-neon")
#: What differs by instruction set; the others are slow tests of half of the cases each.
FEW = (
    *((name, b_dtype) for name in LEVELS for b_dtype in BType),
    *(("x86-64", b_dtype) for b_dtype in (BType.F16, BType.S4)),
    ("aarch64-neon", BType.S4),
)
PAIRS = [
    pytest.param(name, b_dtype, marks=[] if (name, b_dtype) in FEW else pytest.mark.slow)
    for name in TARGETS
    for b_dtype in BType
]
#: Rows that stay in place and that do not; K and N that no vector divides, one of both alone.
CASES: list[dict[str, Any]] = [
    {"m": 1, "n": 67, "k": 35, "constant": (ConstantOperand.B,)},
    {"m": 5, "n": 33, "k": 31, "constant": (ConstantOperand.B,), "layout": Layout.NT},
    {"m": 4, "n": 41, "k": 67, "layout": Layout.NT, "ldb": 70},
    {"m": 1, "n": 1, "k": 1, "layout": Layout.NT},
    {"m": 3, "n": 29, "k": 33, "ldb": 37, "batch": 2, "batch_stride_b": 0},
    {"m": 21, "n": 35, "k": 18, "layout": Layout.TN},
    {"m": 19, "n": 17, "k": 23, "layout": Layout.TT, "beta": 0.5},
]


#: Blocks that are whole, cut in either half, and one alone.
BLOCKS: list[dict[str, Any]] = [
    {"m": m, "n": n, "k": k, "layout": Layout.NT, **more}
    for m, n, k, more in (
        (1, 67, 128, {"constant": (ConstantOperand.B,)}),
        (3, 33, 33, {"batch": 2, "batch_stride_b": 0}),
        (2, 5, 95, {"ldb": 60, "lda": 99}),
        (4, 16, 16, {"beta": 0.5}),
        (19, 4, 45, {"epilogue": "silu(x) * scale"}),
        (1, 1, 1, {}),
    )
]


def found(name: str) -> Target:
    if name.startswith("aarch64"):
        require_qemu()
        return target(name)
    return here(name)


def specs(b_dtype: BType) -> list[Matmul]:
    scaled: dict[str, Any] = {"epilogue": "x * scale"} if b_dtype is BType.S8 else {}
    cases = BLOCKS if b_dtype is BType.S4 else CASES
    return [Matmul(dtype=DType.F32, b_dtype=b_dtype, **case, **scaled) for case in cases]


@pytest.mark.parametrize(("name", "b_dtype"), PAIRS)
def test_narrow_weights(name: str, b_dtype: BType) -> None:
    on = found(name)
    given = specs(b_dtype)
    if (name, b_dtype) not in FEW:
        given = given[(TARGETS.index(name) + list(BType).index(b_dtype)) % 2 :: 2]
    report = verify(pack([pipeline.kernel(spec, on) for spec in given]))
    assert [kernel.status for kernel in report.kernels] == ["passed"] * len(given)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_a_large_matrix_in_small(name: str) -> None:
    """Schedules that are chosen for a B in memory (streams of rows, blocks of K) run on a small
    one."""
    on = here(name)
    for b_dtype in (DType.BF16, DType.S8):
        spec = Matmul(m=2, n=5 * 32 + 7, k=71, dtype=DType.F32, b_dtype=b_dtype)
        width = vector_for(on, DType.F32, spec.n).count
        outer = OuterMatmul(
            mr=2, nr=2 * width, mc=2, kc=12, nc=6 * width, pack_a=False, pack_b=False, parts=2
        )
        check(spec, on, outer)
        spec = Matmul(m=2, n=19, k=12 * width, dtype=DType.F32, b_dtype=b_dtype, layout=Layout.NT)
        inner = InnerMatmul(
            mr=2, nr=2, mc=2, kc=4 * width, nc=2 * width, pack_a=False, pack_b=False, unroll=1
        )
        check(spec, on, inner)


def test_scales_at_the_ends_of_f32(tmp_path: Path) -> None:
    """A very large or small scale changes its own column alone."""
    spec = Matmul(
        m=2, n=37, k=45, dtype=DType.F32, b_dtype=DType.S8, epilogue="x * scale",
        constant=(ConstantOperand.B,),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (2, 45)).astype(np.float32)
    b = rng.integers(-128, 128, (45, 37)).astype(np.int8)
    scale = np.ldexp(np.float32(1.0), rng.integers(-126, 110, 37)).astype(np.float32)
    bundle = kgen.build(spec, targets=["native"], constants={"b": b})
    kernels = kgen_runtime.load(bundle.save(tmp_path / "m.kgen"), device="cpu")
    want = (a.astype(np.float64) @ b) * scale
    assert np.array_equal(kernels.matmul(a, scale), want.astype(np.float32))


@pytest.mark.parametrize(("name", "count"), [("x86-64-v3", 8), ("x86-64-v4", 16)])
@pytest.mark.parametrize("k", [75, 64])
def test_bf16_by_prepacked_pairs_in_blocks_of_k(name: str, count: int, k: int) -> None:
    """A is widened while it is packed; an odd K ends with half a pair."""
    found = here(name)
    schedule = CpuMatmul(mr=3, nr=2 * count, mc=6, kc=32, nc=6 * count, pack_a=True, pack_b=False)
    for out, layout in ((None, Layout.NN), (DType.F32, Layout.NT)):
        spec = Matmul(
            m=11, n=5 * count - 3, k=k, dtype=DType.BF16, out_dtype=out, layout=layout,
            constant=(ConstantOperand.B,), epilogue=(Epilogue.BIAS,),
        )  # fmt: skip
        check(spec, found, schedule)
    with pytest.raises(ScheduleError, match="kc=33 is not a multiple of 2"):
        FAMILY.plan(spec, found, schedule.override(kc=33))


def test_prepacked_weights_are_given_as_they_are(tmp_path: Path) -> None:
    """Packing keeps the bits of bf16; a constant of another type is refused."""
    spec = Matmul(m=1, n=9, k=7, dtype="f32", b_dtype="bf16", constant=("b",), layout="nt")
    b = np.random.default_rng(1).standard_normal((9, 7)).astype(ml_dtypes.bfloat16)
    bundle = kgen.build(spec, targets=["native"], constants={"b": b})
    kernels = kgen_runtime.load(bundle.save(tmp_path / "m.kgen"), device="cpu")
    a = np.full((1, 7), np.float32(0.5))
    np.testing.assert_allclose(kernels.matmul(a), a @ b.astype(np.float32).T, rtol=1e-6)
    a[0, 3] = np.inf
    assert np.array_equal(kernels.matmul(a), np.where(b[:, 3] > 0, np.inf, -np.inf)[None])
    with pytest.raises(kgen.KgenError, match="constant b is f32; expected bf16"):
        kgen.build(spec, targets=["native"], constants={"b": b.astype(np.float32)})
