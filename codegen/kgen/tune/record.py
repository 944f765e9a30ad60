"""Tuning file under construction: saved after each kernel, so that a search can resume."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from kgen.errors import TargetError
from kgen.schedule import Schedule
from kgen.targets.choose import schedule_fields
from kgen.targets.tuning import file
from kgen.targets.tuning.file import TunedRow, Tuning, TuningSource, read, written
from kgen_runtime.files import replacing

#: Limits of a file, and the bytes of a long row.
MOST_ROWS, MOST_BYTES, ROW_BYTES = 2000, 300_000, 400
MEASURED, EXPORTED = "measured", "exported"
Sizes = tuple[int, ...]


@dataclasses.dataclass(kw_only=True)
class TuningFile:
    """Rows and checked sizes by class, and the sources of both."""

    path: Path
    core: str
    sources: dict[str, TuningSource] = dataclasses.field(default_factory=dict)
    rows: dict[str, dict[Sizes, TunedRow]] = dataclasses.field(default_factory=dict)
    #: Source by class and sizes.
    checked: dict[str, dict[Sizes, str]] = dataclasses.field(default_factory=dict)

    @classmethod
    def opened(cls, path: Path, core: str) -> TuningFile:
        """Read the file, if it exists. Raises TargetError, also for another core's file."""
        check_place(path)
        if not path.exists():
            return cls(path=path, core=core)
        found = read(path)
        if found.core != core:
            raise TargetError(
                f"{path} has schedules for {found.core!r}, not for {core!r}; name another file "
                "with -o"
            )
        return cls(
            path=path,
            core=core,
            sources=dict(found.sources),
            rows={name: {row.sizes: row for row in found.rows(name)} for name in found.texts},
            checked={name: _checked(found, name) for name in found.checked},
        )

    @property
    def is_shipped(self) -> bool:
        """Whether this is the core's file that kgen ships."""
        return self.path.resolve() == Path(file.__file__).with_name(file.file_name(self.core))

    def tuning(self, without: tuple[str, Sizes] | None = None) -> Tuning:
        """Return the rows as builds read them, optionally without those of a class and sizes.

        Rows with unknown fields are dropped: they are measured again.
        """
        name, sizes = without or ("", ())
        rows = {
            each: tuple(row for row in own.values() if each != name or row.sizes != sizes)
            for each, own in self.rows.items()
        }
        return Tuning(
            name=str(self.path),
            core=self.core,
            sources=self.sources,
            texts={},
            is_lenient=True,
            _rows=rows,
        )

    def row(self, name: str, sizes: Sizes) -> TunedRow | None:
        return self.rows.get(name, {}).get(sizes)

    def kind(self, row: TunedRow) -> str:
        return self.sources[row.source].kind

    def is_done(self, name: str, sizes: Sizes, commit: str) -> bool:
        """Whether a kernel needs no further measurement.

        A measured row counts for every commit of kgen, a check only for the commit it was made on.
        """
        if (row := self.row(name, sizes)) is not None and self.kind(row) == MEASURED:
            return True
        source = self.checked.get(name, {}).get(sizes)
        return source is not None and self.sources[source].commit == commit

    def add(
        self,
        name: str,
        sizes: Sizes,
        schedule: Schedule,
        source: TuningSource,
        *,
        gain: float | None,
        seconds: float | None = None,
    ) -> TunedRow:
        """Add a row, in place of an older one of the same sizes."""
        row = TunedRow(
            sizes=sizes,
            fields=schedule_fields(schedule),
            gain=gain,
            source=self._key(source),
            seconds=seconds,
        )
        self.rows.setdefault(name, {})[sizes] = row
        self.checked.get(name, {}).pop(sizes, None)
        return row

    def check(self, name: str, sizes: Sizes, source: TuningSource) -> None:
        """Record that the choice without a row is good enough; remove an existing row."""
        self.rows.get(name, {}).pop(sizes, None)
        self.checked.setdefault(name, {})[sizes] = self._key(source)

    def _key(self, source: TuningSource) -> str:
        """Return the key of a source; a new source is added."""
        for key, known in self.sources.items():
            if known == source:
                return key
        key = next(k for i in range(len(self.sources) + 1) if (k := f"s{i}") not in self.sources)
        self.sources[key] = source
        return key

    def save(self) -> None:
        """Write the file atomically. Raises TargetError, also for a file beyond its limits.

        No row is dropped to make room.
        """
        text = self.text().encode()
        if self.count > MOST_ROWS or len(text) > MOST_BYTES:
            raise TargetError(
                f"{self.path} would have {self.count} rows in {len(text)} bytes; the limits are "
                f"{MOST_ROWS} rows and {MOST_BYTES} bytes; kgen tune --survey drops rows that no "
                "build needs, or name another file with -o"
            )
        try:
            with replacing(self.path) as output:
                output.write(text)
        except OSError as error:
            raise TargetError(
                f"{self.path} cannot be written: {error.strerror}; name another file with -o"
            ) from None

    def has_room(self, rows: int) -> bool:
        """Whether this many more rows are within the limits."""
        nbytes = len(self.text().encode()) + rows * ROW_BYTES
        return self.count + rows <= MOST_ROWS and nbytes <= MOST_BYTES

    @property
    def count(self) -> int:
        return sum(map(len, self.rows.values()))

    def text(self) -> str:
        rows = {name: own.values() for name, own in self.rows.items() if own}
        checked = {
            name: [f"{' '.join(map(str, sizes))} {key}" for sizes, key in sorted(own.items())]
            for name, own in self.checked.items()
            if own
        }
        used = {row.source for own in rows.values() for row in own}
        used |= {key for own in self.checked.values() for key in own.values()}
        sources = {key: source for key, source in self.sources.items() if key in used}
        return written(self.core, sources, rows, checked)


def _checked(found: Tuning, name: str) -> dict[Sizes, str]:
    """Return the checked sizes of a class with their sources. Raises TargetError."""
    checked: dict[Sizes, str] = {}
    for line in found.checked[name].splitlines():
        *sizes, key = line.split() or [""]
        try:
            checked[file.sizes_from(sizes)] = key
            if key not in found.sources:
                raise ValueError(f"source {key} is not in [sources]")
        except ValueError as error:
            raise TargetError(
                f"{found.name}: checked sizes of class {name!r}: {error}; {file.REMEDY}"
            ) from None
    return checked


def check_place(path: Path) -> None:
    """Raise TargetError for a file that cannot be created."""
    if not path.parent.is_dir():
        raise TargetError(f"{path}: {path.parent} is not a directory; make it first")
    if path.exists() and not path.is_file():
        raise TargetError(f"{path} is a device or folder, not a plain file; name another with -o")
