"""Results as Markdown: the bars, the tables, and the few lines that README shows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.bench_cpu.bars import BARS, Statistic, Verdict, judge
from scripts.bench_cpu.results import Results, Row
from scripts.bench_cpu.tables import Table

ROOT = Path(__file__).parents[2]
#: Kernels that are named beyond a bar, worst first.
ROWS_NAMED = 3


def table_lines(table: Table, rows: Sequence[Row]) -> list[str]:
    """A table with the geometric mean of each peer's ratios."""
    if not table.specs:
        lines = ["| call | us |", "| --- | --- |"]
        return [*lines, *(f"| {row.kernel} | {row.seconds * 1e6:.2f} |" for row in rows)]
    heads = [f"of {p}" if p == table.ceiling else f"against {p}" for p in table.peers]
    lines = [
        f"| kernel | us | GFLOP/s | GB/s | {' | '.join(heads)} |",
        f"| --- | --- | --- | --- |{' --- |' * len(heads)}",
    ]
    lines += [row_line(table, row) for row in rows]
    means = (_mean([r.ratios[p] for r in rows if p in r.ratios]) for p in table.peers)
    cells = (_cell(p == table.ceiling, mean) for p, mean in zip(table.peers, means, strict=True))
    return [*lines, f"| geometric mean | | | | {' | '.join(cells)} |"]


def row_line(table: Table, row: Row) -> str:
    if row.gflops is None or row.gbytes is None:
        return f"| {row.kernel} | {row.seconds * 1e6:.2f} |"
    cells = (_cell(p == table.ceiling, row.ratios.get(p)) for p in table.peers)
    rates = f"{row.seconds * 1e6:.1f} | {row.gflops:.0f} | {row.gbytes:.1f}"
    return f"| {row.kernel} | {rates} | {' | '.join(cells)} |"


def _cell(is_ceiling: bool, ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.0%}" if is_ceiling else f"{ratio:.2f}x"


def _mean(values: Sequence[float]) -> float | None:
    return math.prod(values) ** (1 / len(values)) if values else None


def verdicts(results: Results) -> list[Verdict]:
    """Of all bars whose table was measured."""
    return [judge(bar, results.tables[bar.table]) for bar in BARS if bar.table in results.tables]


