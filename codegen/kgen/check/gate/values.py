"""Numbers of one kernel in the static and emulated tiers, and the source lines behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field

from kgen.check import profile
from kgen.check.execute.runners import Reader
from kgen.check.gate.metrics import OUTSIDE_SHARE, Metric, Tier
from kgen.check.static import facts as static
from kgen.check.static.facts import StaticFacts
from kgen.check.static.source_lines import SourceLines
from kgen.emulate.profile import Profile
from kgen.emulate.report import LineCounts
from kgen.errors import EmulationError
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen

#: Most source lines that a report names.
_SOURCES = 3


@frozen
class Contribution:
    """Line of the kernel's text, counted from 1, and its part of a number.

    `excess` is the part above the minimum for the same bytes.
    """

    line: int
    count: int
    excess: int = 0
    text: str

    def __str__(self) -> str:
        excess = f" ({self.excess} above the ideal)" if self.excess else ""
        return f"line {self.line:<5} {self.count:>12}{excess}  {self.text}"


@frozen
class Values:
    """Numbers of a kernel by metric; metrics that it lacks are absent.

    `lines` map the machine code to the source, if requested. A kernel whose emulation ended with a
    `fault` has no numbers.
    """

    numbers: Mapping[str, float]
    facts: StaticFacts | None = None
    lines: SourceLines | None = None
    launches: tuple[Profile, ...] = field(default=(), repr=False)
    fault: str | None = None

    def note(self, metric: Metric) -> str | None:
        """Return facts about a static number; None for an emulated one."""
        if self.facts is None or metric.tier is not Tier.STATIC:
            return None
        return self.facts.note(metric.name)

    def absent(self, metric: Metric) -> str | None:
        """Return why a number is not known on this machine; None if it is known."""
        return None if self.facts is None else self.facts.absent(metric.name)

    def sources(self, metric: Metric) -> tuple[Contribution, ...]:
        """Return the source lines that contribute most to a number, by excess, then by count."""
        if metric.tier is Tier.STATIC:
            return () if self.lines is None else _most(self.lines, metric.name)
        count = _PARTS.get(metric.name) or _class_part(metric.name)
        found = []
        for launch in self.launches:
            text = launch.source.splitlines()
            for number, counts in launch.report.lines.items():
                words = text[number - 1].strip()
                if part := count(counts, words):
                    excess = min(part, _excess(metric.name, counts))
                    line = Contribution(line=number, count=part, excess=excess, text=words)
                    found.append(line)
        return tuple(sorted(found, key=lambda c: (-c.excess, -c.count, c.line))[:_SOURCES])


def _most(lines: SourceLines, metric: str) -> tuple[Contribution, ...]:
    text = lines.text.splitlines()
    found = sorted(lines.of(metric).items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        Contribution(line=line, count=count, text=text[line - 1].strip())
        for line, count in found[:_SOURCES]
    )


def measure(reader: Reader, entry: KernelEntry, tiers: Collection[Tier]) -> Values:
    """Return the numbers of a kernel; emulated ones count whole launches on seeded random data.

    Raises AssembleError if a disassembler is missing, and EmulationError for a kernel that does not
    run to its end.
    """
    numbers: dict[str, float] = {}
    facts = None
    if Tier.STATIC in tiers:
        facts = static.facts(reader, entry)
        numbers |= facts.metrics
    launches: tuple[Profile, ...] = ()
    if Tier.EMULATED in tiers and entry.target.family in profile.COUNTED:
        launches = _whole_launches(reader, entry)
        numbers |= counted(launches)
    return Values(numbers=numbers, facts=facts, launches=launches)


def counted(launches: Sequence[Profile]) -> dict[str, float]:
    """Return the numbers of the emulated tier."""
    numbers: dict[str, float] = {**profile.merged(launches)}
    if prefetches := numbers.get("prefetch"):
        share = 100 * numbers.get("prefetches_outside", 0) / prefetches
        numbers[OUTSIDE_SHARE.name] = share
    return numbers


def _whole_launches(reader: Reader, entry: KernelEntry) -> tuple[Profile, ...]:
    """Return the profiles of the launches.

    Raises EmulationError unless all workgroups were counted.
    """
    if profile.sample_of(entry) is not None:
        total = math.prod(entry.launches[0].grid)
        raise EmulationError(
            f"emulating all {total} workgroups takes too long; write the budget for a smaller "
            "shape with the same schedule"
        )
    found = profile.profile_kernel(reader, entry)
    if found.reason is not None:
        raise EmulationError(f"the emulator cannot count the kernel: {found.reason}")
    return found.launches


#: Function that returns a line's part of a number, from its counts and its text.
Part = Callable[[LineCounts, str], int]


def _class_part(name: str) -> Part:
    """Return the part of a class of instructions: that of the lines of the class."""
    return lambda counts, _: counts.issued if counts.kind == name else 0


def _is_store(counts: LineCounts) -> bool:
    return counts.kind.startswith(("store", "atomic"))


def _excess(name: str, counts: LineCounts) -> int:
    """Return a line's count above the ideal of a metric; 0 if it has no ideal."""
    if name == "shared_wavefronts":
        return counts.shared_wavefronts - counts.shared_wavefronts_ideal
    if name in ("global_sectors", "global_load_sectors", "global_store_sectors"):
        return counts.global_sectors - counts.global_sectors_ideal
    return 0


_PARTS: Mapping[str, Part] = {
    "instructions": lambda c, _: c.issued,
    "lane_instructions": lambda c, _: c.lanes,
    "barriers": lambda c, text: c.issued if c.kind == "barrier" and "bar" in text else 0,
    "shared_wavefronts": lambda c, _: c.shared_wavefronts,
    "shared_wavefronts_ideal": lambda c, _: c.shared_wavefronts_ideal,
    "bank_conflicts": lambda c, _: c.shared_wavefronts - c.shared_wavefronts_ideal,
    "global_sectors": lambda c, _: c.global_sectors,
    "global_sectors_ideal": lambda c, _: c.global_sectors_ideal,
    "global_load_sectors": lambda c, _: 0 if _is_store(c) else c.global_sectors,
    "global_store_sectors": lambda c, _: c.global_sectors if _is_store(c) else 0,
    "global_load_bytes": lambda c, _: 0 if _is_store(c) else c.global_bytes,
    "global_store_bytes": lambda c, _: c.global_bytes if _is_store(c) else 0,
    "global_unique_bytes": lambda c, _: c.global_bytes,
    "dead_prefetches": lambda c, _: c.dead_prefetches,
    "prefetches_outside": lambda c, _: c.prefetches_outside,
    OUTSIDE_SHARE.name: lambda c, _: c.prefetches_outside,
    "copies_in_flight": lambda c, text: c.issued if "wait" in text else 0,
}
