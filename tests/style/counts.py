"""Counts of violations by folder and kind, and the file that holds how many are allowed.

The file has a sorted line for each folder and kind. Git merges two versions of it by keeping both
lines (.gitattributes); the larger count is valid until the next `--write`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from tests.style.scan import HERE, Finding

FILE = HERE / "counts.toml"
WRITE = "python -m tests.style --write"
_HEAD = f"# Violations of style that are left, by folder and kind. They may only fall: {WRITE}\n"
_LINE = re.compile(r'^"(?P<key>[^"]+)" = (?P<count>\d+)$', re.MULTILINE)


def counted(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(finding.key for finding in findings)


def render(counts: Mapping[str, int]) -> str:
    """Text of the file."""
    return _HEAD + "".join(f'"{key}" = {count}\n' for key, count in sorted(counts.items()) if count)


def allowed(text: str) -> dict[str, int]:
    """Counts in a file, also one with conflict markers or several lines for a key."""
    counts: dict[str, int] = {}
    for match in _LINE.finditer(text):
        counts[match["key"]] = max(int(match["count"]), counts.get(match["key"], 0))
    return counts


def raised(counts: Mapping[str, int], limits: Mapping[str, int]) -> list[str]:
    """One line for each count above its limit, with the command that lists the violations."""
    return [
        f"{key}: {count}, allowed are {limits.get(key, 0)}; "
        f'list them with: python -m tests.style "{key}"'
        for key, count in sorted(counts.items())
        if count > limits.get(key, 0)
    ]


def complaint(counts: Mapping[str, int], text: str) -> str:
    """What is wrong with the file for these counts; empty if nothing is."""
    if rose := raised(counts, allowed(text)):
        return "\n".join(rose)
    return "" if text == render(counts) else f"counts fell; record that with: {WRITE}"
