"""Kernels of the wgmma main loop with the test's own schedule, built and verified."""

from __future__ import annotations

from typing import Any

from kgen import bundle, pipeline, targets
from kgen.check.verify.run import KernelResult
from kgen.schedule import PromotedWgmmaMatmul, WgmmaMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import BuiltKernel
from tests.emulate.one_schedule import verify

SM_90A = targets.find("sm_90a")
#: A small tile, whose accumulators take little text and time.
TILE = {"block_m": 128, "block_n": 64, "num_stages": 3, "consumers": 2}


def build(spec: Matmul, **fields: Any) -> BuiltKernel:
    """Build a kernel; `fields` change the schedule of a small tile with 128 bytes of K."""
    kind = PromotedWgmmaMatmul if spec.dtype in (DType.E4M3, DType.E5M2) else WgmmaMatmul
    schedule = kind(block_k=128 // spec.dtype.itemsize, **TILE | fields)
    return pipeline.kernel(spec, SM_90A, schedule)


def verified(spec: Matmul, **fields: Any) -> KernelResult:
    """Return the only kernel's verdict, after execution in the emulator with every check."""
    (result,) = verify(bundle.pack([build(spec, **fields)]), on="emulator").kernels
    return result
