"""Instructions wgmma that multiply the tiles of a stage: their order and accumulators."""

from __future__ import annotations

import math
from dataclasses import replace

from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.mma.instruction import WarpgroupInstruction
from kgen.targets.cuda.plan.mma.products import PromotedSum
from kgen.targets.cuda.plan.staging.tma import ROW_BYTES, TmaOperand
from kgen.targets.cuda.plan.wgmma.fragments import WGMMA_M, RegisterOperand
from kgen_runtime.values import frozen

#: Columns and rows of a fragment.
EIGHT = 8


@frozen
class Product:
    """Operands of one wgmma: `d` += left right over a step of k.

    `left` and `right` are added to the descriptors. `fragment` has the left operand's registers, if
    it is in registers.
    """

    instruction: str
    d: tuple[str, ...]
    left: int
    right: int
    first: bool
    fragment: tuple[str, ...] = ()


@frozen
class WgmmaGroup:
    """Products of a piece of the tile that share one wait, and the promotions of their sums."""

    products: tuple[Product, ...]
    promoted: tuple[PromotedSum, ...]


@frozen
class WgmmaProducts:
    """Products of `rows` x `columns` outputs of a warpgroup over `depth` of k.

    The left operand is A, or B if operands are `swapped`; then rows and columns are those of C^T.

    If `promoted`, the sums of a K-tile are in part_m<m>_n<n>, and are then added to
    acc_m<m>_n<n>. The outputs are divided into pieces: the sums of one are added while the
    products of another run. With `in_turn`, pieces share the registers of their sums. Then the
    products of a piece wait for those of the piece before it, and only other warpgroups multiply
    meanwhile.
    """

    instruction: WarpgroupInstruction
    operands: tuple[TmaOperand, TmaOperand]
    rows: int
    columns: int
    depth: int
    swapped: bool = False
    promoted: bool = False
    in_turn: bool = False

    @property
    def left(self) -> TmaOperand:
        return self.operands[1 if self.swapped else 0]

    @property
    def right(self) -> TmaOperand:
        return self.operands[0 if self.swapped else 1]

    @property
    def fragments(self) -> RegisterOperand | None:
        """Left operand, if it is in registers."""
        if self.left.k_inner or self.instruction.either_major:
            return None
        return RegisterOperand(operand=self.left, rows=self.rows, depth=self.instruction.depth)

    @property
    def described(self) -> tuple[TmaOperand, ...]:
        """Operands that wgmma reads from shared memory."""
        return self.operands if self.fragments is None else (self.right,)

    # ------------------------------------------------------------------ a lane's outputs

    @property
    def parts(self) -> tuple[int, int]:
        """Distances of a lane's rows in each 64 from its first."""
        return (0, EIGHT) if self.fragments is None else (0, 1)

    @property
    def lane_rows(self) -> tuple[int, ...]:
        """Rows of a lane's accumulators."""
        return tuple(row + i for row in range(0, self.rows, WGMMA_M) for i in self.parts)

    @property
    def lane_columns(self) -> tuple[int, ...]:
        return tuple(col + j for col in range(0, self.columns, EIGHT) for j in (0, 1))

    # ------------------------------------------------------------------ products

    @property
    def whole(self) -> tuple[Product, ...]:
        """Products of a K-tile, in the order of k."""
        return tuple(product for step in self.steps for product in self.of_step(step))

    def of_step(self, step: int) -> tuple[Product, ...]:
        blocks = range(0, self.rows, WGMMA_M)
        return tuple(
            self._product(self._sums("acc", row, 0, self.columns), step, row, 0, self.columns)
            for row in blocks
        )

    @property
    def pieces(self) -> tuple[WgmmaGroup, ...]:
        """Products of a K-tile in pieces of the output."""
        return tuple(
            self._piece(row, col)
            for row in range(0, self.rows, WGMMA_M)
            for col in range(0, self.columns, self.width)
        )

    @property
    def width(self) -> int:
        """Columns of a piece. There are at least two pieces: a single block of 64 rows is
        halved."""
        return self.columns if self.rows > WGMMA_M else self.columns // 2

    def takes(self, columns: int) -> bool:
        """Return whether instructions exist for a tile with this number of columns."""
        other = replace(self, columns=columns)
        widths = (columns, other.width) if self.promoted else (columns,)
        return all(self.instruction.takes(width) for width in widths)

    def _piece(self, row: int, col: int) -> WgmmaGroup:
        width = self.width
        place = (0, 0) if self.in_turn else (row, col)
        parts, sums = self._sums("part", *place, width), self._sums("acc", row, col, width)
        products = tuple(self._product(parts, step, row, col, width) for step in self.steps)
        return WgmmaGroup(
            products=products,
            promoted=tuple(PromotedSum(acc=a, part=p) for a, p in zip(sums, parts, strict=True)),
        )

    @property
    def parts_held(self) -> tuple[tuple[str, ...], ...]:
        """Registers of reduced-precision sums, for each piece that has its own."""
        if not self.promoted:
            return ()
        pieces = self.pieces[:1] if self.in_turn else self.pieces
        return tuple(tuple(s.part for s in piece.promoted) for piece in pieces)

    @property
    def registers_held(self) -> int:
        """Registers per thread for accumulators and fragments."""
        fragments = self.fragments.steps if self.fragments else ()
        each = self.lane_rows, self.lane_columns
        return math.prod(map(len, each)) + sum(map(len, (*self.parts_held, *fragments)))

    @property
    def steps(self) -> range:
        """Steps of k in a K-tile."""
        return range(self.depth // self.instruction.depth)

    @property
    def steps_after(self) -> int:
        """Groups of products that may be unfinished when a step's fragments are overwritten."""
        return len(self.steps) - 1

    def _product(self, d: tuple[str, ...], step: int, row: int, col: int, width: int) -> Product:
        words, fragments = ROW_BYTES // MAX_ACCESS_BYTES, self.fragments
        return Product(
            instruction=self.instruction.name(width),
            d=d,
            left=self.left.step_words(step) + row * words,
            right=self.right.step_words(step) + col * words,
            first=step == 0,
            fragment=() if fragments is None else fragments.registers(step, row),
        )

    @property
    def immediates(self) -> str:
        """Immediates after the predicate."""
        return immediates(self.instruction, self.left, self.right)

    def _sums(self, prefix: str, row: int, first: int, width: int) -> tuple[str, ...]:
        """Return accumulators in the instruction's order (PTX ISA, "Matrix Fragments for
        wgmma.mma_async.m64nNk16", D)."""
        places = [
            (row + i, col + j)
            for col in range(first, first + width, EIGHT)
            for i in self.parts
            for j in (0, 1)
        ]
        if self.swapped:
            return tuple(f"{prefix}_m{col}_n{row}" for row, col in places)
        return tuple(f"{prefix}_m{row}_n{col}" for row, col in places)


def immediates(instruction: WarpgroupInstruction, *operands: TmaOperand) -> str:
    """Return the immediates after the predicate: the factors of both operands, then for each of
    `operands`, which are in shared memory, whether it is contiguous along m (or n)."""
    found = [1, 1] if instruction.signs else []
    if instruction.either_major:
        found += [operand.is_transposed for operand in operands]
    return "".join(f", {value}" for value in found)
