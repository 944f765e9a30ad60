"""What was measured, kept in a file after every model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scripts import kept
from scripts.bench_cpu.kinds import kind_here
from scripts.bench_models.cost import Compiled, Start

BENCH = "bench-models"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A model in so many threads: first deciles and medians in seconds, by engine; `ceiling` is
    the least seconds that the CPU's arithmetic and memory allow."""

    model: str
    threads: int
    seconds: Mapping[str, float]
    medians: Mapping[str, float]
    load: Mapping[str, float]
    errors: Mapping[str, float]
    missing: Mapping[str, str]
    noise: float
    others: float
    ceiling: float

    def ratio(self, peer: str) -> float | None:
        return self.seconds[peer] / self.seconds["kgen"] if peer in self.seconds else None

    def at_ceiling(self, peer: str) -> float | None:
        """The ratio that a program at the ceiling would have."""
        return self.seconds[peer] / self.ceiling if peer in self.seconds else None


@dataclass(frozen=True, kw_only=True)
class Costs:
    """`checked` is a start with all digests checked."""

    model: str
    compiled: Compiled
    kgen: Start | None = None
    checked: Start | None = None
    onnxruntime: Start | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """All that is known of a model; `moment` is when, and at which commit."""

    rows: tuple[Row, ...]
    costs: Costs
    moment: str


@dataclass(kw_only=True)
class Results:
    """By model, all of one `machine` (CPU and libraries, in words) and of one `kind` of CPU."""

    machine: str
    kind: str = field(default_factory=kind_here)
    models: dict[str, Measured] = field(default_factory=dict)

    @classmethod
    def read(cls, machine: str, kind: str, path: Path | None = None) -> Results:
        """Those of the file, if it is this machine's."""
        models = kept.read(path or kept.file_of(BENCH, kind), machine).get("models", {})
        found = {name: _measured(of) for name, of in models.items()}
        return cls(machine=machine, kind=kind, models=found)

    def write(self, path: Path | None = None) -> None:
        kept.write(path or kept.file_of(BENCH, self.kind), self)


def _measured(found: Mapping[str, object]) -> Measured:
    rows, costs = found["rows"], found["costs"]
    assert isinstance(rows, list) and isinstance(costs, dict)
    starts = ("kgen", "checked", "onnxruntime")
    return Measured(
        rows=tuple(Row(**row) for row in rows),
        costs=Costs(
            model=costs["model"],
            compiled=Compiled(**costs["compiled"]),
            **{name: costs[name] and Start(**costs[name]) for name in starts},
        ),
        moment=str(found["moment"]),
    )
