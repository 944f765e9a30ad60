"""Devices in separate processes, so that a kernel that crashes or hangs only fails itself.

A wrong address in machine code ends the process, and a wrong loop never ends. The other side of the
pipes is :mod:`kgen.check.execute.worker`; requests and answers are pickled tuples.
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

#: Longest time to open a device and load a kernel, including the driver's compilation.
START_SECONDS = 60.0
#: Seconds between two checks of a worker, and the share of CPU time below which it counts as
#: waiting.
LOOK_SECONDS, WAITING = 1.0, 0.03


class IsolatedDevices:
    """First device of every backend, each opened on demand in its own process (context manager)."""

    def __init__(self) -> None:
        #: Worker processes by backend.
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
        """Load a kernel. Raises Unavailable if the device is absent or refuses the kernel."""
        if backend not in self.open:
            check_present(backend)
        if backend not in self.open or self.open[backend].ended:
            self.open[backend] = Worker(backend)
        return IsolatedExecutor(self.open[backend], entry, files)


def check_present(backend: str) -> None:
    """Raise Unavailable if there is no such device, without starting a process."""
    try:
        backend_class(backend).devices()
    except DeviceError as error:
        raise Unavailable(str(error)) from None


class Worker:
    """Process with one device."""

    def __init__(self, backend: str) -> None:
        command, environment = children.python(["-m", "kgen.check.execute.worker", backend])
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # An interrupt from the terminal goes to this process, which then ends the worker.
            start_new_session=True,
        )

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def ask(self, request: tuple[Any, ...], seconds: float) -> tuple[Any, ...]:
        """Return the answer to a request.

        Raises VerificationError if the process ends or is too slow.
        """
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
        """End the process; safe to call twice."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # Unsent requests are lost with the process.
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


def answers_within(process: int, answers: IO[bytes], seconds: float) -> bool:
    """Whether an answer arrives before the process has computed or waited that long.

    Time in which other processes have the CPU does not count, so a busy machine causes no timeout.
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
    """Return the CPU seconds of a process.

    The result is 0 where the system does not tell (proc(5), /proc/PID/stat).
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


class IsolatedExecutor(Executor):
    """Executor of a kernel on a device in another process."""

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
        # A process that ends meanwhile has nothing to release.
        with contextlib.suppress(VerificationError):
            if not self._worker.ended:
                self._worker.ask(("unload",), START_SECONDS)
