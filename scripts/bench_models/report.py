"""Figures of models as Markdown: times beside the peers', what else a model costs, the bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgen.check.bench import timing
from scripts.bench_models.cost import Compiled, Start
from scripts.bench_models.models import MODELS

PEERS = ("onnxruntime", "openvino")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A model in so many threads: first deciles and medians in seconds, by engine."""

    model: str
    threads: int
    seconds: Mapping[str, float]
    medians: Mapping[str, float]
    load: Mapping[str, float]
    errors: Mapping[str, float]
    missing: Mapping[str, str]
    noise: float
    others: float

    def ratio(self, peer: str) -> float | None:
        return self.seconds[peer] / self.seconds["kgen"] if peer in self.seconds else None


@dataclass(frozen=True, kw_only=True)
class Costs:
    """`checked` is a start with all digests checked."""

    model: str
    compiled: Compiled
    kgen: Start | None = None
    checked: Start | None = None
    onnxruntime: Start | None = None


@dataclass(frozen=True, kw_only=True)
class Bar:
    """`value` must be at least `limit`, or at most where `at_most`."""

    what: str
    limit: float
    value: float | None
    unit: str
    at_most: bool = False

    @property
    def line(self) -> str:
        value, sign = self.value, "at most " if self.at_most else ""
        if value is None:
            return f"| {self.what} | {sign}{self.limit:g}{self.unit} | - | not measured |"
        reached = value <= self.limit if self.at_most else value >= self.limit
        verdict = "reached" if reached else "missed"
        limit = f"{sign}{self.limit:g}{self.unit}"
        return f"| {self.what} | {limit} | {value:.3g}{self.unit} | {verdict} |"


TIMES = (
    "| model | threads | kgen ms (median) | onnxruntime ms (median) | openvino ms (median) "
    "| against onnxruntime | against openvino | furthest apart | noise |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)
COSTS = (
    "| model | compile s | again s | steps | kernels | arena MB (least) | weights MB | bundle MB "
    "| beside weights and texts MB | load ms | load, all digests, ms | start ms | resident MB "
    "| onnxruntime: load ms | start ms | resident MB |",
    "| --- |" + " --- |" * 15,
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
    again = "-" if made.again is None else f"{made.again:.3g}"
    cells = [
        costs.model, f"{made.seconds:.3g}", again, str(made.steps), str(made.kernels),
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
        )
        found += [
            Bar(what=f"minilm, {what}", limit=limit, value=value, unit=unit, at_most=True)
            for what, limit, value, unit in limits
        ]
    return found


def lines(rows: Sequence[Row], costs: Sequence[Costs]) -> list[str]:
    held = bars(rows, costs)
    missing = {
        f"Not timed, {row.model} with {peer}: {why}."
        for row in rows
        for peer, why in row.missing.items()
    }
    return [
        *TIMES,
        *map(row_line, rows),
        "",
        *COSTS,
        *map(cost_line, costs),
        "",
        "| bar | limit | value | verdict |",
        "| --- | --- | --- | --- |",
        *(bar.line for bar in held),
        *(f"\n{line}" for line in sorted(missing)),
    ]
