"""Errors that kgen and its runtime raise on purpose.

A message is one line that names the kernel, the value, the limit and the remedy. Longer messages
are shortened to 500 characters. The docstrings become a table of docs/reference/python-runtime.md.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError", "AssembleError", "BudgetError", "BundleError", "DeviceError", "DeviceLost",
    "DeviceMismatchError", "EmulationError", "GraphError", "IntegrityError", "KgenError",
    "LaunchError", "OutOfMemory", "ScheduleError", "SpecError", "TargetError", "UnknownOperation",
    "VerificationError", "VersionError",
]  # fmt: skip


#: Longest message, and longest word in a message that is shortened, in characters.
MOST_CHARACTERS, MOST_OF_WORD = 500, 90


def shortened(message: str) -> str:
    """Return a message of at most 500 characters. A longer one becomes one line: first the middles
    of long words are left out, then the middle of the line. Its start names the kernel and its end
    the remedy."""
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
    """Base of all errors; the command line prints the message as one line and exits with 2."""

    def __init__(self, message: object = "") -> None:
        super().__init__(shortened(str(message)))


class SpecError(KgenError):
    """Contradictory or unsupported operation, shape, type or option."""


class GraphError(KgenError):
    """Model that cannot be read, or needs an operator that is not supported."""


class ScheduleError(KgenError):
    """Schedule that does not fit the spec or the target."""


class TargetError(KgenError):
    """Unknown target, or one that does not support the spec."""


class AssembleError(KgenError):
    """Assembler that is missing or rejects the source."""


class BundleError(KgenError):
    """File that is not a bundle, or contradicts itself."""


class IntegrityError(BundleError):
    """Bytes that do not match their digest."""


class VersionError(BundleError):
    """Bundle of a later schema."""


class DeviceError(KgenError):
    """No device runs the bundle, a driver failed, or the bundle is closed."""


class DeviceMismatchError(DeviceError):
    """Array of one device for a kernel of another."""


class OutOfMemory(DeviceError):
    """Not enough device memory."""


class LaunchError(DeviceError):
    """Kernel that the driver refuses or that does not end in time."""


class DeviceLost(DeviceError):
    """Device that can no longer be used, such as in a child of `fork`."""


class ArgumentError(KgenError):
    """Wrong name, shape, dtype, stride, alignment, overlap or index."""


class UnknownOperation(ArgumentError, AttributeError):
    """Operation that no kernel of the bundle has; also an AttributeError, for `hasattr`."""


class VerificationError(KgenError):
    """Kernel whose result is wrong."""


class BudgetError(KgenError):
    """File of performance budgets that cannot be used."""


class EmulationError(KgenError):
    """Program text that the emulator does not support, or a fault in it."""
