"""Skinny GEMMs that interleave rows of B within lanes, by every instruction."""

from __future__ import annotations

from typing import Any

import pytest

from kgen import pipeline
from kgen.bundle import pack
from kgen.schedule import DotMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.dot import DotPlan
from tests.device.cpu.cpu_support import require_qemu
from tests.open_devices import verify

#: Columns of a strip.
TARGETS = {
    ("x86-64", DType.S8): 8,
    ("x86-64-v3", DType.S8): 16,
    ("x86-64-v3+vnni", DType.S8): 32,
    ("x86-64-v4", DType.S8): 32,
    ("x86-64-v4+vnni", DType.S8): 64,
    ("x86-64-v4+bf16", DType.BF16): 32,
    ("aarch64-neon+dotprod", DType.S8): 16,
}
#: Whole strips, a panel at the edge with whole vectors or not, blocks of columns and rows, K in
#: blocks that are no whole runs, the last one shorter, a packed A.
CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"m": 1, "k": 24}, {"mr": 1, "mc": 1, "kc": 8}),
    ({"m": 3, "k": 72, "batch": 2, "beta": 0.5, "epilogue": (Epilogue.BIAS,)}, {"kc": 12}),
    ({"m": 5, "k": 76, "ldb": 301}, {"kc": 64}),
    ({"m": 2, "k": 140, "layout": Layout.TN}, {"kc": 64, "pack_a": True}),
]


@pytest.mark.parametrize(("name", "dtype"), list(TARGETS))
def test_strips(name: str, dtype: DType) -> None:
    found = FAMILY.find(name)
    assert found is not None
    if found.arch == "aarch64":
        require_qemu()
    width = TARGETS[name, dtype]
    for fields, blocks in CASES:
        spec = Matmul(**{"n": 3 * width + 19, "dtype": dtype, "out_dtype": DType.F32, **fields})
        base = {"mr": 2, "nr": width, "mc": 4, "nc": 2 * width, "pack_a": False, "pack_b": False}
        if name in ("x86-64", "x86-64-v3", "x86-64-v4"):
            # Bytes are widened, and packed in whole runs, on the way.
            blocks = {**blocks, "pack_a": True, "kc": max(blocks["kc"], 64)}
        schedule = DotMatmul(**{**base, **blocks})
        planned = pipeline.plan(spec, found, schedule)
        assert isinstance(planned, DotPlan)
        assert (planned.interleaving is not None) == (spec.k > planned.schedule.kc)
        for result in verify(pack([pipeline.kernel(spec, found, schedule)])).kernels:
            assert result.passed, result.to_json()
