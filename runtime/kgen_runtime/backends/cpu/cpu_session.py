"""Sessions of programs on the CPU: libkgen allocates their memory and runs their steps."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kgen_runtime import libkgen
from kgen_runtime.backends.cpu.jobs import pool
from kgen_runtime.calls.session import Buffers, Held, ProgramKernels, Session
from kgen_runtime.memory.host import bytes_at

if TYPE_CHECKING:
    import numpy.typing as npt

    from kgen_runtime.backend import Backend, HostBytes
    from kgen_runtime.calls.program_handle import ProgramHandle
    from kgen_runtime.schema.program import Value


def settle(handle: ProgramHandle, kernels: ProgramKernels, weights: Mapping[str, Held]) -> None:
    """Register the addresses of a program's machine code, constants and weights in libkgen. The
    caller keeps them alive while sessions run."""
    library, loaded = libkgen.library(), kernels.held()
    for key, entry in kernels.entries.items():
        one = loaded[key]
        functions = [launch.function for launch in one.handle.launches]
        constants = [
            one.constants[p.name].buffer if p.name in one.constants else None
            for p in entry.parameters
        ]
        libkgen.check(
            library.kgen_settle_kernel(
                handle.bundle,
                entry.name.encode(),
                (ctypes.c_uint64 * len(functions))(*functions),
                _addresses(constants),
            )
        )
    library.kgen_settle_weights(
        handle.address, _addresses([weights[w.name].buffer for w in handle.entry.weights])
    )


def _addresses(of: list[int | None]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(of))(*of)


class CpuSession(Session):
    """Session of a program whose addresses are registered with :func:`settle`."""

    checks_inputs = True

    def __init__(
        self,
        handle: ProgramHandle,
        backend: Backend,
        kernels: ProgramKernels,
        weights: Mapping[str, Held],
        num_threads: int,
        inputs: Buffers | None,
        outputs: Buffers | None,
    ) -> None:
        super().__init__(handle, backend, kernels)
        self._keep = (handle, weights)
        self._session = ctypes.c_void_p()
        self._library = libkgen.library()
        given = [
            None if buffers is None else _addresses([buffers[value.name] for value in values])
            for values, buffers in ((self.entry.inputs, inputs), (self.entry.outputs, outputs))
        ]
        libkgen.check(
            self._library.kgen_session_create_on(
                handle.address, pool(num_threads), *given, ctypes.byref(self._session)
            )
        )
        self._launch = partial(self._library.kgen_session_run, self._session)

    def __del__(self) -> None:
        if getattr(self, "_session", None):
            self._library.kgen_session_destroy(self._session)

    def input_buffer(self, value: Value) -> int:
        return int(self._library.kgen_session_input_data(self._session, value.name.encode()))

    def output_buffer(self, value: Value) -> int:
        return int(self._library.kgen_session_output_data(self._session, value.name.encode()))

    def output_shape(self, value: Value) -> tuple[int, ...]:
        shape = (ctypes.c_int64 * len(value.shape))()
        libkgen.check(
            self._library.kgen_session_output_shape(self._session, value.name.encode(), shape)
        )
        return tuple(shape)

    def reset(self) -> None:
        self._library.kgen_session_reset(self._session)

    def set_states(self, data: Mapping[str, HostBytes]) -> None:
        for name, values in data.items():
            libkgen.check(
                self._library.kgen_session_set_state(
                    self._session, name.encode(), values.ctypes.data, values.nbytes
                )
            )

    def _read_state(self, name: str, into: HostBytes) -> None:
        libkgen.check(
            self._library.kgen_session_get_state(
                self._session, name.encode(), into.ctypes.data, into.nbytes
            )
        )

    def run_step(self, number: int) -> None:
        self._library.kgen_session_run_step(self._session, number)

    def read_step(self, number: int, parameter: str, into: npt.NDArray[np.uint8]) -> None:
        kernel = self.kernels.entries[self.entry.steps[number].kernel]
        (place,) = (i for i, p in enumerate(kernel.parameters) if p.name == parameter)
        address = self._library.kgen_session_step_data(self._session, number, place)
        into[:] = bytes_at(address, into.nbytes)

    def _timed(self) -> list[float]:
        nanoseconds = (ctypes.c_int64 * len(self.entry.steps))()
        libkgen.check(
            self._library.kgen_session_profile(self._session, nanoseconds, len(nanoseconds))
        )
        return [taken * 1e-9 for taken in nanoseconds]
