"""Lock that is free again in a child process.

fork(2) copies a lock in its current state. A lock that another thread of the parent held would
never be released, because that thread does not exist in the child.
"""

from __future__ import annotations

import os
import weakref
from _thread import allocate_lock  # threading takes longer to import.
from collections.abc import Callable
from typing import Any


class Lock:
    """Mutex, held as `with this.lock:`; released in a child after fork.

    It has no `__enter__`: Ctrl-C between two statements of a Python `__enter__`, or at the start of
    an `__exit__`, would leave the lock held for ever. `with` on an interpreter's own lock has no
    such gap.
    """

    __slots__ = ("__weakref__", "_make", "lock")

    def __init__(self, make: Callable[[], Any] = allocate_lock) -> None:
        """Create a lock with `make`, which may be another kind such as `_thread.RLock`."""
        self._make = make
        self.renew()
        _locks.add(self)

    def renew(self) -> None:
        self.lock = self._make()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _locks:
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
