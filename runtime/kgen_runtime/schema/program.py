"""Programs in the manifest: kernels of one target in order, over one plan of memory.

A value is a tensor in some memory: the arena, a weight, an input, an output or a state. A step runs
a kernel on values. All that a runtime needs stands here: it plans no memory and derives no order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from kgen_runtime.dtypes import DType
from kgen_runtime.memory.strides import extent
from kgen_runtime.values import cached, frozen

PlaceKind = Literal["arena", "weights", "input", "output", "state"]
#: Folder of weight files, in a bundle or beside it.
WEIGHTS = "weights"
#: Where weight files start in a bundle, in bytes, so that they are mapped as they lie.
PAGE = 4096


def weight_file(sha256: str) -> str:
    """The name of the file that holds bytes of this digest."""
    return f"{WEIGHTS}/{sha256[:16]}.bin"


@frozen
class Place:
    """Where a value's first element lies: a memory, and an offset in it in bytes.

    `name` is that of the weight, input, output or state; the arena has none.
    """

    kind: PlaceKind
    name: str = ""
    offset: int = 0

    @cached
    def memory(self) -> tuple[PlaceKind, str]:
        """The memory itself."""
        return self.kind, self.name

    def __str__(self) -> str:
        at = f"{self.kind} {self.name}".rstrip()
        return f"{at} + {self.offset}" if self.offset else at


@frozen
class Value:
    """A tensor of a program, `strides` in elements; several values may view the same memory.

    Its name is the ONNX value's where there is one.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    place: Place

    @cached
    def nbytes(self) -> int:
        """Bytes from the first to the end of the last element."""
        return extent(self.shape, self.strides) * self.dtype.itemsize

    @property
    def end(self) -> int:
        """Where its last element ends in its memory, in bytes."""
        return self.place.offset + self.nbytes


@frozen
class Weight:
    """A constant tensor's bytes, in the order in which kernels of the target take them.

    `file` is in the bundle at a multiple of PAGE bytes, or beside the bundle.
    """

    name: str
    file: str
    sha256: str
    nbytes: int


@frozen
class State:
    """Memory that lives from one run to the next; zero before the first.

    `input` and `output` name the values at its start: what steps read of the run before, and what
    they leave for the next one.
    """

    name: str
    nbytes: int
    input: str
    output: str


@frozen
class Step:
    """One run of a kernel of the program's target.

    `bindings` give every tensor that a call of the kernel takes, outputs too, the name of a value.
    `nodes` name the ONNX nodes that it stands for. `after` are the numbers of earlier steps that it
    waits for: those that write what it reads, or read or write what it writes. One of them may wait
    for another of them in its place.
    """

    kernel: str
    bindings: Mapping[str, str]
    nodes: tuple[str, ...] = ()
    after: tuple[int, ...] = ()


@frozen
class Program:
    """A model, or a part of one, for one target.

    `values` are all that steps name, and the inputs and outputs. The arena is one allocation of
    `arena_bytes`, of undefined content before a run.
    """

    name: str
    target: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    states: tuple[State, ...] = ()
    values: tuple[Value, ...]
    weights: tuple[Weight, ...] = ()
    arena_bytes: int
    steps: tuple[Step, ...]

    @property
    def qualified_name(self) -> str:
        """The program's name among all of a bundle: ``target/name``."""
        return f"{self.target}/{self.name}"

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of its kernels among those of a bundle, each once."""
        return tuple(dict.fromkeys(f"{self.target}/{step.kernel}" for step in self.steps))

    @cached
    def by_name(self) -> dict[str, Value]:
        """Its values by name."""
        return {value.name: value for value in self.values}

    @property
    def memories(self) -> dict[tuple[PlaceKind, str], int]:
        """The bytes of every memory that places name."""
        found: dict[tuple[PlaceKind, str], int] = {("arena", ""): self.arena_bytes}
        found |= {("weights", w.name): w.nbytes for w in self.weights}
        found |= {("state", s.name): s.nbytes for s in self.states}
        found |= {("input", v.name): v.nbytes for v in self.inputs}
        return found | {("output", v.name): v.nbytes for v in self.outputs}
