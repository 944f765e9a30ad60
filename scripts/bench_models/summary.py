"""README's table of whole models, by kind of CPU.

Results of other kinds are of other machines: the table is made of what docs/performance.md says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from scripts import documents
from scripts.bench_models.models import MODELS

FAMILY = "bench-models summary"
NUMBER = r"([\d.]+|-)"
#: A row of times, see report.row_line.
ROW = re.compile(
    rf"\| ([\w-]+) \| (\d+) \| {NUMBER}[^|]*\|[^|]*\|[^|]*\| {NUMBER}x? \| {NUMBER}x? \|"
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """Of a model on one kind of CPU, in one thread: milliseconds, and how many times as fast as
    each peer's f32, None where that was not timed."""

    model: str
    ms: float
    onnxruntime: float | None
    openvino: float | None

    @property
    def cell(self) -> str:
        shown = ["–" if x is None else f"{x:.2f}x" for x in (self.onnxruntime, self.openvino)]
        return f"{self.ms:.3g} ms: {', '.join(shown)}"


def read(section: str) -> list[Line]:
    """The lines of one thread of a section of docs/performance.md."""
    return [
        Line(model=model, ms=float(ms), onnxruntime=_ratio(ort), openvino=_ratio(vino))
        for model, threads, ms, ort, vino in ROW.findall(section)
        if threads == "1"
    ]


def _ratio(text: str) -> float | None:
    return None if text == "-" else float(text)


def readme_lines(sections: Mapping[str, str]) -> list[str]:
    """What goes into README, of the sections by kind of CPU."""
    cells = {
        kind: {line.model: line.cell for line in read(text)} for kind, text in sections.items()
    }
    rows = [
        [model.title, *(found.get(model.name, "–") for found in cells.values())]
        for model in MODELS
        if any(model.name in found for found in cells.values())
    ]
    return [
        "\nWhole models in one thread: a run's milliseconds, and how many times as fast it is as "
        "ONNX Runtime's and as OpenVINO's in f32. [The bars, load times and sizes]"
        "(docs/performance.md#whole-models).\n",
        f"| model | {' | '.join(cells)} |",
        "| --- |" + " --- |" * len(cells),
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def write() -> None:
    """README's table, of all sections."""
    sections = documents.kinds(documents.PERFORMANCE, "make bench-models")
    documents.put(documents.ROOT / "README.md", FAMILY, readme_lines(sections))
