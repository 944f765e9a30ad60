"""Tightening of budgets of kernels that have improved. Budgets are never loosened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgen.check.gate.budgets import AnyEntry, Budgets, parse_text
from kgen.check.gate.judge import GateReport, Result, Verdict
from kgen.check.gate.limits import BudgetLimit
from kgen.check.gate.metrics import Tier
from kgen.errors import BudgetError
from kgen_runtime.files import check_plain, replacing
from kgen_runtime.values import frozen


@frozen
class Proposal:
    """Current number of a budget, and the tighter one that the kernel keeps."""

    entry: AnyEntry
    limit: BudgetLimit
    after: float

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.entry.kernel,
            "target": self.entry.target_name,
            "metric": self.limit.metric.name,
            "before": self.limit.value,
            "after": self.after,
        }


def proposals(report: GateReport) -> list[Proposal]:
    """Return a proposal for every exact budget of a kernel's own that can be tightened."""
    found = []
    for kernel in report.entries:
        for result in kernel.results:
            after = _tight(result)
            if after is not None and result.limit.metric.better(after, result.limit.value):
                found.append(Proposal(entry=kernel.entry, limit=result.limit, after=after))
    return found


def _tight(result: Result) -> float | None:
    limit = result.limit
    if limit.default or limit.metric.tier is Tier.MEASURED or result.verdict is not Verdict.BETTER:
        return None
    assert result.value is not None
    return limit.metric.rounded(result.value)


def rewrite(budgets: Budgets, wanted: Sequence[Proposal]) -> str:
    """Return the file's text with these numbers replaced and everything else unchanged."""
    text = budgets.text
    for proposal in sorted(wanted, key=lambda p: -p.limit.place.start):
        place = proposal.limit.place
        number = format_number(proposal.after, like=text[place.start : place.stop])
        text = text[: place.start] + number + text[place.stop :]
    _check_only_these_changed(budgets, text, wanted)
    return text


def format_number(value: float, like: str = "") -> str:
    """Return a TOML number, with grouped digits if the number that it replaces has them."""
    if isinstance(value, int):
        return f"{value:_}" if "_" in like else str(value)
    return repr(value)


def _check_only_these_changed(budgets: Budgets, text: str, wanted: Sequence[Proposal]) -> None:
    after = {(p.entry.line, p.limit.metric.name): p.after for p in wanted}
    for old, new in zip(budgets.entries, parse_text(text, budgets.path).entries, strict=True):
        for before, now in zip(old.limits, new.limits, strict=True):
            if now.value != after.get((old.line, before.metric.name), before.value):
                raise BudgetError(
                    f"{budgets.path}:{before.place.line}: the limit of {before.metric.name} cannot "
                    f"be replaced; write {before.metric.name} = NUMBER on one line"
                )


def check_place(path: Path) -> None:
    """Raise BudgetError if `write` could not replace the file; called before the work starts."""
    with _refusals(path):
        check_plain(path)


def write(path: Path, text: str) -> None:
    """Replace a file atomically. Raises BudgetError."""
    with _refusals(path), replacing(path) as file:
        file.write(text.encode())


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BudgetError(
            f"budgets={path} cannot be written: {error.strerror}; name another file with --budgets"
        ) from None
