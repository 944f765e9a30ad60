"""Skinny GEMM on NVIDIA GPUs: small M, B read once."""

from __future__ import annotations

from typing import ClassVar

from kgen.schedule.matmul import GpuMatmul
from kgen_runtime.values import frozen


@frozen
class GemvMatmul(GpuMatmul):
    """Skinny GEMM: threads read B from global memory straight to registers and multiply all rows of
    A; shared memory adds up their partial sums."""

    mainloop: ClassVar[str] = "gemv"
    #: [threads] Threads of a CTA.
    num_threads: int
