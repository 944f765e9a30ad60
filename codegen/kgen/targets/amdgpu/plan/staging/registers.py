"""Copies of a tile of A or B from memory through registers to LDS.

An operand has two axes: `row` (m of A, n of B) and `k`. Memory is contiguous along one of them, and
the slots of the LDS tile are contiguous along the same or the other one.
"""

from __future__ import annotations

from typing import ClassVar

from kgen.targets.amdgpu.plan.lds.tile import LdsTile, N
from kgen.targets.amdgpu.plan.staging.chunks import ChunkLoad, ChunkStore, Shape
from kgen.targets.batch import BatchTerm
from kgen.targets.contraction.access import AccessMap, Axis
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Bytes of a word.
WORD = 4
#: Limit of offsets that are computed in 32 bits; the offset in bytes then fits as well.
NARROW_OFFSETS = 2**28


@frozen
class Square:
    """Square of 4 x 4 bytes of a chunk: word `column` of four loads, from load 4 * `row` on.

    After the transposition, the words are word `row` of four stored vectors.
    """

    row: int
    column: int

    @property
    def row_before(self) -> int:
        return self.row - 1

    @property
    def loads(self) -> range:
        return range(WORD * self.row, WORD * (self.row + 1))

    @property
    def stores(self) -> range:
        return range(WORD * self.column, WORD * (self.column + 1))


