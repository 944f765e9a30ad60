"""How a profile is printed: totals beside their ideals, the worst lines, the annotated source."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.cli.output import print_table
from kgen.emulate.counters import MEANING
from kgen.emulate.profile import Profile, Waste, excess, is_wasteful

if TYPE_CHECKING:
    from kgen.check.profile import KernelProfile
    from kgen.emulate.report import LineCounts

#: How many lines are named for each kind of waste.
_WORST_LINES = 5
#: Widths of the annotated source's columns, without the source itself.
_WIDTHS = (5, 11, 5, 11, 7, 11, 7)


def print_kernel_profile(profile: KernelProfile, *, source: bool) -> None:
    """All launches of a kernel, or why there is no profile."""
    name = f"{profile.target}/{profile.kernel}"
    if profile.reason is not None:
        print(f"\n{name}: no profile: {profile.reason}")
    for launch in profile.launches:
        suffix = f" {launch.entry}" if len(profile.launches) > 1 else ""
        print(f"\n{name}{suffix}")
        print_launch(launch, source=source)


def print_launch(launch: Profile, *, source: bool) -> None:
    """The profile of one launch; with `source`, counts beside every line."""
    for part in (_print_coverage, _print_totals, _print_worst, _print_mix):
        part(launch)
        print()
    if source:
        _print_source(launch)


def _print_coverage(launch: Profile) -> None:
    report, words = launch.report, launch.words
    warps = -(-launch.threads // report.subgroup_width)
    size = f"{launch.threads} threads ({_number(warps, words.warp)}) each"
    if report.workgroups_run == report.workgroups_total:
        which = f"all {_number(report.workgroups_total, words.workgroup)}"
    else:
        which = f"a sample of {report.workgroups_run:,} of {report.workgroups_total:,} "
        which += f"{words.workgroup}s, those at the edges among them"
    print(f"counted over {which}, {size}; these are counts, not times")


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
    """A table whose columns of formatted numbers stand to the right."""
    padded = []
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        padded.append([c.rjust(widths[i]) if i in numbers else c for i, c in enumerate(row)])
    print_table(padded[0], padded[1:])


def _print_worst(launch: Profile) -> None:
    """Where most is done, and where more than the same bytes need."""
    if hot := launch.hot():
        share = sum(counts.issued for counts in hot.values()) / launch.report.instructions
        where = f"lines {min(hot)} to {max(hot)}"
        print(f"executed most: {where}, {100 * share:.0f} % of the instructions")
    text = launch.source.splitlines()
    for waste in Waste:
        lines = launch.wasteful(waste)
        if not lines:
            print(f"{waste}: none")
            continue
        total = sum(excess(counts, waste) for _, counts in lines)
        unit = "cycles" if waste is Waste.BANK_CONFLICTS else "sectors"
        print(f"{waste}: {total:,} {unit} above the ideal, from {_number(len(lines), 'line')}:")
        for number, counts in lines[:_WORST_LINES]:
            line = text[number - 1].strip()
            print(_fit(f"  line {number:<5} {excess(counts, waste):>11,}  {line}"))
        if len(lines) > _WORST_LINES:
            print(f"  and {_number(len(lines) - _WORST_LINES, 'line')} more")


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _print_source(launch: Profile) -> None:
    """The source with what each line did; what a line did not do stays blank."""
    hot, words = launch.hot(), launch.words
    print(">        a line that is executed most; ! a line that is above its ideal")
    print(f"issued   {words.warp}s that executed the line")
    print("lanes    the share of their lanes that worked; blank: all")
    print(f"cycles   of {words.shared}; sectors: pieces of {words.sector} bytes of global memory")
    print("x ideal  how many times more than the same bytes need; blank: not more")
    print()
    print(_row("", "line", "issued", "lanes", "cycles", "x ideal", "sectors", "x ideal", ""))
    for number, text in enumerate(launch.source.splitlines(), 1):
        counts = launch.report.lines.get(number)
        if counts is None:
            print(_row("", str(number), "", "", "", "", "", "", text))
            continue
        print(
            _row(
                (">" if number in hot else " ") + ("!" if is_wasteful(counts) else ""),
                str(number),
                f"{counts.issued:,}",
                _lanes(counts, launch.report.subgroup_width),
                _count(counts.shared_wavefronts),
                _above(counts.shared_wavefronts, counts.shared_wavefronts_ideal),
                _count(counts.global_sectors),
                _above(counts.global_sectors, counts.global_sectors_ideal),
                text,
            )
        )


def _row(mark: str, *cells: str) -> str:
    columns = (cell.rjust(width) for cell, width in zip(cells[:-1], _WIDTHS, strict=True))
    return _fit(f"{mark:2} {' '.join(columns)} | {cells[-1]}".rstrip())


def _fit(line: str) -> str:
    """The line, cut at the edge of a terminal."""
    if not sys.stdout.isatty():
        return line
    return line[: shutil.get_terminal_size().columns]


def _lanes(counts: LineCounts, width: int) -> str:
    share = counts.lanes / (counts.issued * width)
    return "" if share == 1 else f"{100 * share:.0f} %"


def _count(count: int) -> str:
    return f"{count:,}" if count else ""


def _above(count: int, ideal: int) -> str:
    return f"x{count / ideal:.2f}" if count > ideal else ""
