"""Products whose K or batch exceeds the limits of a GPU's grid or of 32-bit indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen import targets
from kgen.check.peers.peer import aligned
from kgen.errors import SpecError, TargetError
from kgen.pipeline import schedule_for
from kgen.spec import DType, Matmul
from tests.device.cpu.cpu_support import addresses, check, here, load

#: Just above the 65535 of a grid, and the 65536 products of s8 that stay in s32.
K, BATCH = 66000, 66000
CASES: list[dict[str, Any]] = [
    {"m": 1, "n": 10, "k": K},
    {"m": 5, "n": 17, "k": K, "layout": "nt"},
    {"m": 2, "n": 16, "k": K, "dtype": "f16", "constant": ("b",)},
    {"m": 2, "n": 3, "k": 4, "batch": BATCH},
    {"m": 1, "n": 8, "k": 8, "batch_dims": (BATCH, 2)},
]


@pytest.mark.parametrize("fields", CASES, ids=str)
def test_large_extents(fields: dict[str, Any]) -> None:
    check(Matmul(**{"dtype": "f32", **fields}), here("x86-64-v3"))


def test_sums_of_a_long_k() -> None:
    """Numpy's sums of small whole numbers are exact."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((3, K), (K, 7)))
    out = np.zeros((3, 7), np.float32)
    spec = Matmul(m=3, n=7, k=K, dtype=DType.F32)
    kernel = load(spec, here("x86-64-v3"))
    sums = {w.name: aligned(np.zeros(w.nbytes, np.uint8)) for w in kernel.entry.workspaces}
    kernel.run(addresses({"a": a, "b": b, "out": out, **sums}))
    np.testing.assert_array_equal(out, (a.astype(np.int64) @ b.astype(np.int64)))


@pytest.mark.parametrize("name", ["sm_80", "gfx942", "vulkan1.3"])
def test_gpus_say_their_limits(name: str) -> None:
    target = targets.find(name)
    for size, k, batch in ((f"k={K}", K, 1), (f"batch={BATCH}", 4, BATCH)):
        spec = Matmul(m=2, n=2, k=k, batch=batch, dtype=DType.F16)
        with pytest.raises(TargetError, match=f"{size} is out of range for {name}; the limit"):
            schedule_for(spec, target, {})


def test_sums_of_bytes_stay_in_s32() -> None:
    with pytest.raises(SpecError, match=f"k={K}"):
        Matmul(m=2, n=2, k=K, dtype=DType.S8)
