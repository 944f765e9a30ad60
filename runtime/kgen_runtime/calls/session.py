"""Session of a program on one device: its own memory, and launches on shared weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kgen_runtime import libkgen
from kgen_runtime.array import Memory
from kgen_runtime.backend import Backend, LaunchSequence, SequenceStep
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.calls.loaded import LoadedKernel
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.schema.program import PAGE, Program, Value, Weight
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    import numpy.typing as npt

    from kgen_runtime.backend import HostBytes
    from kgen_runtime.bundle import BundleFile
    from kgen_runtime.calls.program_handle import ProgramHandle

Buffers = Mapping[str, Any]
#: Function that creates a session on the caller's inputs and outputs by name; None allocates new
#: ones.
SessionMaker = Callable[[Buffers | None, Buffers | None], "Session"]


class Weights:
    """Weights of a bundle's programs on a device; equal files are loaded once."""

    def __init__(self, backend: Backend, bundle: BundleFile, *, check: bool) -> None:
        """Prepare to load weights. `check` reads all their bytes and checks their digests."""
        self._backend, self._bundle, self._check = backend, bundle, check
        self._files: dict[tuple[str, str, int], Held] = {}

    def of(self, program: Program) -> dict[str, Held]:
        """Return the weights of a program by name. Raises IntegrityError."""
        for weight in program.weights:
            if _content(weight) not in self._files:
                self._files[_content(weight)] = self._held(weight)
        return {weight.name: self._files[_content(weight)] for weight in program.weights}

    def _held(self, weight: Weight) -> Held:
        data = self._bundle.weight(weight, check=self._check)
        # A weight that is not aligned to a page, because another tool rewrote the archive, is
        # copied.
        if data.ctypes.data % PAGE == 0:
            buffer = self._backend.borrow(data)
            if buffer is not None:
                return Held(buffer=buffer, owner=data)
        memory = Memory.of(self._backend, data)
        return Held(buffer=memory.buffer, owner=memory)


def _content(weight: Weight) -> tuple[str, str, int]:
    """Return the identity of a weight's bytes: weights share memory only if file name, digest and
    size are equal."""
    return weight.file, weight.sha256, weight.nbytes


@frozen
class Held:
    """Buffer, and the object that keeps it alive."""

    buffer: Any
    owner: object


class ProgramKernels:
    """Loaded kernels of a program, until it is closed."""

    def __init__(self, name: str, kernels: Mapping[str, Kernel]) -> None:
        """Hold the loaded kernels, which are given by key."""
        self._name = name
        self.entries = {key: kernel.entry for key, kernel in kernels.items()}
        #: None after `close`. A run holds the kernels until it is done.
        self._loaded: dict[str, LoadedKernel] | None = {
            key: kernel.held for key, kernel in kernels.items()
        }

    def held(self) -> dict[str, LoadedKernel]:
        """Return the loaded kernels by key; the caller holds them while it runs. Raises DeviceError
        if the bundle is closed."""
        loaded = self._loaded
        if loaded is None:
            raise DeviceError(f"{self._name}: the bundle was closed; load it again")
        return loaded

    @property
    def is_closed(self) -> bool:
        return self._loaded is None

    def close(self) -> list[LoadedKernel]:
        loaded, self._loaded = self._loaded, None
        return list((loaded or {}).values())


class Session(ABC):
    """Memory of one call of a program, and its launches."""

    #: Makes all launches. Returns the kgen_status of an error if libkgen makes them.
    _launch: Callable[[], int | None]
    #: Whether a run checks the limits of attention's lengths and pages that are inputs.
    checks_inputs = False

    def __init__(self, handle: ProgramHandle, backend: Backend, kernels: ProgramKernels) -> None:
        """Create a session. Raises DeviceError if the bundle is closed."""
        kernels.held()
        self.entry, self.backend, self.kernels = handle.entry, backend, kernels
        self.name = self.entry.name
        self._handle = handle

    def __repr__(self) -> str:
        return f"<Program {self.name} on {self.backend.info.id}>"

    @abstractmethod
    def input_buffer(self, value: Value) -> Any:
        """Return the buffer of an input."""

    @abstractmethod
    def output_buffer(self, value: Value) -> Any:
        """Return the buffer of an output. The output must not be one that holds another output's
        size."""

    @abstractmethod
    def output_shape(self, value: Value) -> tuple[int, ...]:
        """Return the shape of an output after the last run. Raises ArgumentError if its elements
        did not fit."""

    @abstractmethod
    def reset(self) -> None:
        """Fill the states with zeros."""

    @abstractmethod
    def set_states(self, data: Mapping[str, HostBytes]) -> None:
        """Set states to these bytes, by name."""

    def state(self, name: str) -> npt.NDArray[Any]:
        """Return a copy of a state. Raises ArgumentError."""
        self._handle.check_state(name)
        value = next(self.entry.by_name[s.input] for s in self.entry.states if s.name == name)
        found = np.empty(value.nbytes, np.uint8)
        self._read_state(name, found)
        return found.view(value.dtype.storage).reshape(value.shape)

    @abstractmethod
    def _read_state(self, name: str, into: HostBytes) -> None: ...

    def run(self) -> None:
        # The reference keeps the code until the run is done, if another thread closes the bundle.
        _held = self.kernels.held()
        if status := self._launch():
            libkgen.check(status)

    @abstractmethod
    def run_step(self, number: int) -> None:
        """Run the step of this number."""

    @abstractmethod
    def read_step(self, number: int, parameter: str, into: HostBytes) -> None:
        """Copy the memory of a parameter of a step's kernel to `into`."""

    def timed(self) -> list[float]:
        """Run the program and return the seconds of each step."""
        _held = self.kernels.held()
        return self._timed()

    @abstractmethod
    def _timed(self) -> list[float]: ...


