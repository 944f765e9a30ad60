"""Schedule: every decision that affects a kernel's speed and not its result.

A type declares its fields: a comment above each says what it means, with the unit in brackets
first, and `may_be_zero`, `most` and `divides` say which values it accepts. These need no target. A
plan checks the limits of its target, raises ScheduleError, and never changes a value.
docs/reference/schedule-fields.md lists all fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Self

from kgen import suggest
from kgen.errors import ScheduleError
from kgen_runtime.values import frozen

#: Values that a user sets by name: fields, which are numbers, and the `mainloop`.
Overrides = Mapping[str, int | str]
#: Former names of fields, which bundles and tuning data of older versions have.
FORMER_NAMES: Mapping[str, str] = {"num_ctas": "num_workgroups", "together": "tasks_per_pass"}


def current_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return all fields of a schedule of an older version, by the names of this version."""
    found = {FORMER_NAMES.get(name, name): value for name, value in fields.items()}
    if "num_workgroups" in found:
        # AMD had no stream_k: a number of workgroups turned stream-k on.
        found.setdefault("stream_k", found["num_workgroups"] > 0)
    return found


class ScheduleOrigin(StrEnum):
    """Origin of a schedule: the cost model, the tuner or the user."""

    MODEL = "model"
    TUNED = "tuned"
    USER = "user"


@frozen
class Schedule:
    """Base of all schedules. `mainloop` names the entry template's main loop."""

    mainloop: ClassVar[str]
    #: Fields that may be 0; all others are at least 1.
    may_be_zero: ClassVar[frozenset[str]] = frozenset()
    #: Largest values of fields.
    most: ClassVar[Mapping[str, int]] = {}
    #: Fields that must divide another field.
    divides: ClassVar[Mapping[str, str]] = {}
    origin: ScheduleOrigin = ScheduleOrigin.MODEL

    def __post_init__(self) -> None:
        """Raise ScheduleError for a value that the type does not accept."""
        for name, value in vars(self).items():
            if name != "origin" and not isinstance(value, bool):
                self._check_range(name, value)
        for part, whole in self.divides.items():
            self.check_divides(part, whole)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields that a user may set."""
        return tuple(f.name for f in dataclasses.fields(self) if f.name != "origin")

    @classmethod
    def kind_of(cls, fields: Mapping[str, int]) -> type[Any]:
        """Return the type of a schedule with these fields: this class, or one that needs less."""
        return cls

    def override(self, **fields: int) -> Self:
        """Return a copy with some fields set by the user.

        Raises ScheduleError for an unknown field, or a value that is out of range.
        """
        for name, value in fields.items():
            if name not in self.names:
                question = suggest.meant(name, self.names, after=" ")
                raise ScheduleError(
                    f"{name}={value} is not a field of the {self.mainloop} schedule; {question}"
                    f"its fields are {', '.join(self.names)}"
                )
        given = {name: self._typed(name, value) for name, value in fields.items()}
        return dataclasses.replace(self, **given, origin=ScheduleOrigin.USER) if fields else self

    def _typed(self, name: str, value: int) -> int:
        """Convert the value of a Boolean field, 0 or 1, to bool."""
        if not isinstance(getattr(self, name), bool):
            return value
        if value not in (0, 1):
            raise ScheduleError(f"{name}={value} must be 0 or 1")
        return bool(value)

    def to_json(self) -> dict[str, Any]:
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {"mainloop": self.mainloop} | fields | {"origin": self.origin.value}

    @property
    def line(self) -> str:
        """Argument of `kgen build --schedule`, and who chose it, for a kernel's header."""
        fields = "".join(f",{name}={int(getattr(self, name))}" for name in self.names)
        return f"mainloop={self.mainloop}{fields} ({self.origin})"

    def _check_range(self, name: str, value: object) -> None:
        least, most = 0 if name in self.may_be_zero else 1, self.most.get(name)
        if not isinstance(value, int) or value < least:
            raise ScheduleError(f"{name}={value} must be an integer of {least} or more")
        if most is not None and value > most:
            raise ScheduleError(f"{name}={value} is more than {most}; try {name}={most}")

    def check_divides(self, part: str, whole: str) -> None:
        """Raise ScheduleError unless the field `part` divides the field `whole`."""
        small, large = getattr(self, part), getattr(self, whole)
        if large % small:
            raise ScheduleError(
                f"{whole}={large} is not a multiple of {part}={small}; "
                f"try {whole}={-(-large // small) * small}"
            )
