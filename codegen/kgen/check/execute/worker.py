"""Worker process that runs kernels for :mod:`kgen.check.execute.isolate`.

``python -m kgen.check.execute.worker cpu`` starts one. It reads pickled requests from standard
input and answers on standard output:

- ``("load", entry, files)``: ``("loaded", device name, form)`` or ``("unavailable", why)``
- ``("run", buffers)``: ``("done", buffers)`` or ``("failed", why)``
- ``("unload",)``: ``("done",)``
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping
from typing import Any

from kgen.check.execute.device import DeviceExecutor
from kgen.check.tensors import Bytes
from kgen.errors import DeviceError, KgenError
from kgen.parallel import children
from kgen_runtime.backend import Backend, Code, choose_code
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.select import backend_class

Answer = tuple[Any, ...]


class Server:
    """Device of a worker, and the kernel that is loaded on it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._backend: Backend | None = None
        self._kernel: DeviceExecutor | None = None

    def answer(self, request: tuple[Any, ...]) -> Answer:
        kind, *details = request
        if kind == "load":
            return self._load(*details)
        if kind == "run":
            return self._run(*details)
        self._unload()
        return ("done",)

    def _load(self, entry: KernelEntry, files: Mapping[str, bytes]) -> Answer:
        try:
            self._backend = self._backend or backend_class(self._name)()
            chosen, refusal = choose_code(self._backend.described, entry)
            if not chosen:
                return ("unavailable", refusal)
            code = {m: Code(artifact=a, data=files[a.file]) for m, a in chosen.items()}
            self._kernel = DeviceExecutor(self._backend, entry, code)
        except DeviceError as error:
            return ("unavailable", str(error))
        return ("loaded", self._kernel.on, self._kernel.form)

    def _run(self, buffers: Mapping[str, Bytes]) -> Answer:
        assert self._kernel is not None
        try:
            self._kernel.run(buffers, None)
        except KgenError as error:
            return ("failed", str(error))
        return ("done", buffers)

    def _unload(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None


def main() -> None:
    children.end_with_writers(sys.stdin.fileno())
    # Drivers may print to standard output, so answers use a copy of the stream.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = Server(sys.argv[1])
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(server.answer(request), answers)
        answers.flush()


if __name__ == "__main__":
    main()
