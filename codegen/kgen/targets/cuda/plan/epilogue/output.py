"""What happens to a thread's accumulators: the epilogue's steps, and the stores."""

from __future__ import annotations

import math

from kgen.schedule import GpuMatmul
from kgen.spec import Matmul, Scale
from kgen.targets.cuda.plan.constants import float_bits
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen_runtime.values import frozen


@frozen
class Row:
    """A row of a thread's outputs, from its first: elements and bytes."""

    offset: int
    nbytes: int


@frozen
class Column:
    """`len(elements)` adjacent outputs of a row, stored by one access; offsets from the first."""

    elements: tuple[int, ...]
    nbytes: int

    @property
    def offset(self) -> int:
        return self.elements[0]

    @property
    def last(self) -> int:
        return self.elements[-1]

    def names(self, prefix: str) -> tuple[str, ...]:
        """One register per output: prefix_n<column>."""
        return tuple(f"{prefix}_n{element}" for element in self.elements)


@frozen
class OutputTile:
    """A thread's accumulators, and how they go out. Accumulator `acc_m<row>_n<col>` is named by its
    distance from the thread's first. `repeated`: the thread has one such tile after another."""

    spec: Matmul
    row_offsets: tuple[int, ...]
    col_offsets: tuple[int, ...]
    width: int
    m_edge: bool
    n_edge: bool
    repeated: bool = False

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(Row(offset=m, nbytes=m * self.row_stride) for m in self.row_offsets)

    def accumulators(self, row: Row) -> tuple[str, ...]:
        return tuple(f"acc_m{row.offset}_n{col}" for col in self.col_offsets)

    @property
    def names(self) -> tuple[str, ...]:
        """All accumulators, row by row."""
        return tuple(name for row in self.rows for name in self.accumulators(row))

    @property
    def columns(self) -> tuple[Column, ...]:
        pieces = range(0, len(self.col_offsets), self.width)
        groups = [self.col_offsets[i : i + self.width] for i in pieces]
        return tuple(Column(elements=g, nbytes=g[0] * self.spec.out.itemsize) for g in groups)

    @property
    def row_stride(self) -> int:
        return self.spec.out_strides[1] * self.spec.out.itemsize

    @property
    def batch_stride(self) -> int:
        return self.spec.out_strides[0] * self.spec.out.itemsize if self.spec.batch > 1 else 0

    @property
    def itemsize(self) -> int:
        return self.spec.out.itemsize

    @property
    def tensors(self) -> tuple[str, ...]:
        """Tensors of the output's shape and strides, as parameters are named."""
        shaped = ("c", "residual", "out")
        return tuple(p.name for p in self.spec.parameters if p.name in shaped)

    @property
    def addends(self) -> tuple[str, ...]:
        """Tensors of the output's shape that are read."""
        return self.tensors[:-1]

    @property
    def guard(self) -> str:
        """What stands before an access that may fall outside the matrix."""
        return "@%inside " if self.m_edge or self.n_edge else ""

    @property
    def bias_guard(self) -> str:
        return "@%inside " if self.n_edge else ""

    @property
    def has_bias(self) -> bool:
        return any(p.name == "bias" for p in self.spec.parameters)

    @property
    def has_scales(self) -> bool:
        """Whether numbers that are arguments scale the product."""
        return any(scale != Scale.OUT for scale in self.spec.scales)

    @property
    def scales_out(self) -> bool:
        return Scale.OUT in self.spec.scales

    @property
    def whole(self) -> bool:
        """Whether sums are integers."""
        return self.spec.accumulate.is_integer

    @property
    def rounds_sums(self) -> bool:
        """Whether integer sums become f32 before anything else."""
        return self.whole and self.spec.out is not self.spec.accumulate

    @property
    def sum_type(self) -> str:
        """The register type of accumulators; integers and the f32 that they become share theirs."""
        return "b32" if self.whole else "f32"

    @property
    def zero(self) -> str:
        return "0" if self.whole else float_bits(0.0)

    @property
    def bias_bytes(self) -> int:
        return self.spec.bias_dtype.itemsize

    def bias_offset(self, column: Column) -> int:
        """Bytes from the bias of the thread's first column to this one's."""
        return column.offset * self.bias_bytes

    @property
    def steps(self) -> tuple[str, ...]:
        return self.spec.epilogue

    @property
    def changes(self) -> bool:
        """Whether the epilogue does anything but round."""
        return self.scaled or bool(self.addends) or bool(self.steps) or self.scales_out

    @property
    def scaled(self) -> bool:
        return self.spec.alpha != 1.0 or self.has_scales

    @property
    def factor(self) -> str:
        """What products are multiplied by, as an operand."""
        return "%factor" if self.has_scales else self.alpha

    @property
    def alpha(self) -> str:
        return float_bits(self.spec.alpha)

    @property
    def beta(self) -> str:
        return float_bits(self.spec.beta)


def plan_output(
    spec: Matmul, schedule: GpuMatmul, rows: tuple[int, ...], cols: tuple[int, ...], run: int
) -> OutputTile:
    """`run`: how many of the thread's columns are adjacent. Wider accesses need aligned rows."""
    itemsize = spec.out.itemsize
    row_stride = spec.out_strides[1] if spec.m > 1 else 0
    batch_stride = spec.out_strides[0] if spec.batch > 1 else 0
    width = math.gcd(run, MAX_ACCESS_BYTES // itemsize, row_stride, batch_stride, spec.n)
    return OutputTile(
        spec=spec,
        row_offsets=rows,
        col_offsets=cols,
        width=width,
        m_edge=spec.m % schedule.block_m != 0,
        n_edge=spec.n % schedule.block_n != 0,
    )