@frozen
class Staging:
    """Staging of an operand in LDS. Strides and offsets are in elements."""

    #: Selectors of V_PERM_B32 for two words. The first two interleave their bytes 0 and 1, or 2 and
    #: 3; the others join their low halves, or their high halves.
    INTERLEAVE_LOW: ClassVar[int] = 0x05010400
    INTERLEAVE_HIGH: ClassVar[int] = 0x07030602
    LOW_HALVES: ClassVar[int] = 0x05040100
    HIGH_HALVES: ClassVar[int] = 0x07060302

    access: AccessMap
    tile: LdsTile
    threads: int
    #: Depth of the partial K-tile; 0 if there is none.
    k_rest: int
    chunk: Shape
    #: Elements of a load of the partial K-tile, which is wholly inside or outside of the matrix.
    piece: int
    #: Largest immediate offset of a load, in bytes.
    reach: int
    #: Whether loads transpose among as many lanes as a vector has elements: each lane reads a depth
    #: and gets a row (RDNA4 ISA, "GLOBAL_LOAD_TR_B128").
    transposing_load: bool = False

    @property
    def name(self) -> str:
        return self.access.name

    @property
    def is_guarded(self) -> bool:
        """Whether the operand is not a matrix: its elements have guards, or several digits."""
        return False

    @property
    def tile_element(self) -> str:
        """IR type to which the pointer of a tile points."""
        return self.load_type.element

    @property
    def tile_space(self) -> int:
        """Address space of the pointer of a tile."""
        return 1

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the table entries that a thread reads per K-tile."""
        return ()

    @property
    def memory(self) -> DType:
        return self.access.dtype

    @property
    def rows(self) -> int:
        return self.access.rows

    @property
    def batch_terms(self) -> tuple[BatchTerm, ...]:
        return self.access.batch

    @property
    def memory_axis(self) -> Axis:
        return self.access.inner

    @property
    def row_stride(self) -> int:
        return self.access.offset(1, 0)

    @property
    def has_row_stride(self) -> bool:
        """Whether rows have a stride in memory other than 1."""
        return self.row_stride != 1

    @property
    def k_stride(self) -> int:
        return self.access.offset(0, 1)

    @property
    def block_rows(self) -> int:
        return self.tile.rows

    @property
    def block_k(self) -> int:
        return self.tile.depth

    @property
    def lds_axis(self) -> Axis:
        return "k" if self.tile.slot_k > 1 else "row"

    @property
    def transposes(self) -> bool:
        return self.memory_axis != self.lds_axis and not self.transposing_load

    @property
    def load_intrinsic(self) -> str:
        """Intrinsic of a transposing load."""
        return f"llvm.amdgcn.global.load.tr.b128.{self.load_type.suffix}"

    @property
    def depths(self) -> str:
        """Constant vector with the depths of a stored vector, counted from its first."""
        return ", ".join(f"i32 {depth}" for depth in range(self.vector))

    @property
    def vector(self) -> int:
        return self.chunk.vector

    @property
    def ragged_rows(self) -> bool:
        guards = self.access.guards_of(self.block_rows, self.block_k)
        return any(guard.depends_on("row") for guard in guards)

    @property
    def last_row(self) -> int:
        """Last row of the matrix at which a load may start: any row if loads overhang."""
        whole = self.memory_axis == "row" and not self.overhangs
        return self.rows - (self.vector if whole else 1)

    @property
    def last_piece_row(self) -> int:
        """Last row of the matrix at which a load of the partial K-tile may start."""
        return self.rows - (self.piece if self.memory_axis == "row" else 1)

    @property
    def overhangs(self) -> bool:
        """Whether loads may extend past the end of a line of memory into the next line. That line
        exists, because the last line is in the partial K-tile."""
        return self.memory_axis == "row" and self.piece < self.vector

    @property
    def pieces(self) -> tuple[int, ...]:
        """First element of each load of the partial K-tile, within a load of a whole K-tile."""
        return tuple(range(0, self.vector, self.piece))

    @property
    def in_pieces(self) -> bool:
        return self.piece < self.vector

    @property
    def piece_type(self) -> str:
        """IR type of a piece as an integer."""
        return f"i{8 * self.piece * self.memory.itemsize}"

    def piece_row(self, load: ChunkLoad, first: int) -> int:
        """Return the rows from the chunk's first to a piece of a load."""
        return load.row + first

    def piece_k(self, load: ChunkLoad, first: int) -> int:
        """Return the depths from the chunk's first to a piece of a load."""
        return load.k + first

    @property
    def cuts_depth(self) -> bool:
        """Whether some depths of the partial K-tile do not exist."""
        return 0 < self.k_rest < self.block_k

    @property
    def chunk_row(self) -> int:
        return self.chunk.slow if self.memory_axis == "k" else self.chunk.fast

    @property
    def chunk_k(self) -> int:
        return self.chunk.fast if self.memory_axis == "k" else self.chunk.slow

    @property
    def chunks_per_line(self) -> int:
        """Number of chunks along memory's contiguous axis."""
        if self.memory_axis == "k":
            return self.block_k // self.chunk_k
        return self.block_rows // self.chunk_row

    @property
    def chunks_per_slot(self) -> int:
        """Number of neighbouring threads that fill a slot of depths together.

        These threads reach all banks of the slot at once. Further threads follow along memory's
        contiguous axis.
        """
        return self.tile.slot_k // self.chunk_k if self.walks_rows else 1

    @property
    def shares_slots(self) -> bool:
        """Whether neighbouring threads fill a slot of depths together."""
        return self.chunks_per_slot > 1

    @property
    def walks_rows(self) -> bool:
        """Whether rows, not depths, are contiguous in memory."""
        return self.fast == "row"

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
    def chunks(self) -> tuple[int, ...]:
        """Numbers of thread 0's chunks; thread t has each of them plus t."""
        total = self.block_rows * self.block_k // (self.chunk_row * self.chunk_k)
        return tuple(range(0, total, self.threads))

    def place(self, index: N) -> tuple[N, N]:
        """Return (row, k) at which a chunk starts in the tile; the template computes the same."""
        index, part = divmod(index, self.chunks_per_slot)
        slow, fast = divmod(index, self.chunks_per_line)
        along = fast * self.chunk.fast
        across = (slow * self.chunks_per_slot + part) * self.chunk.slow
        return (across, along) if self.fast == "k" else (along, across)

    @property
    def loads(self) -> tuple[ChunkLoad, ...]:
        if self.transposes:
            steps = [(0, i) for i in range(self.chunk.slow)]
        else:
            steps = [(i, 0) for i in range(0, self.chunk.fast, self.vector)]
        rows_and_depths = [(s, f) if self.fast == "k" else (f, s) for f, s in steps]
        return tuple(
            ChunkLoad(index=i, row=row, k=k, offset=self.access.offset(row, k))
            for i, (row, k) in enumerate(rows_and_depths)
        )

    def checks_row(self, load: ChunkLoad) -> bool:
        """Return whether a load's row may be past the matrix although the chunk's first row is
        not."""
        return self.ragged_rows and load.row > 0

    def checks_depth(self, load: ChunkLoad) -> bool:
        """Return whether a load's depth may be past the matrix although the chunk's first depth is
        not."""
        return (self.cuts_depth or self.overhangs) and load.k > 0

    @property
    def stores(self) -> tuple[ChunkStore, ...]:
        v = self.vector
        if not self.transposes:
            elements = tuple((i // v, i % v) for i in range(self.chunk.fast * self.chunk.slow))
            return (ChunkStore(index=0, row=0, k=0, elements=elements),)
        return tuple(
            ChunkStore(
                index=lane,
                row=lane if self.fast == "row" else 0,
                k=lane if self.fast == "k" else 0,
                elements=tuple((load, lane) for load in range(self.chunk.slow)),
            )
            for lane in range(v)
        )

    @property
    def store_depths(self) -> tuple[int, ...]:
        """Lines of the chunk's stores, counted from its first line."""
        return tuple(sorted({store.k // self.tile.slot_k for store in self.stores}))

    @property
    def store_positions(self) -> tuple[int, ...]:
        """Positions of the chunk's stores, counted from its first position."""
        return tuple(sorted({self.tile.position(store.row) for store in self.stores}))

    @property
    def regroups(self) -> bool:
        """Whether stored vectors differ from loaded ones."""
        return self.gathers or self.vector > len(self.stores[0].elements)

    @property
    def gathers(self) -> bool:
        """Whether a stored vector has elements of several loads."""
        return len({load for load, _ in self.stores[0].elements}) > 1

    @property
    def transposes_bytes(self) -> bool:
        """Whether the chunk is transposed as words, in squares of 4 x 4 bytes."""
        whole = self.vector % WORD == 0 and self.chunk.slow % WORD == 0
        return self.gathers and self.memory.itemsize == 1 and not self.widens and whole

    @property
    def squares(self) -> tuple[Square, ...]:
        return tuple(
            Square(row=row, column=column)
            for row in range(self.chunk.slow // WORD)
            for column in range(self.vector // WORD)
        )

    def words_of(self, count: int) -> str:
        """Return the IR type of a vector of `count` bytes, as words."""
        return f"<{count // WORD} x i32>"

    def stored(self, store: ChunkStore) -> str:
        """Return the suffix of the value to store: a gathered vector, an element, or a load."""
        if self.gathers:
            return f".s{store.index}"
        load, lane = store.elements[0]
        return f".l{load}.{lane}" if self.regroups else f".l{load}"

    @property
    def load_type(self) -> FloatType:
        return FloatType(dtype=self.memory, lanes=self.vector)

    @property
    def store_type(self) -> FloatType:
        return FloatType(dtype=self.tile.dtype, lanes=len(self.stores[0].elements))

    @property
    def unconverted_type(self) -> FloatType:
        """Type of the value to store before it is widened to the LDS tile's type."""
        return FloatType(dtype=self.memory, lanes=len(self.stores[0].elements))

    @property
    def widens(self) -> bool:
        return self.memory is not self.tile.dtype

    @property
    def widens_bytes(self) -> bool:
        """Whether 8-bit floats are widened, which no instruction of the IR does."""
        return False

    @property
    def widening(self) -> str:
        """Instruction that widens the value to store."""
        return "sitofp" if self.memory.is_integer else "fpext"

    @property
    def fills_slots(self) -> bool:
        """Whether a stored vector is a whole slot."""
        return self.store_type.lanes == self.tile.slot

    def axis_name(self, axis: Axis) -> str:
        """Return the name of an axis in the matmul: m, n or k."""
        return "k" if axis == "k" else "m" if self.name == "a" else "n"

    @property
    def wide_offsets(self) -> bool:
        """Whether offsets inside a tile need 64 bits."""
        return self.access.offset(self.block_rows, self.block_k) > NARROW_OFFSETS

    def is_far(self, load: ChunkLoad) -> bool:
        """Return whether a load is out of reach of an immediate offset from the chunk's first
        element."""
        return load.offset * self.memory.itemsize > self.reach

    @property
    def has_far_loads(self) -> bool:
        return not self.wide_offsets and any(map(self.is_far, self.loads))

    @property
    def counts_pairs(self) -> bool:
        """Whether a load's offset counts pairs of bytes.

        An offset in bytes would become a 64-bit value per lane, which code generation adds to the
        tile's pointer. Twice a 32-bit value stays 32-bit, and the load adds it to a scalar.
        """
        even = self.vector % 2 == 0 and self.slow_stride % 2 == 0 and not self.in_pieces
        return self.memory.itemsize == 1 and even and not self.wide_offsets

    @property
    def unit(self) -> int:
        """Number of elements per unit of a load's offset."""
        return 2 if self.counts_pairs else 1

    @property
    def unit_type(self) -> str:
        element = self.load_type.element
        return f"[{self.unit} x {element}]" if self.counts_pairs else element

    @property
    def offset_type(self) -> str:
        return "i64" if self.wide_offsets else "i32"

    def steps(self, count: int) -> int:
        """Return the elements from one K-tile to the one `count` later."""
        (step,) = self.access.steps(self.block_k)
        return count * step
