"""How many times as fast as libraries, in a few lines: a table for each kind of CPU, and README's,
which holds the least favourable of them beside the best.

Results of other kinds are of other machines: README's table is made of what docs/performance.md
says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scripts import documents
from scripts.bench_cpu.results import Results

FAMILY = "bench-cpu summary"
LIBRARIES = ("numpy", "torch", "onednn")
SUMMARY = (
    # (what, table, against, peers: the fastest of them counts)
    ("products of models, f32", "models-f32", "best of MKL, OpenBLAS, oneDNN", LIBRARIES),
    (
        "products of models from memory, f32",
        "models-f32-cold",
        "best of MKL, OpenBLAS, oneDNN",
        LIBRARIES,
    ),
    ("matmul f32", "f32", "best of MKL, OpenBLAS, oneDNN", LIBRARIES),
    ("matmul bf16", "bf16", "PyTorch (oneDNN)", ("torch",)),
    ("matmul bf16, weights packed", "bf16-packed", "PyTorch, packed", ("torch-onednn",)),
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
HEAD = "| kernels | against | geometric mean | least | most |"
ROW = re.compile(r"\| (.+) \| (.+) \| ([\d.]+)x \| ([\d.]+)x \| ([\d.]+)x \|")


@dataclass(frozen=True, kw_only=True)
class Line:
    """Of the kernels of a table, on one kind of CPU."""

    what: str
    against: str
    mean: float
    least: float
    most: float

    @property
    def text(self) -> str:
        numbers = " | ".join(f"{n:.2f}x" for n in (self.mean, self.least, self.most))
        return f"| {self.what} | {self.against} | {numbers} |"


def lines(results: Results, reached: str, moments: str) -> list[str]:
    """What goes into docs/performance.md. `reached` says how many bars are."""
    found = [
        f"\n**{results.kind}**: {results.machine}; one thread, packing inside the call counted, "
        f"`make bench-cpu`. {moments} {link(results.kind, reached)}\n",
        HEAD,
        "| --- | --- | --- | --- | --- |",
    ]
    return [*found, *(line.text for line in _of(results)), ""]


def link(kind: str, reached: str) -> str:
    """To the bars, the tables and what is missed."""
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
            yield Line(what=what, against=against, mean=mean, least=min(ratios), most=max(ratios))


def read(section: str) -> list[Line]:
    """The lines of a section of docs/performance.md."""
    return [
        Line(what=what, against=against, mean=float(mean), least=float(least), most=float(most))
        for what, against, mean, least, most in ROW.findall(section)
    ]


def readme_lines(sections: Mapping[str, str]) -> list[str]:
    """What goes into README, of the sections by kind of CPU."""
    found: dict[tuple[str, str], list[tuple[str, Line]]] = {}
    for kind, section in sections.items():
        for line in read(section):
            found.setdefault((line.what, line.against), []).append((kind, line))
    text = [
        f"\nTimes as fast on one thread, by kind of CPU: {'; '.join(sections)}. "
        "[What was measured when, the bars and the bottlenecks]"
        "(docs/performance.md#cpu-kernels).\n",
        "| kernels | against | where it is least favourable: geometric mean (least) | best |",
        "| --- | --- | --- | --- |",
    ]
    return [*text, *(_readme_row(*key, lines) for key, lines in found.items()), ""]


def _readme_row(what: str, against: str, found: Sequence[tuple[str, Line]]) -> str:
    cells = [
        f"{line.mean:.2f}x ({line.least:.2f}x), {kind}"
        for pick in (min, max)
        for kind, line in [pick(found, key=lambda one: one[1].mean)]
    ]
    return f"| {what} | {against} | {' | '.join(cells if len(found) > 1 else [cells[0], '–'])} |"


def write(results: Results, reached: str, moments: str) -> None:
    """This kind's section, and README's table of all."""
    documents.put_kind(
        documents.PERFORMANCE, FAMILY, results.kind, lines(results, reached, moments)
    )
    sections = documents.kinds(documents.PERFORMANCE, FAMILY)
    documents.put(documents.ROOT / "README.md", FAMILY, readme_lines(sections))
