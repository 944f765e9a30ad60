"""Violations of style in the checkout: fragments, phrases, measurements, template logic,
classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

FRAGMENT = "docstrings that open with a fragment"
PHRASE = "phrases that have a word of the field"
MESSAGE = "phrases in messages"
MEASUREMENT = "measurements in comments"
LOGIC = "comparisons and arithmetic in templates"
CLASS = "classes with more than 60 properties"
MAX_PROPERTIES = 60

PYTHON = ("codegen", "runtime", "benchmarks", "scripts", "tests", "examples")
SUFFIXES = frozenset({".py", ".c", ".h", ".j2", ".md"})


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Violation of one rule at one line of a file, with the text that breaks it."""

    path: str
    line: int
    kind: str
    text: str

    @property
    def key(self) -> str:
        return f"{folder(self.path)}: {self.kind}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.text}"


def folder(path: str) -> str:
    """Folder that a file is counted under: a package of kgen, else the top folder."""
    parts = path.split("/")
    if parts[:2] == ["codegen", "kgen"]:
        return "/".join(parts[:-1][:3])
    return parts[0] if len(parts) > 1 else "."


def sources() -> Iterator[tuple[str, str]]:
    """Path and text of every file that is counted. This folder quotes violations and is not."""
    folders = (ROOT / name for name in (*PYTHON, "templates", "docs"))
    files = [*ROOT.glob("*.md"), *(p for f in folders for p in sorted(f.rglob("*")))]
    for path in files:
        if path.suffix in SUFFIXES and HERE not in path.parents:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def findings() -> list[Finding]:
    """Every violation in the checkout."""
    return [finding for path, text in sources() for finding in violations(path, text)]


def violations(path: str, text: str) -> Iterator[Finding]:
    """Every violation in one file; the path says the language and the folder."""
    suffix = path.rpartition(".")[2]
    docstrings: list[Part] = []
    comments: list[Part] = []
    if suffix == "py":
        docstrings, comments = python_parts(text)
        comments = [*docstrings, *comments]
    elif suffix in ("c", "h", "j2"):
        comments = list(comments_of(text, _C if suffix != "j2" else _TEMPLATE))
    found: list[tuple[int, str, str]] = []
    found += ((p.start, FRAGMENT, opening) for p in docstrings if (opening := fragment(p.text)))
    has_messages = suffix in ("py", "c", "h") and not path.startswith("tests/")
    for start, phrase in phrases_in(text):
        is_comment = any(part.start <= start < part.start + len(part.text) for part in comments)
        found.append((start, MESSAGE if has_messages and not is_comment else PHRASE, phrase))
    found += (
        (part.start + match.start(), MEASUREMENT, match[0])
        for part in comments
        for match in _MEASUREMENT.finditer(part.text)
    )
    if suffix == "j2":
        found += ((start, LOGIC, operator) for start, operator in logic_in(text))
    elif suffix == "py" and text.count("property") > MAX_PROPERTIES:
        found += ((start, CLASS, name) for start, name in large_classes(text))
    for start, kind, excerpt in sorted(found):
        line = text.count("\n", 0, start) + 1
        yield Finding(path=path, line=line, kind=kind, text=" ".join(excerpt.split()))


@dataclass(frozen=True, kw_only=True)
class Part:
    """Docstring or comment: its text and its offset in the file."""

    start: int
    text: str


_STRING = (
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|'
    r"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'(?:[^'\\\n]|\\.)*'"
)
_PYTHON = re.compile(rf"(?P<string>{_STRING})|(?P<comment>\#[^\n]*)", re.DOTALL)
_C = re.compile(rf"(?:{_STRING})|(?P<comment>/\*.*?\*/|//[^\n]*)", re.DOTALL)
_TEMPLATE = re.compile(r"(?P<comment><\#.*?\#>|//[^\n]*|(?<!\S);[^\n]*)", re.DOTALL)


def python_parts(text: str) -> tuple[list[Part], list[Part]]:
    """Docstrings and comments of a Python file.

    A docstring is a string that is alone on its line, first in the file or after a line that ends
    with a colon. Lexing takes a sixth of the time of parsing; a test compares both.
    """
    docstrings: list[Part] = []
    comments: list[Part] = []
    before, end = ":", 0
    for match in _PYTHON.finditer(text):
        gap = text[end : match.start()].rstrip("rRuU").rstrip(" \t\\")
        code = gap.rstrip()
        before = code[-1] if code else before
        own_line = gap.endswith("\n") or (not gap and (end == 0 or text[end - 1] == "\n"))
        end = match.end()
        if match["comment"]:
            comments.append(Part(start=match.start(), text=match[0]))
            continue
        if own_line and before == ":":
            quote = 3 if match[0][:3] in ('"""', "'''") else 1
            inner = match[0][quote:-quote]
            docstrings.append(Part(start=match.start() + quote, text=inner))
        before = '"'
    return docstrings, comments


