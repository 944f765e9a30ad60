"""Source positions in TOML: the line of each key, and the character range of its value.

Python's parser returns values without positions. Error messages need lines, and tightening a number
must keep comments and spaces.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from kgen_runtime.values import frozen

#: Keys from the root to a value; the tables of an array are numbered from 0.
Path = tuple[str | int, ...]


@frozen
class TextSpan:
    """Position of a value: its line, counted from 1, and its half-open range of characters."""

    line: int
    start: int
    stop: int


_QUOTED = re.compile(
    r'"""[\s\S]*?"""|' r"'''[\s\S]*?'''|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|" r"#[^\n]*"
)
_KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_KEYS = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEYS})\s*\]")
_PAIR = re.compile(rf"({_KEYS})\s*=[ \t]*")
#: Key of an inline table, or a brace.
_PIECE = re.compile(rf"{_PAIR.pattern}|[{{}}]")
_VALUE = re.compile(r"[^{,}\s][^,}\s]*")


def places(text: str) -> Mapping[Path, TextSpan]:
    """Return the position of every table header and key of a valid TOML text."""
    found: dict[Path, TextSpan] = {}
    table: Path = ()
    counts: Counter[Path] = Counter()
    at = 0
    for number, line in enumerate(_masked(text).splitlines(keepends=True), 1):
        if (header := _HEADER.match(line)) is not None:
            table = _numbered(_names(text, at, header.span(2)), counts)
            if header[1] == "[[":
                counts[table] += 1
                table = (*table, counts[table] - 1)
            found[table] = TextSpan(line=number, start=at, stop=at + len(line.rstrip()))
        else:
            for path, start, stop in _pairs(text, at, line):
                found[table + path] = TextSpan(line=number, start=start, stop=stop)
        at += len(line)
    return found


def _masked(text: str) -> str:
    """Return the text with comments blank and the contents of strings masked, of equal length."""

    def mask(match: re.Match[str]) -> str:
        word = match[0]
        if word[0] == "#":
            return " " * len(word)
        inside = re.sub(r"[^\n]", "_", word[1:-1])
        return f"{word[0]}{inside}{word[-1]}"

    return _QUOTED.sub(mask, text)


def _pairs(text: str, at: int, line: str) -> Iterator[tuple[Path, int, int]]:
    """Yield the keys of a line and of its inline tables, with the ranges of their values."""
    first = _PAIR.match(line, len(line) - len(line.lstrip()))
    if first is None:
        return
    path = _names(text, at, first.span(1))
    if line[first.end() : first.end() + 1] != "{":
        yield path, at + first.end(), at + len(line.rstrip())
        return
    tables: list[tuple[Path, int]] = []
    for piece in _PIECE.finditer(line, first.end()):
        if piece[0] == "{":
            tables.append((path, at + piece.start()))
        elif piece[0] == "}":
            table, start = tables.pop()
            yield table, start, at + piece.end()
        else:
            path = tables[-1][0] + _names(text, at, piece.span(1))
            value = _VALUE.match(line, piece.end())
            if value is not None:
                yield path, at + value.start(), at + value.end()


def _names(text: str, at: int, span: tuple[int, int]) -> Path:
    """Return dotted keys without quotes."""
    written = text[at + span[0] : at + span[1]]
    return tuple(key.strip().strip("\"'") for key in re.findall(_KEY, written))


def _numbered(path: Path, counts: Counter[Path]) -> Path:
    """Return a header's path with the number of the last table of each array."""
    found: Path = ()
    for i, key in enumerate(path):
        found = (*found, key)
        if i < len(path) - 1 and counts[found]:
            found = (*found, counts[found] - 1)
    return found
