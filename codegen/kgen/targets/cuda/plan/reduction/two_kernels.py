"""Two kernels in one module: the first stores parts of results, the second joins them."""

from __future__ import annotations

from kgen.targets.cuda.plan.cuda_plan import CudaPlan
from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen_runtime.values import frozen


@frozen
class TwoKernelPlan(CudaPlan):
    """Plan of both kernels; only the first one, `part`, has tables and shared memory."""

    part: CudaPlan

    @property
    def shared_alignment(self) -> int:
        return self.part.shared_alignment

    @property
    def tabled(self) -> tuple[TileCopy, ...]:
        return self.part.tabled

    @property
    def shared_map(self) -> tuple[str, ...]:
        return self.part.shared_map
