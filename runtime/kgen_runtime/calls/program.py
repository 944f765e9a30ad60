"""Compiled model on one device: run it with host arrays, or prepare a call with fixed arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kgen_runtime.array import Array, host_array
from kgen_runtime.backend import Backend
from kgen_runtime.calls.address_finders import holder
from kgen_runtime.calls.arguments import Slot
from kgen_runtime.calls.host_values import (
    Importer,
    first_importer,
    imported,
    importer,
    new_output,
    state_value,
)
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.calls.loaded import LoadedKernel
from kgen_runtime.calls.named_arguments import by_name, merged
from kgen_runtime.calls.program_session import ProgramSession, StateBytes, result
from kgen_runtime.calls.session import Buffers, DeviceSession, Held, ProgramKernels, Session
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.known_names import known_names
from kgen_runtime.locks import Lock
from kgen_runtime.manifest import TensorParam
from kgen_runtime.memory import dlpack
from kgen_runtime.schema.program import Value
from kgen_runtime.uncopied import Uncopied
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.calls.cache_places import CachePlaces
    from kgen_runtime.calls.program_handle import ProgramHandle
    from kgen_runtime.calls.session import SessionMaker

#: Runs of which a profile takes the median; seconds after which it starts no further run.
PROFILE_RUNS, PROFILE_SECONDS = 20, 2.0
R = TypeVar("R")


@frozen
class StepTime:
    """Time of one step of a program; `nodes` are the ONNX nodes that the step computes."""

    kernel: str
    nodes: tuple[str, ...]
    seconds: float


@frozen
class TensorInfo:
    """Name, shape and element type of an input, output or state."""

    name: str
    shape: tuple[int, ...]
    dtype: DType

    def __repr__(self) -> str:
        return f"{self.name}: {'x'.join(map(str, self.shape)) or '()'} {self.dtype}"


class LoadedProgram(Uncopied):
    """Compiled model on one device."""

    def __init__(
        self,
        backend: Backend,
        handle: ProgramHandle,
        kernels: Mapping[str, Kernel],
        weights: Mapping[str, Held],
    ) -> None:
        """Bind a program; `kernels` are given by key."""
        self.entry = entry = handle.entry
        self.backend = backend
        self._kernels = ProgramKernels(entry.name, kernels)
        #: Objects that use the bundle's file, which may be mapped; None after `close`.
        self._opened: tuple[ProgramHandle, SessionMaker] | None = (
            handle,
            backend.sessions(handle, self._kernels, weights)
            or partial(DeviceSession, handle, backend, self._kernels, weights),
        )
        self._inputs = tuple(
            Slot(entry.name, _param(v, "input"), backend, is_model_input=True) for v in entry.inputs
        )
        slots = [Slot(entry.name, _param(v, "output"), backend) for v in entry.outputs]
        hidden = entry.hidden_outputs
        self._outputs = tuple(slot for slot in slots if slot.name not in hidden)
        self._sizes = tuple(slot for slot in slots if slot.name in hidden)
        #: Sessions of `run` that no thread uses. A program with states has one session, used in
        #: turn.
        self._idle: list[ProgramSession] = []
        self._turn = Lock()
        #: None until a program with states is first run.
        self._places: CachePlaces | None = None

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """`name`, `shape` and `dtype` of each input."""
        return tuple(map(_info, self.entry.inputs))

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """`name`, `shape` and `dtype` of each output; the largest shape if it depends on data."""
        return tuple(map(_info, self.entry.visible_outputs))

    @property
    def states(self) -> tuple[TensorInfo, ...]:
        """`name`, `shape` and `dtype` of each state."""
        values = self.entry.by_name
        return tuple(
            TensorInfo(name=s.name, shape=values[s.input].shape, dtype=values[s.input].dtype)
            for s in self.entry.states
        )

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(slot.name for slot in self._inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs)

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(state.name for state in self.entry.states)

    def __repr__(self) -> str:
        names = ", ".join(self.input_names)
        return f"<Program {self.entry.name}({names}) on {self.backend.info.id}>"

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        check_indices: bool = False,
        **named: Any,
    ) -> Any:
        """Run the program on host arrays, lists or numbers, passed by name or as a mapping of
        names. Return a new array, or a dict by name if there are several outputs.

        States keep their values from one run to the next, until `reset`; runs of a program with
        states take turns. Without states, threads run concurrently, each in its own arena, which is
        kept for later runs. Raises ArgumentError before anything runs; LaunchError, DeviceLost.

        A kernel reads zeros for an index outside its table. `check_indices` compares each index
        with its table before the step that reads it and runs the steps one at a time; ArgumentError
        names the input, the index and the limit. Indices that steps compute are checked only after
        these steps, which may have changed states by then.
        """
        return result(self.run_dict(inputs, check_indices=check_indices, **named))

    def run_dict(
        self,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        check_indices: bool = False,
        **named: Any,
    ) -> dict[str, Any]:
        """Run the program like `run`, but return a dict by name also for a single output."""
        if self.entry.states:
            with self._turn.lock:
                return self._stateful().results(inputs, named, check_indices)
        try:
            session = self._idle.pop()
        except IndexError:
            session = self.session()
        try:
            return session.results(inputs, named, check_indices)
        finally:
            self._idle.append(session)
            if self._kernels.is_closed:  # The bundle may have been closed during this run.
                self._idle.clear()

    def session(self) -> ProgramSession:
        """Create a session for one thread, with its own states and its own arena (memory of
        intermediate values). It has `run`, `run_dict`, `reset`, `set_states` and `get_state`.
        Sessions share the weights and may run concurrently."""
        return ProgramSession(
            self._users_of_file()[1](None, None),
            self._inputs,
            self._outputs,
            self._state_bytes,
            self._cache_places(),
        )

    def _cache_places(self) -> CachePlaces | None:
        """Checker of the indices at which runs write states; None for a program without states."""
        if self._places is None and self.entry.states:
            from kgen_runtime.calls.cache_places import CachePlaces

            self._places = CachePlaces(self.entry, self._kernels.entries)
        return self._places

    def reset(self) -> None:
        """Fill the states of `run` with zeros. Raises DeviceError if the bundle is closed."""
        with self._turn.lock:
            # The reference keeps the code until the end, if another thread closes the bundle.
            _held = self._kernels.held()
            for session in self._idle:
                session.reset()

    def set_states(self, states: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Set some states of `run` to host arrays. An array that is shorter along one axis becomes
        the start of the state; zeros follow. Raises ArgumentError."""
        data = self._state_bytes(states, named)
        with self._turn.lock:
            self._stateful().session.set_states(data)

    def _stateful(self) -> ProgramSession:
        """Return the one session with the states of `run`. The caller holds the lock `_turn`."""
        if not self._idle:
            self._idle.append(self.session())
        return self._idle[0]

    def prepare(
        self, inputs: Mapping[str, Any] | None = None, /, *, out: Any = None, **named: Any
    ) -> ProgramCall[Any]:
        """Check arrays of the device once and return a call that copies nothing. Each run of it
        reads the same arrays and writes the same outputs (`out` of the result); the call has its
        own arena and states. `out`: outputs by name, or the array of a single output; missing ones
        are allocated.

        An output whose size depends on data has its largest shape in `out`. Each run returns a view
        of the part that it has written, and raises ArgumentError if the elements do not fit.

        On the CPU, numpy and host DLPack arrays are arrays of the device. Raises ArgumentError or
        DeviceMismatchError.
        """
        keep: list[object] = []
        buffers = {}
        given = by_name(self.entry.name, self.input_names, inputs, named)
        for slot in self._inputs:
            buffers[slot.name] = _settled(slot, given[slot.name], keep)
        library = first_importer(given.values())
        results = {slot.name: self._empty(slot, library) for slot in self._outputs}
        results |= self._given(out)
        written = {slot.name: _settled(slot, results[slot.name], keep) for slot in self._outputs}
        if out is not None:
            self._check_overlaps(buffers, written)
        sizes = {slot.name: _settled(slot, self._empty(slot, None), keep) for slot in self._sizes}
        session = self._users_of_file()[1](buffers, written | sizes)
        parts = None
        if self._sizes:
            slots = {slot.name: slot for slot in self._outputs}
            parts = partial(_parts, session, slots, results)
        return ProgramCall(session, result(results), keep, self._state_bytes, parts)

    def profile(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> list[StepTime]:
        """Measure each step on host arrays; return `kernel`, `nodes` (the ONNX nodes of the step)
        and `seconds`, the median of several runs with separate states.

        On GPUs each step is launched after the previous one has finished, so that its launch is
        included.
        """
        from statistics import median

        own = self.session()
        begin = time.perf_counter()
        own.run_dict(inputs, **named)
        self.backend.synchronize()
        runs: list[list[float]] = []
        while len(runs) < PROFILE_RUNS and (time.perf_counter() - begin < PROFILE_SECONDS):
            runs.append(own.session.timed())
        runs = runs or [own.session.timed()]
        return [
            StepTime(kernel=step.kernel, nodes=step.nodes, seconds=median(seconds))
            for step, *seconds in zip(self.entry.steps, *runs, strict=True)
        ]

    def close(self) -> list[LoadedKernel]:
        """Release the kernels, the weights and the memory of `run` after the running calls of other
        threads; safe to call twice. Kernels are released when the returned list is dropped."""
        loaded = self._kernels.close()
        self._opened = None
        self._idle.clear()
        return loaded

    def _users_of_file(self) -> tuple[ProgramHandle, SessionMaker]:
        """Return the program's handle and its session factory. Raises DeviceError if the bundle is
        closed."""
        opened = self._opened
        if opened is None:
            raise DeviceError(f"{self.entry.name}: the bundle was closed; load it again")
        return opened

    def _empty(self, slot: Slot, library: Importer | None) -> Any:
        """Allocate an array for an output; on the host, an array of this library."""
        if self.backend.memory == dlpack.HOST:
            return new_output(slot, library)
        return Array.empty(self.backend, slot.param.dtype, slot.param.shape)

    def _given(self, out: Any) -> dict[str, Any]:
        """Return the caller's outputs by name. Raises ArgumentError for unknown names."""
        if out is None:
            return {}
        names = [slot.name for slot in self._outputs]
        if not isinstance(out, Mapping):
            if len(self._outputs) > 1:
                raise ArgumentError(
                    f"{self.entry.name}: has the outputs {', '.join(names)}; pass out= as a "
                    "mapping of these names to arrays"
                )
            return {names[0]: out}
        if unknown := out.keys() - set(names):
            raise ArgumentError(
                f"{self.entry.name}: out has {min(map(repr, unknown))}, which is not an output; "
                f"{known_names(min(unknown, key=repr), names, 'outputs')}"
            )
        return dict(out)

    def _check_overlaps(self, read: Buffers, written: Buffers) -> None:
        """Raise ArgumentError if an output shares memory with another output or with an input:
        later steps may read the input after the output is written."""
        for i, output in enumerate(self._outputs):
            others = [(slot, read) for slot in self._inputs]
            others += [(slot, written) for slot in self._outputs[:i]]
            for slot, buffers in others:
                if output.overlaps(written[output.name], slot, buffers[slot.name]):
                    raise ArgumentError(
                        f"{self.entry.name}: {output.name} overlaps {slot.name} in memory; pass "
                        "separate memory"
                    )

    def _state_bytes(
        self, states: Mapping[str, Any] | None, named: Mapping[str, Any]
    ) -> dict[str, HostBytes]:
        """Return the bytes of these states by name. Raises ArgumentError."""
        handle = self._users_of_file()[0]
        values = {s.name: self.entry.by_name[s.input] for s in self.entry.states}
        found = {}
        for name, value in merged(self.entry.name, self.state_names, states, named).items():
            handle.check_state(name)
            slot = Slot(self.entry.name, _param(values[name], "input"), self.backend)
            found[name] = handle.state_bytes(name, state_value(slot, value))
        return found


def _info(value: Value) -> TensorInfo:
    return TensorInfo(name=value.name, shape=value.shape, dtype=value.dtype)


def _param(value: Value, role: Any) -> TensorParam:
    """Describe an input or output of a program as a tensor of a call."""
    return TensorParam(
        name=value.name, role=role, dtype=value.dtype, shape=value.shape, strides=value.strides
    )


def _settled(slot: Slot, value: Any, keep: list[object]) -> Any:
    """Return the buffer of an array that is used in place. Raises ArgumentError or
    DeviceMismatchError."""
    found = slot.finders[type(value)](value)
    keep.append(holder(value))
    return slot.closer(value, None, keep, copies=False) if found is None else found


def _parts(session: Session, slots: Mapping[str, Slot], arrays: Mapping[str, Any]) -> Any:
    """Return views of the parts of the outputs that the last run has written. Raises ArgumentError
    if the elements did not fit."""
    found = dict(arrays)
    for value in session.entry.sized_outputs:
        found[value.name] = _part(
            slots[value.name], found[value.name], session.output_shape(value), session.backend
        )
    return result(found)


def _part(slot: Slot, array: Any, shape: tuple[int, ...], backend: Backend) -> Any:
    """Return a view of the first `shape` elements of an array."""
    if isinstance(array, Array):
        return Array(array.memory, array.dtype, shape, array.strides)
    part = tuple(map(slice, shape))
    library = importer(array)
    if library is None or backend.memory != dlpack.HOST:
        return array[part]
    return imported(library, slot, host_array(array)[part])


class ProgramCall(Uncopied, Generic[R]):
    """Program with fixed arrays that can be run many times; `out` is its output: one array, or
    several by name."""

    __slots__ = ("_keep", "_parts", "_session", "_state_bytes", "out")

    def __init__(
        self,
        session: Session,
        out: R,
        keep: Sequence[object],
        state_bytes: StateBytes,
        parts: Callable[[], R] | None,
    ) -> None:
        """Bind a session to its arrays. `parts` returns the part of `out` that the last run has
        written; None if that is always all of it."""
        self._session, self._keep, self._state_bytes = session, keep, state_bytes
        self._parts = parts
        self.out = out

    def __call__(self) -> R:
        """Run the program; return `out`, or the part of it that the run has written. Raises
        ArgumentError if the elements do not fit, DeviceError if the bundle is closed."""
        self._session.run()
        return self.out if self._parts is None else self._parts()

    def reset(self) -> None:
        """Fill the states of this call with zeros. Raises DeviceError if the bundle is closed."""
        # The reference keeps the code until the end, if another thread closes the bundle.
        _held = self._session.kernels.held()
        self._session.reset()

    def set_states(self, states: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Set some states of this call to host arrays. Raises ArgumentError."""
        self._session.set_states(self._state_bytes(states, named))

    def __repr__(self) -> str:
        return f"<Call of {self._session!r}>"
