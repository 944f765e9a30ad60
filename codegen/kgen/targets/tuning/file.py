"""Tuning files: which schedule was the fastest for which sizes of an operation on one core.

A file is TOML. `[sources.ID]` says who measured: `kind` is "measured", or "exported" for the
choices of the rules that an older version of kgen had. `[classes]` maps a class of kernels
(:func:`kgen.targets.choose.class_of`) to its rows, one per line of a literal string, which
`tomllib` reads much faster than other strings::

    M N K  mainloop=blis,mr=6,nr=16,...  gain  source  TIMEus

The sizes are those of :func:`kgen.targets.choose.sizes_of`, the schedule is an argument of `kgen
build --schedule` with all fields, and `gain` is the time of the cost model's choice over that of
the schedule ("-" if it was not measured). The measured time may be absent.

`[checked]` maps a class to the sizes, with their source, at which the choice without a row was
measured and is good enough; a survey does not measure them again.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kgen.errors import TargetError
from kgen_runtime.values import frozen

SCHEMA = 1
NOT_MEASURED = "-"
MICROSECONDS = "us"
COLD = "cold, one thread"
#: Keys of sources, which TOML takes without quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]+")
REMEDY = "repair the line, remove it, or measure again with kgen tune"


@frozen
class TuningSource:
    """Origin of some rows: machine, day and commit of kgen that chose their schedules."""

    kind: str
    machine: str
    day: str
    commit: str
    #: Caches and threads of the measurement.
    conditions: str = ""

    @property
    def timed_under(self) -> str:
        """Condition of the rows' times: cold caches and one thread, as the model assumes, if that
        was measured."""
        known = self.conditions.split("; ")
        return COLD if COLD in known else known[-1]


@frozen
class TunedRow:
    """A schedule for the sizes of one kernel; `line` counts from 1 in the rows of the class."""

    sizes: tuple[int, ...]
    fields: Mapping[str, int | str]
    gain: float | None
    source: str
    #: Measured time of a call under the source's condition `timed_under`.
    seconds: float | None = None
    line: int = 0

    @property
    def text(self) -> str:
        schedule = ",".join(f"{name}={value}" for name, value in self.fields.items())
        gain = NOT_MEASURED if self.gain is None else f"{self.gain:.3g}"
        words = [*map(str, self.sizes), schedule, gain, self.source]
        if self.seconds is not None:
            words.append(f"{self.seconds * 1e6:.4g}{MICROSECONDS}")
        return " ".join(words)


@dataclasses.dataclass(kw_only=True)
class Tuning:
    """Contents of a tuning file. `rows` of a class are read when they are first asked for."""

    name: str
    core: str
    sources: Mapping[str, TuningSource]
    texts: Mapping[str, str]
    #: Sizes and source, a line each, by class.
    checked: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Leave out a row that cannot be used instead of raising TargetError.
    is_lenient: bool = False
    _rows: dict[str, tuple[TunedRow, ...]] = dataclasses.field(default_factory=dict)

    def rows(self, class_name: str) -> tuple[TunedRow, ...]:
        """Return the rows of a class of kernels. Raises TargetError."""
        if class_name not in self._rows:
            self._rows[class_name] = tuple(self._parsed(class_name))
        return self._rows[class_name]

    def _parsed(self, class_name: str) -> Iterable[TunedRow]:
        for line, text in enumerate(self.texts.get(class_name, "").splitlines(), 1):
            if not text.strip():
                continue
            try:
                yield self._row(text, line)
            except ValueError as error:
                self.refuse(class_name, line, str(error))

    def _row(self, text: str, line: int) -> TunedRow:
        words = text.split()
        seconds = None
        if words[-1][0].isdigit() and words[-1].endswith(MICROSECONDS):
            seconds = _positive(words.pop().removesuffix(MICROSECONDS), "time") * 1e-6
        if len(words) < 4:
            raise ValueError(f"{text!r} is not sizes, schedule, gain and source")
        *sizes, schedule, gain, source = words
        if source not in self.sources:
            raise ValueError(f"source {source} is not in [sources]")
        return TunedRow(
            sizes=sizes_from(sizes),
            fields=fields_of(schedule),
            gain=None if gain == NOT_MEASURED else _positive(gain, "gain"),
            source=source,
            seconds=seconds,
            line=line,
        )

    def refuse(self, class_name: str, line: int, why: str) -> None:
        """Raise TargetError for a row, unless the file is read leniently."""
        if not self.is_lenient:
            raise TargetError(f"{self.name}: row {line} of class {class_name!r}: {why}; {REMEDY}")


def fields_of(schedule: str) -> dict[str, int | str]:
    """Return the fields of a schedule's text. Raises ValueError."""
    fields: dict[str, int | str] = {}
    for part in schedule.split(","):
        name, equals, value = part.partition("=")
        if not equals or name in fields:
            raise ValueError(f"{part!r} is not field=value, or occurs twice")
        if name == "mainloop":
            fields[name] = value
        elif value.isascii() and value.isdigit():
            fields[name] = int(value)
        else:
            raise ValueError(f"{name}={value} is not an integer")
    return fields


