"""Schedule of depthwise convolutions on CPUs."""

from __future__ import annotations

from typing import ClassVar

from kgen.schedule.schedule import Schedule
from kgen_runtime.values import frozen


@frozen
class CpuDepthwise(Schedule):
    """Depthwise convolution: sums of `tile` outputs of a row, in a vector of channels each, stay in
    registers while the kernel passes over them."""

    mainloop: ClassVar[str] = "depthwise"
    #: [rows] Rows of the output that a task computes.
    task: int
    #: [outputs] Outputs of a row whose sums are in registers at a time.
    tile: int
