"""How a CTA brings one tile of a matrix from global to shared memory.

The tile is cut into units of `unit_bytes`, one memory access each, numbered along the rows as the
matrix is stored. Thread t of T takes the units t, t + T, t + 2T, ... As all counts are powers of
two, unit t + iT lies at a constant distance from unit t: plain arithmetic in global memory, an
exclusive or and an addition in shared memory.
"""

from __future__ import annotations

from functools import cached_property

from kgen.targets.contraction.access import AccessMap, Guard
from kgen.targets.cuda.plan.matrix import (
    MAX_ACCESS_BYTES,
    MAX_IMMEDIATE,
    Matrix,
)
from kgen.targets.cuda.plan.staging.copy_units import GuardRegister, Place, Unit, Words, xor_suffix
from kgen.targets.header import counted
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen


@frozen
class TileCopy:
    """`asynchronous`: by cp.async; otherwise through registers.

    `rows` x `cols` is the tile. An edge is a side on which the matrix does not fill its last tile;
    units beyond it are filled with zero. If `first_k` is not 0, the first tile along k has only so
    many elements of k and all later ones are whole; otherwise the last tile has the remainder. If
    `part_k` is not 0, a CTA copies so much of k, a multiple of the tile's, from its own first on.
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

    @property
    def is_guarded(self) -> bool:
        """Whether elements exist under guards, or lie in another way than a matrix."""
        return False

    @property
    def has_table(self) -> bool:
        """Whether a table has an entry for each K-tile."""
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
        """This thread's units, its first at distance zero."""
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
        """The distinct exclusive ors among the units; the first is 0."""
        return tuple(sorted({unit.xor for unit in self.units}))

    @property
    def put_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the registers with shared addresses."""
        return tuple(map(xor_suffix, self.xors))

    @cached_property
    def far(self) -> bool:
        """Whether units lie further apart in global memory than an immediate reaches."""
        return max(unit.source for unit in self.units) > MAX_IMMEDIATE

    def source(self, unit: Unit) -> str:
        """The unit's global address as an operand; far units have a register for it."""
        return "%from" if self.far else f"%{self.name}_from+{unit.source}"

    @cached_property
    def k_edge(self) -> bool:
        """Whether k can end inside a tile."""
        return any(guard.depends_on("k") for guard in self._tile_guards)

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
        """Whether units stay aligned behind a first tile of `k`."""
        return not self.matrix.k_inner or k % self.unit_elements == 0

    @property
    def straddles(self) -> bool:
        """Whether a unit can be half inside the matrix (only its source size is then less)."""
        return self.access.run % self.unit_elements != 0

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
        """The operand with the unit's bytes inside the matrix along m (or n)."""
        if not self.free_edge:
            return str(self.unit_bytes)
        return "%" + self._guard_register(self._free(unit))

    @property
    def free_left(self) -> str:
        """Register with the rows up to the end of m (or n)."""
        return f"{self.name}_{'rows' if self.matrix.k_inner else 'cols'}_left"

    @property
    def batched(self) -> bool:
        return self.matrix.batch_stride != 0

    @property
    def k_step(self) -> int:
        """Bytes from a tile to the next one along k."""
        return self._step_bytes(self.k_extent)

    @property
    def first_k_step(self) -> int:
        """Bytes from the first K-tile to the second."""
        return self._step_bytes(self.first_k or self.k_extent)

    def _step_bytes(self, depth: int) -> int:
        (step,) = self.access.steps(depth)
        return step * self.matrix.dtype.itemsize

    @property
    def k_end(self) -> int:
        """Distance from the first K-tile that has an end to the end of k."""
        return self.first_k or self.access.depth

    @property
    def free_end(self) -> int:
        """Number of rows, where m (or n) ends."""
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
        """Row of the operand (m or n) and k of a stored row and column."""
        return (row, col) if self.matrix.k_inner else (col, row)

    @property
    def k_coordinate(self) -> str:
        """The register with the thread's place along k, in elements of the tile."""
        return f"{self.name}_{'col' if self.matrix.k_inner else 'row'}"

    @property
    def free_coordinate(self) -> str:
        """The register with its place along m or n."""
        return f"{self.name}_{'row' if self.matrix.k_inner else 'col'}"

    @property
    def cache(self) -> str:
        """cp.async's cache operator: only 16 bytes may bypass L1."""
        return "cg" if self.unit_bytes == MAX_ACCESS_BYTES else "ca"

    @property
    def words(self) -> Words:
        """The registers that stage a unit."""
        return Words(nbytes=self.unit_bytes)

    def unit_words(self, unit: Unit) -> tuple[str, ...]:
        return self.words.names(f"{self.name}_unit{unit.index}_")

    @property
    def description(self) -> str:
        """A comment: the tile and how it is copied."""
        matrix, way = self.matrix, "cp.async" if self.asynchronous else "registers"
        return (
            f"{self.name.upper()}: tiles of {self.rows}x{self.cols} as stored, "
            f"{len(self.units)} x {counted(self.unit_bytes, 'byte')} per thread by {way}, "
            f"k {'along' if matrix.k_inner else 'across'} the rows"
        )

    @property
    def remark(self) -> str:
        """The description and, where accesses are narrower than they could be, what makes them."""
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
        """Registers that the main loop keeps for this copy, beside those of a matrix's address."""
        return self.staging_registers
