"""Results as Markdown: the bars, the tables, and the few lines that README shows."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Sequence

from kgen.check.bench import timing
from scripts import documents
from scripts.bench_cpu import explain, summary
from scripts.bench_cpu.bars import BARS
from scripts.bench_cpu.judge import Verdict, judge
from scripts.bench_cpu.kinds import INSTRUCTIONS, instructions_in
from scripts.bench_cpu.results import Results, Row
from scripts.bench_cpu.tables import Table, streams

MISSED = """
**Bars that are missed, and their bottleneck**

In brackets what a kernel at the ceiling would have. *Out of reach*: even that is beyond the bar.
"""
#: Ceilings that are rates.
RATES = ("peak", "tiles", "read", "copy", "convert")


def table_lines(table: Table, rows: Sequence[Row]) -> list[str]:
    """A table with the geometric mean of each peer's ratios."""
    if not table.specs:
        return _plain_lines(rows)
    heads = [f"against {peer}" for peer in table.peers]
    heads += [f"of {ceiling}" for ceiling in table.ceilings]
    if len(table.ceilings) > 1:
        heads.append("of the roof")
    lines = [
        f"| kernel | us | GFLOP/s | GB/s | {' | '.join(heads)} |",
        f"| --- | --- | --- | --- |{' --- |' * len(heads)}",
    ]
    lines += [row_line(table, row) for row in rows]
    columns = zip(*(_ratios(table, row) for row in rows), strict=True)
    means = [_mean([ratio for ratio in column if ratio is not None]) for column in columns]
    return [*lines, f"| geometric mean | | | | {_cells(table, means)} |"]


def _plain_lines(rows: Sequence[Row]) -> list[str]:
    """Of rows without rates; those of two cores have a ratio."""
    ratios = sorted({name for row in rows for name in row.ratios})
    heads = ["what", "us", *(f"against {name}" for name in ratios)]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for row in rows:
        cells = [f"{row.ratios[name]:.2f}x" if name in row.ratios else "-" for name in ratios]
        us = "-" if row.seconds is None else f"{row.seconds * 1e6:.2f}"
        lines.append(f"| {' | '.join([row.kernel, us, *cells])} |")
    return lines


def row_line(table: Table, row: Row) -> str:
    if row.seconds is None:
        return f"| {row.kernel} | not measured | - | - | {_cells(table, _ratios(table, row))} |"
    if row.gflops is None or row.gbytes is None:
        return _plain_lines([row])[-1]
    rates = f"{row.seconds * 1e6:.1f} | {row.gflops:.0f} | {row.gbytes:.1f}"
    return f"| {row.kernel} | {rates} | {_cells(table, _ratios(table, row))} |"


def _ratios(table: Table, row: Row) -> list[float | None]:
    """By column: against peers, of ceilings, of the one of them that binds."""
    found = [row.ratios.get(name) for name in (*table.peers, *table.ceilings)]
    if len(table.ceilings) > 1:
        found.append(max((r for r in found[len(table.peers) :] if r is not None), default=None))
    return found


def _cells(table: Table, ratios: Sequence[float | None]) -> str:
    def cell(column: int, ratio: float | None) -> str:
        if ratio is None:
            return "-"
        return f"{ratio:.2f}x" if column < len(table.peers) else f"{ratio:.0%}"

    return " | ".join(cell(column, ratio) for column, ratio in enumerate(ratios))


def _mean(values: Sequence[float]) -> float | None:
    return math.prod(values) ** (1 / len(values)) if values else None


def verdicts(results: Results) -> list[Verdict]:
    """Of all bars of the kind of CPU whose table was measured."""
    return [
        judge(bar, results.tables[bar.table])
        for bar in BARS
        if bar.table in results.tables and instructions_in(results.kind) in bar.instructions
    ]


def _of(results: Results, tables: Sequence[Table]) -> Results:
    """What is known of these tables."""
    found = {t.name: results.tables[t.name] for t in tables if t.name in results.tables}
    return Results(machine=results.machine, kind=results.kind, tables=found)


