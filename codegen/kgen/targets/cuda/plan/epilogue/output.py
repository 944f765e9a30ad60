"""Epilogue and stores of a thread's accumulators."""

from __future__ import annotations

import math
from functools import cached_property

from kgen.schedule import GpuMatmul
from kgen.spec import Extent, Matmul
from kgen.targets.batch import BatchCoordinate, BatchTerm, batch_coordinates, batch_terms
from kgen.targets.contraction.implicit_gemm import vector_terms
from kgen.targets.cuda.plan.constants import float_bits
from kgen.targets.cuda.plan.cuda_plan import CudaPlan
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.epilogue import ACCUMULATOR, FACTOR, EpilogueArgument, FusedEpilogue
from kgen.targets.expressions import Rendered
from kgen_runtime.values import frozen


@frozen
class OutputRow:
    """Row of a thread's outputs: its distance from the first row, in elements and in bytes."""

    offset: int
    nbytes: int

    def name(self, prefix: str) -> str:
        """Return the name of the row's registers: prefix_m<row>."""
        return f"{prefix}_m{self.offset}"


@frozen
class OutputColumns:
    """Adjacent outputs of a row that one access stores; offsets count from the thread's first."""

    elements: tuple[int, ...]
    nbytes: int

    @property
    def offset(self) -> int:
        return self.elements[0]

    @property
    def last(self) -> int:
        return self.elements[-1]

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return the names of one register per output: prefix_n<column>."""
        return tuple(f"{prefix}_n{element}" for element in self.elements)


@frozen
class OutputTile:
    """Accumulators of a thread, and their stores.

    Accumulator `acc_m<row>_n<col>` is named by its distance from the thread's first. With
    `repeated`, the thread computes several such tiles, one after another.
    """

    spec: Matmul
    row_offsets: tuple[int, ...]
    col_offsets: tuple[int, ...]
    width: int
    m_edge: bool
    n_edge: bool
    repeated: bool = False

    @property
    def rows(self) -> tuple[OutputRow, ...]:
        return tuple(OutputRow(offset=m, nbytes=m * self.row_stride) for m in self.row_offsets)

    def accumulators(self, row: OutputRow) -> tuple[str, ...]:
        return tuple(f"acc_m{row.offset}_n{col}" for col in self.col_offsets)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all accumulators, row by row."""
        return tuple(name for row in self.rows for name in self.accumulators(row))

    @property
    def columns(self) -> tuple[OutputColumns, ...]:
        pieces = range(0, len(self.col_offsets), self.width)
        groups = [self.col_offsets[i : i + self.width] for i in pieces]
        return tuple(
            OutputColumns(elements=g, nbytes=g[0] * self.spec.out.itemsize) for g in groups
        )

    @property
    def row_stride(self) -> int:
        return self.spec.out_strides[1] * self.spec.out.itemsize

    @property
    def batch_terms(self) -> tuple[BatchTerm, ...]:
        return batch_terms(self.spec, "c", self.spec.out.itemsize)

    @property
    def batch_stride(self) -> int:
        """Greatest common divisor of the batch strides; 0 for one matrix."""
        return math.gcd(*(term.stride for term in self.batch_terms))

    def vector_terms(self, a: EpilogueArgument) -> tuple[BatchTerm, ...]:
        """Return the terms of a vector along n or m."""
        return vector_terms(self.spec, a.extent, a.dtype.itemsize)

    @property
    def itemsize(self) -> int:
        return self.spec.out.itemsize

    @property
    def tensors(self) -> tuple[EpilogueArgument, ...]:
        """Tensors of the output's shape and strides."""
        out = EpilogueArgument(name="out", extent=Extent.FULL, dtype=self.spec.out)
        return (*self.addends, out)

    @property
    def addends(self) -> tuple[EpilogueArgument, ...]:
        """Tensors of the output's shape that are read."""
        return self.epilogue.full

    @cached_property
    def epilogue(self) -> FusedEpilogue:
        return FusedEpilogue(spec=self.spec, hoists=True)

    @property
    def guard(self) -> str:
        """Predicate prefix of an access that may fall outside the matrix."""
        return "@%inside " if self.m_edge or self.n_edge else ""

    @property
    def column_guard(self) -> str:
        return "@%inside " if self.n_edge else ""

    @property
    def row_guard(self) -> str:
        return "@%inside " if self.m_edge else ""

    @property
    def has_vectors(self) -> bool:
        return bool(self.epilogue.by_column or self.epilogue.by_row)

    @property
    def guards_vectors(self) -> bool:
        """Whether a vector along n or m may end inside a tile."""
        e = self.epilogue
        return bool((e.by_column and self.n_edge) or (e.by_row and self.m_edge))

    @property
    def whole(self) -> bool:
        """Whether accumulators are integers."""
        return self.spec.accumulate.is_integer

    @property
    def rounds_sums(self) -> bool:
        """Whether integer sums become f32 before anything else."""
        return self.whole and self.spec.out is not self.spec.accumulate

    @property
    def sum_type(self) -> str:
        """Register type of accumulators; integers and the f32 that they become share a register."""
        return "b32" if self.whole else "f32"

    @property
    def zero(self) -> str:
        return "0" if self.whole else float_bits(0.0)

    def values(self, row: OutputRow, column: OutputColumns, index: int) -> dict[str, str]:
        """Return the register of each input of the epilogue, by name, for output `index` of these
        columns in this row."""
        at = column.elements[index]
        e = self.epilogue
        return {
            ACCUMULATOR: f"%acc_m{row.offset}_n{at}",
            FACTOR: "%factor",
            **{a.name: f"%{a.stem}_m{row.offset}_n{at}" for a in e.full},
            **{a.name: f"%{a.stem}_n{at}" for a in e.by_column},
            **{a.name: f"%{a.stem}_m{row.offset}" for a in e.by_row},
            **{a.name: f"%{a.stem}" for a in e.numbers},
        }


@frozen
class OutputPlan(CudaPlan):
    """Plan of a kernel that applies the epilogue of a matmul and stores its output."""

    output: OutputTile

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.output.spec)

    def finished(self, row: OutputRow, column: OutputColumns) -> tuple[Rendered, ...]:
        """Return the lines that turn these columns' accumulators into finished outputs."""
        expression = self.output.epilogue.expression
        values = (self.output.values(row, column, i) for i in range(len(column.elements)))
        return tuple(self.rendered(expression, v, v[ACCUMULATOR]) for v in values)

    @property
    def factor(self) -> Rendered:
        """Lines that compute %factor, by which all sums are multiplied, from the kernel's
        arguments."""
        epilogue = self.output.epilogue
        assert epilogue.factor is not None
        values = {a.name: f"%{a.stem}" for a in epilogue.numbers}
        return self.rendered(epilogue.factor, values, "%factor")


def plan_output(
    spec: Matmul, schedule: GpuMatmul, rows: tuple[int, ...], cols: tuple[int, ...], run: int
) -> OutputTile:
    """Return the output tile of a thread.

    `run` is the number of columns that are adjacent, and so the most columns of one access. An
    access has several only if the output's rows are aligned to it.
    """
    itemsize = spec.out.itemsize
    row_stride = spec.out_strides[1] if spec.m > 1 else 0
    batch_strides = (term.stride for term in batch_terms(spec, "c"))
    width = math.gcd(run, MAX_ACCESS_BYTES // itemsize, row_stride, *batch_strides, spec.n)
    return OutputTile(
        spec=spec,
        row_offsets=rows,
        col_offsets=cols,
        width=width,
        m_edge=spec.m % schedule.block_m != 0,
        n_edge=spec.n % schedule.block_n != 0,
    )
