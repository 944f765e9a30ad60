"""Powers of two: exact logarithms, rounding, and a check of schedules."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import Schedule


def log2(value: int) -> int:
    """Return the exact base-2 logarithm of a power of two."""
    assert value > 0 and value & (value - 1) == 0, value
    return value.bit_length() - 1


def power_of_two(value: int) -> int:
    """Return the least power of two that is not below `value`."""
    return 1 << (value - 1).bit_length()


def check_powers_of_two(schedule: Schedule, *names: str) -> None:
    """Check that these fields are powers of two, because addresses use shifts and masks. Raises
    ScheduleError."""
    for name in names:
        value = getattr(schedule, name)
        if value & (value - 1):
            lower = 1 << (value.bit_length() - 1)
            raise ScheduleError(
                f"{name}={value} is not a power of two; try {name}={lower} or {name}={2 * lower}"
            )


class RoundingUnit(int):
    """Power of two to whose multiples code rounds an extent, by masks and shifts."""

    @property
    def mask(self) -> int:
        """Mask that rounds down by `and`, or up if `less_one` was added before."""
        return -self

    @property
    def less_one(self) -> int:
        return self - 1

    @property
    def shift(self) -> int:
        """Shift to the right that divides an extent by the unit."""
        return log2(self)
