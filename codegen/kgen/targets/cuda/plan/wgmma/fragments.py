"""Left operand of wgmma in registers, transposed while it is loaded from shared memory.

If elements do not have 16 bits, wgmma requires both operands to be contiguous along k. The left
operand may also come from registers, which lanes can load in any order. So an operand that is
contiguous along m (or n) becomes the left one. For B, that requires swapping the operands:
C^T = B^T A^T.
"""

from __future__ import annotations

from kgen.spec import Matmul
from kgen.targets.cuda.plan.matrix import Matrix, matrices
from kgen.targets.cuda.plan.mma.fragments import FragmentLoad
from kgen.targets.cuda.plan.mma.instruction import warpgroup_instruction_of
from kgen.targets.cuda.plan.staging.copy_units import xor_suffix
from kgen.targets.cuda.plan.staging.tiles import SwizzledTile
from kgen.targets.cuda.plan.staging.tma import ROW_BYTES, TmaOperand
from kgen_runtime.values import frozen

#: Rows of one instruction.
WGMMA_M = 64
#: Halves of an instruction's k. Two of a lane's four registers belong to each half.
HALVES = 2


@frozen
class RegisterOperand:
    """Left operand of a consumer in registers: `rows` of m (or n), in steps of `depth` of k.

    For each 64 rows and step, lane l of warp w holds four registers: rows 16 w + l / 4 and 16 w + l
    / 4 + 8 of the lower half of k, then of the upper half (PTX ISA, "Register Fragments for
    wgmma.mma_async.m64k32" and its neighbours). Any m (or n) may be any row; here a lane's two rows
    are neighbours.

    Bytes are `paired`: ldmatrix transposes two neighbours at a time, and two prmt separate them, as
    in MmaOperand. Elements of 4 bytes are loaded as pairs of neighbours, l % 4 along k. Rows 0 to 7
    of a warp have the 16-byte chunks 0, 4, 1, 5, two rows each (2, 6, 3, 7 in odd warps), so that
    the four k of half a warp have no bank conflicts.
    """

    operand: TmaOperand
    rows: int
    depth: int

    @property
    def name(self) -> str:
        return self.operand.name

    @property
    def paired(self) -> bool:
        return self.operand.matrix.dtype.itemsize == 1

    @property
    def tile(self) -> SwizzledTile:
        """Tile with rows of k, swizzled as by TMA."""
        return SwizzledTile(rows=self.operand.depth, row_bytes=ROW_BYTES)

    @property
    def step_bytes(self) -> int:
        return self.depth * ROW_BYTES

    @property
    def group_bytes(self) -> int:
        """Bytes from a consumer's first row to the next consumer's; less than a row of a box if
        consumers share it."""
        return max(1, self.rows // self.operand.per_row) * self.operand.box_bytes

    @property
    def parts_of_rows(self) -> bool:
        """Whether consumers share the rows of a box."""
        return self.rows < self.operand.per_row

    @property
    def xors(self) -> tuple[int, ...]:
        """Distinct exclusive-or masks of all loads; the first is 0."""
        return tuple(sorted({load.xor for load in self.loads(0)}))

    @property
    def at_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the address registers, one per mask."""
        return tuple(map(xor_suffix, self.xors))

    def loads(self, step: int) -> tuple[FragmentLoad, ...]:
        """Return the loads of a step's fragments, for each 64 rows."""
        load = self._matrices if self.paired else self._pairs
        return tuple(each for row in range(0, self.rows, WGMMA_M) for each in load(step, row))

    def _matrices(self, step: int, row: int) -> tuple[FragmentLoad, ...]:
        box, byte = divmod(row, self.operand.per_row)
        return (
            FragmentLoad(
                name=self.name,
                instruction="ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
                registers=self.registers(step, row),
                xor=byte,
                offset=box * self.operand.box_bytes + step * self.step_bytes,
            ),
        )

    def _pairs(self, step: int, row: int) -> tuple[FragmentLoad, ...]:
        """Return the loads of pairs. The upper half of k is four rows further down, where the
        swizzle flips bit 2 of the chunk."""
        registers = self.registers(step, row)
        first = row // self.operand.per_row * self.operand.box_bytes + step * self.step_bytes
        half = self.depth // HALVES * ROW_BYTES
        return tuple(
            FragmentLoad(
                name=self.name,
                instruction="ld.shared.v2.b32",
                registers=registers[2 * i : 2 * i + 2],
                xor=self.tile.swizzle(i * half) & self.tile.mask,
                offset=first + i * half,
            )
            for i in range(HALVES)
        )

    def registers(self, step: int, row: int) -> tuple[str, ...]:
        """Return the registers of 64 rows, in the instruction's order."""
        letter, half = "m" if self.name == "a" else "n", self.depth // HALVES
        first = step * self.depth
        return tuple(
            f"{self.name}_{letter}{row + i}_k{k}" for k in (first, first + half) for i in (0, 1)
        )

    def all_registers(self, step: int) -> tuple[str, ...]:
        return tuple(r for row in range(0, self.rows, WGMMA_M) for r in self.registers(step, row))

    def parted(self, step: int) -> tuple[tuple[str, str], ...]:
        """Return the registers of a step that two neighbours share until prmt separates them."""
        if not self.paired:
            return ()
        names = self.all_registers(step)
        return tuple(zip(names[::2], names[1::2], strict=True))

    @property
    def steps(self) -> tuple[tuple[str, ...], ...]:
        return tuple(self.all_registers(i) for i in range(self.operand.depth // self.depth))

    @property
    def remark(self) -> str:
        """Remark on the transposition."""
        how = (
            "ldmatrix transposes pairs of bytes, prmt parts them"
            if self.paired
            else "a lane loads what it multiplies"
        )
        return f"{self.name.upper()}: k becomes the inner dimension in registers: {how}"


def transposed_operand(spec: Matmul) -> Matrix | None:
    """Return the operand whose stored order wgmma cannot read; None if there is none. If wgmma can
    read neither operand, `obstacle` refuses the product."""
    instruction = warpgroup_instruction_of(spec)
    if instruction is None or instruction.either_major:
        return None
    return next((matrix for matrix in matrices(spec) if not matrix.k_inner), None)


def wants_swap(spec: Matmul) -> bool:
    """Return whether B must be the left operand, because wgmma cannot read its stored order."""
    found = transposed_operand(spec)
    return found is not None and found.name == "b"
