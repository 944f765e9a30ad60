"""Launches captured once as a graph of the driver, for CUDA and HIP, and replayed with one call."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from kgen_runtime.backend import PreparedSequence, SequenceStep
from kgen_runtime.errors import DeviceError, DeviceLost, OutOfMemory


class Capturing(Protocol):
    """A backend whose driver captures what is launched on a stream."""

    def capture(self, steps: Sequence[SequenceStep]) -> Any:
        """A graph of these launches, in order, which replays them."""

    def replay(self, graph: Any) -> None:
        """Hand the graph to the default stream; do not wait."""

    def forget(self, graph: Any) -> None:
        """Give the graph back, when it is done."""


class CapturedSequence(PreparedSequence):
    """Launches as a graph; made one by one where a driver captures none of them."""

    def __init__(self, backend: Any, steps: Sequence[SequenceStep]) -> None:
        super().__init__(backend, steps)
        self._device: Capturing = backend
        self._graph: Any = None
        try:
            self._graph = self._device.capture(steps)
        except (OutOfMemory, DeviceLost):
            raise
        except DeviceError:
            pass  # a launch that is wrong itself says so in the first run

    def run(self) -> None:
        if self._graph is None:
            super().run()
        else:
            self._device.replay(self._graph)

    def __del__(self) -> None:
        if getattr(self, "_graph", None) is not None and not sys.is_finalizing():
            with suppress(DeviceError):
                self._device.forget(self._graph)
