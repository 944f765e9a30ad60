"""Split-k in one kernel, executed: whichever CTA arrives last, its sum is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute.runners import EmulatorExecutor
from kgen.check.verify import inputs
from kgen.schedule import SplitMatmul
from kgen.spec import DType, Epilogue, Layout, Math, Matmul
from tests.emulate.ptx.shared_tiles import TILE, leaves_zeros, passes

FMA = {"block_m": 16, "block_n": 16, "block_k": 16, "thread_m": 2, "thread_n": 2}
#: The staging of 16-bit outputs; edges, odd rows, every addend; parts that do not fit registers at
#: once; a batch whose k no tile divides; integers; sums that are promoted in a part; tf32, sm_75.
CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    "even": ("sm_80", {"m": 64, "n": 64, "k": 512}, 4),
    "addends": (
        "sm_80",
        {"m": 33, "n": 66, "k": 192, "alpha": 0.5, "beta": 2.0, "epilogue": tuple(Epilogue)},
        2,
    ),
    "turns": ("sm_80", {"m": 33, "n": 35, "k": 1120, "ldc": 37, "layout": Layout.TT}, 35),
    "batch": (
        "sm_80",
        {"m": 33, "n": 40, "k": 296, "batch": 3, "batch_stride_b": 0, "dtype": DType.BF16},
        4,
    ),
    "bytes": (
        "sm_80",
        {"m": 33, "n": 40, "k": 300, "batch": 2, "dtype": DType.S8, "layout": Layout.NT},
        3,
    ),
    "promoted": ("sm_89", {"m": 32, "n": 32, "k": 1024, "dtype": DType.E4M3}, 3),
    "tf32": ("sm_80", {"m": 40, "n": 100, "k": 256, "dtype": DType.F32, "math": Math.TF32}, 4),
    "sm_75": ("sm_75", {"m": 33, "n": 40, "k": 256, "epilogue": (Epilogue.RELU,)}, 3),
}
EXACT: dict[str, tuple[dict[str, Any], int]] = {
    "even": ({"m": 32, "n": 64, "k": 256}, 4),
    "primes": ({"m": 37, "n": 41, "k": 131, "beta": 2.0, "epilogue": tuple(Epilogue)}, 3),
    "batch": ({"m": 17, "n": 20, "k": 100, "batch": 3, "layout": Layout.TT, "lda": 19}, 7),
}


@pytest.mark.parametrize("name", CASES)
def test_last_arriving(name: str, tmp_path: Path) -> None:
    target, fields, split = CASES[name]
    depth = {"block_k": 128} if name == "promoted" else {}
    stages = {"num_stages": 2} if target == "sm_75" else {}
    schedule = TILE | depth | stages | {"split_k": split, "one_kernel": 1}
    passes(Matmul(**fields), target, schedule, tmp_path)


@pytest.mark.parametrize("name", EXACT)
def test_last_arriving_of_fma(name: str, tmp_path: Path) -> None:
    fields, split = EXACT[name]
    schedule = FMA | {"split_k": split, "one_kernel": 1}
    passes(Matmul(dtype=DType.F32, **fields), "sm_80", schedule, tmp_path)


def test_counters_are_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Matmul(m=64, n=40, k=320)
    leaves_zeros(spec, {"split_k": 3, "one_kernel": 1}, "arrivals", tmp_path, monkeypatch)


def test_results_do_not_depend_on_who_comes_last() -> None:
    """Sums with rounding have the same bits for every order of CTAs."""
    schedule = SplitMatmul(
        block_m=32, block_n=32, block_k=32, num_stages=2, warp_m=16, warp_n=16, split_k=5
    )
    spec = Matmul(m=40, n=33, k=640, out_dtype=DType.F32)
    kernel = pipeline.kernel(spec, targets.find("sm_80"), schedule.override(one_kernel=1))
    (entry,) = bundle.pack([kernel]).manifest.kernels
    data = next(data for data in inputs.data_sets(entry, seed=0) if not data.whole)
    found = []
    for seed in range(5):
        buffers = dict(data.buffers) | inputs.output_buffers(entry, data.buffers)
        EmulatorExecutor(entry, "ptx", kernel.source.text).reports(buffers, None, seed=seed)
        found.append(bytes(buffers[entry.output.name]))
    assert len(set(found)) == 1
