"""Data flow of a program: whose results each step reads, and which bytes of the arena are live.

Values share memory, so each element is traced to the step that wrote it last.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kgen.errors import BundleError
from kgen.order.accesses import bound
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.schema.program import Program, Value
from kgen_runtime.values import frozen

#: Most steps and elements that are traced, for reasons of time (seconds) and memory (2 GiB).
MOST_STEPS, MOST_PLACES = 5000, 2**29


@frozen
class ArenaBlock:
    """Bytes of a value in the arena, from `start` to `end`, and the steps at which it is live.

    `first` is the first step that writes the bytes, `last` the last step that reads them.
    """

    value: str
    start: int
    end: int
    first: int
    last: int


@frozen
class Flow:
    """Data flow of a program.

    `reads` are pairs (writing step, reading step). `inputs` are pairs of a step and the name of an
    input that it reads; `outputs` are pairs of a step and the name of an output that it writes.
    """

    reads: tuple[tuple[int, int], ...]
    inputs: tuple[tuple[int, str], ...]
    outputs: tuple[tuple[int, str], ...]
    blocks: tuple[ArenaBlock, ...]

    def occupied(self, step: int) -> int:
        """Return the bytes of the arena that are live at a step."""
        spans = sorted((b.start, b.end) for b in self.blocks if b.first <= step <= b.last)
        total = at = 0
        for start, end in spans:
            total += max(0, end - max(start, at))
            at = max(at, end)
        return total


def flow(program: Program, kernels: Mapping[str, KernelEntry]) -> Flow:
    """Return the data flow of a program; `kernels` are the bundle's kernels by name.

    Raises BundleError for a program that is too large.
    """
    memories = _Memories(program)
    values = program.by_name
    reads: dict[tuple[int, int], None] = {}
    inputs: dict[tuple[int, str], None] = {}
    outputs: dict[tuple[int, str], None] = {}
    #: One tuple per write: the value, the step that writes it, and the last step that reads it.
    writes: list[tuple[Value, int, int]] = []
    for number, step in enumerate(program.steps):
        params = bound(kernels[f"{program.target}/{step.kernel}"])
        for param in params:
            value = values[step.bindings[param.name]]
            if param.is_output:
                continue
            if value.place.kind == "input":
                inputs[number, value.place.name] = None
            for i in np.unique(memories.view(value, param)):
                if i >= 0:
                    written, writer, _ = writes[i]
                    reads[writer, number] = None
                    writes[i] = written, writer, number
        for param in params:
            value = values[step.bindings[param.name]]
            if param.is_output:
                if value.place.kind == "output":
                    outputs[number, value.place.name] = None
                memories.view(value, param)[...] = len(writes)
                writes.append((value, number, number))
    return Flow(
        reads=tuple(reads),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        blocks=tuple(
            ArenaBlock(
                value=value.name, start=value.place.offset, end=value.end, first=first, last=last
            )
            for value, first, last in writes
            if value.place.kind == "arena"
        ),
    )


class _Memories:
    """Number of the last write of each element of each memory; -1 if it was not written."""

    def __init__(self, program: Program) -> None:
        self.step = min((v.dtype.itemsize for v in program.values), default=1)
        places = {
            memory: -(-nbytes // self.step)
            for memory, nbytes in program.memories.items()
            if memory[0] != "weights"
        }
        if len(program.steps) > MOST_STEPS or sum(places.values()) > MOST_PLACES:
            raise BundleError(
                f"{program.qualified_name} is too large to draw: it has {len(program.steps)} steps "
                f"and {sum(places.values()) * self.step} bytes; the limits are {MOST_STEPS} steps "
                f"and {MOST_PLACES * self.step} bytes"
            )
        self.arrays = {memory: np.full(n, -1, np.int32) for memory, n in places.items()}

    def view(self, value: Value, param: TensorParam) -> npt.NDArray[np.int32]:
        """Return the elements of a value, in the layout of a kernel's parameter."""
        array = self.arrays.get(value.place.memory)
        if array is None:
            return np.full((), -1, np.int32)
        each = param.dtype.itemsize // self.step
        return np.lib.stride_tricks.as_strided(
            array[value.place.offset // self.step :],
            (*param.shape, each),
            (*(4 * each * stride for stride in param.strides), 4),
        )
