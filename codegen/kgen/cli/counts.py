"""Printing of kernel profiles: totals beside their ideals, worst lines, annotated source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.cli.listing import fit, origin, print_listings
from kgen.cli.output import print_table
from kgen.emulate.counters import MEANING
from kgen.emulate.locations import places
from kgen.emulate.profile import Profile, Waste, excess, hot

if TYPE_CHECKING:
    from kgen.check.profile import KernelProfile

#: Most lines that are named for each kind of waste.
_WORST_LINES = 5


def print_kernel_profile(profile: KernelProfile, *, source: bool) -> None:
    """Print the profile of each launch of a kernel, or why there is none."""
    name = f"{profile.target}/{profile.kernel}"
    if profile.reason is not None:
        print(f"\n{name}: no profile: {profile.reason}")
    for launch in profile.launches:
        suffix = f" {launch.entry}" if len(profile.launches) > 1 else ""
        print(f"\n{name}{suffix}")
        print_launch(launch, source=source)


def print_launch(launch: Profile, *, source: bool) -> None:
    """Print the profile of one launch; with `source`, the counts beside every line."""
    for part in (_print_coverage, _print_totals, _print_worst, _print_mix):
        part(launch)
        print()
    if source:
        print_listings(launch)


def _print_coverage(launch: Profile) -> None:
    report, words = launch.report, launch.words
    warps = -(-launch.threads // report.subgroup_width)
    size = f"{launch.threads} threads ({_number(warps, words.warp)}) each"
    if report.workgroups_run == report.workgroups_total:
        which = _number(report.workgroups_total, words.workgroup)
        which = which if report.workgroups_total == 1 else f"all {which}"
    else:
        which = f"a sample of {report.workgroups_run:,} of {report.workgroups_total:,} "
        which += f"{words.workgroup}s, including those at the edges"
    print(f"counted in {which}, {size}; these are counts, not times")


def _print_totals(launch: Profile) -> None:
    rows = []
    for total in launch.totals():
        ideal = "" if total.ideal is None else f"{total.ideal:,}"
        ratio = "" if total.ratio is None else f"{total.ratio:.2f}"
        rows.append((total.name, f"{total.value:,}", ideal, ratio, total.meaning))
    _print_right(("", "counted", "ideal", "ratio", "meaning"), rows, numbers=(1, 2, 3))


def _print_mix(launch: Profile) -> None:
    rows = []
    for name, count in launch.mix():
        share = f"{100 * count / launch.report.instructions:.1f} %"
        indent = "  " if name not in MEANING else ""
        rows.append((f"{indent}{name}", f"{count:,}", share, MEANING.get(name, "")))
    _print_right(("instructions", "issued", "share", "meaning"), rows, numbers=(1, 2))


def _print_right(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]
) -> None:
    """Print a table whose columns of formatted numbers are right-aligned."""
    padded = []
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        padded.append([c.rjust(widths[i]) if i in numbers else c for i, c in enumerate(row)])
    print_table(padded[0], padded[1:])


def _print_worst(launch: Profile) -> None:
    """Print the most executed lines, and those that access more memory than necessary."""
    if most := hot(launch.report.lines):
        share = sum(counts.issued for counts in most.values()) / launch.report.instructions
        where = f"lines {min(most)} to {max(most)}"
        print(f"executed most: {where}, {100 * share:.0f} % of the instructions")
    text, origins = launch.source.splitlines(), places(launch.source)
    for waste in Waste:
        lines = launch.wasteful(waste)
        if not lines:
            print(f"{waste}: none")
            continue
        total = sum(excess(counts, waste) for _, counts in lines)
        unit = "cycles" if waste is Waste.BANK_CONFLICTS else "sectors"
        print(f"{waste}: {total:,} {unit} above the ideal, from {_number(len(lines), 'line')}:")
        for number, counts in lines[:_WORST_LINES]:
            line = " ".join(text[number - 1].split())
            line += origin(origins, number)
            print(fit(f"  line {number:<5} {excess(counts, waste):>11,}  {line}"))
        if len(lines) > _WORST_LINES:
            print(f"  and {_number(len(lines) - _WORST_LINES, 'line')} more")


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
