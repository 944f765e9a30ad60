"""Bounds check of writes to states, such as a KV cache: a run that writes past the end is refused.

A scatter kernel ignores an index out of range, and the model would then compute without the row.
The indices are known before a run if they are inputs of the program or computed from integer inputs
alone; the scalar reference computes them before the run.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kgen_runtime.backends.reference import ReferenceBackend
from kgen_runtime.errors import ArgumentError
from kgen_runtime.expressions import views
from kgen_runtime.expressions.formulas import formulas_in, input_names
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.schema.partial_writes import overwritten_table
from kgen_runtime.schema.program import Program, Step, Value
from kgen_runtime.schema.spec_tensors import check_spec
from kgen_runtime.values import frozen

#: Largest number of elements of a step that is computed in scalar Python before each run.
MOST_ELEMENTS = 64
#: Number of checked inputs that are remembered.
MOST_KEPT = 65_536


@frozen
class Written:
    """Scatter into a state. `places` names the value with the indices along an axis of `size`
    elements."""

    state: str
    places: str
    size: int


class CachePlaces:
    """Indices at which a program writes its states, computed from the program's inputs."""

    def __init__(self, program: Program, kernels: Mapping[str, KernelEntry]) -> None:
        """Find the scatters into states; `kernels` are given by key."""
        self._program, self._kernels = program, kernels
        self._makers = {
            value: step for step in program.steps for value in _written(step, kernels[step.kernel])
        }
        self._inputs: dict[str, set[str]] = {}
        self._steps: dict[str, Step] = {}
        self._checks = [
            found
            for step in program.steps
            for found in _scatters(program, step, kernels[step.kernel])
            if self._needs(found.places)
        ]
        #: Inputs, as bytes, whose indices passed the check.
        self._right: set[tuple[bytes, ...]] = set()
        self._backend = ReferenceBackend()
        self._handles = {
            step.kernel: self._backend.load(kernels[step.kernel], {})
            for step in self._steps.values()
        }

    @property
    def needed(self) -> set[str]:
        """Names of the inputs from which the indices are computed."""
        return set().union(*(self._inputs[found.places] for found in self._checks))

    def check(self, inputs: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Raise ArgumentError if an index lies outside its state. `inputs` are those in
        `needed`."""
        given = {name: array.tobytes() for name, array in inputs.items()}
        key = tuple(given.values())
        if key in self._right:
            return
        memories = {name: bytearray(data) for name, data in given.items()}
        for found in self._checks:
            value = self._program.by_name[found.places]
            places = np.frombuffer(self._computed(value, memories), value.dtype.storage)
            # A model that chooses a place by comparison writes -size - 1 if nothing matches.
            wrong = places[(places < -found.size - 1) | (places >= found.size)]
            if wrong.size:
                names = sorted(self._inputs[found.places])
                raise ArgumentError(
                    f"{self._program.name}: {', '.join(names)} selects position {wrong[0]} of the "
                    f"state {found.state}, which has {found.size} positions; call reset() to start "
                    "again, or compile a model with a longer cache"
                )
        if len(self._right) >= MOST_KEPT:
            self._right.clear()
        self._right.add(key)

    def _needs(self, name: str) -> bool:
        """Return whether a value is computed from few integers of inputs; record the inputs and
        steps."""
        value = self._program.by_name[name]
        if name in self._inputs:
            return True
        if not value.dtype.is_integer or math.prod(value.shape) > MOST_ELEMENTS:
            return False
        if value.place.kind == "input":
            self._inputs[name] = {value.place.name}
            return True
        step = self._makers.get(name)
        if step is None or self._kernels[step.kernel].spec["op"] != "elementwise":
            return False
        sources = [step.bindings[param.name] for param in self._kernels[step.kernel].arguments]
        if not all(self._needs(source) for source in sources):
            return False
        check_spec(self._kernels[step.kernel])
        self._inputs[name] = set().union(*(self._inputs[source] for source in sources))
        self._steps[name] = step
        return True

    def _computed(self, value: Value, memories: dict[str, bytearray]) -> bytearray:
        """Return the bytes of a value; compute them with the scalar reference if they are not
        known."""
        name = value.place.name if value.place.kind == "input" else value.name
        if name not in memories:
            step = self._steps[value.name]
            entry = self._kernels[step.kernel]
            buffers = {}
            for param in (*entry.arguments, *entry.outputs):
                bound = self._program.by_name[step.bindings[param.name]]
                if bound.name == value.name:
                    memories[name] = bytearray(param.nbytes)
                    buffers[param.name] = memoryview(memories[name])
                elif param in entry.outputs:
                    buffers[param.name] = memoryview(bytearray(param.nbytes))
                else:
                    buffers[param.name] = memoryview(self._computed(bound, memories))
            self._backend.launch(self._handles[step.kernel], buffers)
        return memories[name]


def _written(step: Step, kernel: KernelEntry) -> Iterator[str]:
    for output in kernel.outputs:
        yield step.bindings[output.name]


def _scatters(program: Program, step: Step, kernel: KernelEntry) -> Iterator[Written]:
    """Yield the writes of a step to a state if the step is a scatter into one."""
    table = overwritten_table(kernel.spec)
    if table is None:
        return
    held = program.by_name[step.bindings[table]].place
    if held.kind != "state":
        return
    check_spec(kernel)
    formulas = formulas_in(kernel.spec["expression"])
    names = input_names(formulas)
    shapes = dict(zip(names, map(tuple, kernel.spec["shapes"]), strict=True))
    for at, by, axis in views.gathers(formulas):
        if isinstance(at, ast.Name) and at.id == table and isinstance(by, ast.Name):
            size = shapes[table][views.axis_of(axis, len(shapes[table]))]
            yield Written(state=held.name, places=step.bindings[by.id], size=size)
