"""Panels of B: the order of a prepacked B, vectors of a panel, and in-register transposes.

All kernels of a target read a prepacked B in the same order, for any M. Panels are one vector wide,
so a register tile of any width reads whole panels, each as one stream.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import ClassVar

from kgen.spec import ConstantOperand, DType, Matmul
from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.extents import AxisUnits, Blocking
from kgen.targets.cpu.plan.packing.mapped_b import maps_b
from kgen.targets.cpu.plan.vectors import Access, Vector, index_list
from kgen_runtime.manifest import Packing, TensorParam
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.values import frozen


def b_is_packed(spec: Matmul) -> bool:
    """Return whether B is prepacked in panels; B with quantisation blocks never is."""
    return ConstantOperand.B in spec.constant and not spec.has_blocks


@frozen
class PanelFormat:
    """Order of a prepacked B: panels of `width` columns, with `depth` consecutive k per column. K
    is rounded up to a multiple of `k_unit`, N to a multiple of `n_unit` (of `width` if that is 0).
    For B with quantisation blocks, `depth` is in bytes of a block, which `runs` divide."""

    width: int
    depth: int = 1
    k_unit: int = 1
    n_unit: int = 0
    runs: tuple[int, ...] = ()

    def of(self, spec: Matmul) -> TensorParam:
        b = spec.parameter("b")
        k = spec.b_shape[1] if spec.has_blocks else spec.k
        n_unit = self.n_unit or self.width
        panels = -(-spec.n // n_unit) * n_unit // self.width
        steps = -(-k // self.k_unit) * self.k_unit // self.depth
        shape = (*b.shape[:-2], panels, steps, self.width, self.depth)
        return dataclasses.replace(
            b,
            shape=shape,
            strides=packed_strides(shape),
            packing=Packing(
                shape=b.shape,
                strides=b.strides,
                transposed=spec.layout.b_transposed,
                width=self.width,
                depth=self.depth,
                runs=self.runs,
            ),
        )


@frozen
class PanelVector:
    """Vector of `count` columns of a panel, of which the first `valid` exist. `start` is the byte
    offset of the first column in B, `lanes` the offsets of all columns from there, and `to` the
    byte offset of the vector in a row of packed B."""

    name: str
    valid: int
    count: int
    start: int
    to: int
    lanes: tuple[int, ...]

    @property
    def is_transposed(self) -> bool:
        """Whether columns that are contiguous along K are transposed in registers. A transpose
        needs log2(count) shuffles per row; reading single elements needs an instruction per
        column."""
        return self.valid >= self.count.bit_length()

    @property
    def masked(self) -> int:
        """Number of valid columns for a masked load; 0 for a whole vector."""
        return self.valid if self.valid < self.count else 0


@frozen
class PanelsOfB(ABC):
    """B packed in panels of nr columns; columns are `column_stride` bytes apart in B."""

    #: Whether a packed panel at the edge has as many vectors as the others.
    pads: ClassVar[bool] = False

    blocking: Blocking
    is_prepacked: bool
    column_stride: int

    @property
    def is_gathered(self) -> bool:
        """Whether an unpacked B is contiguous along K, so the columns of a row are gathered."""
        spec = self.blocking.spec
        return spec.layout.b_transposed and not (self.is_prepacked or maps_b(spec))

    @property
    @abstractmethod
    def pack_row(self) -> int:
        """Bytes per row of a packed panel."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Columns per vector."""

    def panel(self, *, is_edge: bool) -> tuple[PanelVector, ...]:
        """Return the vectors of a whole panel, or of the one at the right edge."""
        nr, count = self.blocking.schedule.nr, self.width
        columns = self.blocking.spec.n % nr if is_edge else nr
        vectors = nr // count if self.pads else -(-columns // count)
        step = self.pack_row * count // nr
        return panel(columns, vectors=vectors, count=count, stride=self.column_stride, step=step)

    def transpose(self, column: PanelVector) -> PanelTranspose:
        """Return the in-register transpose of a vector of columns that are contiguous along K."""
        return PanelTranspose(
            size=column.count, valid=column.valid, stride=self.column_stride, pack_row=self.pack_row
        )


def panel(
    columns: int, *, vectors: int, count: int, stride: int, step: int
) -> tuple[PanelVector, ...]:
    """Return the vectors of a panel of `vectors` * `count` columns; the first `columns` exist.
    `stride` is the number of bytes from one column to the next in B, `step` from one vector to the
    next in packed B."""
    return tuple(
        PanelVector(
            name=f"n{v}",
            valid=valid,
            count=count,
            start=v * count * stride,
            to=v * step,
            lanes=tuple(i * stride for i in range(valid)),
        )
        for v, valid in ((v, min(max(columns - v * count, 0), count)) for v in range(vectors))
    )


