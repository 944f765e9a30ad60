"""Committed outcomes of all cases: a case that is right must stay right.

The file has a line per case: group, outcome, name and operator, sorted by operator and name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.cases import Case
from tests.conformance.judge import Outcome, Verdict

FILE = Path(__file__).with_name("outcomes.txt")
#: Words for outcomes in the file. A wrong case is not written.
WORDS: Mapping[Outcome, str] = {
    "right": "right",
    "right with constants": "constants",
    "refused": "refused",
    "exception": "exception",
}
#: Words for right cases, the best first.
RIGHT = ("right", "constants")


@dataclass(frozen=True, kw_only=True)
class Row:
    """Outcome of a case. `constants` means: right if inputs are initializers, as in
    `Case.with_constants`."""

    group: str
    outcome: str
    name: str
    operator: str

    @property
    def is_right(self) -> bool:
        return self.outcome in RIGHT


def rows_of(cases: Iterable[Case], verdicts: Iterable[Verdict]) -> list[Row]:
    """Return the rows of judged cases, in the file's order. Raises KeyError for a wrong case."""
    found = [
        Row(
            group="core" if case.is_core else "other",
            outcome=WORDS[verdict.outcome],
            name=case.name,
            operator=case.operator,
        )
        for case, verdict in zip(cases, verdicts, strict=True)
    ]
    return sorted(found, key=lambda row: (row.operator, row.name))


def read(file: Path | None = None) -> list[Row]:
    """Return the rows of the file."""
    file = file or FILE
    lines = [line.split(maxsplit=3) for line in file.read_text().splitlines()]
    return [Row(group=g, outcome=o, name=n, operator=operator) for g, o, n, operator in lines]


def write(rows: Iterable[Row], file: Path | None = None) -> None:
    """Write the file."""
    file = file or FILE
    lines = (f"{row.group} {row.outcome} {row.name} {row.operator}\n" for row in rows)
    file.write_text("".join(lines))


def worse(verdicts: Iterable[Verdict], rows: Iterable[Row]) -> list[str]:
    """Return the cases with a worse outcome than in their rows, each with the difference."""
    found, known = [], {row.name: row for row in rows}
    for verdict in verdicts:
        row, outcome = known.get(verdict.name), WORDS.get(verdict.outcome, verdict.outcome)
        if row is None or not row.is_right:
            continue
        if outcome not in RIGHT[: RIGHT.index(row.outcome) + 1]:
            found.append(
                f"{verdict.name}: {row.outcome} before, now {outcome} {verdict.why}".strip()
            )
    return found


def better(verdicts: Iterable[Verdict], rows: Iterable[Row]) -> list[str]:
    """Return the names of right cases whose rows are worse or missing."""
    known = {row.name: row.outcome for row in rows}
    found = []
    for verdict in verdicts:
        outcome = WORDS.get(verdict.outcome, "")
        if (
            outcome in RIGHT
            and known.get(verdict.name, "") not in RIGHT[: RIGHT.index(outcome) + 1]
        ):
            found.append(verdict.name)
    return found
