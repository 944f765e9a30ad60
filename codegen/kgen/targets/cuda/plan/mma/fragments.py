"""Fragments of mma.sync: the registers and addresses by which a warp reads its strips of both
tiles."""

from __future__ import annotations

from kgen.targets.cuda.plan.mma.instruction import MatrixInstruction
from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen.targets.cuda.plan.staging.copy_units import xor_suffix
from kgen.targets.cuda.plan.staging.tiles import SwizzledTile
from kgen_runtime.values import frozen

#: Rows (or columns) of a piece: one ldmatrix.x4 loads a piece for one step of k.
PIECE = 16
REGISTERS_PER_PIECE = 4
#: Rows of an 8x8 matrix of ldmatrix, and columns of a product of mma.
EIGHT = 8
#: Fragments of one step are multiplied while those of the next are loaded.
FRAGMENT_SETS = 2


@frozen
class FragmentLoad:
    """Load of operand `name` into `registers` from (lane's address ^ xor) + offset."""

    name: str
    instruction: str
    registers: tuple[str, ...]
    xor: int
    offset: int

    @property
    def at(self) -> str:
        """Suffix of the register with the address for this xor."""
        return xor_suffix(self.xor)


@frozen
class Fragments:
    """Registers of a factor of mma.sync: `extent` of m (A, `is_a`) or of n (B), in pieces of 16.

    The registers of `sets` steps of k exist at once, and later steps take turns with them.
    """

    name: str
    is_a: bool
    extent: int
    instruction: MatrixInstruction
    sets: int = FRAGMENT_SETS

    @property
    def paired(self) -> bool:
        """Whether a piece has even and odd rows instead of halves."""
        return False

    @property
    def parts(self) -> tuple[int, int]:
        """First m (or n) of both parts of a piece, which are its halves, or its even and odd
        rows."""
        return (0, 1) if self.paired else (0, EIGHT)

    @property
    def stride(self) -> int:
        """Distance of neighbouring m (or n) within a part."""
        return 2 if self.paired else 1

    @property
    def _halves(self) -> tuple[tuple[int, int], ...]:
        """Distances along m (or n) and k of a piece's registers, in the order of matrices."""
        half = self.instruction.half
        first, second = self.parts
        if self.is_a or self.paired:
            return ((first, 0), (second, 0), (first, half), (second, half))
        return ((first, 0), (first, half), (second, 0), (second, half))

    def register(self, free: int, k: int) -> str:
        """Return the register at m (or n) `free` and the half of a step that begins at `k`."""
        return f"{self.name}_{'m' if self.is_a else 'n'}{free}_k{self.set_of(k)}"

    def set_of(self, k: int) -> int:
        """Return the k of the first step that uses the same registers as the step of `k`."""
        return k % (self.sets * self.instruction.step)

    def registers(self, k: int) -> tuple[str, ...]:
        """Return all registers of a step."""
        pieces = range(0, self.extent, PIECE)
        return tuple(
            self.register(piece + free, k + half) for piece in pieces for free, half in self._halves
        )


