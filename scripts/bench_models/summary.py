"""Whole models' times, as docs/performance.md lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass

NUMBER = r"([\d.]+|-)"
#: A row of times, see report.row_line.
ROW = re.compile(
    rf"\| ([\w-]+) \| (\d+) \| {NUMBER}[^|]*\|[^|]*\|[^|]*\| {NUMBER}x? \| {NUMBER}x? \|"
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One model in one thread on one kind of CPU: milliseconds, and speed relative to each
    peer's f32 (None if the peer was not timed)."""

    model: str
    ms: float
    onnxruntime: float | None
    openvino: float | None


def read(section: str) -> list[Line]:
    """Return the single-threaded rows of a section of docs/performance.md."""
    return [
        Line(model=model, ms=float(ms), onnxruntime=_ratio(ort), openvino=_ratio(vino))
        for model, threads, ms, ort, vino in ROW.findall(section)
        if threads == "1"
    ]


def _ratio(text: str) -> float | None:
    return None if text == "-" else float(text)
