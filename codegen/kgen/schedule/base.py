"""A schedule says how an operation is tiled; it proves on its own what needs no target.

What a target's limits decide is checked by that target's plan, which raises ScheduleError and
never clamps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Self

from kgen import suggest
from kgen.errors import ScheduleError
from kgen_runtime.values import frozen

#: What a user sets of a schedule: fields, which are numbers, and its `mainloop`, by name.
Overrides = Mapping[str, int | str]


class Origin(StrEnum):
    """Who chose the schedule."""

    MODEL = "model"
    TUNED = "tuned"
    USER = "user"


@frozen
class Schedule:
    """Base of all schedules. `mainloop` names the entry template's main loop."""

    mainloop: ClassVar[str]
    #: Numbers that may be 0; all others are 1 or more.
    may_be_zero: ClassVar[frozenset[str]] = frozenset()
    origin: Origin = Origin.MODEL

    @property
    def names(self) -> tuple[str, ...]:
        """Of the fields that a user may set."""
        return tuple(f.name for f in dataclasses.fields(self) if f.name != "origin")

    def override(self, **fields: int) -> Self:
        """A copy with some fields set by the user.

        Raises ScheduleError for a field that this schedule does not have, or a value it refuses.
        """
        for name, value in fields.items():
            if name not in self.names:
                question = suggest.meant(name, self.names, after=" ")
                raise ScheduleError(
                    f"{name}={value} is no field of the {self.mainloop} schedule; {question}"
                    f"its fields are {', '.join(self.names)}"
                )
        given = {name: self._typed(name, value) for name, value in fields.items()}
        return dataclasses.replace(self, **given, origin=Origin.USER) if fields else self

    def _typed(self, name: str, value: int) -> int:
        """The value of a switch, 0 or 1, as what it means."""
        if not isinstance(getattr(self, name), bool):
            return value
        if value not in (0, 1):
            raise ScheduleError(f"{name}={value} must be 0 (no) or 1 (yes)")
        return bool(value)

    def to_json(self) -> dict[str, Any]:
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {"mainloop": self.mainloop} | fields | {"origin": self.origin.value}

    @property
    def line(self) -> str:
        """What `kgen build --schedule` takes, and who chose it, for a kernel's header."""
        fields = "".join(f",{name}={int(getattr(self, name))}" for name in self.names)
        return f"mainloop={self.mainloop}{fields} ({self.origin})"

    def check_positive(self) -> None:
        for name, value in vars(self).items():
            if name == "origin" or isinstance(value, bool):
                continue
            least = 0 if name in self.may_be_zero else 1
            if not isinstance(value, int) or value < least:
                raise ScheduleError(f"{name}={value} must be a whole number of {least} or more")

    def check_divides(self, part: str, whole: str) -> None:
        """`part` must divide `whole`, both names of fields."""
        small, large = getattr(self, part), getattr(self, whole)
        if large % small:
            raise ScheduleError(
                f"{whole}={large} is not a multiple of {part}={small}; "
                f"try {whole}={-(-large // small) * small}"
            )