@frozen
class WidenedB(PanelsOfB):
    """B packed in panels [kc][nr] with zeros past N; `vector` is the type of a packed vector."""

    vector: Vector

    @property
    def pack_row(self) -> int:
        return self.blocking.schedule.nr * self.vector.itemsize

    @property
    def panel_bytes(self) -> int:
        return self.blocking.schedule.kc * self.pack_row

    def buffer(self, panels: int) -> Buffer:
        order = f"{self.vector.scalar} [kc][nr], {self.pack_row} B per row"
        return Buffer(name="%b.pack", holds=order, bytes=panels * self.panel_bytes)

    @property
    def width(self) -> int:
        return self.vector.count

    @property
    def runs(self) -> AxisUnits:
        """Vectors along K."""
        return self.blocking.k.units(self.vector.count)

    @property
    def has_tail(self) -> bool:
        """Whether some block of K has a remainder after whole vectors."""
        k = self.blocking.k
        return any(length % self.vector.count for length in (k.first, k.last))


@frozen
class Side:
    """Byte offsets of a column of B and of the packed row that it becomes."""

    index: int
    start: int
    to: int


@frozen
class Stage:
    """Stage of a transpose in registers. Each move has the numbers of two source rows and of the
    two rows that the shuffle masks `low` and `high` produce from them."""

    moves: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    low: str
    high: str


@frozen
class PanelTranspose:
    """Transpose of a block of B with `size` columns and `size` steps of K, contiguous along K.

    `stride` is the number of bytes from one column to the next in B, `pack_row` from one step of K
    to the next in packed B. Only `valid` columns exist. The last of them is read in place of the
    missing ones, whose results are unused.
    """

    size: int
    valid: int
    stride: int
    pack_row: int

    @property
    def size_bytes(self) -> int:
        """Bytes in B from one block of columns to the next."""
        return self.size * self.stride

    @property
    def sides(self) -> tuple[Side, ...]:
        return tuple(
            Side(index=i, start=min(i, self.valid - 1) * self.stride, to=i * self.pack_row)
            for i in range(self.size)
        )

    @property
    def stages(self) -> tuple[Stage, ...]:
        return transpose_stages(self.size)


def transpose_stages(count: int) -> tuple[Stage, ...]:
    """Return the stages that transpose `count` (a power of two) vectors of `count` elements. A
    stage divides rows into blocks of d elements and combines rows i and i + d. The new row i has
    the even blocks of both rows in turn; the new row i + d has the odd blocks of both in turn."""
    stages: list[Stage] = []
    d = count // 2
    while d:
        low = [x if not x & d else count + x - d for x in range(count)]
        high = [x + d if not x & d else count + x for x in range(count)]
        moves = tuple(((i, i + d), (i, i + d)) for i in range(count) if not i & d)
        stages.append(Stage(moves=moves, low=index_list(low), high=index_list(high)))
        d //= 2
    return tuple(stages)


def zip_stages(count: int) -> tuple[Stage, ...]:
    """Return the stages of a transpose that only interleaves vectors.

    One instruction interleaves vectors of 16 bytes (Intel SDM volume 2, PUNPCKL and PUNPCKH; Arm
    Architecture Reference Manual, ZIP1 and ZIP2). The interleaved first halves of rows i and
    i + count / 2 become row 2 i, their second halves row 2 i + 1. Each stage rotates the bits of
    the number (row, column) by one.
    """
    half = count // 2
    zipped = [x for i in range(count) for x in (i, count + i)]
    moves = tuple(((i, i + half), (2 * i, 2 * i + 1)) for i in range(half))
    stage = Stage(moves=moves, low=index_list(zipped[:count]), high=index_list(zipped[count:]))
    return (stage,) * (count.bit_length() - 1)


def interleave(count: int, vectors: int) -> str:
    """Return the shuffle mask that interleaves the elements of `vectors` vectors of `count`."""
    return index_list([v * count + i for i in range(count) for v in range(vectors)])


#: Bytes per row of a transpose: instructions interleave wider vectors in separate parts of 16 bytes
#: (Intel SDM, VPUNPCKL).
TRANSPOSE_BYTES = 16


@frozen
class RegisterTranspose(PanelTranspose):
    """Transpose of a square block; `packed` is the LLVM type of a packed row."""

    access: Access
    packed: Vector

    @property
    def widens(self) -> bool:
        return self.packed != self.access.stored

    @property
    def stages(self) -> tuple[Stage, ...]:
        return zip_stages(self.size)


def register_transpose(
    dtype: DType, *, stride: int, pack_row: int, packed: str = ""
) -> RegisterTranspose:
    """Return the transpose of a square block of elements of type `dtype`. `packed` is the LLVM type
    of a packed row if it differs from the type of a row."""
    size = TRANSPOSE_BYTES // dtype.itemsize
    access = Access(dtype=dtype, compute=Vector(count=size, scalar="float"))
    return RegisterTranspose(
        size=size,
        valid=size,
        stride=stride,
        pack_row=pack_row,
        access=access,
        packed=access.stored.of(packed) if packed else access.stored,
    )
