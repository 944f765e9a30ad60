"""What one call of a program has: weights, memory of its own, and its launches as one sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kgen_runtime.array import Memory
from kgen_runtime.backend import Backend, SequenceStep
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.calls.loaded import LoadedKernel
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.known_names import known_names
from kgen_runtime.schema.program import PAGE, Program, Weight
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    import numpy.typing as npt

    from kgen_runtime.backend import HostBytes
    from kgen_runtime.bundle import BundleFile
    from kgen_runtime.calls.checked_runs import CheckedSteps

Buffers = Mapping[str, Any]


class Weights:
    """The weights of a bundle's programs on a device; each file is there once."""

    def __init__(self, backend: Backend, bundle: BundleFile, *, check: bool) -> None:
        """With `check` their digests are checked, for which all of their bytes are read."""
        self._backend, self._bundle, self._check = backend, bundle, check
        self._files: dict[tuple[str, str, int], Held] = {}

    def of(self, program: Program) -> dict[str, Held]:
        """Return the weights of a program by name. Raises IntegrityError."""
        for weight in program.weights:
            if _content(weight) not in self._files:
                self._files[_content(weight)] = self._held(weight)
        return {weight.name: self._files[_content(weight)] for weight in program.weights}

    def _held(self, weight: Weight) -> Held:
        data = (self._bundle.check_weight if self._check else self._bundle.weight)(weight)
        # What another tool has moved off its page is copied.
        if data.ctypes.data % PAGE == 0:
            buffer = self._backend.borrow(data)
            if buffer is not None:
                return Held(buffer=buffer, owner=data)
        memory = Memory.of(self._backend, data)
        return Held(buffer=memory.buffer, owner=memory)


def _content(weight: Weight) -> tuple[str, str, int]:
    """Return the identity of a weight's bytes: weights share memory only if the file's name, the
    digest and the size are equal."""
    return weight.file, weight.sha256, weight.nbytes


@frozen
class Held:
    """A buffer, and what keeps it."""

    buffer: Any
    owner: object


class ProgramKernels:
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
        """Return the loaded kernels by key. The caller keeps them while it runs. Raises DeviceError
        if the bundle is closed."""
        loaded = self._loaded
        if loaded is None:
            raise DeviceError(f"{self._name}: the bundle was closed; load it again")
        return loaded

    def close(self) -> list[LoadedKernel]:
        loaded, self._loaded = self._loaded, None
        return list((loaded or {}).values())


class Session:
    """The memory that one call has for itself, and its launches."""

    def __init__(
        self,
        entry: Program,
        backend: Backend,
        kernels: ProgramKernels,
        weights: Mapping[str, Held],
        inputs: Buffers,
        outputs: Buffers,
    ) -> None:
        self.name, self.backend, self._kernels = entry.name, backend, kernels
        loaded = kernels.held()
        arena = Memory(backend, entry.arena_bytes) if entry.arena_bytes else None
        self._states = {s.name: Memory(backend, s.nbytes, zero=True) for s in entry.states}
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
        self._entry, self._steps = entry, steps
        self._checked: CheckedSteps | None = None
        self._sequence = backend.sequence(steps)
        self._launch = self._sequence.run

    def __repr__(self) -> str:
        return f"<Program {self.name} on {self.backend.info.id}>"

    def reset(self) -> None:
        """Fill the states with zeros."""
        for memory in self._states.values():
            self.backend.clear(memory.buffer, memory.nbytes)

    def set_states(self, data: Mapping[str, HostBytes]) -> None:
        """Fill states with these bytes."""
        for name, values in data.items():
            self.backend.copy_to_device(self._states[name].buffer, values)

    def state(self, name: str) -> npt.NDArray[Any]:
        """Return a copy of a state. Raises ArgumentError."""
        known = {s.name: self._entry.by_name[s.input] for s in self._entry.states}
        if name not in known:
            raise ArgumentError(
                f"{self.name}: {name!r} is not a state; {known_names(name, known, 'states')}"
            )
        value = known[name]
        found = np.empty(value.nbytes, np.uint8)
        self.backend.copy_from_device(found, self._states[name].buffer)
        return found.view(value.dtype.storage).reshape(value.shape)

    def run(self) -> None:
        held = self._kernels.held()  # stays until the run is done, whoever closes the bundle
        self._launch()
        del held

    def run_checked(self) -> None:
        """Run with every index compared with its table first. Raises ArgumentError."""
        held = self._kernels.held()
        if self._checked is None:
            from kgen_runtime.calls.checked_runs import CheckedSteps

            self._checked = CheckedSteps(
                self._entry, self.backend, self._kernels.entries, self._steps
            )
        self._checked.run()
        del held

    def timed(self) -> list[float]:
        held = self._kernels.held()
        seconds = self._sequence.timed()
        del held
        return seconds


def buffers_of(memories: Mapping[str, Memory]) -> dict[str, Any]:
    return {name: memory.buffer for name, memory in memories.items()}
