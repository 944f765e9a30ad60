"""How to tile: one file per kind of operation, one class per operation and programming model."""

from kgen.schedule.attention_schedule import (
    CooperativeAttention,
    CpuAttention,
    FmaAttention,
    MmaAttention,
    PingPongAttention,
    UnstagedAttention,
    WgmmaAttention,
)
from kgen.schedule.convolution import CpuDepthwise, WinogradMatmul
from kgen.schedule.gemv import GemvMatmul
from kgen.schedule.matmul import (
    AheadMatmul,
    AmxMatmul,
    BlockedMatmul,
    CooperativeMatmul,
    CpuMatmul,
    CpuSplitMatmul,
    DirectMatmul,
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
    SharedMatmul,
    SplitFmaMatmul,
    SplitK,
    SplitMatmul,
    UnstagedMatmul,
    WgmmaMatmul,
)
from kgen.schedule.rowwise import (
    ClusterRows,
    CpuRows,
    CpuSplitRows,
    CpuStream,
    CpuTransposed,
    GpuRows,
    GpuStream,
)
from kgen.schedule.schedule import Overrides, Schedule, ScheduleOrigin

__all__ = [
    "AheadMatmul", "AmxMatmul", "BlockedMatmul", "ClusterRows", "CooperativeAttention",
    "CooperativeMatmul", "CpuAttention", "CpuDepthwise", "CpuMatmul", "CpuRows", "CpuSplitMatmul",
    "CpuSplitRows", "CpuStream", "CpuTransposed", "DirectMatmul", "DotMatmul", "FmaAttention",
    "FmaMatmul", "GemvMatmul", "GpuMatmul", "GpuRows", "GpuStream", "InnerMatmul", "LimbsMatmul",
    "MmaAttention", "MmaMatmul", "OuterMatmul", "Overrides", "PingPongAttention", "PingPongMatmul",
    "PromotedMatmul", "PromotedWgmmaMatmul", "Schedule", "ScheduleOrigin", "SharedMatmul",
    "SplitFmaMatmul", "SplitK", "SplitMatmul", "UnstagedAttention", "UnstagedMatmul",
    "WgmmaAttention", "WgmmaMatmul", "WinogradMatmul",
]  # fmt: skip
