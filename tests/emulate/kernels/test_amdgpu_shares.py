"""Workgroups that share K, executed: parts of block tiles against the reference, before and
after LLVM's optimiser, in any order of arrival; and workspaces after a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kgen import bundle, pipeline, targets
from kgen.check.execute.runners import EmulatorExecutor
from kgen.check.verify import inputs
from kgen.schedule import DirectMatmul, PingPongMatmul, SharedMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.base import BuiltKernel
from tests.emulate import kept_workspaces
from tests.emulate.kernels.test_amdgpu_pingpong import failures, optimised

TILE = SharedMatmul(block_m=32, block_n=32, block_k=32, warp_m=16, warp_n=16, num_stages=2)
PING_PONG = PingPongMatmul(block_m=64, block_n=128, block_k=64, warp_m=32, warp_n=32)
DIRECT = DirectMatmul(block_m=64, block_n=128, block_k=64, warp_m=32, warp_n=32)
#: By what is particular: the target, the product, the tile, and how its workgroups share it.
CASES: dict[str, tuple[str, dict[str, Any], SharedMatmul, Mapping[str, int]]] = {
    # Five steps for three workgroups: parts of unequal depths.
    "split": (
        "gfx942",
        {"m": 33, "n": 40, "k": 640, "batch": 2, "epilogue": tuple(Epilogue)},
        TILE,
        {"split_k": 3},
    ),
    # More workgroups than block tiles, dies of unequal size, a last group of one row.
    "stream": (
        "gfx1100",
        {"m": 70, "n": 64, "k": 512, "beta": 2.0},
        TILE,
        {"num_workgroups": 11, "group_m": 2, "num_xcds": 4},
    ),
    # Whole block tiles behind the shared ones.
    "waves": (
        "gfx1201",
        {"m": 130, "n": 64, "k": 512, "dtype": DType.S8, "batch": 2},
        TILE,
        {"num_workgroups": 3},
    ),
    "one-stage": ("gfx90a", {"m": 32, "n": 64, "k": 320}, TILE, {"num_stages": 1, "split_k": 4}),
    "pingpong": (
        "gfx942",
        {"m": 72, "n": 136, "k": 512, "layout": Layout.NT, "dtype": DType.BF16},
        PING_PONG,
        {"num_workgroups": 6, "num_xcds": 8},
    ),
    "direct": (
        "gfx950",
        {"m": 72, "n": 136, "k": 768, "layout": Layout.NT},
        DIRECT,
        {"num_workgroups": 5, "group_m": 2},
    ),
}


def made(name: str) -> BuiltKernel:
    target, fields, tile, sharing = CASES[name]
    return pipeline.kernel(Matmul(**fields), targets.find(target), tile.override(**sharing))


@pytest.mark.parametrize("name", CASES)
def test_shares(name: str) -> None:
    kernel = made(name)
    assert not failures([kernel])
    assert not failures([optimised(kernel)])


@pytest.mark.parametrize("num_xcds", [1, 3, 8])
def test_the_order_of_block_tiles(num_xcds: int) -> None:
    """Each block tile occurs once; dies get equal numbers of them, or some get one more."""
    schedule = TILE.override(group_m=4, num_xcds=num_xcds)
    spec = Matmul(m=190, n=100, k=64, batch=2)
    assert not failures([pipeline.kernel(spec, targets.find("gfx942"), schedule)])


def test_counters_are_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verification launches a kernel once per data set with the same counters."""
    held = kept_workspaces.keep(monkeypatch)
    assert not failures([made("stream")])
    assert held["parts"].any() and not held["arrivals"].any()


def test_results_do_not_depend_on_who_comes_last() -> None:
    """Sums with rounding have the same bits for every order of workgroups."""
    spec = Matmul(m=40, n=64, k=640, out_dtype=DType.F32)
    kernel = pipeline.kernel(spec, targets.find("gfx942"), TILE.override(num_workgroups=7))
    (entry,) = bundle.pack([kernel]).manifest.kernels
    data = next(data for data in inputs.data_sets(entry, seed=0) if not data.whole)
    found = []
    for seed in range(4):
        buffers = dict(data.buffers) | inputs.output_buffers(entry, data.buffers)
        EmulatorExecutor(entry, "llvm-ir", kernel.source.text).reports(buffers, None, seed=seed)
        found.append(bytes(buffers[entry.output.name]))
    assert len(set(found)) == 1
