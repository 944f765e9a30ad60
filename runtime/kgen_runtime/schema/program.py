"""Programs in the manifest: kernels of one target in order, with a memory plan.

A value is a tensor in some memory: the arena, a weight, an input, an output or a state. A step runs
a kernel on values. The runtime plans no memory and derives no order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from kgen_runtime.dtypes import DType
from kgen_runtime.memory.strides import extent
from kgen_runtime.values import cached, frozen

PlaceKind = Literal["arena", "weights", "input", "output", "state"]
#: Folder of weight files, in a bundle or beside it.
WEIGHTS = "weights"
#: Alignment of weight files in a bundle, in bytes, so that they can be mapped.
PAGE = 4096


def weight_file(sha256: str) -> str:
    """Return the name of the file that holds bytes of this digest."""
    return f"{WEIGHTS}/{sha256[:16]}.bin"


@frozen
class Place:
    """Address of a value's first element."""

    #: Kind of memory.
    kind: PlaceKind
    #: Name of the weight, input, output or state; empty for the arena.
    name: str = ""
    #: Offset in that memory, in bytes.
    offset: int = 0

    @cached
    def memory(self) -> tuple[PlaceKind, str]:
        """Kind and name of the memory."""
        return self.kind, self.name

    def __str__(self) -> str:
        at = f"{self.kind} {self.name}".rstrip()
        return f"{at} + {self.offset}" if self.offset else at


@frozen
class Value:
    """Tensor of a program. Several values may view the same memory, with other shapes or as other
    parts of it."""

    #: Name of the ONNX value if there is one.
    name: str
    #: Element type.
    dtype: DType
    #: Elements of each dimension, outermost first.
    shape: tuple[int, ...]
    #: Stride of each dimension, in elements.
    strides: tuple[int, ...]
    #: Address of the first element.
    place: Place

    @cached
    def nbytes(self) -> int:
        """Bytes from the start of the first element to the end of the last one."""
        return extent(self.shape, self.strides) * self.dtype.itemsize

    @property
    def end(self) -> int:
        """Offset of the end of the last element in its memory, in bytes."""
        return self.place.offset + self.nbytes


@frozen
class Weight:
    """Constant tensor of a program, in the order that the target's kernels read: prepacked if they
    take a prepacked B."""

    #: Name that places refer to.
    name: str
    #: `weights/` and the first 16 digits of the digest: a path in the bundle, or in the bundle's
    #: folder. Weights of equal bytes share a file.
    file: str
    #: SHA-256 of the bytes, in hexadecimal digits.
    sha256: str
    #: Size in bytes.
    nbytes: int


@frozen
class State:
    """Memory that is kept from one run to the next, and is zero before the first."""

    #: Name that places refer to.
    name: str
    #: Size in bytes.
    nbytes: int
    #: Value at the start of the memory that steps read: the result of the run before.
    input: str
    #: Value at the start of the memory that steps write, for the next run.
    output: str


@frozen
class Count:
    """Axis of an output whose size depends on data. The output's shape has room for the largest
    size; elements past the size of a run are undefined."""

    #: Name of the output.
    output: str
    #: Number of the axis, 0 for the outermost one.
    axis: int
    #: Name of another output, of one s64, that holds the size of the axis. A size above that of the
    #: output's shape says that a run had no room for all elements. Outputs that hold sizes come
    #: after all others, and callers do not see them.
    size: str


@frozen
class Step:
    """Call of a kernel on values."""

    #: Key of a kernel of the program's target.
    kernel: str
    #: Value of each tensor of the call, inputs and outputs, by the tensor's name.
    bindings: Mapping[str, str]
    #: ONNX nodes that the step computes.
    nodes: tuple[str, ...] = ()
    #: Numbers of earlier steps that this step waits for: those that write what it reads, or that
    #: read or write what it writes. Steps that a listed step waits for need not be listed. Steps
    #: of every turn of a repetition count.
    after: tuple[int, ...] = ()


@frozen
class Repeat:
    """Steps that run several times, one turn after the other.

    In turn t, counted from 0, the place of a value moves by t times its entry in `moves`, and a
    step waits for steps whose numbers are higher by t times `count`.

    Example of a repetition: `first` 2, `count` 2, `turns` 3 and `moves` {"part": 512} run the steps
    2, 3, 2, 3, 2, 3, and then the step listed as 4, whose number is 8. The value `part`, at byte
    256 of the arena, is at byte 256, then 768, then 1280.
    """

    #: Position in `steps` of the first step of a turn.
    first: int
    #: Steps of a turn.
    count: int
    #: Turns, two or more.
    turns: int
    #: Bytes by which values move from one turn to the next, by name; all other values stay.
    moves: Mapping[str, int] = field(default_factory=dict)


@frozen
class Program:
    """Model, or part of one, for one target."""

    #: Name. A bundle may hold a program of one name for several targets.
    name: str
    #: Name of the target.
    target: str
    #: Tensors that the caller passes, without gaps, each in memory of its own.
    inputs: tuple[Value, ...]
    #: Tensors that the program returns, without gaps, each in memory of its own.
    outputs: tuple[Value, ...]
    #: Memory that is kept between runs.
    states: tuple[State, ...] = ()
    #: Tensors that steps name, inputs and outputs included.
    values: tuple[Value, ...]
    #: Constant tensors.
    weights: tuple[Weight, ...] = ()
    #: Size of the allocation that intermediate values share; its content is undefined before a run.
    arena_bytes: int
    #: Steps, in an order in which they can run. Every order that keeps `after` gives the same
    #: result.
    steps: tuple[Step, ...]
    #: Repetitions of steps, in order; they do not overlap.
    repeats: tuple[Repeat, ...] = ()
    #: Axes of outputs whose sizes depend on data.
    counts: tuple[Count, ...] = ()

    @property
    def qualified_name(self) -> str:
        """Name of the program in a bundle: ``target/name``."""
        return f"{self.target}/{self.name}"

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels in a bundle, each once."""
        return tuple(dict.fromkeys(f"{self.target}/{step.kernel}" for step in self.steps))

    @cached
    def by_name(self) -> dict[str, Value]:
        return {value.name: value for value in self.values}

    @cached
    def hidden_outputs(self) -> frozenset[str]:
        """Names of the outputs that hold sizes of other outputs."""
        return frozenset(count.size for count in self.counts)

    @cached
    def visible_outputs(self) -> tuple[Value, ...]:
        """Outputs that callers see."""
        return tuple(value for value in self.outputs if value.name not in self.hidden_outputs)

    @cached
    def sized_outputs(self) -> tuple[Value, ...]:
        """Outputs whose sizes depend on data."""
        names = {count.output for count in self.counts}
        return tuple(value for value in self.outputs if value.name in names)

    @property
    def memories(self) -> dict[tuple[PlaceKind, str], int]:
        """Size in bytes of every memory that places refer to."""
        found: dict[tuple[PlaceKind, str], int] = {("arena", ""): self.arena_bytes}
        found |= {("weights", w.name): w.nbytes for w in self.weights}
        found |= {("state", s.name): s.nbytes for s in self.states}
        found |= {("input", v.name): v.nbytes for v in self.inputs}
        return found | {("output", v.name): v.nbytes for v in self.outputs}
