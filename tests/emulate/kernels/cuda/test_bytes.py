"""s8 and fp8 products, executed and compared the way `kgen verify` does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import emulate, pipeline, targets
from kgen.spec import DType, Layout, Matmul
from tests.emulate.one_schedule import verify

ODD: dict[str, Any] = {"m": 65, "n": 66, "k": 67}
EVEN: dict[str, Any] = {"m": 64, "n": 96, "k": 224}
CHAIN: dict[str, Any] = {
    "scales": ("a", "b", "out"),
    "beta": 0.5,
    "epilogue": ("bias", "relu", "residual"),
}
TILE = {"block_m": 32, "block_n": 64, "block_k": 64, "warp_m": 16, "warp_n": 32, "num_stages": 2}
each_layout = pytest.mark.parametrize("layout", tuple(Layout))


def prove(folder: Path, target: str, schedule: dict[str, int] | None = None, **fields: Any) -> None:
    bundle = kgen.build(Matmul(**fields), [target], schedule=schedule)
    report = verify(bundle.save(folder / "x.kgen"))
    assert report.passed, report.kernels[0]


@each_layout
@pytest.mark.parametrize("target", ["sm_75", "sm_80"])
def test_s8(tmp_path: Path, target: str, layout: Layout) -> None:
    """Outputs are s32 without an epilogue, or 8 and 16 bits with every addend; rows are aligned
    or not."""
    prove(tmp_path, target, **ODD, dtype=DType.S8, layout=layout)
    for out, sizes in ((DType.S8, EVEN), (DType.F16, ODD)):
        prove(
            tmp_path, target, TILE, **sizes, dtype=DType.S8, out_dtype=out, layout=layout, **CHAIN
        )


@each_layout
def test_fp8(tmp_path: Path, layout: Layout) -> None:
    common: dict[str, Any] = {"layout": layout, **CHAIN}
    tile = TILE | {"block_k": 128}
    prove(tmp_path, "sm_89", tile, **EVEN, dtype=DType.E4M3, out_dtype=DType.BF16, **common)
    prove(tmp_path, "sm_89", **ODD, dtype=DType.E5M2, out_dtype=DType.E4M3, **common)


@pytest.mark.parametrize(
    ("dtype", "out"), [(DType.S8, DType.S8), (DType.E5M2, DType.E4M3), (DType.E4M3, DType.E4M3)]
)
def test_outputs_of_a_warp_that_are_fewer_than_its_lanes_could_move(
    tmp_path: Path, dtype: DType, out: DType
) -> None:
    """A tile of 16x16 bytes is 16 accesses of 16 bytes, for 32 lanes."""
    tile = {"block_m": 16, "block_n": 16, "block_k": 32, "warp_m": 16, "warp_n": 16}
    sizes = {"m": 48, "n": 64, "k": 64}
    prove(tmp_path, "sm_89", tile, **sizes, dtype=dtype, out_dtype=out, layout=Layout.NT)


@pytest.mark.parametrize("target", ["sm_90a", "sm_120"])
def test_fp8_elsewhere(tmp_path: Path, target: str) -> None:
    prove(tmp_path, target, m=33, n=70, k=300, dtype=DType.E4M3, batch=2, batch_stride_b=0)


@pytest.mark.parametrize(
    ("dtype", "out"), [(DType.S8, DType.S32), (DType.S8, DType.S8), (DType.E5M2, DType.F32)]
)
def test_split(tmp_path: Path, dtype: DType, out: DType) -> None:
    scaled: dict[str, Any] = {} if out is DType.S32 else CHAIN
    tile = TILE | {"block_k": 128, "split_k": 4}
    prove(tmp_path, "sm_89", tile, m=17, n=72, k=1024, dtype=dtype, out_dtype=out, **scaled)


def worst(promote_k: int) -> float:
    """Return the largest error with sums of 13 bits, relative to the exact result."""
    k = 2048
    spec = Matmul(m=16, n=32, k=k, dtype=DType.E4M3, out_dtype=DType.F32, layout=Layout.NT)
    fields = {"block_m": 16, "block_n": 32, "block_k": 128, "split_k": 1, "promote_k": promote_k}
    plan = pipeline.plan_with(spec, targets.find("sm_89"), fields | {"warp_m": 16, "warp_n": 16})
    launch = plan.launches[0]
    codes = np.random.default_rng(0).integers(0x30, 0x38, (48, k)).astype(np.uint8)
    a, b, out = codes[:16], codes[16:], np.zeros((16, 32), np.float32)
    emulate.run(
        pipeline.source(plan).text,
        language="ptx",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[a.copy(), b.copy(), out],
        dynamic_shared=launch.dynamic_shared_memory,
        numerics=emulate.Numerics(fp8_accumulator_bits=13),
    )
    # Codes 0x30 to 0x37 are 0.5 to 0.9375 in steps of a sixteenth.
    exact = (a / 16.0 - 2.5) @ (b / 16.0 - 2.5).T
    return float(np.abs(out / exact - 1.0).max())


def test_promotion_keeps_short_sums_exact_enough() -> None:
    """Positive numbers make truncation errors add up."""
    assert worst(promote_k=128) < 2.0**-10
    assert worst(promote_k=2048) > 4 * worst(promote_k=128)