def comments_of(text: str, language: re.Pattern[str]) -> Iterator[Part]:
    """Comments of a file in C or of a template."""
    for match in language.finditer(text):
        if match["comment"]:
            yield Part(start=match.start(), text=match[0])


def _lines(name: str) -> list[str]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@cache
def _openings() -> re.Pattern[str]:
    return re.compile(rf"\s*(?:{'|'.join(map(re.escape, _lines('openings.txt')))})\b")


def fragment(docstring: str) -> str:
    """First line of a docstring that opens with a fragment; empty for any other."""
    return docstring.strip().partition("\n")[0] if _openings().match(docstring) else ""


#: What may stand between two words of a phrase: line breaks with their quotes or comment signs.
_BETWEEN = r"""[\s#;*"'/]+"""


@cache
def instead() -> dict[str, str]:
    """What to write, by phrase."""
    pairs = (line.partition(" = ") for line in _lines("phrases.txt"))
    return {phrase: word for phrase, _, word in pairs}


@cache
def _phrase(phrase: str) -> re.Pattern[str]:
    words = _BETWEEN.join(map(re.escape, phrase.split()))
    return re.compile(rf"{words}(?!\w)")


def phrases_in(text: str) -> Iterator[tuple[int, str]]:
    """Offset and phrase of each use, in prose, code and messages."""
    lower = text.lower()
    for phrase, word in instead().items():
        if max(phrase.split(), key=len) in lower:
            for match in _phrase(phrase).finditer(lower):
                # A pattern that begins with a letter is found several times faster than with \b.
                if not lower[match.start() - 1 : match.start()].isalnum():
                    yield match.start(), f"{phrase!r}: write {word!r}"


_NUMBER = r"(?<![\w.])\d[\d,.]*"
#: Times, bandwidths, rates, percentages and ratios of speed.
_MEASUREMENT = re.compile(
    rf"{_NUMBER}\s?(?:ns|us|\u00b5s|ms|s|seconds?|minutes?|hours?)\b(?!-)"
    rf"|{_NUMBER}\s?(?:[KMGT]i?B|bytes|B)(?:/s\b|\sper\ssecond)"
    rf"|{_NUMBER}\s?[KMGT]?(?:FLOPS?|OPS)(?:/s)?\b"
    rf"|{_NUMBER}\s?(?:%(?![\w({{])|per\s?cent\b)"
    rf"|{_NUMBER}x\s(?:as\s)?(?:fast|slow)\w*"
    rf"|{_NUMBER}\stimes\s(?:as\s(?:fast|slow|long)|faster|slower|longer)"
    r"|\b(?:twice|half)\sas\s(?:fast|slow|long)\b"
    r"|\b(?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|half)s?\s"
    r"(?:of\s(?:the|its|a|all)\s(?:\w+\s)?(?:time|second|speed|bandwidth)|faster|slower)\b"
)

_BLOCK = re.compile(r"<%.*?%>|\$\{.*?\}", re.DOTALL)
_OPERATOR = re.compile(
    rf"(?:{_STRING})|(?:<%|\$\{{)-?|-?(?:%>|\}})|\bfor\s[\w,\s()]+?\sin\b|[\[(,]\s*(?:-\d|\*)"
    r"|(?P<operator>==|!=|<=|>=|[-+*/%<>]|\bnot\s+in\b|\bin\b)",
    re.DOTALL,
)


def logic_in(text: str) -> Iterator[tuple[int, str]]:
    """Offset and block of each comparison and operation of arithmetic in a template."""
    comments = [match.span() for match in re.finditer(r"<\#.*?\#>", text, re.DOTALL)]
    for block in _BLOCK.finditer(text):
        if any(start <= block.start() < end for start, end in comments):
            continue
        for match in _OPERATOR.finditer(block[0]):
            if match["operator"]:
                yield block.start() + match.start(), block[0]


def large_classes(text: str) -> Iterator[tuple[int, str]]:
    """Offset and name of each class with too many properties."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            count = sum(map(_is_property, node.body))
            if count > MAX_PROPERTIES:
                yield starts[node.lineno - 1], f"{node.name} has {count}"


def _is_property(node: ast.stmt) -> bool:
    decorators: Iterable[ast.expr] = getattr(node, "decorator_list", ())
    return any(ast.unparse(d).rpartition(".")[2].endswith("property") for d in decorators)
