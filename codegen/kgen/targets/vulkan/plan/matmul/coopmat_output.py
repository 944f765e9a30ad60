"""Sums of a product by cooperative matrices on their way out: straight from the accumulators where
a whole matrix lies inside the output or outside, else row by row through workgroup memory."""

from __future__ import annotations

from kgen.schedule import CooperativeMatmul
from kgen.spec import DType, Extent, Matmul
from kgen.targets.batch import batch_terms
from kgen.targets.powers_of_two import log2
from kgen.targets.vulkan.plan.matmul.coopmat_types import Size
from kgen.targets.vulkan.plan.matmul.epilogue import EpilogueFunction
from kgen.targets.vulkan.plan.matmul.outputs import Outputs
from kgen_runtime.values import frozen

#: Bytes of a sum, and of an element of workgroup memory.
WORD, ELEMENT = 4, 16
#: Sums in an access as wide as matrices must be aligned to: 16 bytes.
WIDTH = ELEMENT // WORD


@frozen
class Subgroups:
    """How the subgroups of a workgroup share its block tile, and which matrices each has."""

    schedule: CooperativeMatmul
    size: Size

    @property
    def number(self) -> int:
        return self.schedule.num_threads // self.size.lanes

    @property
    def m(self) -> int:
        """Subgroups along m: as many as along n or twice, where the block tile has matrices for
        them."""
        most = max(1, self.schedule.block_m // self.size.m)
        return min(self.number >> log2(self.number) // 2, 1 << most.bit_length() - 1)

    @property
    def n(self) -> int:
        return self.number // self.m

    @property
    def warp_m(self) -> int:
        """Rows of a subgroup."""
        return self.schedule.block_m // self.m

    @property
    def warp_n(self) -> int:
        return self.schedule.block_n // self.n

    @property
    def fits(self) -> bool:
        """Each subgroup has whole matrices."""
        if self.schedule.num_threads < self.size.lanes or self.schedule.block_k % self.size.k:
            return False
        if min(self.warp_m, self.warp_n) == 0:
            return False
        return self.warp_m % self.size.m == self.warp_n % self.size.n == 0

    @property
    def n_mask(self) -> int:
        return self.n - 1

    @property
    def n_log2(self) -> int:
        return log2(self.n)

    @property
    def rows(self) -> range:
        """Numbers of a subgroup's matrices along m."""
        return range(self.warp_m // self.size.m)

    @property
    def columns(self) -> range:
        return range(self.warp_n // self.size.n)

    @property
    def steps(self) -> range:
        """Numbers of the matrices of a K-tile along k."""
        return range(self.schedule.block_k // self.size.k)


@frozen
class StagedSums:
    """Sums row by row in workgroup memory, four in an element: where matrices go, and where an
    invocation's rows are."""

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
        """Elements from a subgroup's rows to those of the next."""
        return self.subgroups.warp_m * self.pitch

    @property
    def warp_column_step(self) -> int:
        return self.subgroups.warp_n // WIDTH

    def place(self, row: int, column: int) -> int:
        size = self.subgroups.size
        return row * size.m * self.pitch + column * size.n // WIDTH

    @property
    def rows(self) -> tuple[tuple[int, int], ...]:
        """An invocation's rows by number, and how far they are from the first."""
        return tuple((i, distance * self.pitch) for i, distance in self.outputs.m.values)

    @property
    def thread_row_step(self) -> int:
        return self.outputs.m.group * self.pitch


@frozen
class Component:
    """SPIR-V's scalar type, and the matrix type of the output's shape, for one dtype."""

    scalar: str
    matrix: str

    @property
    def is_half(self) -> bool:
        return self.scalar == "half"


#: Components of matrices that are stored or read beside the sums. Conversions are the module's own.
COMPONENTS = {
    DType.F32: Component(scalar="float", matrix="matrix_sums"),
    DType.S32: Component(scalar="int", matrix="matrix_sums"),
    DType.F16: Component(scalar="half", matrix="matrix_halves"),
}


@frozen
class MatrixArgument:
    """A tensor of the epilogue, as a matrix for each of the sums': `index` is the id of its first
    access, `stride` the distance between its rows (0: all are one), or columns by `layout`. Names
    of its values begin with `stem`, and those of a column's index with `column_prefix`."""

    name: str
    stem: str
    column_prefix: str
    extent: Extent
    row_stride: int
    component: Component

    @property
    def is_number(self) -> bool:
        return self.extent is Extent.ONE

    @property
    def layout(self) -> str:
        """The id of row-major (0) or column-major (1)."""
        return "uint_1" if self.extent is Extent.M else "uint_0"

    @property
    def stride(self) -> int:
        return self.row_stride if self.extent is Extent.FULL else 0

    def index(self, row: int, column: int) -> str:
        return {
            Extent.FULL: f"at_{row}_{column}",
            Extent.N: f"{self.column_prefix}col_n{column}",
            Extent.M: f"row_m{row}",
        }[self.extent]

    @property
    def type(self) -> str:
        return "float" if self.is_number else self.component.matrix


@frozen
class DirectSums:
    """Matrices of sums to the output as they are, or each component through the epilogue, whose
    arguments are matrices too (a row of numbers is one of stride 0), and rounded."""

    subgroups: Subgroups
    outputs: Outputs
    epilogue: EpilogueFunction

    def row_distance(self, row: int) -> int:
        """Rows from the subgroup's first to those of its matrices of this number."""
        return row * self.subgroups.size.m

    def column_distance(self, column: int) -> int:
        """Accesses from the subgroup's first column to those of its matrices of this number."""
        return column * self.subgroups.size.n // WIDTH

    @property
    def column_names(self) -> tuple[str, ...]:
        """The ids of the columns of the subgroup's matrices."""
        return tuple(f"col_n{column}" for column in self.subgroups.columns)

    @property
    def warp_columns(self) -> int:
        """Accesses from a subgroup's columns to those of the next."""
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
                column_prefix=self.epilogue.column_prefix,
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
    """Whether sums are stored from the accumulators: what is stored and read has their type, or is
    f16 where sums of f16 may be, too; no matrix crosses the edge of the output, and accesses are of
    16 bytes, to which a matrix in memory is aligned (Vulkan's environment for SPIR-V,
    OpCooperativeMatrixStoreKHR)."""
    whole = spec.m % size.m == spec.n % size.n == 0 and outputs.width == WIDTH
    types = {spec.out, *(a.dtype for a in epilogue.fused.arguments)}
    if spec.dtype is DType.F16 and types <= {DType.F16, DType.F32}:
        strides = (spec.out_strides[1], *(t.stride for t in batch_terms(spec, "c")))
        return whole and all(stride * DType.F16.itemsize % ELEMENT == 0 for stride in strides)
    return whole and types == {spec.accumulate}
