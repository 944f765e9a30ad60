"""Every error that kgen and its runtime raise on purpose.

::

    KgenError
    ├── SpecError             the problem itself is not well formed
    ├── GraphError            a model that cannot be read, or that kgen has no kernels for
    ├── ScheduleError         the tiling does not fit the spec or the target
    ├── TargetError           unknown target, or one that cannot do what the spec asks
    ├── AssembleError         an assembler is missing or rejected the source
    ├── BundleError           the file is not a readable bundle
    │   ├── IntegrityError    a digest does not match
    │   └── VersionError      a schema this runtime does not know
    ├── DeviceError           no device, no driver, or the driver failed
    │   ├── DeviceMismatchError   an array of one device given to another
    │   ├── OutOfMemory
    │   ├── LaunchError
    │   └── DeviceLost
    ├── ArgumentError         a kernel call with a wrong shape, type, stride or flag
    │   └── UnknownOperation  an operation that no kernel here has; also an AttributeError
    ├── VerificationError     a kernel's result is wrong
    ├── BudgetError           a file of performance budgets that cannot be used
    └── EmulationError        the emulator met a fault in the program, or a word it does not know

A message is one line that names the kernel, the offending value, the limit and the remedy. It has
at most 500 characters: longer values are shortened here, whoever raises the error.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "AssembleError",
    "BudgetError",
    "BundleError",
    "DeviceError",
    "DeviceLost",
    "DeviceMismatchError",
    "EmulationError",
    "GraphError",
    "IntegrityError",
    "KgenError",
    "LaunchError",
    "OutOfMemory",
    "ScheduleError",
    "SpecError",
    "TargetError",
    "UnknownOperation",
    "VerificationError",
    "VersionError",
]


#: Characters of a message, and of a word of a message that has more.
MOST_CHARACTERS, MOST_OF_WORD = 500, 90


def shortened(message: str) -> str:
    """The message, if it is not too long; else one line with the middle of long words, and then of
    the whole, left out: its start names the place, and its end the remedy."""
    if len(message) <= MOST_CHARACTERS:
        return message
    words = message.split()
    ends = MOST_OF_WORD // 3
    line = " ".join(
        word if len(word) <= MOST_OF_WORD else f"{word[: 2 * ends - 3]}...{word[-ends:]}"
        for word in words
    )
    if len(line) <= MOST_CHARACTERS:
        return line
    tail = MOST_CHARACTERS // 3
    return f"{line[: MOST_CHARACTERS - tail - 5]} ... {line[-tail:]}"


class KgenError(Exception):
    """Root of the tree; the command line prints it as one line and exits with 2."""

    def __init__(self, message: object = "") -> None:
        super().__init__(shortened(str(message)))


class SpecError(KgenError):
    pass


class GraphError(KgenError):
    pass


class ScheduleError(KgenError):
    pass


class TargetError(KgenError):
    pass


class AssembleError(KgenError):
    pass


class BundleError(KgenError):
    pass


class IntegrityError(BundleError):
    pass


class VersionError(BundleError):
    pass


class DeviceError(KgenError):
    pass


class DeviceMismatchError(DeviceError):
    pass


class OutOfMemory(DeviceError):
    pass


class LaunchError(DeviceError):
    pass


class DeviceLost(DeviceError):
    pass


class ArgumentError(KgenError):
    pass


class UnknownOperation(ArgumentError, AttributeError):
    """Operations are attributes, and `hasattr` asks for an AttributeError."""


class VerificationError(KgenError):
    pass


class BudgetError(KgenError):
    pass


class EmulationError(KgenError):
    pass
