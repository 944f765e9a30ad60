"""Figures kept in a file after every measurement, so that a run can be gone on with."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen_runtime.files import replacing
from scripts import documents

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def file_of(bench: str, kind: str) -> Path:
    """Where a benchmark keeps the results of a kind of CPU."""
    return documents.ROOT / f"{bench}-{documents.slug(kind)}.json"


def read(path: Path, machine: str) -> dict[str, Any]:
    """What the file holds; nothing if there is none, or if it is not this machine's."""
    if not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text())
    if found["machine"] != machine:
        print(f"{path.name} is of another machine or other libraries: {found['machine']}")
        return {}
    return found


def write(path: Path, results: DataclassInstance) -> None:
    """At once: who is stopped here leaves the old file."""
    with replacing(path) as file:
        file.write(json.dumps(asdict(results), indent=1).encode() + b"\n")
