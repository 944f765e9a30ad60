"""Blocks of an element-wise kernel's output, for inputs that are contiguous along columns.

A block has as many rows as a vector has elements, and as many columns unless rows are shorter. Such
inputs are read along their columns. A square block is transposed in registers. The rows of a
narrower block are contiguous in the output: its columns are interleaved to vectors of the output.
"""

from __future__ import annotations

import math

from kgen.targets.cpu.plan.packing.panel import Stage, zip_stages
from kgen.targets.cpu.plan.vectors import index_list
from kgen.targets.stream import StreamOperand, StreamPlan
from kgen_runtime.values import frozen


@frozen
class Merge:
    """Shuffle that adds column `column` to the vector `before`, which gives number `result`."""

    before: str
    column: int
    result: int
    mask: str


@frozen
class Blocks:
    """Blocks of `size` rows and columns, or of all `columns` if these are fewer.

    The rows of a block are consecutive along one dimension of the output, which has the size
    `rows`. In the output, they are `between` rows apart: 1 if the dimension is the last but one.
    The last blocks along both dimensions overlap the blocks before them. `turned` are the names of
    the operands that are transposed.
    """

    size: int
    rows: int
    between: int
    columns: int
    turned: tuple[str, ...]

    @property
    def along_rows(self) -> int:
        return -(-self.rows // self.size)

    def count_of(self, rows: int) -> int:
        """Return the number of blocks of all the output's rows."""
        return rows // self.rows * self.along_rows

    @property
    def is_apart(self) -> bool:
        """Whether other rows of the output lie between the rows of a block."""
        return self.between > 1

    @property
    def block_rows(self) -> int:
        """Rows of the output from one value of the outer dimensions to the next."""
        return self.rows * self.between

    @property
    def last_row(self) -> int:
        return self.rows - self.size

    @property
    def is_narrow(self) -> bool:
        return self.columns < self.size

    @property
    def width(self) -> int:
        """Number of columns of a block, which is also that of its output vectors."""
        return min(self.size, self.columns)

    @property
    def last_column(self) -> int:
        return self.columns - self.width

    @property
    def vector_apart(self) -> int:
        """Elements of the output from one vector of a block to the next."""
        return self.size if self.is_narrow else self.between * self.columns

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
                result=result,
                mask=self._mask(result, column),
            )
            for result in range(self.columns)
            for column in range(1, self.columns)
        )

    def _mask(self, result: int, column: int) -> str:
        """Return the shuffle mask that adds a column to a vector of earlier columns. From the
        second column on, earlier columns are already in their places."""
        places = []
        for lane in range(self.size):
            row, of = divmod(result * self.size + lane, self.columns)
            earlier = lane if column > 1 else row
            places.append("poison" if of > column else self.size + row if of == column else earlier)
        return index_list(places)


def blocks_of(stream: StreamPlan, size: int) -> Blocks | None:
    """Return the blocks of a kernel; None if it cannot be computed in blocks. The last blocks
    compute some elements twice. So no input may be read in the output's order, because such an
    input may share the output's memory."""
    plain = not any(of.linear or of.indices or of.guards or of.is_index for of in stream.inputs)
    if stream.conditions or stream.write or not plain:
        return None
    dimensions = reversed(range(len(stream.sizes) - 1))
    return next(filter(None, (_blocks_along(stream, size, along) for along in dimensions)), None)


def _blocks_along(stream: StreamPlan, size: int, along: int) -> Blocks | None:
    """Return the blocks with consecutive rows along a dimension; None if operands forbid it."""
    rows, columns = stream.sizes[along], stream.sizes[-1]
    turned = tuple(of.name for of in stream.inputs if _is_turned(of, along))
    alike = all(
        _is_turned(of, along) or (of.lane in (0, 1) and not of.strides[along])
        for of in stream.inputs
    )
    if rows < size or columns < 2 or not turned or not alike:
        return None
    between = math.prod(stream.sizes[along + 1 : -1])
    found = Blocks(size=size, rows=rows, between=between, columns=columns, turned=turned)
    beside = any(of.lane == 1 for of in stream.inputs)
    return None if found.is_narrow and (beside or between > 1) else found


def _is_turned(of: StreamOperand, along: int) -> bool:
    """Return whether an operand is contiguous along a dimension other than that of a row."""
    return of.lane not in (0, 1) and of.strides[along] == 1