def bar_lines(found: Sequence[Verdict]) -> list[str]:
    """The bars: reached, or missed by how much and what a kernel at the ceiling would reach."""
    lines = [
        "| bar | threshold | value | at the ceiling | verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for verdict in found:
        bar = verdict.bar
        held = "at most" if bar.statistic is Statistic.MOST else f"{bar.statistic}, at least"
        cells = [
            bar.title,
            f"{held} {bar.threshold:g}{bar.unit}",
            _value(verdict.value, bar.unit),
            _value(verdict.at_ceiling, bar.unit),
            sentence(verdict),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _value(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.2f}{unit}"


def sentence(verdict: Verdict) -> str:
    """The verdict in words."""
    bar = verdict.bar
    if verdict.value is None:
        return "not measured"
    if verdict.reached:
        return "reached"
    text = f"missed by {verdict.missed_by:.0%}"
    if verdict.out_of_reach:
        text += f"; {bar.ceiling} binds: out of reach here"
    if bar.statistic is not Statistic.MEAN:
        named = ", ".join(
            f"{kernel.removeprefix('matmul_')} {value:.2f}"
            for kernel, value in verdict.worst[:ROWS_NAMED]
        )
        text += f"; {len(verdict.worst)} beyond it: {named}"
    return text


def ceiling_lines(results: Results, tables: Sequence[Table]) -> list[str]:
    """What binds, as it was measured beside the kernels: medians over those of one kind."""
    found: dict[str, list[float]] = {}
    for table in tables:
        for row in results.tables.get(table.name, ()):
            rate = row.gflops if table.ceiling == "peak" else row.gbytes
            fraction = row.ratios.get(table.ceiling or "")
            if rate is not None and fraction is not None:
                found.setdefault(_ceiling_name(table, row.kernel), []).append(rate / fraction)
    lines = ["| ceiling, one thread | measured |", "| --- | --- |"]
    return [*lines, *(f"| {name} | {statistics.median(v):.0f} |" for name, v in found.items())]


def _ceiling_name(table: Table, kernel: str) -> str:
    """Products of one type have one peak; what is read or copied, as fast as its place allows."""
    _, sizes, dtype = kernel.split("_")[:3]
    if table.ceiling == "peak":
        return f"multiply-adds of {dtype}, GFLOP/s"
    if table.ceiling == "read":
        return f"reading what products of {dtype} with B of 4096x4096 read, GB/s"
    return f"copying {sizes} of {dtype}, GB/s read and written"


def document_lines(results: Results, tables: Sequence[Table]) -> list[str]:
    """What goes into docs/performance.md."""
    found = verdicts(results)
    reached = sum(verdict.reached for verdict in found)
    lines = [f"\n{results.machine}.", f"\n{reached} of {len(found)} bars are reached.\n"]
    lines += [*bar_lines(found), "", *ceiling_lines(results, tables)]
    for table in tables:
        rows = results.tables.get(table.name)
        if rows:
            lines += [f"\n**{table.title}**\n", *table_lines(table, rows), *_missing(rows)]
    return lines


def _missing(rows: Sequence[Row]) -> Iterator[str]:
    """Why a peer was not timed, once for each reason that is not of one kernel."""
    reasons: dict[tuple[str, str], int] = {}
    for row in rows:
        for peer, reason in row.missing.items():
            key = (peer, reason.replace(row.kernel, "it"))
            reasons[key] = reasons.get(key, 0) + 1
    for (peer, reason), count in reasons.items():
        yield f"\nNot timed, {peer} ({count} of {len(rows)}): {reason}."


SUMMARY = (
    # (what, table, against, peers: the fastest of them counts)
    ("matmul f32", "f32", "best of MKL, OpenBLAS, oneDNN", ("numpy", "torch", "onednn")),
    ("matmul bf16", "bf16", "PyTorch (oneDNN)", ("torch",)),
    ("matmul bf16, weights packed", "bf16-packed", "PyTorch, packed", ("torch-onednn",)),
    ("matmul s8", "s8", "oneDNN", ("onednn",)),
    ("matmul f32 + bias + gelu", "fused-f32", "PyTorch", ("torch",)),
    ("matmul bf16 + bias + gelu", "fused-bf16", "PyTorch", ("torch",)),
    ("softmax, relu f32", "stream-f32", "PyTorch", ("torch",)),
    ("softmax, relu bf16", "stream-bf16", "PyTorch", ("torch",)),
)


def summary_lines(results: Results) -> list[str]:
    """What goes into README: how many times as fast, by table."""
    lines = [
        f"\n{results.machine}; one thread, packing inside the call counted, `make bench-cpu`:\n",
        "| kernels | against | geometric mean | least | most |",
        "| --- | --- | --- | --- | --- |",
    ]
    for what, table, against, peers in SUMMARY:
        ratios = [
            min(found)
            for row in results.tables.get(table, ())
            if (found := [row.ratios[p] for p in peers if p in row.ratios])
        ]
        if ratios:
            numbers = (_mean(ratios), min(ratios), max(ratios))
            lines.append(f"| {what} | {against} | {' | '.join(f'{n:.2f}x' for n in numbers)} |")
    return [*lines, ""]


def put(path: Path, name: str, lines: Sequence[str]) -> None:
    """Put lines between a document's markers."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = path.read_text()
    if begin not in text or end not in text:
        raise SystemExit(f"{path.name} has no markers {begin} ... {end}")
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    path.write_text("\n".join([before + begin, *lines, end + after]))


def write(results: Results, tables: Sequence[Table]) -> None:
    """Both documents."""
    put(ROOT / "docs" / "performance.md", "make bench-cpu", document_lines(results, tables))
    put(ROOT / "README.md", "bench-cpu summary", summary_lines(results))
