"""AMX tiles: the instructions that multiply them, and register tiles of several AMX tiles.

- TDPBF16PS and TDPFP16PS multiply 16 x 32 elements of A with 32 x 16 elements of B, and add the
  product to a 16 x 16 tile of f32. B is stored as 16 rows of 16 pairs (k, k + 1).
- TDPBSSD multiplies 16 x 64 bytes with 64 x 16 bytes, and adds the product to a tile of s32. B is
  stored in groups of four k.

Sources: Intel SDM volume 1, "Programming with Intel AMX", and volume 2.
"""

from __future__ import annotations

from kgen.spec import DType
from kgen.targets.base import Target
from kgen.targets.cpu.plan.extents import Blocking
from kgen_runtime.values import frozen

TILE_ROWS = 16
#: Bytes per row of a tile, and per tile.
ROW_BYTES, TILE_BYTES = 64, 1024
#: Number of tile registers. A register tile of r x c AMX tiles needs r c + r + c of them.
TILE_REGISTERS = 8


@frozen
class TileProduct:
    """Instruction that multiplies tiles of one operand type, and the feature that it requires."""

    mnemonic: str
    feature: str
    reason: str


TILE_PRODUCTS: dict[DType, TileProduct] = {
    DType.BF16: TileProduct(
        mnemonic="tdpbf16ps",
        feature="amx_bf16",
        reason="tdpbf16ps adds pairs in f32, rounds to nearest and flushes subnormals",
    ),
    DType.F16: TileProduct(
        mnemonic="tdpfp16ps",
        feature="amx_fp16",
        reason="tdpfp16ps adds pairs in f32 and rounds to nearest",
    ),
    DType.S8: TileProduct(
        mnemonic="tdpbssd", feature="amx_int8", reason="products of s8 are added in s32, exactly"
    ),
}


def tile_product(dtype: DType, target: Target) -> TileProduct | None:
    """Return the instruction for operands of a type; None if the target lacks it."""
    product = TILE_PRODUCTS.get(dtype)
    return product if product and target.has(product.feature) else None


def tile_k(dtype: DType) -> int:
    return ROW_BYTES // dtype.itemsize


@frozen
class TileColumn:
    """AMX tile of the result: its first column, and the tile registers of its sums and of B."""

    sums: int
    b: int
    column: int


@frozen
class TileRow:
    """Tile register `a` with `count` rows of A, from `row` on, and the products that use it."""

    a: int
    row: int
    count: int
    products: tuple[TileColumn, ...]


def tile_rows(rows: int, columns: int) -> tuple[TileRow, ...]:
    """Return the register tile of `rows` rows and `columns` tiles side by side."""
    starts = range(0, rows, TILE_ROWS)
    first_a = len(starts) * columns
    return tuple(
        TileRow(
            a=first_a + r,
            row=row,
            count=min(TILE_ROWS, rows - row),
            products=tuple(
                TileColumn(sums=r * columns + c, b=first_a + len(starts) + c, column=c * TILE_ROWS)
                for c in range(columns)
            ),
        )
        for r, row in enumerate(starts)
    )


@frozen
class TileSteps:
    """Steps of a register tile along K: `count` steps, each of AMX tiles of `run_k` elements.
    Meanwhile, the epilogue finishes the `finished_rows` rows of the register tile before."""

    blocking: Blocking
    count: int
    run_k: int
    finished_rows: int

    @property
    def of_block(self) -> int:
        """Steps per block of K; the last block may have fewer."""
        return self.blocking.schedule.kc // self.run_k

    @property
    def groups(self) -> int:
        """Groups along K per block; each is one row of a tile."""
        return self.of_block * TILE_ROWS

    @property
    def last_start(self) -> int:
        """First step of the last block of K."""
        return (self.count - 1) // self.of_block * self.of_block

    @property
    def vary(self) -> bool:
        return self.blocking.k.is_split and self.count % self.of_block != 0

    @property
    def first(self) -> str:
        return "%s0" if self.blocking.k.is_split else "0"

    @property
    def end(self) -> str:
        return "%s1" if self.blocking.k.is_split else str(self.count)

    @property
    def _finishing(self) -> int:
        """Steps of the shortest block that can finish rows: all but the first, which stores."""
        return min(self.count - self.last_start, self.of_block, self.count) - 1

    @property
    def finish_at_once(self) -> bool:
        """Whether the first step finishes all rows, once their sums are stored."""
        return self._finishing == 0

    @property
    def rows(self) -> int:
        return -(-self.finished_rows // max(1, self._finishing))

    @property
    def is_one_row(self) -> bool:
        return self.rows == 1

    @property
    def finishing(self) -> int:
        return -(-self.finished_rows // self.rows)

    @property
    def last_rows_overlap(self) -> bool:
        return self.finished_rows % self.rows != 0

    @property
    def last_row(self) -> int:
        """First row of the last group of rows that are finished together."""
        return self.finished_rows - self.rows
