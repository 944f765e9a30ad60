"""Speed of the CPU kernels relative to libraries: one short table per kind of CPU."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from scripts import documents
from scripts.bench_cpu.results import Results

FAMILY = "bench-cpu summary"
LIBRARIES = ("numpy", "torch", "onednn")
SUMMARY = (
    # (what, table, against, peers: the fastest of them counts)
    ("GEMM shapes from models, f32", "models-f32", "best of MKL, OpenBLAS, oneDNN", LIBRARIES),
    (
        "GEMM shapes from models, cold caches, f32",
        "models-f32-cold",
        "best of MKL, OpenBLAS, oneDNN",
        LIBRARIES,
    ),
    ("matmul f32", "f32", "best of MKL, OpenBLAS, oneDNN", LIBRARIES),
    ("matmul bf16", "bf16", "PyTorch (oneDNN)", ("torch",)),
    ("matmul bf16, prepacked B", "bf16-packed", "PyTorch, packed", ("torch-onednn",)),
    ("matmul s8", "s8", "oneDNN", ("onednn",)),
    ("matmul f32 + bias + gelu", "fused-f32", "PyTorch", ("torch",)),
    ("matmul bf16 + bias + gelu", "fused-bf16", "PyTorch", ("torch",)),
    *(
        (f"{what} {dtype}", f"{name}-{dtype}", "PyTorch", ("torch",))
        for dtype in ("f32", "bf16")
        for what, name in (
            ("element-wise functions", "functions"),
            ("softmax and norms", "rows"),
            ("reductions", "reductions"),
        )
    ),
)
HEAD = "| kernels | against | geometric mean | minimum | maximum |"
ROW = re.compile(r"\| (.+) \| (.+) \| ([\d.]+)x \| ([\d.]+)x \| ([\d.]+)x \|")


@dataclass(frozen=True, kw_only=True)
class Line:
    """Speed ratios of one table of kernels on one kind of CPU."""

    what: str
    against: str
    mean: float
    minimum: float
    maximum: float

    @property
    def text(self) -> str:
        numbers = " | ".join(f"{n:.2f}x" for n in (self.mean, self.minimum, self.maximum))
        return f"| {self.what} | {self.against} | {numbers} |"


def lines(results: Results, reached: str, moments: str) -> list[str]:
    """Return the section for docs/performance.md; `reached` says how many bars are reached."""
    found = [
        f"\n**{results.kind}**: {results.machine}; one thread, packing inside the call counted, "
        f"`make bench-cpu`. {moments} {link(results.kind, reached)}\n",
        HEAD,
        "| --- | --- | --- | --- | --- |",
    ]
    return [*found, *(line.text for line in _of(results)), ""]


def link(kind: str, reached: str) -> str:
    """Return a link to the page with the bars and all tables."""
    return f"[{reached.rstrip('.')}](performance/{documents.slug(kind)}.md)."


def _of(results: Results) -> Iterator[Line]:
    for what, table, against, peers in SUMMARY:
        ratios = [
            min(found)
            for row in results.tables.get(table, ())
            if (found := [row.ratios[p] for p in peers if p in row.ratios])
        ]
        if ratios:
            mean = math.prod(ratios) ** (1 / len(ratios))
            yield Line(
                what=what, against=against, mean=mean, minimum=min(ratios), maximum=max(ratios)
            )


def read(section: str) -> list[Line]:
    """Return the rows of a section of docs/performance.md."""
    return [
        Line(
            what=what,
            against=against,
            mean=float(mean),
            minimum=float(minimum),
            maximum=float(maximum),
        )
        for what, against, mean, minimum, maximum in ROW.findall(section)
    ]


def write(results: Results, reached: str, moments: str) -> None:
    """Write the section of this kind of CPU in docs/performance.md."""
    documents.put_kind(
        documents.PERFORMANCE, FAMILY, results.kind, lines(results, reached, moments)
    )
