"""Result files: benchmarks/results/<date>-<machine>-<suite>.json, their schema, reader and writer.

The schema is documented in benchmarks/README.md.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.machine import ROOT, Machine
from kgen_runtime.files import replacing

SCHEMA = 1
FOLDER = ROOT / "benchmarks" / "results"
Check = Callable[[Any], bool]
T = TypeVar("T")


class ResultError(Exception):
    """A result file that is damaged or of another schema, in one line."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Median seconds of a call, the quartiles and the number of rounds, as far as known."""

    median: float
    quartiles: tuple[float, float] | None = None
    rounds: int | None = None

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        """Summarise the seconds of each round."""
        first, third = seconds[0], seconds[0]
        if len(seconds) > 1:
            first, _, third = statistics.quantiles(seconds, method="inclusive")
        return cls(median=statistics.median(seconds), quartiles=(first, third), rounds=len(seconds))


@dataclass(frozen=True, kw_only=True)
class Peer:
    """Library, ceiling or other kernel beside a row.

    `ratio` is its time over kgen's: above 1, kgen is faster. `noise` is the relative difference of
    two measurements of the ratio. `missing` says why it was not timed.
    """

    time: Timing | None = None
    ratio: float | None = None
    noise: float | None = None
    missing: str | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """Kernel, model or command that was measured. `values` holds other figures by name."""

    table: str
    work: str
    variant: Mapping[str, str | int] = field(default_factory=dict)
    time: Timing | None = None
    peers: Mapping[str, Peer] = field(default_factory=dict)
    values: Mapping[str, float | str] = field(default_factory=dict)

    def ratio(self, *peers: str) -> float | None:
        """Return the ratio to the fastest of these peers; None if none was timed."""
        found = (self.peers[name].ratio for name in peers if name in self.peers)
        return min((ratio for ratio in found if ratio is not None), default=None)


