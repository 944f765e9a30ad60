"""Panels of B: the order of a prepacked B, vectors of a panel, and in-register transposes.

All kernels of a target share one order of a prepacked B, for any M. Its panels are one vector wide,
so that register tiles of any width read whole panels, each as a stream.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod

from kgen.spec import ConstantOperand, DType, Matmul
from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.vectors import Access, Vector, index_list
from kgen_runtime.manifest import Packing, TensorParam
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.values import frozen


def b_is_packed(spec: Matmul) -> bool:
    """Return whether B is prepacked in panels that all kernels read; B in blocks is not."""
    return ConstantOperand.B in spec.constant and not spec.has_blocks


@frozen
class PanelFormat:
    """Panels of `width` columns and runs of `depth` k (bytes of blocks), which `runs` cut up.

    K and N are rounded up to multiples of `k_unit` and of `n_unit` (0: `width`).
    """

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
    """`count` columns of a panel, of which `valid` exist.

    `start` and `lanes` are byte offsets in B: of the first column, and of each from there; `to` is
    the offset in a row of packed B.
    """

    name: str
    valid: int
    count: int
    start: int
    to: int
    lanes: tuple[int, ...]

    @property
    def is_transposed(self) -> bool:
        """Whether registers transpose columns that are contiguous along K: log2(count) shuffles per
        row, against an instruction per column."""
        return self.valid >= self.count.bit_length()

    @property
    def masked(self) -> int:
        """`valid` for a masked load, 0 for a whole vector."""
        return self.valid if self.valid < self.count else 0


@frozen
class PanelsOfB(ABC):
    """B packed in panels of nr columns, which are `column_stride` bytes apart in B."""

    blocking: Blocking
    is_prepacked: bool
    column_stride: int

    @property
    def is_gathered(self) -> bool:
        """Whether B is contiguous along K, and not along the columns of a row."""
        return self.blocking.spec.layout.b_transposed and not self.is_prepacked

    @property
    @abstractmethod
    def pack_row(self) -> int:
        """Bytes of a row of a packed panel: of columns, or of groups of them."""

    @abstractmethod
    def panel_of(self, columns: int) -> tuple[PanelVector, ...]: ...

    @property
    def panel(self) -> tuple[PanelVector, ...]:
        return self.panel_of(self.blocking.schedule.nr)

    @property
    def edge_panel(self) -> tuple[PanelVector, ...]:
        return self.panel_of(self.blocking.spec.n % self.blocking.schedule.nr)

    def transpose(self, column: PanelVector) -> PanelTranspose:
        """Return the in-register transpose of a vector of columns that are contiguous along K."""
        return PanelTranspose(
            size=column.count, valid=column.valid, stride=self.column_stride, pack_row=self.pack_row
        )


def panel(
    columns: int, *, vectors: int, count: int, stride: int, step: int
) -> tuple[PanelVector, ...]:
    """Return a panel of `vectors` times `count` columns, of which the first `columns` exist.

    `stride` is the bytes in B from one column to the next, `step` those in packed B from one vector
    to the next.
    """
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
    """B packed in panels [kc][nr], zero past N; `vector` is a packed vector."""

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

    def panel_of(self, columns: int) -> tuple[PanelVector, ...]:
        return panel(
            columns,
            vectors=-(-columns // self.vector.count),
            count=self.vector.count,
            stride=self.column_stride,
            step=self.vector.bytes,
        )

    @property
    def whole(self) -> str:
        """K of a block in whole vectors, if all blocks have the same depth."""
        return str(self.blocking.whole(self.blocking.k.first))

    @property
    def has_tail(self) -> bool:
        """Whether some block of K has a remainder after whole vectors."""
        lengths = (self.blocking.k.first, self.blocking.spec.k % self.blocking.schedule.kc)
        return any(length % self.vector.count for length in lengths)


@frozen
class Side:
    """Column of B, and the row that it becomes: byte offsets of both."""

    index: int
    start: int
    to: int


@frozen
class Stage:
    """Stage of a transposition. Each move is a pair of rows, and the two rows that the shuffle
    masks `low` and `high` make of it."""

    moves: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    low: str
    high: str


@frozen
class PanelTranspose:
    """Transpose of `size` columns of B and as many steps of K, which are contiguous in each column.

    `stride` and `pack_row` are the bytes from one column to the next in B, and from one step to the
    next in packed B. `valid` columns exist; the last of them stands for the others, whose sums are
    unused.
    """

    size: int
    valid: int
    stride: int
    pack_row: int

    @property
    def size_bytes(self) -> int:
        """Bytes from the first column of a block in B to that of the next block."""
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
    """Return the stages that transpose `count` (a power of two) vectors of `count` elements.

    With blocks of d rows and columns, rows i and i + d of a pair become: the even blocks of i, each
    followed by the even block of i + d; and likewise the odd blocks.
    """
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
    """Return the stages of a transposition by interleaving alone, which vectors of 16 bytes do by
    one instruction (Intel SDM volume 2, PUNPCKL and PUNPCKH; Arm Architecture Reference Manual,
    ZIP1 and ZIP2).

    Rows i and i + count / 2 become rows 2 i and 2 i + 1: their first halves interleaved, and their
    second halves. Seen as one number, the bits of (row, column) rotate by one.
    """
    half = count // 2
    zipped = [x for i in range(count) for x in (i, count + i)]
    moves = tuple(((i, i + half), (2 * i, 2 * i + 1)) for i in range(half))
    stage = Stage(moves=moves, low=index_list(zipped[:count]), high=index_list(zipped[count:]))
    return (stage,) * (count.bit_length() - 1)


def interleave(count: int, vectors: int) -> str:
    """Return the shuffle mask that puts side by side the elements of vectors of `count` each."""
    return index_list([v * count + i for i in range(count) for v in range(vectors)])


#: Bytes of a row: wider vectors are interleaved in parts of 16 bytes only (Intel SDM, VPUNPCKL).
TRANSPOSE_BYTES = 16


@frozen
class RegisterTranspose(PanelTranspose):
    """Transposition of a square block; `packed` is a transposed row in packed form."""

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
    """Return the transposition of elements; `packed` is their LLVM type if it changes."""
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
