"""Copy of a tile of a matrix from global to shared memory by the threads of a CTA.

The tile is divided into units of `unit_bytes`, one memory access each, numbered along the stored
rows of the matrix. Thread t of T copies the units t, t + T, t + 2T, ... All counts are powers of
two, so unit t + iT is at a constant distance from unit t: an offset in global memory, an exclusive
or and an offset in shared memory.
"""

from __future__ import annotations

from functools import cached_property

from kgen.targets.contraction.access import AccessMap, Guard
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, MAX_IMMEDIATE, Matrix
from kgen.targets.cuda.plan.staging.copy_units import GuardRegister, Place, Unit, Words, xor_suffix
from kgen.targets.header import counted
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen


@frozen
class PagedTiles:
    """Tiles of K or V in pools of pages; a page has whole tiles.

    `stride` is the bytes between pages, `last` the number of the last one. A row of the table has
    `columns` pages, and begins at register %page_table_ptr.
    """

    page_size: int
    stride: int
    last: int
    columns: int

    @property
    def last_column(self) -> int:
        return self.columns - 1


@frozen
class TileCopy:
    """Copy of a tile of `rows` x `cols`: by cp.async if `asynchronous`, else through registers.

    - An edge is a side on which the matrix does not fill its last tile; units past it become zero.
    - `first_k`: elements of k in the first K-tile, if it is the partial one; 0 if the last K-tile
      is.
    - `part_k`: elements of k, in whole K-tiles, that each CTA copies from its own first k on; 0 if
      every CTA copies all of k.
    """

    matrix: Matrix
    rows: int
    cols: int
    num_threads: int
    unit_bytes: int
    asynchronous: bool
    place: Place
    first_k: int = 0
    part_k: int = 0
    #: Register with the end of k, if an argument of the kernel gives it.
    k_stop: str = ""
    #: Name of the index k for readers.
    k_name: str = "k"
    #: Whether a CTA begins at the k in register %k0, as it does with `part_k`.
    from_k0: bool = False
    pages: PagedTiles | None = None
    #: Whether e4m3 becomes f16 between its registers and the tile.
    widens: bool = False

    @property
    def begins_at_k0(self) -> bool:
        return self.from_k0 or self.part_k > 0

    @property
    def is_guarded(self) -> bool:
        """Whether the operand is not a matrix: its elements have guards, or several digits."""
        return False

    @property
    def has_table(self) -> bool:
        """Whether the copy reads a table with an entry for each K-tile."""
        return False

    @property
    def name(self) -> str:
        return self.matrix.name

    @property
    def access(self) -> AccessMap:
        return self.matrix.access

    @property
    def unit_elements(self) -> int:
        return self.unit_bytes // self.matrix.dtype.itemsize

    @property
    def units_per_row(self) -> int:
        return self.cols // self.unit_elements

    @property
    def units_per_row_log2(self) -> int:
        return log2(self.units_per_row)

    @property
    def unit_elements_log2(self) -> int:
        return log2(self.unit_elements)

    @property
    def itemsize_log2(self) -> int:
        return log2(self.matrix.dtype.itemsize)

    @property
    def col_mask(self) -> int:
        return self.units_per_row - 1

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Units that a thread copies, by their distance from its first one."""
        count = self.rows * self.units_per_row // self.num_threads
        return tuple(self._unit(i) for i in range(count))

    def _unit(self, index: int) -> Unit:
        row, unit = divmod(index * self.num_threads, self.units_per_row)
        col = unit * self.unit_elements
        source = self.access.offset(*self._indices(row, col)) * self.matrix.dtype.itemsize
        xor, shared = self.place(row, col)
        return Unit(index=index, row=row, col=col, source=source, xor=xor, shared=shared)

    @property
    def xors(self) -> tuple[int, ...]:
        """Distinct exclusive-or masks of the units; the first is 0."""
        return tuple(sorted({unit.xor for unit in self.units}))

    @property
    def put_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the registers with shared addresses."""
        return tuple(map(xor_suffix, self.xors))

    @cached_property
    def far(self) -> bool:
        """Whether distances between units in global memory exceed an immediate offset."""
        return max(unit.source for unit in self.units) > MAX_IMMEDIATE

    def source(self, unit: Unit) -> str:
        """Return the unit's global address as an operand; far units have a register for it."""
        return "%from" if self.far else f"%{self.name}_from+{unit.source}"

    @cached_property
    def k_edge(self) -> bool:
        """Whether k can end inside a tile."""
        return bool(self.k_stop) or any(guard.depends_on("k") for guard in self._tile_guards)

    @cached_property
    def free_edge(self) -> bool:
        """Whether m (or n) can end inside a tile."""
        return any(guard.depends_on("row") for guard in self._tile_guards)

    @property
    def _tile_guards(self) -> tuple[Guard, ...]:
        return self.access.guards_of(self.free_extent, self.part_k or self.k_extent)

    @property
    def later_k_edge(self) -> bool:
        """Whether k can end inside a tile that is not the first."""
        return self.k_edge and not self.first_k

    def can_begin_with(self, k: int) -> bool:
        """Return whether units stay aligned after a first K-tile of `k` elements."""
        return not self.matrix.k_inner or k % self.unit_elements == 0

    @property
    def guards(self) -> tuple[GuardRegister, ...]:
        """Guard register for each distance along m (or n), where the matrix ends inside a tile."""
        if not self.free_edge:
            return ()
        distances = sorted({self._free(unit) for unit in self.units})
        return tuple(GuardRegister(register=self._guard_register(d), along=d) for d in distances)

    def _free(self, unit: Unit) -> int:
        return self._indices(unit.row, unit.col)[0]

    def _guard_register(self, distance: int) -> str:
        return f"{self.free_coordinate}{distance}_bytes"

    def free_bytes(self, unit: Unit) -> str:
        """Return the operand with the number of the unit's bytes inside the matrix along m (or
        n)."""
        if not self.free_edge:
            return str(self.unit_bytes)
        return "%" + self._guard_register(self._free(unit))

    @property
    def free_left(self) -> str:
        """Register with the number of rows up to the end of m (or n)."""
        return f"{self.name}_{'rows' if self.matrix.k_inner else 'cols'}_left"

    @property
    def batched(self) -> bool:
        return self.matrix.batch_stride != 0

    @property
    def k_step(self) -> int:
        """Bytes from a K-tile to the next one."""
        return self._step_bytes(self.k_extent)

    @property
    def page_step(self) -> int:
        """Bytes from the last K-tile of a page to the first one of the next page in memory, without
        the bytes between pages."""
        assert self.pages is not None
        return self.k_step - self._step_bytes(self.pages.page_size)

    @property
    def first_k_step(self) -> int:
        """Bytes from the first K-tile to the second."""
        return self._step_bytes(self.first_k or self.k_extent)

    def _step_bytes(self, depth: int) -> int:
        (step,) = self.access.steps(depth)
        return step * self.matrix.dtype.itemsize

    @property
    def k_end(self) -> int | str:
        """Operand with the elements from the start of the partial K-tile to the end of k."""
        return self.k_stop or self.first_k or self.access.depth

    @property
    def free_end(self) -> int:
        """Number of rows: the end of m (or n)."""
        return self.access.rows

    @property
    def k_left(self) -> str:
        """Register that counts the elements up to the end of k."""
        return f"{self.name}_{'cols' if self.matrix.k_inner else 'rows'}_left"

    @property
    def k_extent(self) -> int:
        return self.cols if self.matrix.k_inner else self.rows

    @property
    def free_extent(self) -> int:
        return self.rows if self.matrix.k_inner else self.cols

    def _indices(self, row: int, col: int) -> tuple[int, int]:
        """Return the row of the operand (m or n) and the k of a stored row and column."""
        return (row, col) if self.matrix.k_inner else (col, row)

    @property
    def k_coordinate(self) -> str:
        """Register with the thread's position along k in the tile, in elements."""
        return f"{self.name}_{'col' if self.matrix.k_inner else 'row'}"

    @property
    def free_coordinate(self) -> str:
        """Register with the thread's position along m or n in the tile."""
        return f"{self.name}_{'row' if self.matrix.k_inner else 'col'}"

    @property
    def cache(self) -> str:
        """Cache operator of cp.async: only copies of 16 bytes may bypass L1."""
        return "cg" if self.unit_bytes == MAX_ACCESS_BYTES else "ca"

    @property
    def words(self) -> Words:
        """Registers that hold a unit."""
        return Words(nbytes=self.unit_bytes)

    def halves(self, word: str) -> tuple[str, str]:
        """Return the registers with the elements of a word as f16."""
        return f"{word}_low", f"{word}_high"

    def unit_halves(self, unit: Unit) -> tuple[str, ...]:
        """Return the registers with the elements of a unit as f16."""
        return tuple(half for word in self.unit_words(unit) for half in self.halves(word))

    def unit_words(self, unit: Unit) -> tuple[str, ...]:
        return self.words.names(f"{self.name}_unit{unit.index}_")

    @property
    def description(self) -> str:
        """Comment that describes the tile and its copy."""
        matrix, way = self.matrix, "cp.async" if self.asynchronous else "registers"
        return (
            f"{self.name.upper()}: tiles of {self.rows}x{self.cols} as stored, "
            f"{len(self.units)} x {counted(self.unit_bytes, 'byte')} per thread by {way}, "
            f"{self.k_name} {'along' if matrix.k_inner else 'across'} the rows"
        )

    @property
    def remark(self) -> str:
        """Description, and the reason why accesses are narrower than 16 bytes, if they are."""
        if self.unit_bytes == MAX_ACCESS_BYTES:
            return self.description
        if self.matrix.aligned_bytes < MAX_ACCESS_BYTES:
            return (
                f"{self.description}; its rows are multiples of {self.matrix.aligned_bytes} bytes"
            )
        return f"{self.description}; the tile has no more for each thread"

    @property
    def staging_registers(self) -> int:
        return 0 if self.asynchronous else len(self.units) * self.words.count

    @property
    def held_registers(self) -> int:
        """Registers that this copy holds in the main loop, beyond the address of a matrix."""
        return self.staging_registers
