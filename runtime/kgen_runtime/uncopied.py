"""Refusal to pickle or copy objects that own memory or code of one process."""

from __future__ import annotations

from typing import NoReturn

from kgen_runtime.errors import ArgumentError


class Uncopied:
    """Base of objects that refuse pickle and copy: a copy would own the same memory or code."""

    __slots__ = ()
    #: Remedy in the message.
    _instead = "load the bundle in each process"

    def __reduce__(self) -> NoReturn:
        raise ArgumentError(
            f"{type(self).__name__} objects cannot be pickled or copied: they belong to one "
            f"process; {self._instead}"
        )
