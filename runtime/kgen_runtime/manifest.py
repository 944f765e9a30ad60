"""The manifest: the one contract that the build machine and the serving machine share.

The runtime derives nothing from shapes: every stride, grid and workspace size stands here. All
values are frozen dataclasses that turn into JSON and back without loss (`manifest_json`). Sizes are
bytes where the name says so; strides and extents are elements.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from kgen_runtime.dtypes import DType
from kgen_runtime.memory.strides import extent
from kgen_runtime.schema.program import Program
from kgen_runtime.values import cached, frozen

#: What is written, and all that are read: version 1 had no programs.
SCHEMA_VERSION = 2
SCHEMA_VERSIONS = (1, 2)

Extent3 = tuple[int, int, int]
Role = Literal["machine-code", "portable", "source"]


@frozen
class Packing:
    """The order of a constant matrix of K x N that a kernel takes packed; see `packing.pack`.

    Columns lie in panels of `width`, and in a panel runs of `depth` elements of a column side by
    side: element (k, n) is at [n // width, k // depth, n % width, k % depth] of the packed tensor,
    whose other elements are zero. With `runs`, whose sum is `depth`, the elements of such a run are
    cut up: of all columns of a panel first those of the first of `runs`, then those of the second,
    and so on. `shape` and `strides` are those of the matrix itself, which is stored as N x K if
    `transposed`; a batch comes first in both.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    transposed: bool
    width: int
    depth: int
    runs: tuple[int, ...] = ()


@frozen
class TensorParam:
    """A tensor argument: `shape` and `strides` in elements, innermost last.

    With a `packing` they are those of the packed form of a matrix.
    """

    name: str
    role: Literal["input", "output"]
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    packing: Packing | None = None

    @property
    def unpacked(self) -> TensorParam:
        """The matrix that a packed tensor is made of; any other tensor itself."""
        if self.packing is None:
            return self
        return dataclasses.replace(
            self, shape=self.packing.shape, strides=self.packing.strides, packing=None
        )

    @property
    def extent(self) -> int:
        """Elements from the first to the last one, both included."""
        return extent(self.shape, self.strides)

    @cached
    def nbytes(self) -> int:
        """Bytes from the first to the end of the last element."""
        return self.extent * self.dtype.itemsize


@frozen
class Workspace:
    """Scratch memory that the runtime provides per stream, and keeps from one call to the next.

    `initial` is its value before the first call; a kernel that asks for zero leaves zero behind.
    """

    name: str
    nbytes: int
    initial: Literal["any", "zero"] = "any"


@frozen
class TensorMap:
    """A tensor as NVIDIA's copy engine sees it: an argument that the runtime makes for each call.

    `tensor` names the parameter or workspace that it views. `shape`, `strides` and the `box` that
    one instruction copies count elements, innermost last; the innermost stride is 1. `swizzle`:
    bytes over which 16-byte chunks of a box are permuted in shared memory, 0 for none. What lies
    outside of the tensor is read as zero and not written. With `tf32` numbers of f32 are rounded to
    tf32 as they are read. The driver's cuTensorMapEncodeTiled gives the requirements.
    """

    name: str
    tensor: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: Literal[0, 32, 64, 128] = 0
    tf32: bool = False

    @property
    def box_bytes(self) -> int:
        """Bytes of shared memory that a box takes, whatever part of it lies in the tensor."""
        return math.prod(self.box) * self.dtype.itemsize


@frozen
class Walk:
    """How persistent workgroups share the pieces of an output of at least two dimensions.

    Of n clusters of workgroups along x, cluster i writes the pieces i, i + n, i + 2 n, ... Pieces
    are numbered in groups of `group` rows of them, column by column in each group, and one matrix
    of the last two dimensions after another.

    With `steps`, the first `shared` pieces are cut along their depth, which is that many steps
    (stream-k). Of n workgroups number i takes the steps from i * shared * steps // n up to the next
    one's, and writes the pieces whose first step is among them; then it has the pieces shared + i,
    shared + i + n, ... If numbers are `drawn`, a workgroup draws its own, the highest is first, and
    waits for parts of higher ones only: some workgroups can run alone, and have the highest
    numbers. If not, nobody waits: who comes last at a piece writes it.

    With `dies`, workgroups go round so many dies, and each die has numbers that are neighbours:
    workgroup w is number w // dies of die w % dies, and the numbers of a die follow those of the
    one before.
    """

    group: int = 1
    shared: int = 0
    steps: int = 0
    drawn: bool = True
    dies: int = 1


@frozen
class Tile:
    """Which box of the output a workgroup writes, so that a sample can be checked on its own. Of
    several outputs it is the largest; a row-wise operation's dimensions are rows and columns.

    Output dimension i is cut in pieces of `extent[i]` elements, and the workgroup's coordinate
    `axes[i]` (0 = x, 1 = y, 2 = z, -1 = the whole dimension) says which piece is its own.
    `shape` is the output as these dimensions see it, packed in the order of the tensor's own.
    With a `walk` a cluster writes several pieces, and `axes` say nothing. With `parts` that many
    workgroups, next to each other along the axis of the first dimension, make one piece: they leave
    parts of it in a workspace, which the next launch needs of all pieces that it writes into, or,
    if there is none, whichever of them comes last.
    """

    shape: tuple[int, ...]
    extent: tuple[int, ...]
    axes: tuple[int, ...]
    walk: Walk | None = None
    parts: int = 1


@frozen
class Launch:
    """One kernel launch. `arguments`: names of tensors, workspaces and tensor maps, in ABI order.

    GPUs: `grid` counts workgroups, `block` threads. CPU: `grid` is (tasks, 1, 1), and the entry
    point takes two more 64-bit integers, the half-open range of tasks to do.
    """

    module: str = "main"
    entry_point: str
    grid: Extent3
    block: Extent3 = (1, 1, 1)
    cluster: Extent3 = (1, 1, 1)
    dynamic_shared_memory: int = 0
    arguments: tuple[str, ...]
    tile: Tile | None = None


@frozen
class ArtifactEntry:
    """One file of a kernel inside the bundle.

    `format`: cubin, ptx, hsaco, spirv, elf-x86_64, elf-aarch64, llvm-ir, spirv-asm, msl.
    `requires`: what the device must have, in the words of its backend; the runtime checks it.
    """

    module: str = "main"
    file: str
    format: str
    role: Role
    sha256: str
    nbytes: int
    requires: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether it is the kernel as people read it."""
        return self.format in ("ptx", "llvm-ir", "spirv-asm")


@frozen
class StoredTensor:
    """An input whose bytes are in the bundle, in the order of the parameter: calls leave it out."""

    parameter: str
    file: str
    sha256: str
    nbytes: int


@frozen
class Resources:
    """What the machine code uses, per thread (registers) or per workgroup (shared memory).

    `findings` are the assembler's warnings that the code will be slow, where it gives any.
    """

    registers: int | None = None
    accumulator_registers: int | None = None
    scalar_registers: int | None = None
    spills: int | None = None
    stack: int | None = None
    shared_memory: int | None = None
    code_bytes: int | None = None
    findings: tuple[str, ...] | None = None


@frozen
class Tolerance:
    """|error| <= u_out |ref| + (factor sqrt(K) u_acc + operand_error) (|A| |B|)
    + function_error |f|; see design. `operand_error` is what rounding the operands of a product to
    the matrix unit's type costs it. `subnormals`: whether numbers of f32 below 2^-126 may be taken
    for zero; `flushed_outputs` are those whose own may be, when they are rounded."""

    accumulate: DType
    factor: float
    function_error: float = 0.0
    operand_error: float = 0.0
    subnormals: Literal["flushed"] | None = None
    flushed_outputs: tuple[str, ...] = ()
    reason: str


@frozen
class TargetEntry:
    name: str
    family: str
    arch: str


@frozen
class KernelEntry:
    """One kernel for one target. `spec` is the JSON form of the operation, `op` included."""

    key: str
    op: str
    spec: Mapping[str, Any]
    target: TargetEntry
    schedule: Mapping[str, Any]
    parameters: tuple[TensorParam, ...]
    workspaces: tuple[Workspace, ...] = ()
    tensor_maps: tuple[TensorMap, ...] = ()
    launches: tuple[Launch, ...]
    artifacts: tuple[ArtifactEntry, ...]
    constants: tuple[StoredTensor, ...] = ()
    resources: Resources
    tolerance: Tolerance

    @property
    def inputs(self) -> tuple[TensorParam, ...]:
        return tuple(p for p in self.parameters if p.role == "input")

    @property
    def arguments(self) -> tuple[TensorParam, ...]:
        """The inputs that a call is given."""
        stored = {constant.parameter for constant in self.constants}
        return tuple(p for p in self.inputs if p.name not in stored)

    @property
    def outputs(self) -> tuple[TensorParam, ...]:
        return tuple(p for p in self.parameters if p.role == "output")

    @property
    def output(self) -> TensorParam:
        """The largest one, which tiles are of."""
        return max(self.outputs, key=lambda p: math.prod(p.shape))

    @property
    def by_output(self) -> tuple[KernelEntry, ...]:
        """The same kernel, once with each output as its only one."""
        if len(self.outputs) == 1:
            return (self,)
        return tuple(
            dataclasses.replace(self, parameters=(*self.inputs, output)) for output in self.outputs
        )

    @property
    def files(self) -> tuple[ArtifactEntry | StoredTensor, ...]:
        """All that it has in the bundle besides the manifest."""
        return (*self.artifacts, *self.constants)

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of every tensor and workspace, by name."""
        return {p.name: p.nbytes for p in self.parameters} | {
            w.name: w.nbytes for w in self.workspaces
        }

    @property
    def unpacked(self) -> KernelEntry:
        """The same with every tensor as the operation has it."""
        return dataclasses.replace(self, parameters=tuple(p.unpacked for p in self.parameters))

    @property
    def name(self) -> str:
        """The kernel's name among all targets of a bundle: ``target/key``."""
        return f"{self.target.name}/{self.key}"


@frozen
class Manifest:
    schema_version: int = SCHEMA_VERSION
    kernels: tuple[KernelEntry, ...]
    programs: tuple[Program, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
