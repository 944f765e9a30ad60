"""Main loops: the schedule type of each, by target family and operation."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kgen import schedule as s
from scripts.reference.comments import summary
from scripts.reference.markdown import rows

MATMUL, STREAM, ROWS = "matmul", "element-wise", "row-wise"
#: Schedule types of each family, with the operations that they schedule.
TYPES: Mapping[str, Mapping[type[s.Schedule], str]] = {
    "NVIDIA": {
        s.SplitMatmul: MATMUL,
        s.PromotedMatmul: f"{MATMUL} of fp8",
        s.WgmmaMatmul: MATMUL,
        s.PromotedWgmmaMatmul: f"{MATMUL} of fp8",
        s.SplitFmaMatmul: f"{MATMUL} of exact f32",
        s.GemvMatmul: f"{MATMUL} with small M (skinny GEMM)",
        s.MmaAttention: "attention of f16 and bf16",
        s.FmaAttention: "attention of f32",
        s.WgmmaAttention: "attention",
        s.GpuStream: STREAM,
        s.GpuRows: ROWS,
        s.ClusterRows: ROWS,
    },
    "AMD": {
        s.SharedMatmul: MATMUL,
        s.PingPongMatmul: MATMUL,
        s.DirectMatmul: MATMUL,
        s.FmaMatmul: f"{MATMUL} without matrix instructions",
        s.MmaAttention: "attention",
        s.PingPongAttention: "attention by MFMA",
        s.FmaAttention: "attention of f32 without matrix instructions",
        s.GpuStream: STREAM,
        s.GpuRows: ROWS,
    },
    "Vulkan": {
        s.CooperativeMatmul: MATMUL,
        s.FmaMatmul: MATMUL,
        s.UnstagedMatmul: MATMUL,
        s.CooperativeAttention: "attention",
        s.UnstagedAttention: "attention",
        s.GpuStream: STREAM,
        s.GpuRows: ROWS,
    },
    "CPU": {
        s.CpuMatmul: MATMUL,
        s.AheadMatmul: MATMUL,
        s.CpuSplitMatmul: MATMUL,
        s.AmxMatmul: f"{MATMUL} of bf16, f16 and s8",
        s.DotMatmul: f"{MATMUL} of bf16 and s8",
        s.LimbsMatmul: f"{MATMUL} of f32 by s8 or s4",
        s.InnerMatmul: MATMUL,
        s.OuterMatmul: MATMUL,
        s.WinogradMatmul: "conv2d of 3x3 kernels with math=winograd2 or winograd4",
        s.CpuDepthwise: "conv2d with a group for each channel",
        s.CpuAttention: "attention",
        s.CpuStream: STREAM,
        s.CpuTransposed: STREAM,
        s.CpuRows: ROWS,
        s.CpuSplitRows: ROWS,
    },
}


def table() -> str:
    """Return one row per family and schedule type."""
    header = ("family", "operation", "`mainloop`", "what it is", "fields")
    cells = []
    for family, types in TYPES.items():
        for kind, operation in types.items():
            names = ", ".join(f"`{name}`" for name in field_names(kind))
            cells.append((family, operation, f"`{kind.mainloop}`", summary(kind), names))
    return rows(header, cells)


def field_names(kind: type[s.Schedule]) -> list[str]:
    """Return the names of the fields that a user may set."""
    return [field.name for field in dataclasses.fields(kind) if field.name != "origin"]
