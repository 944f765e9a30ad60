"""Blocks of an element-wise kernel's output, for inputs that are contiguous along a column.

A block has as many rows as a vector has elements, and as many columns unless rows are shorter. An
input is read along its columns. Square blocks are transposed in registers. The rows of narrower
ones are contiguous: columns are interleaved to as many vectors of the output.
"""

from __future__ import annotations

from kgen.targets.cpu.plan.packing.panel import Stage, zip_stages
from kgen.targets.cpu.plan.vectors import index_list
from kgen.targets.stream import StreamOperand, StreamPlan
from kgen_runtime.values import frozen


@frozen
class Merge:
    """Shuffle that makes vector `result` of `stage` columns from `before` and `column`."""

    before: str
    column: int
    stage: int
    result: int
    mask: str


@frozen
class Blocks:
    """Blocks of `size` rows and columns, or of all `columns` if these are fewer.

    `rows` is the last dimension but one. The last blocks along both dimensions overlap those
    before. `turned` are the operands that are transposed.
    """

    size: int
    rows: int
    columns: int
    turned: tuple[str, ...]

    @property
    def along_rows(self) -> int:
        """Blocks along the rows."""
        return -(-self.rows // self.size)

    @property
    def last_row(self) -> int:
        return self.rows - self.size

    @property
    def is_narrow(self) -> bool:
        return self.columns < self.size

    @property
    def width(self) -> int:
        """Columns of a block, and vectors of its output."""
        return min(self.size, self.columns)

    @property
    def last_column(self) -> int:
        return self.columns - self.width

    @property
    def vector_apart(self) -> int:
        """Elements of the output from a vector of a block to the next."""
        return self.size if self.is_narrow else self.columns

    @property
    def stages(self) -> tuple[Stage, ...]:
        return zip_stages(self.size)

    @property
    def merges(self) -> tuple[Merge, ...]:
        """Shuffles that interleave the columns of a narrow block."""
        return tuple(
            Merge(
                before=f"{column - 1}.r{result if column > 1 else 0}",
                column=column,
                stage=column,
                result=result,
                mask=self._mask(result, column),
            )
            for result in range(self.columns)
            for column in range(1, self.columns)
        )

    def _mask(self, result: int, column: int) -> str:
        """Return the shuffle mask that puts a column beside earlier ones, which are in their places
        once there are several."""
        places = []
        for lane in range(self.size):
            row, of = divmod(result * self.size + lane, self.columns)
            earlier = lane if column > 1 else row
            places.append("poison" if of > column else self.size + row if of == column else earlier)
        return index_list(places)


def blocks_of(stream: StreamPlan, size: int) -> Blocks | None:
    """Return the blocks of a kernel; None if it cannot be computed so.

    A last block computes elements again, so no input may lie in the output's memory: none is read
    element by element in the output's order.
    """
    if len(stream.sizes) < 2 or stream.conditions or stream.write or stream.sizes[-2] < size:
        return None
    turned = tuple(of.name for of in stream.inputs if is_turned(of))
    alike = all(is_turned(of) or (of.lane in (0, 1) and not of.strides[-2]) for of in stream.inputs)
    plain = not any(of.linear or of.indices or of.guards or of.is_index for of in stream.inputs)
    if not turned or not alike or not plain:
        return None
    rows, columns = stream.sizes[-2:]
    found = Blocks(size=size, rows=rows, columns=columns, turned=turned)
    beside = any(of.lane == 1 for of in stream.inputs)
    return None if columns < 2 or (found.is_narrow and beside) else found


def is_turned(of: StreamOperand) -> bool:
    """Return whether an operand is contiguous along the rows of a column."""
    return of.lane not in (0, 1) and of.strides[-2] == 1
