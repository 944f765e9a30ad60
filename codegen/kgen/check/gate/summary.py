"""Reports of the gate: text for a terminal, and Markdown for the page of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.check.gate.judge import EntryReport, GateReport, Result, Verdict
from kgen.check.gate.metrics import BudgetSide
from kgen.check.gate.tighten import proposals


def percent(margin: float | None) -> str:
    """Return a fraction as a percentage with its sign and one decimal place, or - if unknown."""
    # Adding 0 turns -0 into 0.
    return "-" if margin is None else f"{100 * margin + 0.0:+.1f} %"


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(int(value)) if float(value).is_integer() else f"{value:.4g}"


def table(report: GateReport) -> Iterator[str]:
    """Yield a table with every budget and its value, kernel by kernel."""
    width = max((len(_name(result)) for result in results(report)), default=0)
    for kernel in (k for k in report.entries if k.results):
        yield kernel.entry.name
        cells = ("metric", "", "budget", "value", "margin", "verdict")
        for row in (cells, *map(_cells, kernel.results)):
            name, bound, budget, value, margin, verdict = row
            yield f"  {name:{width}} {bound:8} {budget:>10} {value:>10} {margin:>9}  {verdict}"


def _cells(result: Result) -> tuple[str, ...]:
    metric = result.limit.metric
    return (
        _name(result),
        "at most" if metric.bound is BudgetSide.MAXIMUM else "at least",
        number(result.limit.value),
        number(result.value),
        percent(result.margin),
        result.verdict.value,
    )


def _name(result: Result) -> str:
    """Return the name of a metric, with the core that its budget is for."""
    limit = result.limit
    return f"{limit.metric.name} on {limit.core}" if limit.core else limit.metric.name


def broken_lines(report: GateReport) -> Iterator[str]:
    """Yield lines about each failed kernel.

    They name its fault, or for each broken budget the metric, both numbers and the source lines.
    """
    for kernel in report.entries:
        broken = [r for r in kernel.results if r.verdict is Verdict.BROKEN]
        if not kernel.passed:
            yield f"{kernel.entry.name} ({kernel.entry.why})"
        if kernel.fault is not None:
            yield f"  {fault_sentence(report, kernel)}"
        for result in broken:
            yield f"  {sentence(report, result)}"
            if result.note is not None:
                yield f"    {result.note}"
            for source in result.sources:
                yield f"    {source}"
        if not kernel.passed:
            yield ""


def fault_sentence(report: GateReport, kernel: EntryReport) -> str:
    return f"fault, {report.path} line {kernel.entry.line}: {kernel.fault}"


def sentence(report: GateReport, result: Result) -> str:
    name, bound, budget, value, *_ = _cells(result)
    if result.value is None:
        return f"{name} is not measured, the budget is {bound} {budget}, {_where(report, result)}"
    unit = result.limit.metric.unit
    given = value if unit == result.limit.metric.name else f"{value} {unit}"
    return f"{name} is {given}, the budget is {bound} {budget}, {_where(report, result)}"


def _where(report: GateReport, result: Result) -> str:
    return f"{report.path} line {result.limit.place.line}"


def conclusion(report: GateReport) -> Iterator[str]:
    """Yield the numbers of budgets by verdict, and why some were skipped."""
    skipped = {r.note for r in results(report) if r.verdict is Verdict.SKIPPED}
    for note in sorted(filter(None, skipped)):
        yield f"skipped: {note}"
    if better := len(proposals(report)):
        yield f"{_count(better, 'budget')} can be tightened: see kgen perf update"
    total = sum(1 for _ in results(report))
    faulty = sum(kernel.fault is not None for kernel in report.entries)
    faults = f"{faulty} with a fault, " if faulty else ""
    yield (
        f"{_count(total, 'budget')} of {_count(len(report.entries), 'kernel')}: {faults}"
        f"{report.count(Verdict.BROKEN)} broken, "
        f"{report.count(Verdict.SKIPPED)} skipped; {report.seconds:.1f} s"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def results(report: GateReport) -> Iterator[Result]:
    for kernel in report.entries:
        yield from kernel.results


def markdown(report: GateReport) -> str:
    """Return the report as Markdown: broken budgets first, then all of them, collapsed."""
    state = "passed" if report.passed else "broken"
    lines = [f"## Performance budgets: {state}", "", *conclusion(report)]
    broken = [k for k in report.entries if not k.passed]
    for kernel in broken:
        lines += ["", f"### {kernel.entry.name}", "", kernel.entry.why, ""]
        if kernel.fault is not None:
            lines.append(f"- **{fault_sentence(report, kernel)}**")
        for result in kernel.results:
            if result.verdict is Verdict.BROKEN:
                lines += _broken_item(report, result)
    lines += ["", "<details><summary>All budgets</summary>", ""]
    lines += ["| kernel | metric | | budget | value | margin | verdict |"]
    lines += ["| --- | --- | --- | ---: | ---: | ---: | --- |"]
    for kernel in report.entries:
        lines += _rows(kernel)
    return "\n".join([*lines, "", "</details>", ""])


def _broken_item(report: GateReport, result: Result) -> list[str]:
    lines = [f"- **{sentence(report, result)}**"]
    if result.note is not None:
        lines.append(f"  {result.note}")
    if result.sources:
        lines += ["", "  ```"]
        lines += [f"  {source}" for source in result.sources]
        lines += ["  ```"]
    return lines


def _rows(kernel: EntryReport) -> list[str]:
    return [f"| {' | '.join((kernel.entry.name, *_cells(r)))} |" for r in kernel.results]
