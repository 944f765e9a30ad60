"""What was measured, kept in a file after every kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scripts import kept
from scripts.bench_cpu.kinds import kind_here

BENCH = "bench-cpu"


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
        tables = kept.read(path or kept.file_of(BENCH, kind), machine).get("tables", {})
        found = {name: [Row(**row) for row in rows] for name, rows in tables.items()}
        return cls(machine=machine, kind=kind, tables=found)

    def write(self, path: Path | None = None) -> None:
        kept.write(path or kept.file_of(BENCH, self.kind), self)
