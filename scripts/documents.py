"""Documents and their code blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Documents whose code blocks the tests run.
DOCUMENTS = (
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "templates/README.md", "benchmarks/README.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
)
_BLOCK = re.compile(
    r"(?:^\*Not run by the tests: (?P<why>[^\n]+)\.\*\n\n)?"
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: Tables that `make reference` writes, and the page that `make figures` writes.
_GENERATED = re.compile(
    r"<!-- table [^\n]+: make reference -->\n.*?<!-- end of table -->\n", re.DOTALL
)
_WHOLE_PAGES = frozenset({"docs/performance.md"})
#: First line of a block that the reader saves: a comment with nothing but a file's name.
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
    """Return the path of a document, relative to the checkout."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def blocks(path: Path) -> list[Block]:
    """Return the code blocks of a document, in order."""
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


def written_lines(name: str, text: str) -> int:
    """Return the number of lines of a page that are written by hand, not generated."""
    return 0 if name in _WHOLE_PAGES else len(_GENERATED.sub("", text).splitlines())
