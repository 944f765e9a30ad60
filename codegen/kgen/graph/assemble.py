"""Program writer: turn lowered kernel calls into the manifest's Program for one target.

The module places constants in weight files, in the packing that each kernel takes, and assigns all
intermediate buffers to one arena.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kgen.constants import stored
from kgen.graph.ir import Graph, ProductNode, ViewNode
from kgen.graph.lowering.calls import KernelCall, Lowered
from kgen.graph.memory import ALIGNMENT, Life, MemoryPlan, plan
from kgen.graph.memory_reuse import together
from kgen.graph.reading.model import Array
from kgen.program import weight
from kgen.spec import Spec
from kgen.spec.shapes import packed
from kgen_runtime.manifest import Packing, TensorParam
from kgen_runtime.schema.program import Place, Program, State, Step, Value, Weight
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen.targets.base import Plan as KernelPlan


#: Constants of fewer bytes share one weight file: a page for each bias would waste most of it.
SMALL = 1 << 14
#: Name of the shared weight file.
SMALL_NAME = "small"


@frozen
class AssembledProgram:
    """Program, the contents of its weight files, and its memory plan."""

    program: Program
    weights: Mapping[str, Array]
    memory: MemoryPlan


def lives(lowered: Lowered) -> dict[str, Life]:
    """Return the live range of every buffer that is no input, constant or output."""
    kept = {*lowered.inputs.values(), *lowered.constants, *lowered.outputs.values()}
    found: dict[str, Life] = {}
    for number, call in enumerate(lowered.calls):
        for binding in call.bindings.values():
            name = lowered.memory_of(binding.buffer)
            if name in kept:
                continue
            buffer = lowered.buffers[name]
            first = found[name].first if name in found else number
            nbytes = buffer.elements * buffer.dtype.itemsize
            found[name] = Life(nbytes=nbytes, first=first, last=number)
    return found


#: Name of a constant, and the packing in which a kernel takes it.
Order = tuple[str, Packing | None]


class Assembly:
    """Assembly of the program of the calls of one target.

    `plans` maps the number of each call to its plan, `keys` each spec to its kernel's key in the
    bundle.
    """

    def __init__(
        self,
        name: str,
        target: str,
        graph: Graph,
        lowered: Lowered,
        plans: Mapping[int, KernelPlan],
        keys: Mapping[Spec, str],
    ) -> None:
        self.name, self.target, self.graph = name, target, graph
        self.lowered, self.plans, self.keys = lowered, plans, keys
        alone = lives(lowered)
        upon, self.owner = together(lowered, plans, alone)
        self.memory = plan(upon)
        if (apart := plan(alone)).nbytes < self.memory.nbytes:
            self.memory, self.owner = apart, {name: name for name in alone}
        self.inputs = {buffer: name for name, buffer in lowered.inputs.items()}
        self.outputs = {buffer: name for name, buffer in lowered.outputs.items()}
        past = {present: name for name, present in lowered.states.items()}
        #: Name of the state that each buffer belongs to: the name of the input of its pair.
        self.states = {buf: name for buf, name in self.inputs.items() if name in lowered.states}
        self.states |= {buf: past[name] for buf, name in self.outputs.items() if name in past}
        self.values: dict[str, Value] = {}
        self.known: dict[tuple[object, ...], str] = {}
        self.weights: dict[str, Weight] = {}
        self.value_names, self.weight_names = _Names(), _Names()
        self.model_names = names_in_model(graph)
        self.files: dict[str, Array] = {}
        #: Place of each constant in each packing.
        self.by_order = self.placed_weights()

    def assembled(self) -> AssembledProgram:
        inputs = {name: self.interface(name, buf) for name, buf in self.lowered.inputs.items()}
        outputs = {name: self.interface(name, buf) for name, buf in self.lowered.outputs.items()}
        states = tuple(
            State(name=past, nbytes=inputs[past].nbytes, input=past, output=present)
            for past, present in self.lowered.states.items()
        )
        kept = {*self.lowered.states, *self.lowered.states.values()}
        steps = tuple(self.step(n, call) for n, call in enumerate(self.lowered.calls))
        program = Program(
            name=self.name,
            target=self.target,
            inputs=tuple(value for name, value in inputs.items() if name not in kept),
            outputs=tuple(value for name, value in outputs.items() if name not in kept),
            states=states,
            values=tuple(self.values.values()),
            weights=tuple(self.weights.values()),
            arena_bytes=self.memory.nbytes,
            steps=steps,
            counts=self.graph.counts,
        )
        return AssembledProgram(program=program, weights=self.files, memory=self.memory)

    def interface(self, name: str, buffer: str) -> Value:
        """Return the manifest's value for an input or an output of the model."""
        of = self.graph.outputs.get(name, buffer)
        param = self.whole(buffer, self.graph.values[of].shape)
        if (tensor := self.graph.stored.get(name)) is not None:
            # Kernels read and write its bytes.
            param = dataclasses.replace(
                param, dtype=tensor.dtype, shape=tensor.shape, strides=packed(tensor.shape)
            )
        return self.value(buffer, param, self.place(buffer, param), name)

    def whole(self, buffer: str, shape: tuple[int, ...]) -> TensorParam:
        """Return a whole buffer as a packed parameter of this shape."""
        return TensorParam(
            name=buffer,
            role="input",
            dtype=self.lowered.buffers[buffer].dtype,
            shape=shape,
            strides=packed(shape),
        )

    def step(self, number: int, call: KernelCall) -> Step:
        bindings = {}
        for param in self.plans[number].parameters:
            binding = call.bindings[param.name]
            place = self.place(binding.buffer, param)
            offset = place.offset + binding.offset * param.dtype.itemsize
            value = self.value(binding.buffer, param, dataclasses.replace(place, offset=offset))
            bindings[param.name] = value.name
        return Step(
            kernel=self.keys[self.plans[number].operation], bindings=bindings, nodes=call.nodes
        )

    def place(self, buffer: str, param: TensorParam) -> Place:
        buffer = self.lowered.memory_of(buffer)
        if buffer in self.states:
            return Place(kind="state", name=self.states[buffer])
        if buffer in self.inputs:
            return Place(kind="input", name=self.inputs[buffer])
        if buffer in self.outputs:
            return Place(kind="output", name=self.outputs[buffer])
        if buffer in self.lowered.constants:
            return self.by_order[buffer, param.packing]
        return Place(kind="arena", offset=self.memory.offsets[self.owner[buffer]])

    def placed_weights(self) -> dict[Order, Place]:
        """Return the places of all constants. A large constant has a weight file of its own."""
        found: dict[Order, Place] = {}
        offsets: dict[Order, int] = {}
        small: list[Array] = []
        nbytes = 0
        for number, call in enumerate(self.lowered.calls):
            for param in self.plans[number].parameters:
                buffer = call.bindings[param.name].buffer
                order = buffer, param.packing
                if buffer not in self.lowered.constants or order in found or order in offsets:
                    continue
                data = self.ordered(buffer, param)
                if len(data) >= SMALL:
                    found[order] = self.weight(self.graph.names.get(buffer, buffer), data)
                    continue
                offsets[order] = nbytes
                small += [data, np.zeros(-len(data) % ALIGNMENT, np.uint8)]
                nbytes += len(data) + len(small[-1])
        if small:
            place = self.weight(SMALL_NAME, np.concatenate(small[:-1]))
            found |= {o: dataclasses.replace(place, offset=at) for o, at in offsets.items()}
        return found

    def ordered(self, buffer: str, param: TensorParam) -> Array:
        """Return a constant's bytes in the order that a parameter takes."""
        array = self.lowered.constants[buffer]
        if param.packing is not None:
            return np.frombuffer(stored(param, matrix_of(array, param)), np.uint8)
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def weight(self, wanted: str, data: Array) -> Place:
        """Add a weight file with these bytes, and return its place."""
        name = self.weight_names.unused(wanted)
        self.weights[name] = found = weight(name, data)
        self.files[found.file] = data
        return Place(kind="weights", name=name)

    def value(self, buffer: str, param: TensorParam, place: Place, wanted: str = "") -> Value:
        """Return the manifest's value for a buffer as one kernel reads it.

        Reads that differ in type, shape, strides or place are values with different names.
        """
        wanted = wanted or self.model_names.get(buffer, buffer)
        key = (buffer, param.dtype, param.shape, param.strides, place)
        if key not in self.known:
            name = self.value_names.unused(wanted)
            self.values[name] = Value(
                name=name, dtype=param.dtype, shape=param.shape, strides=param.strides, place=place
            )
            self.known[key] = name
        return self.values[self.known[key]]