@frozen
class MmaOperand(Fragments):
    """Strip of a warp in one operand's tile, read in pieces of 16.

    For ldmatrix, lane l gives the address of row l % 8 of matrix l / 8. A row has 16 bytes: eight
    elements of 16 bits, or four of 32. The matrices are in the order of mma's registers: A (m, k),
    (m+8, k), (m, k+h), (m+8, k+h); B (k, n), (k+h, n), (k, n+8), (k+h, n+8), where h is half a
    step. So bit 3 of the lane selects the half of m for A and the half of k for B, and bit 4 the
    other half.

    If k is not the inner dimension, ldmatrix transposes 16-bit elements. Elements of 4 bytes are
    `gathered`: each lane loads the elements of its own fragment, row l % 4 along k and column l /
    4.

    Bytes are `paired`: ldmatrix transposes two at a time, so a lane gets two neighbours of m (or n)
    for each k, and each matrix gives two of four k. Two prmt make a register of each neighbour. So
    a piece has its even m (or n) first and its odd ones second, not its lower and upper half. The
    rows of a matrix are chosen so that all eight lie in different banks: k 0 1 4 5 10 11 14 15 and
    2 3 6 7 8 9 12 13.
    """

    copy: TileCopy
    tile: SwizzledTile
    k_steps: tuple[int, ...]
    #: Whether rows of the tile are contiguous along k.
    k_inner: bool
    #: Whether each warp has a strip of its own, not the whole tile.
    is_divided: bool = True

    @property
    def origin(self) -> str:
        """Register with the block tile's first m or n."""
        return "m0" if self.is_a else "n0"

    @property
    def lines(self) -> str:
        """Name of the operand's free index in the product: m or n."""
        return "rows" if self.is_a else "columns"

    @property
    def gathered(self) -> bool:
        return is_gathered(self.k_inner, self.instruction)

    @property
    def paired(self) -> bool:
        return is_paired(self.k_inner, self.instruction)

    @property
    def row_half_bit(self) -> int:
        """Bit of the lane that selects the half of a piece's stored rows."""
        return 3 if self.is_a == self.k_inner else 4

    @property
    def col_half_bit(self) -> int:
        return 7 - self.row_half_bit

    @property
    def warp_bytes(self) -> int:
        """Bytes from one warp's strip to the next."""
        return self.extent * (self.tile.row_bytes if self.k_inner else self.tile.itemsize)

    def offset(self, free: int, k: int) -> tuple[int, int]:
        """Return (xor, offset) from the strip's first element to the one at (free, k)."""
        row, col = (free, k) if self.k_inner else (k, free)
        return self.tile.place(row, col)

    def loads(self, k: int) -> tuple[FragmentLoad, ...]:
        load = self._gather if self.gathered else self._matrices
        return tuple(each for free in range(0, self.extent, PIECE) for each in load(free, k))

    def _matrices(self, free: int, k: int) -> tuple[FragmentLoad, ...]:
        modifier = "" if self.k_inner else ".trans"
        xor, offset = self.offset(free, k)
        return (
            FragmentLoad(
                name=self.name,
                instruction=f"ldmatrix.sync.aligned.m8n8.x4{modifier}.shared.b16",
                registers=tuple(self.register(free + m, k + half) for m, half in self._halves),
                xor=xor,
                offset=offset,
            ),
        )

    def _gather(self, free: int, k: int) -> tuple[FragmentLoad, ...]:
        loads = []
        for free_half, k_half in self._halves:
            xor, offset = self.offset(free + free_half, k + k_half)
            loads.append(
                FragmentLoad(
                    name=self.name,
                    instruction="ld.shared.b32",
                    registers=(self.register(free + free_half, k + k_half),),
                    xor=xor,
                    offset=offset,
                )
            )
        return tuple(loads)

    def pairs(self, k: int) -> tuple[tuple[str, str], ...]:
        """Return the registers of a step that two neighbours of m (or n) share until prmt separates
        them."""
        if not self.paired:
            return ()
        names = self.registers(k)
        return tuple(zip(names[::2], names[1::2], strict=True))

    @property
    def pieces(self) -> tuple[tuple[str, ...], ...]:
        """Registers of all sets, one tuple per piece."""
        names = [r for k in self.k_steps[: self.sets] for r in self.registers(k)]
        size = REGISTERS_PER_PIECE
        return tuple(tuple(names[i : i + size]) for i in range(0, len(names), size))

    @property
    def xors(self) -> tuple[int, ...]:
        """Distinct exclusive-or masks of all loads; the first is 0."""
        return tuple(sorted({load.xor for k in self.k_steps for load in self.loads(k)}))

    @property
    def at_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the address registers, one per mask."""
        return tuple(map(xor_suffix, self.xors))


def is_gathered(k_inner: bool, instruction: MatrixInstruction) -> bool:
    """Return whether lanes load single elements, because ldmatrix transposes only 16-bit
    elements."""
    return not k_inner and instruction.itemsize == 4


def is_paired(k_inner: bool, instruction: MatrixInstruction) -> bool:
    """Return whether ldmatrix transposes two elements at a time."""
    return not k_inner and instruction.itemsize == 1
