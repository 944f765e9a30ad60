"""How a profile is printed: totals beside their ideals, the worst lines, the annotated source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.cli.output import print_table

if TYPE_CHECKING:
    from kgen.check.profile import KernelProfile
    from kgen.emulate.profile import Profile
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
    for part in (_print_coverage, _print_totals, _print_waste, _print_mix):
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
    from kgen.emulate.counters import MEANING

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


def _print_waste(launch: Profile) -> None:
    """Where more is done than the same bytes need."""
    from kgen.emulate.profile import Waste, excess

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
            print(f"  line {number:<5} {excess(counts, waste):>11,}  {text[number - 1].strip()}")
        if len(lines) > _WORST_LINES:
            print(f"  and {_number(len(lines) - _WORST_LINES, 'line')} more")


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _print_source(launch: Profile) -> None:
    """The source with what each line did; what a line did not do stays blank."""
    most = max((c.issued for c in launch.report.lines.values()), default=0)
    words = launch.words
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
                _mark(counts, most),
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
    return f"{mark:2} {' '.join(columns)} | {cells[-1]}".rstrip()


def _mark(counts: LineCounts, most: int) -> str:
    from kgen.emulate.profile import Waste, excess

    wasteful = any(excess(counts, waste) for waste in Waste)
    return (">" if 2 * counts.issued >= most else " ") + ("!" if wasteful else "")


def _lanes(counts: LineCounts, width: int) -> str:
    share = counts.lanes / (counts.issued * width)
    return "" if share == 1 else f"{100 * share:.0f} %"


def _count(count: int) -> str:
    return f"{count:,}" if count else ""


def _above(count: int, ideal: int) -> str:
    return f"x{count / ideal:.2f}" if count > ideal else ""