@dataclass(kw_only=True)
class Results:
    """Rows of a suite on one machine.

    `date` and `commit` are those of the last row. `also` lists other days and commits if the rows
    are from several. `source` is the document that exported figures are from.
    """

    suite: str
    machine: Machine
    date: str
    commit: str | None
    command: str
    versions: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    source: str | None = None
    rows: list[Row] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.date}-{self.machine.slug}-{self.suite}.json"

    def table(self, *names: str) -> list[Row]:
        """Rows of these tables."""
        return [row for row in self.rows if row.table in names]

    def write(self, path: Path | None = None) -> Path:
        """Replace the file atomically: an interrupted run leaves the previous one."""
        path = path or self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"schema": SCHEMA} | _plain(self)
        rows = [json.dumps(_plain(row)) for row in self.rows]
        del head["rows"]
        text = json.dumps(head, indent=1).removesuffix("\n}")
        text += ',\n "rows": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n"
        with replacing(path) as file:
            file.write(text.encode())
        return path


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean. Raises ValueError if there are no values."""
    found = [math.log(value) for value in values]
    if not found:
        raise ValueError("no values")
    return math.exp(math.fsum(found) / len(found))


def read(path: Path) -> Results:
    """Read and check a file. Raises ResultError."""
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise ResultError(f"{path.name} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ResultError(
            f"{path.name} is not JSON ({error}): restore it or measure again"
        ) from None
    try:
        return _results(found)
    except ResultError as error:
        raise ResultError(f"{path.name}: {error}") from None


def read_all(folder: Path = FOLDER) -> list[Results]:
    """Read every result file. Raises ResultError."""
    return [read(path) for path in sorted(folder.glob("*.json"))]


def newest(suite: str, machine: str, folder: Path = FOLDER) -> Results | None:
    """Newest file of a suite on a machine of this name. Raises ResultError."""
    found = [r for r in read_all(folder) if (r.suite, r.machine.name) == (suite, machine)]
    return max(found, key=lambda results: results.date, default=None)


def _plain(value: Any) -> dict[str, Any]:
    """Return the fields as JSON, without those that are None or empty."""
    return dict(asdict(value, dict_factory=_filled))


def _filled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if value is not None and value not in ({}, ())}


def _results(found: Any) -> Results:
    fields = _Fields(found, "the file")
    if (schema := fields.take("schema", _is_count)) != SCHEMA:
        raise ResultError(f"schema {schema}, but this version reads schema {SCHEMA}")
    return fields.done(
        Results,
        suite=fields.take("suite", _is_text),
        machine=_machine(fields.take("machine", _is_object)),
        date=fields.take("date", _is_text),
        commit=fields.take("commit", _is_text, None),
        command=fields.take("command", _is_text),
        versions=fields.take("versions", _is_texts, {}),
        also=tuple(fields.take("also", _is_words, ())),
        source=fields.take("source", _is_text, None),
        rows=[
            _row(row, f"row {number}")
            for number, row in enumerate(fields.take("rows", _is_list), 1)
        ],
    )


def _machine(found: Any) -> Machine:
    fields = _Fields(found, "machine")
    return fields.done(
        Machine,
        name=fields.take("name", _is_text),
        cpu=fields.take("cpu", _is_text, None),
        architecture=fields.take("architecture", _is_text, None),
        cores=fields.take("cores", _is_count, None),
        features=tuple(fields.take("features", _is_words, ())),
        memory_bytes=fields.take("memory_bytes", _is_count, None),
        gpu=fields.take("gpu", _is_text, None),
    )


def _row(found: Any, place: str) -> Row:
    fields = _Fields(found, place)
    return fields.done(
        Row,
        table=fields.take("table", _is_text),
        work=fields.take("work", _is_text),
        variant=_named(fields, "variant", lambda value: _is_text(value) or _is_count(value)),
        time=_timing(fields.take("time", _is_object, None), f"{place}, time"),
        peers={
            name: _peer(peer, f"{place}, peer {name}")
            for name, peer in fields.take("peers", _is_object, {}).items()
        },
        values=_named(fields, "values", lambda value: _is_text(value) or _is_number(value)),
    )


def _named(fields: _Fields, name: str, check: Check) -> dict[str, Any]:
    found: dict[str, Any] = fields.take(name, _is_object, {})
    inner = _Fields(found, f"{fields.place}, {name}")
    return {key: inner.take(key, check) for key in found}


def _peer(found: Any, place: str) -> Peer:
    fields = _Fields(found, place)
    return fields.done(
        Peer,
        time=_timing(fields.take("time", _is_object, None), f"{place}, time"),
        ratio=fields.take("ratio", _is_positive, None),
        noise=fields.take("noise", _is_number, None),
        missing=fields.take("missing", _is_text, None),
    )


def _timing(found: Any, place: str) -> Timing | None:
    if found is None:
        return None
    fields = _Fields(found, place)
    quartiles = fields.take("quartiles", _is_pair, None)
    return fields.done(
        Timing,
        median=fields.take("median", _is_positive),
        quartiles=quartiles and tuple(quartiles),
        rounds=fields.take("rounds", _is_count, None),
    )


_REQUIRED = object()


class _Fields:
    """Fields of a JSON object, each taken once; `done` refuses those that are left."""

    def __init__(self, found: Any, place: str) -> None:
        if not isinstance(found, dict):
            raise ResultError(f"{place} is {_short(found)}, not an object")
        self.place, self.left = place, dict(found)

    def take(self, name: str, check: Check, default: Any = _REQUIRED) -> Any:
        value = self.left.pop(name, default)
        if value is _REQUIRED:
            raise ResultError(f"{self.place} has no field {name}")
        if value is not default and not check(value):
            raise ResultError(f"{self.place}: {name}={_short(value)} is not valid")
        return value

    def done(self, kind: Callable[..., T], **fields: Any) -> T:
        if self.left:
            raise ResultError(f"{self.place}: unknown field {min(self.left)}")
        return kind(**fields)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))
