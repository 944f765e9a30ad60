"""How a tile of A or B travels: memory -> registers -> LDS.

An operand has two axes here: `row` (m of A, n of B) and `k`. Memory is contiguous along one of them
and the LDS tile along one, which may be the other. The tile is cut in equal chunks, each thread
moves `len(chunks)` of them, and a chunk is loaded as vectors along memory's axis and stored as
vectors along the LDS tile's axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kgen.errors import ScheduleError
from kgen.targets.llvm_ir import ELEMENT, FloatType
from kgen_runtime.dtypes import DType

Axis = Literal["row", "k"]

#: Bytes of the widest load and store.
WIDEST = 16
#: Vectors that a chunk is deep where the axes differ: pairs of 16-bit values fill a register, and
#: four of them make an 8-byte store.
TRANSPOSE_DEPTH = 4
#: Offsets below this are computed in 32 bits: the byte offset then fits too.
NARROW_OFFSETS = 2**28


@dataclass(frozen=True, kw_only=True)
class Load:
    """One vector load of a chunk: `row`, `k` and `offset` count from the chunk's first element."""

    index: int
    row: int
    k: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class Store:
    """One vector store to LDS, `offset` elements behind the chunk's first.

    `elements` are (load, lane) pairs: where each of its elements comes from.
    """

    index: int
    offset: int
    elements: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Staging:
    """The integers of one operand's way to LDS. Strides and offsets are in elements."""

    name: str
    memory: DType
    lds: DType
    rows: int
    block_rows: int
    block_k: int
    threads: int
    stages: int
    batch_stride: int
    row_stride: int
    k_stride: int
    memory_axis: Axis
    lds_axis: Axis
    #: Depth of the last, partial tile; 0 if the tiles divide K.
    k_rest: int
    vector: int
    chunk_row: int
    chunk_k: int
    #: Unused elements behind each line of the LDS tile, against bank conflicts.
    padding: int

    @property
    def ragged_rows(self) -> bool:
        return self.rows % self.block_rows != 0

    @property
    def last_row(self) -> int:
        """The last row of the matrix at which a load may start."""
        return self.rows - (self.vector if self.memory_axis == "row" else 1)

    @property
    def chunks_per_line(self) -> int:
        """Chunks side by side along memory's contiguous axis; threads walk that axis first."""
        if self.memory_axis == "k":
            return self.block_k // self.chunk_k
        return self.block_rows // self.chunk_row

    @property
    def fast(self) -> Axis:
        return self.memory_axis

    @property
    def slow(self) -> Axis:
        return "row" if self.memory_axis == "k" else "k"

    @property
    def slow_stride(self) -> int:
        return self.row_stride if self.slow == "row" else self.k_stride

    @property
    def fast_size(self) -> int:
        return self.chunk_k if self.memory_axis == "k" else self.chunk_row

    @property
    def slow_size(self) -> int:
        return self.chunk_row if self.memory_axis == "k" else self.chunk_k

    @property
    def chunks(self) -> tuple[int, ...]:
        """The first thread's chunk numbers; thread t has each of them plus t."""
        total = self.block_rows * self.block_k // (self.chunk_row * self.chunk_k)
        return tuple(range(0, total, self.threads))

    @property
    def loads(self) -> tuple[Load, ...]:
        if self.memory_axis == self.lds_axis:
            steps = [(i * self.vector, 0) for i in range(self.fast_size // self.vector)]
        else:
            steps = [(0, i) for i in range(self.slow_size)]
        rows_and_depths = [(s, f) if self.fast == "k" else (f, s) for f, s in steps]
        return tuple(
            Load(index=i, row=row, k=k, offset=row * self.row_stride + k * self.k_stride)
            for i, (row, k) in enumerate(rows_and_depths)
        )

    def checks_row(self, load: Load) -> bool:
        """The load's row may be behind the matrix though the chunk's first row is not."""
        return self.ragged_rows and load.row > 0

    def checks_depth(self, load: Load) -> bool:
        """The load's depth may be behind the matrix though the chunk's first depth is not."""
        return self.k_rest > 0 and load.k > 0

    @property
    def stores(self) -> tuple[Store, ...]:
        v = self.vector
        if self.memory_axis == self.lds_axis:
            elements = tuple((i // v, i % v) for i in range(self.fast_size))
            return (Store(index=0, offset=0, elements=elements),)
        return tuple(
            Store(
                index=lane,
                offset=lane * self.pitch,
                elements=tuple((load, lane) for load in range(self.slow_size)),
            )
            for lane in range(v)
        )

    @property
    def regroups(self) -> bool:
        """Stored vectors are not the loaded ones as they are."""
        return self.gathers or self.vector > len(self.stores[0].elements)

    @property
    def gathers(self) -> bool:
        """A stored vector has elements of several loads."""
        return len({load for load, _ in self.stores[0].elements}) > 1

    def stored(self, store: Store) -> str:
        """What to store, as a suffix to the chunk's name: a gathered vector, an element, a load."""
        if self.gathers:
            return f".s{store.index}"
        load, lane = store.elements[0]
        return f".l{load}.{lane}" if self.regroups else f".l{load}"

    @property
    def load_type(self) -> FloatType:
        return FloatType(dtype=self.memory, lanes=self.vector)

    @property
    def store_type(self) -> FloatType:
        return FloatType(dtype=self.lds, lanes=len(self.stores[0].elements))

    @property
    def unconverted_type(self) -> FloatType:
        """What is stored, before it is widened to the LDS tile's type."""
        return FloatType(dtype=self.memory, lanes=len(self.stores[0].elements))

    @property
    def widens(self) -> bool:
        return self.memory is not self.lds

    @property
    def line(self) -> Axis:
        """The LDS tile's outer axis."""
        return "row" if self.lds_axis == "k" else "k"

    @property
    def lines(self) -> int:
        return self.block_rows if self.lds_axis == "k" else self.block_k

    @property
    def pitch(self) -> int:
        """Elements from one line of the LDS tile to the next."""
        return (self.block_k if self.lds_axis == "k" else self.block_rows) + self.padding

    @property
    def array(self) -> str:
        """The IR type of the LDS tile, all stages."""
        return f"[{self.stages} x [{self.lines} x [{self.pitch} x {ELEMENT[self.lds]}]]]"

    def axis_name(self, axis: Axis) -> str:
        """In the words of the matmul: m, n or k."""
        return "k" if axis == "k" else "m" if self.name == "a" else "n"

    @property
    def lds_bytes(self) -> int:
        return self.stages * self.lines * self.pitch * self.lds.itemsize

    @property
    def lds_alignment(self) -> int:
        """Of each line: the largest power of two, up to a vector, that divides its pitch."""
        return power_of_two_divisor(self.pitch * self.lds.itemsize, WIDEST)

    @property
    def store_alignment(self) -> int:
        return min(self.lds_alignment, self.store_type.nbytes)

    @property
    def wide_offsets(self) -> bool:
        """Offsets inside a tile need 64 bits."""
        return self.block_rows * self.row_stride + self.block_k * self.k_stride > NARROW_OFFSETS

    @property
    def offset_type(self) -> str:
        return "i64" if self.wide_offsets else "i32"

    @property
    def k_step(self) -> int:
        """Elements from one K tile to the next."""
        return self.block_k * self.k_stride


def make(
    *,
    name: str,
    memory: DType,
    lds: DType,
    shape: tuple[int, int],
    block: tuple[int, int],
    threads: int,
    stages: int,
    strides: tuple[int, int, int],
    lds_axis: Axis,
    padding: int,
) -> Staging:
    """Choose chunks for a tile of `block` = (rows, k) of a matrix of `shape` = (rows, k).

    `strides` are elements from one batch, row and k to the next. Raises ScheduleError if the
    threads cannot share the tile evenly.
    """
    memory_axis: Axis = "k" if strides[2] == 1 else "row"
    # A vector must lie wholly inside or outside the matrix.
    extent = shape[1] if memory_axis == "k" else shape[0]
    widest = power_of_two_divisor(extent, WIDEST // memory.itemsize)
    for vector, fast, slow in _chunk_shapes(
        widest, memory_axis == lds_axis, WIDEST // lds.itemsize
    ):
        row, k = (slow, fast) if memory_axis == "k" else (fast, slow)
        if block[0] % row or block[1] % k or (block[0] * block[1]) % (row * k * threads):
            continue
        return Staging(
            name=name,
            memory=memory,
            lds=lds,
            rows=shape[0],
            block_rows=block[0],
            block_k=block[1],
            threads=threads,
            stages=stages,
            batch_stride=strides[0],
            row_stride=strides[1],
            k_stride=strides[2],
            memory_axis=memory_axis,
            lds_axis=lds_axis,
            k_rest=shape[1] % block[1],
            vector=vector,
            chunk_row=row,
            chunk_k=k,
            padding=padding,
        )
    side, tile = ("m" if name == "a" else "n"), block[0] * block[1]
    raise ScheduleError(
        f"block_{side}={block[0]} x block_k={block[1]} is not shared evenly by {threads} threads; "
        f"try block_k={block[1] * threads // math.gcd(tile, threads)}"
    )


def _chunk_shapes(
    widest: int, same_axis: bool, widest_store: int
) -> Iterator[tuple[int, int, int]]:
    """(vector, extent along memory's axis, extent across it) of chunks, the best first."""
    if same_axis:
        for fast in _halves(widest_store):
            yield min(widest, fast), fast, 1
    else:
        shapes = [(v, v, slow) for v in _halves(widest) for slow in _halves(TRANSPOSE_DEPTH)]
        # The largest first; among equals the one whose loads and stores are both wide.
        yield from sorted(shapes, key=lambda s: (s[1] * s[2], min(s[1], s[2])), reverse=True)


def _halves(value: int) -> Iterator[int]:
    while value:
        yield value
        value //= 2


def power_of_two_divisor(value: int, limit: int) -> int:
    """The largest power of two up to `limit` that divides `value`; `limit` is one itself."""
    return min(value & -value, limit)
