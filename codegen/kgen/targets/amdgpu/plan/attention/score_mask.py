"""Loads of attention's mask; the buffer begins at the workgroup's first query."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kgen.spec import DType
from kgen.targets.amdgpu.plan.attention.query_access import span
from kgen.targets.amdgpu.plan.attention.query_lanes import QueryLanes
from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.staging.chunks import power_of_two_divisor
from kgen.targets.attention.head_mask import HeadMask
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.values import frozen


@frozen
class MaskVector:
    """Consecutive mask elements for the registers of a tile of keys, from `register` on.

    `nbytes` is the distance in memory from the element of the first tile's first register.
    """

    tile: int
    register: int
    width: int
    nbytes: int

    @property
    def elements(self) -> tuple[tuple[int, int], ...]:
        """Pairs of an element's number and the register that it is for."""
        return tuple((lane, self.register + lane) for lane in range(self.width))

    @property
    def name(self) -> str:
        return f"k{self.tile}.r{self.register}"


@frozen
class ScoreMask(HeadMask):
    """Mask elements that a lane reads for `tiles` MMA tiles of keys.

    If rows are not equally far apart, the buffer begins at row 0 of the matrix.
    """

    lanes: QueryLanes
    tiles: int

    @property
    def wraps(self) -> str:
        """IR flags of sums of offsets, which are negative for rows that do not exist."""
        return "nsw" if self.divides_rows else "nuw nsw"

    @property
    def matrix_bytes(self) -> int:
        """Bytes of the buffer of a whole matrix."""
        return span(self.rows) + self.row_nbytes

    @property
    def varies_by_key(self) -> bool:
        return self.key_bytes > 0

    @property
    def group_bytes(self) -> int:
        """Bytes from one lane group's first key to the next lane group's."""
        return self.lanes.instruction.lane_rows * self.key_bytes

    @property
    def row_nbytes(self) -> int:
        """Bytes of a query's mask elements."""
        return (self.spec.keys if self.varies_by_key else 1) * self.dtype.itemsize

    @property
    def width(self) -> int:
        """Elements per access: consecutive keys, either all or none of them inside the tensor."""
        i, spec = self.lanes.instruction, self.spec
        if not self.varies_by_key:
            return 1
        run = 1
        while run < i.registers and i.register_rows[run] == run:
            run += 1
        whole = math.gcd(run, spec.keys, *spec.mask_strides[:3])
        return power_of_two_divisor(whole, WIDEST // self.dtype.itemsize)

    @property
    def pieces(self) -> tuple[MaskVector, ...]:
        """Accesses for a block of keys; a single one if all keys share an element."""
        return (
            tuple(self._pieces())
            if self.varies_by_key
            else (MaskVector(tile=0, register=0, width=1, nbytes=0),)
        )

    def pieces_of(self, tile: int) -> tuple[MaskVector, ...]:
        return tuple(piece for piece in self.pieces if piece.tile == tile)

    def _pieces(self) -> Iterator[MaskVector]:
        i = self.lanes.instruction
        for tile in range(self.tiles):
            for register in range(0, i.registers, self.width):
                row = tile * i.m + i.register_rows[register]
                yield MaskVector(
                    tile=tile,
                    register=register,
                    width=self.width,
                    nbytes=row * self.key_bytes,
                )

    @property
    def type(self) -> FloatType:
        return FloatType(dtype=self.dtype, lanes=self.width)

    @property
    def words(self) -> FloatType:
        """Type of an access: 32-bit words, or a shorter integer."""
        if self.type.nbytes < 4 and self.dtype is DType.BOOL:
            return FloatType(dtype=DType.U8 if self.width == 1 else DType.F16)
        return self.type.words

    @property
    def casts_words(self) -> bool:
        return str(self.words) != str(self.type)

    @property
    def value(self) -> FloatType:
        """Type in which mask elements are added to scores."""
        return FloatType(dtype=DType.F32, lanes=self.width)