def sizes_from(words: Iterable[str]) -> tuple[int, ...]:
    """Return sizes, which are at least 1, from text. Raises ValueError."""
    sizes = []
    for word in words:
        if not word.isascii() or not word.isdigit():
            raise ValueError(f"size {word!r} is not an integer")
        if int(word) == 0:
            raise ValueError("a size is 0")
        sizes.append(int(word))
    return tuple(sizes)


def _positive(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ValueError(f"{what} {text!r} is not a number above 0")
    return value


def parse(text: str, name: str, *, is_lenient: bool = False) -> Tuning:
    """Read a tuning file's text; `name` stands in messages. Raises TargetError."""
    import tomllib

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TargetError(f"{name} is not a tuning file: {error}; {REMEDY}") from None
    if (schema := found.get("schema")) != SCHEMA:
        raise TargetError(
            f"{name} has schema {schema!r}; this version of kgen reads schema {SCHEMA}; measure "
            "again with kgen tune"
        )
    sources = {key: _source(key, value, name) for key, value in _table(found, "sources", name)}
    texts, checked = (dict(_table(found, key, name)) for key in ("classes", "checked"))
    if not isinstance(core := found.get("core"), str) or not all(
        isinstance(rows, str) for rows in (*texts.values(), *checked.values())
    ):
        raise TargetError(f"{name}: core and all classes must be text; {REMEDY}")
    return Tuning(
        name=name, core=core, sources=sources, texts=texts, checked=checked, is_lenient=is_lenient
    )


def _table(found: Mapping[str, Any], key: str, name: str) -> Iterable[tuple[str, Any]]:
    table = found.get(key, {})
    if not isinstance(table, dict):
        raise TargetError(f"{name}: {key} is not a table; {REMEDY}")
    return table.items()


def _source(key: str, value: Any, name: str) -> TuningSource:
    if not _BARE.fullmatch(key):
        raise TargetError(f"{name}: source {key!r} is not letters, digits, _ and -; {REMEDY}")
    try:
        return TuningSource(**{field: str(text) for field, text in value.items()})
    except (AttributeError, TypeError) as error:
        raise TargetError(f"{name}: sources.{key}: {error}; {REMEDY}") from None


def read(path: Path, *, is_lenient: bool = False) -> Tuning:
    """Read a tuning file. Raises TargetError."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise TargetError(f"{path} is not UTF-8 text; name a file of kgen tune") from None
    except OSError as error:
        why = error.strerror or error
        raise TargetError(f"{path} cannot be read: {why}; name a file of kgen tune") from None
    return parse(text, str(path), is_lenient=is_lenient)


def written(
    core: str,
    sources: Mapping[str, TuningSource],
    classes: Mapping[str, Iterable[TunedRow]],
    checked: Mapping[str, Iterable[str]] | None = None,
) -> str:
    """Return the text of a tuning file, the same for the same contents."""
    parts = [
        f"# Schedules for {core}: written by kgen tune, read by every build; not edited by hand.",
        f"schema = {SCHEMA}",
        f"core = {_quoted(core)}",
    ]
    for key, source in sorted(sources.items()):
        fields = dataclasses.fields(source)
        parts += ["", f"[sources.{key}]"]
        parts += [f"{field.name} = {_quoted(getattr(source, field.name))}" for field in fields]
    ordered = {
        name: [row.text for row in sorted(rows, key=lambda row: row.sizes)]
        for name, rows in classes.items()
    }
    for title, tables in (("classes", ordered), ("checked", checked or {})):
        parts += ["", f"[{title}]"] * bool(tables or title == "classes")
        for name, lines in sorted(tables.items()):
            parts += [f"{_quoted(name)} = '''", *lines, "'''"]
    return "\n".join(parts) + "\n"


def _quoted(text: str) -> str:
    """Return a TOML string, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def file_name(core: str) -> str:
    """Return the name of a core's file: its name in small letters, with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", core.lower()) + ".toml"


@cache
def shipped(core: str) -> Tuning | None:
    """Return the tuning file of a core that kgen ships with, or None."""
    path = Path(__file__).with_name(file_name(core))
    return parse(path.read_text(encoding="utf-8"), file_name(core)) if path.is_file() else None
