"""Devices in processes of their own, so that a kernel that crashes or hangs is a failed kernel.

A wrong address in machine code ends the process it runs in, and a wrong loop never ends. The other
side of the pipes is :mod:`kgen.check.execute.worker`; requests and answers are pickled tuples.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from kgen.check.execute.executor import Executor, Unavailable
from kgen.check.tensors import Bytes
from kgen.check.verify import cost
from kgen.errors import DeviceError, VerificationError
from kgen.parallel import children
from kgen_runtime.manifest import Extent3, KernelEntry
from kgen_runtime.select import backend_class

#: Opening a device and loading a kernel take less, even where the driver compiles it.
START_SECONDS = 60.0
#: Between two looks at what a process does; one that used less than this part of the time waits.
LOOK_SECONDS, WAITING = 1.0, 0.03


class IsolatedDevices:
    """First device of every backend, each opened on demand in a process of its own.

    Use it as a context manager.
    """

    def __init__(self) -> None:
        #: Their processes, by backend.
        self.open: dict[str, Worker] = {}

    def __enter__(self) -> IsolatedDevices:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for worker in self.open.values():
            worker.close()
        self.open.clear()

    def executor(self, backend: str, entry: KernelEntry, files: Mapping[str, bytes]) -> Executor:
        """The kernel, loaded. Raises Unavailable if there is no such device, or if it refuses."""
        if backend not in self.open:
            check_present(backend)
        if backend not in self.open or self.open[backend].ended:
            self.open[backend] = Worker(backend)
        return IsolatedExecutor(self.open[backend], entry, files)


def check_present(backend: str) -> None:
    """Raise Unavailable if there is no such device: sooner known here than by another process."""
    try:
        backend_class(backend).devices()
    except DeviceError as error:
        raise Unavailable(str(error)) from None


class Worker:
    """A process with one device."""

    def __init__(self, backend: str) -> None:
        command, environment = children.python(["-m", "kgen.check.execute.worker", backend])
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # An interrupt from the terminal is for this process, which then ends the other.
            start_new_session=True,
        )

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def ask(self, request: tuple[Any, ...], seconds: float) -> tuple[Any, ...]:
        """The answer to a request. Raises VerificationError if the process ends or takes longer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()
            if not answers_within(self._process.pid, self._process.stdout, seconds):
                self.close()
                raise VerificationError(f"the kernel did not end within {seconds:.0f} s")
            answer: tuple[Any, ...] = pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise VerificationError(f"the kernel ended its process with {self._ending()}") from None
        return answer

    def _ending(self) -> str:
        status = self._process.wait()
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def close(self) -> None:
        """End the process, whatever it does; safe to call twice."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # What was still to be written is lost with the process.
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


def answers_within(process: int, answers: IO[bytes], seconds: float) -> bool:
    """Whether there is something to read before the process has computed, or waited, that long.

    Time in which others have the CPU does not count: a busy machine makes no kernel hang.
    """
    look = min(LOOK_SECONDS, seconds)
    spent, before = 0.0, cpu_seconds(process)
    while spent < seconds:
        if select.select([answers], [], [], look)[0]:
            return True
        after = cpu_seconds(process)
        used, before = after - before, after
        spent += min(used, look) if used > WAITING * look else look
    return False


def cpu_seconds(process: int) -> float:
    """CPU seconds of a process so far; 0 where Linux does not tell (proc(5), /proc/PID/stat)."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


class IsolatedExecutor(Executor):
    """A kernel on a device in another process."""

    def __init__(self, worker: Worker, entry: KernelEntry, files: Mapping[str, bytes]) -> None:
        kind, *details = worker.ask(("load", entry, dict(files)), START_SECONDS)
        if kind != "loaded":
            raise Unavailable(details[0])
        self.on, self.form = details
        self._worker = worker
        self._seconds = START_SECONDS + cost.slowest_seconds(entry)

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        assert workgroups is None
        kind, result = self._worker.ask(("run", dict(buffers)), self._seconds)
        if kind != "done":
            raise VerificationError(result)
        for name, data in result.items():
            buffers[name][:] = data

    def close(self) -> None:
        # A process that ends now has nothing more to give back.
        with contextlib.suppress(VerificationError):
            if not self._worker.ended:
                self._worker.ask(("unload",), START_SECONDS)