def bar_lines(found: Sequence[Verdict]) -> list[str]:
    """The bars: reached, or missed by how much and what a kernel at the ceiling would reach."""
    lines = [
        "| bar | threshold | value | at the ceiling | verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for verdict in found:
        bar = verdict.bar
        cells = [
            bar.title,
            explain.threshold(verdict),
            _value(verdict.value, bar.unit),
            _value(verdict.at_ceiling, bar.unit),
            explain.sentence(verdict),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _value(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.2f}{unit}"


def ceiling_lines(results: Results, tables: Sequence[Table]) -> list[str]:
    """The bottleneck, as it was measured beside the kernels: medians over those of one kind."""
    found: dict[str, list[float]] = {}
    for table in tables:
        # Rates are of products: their epilogue's multiply-adds are in the time of the peak alone.
        rows = () if table.name.startswith("fused") else results.tables.get(table.name, ())
        for row in rows:
            for ceiling in table.ceilings:
                rate = row.gflops if ceiling in ("peak", "tiles") else row.gbytes
                fraction = row.ratios.get(ceiling)
                if ceiling in RATES and rate is not None and fraction is not None:
                    name = _ceiling_name(ceiling, row.kernel)
                    name += ", cold caches" * (table.is_cold and ceiling == "read")
                    found.setdefault(name, []).append(rate / fraction)
    lines = ["| ceiling, one thread | measured |", "| --- | --- |"]
    return [*lines, *(f"| {name} | {statistics.median(v):.0f} |" for name, v in found.items())]


def _ceiling_name(ceiling: str, kernel: str) -> str:
    """Products of one type have one peak; what is read or copied, as fast as its place allows."""
    words = kernel.partition("_to_")[0].split("_")
    sizes = next((w for w in words if re.fullmatch(r"\d+(x\d+)+", w)), words[0])
    if words[0] != "matmul":
        verb = {"read": "reading", "copy": "copying", "convert": "converting"}[ceiling]
        both = "" if ceiling == "read" else " read and written"
        return f"{verb} {sizes} of {words[-1]}, GB/s{both}"
    if ceiling == "peak":
        return f"multiply-adds of {words[2]}, GFLOP/s"
    if ceiling == "tiles":
        return f"multiply-adds of {words[2]} on tiles that are loaded, GFLOP/s"
    _, columns, depth = sizes.split("x")
    return f"read bandwidth of a skinny GEMM, B of {depth}x{columns} {words[2]}, GB/s"


def document_lines(results: Results, tables: Sequence[Table]) -> list[str]:
    """What goes into the page of a kind of CPU."""
    found = verdicts(results)
    lines = [f"\n**{results.kind}**: {results.machine}. {_moments(results)}"]
    lines += [f"\n{reached(results)}\n"]
    lines += [*bar_lines(found), "", *ceiling_lines(results, tables)]
    lines += [MISSED, *explain.lines(found)]
    for table in tables:
        rows = results.tables.get(table.name)
        if rows:
            lines += [f"\n**{table.title}**\n", *table_lines(table, rows)]
            lines += [*_missing(rows), *_noisy(rows)]
    return lines


def _moments(results: Results) -> str:
    """When and at which commit all of this was measured."""
    rows = (row for rows in results.tables.values() for row in rows)
    return documents.measured(sorted(row.measured for row in rows))


def _noisy(rows: Sequence[Row]) -> Iterator[str]:
    """The rows whose noise no repetition took away."""
    worst = {row.kernel: max(row.noise.values(), default=0.0) for row in rows}
    named = ", ".join(f"{k} ({noise:.0%})" for k, noise in worst.items() if noise > timing.NOISE)
    if named:
        yield f"\nTwo measurements of a ratio differed by more than {timing.NOISE:.0%}: {named}."


def _missing(rows: Sequence[Row]) -> Iterator[str]:
    """Why a peer was not timed, once for each reason that is not of one kernel."""
    reasons: dict[tuple[str, str], int] = {}
    for row in rows:
        for peer, reason in row.missing.items():
            key = (peer, reason.replace(row.kernel, "it"))
            reasons[key] = reasons.get(key, 0) + 1
    for (peer, reason), count in reasons.items():
        yield f"\nNot timed, {peer} ({count} of {len(rows)}): {reason}."


def reached(results: Results) -> str:
    judged = verdicts(results)
    return f"{sum(verdict.reached for verdict in judged)} of {len(judged)} bars are reached."


def write(results: Results, tables: Sequence[Table]) -> None:
    """What was measured of products, and of streams and rows, in the page of this kind of CPU, and
    its lines in docs/performance.md and in README's table."""
    if instructions_in(results.kind) not in INSTRUCTIONS:
        raise SystemExit(f"no document has a section for CPUs without {', '.join(INSTRUCTIONS)}")
    rows = [table.name for table in streams()]
    products = _of(results, [table for table in tables if table.name not in rows])
    others = _of(results, [table for table in tables if table.name in rows])
    for name, found in (("make bench-cpu", products), ("make bench-cpu, rows", others)):
        if found.tables:
            documents.put_in_page(results.kind, name, document_lines(found, tables))
    if products.tables:
        summary.write(results, reached(products), _moments(results))
