"""Progress of a verification and its estimated time, printed every second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

#: Data sets of a kernel, about.
DATA_SETS = 3
TICK_SECONDS = 1.0

Show = Callable[[str], None]


class Progress:
    """Tells `show` about one kernel after another; a context manager. Nothing is told to None.

    How long a data set takes is what it is expected to until the first one is done: work that
    takes a second on one quiet core, times what such work took here before.
    """

    def __init__(self, show: Show | None, kernels: int) -> None:
        self._show, self._kernels = show, kernels
        self._number = 0
        self._name = self._what = ""
        #: Seconds that a data set is expected to take, if known, and that one of a second took.
        self._expected: float | None = None
        self._slowness = 1.0
        #: Data sets begun of this kernel, and when the last of them was.
        self._begun, self._since = 0, 0.0
        self._told, self._ended = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        if self._show is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def kernel(self, name: str) -> None:
        """The next kernel begins."""
        self._number += 1
        self._name, self._what = name, ""
        self._expected, self._begun = None, 0
        self.tell()

    def expect(self, seconds: float) -> None:
        """Each data set of this kernel is so many seconds of work on one quiet core."""
        self._expected = seconds * self._slowness

    def data_set(self, name: str) -> None:
        """The kernel's next data set begins."""
        now = time.monotonic()
        if self._begun and self._expected:
            took = now - self._since
            # What takes less time is hardly the work that was counted.
            if took > TICK_SECONDS:
                self._slowness *= took / self._expected
            self._expected = took
        self._what, self._since = f"{name} data", now
        self._begun += 1
        self.tell()

    def line(self) -> str:
        """Progress line, the kernel's number and time left first: a terminal may be narrow."""
        words = f"verifying {self._number} of {self._kernels}"
        if (left := self._left()) is not None:
            words += f", about {left:.0f} s left of it"
        return ": ".join(filter(None, (words, self._name, self._what)))

    def tell(self) -> None:
        if self._show is not None:
            with self._told:
                self._show(self.line())

    def _left(self) -> float | None:
        """Seconds until this kernel is done, if that can be said."""
        if self._expected is None or not self._begun:
            return None
        spent = time.monotonic() - self._since
        each = max(self._expected, spent)
        return each - spent + each * max(0, DATA_SETS - self._begun)

    def _tick(self) -> None:
        while not self._ended.wait(TICK_SECONDS):
            self.tell()
