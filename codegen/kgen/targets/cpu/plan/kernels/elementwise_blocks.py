"""Square blocks of an element-wise kernel's output, for inputs whose neighbours lie along a column.

A block has as many rows and columns as a vector has elements. An input is read along its columns
and transposed in registers.
"""

from __future__ import annotations

from kgen.targets.cpu.plan.packing.panel import Stage, zip_stages
from kgen.targets.stream import StreamOperand, StreamPlan
from kgen_runtime.values import frozen


@frozen
class Blocks:
    """Blocks of `size` rows and columns, of rows that are `rows` in the last dimension but one. The
    last blocks along both overlap those before. `turned` are the operands that are transposed."""

    size: int
    rows: int
    columns: int
    turned: tuple[str, ...]

    @property
    def along_rows(self) -> int:
        """Blocks from the first of these rows to the last."""
        return -(-self.rows // self.size)

    @property
    def last_row(self) -> int:
        """First row of the last block."""
        return self.rows - self.size

    @property
    def last_column(self) -> int:
        return self.columns - self.size

    @property
    def stages(self) -> tuple[Stage, ...]:
        return zip_stages(self.size)


def blocks_of(stream: StreamPlan, size: int) -> Blocks | None:
    """Return the blocks of a kernel; None if it cannot be computed so.

    A last block computes elements again, so no input may lie in the output's memory: none is read
    element by element in the output's order.
    """
    if len(stream.sizes) < 2 or stream.conditions or stream.write or min(stream.sizes[-2:]) < size:
        return None
    turned = tuple(of.name for of in stream.inputs if is_turned(of))
    alike = all(is_turned(of) or (of.lane in (0, 1) and not of.strides[-2]) for of in stream.inputs)
    plain = not any(of.linear or of.indices or of.guards or of.is_index for of in stream.inputs)
    if not turned or not alike or not plain:
        return None
    rows, columns = stream.sizes[-2:]
    return Blocks(size=size, rows=rows, columns=columns, turned=turned)


def is_turned(of: StreamOperand) -> bool:
    """Whether an operand's neighbours lie in the rows of one column."""
    return of.lane not in (0, 1) and of.strides[-2] == 1
