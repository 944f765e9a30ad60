"""What stays in its process: pickled or copied, it would be addresses and handles of another's."""

from __future__ import annotations

from typing import NoReturn

from kgen_runtime.errors import ArgumentError


class Uncopied:
    """Refuses pickle and copy, which would make a second owner of the same memory or code."""

    __slots__ = ()
    #: What to do instead.
    _instead = "load the bundle in each process"

    def __reduce__(self) -> NoReturn:
        raise ArgumentError(
            f"{self!r} cannot be pickled or copied: it is memory or code of this process; "
            f"{self._instead}"
        )
