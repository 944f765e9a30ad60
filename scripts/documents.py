"""Documents: their code blocks, and figures between markers with the date and commit of the
measurement."""

from __future__ import annotations

import datetime
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PERFORMANCE = ROOT / "docs" / "performance.md"
#: What is measured of a kind of CPU, in sections of a page of its own.
SECTIONS = {
    "make bench-cpu": "Products",
    "make bench-cpu, rows": "Functions and rows",
    "tune gap": "Tuned schedules",
}
#: First line of such a page.
PAGE = "Figures measured on this kind of CPU ([method](../performance.md#cpu-kernels))."
#: What figures depend on: a change there that is not committed is said.
SOURCES = ("codegen", "runtime", "templates", "scripts", "pyproject.toml")


#: Documents whose code blocks the tests run.
DOCUMENTS = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "templates/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
_BLOCK = re.compile(
    r"(?:^\*Not run by the tests: (?P<why>[^\n]+)\.\*\n\n)?"
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: First line of a block that the reader saves: a comment that holds a file's name and no more.
_FILE_NAME = re.compile(r"(?:#|//|/\*|;) (?P<name>[\w./-]+\.\w+)(?: \*/)?\n")


@dataclass(frozen=True, kw_only=True)
class Block:
    """Code block of a document.

    `place` is the page, relative to the checkout, and the line. `not_run` is the reason that the
    page gives for not running the block, or empty.
    """

    place: str
    language: str
    text: str
    not_run: str

    @property
    def file(self) -> str:
        """Name of the file that the reader saves the block as, from its first line; or empty."""
        found = _FILE_NAME.match(self.text)
        return found["name"] if found else ""

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Commands of a shell block, each with the lines that it prints (language `console`)."""
        found: list[list[str]] = []
        is_open = False
        for line in self.text.splitlines():
            starts = not is_open and (self.language == "sh" or line.startswith("$ "))
            if starts:
                found.append([line.removeprefix("$ "), ""])
            elif is_open:
                found[-1][0] += f"\n{line}"
            else:
                found[-1][1] += f"{line}\n"
            if starts or is_open:
                command = found[-1][0]
                is_open = command.endswith("\\") or command.count('"') % 2 == 1
        return [(command, printed) for command, printed in found]


def name_of(path: Path) -> str:
    """Path of a document, relative to the checkout."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def blocks(path: Path) -> list[Block]:
    """Code blocks of a document, in order."""
    text = path.read_text()
    return [
        Block(
            place=f"{name_of(path)}:{text.count(chr(10), 0, found.start('language')) + 1}",
            language=found["language"],
            text=found["text"],
            not_run=found["why"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


def put(path: Path, name: str, lines: Sequence[str]) -> None:
    """Put lines between a document's markers."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = path.read_text()
    if begin not in text or end not in text:
        raise SystemExit(f"{path.name} has no markers {begin} ... {end}")
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    path.write_text("\n".join([before + begin, *lines, end + after]))


def put_kind(path: Path, family: str, kind: str, lines: Sequence[str]) -> None:
    """Put lines in the section of a kind of machine, a new one after the family's last if there is
    none."""
    found = kinds(path, family)
    if kind not in found:
        last = f"<!-- {family}, {[*found][-1]}: end -->"
        name = f"{family}, {kind}"
        new = f"{last}\n\n<!-- {name}: begin -->\n<!-- {name}: end -->"
        path.write_text(path.read_text().replace(last, new))
    put(path, f"{family}, {kind}", lines)


def page_of(kind: str) -> Path:
    """The page of a kind of CPU, in the folder beside PERFORMANCE that is called like it."""
    return PERFORMANCE.with_suffix("") / f"{slug(kind)}.md"


def slug(kind: str) -> str:
    """A kind of machine as a part of a file's name: avx-512-zen-5."""
    return kind.lower().replace(", ", "-").replace(" ", "-")


def put_in_page(kind: str, family: str, lines: Sequence[str]) -> None:
    """Put lines in a section of a kind of CPU's page, new ones if there is none."""
    page = page_of(kind)
    page.parent.mkdir(exist_ok=True)
    text = page.read_text() if page.exists() else f"# {kind}\n\n{PAGE}\n"
    name = f"{family}, {kind}"
    if f"<!-- {name}: begin -->" not in text:
        title, markers = SECTIONS[family], f"<!-- {name}: begin -->\n<!-- {name}: end -->"
        page.write_text(f"{text}\n## {title}\n\n{markers}\n")
    put(page, name, lines)


def kinds(path: Path, family: str) -> dict[str, str]:
    """The text of each section of a family, by the kind of machine: an instruction set and a
    core."""
    begin, end = rf"<!-- {re.escape(family)}, ([^,:]+, [^,:]+): begin -->", ": end -->"
    section = rf"{begin}(.*?)<!-- {re.escape(family)}, \1{end}"
    return dict(re.findall(section, path.read_text(), re.DOTALL))


def moment() -> str:
    """Today and the commit: `2026-11-22 at commit 03ed839`."""
    today = datetime.datetime.now(datetime.UTC).date()
    commit = _git("rev-parse", "--short=7", "HEAD")
    if commit is None:
        return f"{today} outside of a checkout"
    changed = " with changes" if _git("status", "--porcelain", "--", *SOURCES) else ""
    return f"{today} at commit {commit}{changed}"


def measured(moments: Iterable[str]) -> str:
    """The line under which figures stand; of several moments, each once."""
    return f"Measured on {'; '.join(dict.fromkeys(moments))}."


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout.strip()
