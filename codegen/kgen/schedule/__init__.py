"""How to tile: one file per kind of operation, one class per operation and programming model."""

from kgen.schedule.base import Origin, Overrides, Schedule
from kgen.schedule.gemv import GemvMatmul
from kgen.schedule.matmul import (
    AmxMatmul,
    CpuMatmul,
    DotMatmul,
    FmaMatmul,
    GpuMatmul,
    InnerMatmul,
    LimbsMatmul,
    MmaMatmul,
    OuterMatmul,
    PingPongMatmul,
    PromotedMatmul,
    PromotedWgmmaMatmul,
    SplitFmaMatmul,
    SplitK,
    SplitMatmul,
    UnstagedMatmul,
    WgmmaMatmul,
)
from kgen.schedule.rowwise import ClusterRows, CpuSplitRows, CpuStream, GpuRows, GpuStream

__all__ = [
    "AmxMatmul",
    "ClusterRows",
    "CpuMatmul",
    "CpuSplitRows",
    "CpuStream",
    "DotMatmul",
    "FmaMatmul",
    "GemvMatmul",
    "GpuMatmul",
    "GpuRows",
    "GpuStream",
    "InnerMatmul",
    "LimbsMatmul",
    "MmaMatmul",
    "Origin",
    "OuterMatmul",
    "Overrides",
    "PingPongMatmul",
    "PromotedMatmul",
    "PromotedWgmmaMatmul",
    "Schedule",
    "SplitFmaMatmul",
    "SplitK",
    "SplitMatmul",
    "UnstagedMatmul",
    "WgmmaMatmul",
]
