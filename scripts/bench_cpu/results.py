"""What was measured, kept in a file after every kernel, so that a run can be gone on with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kgen.files import replacing
from scripts import documents
from scripts.bench_cpu.kinds import kind_here


def file_of(kind: str) -> Path:
    """Where the results of a kind of CPU are kept."""
    return documents.ROOT / f"bench-cpu-{kind.lower().replace(', ', '-').replace(' ', '-')}.json"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One kernel: `seconds` of a call, None if it could not be timed; rates per second; `ratios`:
    the time of each peer over the kernel's; `noise`: how far apart two measurements of that were,
    relatively; `missing`: why a peer was not timed; `measured`: when, and at which commit."""

    kernel: str
    seconds: float | None = None
    gflops: float | None = None
    gbytes: float | None = None
    ratios: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    measured: str = "an unknown day"


@dataclass(kw_only=True)
class Results:
    """Rows by the names of their tables, all of one `machine` (CPU and libraries, in words) and of
    one `kind` of CPU."""

    machine: str
    kind: str = field(default_factory=kind_here)
    tables: dict[str, list[Row]] = field(default_factory=dict)

    @classmethod
    def read(cls, machine: str, kind: str, path: Path | None = None) -> Results:
        """Those of the file, if it is this machine's."""
        path = path or file_of(kind)
        if not path.exists():
            return cls(machine=machine, kind=kind)
        found = json.loads(path.read_text())
        if found["machine"] != machine:
            print(f"{path.name} is of another machine or other libraries: {found['machine']}")
            return cls(machine=machine, kind=kind)
        tables = {name: [Row(**row) for row in rows] for name, rows in found["tables"].items()}
        return cls(machine=machine, kind=kind, tables=dict(tables))

    def write(self, path: Path | None = None) -> None:
        """At once: who is stopped here leaves the old file."""
        with replacing(path or file_of(self.kind)) as file:
            file.write(json.dumps(asdict(self), indent=1).encode() + b"\n")
