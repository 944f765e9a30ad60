"""A bar held against what was measured, and against what a kernel at the ceiling would reach.

Where even that misses the bar, no kernel on this machine can meet it. `explain` puts it in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scripts.bench_cpu.kinds import INSTRUCTIONS
from scripts.bench_cpu.results import Row

#: A kernel that is up to so many times as fast as a ceiling is at it: reads from memory and from
#: the last-level cache differ by as much between two measurements on a shared machine.
AT_CEILING = 1.15


class Statistic(StrEnum):
    """What of the rows is held against a threshold."""

    MEAN = "geometric mean"
    LEAST = "each"
    MOST = "at most"


@dataclass(frozen=True, kw_only=True)
class Bar:
    """`value` of a row, None where it was not measured; `rows` selects by the kernel's name.

    `ceilings` are peers that do one thing that limits kernels; the one that takes longest does. A
    ratio grows as the kernel's speed does, so at the ceiling it is `value` over the fraction that
    the kernel reaches of it. `note` is said of a miss. CPUs with these `instructions` are held to
    it.
    """

    title: str
    table: str
    statistic: Statistic
    threshold: float
    value: Callable[[Row], float | None]
    rows: Callable[[str], bool] = lambda _: True
    ceilings: tuple[str, ...] = ()
    unit: str = "x"
    note: str = ""
    instructions: tuple[str, ...] = INSTRUCTIONS

    def misses(self, value: float) -> bool:
        """Whether a value, rounded as it is printed, is on the wrong side."""
        most = self.statistic is Statistic.MOST
        return value > self.threshold if most else value < self.threshold


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a kernel reaches of a bar, and what one at the ceiling that `binds` would. Values are
    rounded as they are printed; `noise` is relative."""

    kernel: str
    value: float
    at_ceiling: float | None = None
    binds: str | None = None
    noise: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`standings` are all rows that count, worst first; `value` is None if nothing was measured."""

    bar: Bar
    standings: Sequence[Standing] = ()
    value: float | None = None
    at_ceiling: float | None = None

    @property
    def reached(self) -> bool:
        return self.value is not None and not self.bar.misses(self.value)

    @property
    def missed(self) -> list[Standing]:
        """Kernels beyond the threshold; of a mean all that count."""
        if self.bar.statistic is Statistic.MEAN:
            return list(self.standings)
        return [found for found in self.standings if self.bar.misses(found.value)]

    @property
    def beyond_reach(self) -> list[Standing]:
        """Those that would miss it at the ceiling too."""
        return [
            found
            for found in self.missed
            if found.at_ceiling is not None and self.bar.misses(found.at_ceiling)
        ]

    @property
    def out_of_reach(self) -> bool:
        """Whether no kernel on this machine reaches the bar."""
        if self.bar.statistic is Statistic.MEAN:
            return self.at_ceiling is not None and self.bar.misses(self.at_ceiling)
        return bool(self.beyond_reach)

    @property
    def missed_by(self) -> float:
        """As a fraction of the threshold."""
        return abs(1 - (self.value or 0.0) / self.bar.threshold)

    @property
    def is_noise(self) -> bool:
        """Whether every miss is less than what two measurements of it differ by."""
        return all(
            abs(1 - found.value / self.bar.threshold) <= found.noise for found in self.missed
        )


def judge(bar: Bar, rows: Sequence[Row]) -> Verdict:
    """A bar held against the rows of its table."""
    found = [_standing(bar, row, value) for row, value in _values(bar, rows)]
    if not found:
        return Verdict(bar=bar)
    best = [standing.at_ceiling for standing in found if standing.at_ceiling is not None]
    return Verdict(
        bar=bar,
        standings=sorted(found, key=lambda s: s.value, reverse=bar.statistic is Statistic.MOST),
        value=_statistic(bar.statistic, [value for _, value in _values(bar, rows)]),
        at_ceiling=_statistic(bar.statistic, best) if len(best) == len(found) else None,
    )


def _values(bar: Bar, rows: Sequence[Row]) -> Iterator[tuple[Row, float]]:
    for row in rows:
        if bar.rows(row.kernel) and (value := bar.value(row)) is not None:
            yield row, value


def _standing(bar: Bar, row: Row, value: float) -> Standing:
    known = {name: row.ratios[name] for name in bar.ceilings if name in row.ratios}
    # What a kernel is much faster than is no ceiling, unless there is no other.
    fractions = {name: min(f, 1.0) for name, f in known.items() if f <= AT_CEILING} or known
    binds = max(fractions, key=lambda name: fractions[name], default=None)
    return Standing(
        kernel=row.kernel,
        value=round(value, 2),
        at_ceiling=None if binds is None else round(value / fractions[binds], 2),
        binds=binds,
        noise=max(row.noise.values(), default=0.0),
    )


def _statistic(which: Statistic, values: Sequence[float]) -> float:
    if which is Statistic.MEAN:
        found = math.exp(math.fsum(math.log(v) for v in values) / len(values))
    else:
        found = max(values) if which is Statistic.MOST else min(values)
    return round(found, 2)
