"""Which wgmma multiply the tiles of a stage, in which order, into which sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kgen.targets.cuda.plan.copy import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.instruction import WarpgroupInstruction
from kgen.targets.cuda.plan.products import Sum
from kgen.targets.cuda.plan.tma import ROW_BYTES, TmaOperand

#: Rows of one instruction.
WGMMA_M = 64
#: Columns and rows of a fragment.
EIGHT = 8


@dataclass(frozen=True, kw_only=True)
class Product:
    """One wgmma: `d` += A B over a step of k; `a` and `b` are what to add to the descriptors."""

    instruction: str
    d: tuple[str, ...]
    a: int
    b: int
    first: bool


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Products of a part of the tile that are waited for together, and what then becomes of their
    sums."""

    products: tuple[Product, ...]
    promoted: tuple[Sum, ...]


@dataclass(frozen=True, kw_only=True)
class WgmmaProducts:
    """Of `rows` x `columns` outputs of a warpgroup and `depth` of k.

    `promoted`: a tile's sums are kept in part_m<m>_n<n> and then added to acc_m<m>_n<n>, those of
    one piece while the products of another run.
    """

    instruction: WarpgroupInstruction
    operands: tuple[TmaOperand, TmaOperand]
    rows: int
    columns: int
    depth: int
    promoted: bool = False

    @property
    def whole(self) -> tuple[Product, ...]:
        """All of a tile, in the order of k."""
        blocks = range(0, self.rows, WGMMA_M)
        return tuple(
            self._product("acc", step, m, 0, self.columns) for step in self._steps for m in blocks
        )

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The same in pieces, of which each has sums of its own."""
        return tuple(
            self._piece(m, n)
            for m in range(0, self.rows, WGMMA_M)
            for n in range(0, self.columns, self.width)
        )

    @property
    def width(self) -> int:
        """Columns of a piece. There are two pieces or more: a single block of rows is halved."""
        return self.columns if self.rows > WGMMA_M else self.columns // 2

    def takes(self, columns: int) -> bool:
        """Whether there are instructions for a tile of so many columns."""
        other = replace(self, columns=columns)
        widths = (columns, other.width) if self.promoted else (columns,)
        return all(self.instruction.takes(width) for width in widths)

    def _piece(self, m: int, n: int) -> Piece:
        width = self.width
        products = tuple(self._product("part", step, m, n, width) for step in self._steps)
        parts, sums = _sums("part", m, n, width), _sums("acc", m, n, width)
        return Piece(
            products=products,
            promoted=tuple(Sum(acc=a, part=p) for a, p in zip(sums, parts, strict=True)),
        )

    @property
    def _steps(self) -> Iterable[int]:
        return range(self.depth // self.instruction.depth)

    def _product(self, sums: str, step: int, m: int, n: int, width: int) -> Product:
        a, b = self.operands
        row = ROW_BYTES // MAX_ACCESS_BYTES
        return Product(
            instruction=self.instruction.name(width),
            d=_sums(sums, m, n, width),
            a=step * a.step_words + m * row,
            b=step * b.step_words + n * row,
            first=step == 0,
        )

    @property
    def immediates(self) -> str:
        """What follows the predicate: the factors of A and B, and whether m or n is inside."""
        found = [1, 1] if self.instruction.signs else []
        if self.instruction.either_major:
            found += [operand.is_transposed for operand in self.operands]
        return "".join(f", {value}" for value in found)


def _sums(prefix: str, m: int, first: int, width: int) -> tuple[str, ...]:
    """Registers in the instruction's order (PTX ISA, "Matrix Fragments for
    wgmma.mma_async.m64nNk16", D, and the same of other k)."""
    return tuple(
        f"{prefix}_m{m + i}_n{n + j}"
        for n in range(first, first + width, EIGHT)
        for i in (0, EIGHT)
        for j in (0, 1)
    )