def matrix_of(constant: Array, param: TensorParam) -> Array:
    """Return a constant as the matrix that a parameter describes before packing."""
    array, matrix = np.ascontiguousarray(constant).reshape(-1), param.unpacked
    strides = tuple(stride * array.itemsize for stride in matrix.strides)
    # The matrices of groups lie side by side.
    spans = zip(matrix.shape, matrix.strides, strict=True)
    assert sum((size - 1) * stride for size, stride in spans) < array.size, param.name
    return np.lib.stride_tricks.as_strided(array, matrix.shape, strides)


def names_in_model(graph: Graph) -> dict[str, str]:
    """Return the model's names of values. A product whose result has a name only after a reshape
    gets that name, so that a verification compares it."""
    found = dict(graph.names)
    for value in graph.values.values():
        view = value.operation
        if not isinstance(view, ViewNode) or view.step.kind != "reshape":
            continue
        if value.id in found and isinstance(graph.values[view.of].operation, ProductNode):
            found.setdefault(view.of, found[value.id])
    return found


class _Names:
    """Unique names: a name that is taken gets a number."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}

    def unused(self, wanted: str) -> str:
        """Return the wanted name, or the name with the next free number."""
        number = self.last.get(wanted, 0)
        name = wanted
        while name in self.last:
            number += 1
            name = f"{wanted}#{number}"
        self.last[name] = self.last.setdefault(wanted, 1)
        self.last[wanted] = max(number, 1)
        return name
