"""The tiling of a product of a few rows, which streams B."""

from __future__ import annotations

from typing import ClassVar

from kgen.schedule.matmul import GpuMatmul
from kgen_runtime.values import frozen


@frozen
class GemvMatmul(GpuMatmul):
    """All `block_m` rows of A at once: `num_threads` threads read `block_n` columns of B from
    global memory straight to registers, `block_k` of k at a time, and add up what they have in the
    end."""

    mainloop: ClassVar[str] = "gemv"
    num_threads: int
