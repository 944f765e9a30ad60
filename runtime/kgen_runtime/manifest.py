"""Manifest: the contract between the build machine and the serving machine.

The runtime derives nothing from shapes: the manifest states every stride, grid and workspace size.
All values are frozen dataclasses that convert to JSON and back without loss (`manifest_json`).
docs/reference/bundle-format.md lists the fields with the comments above them.
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

#: Version that is written, and versions that are read. Version 1 had no programs. Before version 3,
#: tensors had 1 or more elements, and no steps were repeated. Before version 4, no tensor was s16
#: or u16.
SCHEMA_VERSION = 4
SCHEMA_VERSIONS = (1, 2, 3, 4)

Extent3 = tuple[int, int, int]
Role = Literal["machine-code", "portable", "source"]


@frozen
class Packing:
    """Order of a prepacked matrix B of K x N; see `packing.pack`.

    Element (k, n) is at [n // width, k // depth, n % width, k % depth] of the packed tensor, whose
    other elements are zero.
    """

    #: Shape of the matrix before packing: K x N, or N x K if `transposed`; a batch comes first.
    shape: tuple[int, ...]
    #: Strides of the matrix before packing, in elements.
    strides: tuple[int, ...]
    #: Whether the matrix is stored as N x K.
    transposed: bool
    #: Columns of a panel.
    width: int
    #: Elements of a column that are contiguous in a panel.
    depth: int
    #: Parts that `depth` is cut into: a panel holds the first part of all columns, then the second,
    #: and so on. Their sum is `depth`; without parts `depth` is not cut.
    runs: tuple[int, ...] = ()


@frozen
class TensorParam:
    """Tensor argument of a kernel."""

    #: Name by which calls pass the tensor.
    name: str
    #: Whether the kernel reads or writes the tensor.
    role: Literal["input", "output"]
    #: Element type.
    dtype: DType
    #: Elements of each dimension, outermost first; with a `packing` those of the packed tensor.
    shape: tuple[int, ...]
    #: Stride of each dimension, in elements.
    strides: tuple[int, ...]
    #: Order of a prepacked matrix.
    packing: Packing | None = None

    @property
    def is_output(self) -> bool:
        return self.role == "output"

    @property
    def unpacked(self) -> TensorParam:
        """Matrix before packing; the tensor itself if it is not packed."""
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
    """Scratch memory of a kernel, aligned to 256 bytes and kept from call to call. GPUs have one
    per stream, CPUs one for each call that runs at a time."""

    #: Name among the arguments of launches.
    name: str
    #: Size in bytes.
    nbytes: int
    #: Content before the first call. If it is zero, the kernel zeroes it again before it ends.
    initial: Literal["any", "zero"] = "any"


@frozen
class TensorMap:
    """Tensor map of NVIDIA's TMA. The runtime encodes it (cuTensorMapEncodeTiled) with the address
    that the tensor has in a call. Elements outside of the tensor are read as zero and not written.
    """

    #: Name among the arguments of launches.
    name: str
    #: Parameter or workspace that the map views.
    tensor: str
    #: Element type.
    dtype: DType
    #: Elements of each dimension, outermost first.
    shape: tuple[int, ...]
    #: Stride of each dimension, in elements; the innermost is 1.
    strides: tuple[int, ...]
    #: Elements of each dimension that one instruction copies.
    box: tuple[int, ...]
    #: Bytes over which 16-byte chunks of a box are permuted in shared memory; 0 permutes nothing.
    swizzle: Literal[0, 32, 64, 128] = 0
    #: Whether the copy rounds f32 to tf32.
    tf32: bool = False

    @property
    def box_bytes(self) -> int:
        """Bytes of shared memory that a box takes, whatever part of it lies in the tensor."""
        return math.prod(self.box) * self.dtype.itemsize


@frozen
class Walk:
    """Order in which persistent workgroups write the boxes of a tile.

    Boxes have numbers: column by column within a group of `group` rows of boxes, then the next
    group, then the next matrix. Cluster i of n clusters of workgroups writes the boxes i, i + n,
    i + 2 n, ...

    With `steps` (stream-k), workgroups divide K of the first `shared` boxes. Workgroup i of n
    computes the steps from i * shared * steps // n up to those of workgroup i + 1, and writes the
    boxes whose first step is one of them. Then it writes the boxes shared + i, shared + i + n, ...

    Example of a group: `group` 2 numbers 3 rows and 4 columns of boxes 0 2 4 6 in the first row,
    1 3 5 7 in the second and 8 9 10 11 in the third. Of 5 clusters, cluster 1 writes the boxes 1,
    6 and 11.

    Example of stream-k: `shared` 2 and `steps` 8 with 4 workgroups give each workgroup 4 of the 16
    steps. Workgroups 0 and 1 compute box 0, which workgroup 0 writes; workgroups 2 and 3 compute
    box 1, which workgroup 2 writes. Of 12 boxes, workgroup 1 then writes the boxes 3, 7 and 11.
    """

    #: Rows of boxes that are numbered together, column by column.
    group: int = 1
    #: Boxes, the first ones, whose K is divided among workgroups.
    shared: int = 0
    #: Steps along K of a shared box; 0 without stream-k.
    steps: int = 0
    #: Whether workgroups take their numbers from a counter, the highest first, and wait only for
    #: the partial sums of higher numbers. If not, no workgroup waits: the last-arriving one of a
    #: box writes it.
    drawn: bool = True
    #: Dies among which workgroups are distributed in turn: workgroup w is number w // dies of die
    #: w % dies, and the numbers of a die are consecutive.
    dies: int = 1


@frozen
class Tile:
    """Box of the output that a workgroup (CPU: a task) writes, so that `kgen verify` can check a
    sample of the output alone. If a kernel has several outputs, the tile is one of the largest.

    Example of a tile: `shape` [100, 60], `extent` [32, 16] and `axes` [1, 0] cut an output of 100
    rows and 60 columns into 4 x 4 boxes of 32 x 16 elements. y of the workgroup selects the rows,
    x the columns: workgroup (2, 1, 0) writes the rows 32 to 63 and the columns 32 to 47. Boxes end
    with the output: workgroup (3, 3, 0) writes the rows 96 to 99 and the columns 48 to 59.
    """

    #: Shape of the output, without gaps, in the dimensions of the tile; rows and columns for a
    #: row-wise operation.
    shape: tuple[int, ...]
    #: Elements of each dimension of a box.
    extent: tuple[int, ...]
    #: Coordinate of the workgroup that says which box it writes, for each dimension: 0 = x, 1 = y,
    #: 2 = z, -1 = the box spans the dimension.
    axes: tuple[int, ...]
    #: Boxes of persistent workgroups, which replace `axes`.
    walk: Walk | None = None
    #: Workgroups, next to each other along the axis of the first dimension, that compute one box
    #: together (split-k). The next launch adds their partial sums; if there is none, the
    #: last-arriving workgroup does.
    parts: int = 1


@frozen
class Launch:
    """Launch of a kernel; launches run in order."""

    #: Module whose artifacts hold the entry point.
    module: str = "main"
    #: Name of the function.
    entry_point: str
    #: Workgroups along x, y, z; on CPUs (tasks, 1, 1).
    grid: Extent3
    #: Threads of a workgroup along x, y, z; (1, 1, 1) on CPUs.
    block: Extent3 = (1, 1, 1)
    #: Workgroups of a cluster along x, y, z.
    cluster: Extent3 = (1, 1, 1)
    #: Bytes of dynamic shared memory of a workgroup.
    dynamic_shared_memory: int = 0
    #: Names of parameters, workspaces and tensor maps, in ABI order.
    arguments: tuple[str, ...]
    #: Box of the output that each workgroup writes.
    tile: Tile | None = None

    @property
    def is_clustered(self) -> bool:
        return self.cluster != (1, 1, 1)


@frozen
class ArtifactEntry:
    """File of a kernel: machine code, a portable form, or source text."""

    #: Module that the file is a form of.
    module: str = "main"
    #: Path in the bundle.
    file: str
    #: cubin, ptx, hsaco, spirv, msl, elf-x86_64, elf-aarch64, llvm-ir or spirv-asm.
    format: str
    #: Use of the file: run it, hand it to a driver's compiler, or read it.
    role: Role
    #: SHA-256 of the bytes, in hexadecimal digits.
    sha256: str
    #: Size in bytes.
    nbytes: int
    #: Features that the device must have, by family (see Artifacts).
    requires: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether the file is text that people read."""
        return self.format in ("ptx", "llvm-ir", "spirv-asm")


@frozen
class StoredTensor:
    """Constant input whose bytes are in the bundle; calls leave it out."""

    #: Name of the input.
    parameter: str
    #: Path in the bundle.
    file: str
    #: SHA-256 of the bytes, in hexadecimal digits.
    sha256: str
    #: Size in bytes.
    nbytes: int


@frozen
class Resources:
    """Resources of the machine code. A field is left out if the assembler does not report it."""

    #: Registers of a thread (vector registers on AMD GPUs).
    registers: int | None = None
    #: Accumulator registers (AGPRs) of a thread.
    accumulator_registers: int | None = None
    #: Scalar registers of a wave.
    scalar_registers: int | None = None
    #: Bytes of registers that a thread spills to memory.
    spills: int | None = None
    #: Bytes of stack of a thread.
    stack: int | None = None
    #: Bytes of static and dynamic shared memory of a workgroup.
    shared_memory: int | None = None
    #: Bytes of machine code.
    code_bytes: int | None = None
    #: Warnings of the assembler about slow code.
    findings: tuple[str, ...] | None = None


@frozen
class Tolerance:
    """Bound on the error of each output element: |error| <= u_out |ref| + (factor sqrt(K) u_acc +
    operand_error) (|A| |B|) + function_error |f|, with u the unit roundoffs of the output and of
    the accumulator. For a Winograd convolution, |A| |B| is computed with the absolute values of the
    operands and of the transforms."""

    #: Type of the accumulator.
    accumulate: DType
    #: Factor of sqrt(K) u_acc in the bound.
    factor: float
    #: Error of the functions of the formula, exp2 and log2 included.
    function_error: float = 0.0
    #: Error of rounding operands to the type of the matrix unit, and in Winograd's transforms.
    operand_error: float = 0.0
    #: Whether f32 inputs below 2^-126 may be read as zero.
    subnormals: Literal["flushed"] | None = None
    #: Outputs whose own subnormal values may be zero.
    flushed_outputs: tuple[str, ...] = ()
    #: Reason for the constants, in words.
    reason: str


@frozen
class TargetEntry:
    """Target of a kernel."""

    #: Name, as in `--target`.
    name: str
    #: cuda, amdgpu, vulkan or cpu.
    family: str
    #: Architecture, as the family's backend names it.
    arch: str


@frozen
class KernelEntry:
    """Kernel for one target."""

    #: Operation or its functions, shape and type, as in `layer_norm_128x384_f32`. The key is unique
    #: among the kernels of a target: if two specs would share a key, both keys end in a digest of
    #: the spec. The names of functions in the machine code never have that digest.
    key: str
    #: Operation: matmul, elementwise, rowwise.
    op: str
    #: Problem, complete enough for the reference to compute it, with `op` and the formula
    #: (`expression` or `epilogue`).
    spec: Mapping[str, Any]
    #: Target that the kernel is for.
    target: TargetEntry
    #: Fields of the schedule, its `mainloop`, and `origin`: who chose it (model = the cost model,
    #: tuned, user).
    schedule: Mapping[str, Any]
    #: Tensors in calling order: inputs, then outputs.
    parameters: tuple[TensorParam, ...]
    #: Scratch memory.
    workspaces: tuple[Workspace, ...] = ()
    #: Tensor maps (NVIDIA).
    tensor_maps: tuple[TensorMap, ...] = ()
    #: Launches, in order.
    launches: tuple[Launch, ...]
    #: Files of the kernel.
    artifacts: tuple[ArtifactEntry, ...]
    #: Inputs whose bytes are in the bundle.
    constants: tuple[StoredTensor, ...] = ()
    #: Resources of the machine code.
    resources: Resources
    #: Bound on the error.
    tolerance: Tolerance

    @property
    def inputs(self) -> tuple[TensorParam, ...]:
        return tuple(p for p in self.parameters if p.role == "input")

    @property
    def arguments(self) -> tuple[TensorParam, ...]:
        """Inputs that a call passes: all but constants."""
        stored = {constant.parameter for constant in self.constants}
        return tuple(p for p in self.inputs if p.name not in stored)

    @property
    def outputs(self) -> tuple[TensorParam, ...]:
        return tuple(p for p in self.parameters if p.is_output)

    @property
    def output(self) -> TensorParam:
        """Largest output, which tiles refer to."""
        return max(self.outputs, key=lambda p: math.prod(p.shape))

    @property
    def by_output(self) -> tuple[KernelEntry, ...]:
        """Copies of the kernel, each with one of the outputs."""
        if len(self.outputs) == 1:
            return (self,)
        return tuple(
            dataclasses.replace(self, parameters=(*self.inputs, output)) for output in self.outputs
        )

    @property
    def files(self) -> tuple[ArtifactEntry | StoredTensor, ...]:
        return (*self.artifacts, *self.constants)

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of every tensor and workspace, by name."""
        return {p.name: p.nbytes for p in self.parameters} | {
            w.name: w.nbytes for w in self.workspaces
        }

    @property
    def unpacked(self) -> KernelEntry:
        """Copy of the kernel whose tensors are not packed."""
        return dataclasses.replace(self, parameters=tuple(p.unpacked for p in self.parameters))

    @property
    def name(self) -> str:
        """Name of the kernel among all targets of a bundle: ``target/key``."""
        return f"{self.target.name}/{self.key}"


@frozen
class Manifest:
    """Content of manifest.json."""

    #: Version of the format.
    schema_version: int = SCHEMA_VERSION
    #: Kernels of all targets.
    kernels: tuple[KernelEntry, ...]
    #: Models, or parts of them.
    programs: tuple[Program, ...] = ()
    #: Versions of kgen and of the assemblers, and a digest of all templates.
    provenance: Mapping[str, str] = field(default_factory=dict)
