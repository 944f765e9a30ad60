"""README's six rows of figures, taken from the measured tables of docs/performance.md.

`python -m scripts.readme_figures` rewrites README; `make bench-cpu` and `make bench-models` do so
after a measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scripts import documents
from scripts.bench_cpu import summary as kernels
from scripts.bench_models import summary as models

NAME = "figures: make bench-cpu bench-models"
HEAD = "| workload, one thread | compared with | slowest CPU | fastest CPU |"


@dataclass(frozen=True, kw_only=True)
class Row:
    """Speed ratios of one workload by kind of CPU; `minimum` is the slowest kernel's, if any."""

    workload: str
    peer: str
    family: str
    read: Callable[[str], tuple[float, float | None] | None]

    def line(self) -> str:
        """Return the Markdown row: the lowest and the highest ratio, each with its CPU."""
        sections = documents.kinds(documents.PERFORMANCE, self.family)
        found = [(*pair, cpu) for cpu, text in sections.items() if (pair := self.read(text))]
        cells = []
        for ratio, minimum, cpu in (min(found, key=_ratio), max(found, key=_ratio)):
            lowest = "" if minimum is None else f" (minimum {minimum:.2f}x)"
            cells.append(f"{ratio:.2f}x{lowest} on {cpu}")
        if len(found) == 1:
            cells[1] = "not measured"
        return f"| {self.workload} | {self.peer} | {' | '.join(cells)} |"


def _ratio(found: tuple[float, float | None, str]) -> float:
    return found[0]


def _model(name: str, workload: str) -> Row:
    def read(section: str) -> tuple[float, None] | None:
        ratios = {line.model: line.onnxruntime for line in models.read(section)}
        ratio = ratios.get(name)
        return None if ratio is None else (ratio, None)

    peer = "ONNX Runtime, f32"
    return Row(workload=workload, peer=peer, family="make bench-models", read=read)


def _kernels(what: str, workload: str, peer: str) -> Row:
    def read(section: str) -> tuple[float, float] | None:
        found = {line.what: (line.mean, line.minimum) for line in kernels.read(section)}
        return found.get(what)

    return Row(workload=workload, peer=peer, family=kernels.FAMILY, read=read)


ROWS = (
    _model("minilm", "MiniLM-L6, 128 tokens, f32"),
    _model("smollm2-step", "SmolLM2-135M, one token, f32"),
    _model("smollm2-step-s8", "SmolLM2-135M, one token, s8 weights"),
    _kernels(
        "GEMM shapes from models, f32",
        "40 GEMM shapes from models, f32",
        "best of MKL, OpenBLAS, oneDNN",
    ),
    _kernels("matmul bf16, prepacked B", "bf16 matmul, prepacked B", "PyTorch, packed"),
    _kernels("softmax and norms f32", "softmax and norms, f32", "PyTorch"),
)


def lines() -> Iterator[str]:
    """Yield README's table of figures."""
    yield from ("", HEAD, "| --- | --- | --- | --- |")
    yield from (row.line() for row in ROWS)
    yield ""


def write() -> None:
    """Put the table between README's markers."""
    documents.put(documents.ROOT / "README.md", NAME, [*lines()])


if __name__ == "__main__":
    write()
