"""Common options of the sub-commands that read a budget file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kgen.cli.lists import comma_list
from kgen.errors import BudgetError

if TYPE_CHECKING:
    from kgen.check.gate.budgets import AnyEntry, Budgets

BUDGETS = "perf_budgets.toml"


def add_budgets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budgets", metavar="FILE", default=BUDGETS, help=f"budgets file (default: {BUDGETS})"
    )


def add_targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", metavar="T,...", help="check only kernels for these targets")


def chosen(budgets: Budgets, targets: str | None) -> tuple[AnyEntry, ...]:
    """Return the entries for a comma list of targets, or all.

    Raises BudgetError for a target without entries.
    """
    if targets is None:
        return budgets.entries
    wanted = comma_list(targets)
    known = {entry.target_name for entry in budgets.entries}
    for name in wanted:
        if name not in known:
            raise BudgetError(
                f"{budgets.path} has no budget for target={name}; name one of "
                f"{', '.join(sorted(known))}"
            )
    return tuple(entry for entry in budgets.entries if entry.target_name in wanted)
