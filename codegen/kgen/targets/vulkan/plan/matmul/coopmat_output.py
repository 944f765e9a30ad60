"""Stores of a product by cooperative matrices.

Accumulators are stored directly if every matrix is wholly inside or outside of the output, else row
by row through workgroup memory.
"""

from __future__ import annotations

from kgen.schedule import CooperativeMatmul
from kgen.spec import DType, Extent, Matmul
from kgen.targets.batch import batch_terms
from kgen.targets.powers_of_two import log2
from kgen.targets.vulkan.plan.matmul.coopmat_types import Size, SubgroupGrid
from kgen.targets.vulkan.plan.matmul.epilogue import EpilogueFunction
from kgen.targets.vulkan.plan.matmul.outputs import Outputs
from kgen_runtime.values import frozen

#: Bytes of an accumulator, and of an element of workgroup memory.
WORD, ELEMENT = 4, 16
#: Accumulators in an access of 16 bytes, the required alignment of matrices.
WIDTH = ELEMENT // WORD


@frozen
class Subgroups(SubgroupGrid):
    """Division of a block tile among the subgroups of a workgroup."""

    schedule: CooperativeMatmul

    @property
    def block(self) -> tuple[int, int, int]:
        return self.schedule.block_m, self.schedule.block_n, self.schedule.block_k

    @property
    def m(self) -> int:
        """Number of subgroups along m: as many as along n or twice as many, if the block tile has
        matrices for them."""
        most = max(1, self.schedule.block_m // self.size.m)
        return min(self.number >> log2(self.number) // 2, 1 << most.bit_length() - 1)

    @property
    def steps(self) -> range:
        """Numbers of the matrices of a K-tile along k."""
        return range(self.schedule.block_k // self.size.k)


@frozen
class StagedSums:
    """Accumulators in workgroup memory, row by row, four per element: addresses of matrices and of
    an invocation's rows."""

    subgroups: Subgroups
    outputs: Outputs

    @property
    def pitch(self) -> int:
        return self.subgroups.schedule.block_n // WIDTH

    @property
    def elements(self) -> int:
        return self.subgroups.schedule.block_m * self.pitch

    @property
    def warp_row_step(self) -> int:
        """Elements from a subgroup's rows to those of the next one."""
        return self.subgroups.warp_m * self.pitch

    @property
    def warp_column_step(self) -> int:
        return self.subgroups.warp_n // WIDTH

    def place(self, row: int, column: int) -> int:
        size = self.subgroups.size
        return row * size.m * self.pitch + column * size.n // WIDTH

    @property
    def rows(self) -> tuple[tuple[int, int], ...]:
        """Rows of an invocation: the number of each, and its distance from the first."""
        return tuple((i, distance * self.pitch) for i, distance in self.outputs.m.values)

    @property
    def thread_row_step(self) -> int:
        return self.outputs.m.group * self.pitch


@frozen
class Component:
    """Scalar type in SPIR-V, and the matrix type of the output's shape, for one dtype."""

    scalar: str
    matrix: str

    @property
    def is_half(self) -> bool:
        return self.scalar == "half"


#: Components of matrices that are stored, or read beside the accumulators. Functions of the module
#: convert them.
COMPONENTS = {
    DType.F32: Component(scalar="float", matrix="matrix_sums"),
    DType.S32: Component(scalar="int", matrix="matrix_sums"),
    DType.F16: Component(scalar="half", matrix="matrix_halves"),
}


@frozen
class MatrixArgument:
    """Tensor of the epilogue, read as a matrix for each matrix of accumulators.

    `index` is the id of its first access. `stride` is the distance between its rows (or columns, by
    `layout`), 0 if all are the same. Names of its values begin with `stem`, and those of its index
    with `prefix`.
    """

    name: str
    stem: str
    prefix: str
    extent: Extent
    row_stride: int
    component: Component

    @property
    def is_number(self) -> bool:
        return self.extent is Extent.ONE

    @property
    def layout(self) -> str:
        """Id of the layout: row-major (0) or column-major (1)."""
        return "uint_1" if self.extent is Extent.M else "uint_0"

    @property
    def stride(self) -> int:
        return self.row_stride if self.extent is Extent.FULL else 0

    def index(self, row: int, column: int) -> str:
        return {
            Extent.FULL: f"at_{row}_{column}",
            Extent.N: f"{self.prefix}col_n{column}",
            Extent.M: f"{self.prefix}row_m{row}",
        }[self.extent]

    @property
    def type(self) -> str:
        return "float" if self.is_number else self.component.matrix


@frozen
class DirectSums:
    """Direct stores of matrices of accumulators.

    If there is an epilogue, it is applied to each component; its arguments are matrices too (a
    vector is a matrix of stride 0). Components are rounded before the store.
    """

    subgroups: Subgroups
    outputs: Outputs
    epilogue: EpilogueFunction

    def row_distance(self, row: int) -> int:
        """Return the rows from the subgroup's first to the first of its matrices number `row`."""
        return row * self.subgroups.size.m

    def column_distance(self, column: int) -> int:
        """Return the accesses from the subgroup's first column to the first of its matrices number
        `column`."""
        return column * self.subgroups.size.n // WIDTH

    @property
    def column_names(self) -> tuple[str, ...]:
        """Ids of the columns of the subgroup's matrices."""
        return tuple(f"col_n{column}" for column in self.subgroups.columns)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Ids of the rows of the subgroup's matrices."""
        return tuple(f"row_m{row}" for row in self.subgroups.rows)

    @property
    def warp_columns(self) -> int:
        """Accesses from a subgroup's columns to those of the next one."""
        return self.subgroups.warp_n // WIDTH

    @property
    def out(self) -> Component:
        return COMPONENTS[self.outputs.spec.out]

    @property
    def changes(self) -> bool:
        """Whether the stored values differ from the accumulators."""
        return self.epilogue.fused.changes or self.out.is_half

    @property
    def has_epilogue(self) -> bool:
        return self.epilogue.fused.changes

    @property
    def has_halves(self) -> bool:
        return self.out.is_half or any(a.component.is_half for a in self.matrices)

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions of the module besides the epilogue's, callees first."""
        widens = ("widen_f16",) if any(a.component.is_half for a in self.matrices) else ()
        return (*widens, "finish_matrix") if self.changes else ()

    @property
    def arguments(self) -> tuple[MatrixArgument, ...]:
        stride = self.outputs.row_stride
        return tuple(
            MatrixArgument(
                name=a.name,
                stem=a.stem,
                prefix=self.epilogue.prefix(a.extent),
                extent=a.extent,
                row_stride=stride,
                component=COMPONENTS[a.dtype],
            )
            for a in self.epilogue.fused.arguments
        )

    @property
    def matrices(self) -> tuple[MatrixArgument, ...]:
        return tuple(a for a in self.arguments if not a.is_number)

    @property
    def numbers(self) -> tuple[MatrixArgument, ...]:
        return tuple(a for a in self.arguments if a.is_number)


def is_direct(spec: Matmul, size: Size, outputs: Outputs, epilogue: EpilogueFunction) -> bool:
    """Return whether accumulators are stored directly.

    Stored and read tensors must have the accumulators' type, or f16 if the device also has
    accumulators of f16. No matrix may cross the edge of the output. Accesses must have 16 bytes,
    the alignment of a matrix in memory (Vulkan's environment for SPIR-V,
    OpCooperativeMatrixStoreKHR).
    """
    whole = spec.m % size.m == spec.n % size.n == 0 and outputs.width == WIDTH
    types = {spec.out, *(a.dtype for a in epilogue.fused.arguments)}
    if spec.dtype is DType.F16 and types <= {DType.F16, DType.F32}:
        strides = (spec.out_strides[1], *(t.stride for t in batch_terms(spec, "c")))
        return whole and all(stride * DType.F16.itemsize % ELEMENT == 0 for stride in strides)
    return whole and types == {spec.accumulate}
