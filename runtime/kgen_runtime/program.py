"""A program on one device: its memory, and its steps as one sequence of launches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from kgen_runtime import dlpack
from kgen_runtime.arguments import Slot, View
from kgen_runtime.array import Array, Memory, dtype_of, host_array, host_empty
from kgen_runtime.backend import Backend, SequenceStep
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.finders import holder
from kgen_runtime.kernel import Kernel
from kgen_runtime.loaded import LoadedKernel
from kgen_runtime.manifest import TensorParam
from kgen_runtime.manifest_program import PAGE, Program, Value, Weight
from kgen_runtime.named import in_order
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.bundle import BundleFile

#: Runs that a profile takes the median of, and the seconds after which it makes no more of them.
PROFILE_RUNS, PROFILE_SECONDS = 20, 2.0

Buffers = Mapping[str, Any]
StateBytes = Callable[[Mapping[str, Any] | None, Mapping[str, Any]], Mapping[str, "HostBytes"]]
R = TypeVar("R")


class Weights:
    """The weights of a bundle's programs on a device; each file is there once."""

    def __init__(self, backend: Backend, bundle: BundleFile, *, check: bool) -> None:
        """With `check` their digests are checked, for which all of their bytes are read."""
        self._backend, self._bundle, self._check = backend, bundle, check
        self._files: dict[str, _Held] = {}

    def of(self, program: Program) -> dict[str, _Held]:
        """Those of a program, by name. Raises IntegrityError."""
        for weight in program.weights:
            if weight.file not in self._files:
                self._files[weight.file] = self._held(weight)
        return {weight.name: self._files[weight.file] for weight in program.weights}

    def _held(self, weight: Weight) -> _Held:
        if self._check:
            self._bundle.check_weight(weight)
        data = self._bundle.weight(weight)
        # What another tool has moved off its page is copied.
        if data.ctypes.data % PAGE == 0:
            buffer = self._backend.borrow(data)
            if buffer is not None:
                return _Held(buffer=buffer, owner=data)
        memory = Memory.of(self._backend, data)
        return _Held(buffer=memory.buffer, owner=memory)


@frozen
class _Held:
    """A buffer, and what keeps it."""

    buffer: Any
    owner: object


@frozen
class StepTime:
    """What a step of a program took; `nodes` are the ONNX nodes that it stands for."""

    kernel: str
    nodes: tuple[str, ...]
    seconds: float


