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
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"columns", "channels", "prefetch"})
    #: [rows] Rows of the output that a task computes.
    task: int
    #: [outputs] Outputs of a row whose sums are in registers at a time.
    tile: int
    #: [outputs] Outputs of a row that a task computes, whole tiles; 0 for all.
    columns: int = 0
    #: [channels] Output channels that a task computes, whole vectors; 0 for all.
    channels: int = 0
    #: [rows] Number of output rows ahead for which a task prefetches the image; 0: no prefetch.
    prefetch: int = 0


@frozen
class WinogradMatmul(BlockedMatmul):
    """Winograd convolution: multiply mc transformed tiles by the weights of nc outputs, in each
    position of the transform, with BLIS register tiles."""

    mainloop: ClassVar[str] = "winograd"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"ahead"})
    #: Always 0: the build transforms and packs the weights.
    pack_b: bool = False
    #: [bytes] Prefetch distance in the panels of the weights; 0 prefetches nothing.
    ahead: int = 0
    #: 1 keeps the transformed tiles and their sums in a workspace, 0 on the stack.
    in_workspace: bool = False
