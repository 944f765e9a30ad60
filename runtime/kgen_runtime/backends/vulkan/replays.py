"""Replays of recorded launches."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from kgen_runtime.backend import Backend, LaunchSequence, PreparedSequence, SequenceStep
from kgen_runtime.backends.vulkan.recording import Recording
from kgen_runtime.errors import DeviceError


class Replayer(Protocol):
    """Object that replays recordings."""

    def replay(self, recording: Recording) -> None: ...

    def forget(self, recording: Recording) -> None: ...


class Replay:
    """Callable that replays a recording; the recording is released with it."""

    __slots__ = ("_backend", "_recording")

    def __init__(self, backend: Replayer, recording: Recording) -> None:
        self._backend, self._recording = backend, recording

    def __call__(self) -> None:
        self._backend.replay(self._recording)

    def __del__(self) -> None:
        if hasattr(self, "_recording") and not sys.is_finalizing():
            with suppress(DeviceError):
                self._backend.forget(self._recording)


class RecordedSequence(LaunchSequence):
    """Launches in one recording. For timing, they are made one by one."""

    def __init__(self, backend: Backend, steps: Sequence[SequenceStep], replay: Replay) -> None:
        self._backend, self._steps = backend, steps
        self._replay = replay

    def run(self) -> None:
        self._replay()

    def timed(self) -> list[float]:
        return PreparedSequence(self._backend, self._steps).timed()
