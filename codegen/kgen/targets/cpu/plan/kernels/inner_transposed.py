"""Skinny B (small N) that is transposed for inner products, once for all rows of A.

B is row-major or prepacked. Register tiles would have the columns in a vector, most of which stays
empty; a vector along K is full.
"""

from __future__ import annotations

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.kernels.blis_pairs import PAIR
from kgen.targets.cpu.plan.kernels.inner_vectors import column_bytes, panel_columns
from kgen.targets.cpu.plan.packing.panel import RegisterTranspose, Side, register_transpose
from kgen.targets.cpu.plan.packing.prepacked import PanelFormat, b_is_packed
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen


@frozen
class ColumnsOfB:
    """`count` adjacent columns of B in `steps` steps of K, of `there` that each step has.

    `start` and `to` are byte offsets in B and in the transposed B. Transposes have `size` columns
    and steps; a step is `row` columns from the next.
    """

    name: str
    count: int
    there: int
    start: int
    to: int
    steps: int
    size: int
    row: int

    @property
    def overlap(self) -> bool:
        """Whether there are enough columns for a transpose: the last ones overlap those before."""
        return min(self.count, self.steps) >= self.size

    @property
    def whole(self) -> int:
        """Steps in whole transposes, whose rows all end inside B."""
        past = -(-max(self.size - self.there, 0) // self.row)
        return max(self.steps - past, 0) // self.size * self.size

    @property
    def leaves_steps(self) -> bool:
        return self.whole < self.steps


@frozen
class TransposedB:
    """Skinny B (small N), transposed to rows along K in %b.pack.

    `sums` is a vector of sums, `format` that of a prepacked B; `k_stride` and `column_stride` are
    the bytes of B from one k, and from one column, to the next.
    """

    spec: Matmul
    sums: Vector
    format: PanelFormat
    is_prepacked: bool
    k_stride: int
    column_stride: int

    @property
    def moved(self) -> Access:
        """Access of the unit that is moved along K: an element or a pair."""
        return Access(
            dtype=DType.S32 if (self.format.depth > 1) else self.spec.b_type, compute=self.sums
        )

    @property
    def steps(self) -> int:
        """Steps along K."""
        return -(-self.spec.k // self.format.depth)

    @property
    def between(self) -> int:
        """Bytes of B from one step to the next."""
        return self.format.depth * self.k_stride

    @property
    def column(self) -> int:
        return column_bytes(self.spec)

    @property
    def transpose(self) -> RegisterTranspose:
        return register_transpose(self.moved.dtype, stride=self.between, pack_row=self.column)

    @property
    def parts(self) -> tuple[ColumnsOfB, ...]:
        """Ranges of contiguous columns: all of them, or those of each prepacked panel."""
        n, size = self.spec.n, self.moved.itemsize
        width = self.format.width if self.is_prepacked else n
        return tuple(
            ColumnsOfB(
                name=f"b{first // width}",
                count=min(width, n - first),
                there=width,
                start=first * self.column_stride if self.is_prepacked else first * size,
                to=first * self.column,
                steps=self.steps,
                size=self.transpose.size,
                row=self.between // size,
            )
            for first in range(0, n, width)
        )

    def sides(self, part: ColumnsOfB) -> tuple[Side, ...]:
        """Return the columns of a part, each of which becomes a row."""
        size = self.moved.itemsize
        return tuple(Side(index=i, start=i * size, to=i * self.column) for i in range(part.count))

    @property
    def buffer(self) -> Buffer:
        order = f"{self.moved.stored.scalar} [n][k], {self.column} B per row"
        return Buffer(name="%b.pack", holds=order, bytes=self.spec.n * self.column)


def transposed_format(spec: Matmul, target: Target) -> PanelFormat:
    """Return the format of a prepacked B that is transposed."""
    has_pairs = b_is_packed(spec) and spec.b_type is DType.BF16
    depth = PAIR if has_pairs else 1
    return PanelFormat(width=panel_columns(spec, target), depth=depth, k_unit=depth)