class DeviceSession(Session):
    """Session in memory of a backend; its steps are one sequence of launches."""

    def __init__(
        self,
        handle: ProgramHandle,
        backend: Backend,
        kernels: ProgramKernels,
        weights: Mapping[str, Held],
        inputs: Buffers | None,
        outputs: Buffers | None,
    ) -> None:
        super().__init__(handle, backend, kernels)
        entry = self.entry
        loaded = kernels.held()
        arena = Memory(backend, entry.arena_bytes) if entry.arena_bytes else None
        self._states = {s.name: Memory(backend, s.nbytes, zero=True) for s in entry.states}
        self._scratch: dict[tuple[str, str], Memory] = {}
        made = [
            {v.name: Memory(backend, v.nbytes) for v in values if given is None}
            for values, given in ((entry.inputs, inputs), (entry.outputs, outputs))
        ]
        self._inputs = buffers_of(made[0]) if inputs is None else inputs
        self._outputs = buffers_of(made[1]) if outputs is None else outputs
        memories: dict[tuple[str, str], Any] = {
            ("arena", ""): None if arena is None else arena.buffer
        }
        memories |= {("weights", name): held.buffer for name, held in weights.items()}
        memories |= {("state", name): memory.buffer for name, memory in self._states.items()}
        memories |= {("input", name): buffer for name, buffer in self._inputs.items()}
        memories |= {("output", name): buffer for name, buffer in self._outputs.items()}
        #: Objects that the launches use and only this attribute keeps alive.
        self._keep = (arena, made, memories, weights)
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
            # Steps of one kernel share its workspaces, so that they run one after another.
            if kernel.workspaces:
                after += (users[step.kernel],) if step.kernel in users else ()
                users[step.kernel] = number
            steps.append(SequenceStep(kernel=one.handle, buffers=buffers, after=after))
        self._steps = steps
        self._alone: dict[int, LaunchSequence] = {}
        self._sequence = backend.sequence(steps)
        self._launch = self._sequence.run

    def input_buffer(self, value: Value) -> Any:
        return self._inputs[value.name]

    def output_buffer(self, value: Value) -> Any:
        return self._outputs[value.name]

    def output_shape(self, value: Value) -> tuple[int, ...]:
        shape, found = list(value.shape), np.empty(1, np.int64)
        for count in self.entry.counts:
            if count.output != value.name:
                continue
            self.backend.copy_from_device(found.view(np.uint8), self._outputs[count.size])
            size, room = int(found[0]), shape[count.axis]
            if not 0 <= size <= room:
                raise ArgumentError(
                    f"{self.name}: output {value.name} has {size} elements along axis "
                    f"{count.axis}, and room for {room}; compile the model with --capacity "
                    f"{value.name}={size}"
                )
            shape[count.axis] = size
        return tuple(shape)

    def reset(self) -> None:
        for memory in self._states.values():
            self.backend.clear(memory.buffer, memory.nbytes)

    def set_states(self, data: Mapping[str, HostBytes]) -> None:
        for name, values in data.items():
            self.backend.copy_to_device(self._states[name].buffer, values)

    def _read_state(self, name: str, into: HostBytes) -> None:
        self.backend.copy_from_device(into, self._states[name].buffer)

    def run_step(self, number: int) -> None:
        if number not in self._alone:
            step = self._steps[number]
            alone = SequenceStep(kernel=step.kernel, buffers=step.buffers)
            self._alone[number] = self.backend.sequence([alone])
        self._alone[number].run()

    def read_step(self, number: int, parameter: str, into: HostBytes) -> None:
        self.backend.copy_from_device(into, self._steps[number].buffers[parameter])

    def _timed(self) -> list[float]:
        return self._sequence.timed()


def buffers_of(memories: Mapping[str, Memory]) -> dict[str, Any]:
    return {name: memory.buffer for name, memory in memories.items()}
