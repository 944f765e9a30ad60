"""Progress of a verification, with the estimated remaining time, every second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

#: Typical number of data sets per kernel.
DATA_SETS = 3
TICK_SECONDS = 1.0

Show = Callable[[str], None]


class Progress:
    """Progress reporter that calls `show` (context manager); None is silent.

    The expected time of a data set comes from the cost model in seconds on one idle core, corrected
    by the data sets that are done.
    """

    def __init__(self, show: Show | None, kernels: int) -> None:
        self._show, self._kernels = show, kernels
        self._number = 0
        self._name = self._what = ""
        #: Expected seconds of a data set, if known, and actual seconds per expected second so far.
        self._expected: float | None = None
        self._slowness = 1.0
        #: Number of data sets begun for this kernel, and when the last one began.
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
        """Begin the next kernel."""
        self._number += 1
        self._name, self._what = name, ""
        self._expected, self._begun = None, 0
        self.tell()

    def expect(self, seconds: float) -> None:
        """Set the cost of each data set of this kernel, in seconds on one idle core."""
        self._expected = seconds * self._slowness

    def data_set(self, name: str) -> None:
        """Begin the kernel's next data set."""
        now = time.monotonic()
        if self._begun and self._expected:
            took = now - self._since
            # Shorter times are mostly overhead.
            if took > TICK_SECONDS:
                self._slowness *= took / self._expected
            self._expected = took
        self._what, self._since = f"{name} data", now
        self._begun += 1
        self.tell()

    def line(self) -> str:
        """Return the progress line; number and time come first, as a terminal may be narrow."""
        words = f"verifying {self._number} of {self._kernels}"
        if (left := self._left()) is not None:
            words += f", about {left:.0f} s left of it"
        return ": ".join(filter(None, (words, self._name, self._what)))

    def tell(self) -> None:
        if self._show is not None:
            with self._told:
                self._show(self.line())

    def _left(self) -> float | None:
        """Return the remaining seconds of this kernel, or None if unknown."""
        if self._expected is None or not self._begun:
            return None
        spent = time.monotonic() - self._since
        each = max(self._expected, spent)
        return each - spent + each * max(0, DATA_SETS - self._begun)

    def _tick(self) -> None:
        while not self._ended.wait(TICK_SECONDS):
            self.tell()
