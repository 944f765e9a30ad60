"""A lock that a child process has anew.

fork(2) copies a lock as it is: one that another thread of the parent held stays held for ever, as
that thread is not in the child.
"""

from __future__ import annotations

import os
import weakref
from _thread import allocate_lock  # threading takes a millisecond to import
from collections.abc import Callable
from typing import Any


class Lock:
    """A lock to be held as `with this.lock:`, by one thread at a time; free in a child after fork.

    It has no `__enter__` of its own: Ctrl-C between two statements of one, or at the start of an
    `__exit__`, would leave the lock held for ever, which `with` on an interpreter's lock cannot.
    """

    __slots__ = ("__weakref__", "_make", "lock")

    def __init__(self, make: Callable[[], Any] = allocate_lock) -> None:
        """`make` a lock of another kind, such as `_thread.RLock`."""
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
