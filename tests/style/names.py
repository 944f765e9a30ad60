"""Names that several classes or modules share, and the list with their concepts. names.txt has a
sorted line for each shared name: `class NAME COUNT: CONCEPT`, likewise `module`. Git merges two
versions of it by keeping both lines; the larger count is valid until `--write`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.style.scan import HERE, ROOT

FILE = HERE / "names.txt"
WRITE = "python -m tests.style --write"
_HEAD = (
    "# Names that several classes or modules share, and the concept that they share. It only\n"
    f"# shrinks: give a new class or module a name of its own. Record fewer with: {WRITE}\n"
)
_CLASS = re.compile(r"^[ \t]*class (?P<name>\w+)", re.MULTILINE)
_LINE = re.compile(
    r"^(?P<name>(?:class|module) \w+) (?P<count>\d+): (?P<concept>.+)$", re.MULTILINE
)
FOLDERS = ("codegen", "runtime")


@dataclass(frozen=True, kw_only=True)
class SharedName:
    """Line of names.txt: how many classes or modules have a name, and their common concept."""

    count: int
    concept: str


def files() -> Iterator[tuple[str, str]]:
    """Path and text of every Python file of the product."""
    for path in (p for name in FOLDERS for p in sorted((ROOT / name).rglob("*.py"))):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def shared(sources: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Paths of each name that several classes or modules have; `__init__.py` is no module."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in sources:
        module = path.rpartition("/")[2].removesuffix(".py")
        if not module.startswith("__"):
            found[f"module {module}"].append(path)
        for match in _CLASS.finditer(text):
            found[f"class {match['name']}"].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def allowed(text: str) -> dict[str, SharedName]:
    """Entries of names.txt, also of one with conflict markers or several lines for a name."""
    entries: dict[str, SharedName] = {}
    for match in _LINE.finditer(text):
        line = SharedName(count=int(match["count"]), concept=match["concept"])
        if line.count > entries.get(match["name"], SharedName(count=0, concept="")).count:
            entries[match["name"]] = line
    return entries


def render(entries: Mapping[str, SharedName]) -> str:
    """Text of names.txt."""
    lines = (f"{name} {e.count}: {e.concept}\n" for name, e in sorted(entries.items()))
    return _HEAD + "".join(lines)


def raised(found: Mapping[str, list[str]], entries: Mapping[str, SharedName]) -> list[str]:
    """One line for each name that more classes or modules have than the list allows."""
    limits = {name: entry.count for name, entry in entries.items()}
    return [
        f"{name}: {len(paths)} in {', '.join(paths)}; {limits.get(name, 1)} allowed; give the new "
        "one a name that says what it is"
        for name, paths in sorted(found.items())
        if len(paths) > limits.get(name, 1)
    ]


def lowered(
    found: Mapping[str, list[str]], entries: Mapping[str, SharedName]
) -> dict[str, SharedName]:
    """Entries with the counts of today; names that are unique now are left out."""
    return {
        name: SharedName(count=min(entry.count, len(found[name])), concept=entry.concept)
        for name, entry in entries.items()
        if name in found
    }


def complaint(found: Mapping[str, list[str]], text: str) -> str:
    """Reason for refusing names.txt for these names; empty if it is right."""
    entries = allowed(text)
    if rose := raised(found, entries):
        return "\n".join(rose)
    return "" if text == render(lowered(found, entries)) else f"counts fell; record with: {WRITE}"
