"""Profile of a launch: sums beside their ideals, and the source lines with the most waste.

A profile has no times. It counts work, and names the source lines that do more work than the same
bytes need.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from kgen.emulate.counters import MEANING
from kgen.emulate.counting.traffic import TRAFFIC
from kgen.emulate.report import LaunchReport, LineCounts
from kgen_runtime.values import frozen

#: Counters that are not classes of instructions.
_NOT_CLASSES = frozenset({"instructions", "lane_instructions", "barriers", "divergent_branches"})


class Waste(StrEnum):
    """Kinds of waste: counts that may be above their ideal."""

    BANK_CONFLICTS = "bank conflicts"
    UNCOALESCED = "uncoalesced accesses to global memory"


@frozen
class Total:
    """Sum over the launch, and its ideal if it has one."""

    name: str
    value: int
    ideal: int | None
    meaning: str

    @property
    def ratio(self) -> float | None:
        return self.value / self.ideal if self.ideal else None


@frozen
class FamilyWords:
    """Terms of a family, and the bytes of a sector of its global memory."""

    warp: str
    workgroup: str
    shared: str
    sector: int
    code: str


WORDS = {
    "ptx": FamilyWords(warp="warp", workgroup="CTA", shared="shared memory", sector=32, code="PTX"),
    "llvm": FamilyWords(
        warp="wave", workgroup="workgroup", shared="LDS", sector=64, code="LLVM IR"
    ),
}


@frozen
class Profile:
    """Report of one launch, with the text that its lines belong to.

    `language` is ptx or llvm, `threads` are those of a workgroup.
    """

    entry: str
    language: str
    source: str
    threads: int
    report: LaunchReport

    @property
    def words(self) -> FamilyWords:
        return WORDS[self.language]

    def totals(self) -> list[Total]:
        """Return the sums at the top of a profile."""
        words, report, counters = self.words, self.report, self.report.counters
        lanes = report.subgroup_width * report.instructions
        moved = counters["global_load_bytes"] + counters["global_store_bytes"]
        found = [
            Total(
                name="instructions",
                value=report.instructions,
                ideal=None,
                meaning=f"{words.code} instructions, each counted once per {words.warp}",
            ),
            Total(
                name="active lanes",
                value=counters["lane_instructions"],
                ideal=lanes,
                meaning=f"of {report.subgroup_width} lanes per instruction; ratio below 1: "
                "branches, guards, short rows",
            ),
            Total(
                name=f"{words.shared} cycles",
                value=counters["shared_wavefronts"],
                ideal=counters["shared_wavefronts_ideal"],
                meaning="wavefronts; ratio above 1: bank conflicts",
            ),
            Total(
                name="global sectors",
                value=counters["global_sectors"],
                ideal=counters["global_sectors_ideal"],
                meaning=f"{words.sector}-byte pieces; ratio above 1: uncoalesced or unaligned "
                "accesses",
            ),
            Total(
                name="global bytes",
                value=moved,
                ideal=counters["global_unique_bytes"],
                meaning="requested by lanes; ideal: distinct bytes; ratio above 1: reuse that "
                "caches must serve",
            ),
            Total(
                name="barriers",
                value=counters["barriers"],
                ideal=None,
                meaning=f"of the whole {words.workgroup}, per {words.workgroup}",
            ),
            Total(
                name="divergent branches",
                value=counters["divergent_branches"],
                ideal=None,
                meaning=f"branches that split a {words.warp}",
            ),
        ]
        if counters.get("copies_in_flight"):
            found.append(
                Total(
                    name="bytes in flight",
                    value=counters["copies_in_flight"],
                    ideal=None,
                    meaning=f"of asynchronous copies that a {words.workgroup} has under way after "
                    "a wait; they hide memory latency",
                )
            )
        return found

    def mix(self) -> list[tuple[str, int]]:
        """Return instructions by class, the most frequent first; each matrix instruction follows
        `matrix`."""
        counters = self.report.counters
        classes = [
            (name, count)
            for name, count in counters.items()
            if count and name in MEANING and name not in _NOT_CLASSES | TRAFFIC
        ]
        found = []
        for name, count in sorted(classes, key=lambda pair: -pair[1]):
            found.append((name, count))
            if name == "matrix":
                found += [pair for pair in counters.items() if pair[0].startswith("matrix.")]
        return found

    def wasteful(self, waste: Waste) -> list[tuple[int, LineCounts]]:
        """Return the source lines above their ideal, the worst first."""
        lines = [(n, c) for n, c in self.report.lines.items() if excess(c, waste)]
        return sorted(lines, key=lambda line: (-excess(line[1], waste), line[0]))

    def to_json(self, *, lines: bool) -> dict[str, Any]:
        report = self.report
        fields: dict[str, Any] = {
            "entry": self.entry,
            "workgroups": report.workgroups_run,
            "of": report.workgroups_total,
            "subgroup_width": report.subgroup_width,
            "counters": dict(report.counters),
        }
        if lines:
            fields["lines"] = {str(n): vars(counts) for n, counts in report.lines.items()}
        return fields


def hot(lines: Mapping[int, LineCounts]) -> dict[int, LineCounts]:
    """Return the hot lines: those executed at least half as often as the most frequent one."""
    most = max((counts.issued for counts in lines.values()), default=0)
    return {number: counts for number, counts in lines.items() if 2 * counts.issued >= most}


def is_wasteful(counts: LineCounts) -> bool:
    """Return whether a line is above one of its ideals."""
    return any(excess(counts, waste) for waste in Waste)


def excess(counts: LineCounts, waste: Waste) -> int:
    """Return the wavefronts or sectors above the ideal."""
    if waste is Waste.BANK_CONFLICTS:
        return counts.shared_wavefronts - counts.shared_wavefronts_ideal
    return counts.global_sectors - counts.global_sectors_ideal
