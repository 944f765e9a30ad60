"""Annotated listings: a source text with the counts of each line."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from kgen.emulate.locations import Place, by_place, places
from kgen.emulate.profile import Profile, hot, is_wasteful
from kgen.emulate.report import LineCounts
from kgen.emulate.wording import shorten

#: Widths of the columns, without the source itself.
_WIDTHS = (5, 11, 5, 11, 7, 11, 7)
_HEADER = ("line", "issued", "lanes", "cycles", "x ideal", "sectors", "x ideal")
#: Lines of the programmer's source that are shown around one with counts.
_CONTEXT = 3
#: Start of a kernel in PTX and in LLVM IR.
_KERNEL = re.compile(r"\.entry\s|^define .*\b\w+_kernel\b")


def print_listings(launch: Profile) -> None:
    """Print the programmer's sources that the text names, if they exist here, then the text."""
    words, width = launch.words, launch.report.subgroup_width
    print(">        among the lines executed most; !: above the ideal")
    print(f"issued   instructions of the line, each counted once per {words.warp}")
    print("lanes    share of lanes that are active; blank: all")
    print(f"cycles   of {words.shared}; sectors: {words.sector}-byte pieces of global memory")
    print("x ideal  ratio to the least that the same bytes need; blank: 1")
    for path, lines in by_place(launch.report.lines, places(launch.source)).items():
        if (text := _read(path)) is not None:
            print(f"\n{path}")
            _print_listing(text, lines, width, _near(lines))
    print()
    text = launch.source.splitlines()
    _print_listing(text, launch.report.lines, width, _of_kernel(launch, text))


def _near(lines: Iterable[int]) -> set[int]:
    """Return the lines, and some around each."""
    return {n + d for n in lines for d in range(-_CONTEXT, _CONTEXT + 1)}


def _of_kernel(launch: Profile, text: list[str]) -> set[int]:
    """Return the lines of a kernel and of the functions that it calls.

    A text with one kernel gives every line.
    """
    starts = [n for n, line in enumerate(text, 1) if _KERNEL.search(line)]
    if len(starts) < 2:
        return set(range(1, len(text) + 1))
    name = re.compile(rf"[@\s]{re.escape(launch.entry)}\b")
    start = next((n for n in starts if name.search(text[n - 1])), starts[0])
    end = next((n for n in range(start, len(text) + 1) if text[n - 1].startswith("}")), start)
    kernel = range(start, end + 1)
    return {*kernel, *_near(n for n in launch.report.lines if n not in kernel)}


def _read(path: Path) -> list[str] | None:
    """Return the lines of a file, by its own path or in the current folder; None if missing."""
    for candidate in (path, Path(path.name)):
        try:
            return candidate.read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            continue
    return None


def _print_listing(
    text: list[str], lines: Mapping[int, LineCounts], width: int, shown: set[int]
) -> None:
    """Print the lines whose numbers are in `shown`; `...` stands for skipped ones."""
    most = hot(lines)
    print(_row("", _HEADER, ""))
    for number, line in enumerate(text, 1):
        if number not in shown:
            if number - 1 in shown:
                print("  ...")
            continue
        counts = lines.get(number)
        mark = ">" if number in most else " "
        if counts is not None and is_wasteful(counts):
            mark += "!"
        print(_row(mark, (str(number), *_cells(counts, width)), line.expandtabs(4)))


def _cells(counts: LineCounts | None, width: int) -> tuple[str, ...]:
    if counts is None:
        return ("",) * (len(_HEADER) - 1)
    share = counts.lanes / (counts.issued * width)
    return (
        f"{counts.issued:,}",
        "" if share == 1 else f"{100 * share:.0f} %",
        *_beside_ideal(counts.shared_wavefronts, counts.shared_wavefronts_ideal),
        *_beside_ideal(counts.global_sectors, counts.global_sectors_ideal),
    )


def _beside_ideal(count: int, ideal: int) -> tuple[str, str]:
    return f"{count:,}" if count else "", f"x{count / ideal:.2f}" if count > ideal else ""


def _row(mark: str, cells: tuple[str, ...], line: str) -> str:
    columns = (cell.rjust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
    return fit(f"{mark:2} {' '.join(columns)} | {line}".rstrip())


def origin(origins: Mapping[int, Place], number: int) -> str:
    """Return a comment with a line's origin in the source, or "" if unknown."""
    if number not in origins:
        return ""
    path, line = origins[number]
    return f" ({shorten(path.name, 36)}:{line})"


def fit(line: str) -> str:
    """Return the line, cut at the edge of a terminal."""
    return line[: shutil.get_terminal_size().columns] if sys.stdout.isatty() else line
