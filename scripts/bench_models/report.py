"""Figures of models as Markdown: times beside the peers', what else a model costs, the bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgen.check.bench import timing
from scripts import documents
from scripts.bench_models.models import MODELS
from scripts.bench_models.results import Costs, Results, Row

PEERS = ("onnxruntime", "openvino")


@dataclass(frozen=True, kw_only=True)
class Bar:
    """`value` must be at least `limit`, or at most where `at_most`; `at_ceiling` is what a program
    would have that this CPU's arithmetic and memory alone limit."""

    what: str
    limit: float
    value: float | None
    unit: str
    at_most: bool = False
    at_ceiling: float | None = None

    @property
    def line(self) -> str:
        cells = [self.what, f"{'at most ' * self.at_most}{self.limit:g}{self.unit}"]
        cells += [self.shown(self.value), self.shown(self.at_ceiling), self.verdict]
        return f"| {' | '.join(cells)} |"

    def shown(self, value: float | None) -> str:
        return "-" if value is None else f"{value:.3g}{self.unit}"

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        if self.value <= self.limit if self.at_most else self.value >= self.limit:
            return "reached"
        beyond = self.at_ceiling is not None and self.at_ceiling < self.limit
        return "out of reach" if beyond else "missed"


TIMES = (
    "| model | threads | kgen ms (median) | onnxruntime ms (median) | openvino ms (median) "
    "| against onnxruntime | against openvino | furthest apart | noise |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)
COSTS = (
    "| model | compile s | again s | four targets s | steps | kernels | arena MB (least) "
    "| weights MB | bundle MB | beside weights and texts MB | load ms | load, all digests, ms "
    "| start ms | resident MB | onnxruntime: load ms | start ms | resident MB |",
    "| --- |" + " --- |" * 16,
)


def row_line(row: Row) -> str:
    def time(name: str) -> str:
        if name not in row.seconds:
            return "-"
        return f"{row.seconds[name] * 1e3:.3g} ({row.medians[name] * 1e3:.3g})"

    def ratio(name: str) -> str:
        found = row.ratio(name)
        return "-" if found is None else f"{found:.2f}x"

    cells = [row.model, str(row.threads), time("kgen"), *map(time, PEERS), *map(ratio, PEERS)]
    cells.append(f"{max(row.errors.values()):.1g}" if row.errors else "-")
    cells.append(f"{row.noise:.0%}" + busy(row))
    return f"| {' | '.join(cells)} |"


def busy(row: Row) -> str:
    return "" if row.others <= timing.LOAD else f", others took {row.others:.2f} cores"


def cost_line(costs: Costs) -> str:
    made = costs.compiled
    times = (made.seconds, made.again, made.everywhere)
    cells = [
        costs.model, *("-" if s is None else f"{s:.3g}" for s in times),
        str(made.steps), str(made.kernels),
        f"{made.arena / 1e6:.3g} ({made.least / 1e6:.3g})", f"{made.weights / 1e6:.4g}",
        f"{made.bundle / 1e6:.4g}", f"{made.overhead / 1e6:.2g}", *start_cells(costs),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def start_cells(costs: Costs) -> list[str]:
    ours, checked, theirs = costs.kgen, costs.checked, costs.onnxruntime
    if ours is None or checked is None or theirs is None:
        return ["-"] * 7
    ms = [ours.load, checked.load, ours.start]
    return [
        *(f"{seconds * 1e3:.3g}" for seconds in ms),
        f"{ours.resident / 1e6:.4g}",
        *(f"{seconds * 1e3:.3g}" for seconds in (theirs.load, theirs.start)),
        f"{theirs.resident / 1e6:.4g}",
    ]


def bars(rows: Sequence[Row], costs: Sequence[Costs]) -> list[Bar]:
    """Those of whole models (issue 15), as far as they were measured."""
    known = {model.name: model for model in MODELS}
    found = [
        Bar(
            what=f"{row.model}, {row.threads} thread{'s' * (row.threads > 1)}, against {peer}",
            limit=least,
            value=row.ratio(peer),
            unit="x",
            at_ceiling=row.at_ceiling(peer),
        )
        for row in rows
        for peer, least in known[row.model].bars.items()
    ]
    for cost in costs:
        if cost.model != "minilm":
            continue
        made, ours, checked = cost.compiled, cost.kgen, cost.checked
        if ours is None or checked is None:
            continue
        limits = (
            ("load, code verified and weights mapped", 20, ours.load * 1e3, " ms"),
            ("load, all digests", 100, checked.load * 1e3, " ms"),
            ("process start to first result", 150, ours.start * 1e3, " ms"),
            ("arena", 1.9, made.arena / 1e6, " MB"),
            ("bundle beside weights and texts", 0.6, made.overhead / 1e6, " MB"),
            ("compile, native", 10, made.seconds, " s"),
            ("compile again, native", 2, made.again, " s"),
            ("compile, four targets", 60, made.everywhere, " s"),
        )
        found += [
            Bar(what=f"minilm, {what}", limit=limit, value=value, unit=unit, at_most=True)
            for what, limit, value, unit in limits
        ]
    return found


def lines(results: Results) -> list[str]:
    """The section of a kind of CPU."""
    found = [results.models[m.name] for m in MODELS if m.name in results.models]
    rows = [row for one in found for row in one.rows]
    costs = [one.costs for one in found]
    missing = {
        f"Not timed, {row.model} with {peer}: {why}."
        for row in rows
        for peer, why in row.missing.items()
    }
    when = documents.measured(sorted({one.moment for one in found}))
    return [
        f"\n**{results.kind}**: {results.machine}. {when}\n",
        *TIMES,
        *map(row_line, rows),
        "",
        *COSTS,
        *map(cost_line, costs),
        "",
        "| bar | limit | value | at the ceiling | verdict |",
        "| --- | --- | --- | --- | --- |",
        *(bar.line for bar in bars(rows, costs)),
        *(f"\n{line}" for line in sorted(missing)),
        "",
    ]
