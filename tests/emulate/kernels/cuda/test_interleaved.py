"""NVIDIA kernels that reduce another axis than the innermost move the fewest possible sectors."""

from __future__ import annotations

import pytest

import kgen
from kgen.check.profile import profile
from kgen.spec import text

#: Bytes of a sector of global memory.
SECTOR = 32


@pytest.mark.parametrize(
    "kernel",
    [
        "sum 64x256 f16 axes=0",
        "softmax 2x24x8x32 f32 axes=1",
        "m=mean(x);y=(x-m)*w x=96x128,w=96x1 f16 axes=0",
        "softmax 512x64 f32 axes=0",
        "layer_norm(x,w,b) x=8x4x16x16,w=4x1x1,b=4x1x1 f16 axes=0,2,3",
        "h=x+r;rms_norm(h,w) x=32x256,r=32x256,w=256 f16",
    ],
)
def test_sectors_are_ideal(kernel: str) -> None:
    """Every access of a warp moves the fewest sectors; resident rows are read once."""
    spec = text.parse(kernel)
    (found,) = profile(kgen.build(spec, ["sm_80"]))
    assert found.reason is None
    counters = found.launches[0].report.counters
    assert counters["global_sectors"] == counters["global_sectors_ideal"]
    stored = sum(p.nbytes for p in spec.parameters if p.role == "output")
    assert counters["global_store_bytes"] == stored
    assert counters["bank_conflicts"] == 0


def test_neighbouring_threads_have_neighbouring_rows() -> None:
    """Elements of one row are far apart; if threads walked along rows, every element would take
    a sector."""
    spec = text.parse("sum 64x256 f16 axes=0")
    (found,) = profile(kgen.build(spec, ["sm_80"]))
    counters = found.launches[0].report.counters
    assert counters["global_sectors"] == sum(p.nbytes for p in spec.parameters) // SECTOR