class LoadedProgram:
    """A program on one device. `run` takes and gives arrays of the host; `prepare` settles the
    arrays of a call that is made again and again."""

    def __init__(
        self,
        backend: Backend,
        entry: Program,
        kernels: Mapping[str, Kernel],
        weights: Mapping[str, _Held],
    ) -> None:
        """`kernels` by key."""
        self.entry = entry
        self.backend = backend
        self._kernels = _Kernels(entry.name, kernels)
        self._weights = weights
        self.inputs = tuple(Slot(entry.name, _param(v, "input"), backend) for v in entry.inputs)
        self.outputs = tuple(Slot(entry.name, _param(v, "output"), backend) for v in entry.outputs)
        self._own: _Own | None = None
        self._turn = threading.Lock()

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(slot.name for slot in self.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(slot.name for slot in self.outputs)

    def __repr__(self) -> str:
        names = ", ".join(self.input_names)
        return f"<Program {self.entry.name}({names}) on {self.backend.info.id}>"

    def run(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        """Run it on host arrays, given by name or as a mapping of names, and give its outputs: new
        numpy arrays by name, or the array itself if there is one output.

        States live from one run to the next, until `reset`. Runs of several threads take turns.
        Raises ArgumentError before anything runs; LaunchError, DeviceLost.
        """
        data = self._host_inputs(inputs, named)
        with self._turn:
            own = self._own or self._new_own()
            self._own = own
            own.fill(data)
            own.session.run()
            return _result(own.results())

    def reset(self) -> None:
        """Make the states of `run` what they are before the first one: zero."""
        with self._turn:
            if self._own is not None:
                self._own.session.reset()

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(state.name for state in self.entry.states)

    def set_states(self, states: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Give states of `run` these host arrays, as of a prefill; others stay. Raises
        ArgumentError."""
        data = self._state_bytes(states, named)
        with self._turn:
            own = self._own or self._new_own()
            self._own = own
            own.session.set_states(data)

    def prepare(
        self, inputs: Mapping[str, Any] | None = None, /, *, out: Any = None, **named: Any
    ) -> ProgramCall[Any]:
        """The program with these arrays, checked once: call the result to run it, as often as
        wanted. It reads the same arrays and writes the same outputs each time, copies nothing, and
        has an arena and states of its own. `out` are arrays to write to: outputs by name, or the
        array itself if there is one output; those that it lacks are new.

        On the CPU it takes numpy or host DLPack arrays, elsewhere those of the device, as
        :meth:`Kernel.prepare` does. Raises ArgumentError or DeviceMismatchError.
        """
        keep: list[object] = []
        buffers = {}
        for slot, value in zip(self.inputs, self._in_order(inputs, named), strict=True):
            buffers[slot.name] = _settled(slot, value, keep)
        results = {slot.name: self._empty(slot) for slot in self.outputs} | self._given(out)
        written = {slot.name: _settled(slot, results[slot.name], keep) for slot in self.outputs}
        session = self._session(buffers, written)
        return ProgramCall(session, _result(results), keep, self._state_bytes)

    def profile(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> list[StepTime]:
        """The time of each step on host arrays, the median of some runs with states of their own.

        On GPUs each step is launched when the one before is done, so that its launch counts too.
        """
        from statistics import median

        own = self._new_own()
        own.fill(self._host_inputs(inputs, named))
        begin = time.perf_counter()
        own.session.run()
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
        """Give the kernels back, after the runs that other threads are in; safe to call twice. They
        are given back once the result is dropped."""
        return self._kernels.close()

    def _session(self, inputs: Buffers, outputs: Buffers) -> _Session:
        return _Session(self.entry, self.backend, self._kernels, self._weights, inputs, outputs)

    def _new_own(self) -> _Own:
        inputs, outputs = (
            {value.name: Memory(self.backend, value.nbytes) for value in values}
            for values in (self.entry.inputs, self.entry.outputs)
        )
        session = self._session(_buffers(inputs), _buffers(outputs))
        return _Own(self.entry, self.backend, session, inputs, outputs)

    def _empty(self, slot: Slot) -> Any:
        """A new array for an output."""
        if self.backend.memory == dlpack.HOST:
            return slot.empty()
        return Array.empty(self.backend, slot.param.dtype, slot.param.shape)

    def _given(self, out: Any) -> dict[str, Any]:
        """The outputs that are given, by name."""
        if out is None:
            return {}
        if not isinstance(out, Mapping):
            if len(self.outputs) > 1:
                raise ArgumentError(
                    f"{self.entry.name}: has the outputs {', '.join(self.output_names)}; give "
                    "out= as a mapping of their names"
                )
            return {self.output_names[0]: out}
        if unknown := out.keys() - set(self.output_names):
            raise ArgumentError(
                f"{self.entry.name}: out has {min(unknown)!r}, which is no output; outputs are "
                f"{', '.join(self.output_names)}"
            )
        return dict(out)

    def _state_bytes(
        self, states: Mapping[str, Any] | None, named: Mapping[str, Any]
    ) -> dict[str, HostBytes]:
        """States as they are given, packed. Raises ArgumentError."""
        known = {s.name: self.entry.by_name[s.input] for s in self.entry.states}
        found = {}
        for name, value in {**(states or {}), **named}.items():
            if name not in known:
                raise ArgumentError(
                    f"{self.entry.name}: {name!r} is no state; states are "
                    f"{', '.join(known) or 'none'}"
                )
            slot = Slot(self.entry.name, _param(known[name], "input"), self.backend)
            found[name] = _host_bytes(slot, value)
        return found

    def _in_order(
        self, inputs: Mapping[str, Any] | None, named: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        if inputs is not None and not isinstance(inputs, Mapping):
            raise ArgumentError(
                f"{self.entry.name}: takes arrays by name, such as "
                f"{self.input_names[0] if self.input_names else 'x'}=...; or one mapping of names"
            )
        given = {**(inputs or {}), **named}
        return in_order(self.entry.name, self.input_names, (), given)

    def _host_inputs(
        self, inputs: Mapping[str, Any] | None, named: Mapping[str, Any]
    ) -> dict[str, HostBytes]:
        given = zip(self.inputs, self._in_order(inputs, named), strict=True)
        return {slot.name: _host_bytes(slot, value) for slot, value in given}


def _param(value: Value, role: Any) -> TensorParam:
    """An input or output as the tensor of a call."""
    return TensorParam(
        name=value.name, role=role, dtype=value.dtype, shape=value.shape, strides=value.strides
    )


def _settled(slot: Slot, value: Any, keep: list[object]) -> Any:
    """The buffer of an array that is used where it lies. Raises ArgumentError or
    DeviceMismatchError."""
    found = slot.finders[type(value)](value)
    keep.append(holder(value))
    return slot.closer(value, None, keep, copies=False) if found is None else found


def _host_bytes(slot: Slot, value: Any) -> HostBytes:
    """The bytes of an input, packed. Raises ArgumentError."""
    array = host_array(value, f"{slot.kernel}: {slot.name}")
    found = View(
        dtype=dtype_of(array.dtype),
        shape=array.shape,
        strides=array.strides,
        buffer=None,
        writable=False,
        owner=array,
    )
    if (problem := slot.mismatch(found)) is not None:
        raise ArgumentError(f"{slot.kernel}: {slot.name} {problem}")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _result(arrays: dict[str, Any]) -> Any:
    return arrays if len(arrays) > 1 else next(iter(arrays.values()))


class ProgramCall(Generic[R]):
    """A program with its arrays, to be run again and again; `out` is what it writes: one array, or
    several by name."""

    __slots__ = ("_keep", "_session", "_state_bytes", "out")

    def __init__(
        self, session: _Session, out: R, keep: Sequence[object], state_bytes: StateBytes
    ) -> None:
        self._session, self._keep, self._state_bytes = session, keep, state_bytes
        self.out = out

    def __call__(self) -> R:
        """Run it; gives `out`. Raises DeviceError once the bundle is closed."""
        self._session.run()
        return self.out

    def reset(self) -> None:
        """Make its states zero."""
        self._session.reset()

    def set_states(self, states: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Give its states these host arrays; others stay. Raises ArgumentError."""
        self._session.set_states(self._state_bytes(states, named))

    def __repr__(self) -> str:
        return f"<Call of {self._session!r}>"


class _Kernels:
    """The kernels of a program, as drivers have them, until it is closed."""

    def __init__(self, name: str, kernels: Mapping[str, Kernel]) -> None:
        """`kernels` by key."""
        self._name = name
        self.entries = {key: kernel.entry for key, kernel in kernels.items()}
        #: None once closed. A run holds what it finds here until it is done.
        self._loaded: dict[str, LoadedKernel] | None = {
            key: kernel.held for key, kernel in kernels.items()
        }

    def held(self) -> dict[str, LoadedKernel]:
        """Those by key, for as long as a run needs them. Raises DeviceError once closed."""
        loaded = self._loaded
        if loaded is None:
            raise DeviceError(f"{self._name}: the bundle was closed; load it again")
        return loaded

    def close(self) -> list[LoadedKernel]:
        loaded, self._loaded = self._loaded, None
        return list((loaded or {}).values())


class _Session:
    """The memory that one call has for itself, and its launches."""

    def __init__(
        self,
        entry: Program,
        backend: Backend,
        kernels: _Kernels,
        weights: Mapping[str, _Held],
        inputs: Buffers,
        outputs: Buffers,
    ) -> None:
        self._name, self._backend, self._kernels = entry.name, backend, kernels
        loaded = kernels.held()
        arena = Memory(backend, entry.arena_bytes) if entry.arena_bytes else None
        self._states = {state.name: Memory(backend, state.nbytes) for state in entry.states}
        self._scratch: dict[tuple[str, str], Memory] = {}
        memories: dict[tuple[str, str], Any] = {
            ("arena", ""): None if arena is None else arena.buffer
        }
        memories |= {("weights", name): held.buffer for name, held in weights.items()}
        memories |= {("state", name): memory.buffer for name, memory in self._states.items()}
        memories |= {("input", name): buffer for name, buffer in inputs.items()}
        memories |= {("output", name): buffer for name, buffer in outputs.items()}
        #: What the launches use and only this keeps.
        self._keep = (arena, memories, weights)
        values = entry.by_name
        steps = []
        users: dict[str, int] = {}
        for number, step in enumerate(entry.steps):
            kernel, one = kernels.entries[step.kernel], loaded[step.kernel]
            buffers = {name: memory.buffer for name, memory in one.constants.items()}
            for parameter, name in step.bindings.items():
                value = values[name]
                memory = memories[value.place.memory]
                buffers[parameter] = backend.view(memory, value.place.offset, value.nbytes)
            after = step.after
            for workspace in kernel.workspaces:
                key = (step.kernel, workspace.name)
                if key not in self._scratch:
                    self._scratch[key] = one.new_workspace(workspace)
                buffers[workspace.name] = self._scratch[key].buffer
            if kernel.workspaces:  # steps of one kernel share them, so they take turns
                after += (users[step.kernel],) if step.kernel in users else ()
                users[step.kernel] = number
            steps.append(SequenceStep(kernel=one.handle, buffers=buffers, after=after))
        self._sequence = backend.sequence(steps)
        self.reset()

    def __repr__(self) -> str:
        return f"<Program {self._name} on {self._backend.info.id}>"

    def reset(self) -> None:
        """Fill the states with zeros."""
        for memory in self._states.values():
            self._backend.clear(memory.buffer, memory.nbytes)

    def set_states(self, data: Mapping[str, HostBytes]) -> None:
        """Fill states with these bytes."""
        for name, values in data.items():
            self._backend.copy_to_device(self._states[name].buffer, values)

    def run(self) -> None:
        held = self._kernels.held()  # stays until the run is done, whoever closes the bundle
        self._sequence.run()
        del held

    def timed(self) -> list[float]:
        held = self._kernels.held()
        seconds = self._sequence.timed()
        del held
        return seconds


class _Own:
    """A session with inputs and outputs in memory of its own, which host arrays are copied to."""

    def __init__(
        self,
        entry: Program,
        backend: Backend,
        session: _Session,
        inputs: Mapping[str, Memory],
        outputs: Mapping[str, Memory],
    ) -> None:
        self._entry, self._backend, self.session = entry, backend, session
        self._inputs, self._outputs = inputs, outputs

    def fill(self, data: Mapping[str, HostBytes]) -> None:
        for name, values in data.items():
            self._backend.copy_to_device(self._inputs[name].buffer, values)

    def results(self) -> dict[str, Any]:
        """Copies of the outputs, after all that was launched."""
        found = {}
        for value in self._entry.outputs:
            base, array = host_empty(value.dtype, value.shape, value.strides)
            self._backend.copy_from_device(base, self._outputs[value.name].buffer)
            found[value.name] = array
        return found


def _buffers(memories: Mapping[str, Memory]) -> dict[str, Any]:
    return {name: memory.buffer for name, memory in memories.items()}
