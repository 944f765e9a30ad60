"""Schedules of depthwise and Winograd convolutions on CPUs."""

from __future__ import annotations

from typing import ClassVar

from kgen.schedule.matmul import BlockedMatmul
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


@frozen
class WinogradMatmul(BlockedMatmul):
    """Winograd convolution: a block of mc tiles of the images, transformed, meets nc outputs in
    each of the transform's positions, by the register tiles of a BLIS product."""

    mainloop: ClassVar[str] = "winograd"
    #: 0: weights come transformed and packed.
    pack_b: bool = False
