"""Stores of a lane's results, of log-sum-exp and of the states of rows."""

from __future__ import annotations

import math

from kgen.spec import Attention, DType, Matmul
from kgen.targets.amdgpu.plan.attention.wave_tiles import AttentionTiles
from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.staging.chunks import power_of_two_divisor
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.attention.key_parts import STATE_BYTES
from kgen.targets.batch import BatchTerm
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.values import frozen


@frozen
class OutputPiece:
    """Consecutive elements of a query's result, in `registers` of MMA tile `tile`.

    `element` is the distance in elements from the lane group's first element.
    """

    tile: int
    registers: range
    element: int

    @property
    def register(self) -> int:
        return self.registers[0]

    @property
    def name(self) -> str:
        return f"j{self.tile}.r{self.register}"


@frozen
class ResultAccess:
    """Accesses to `out`, or to the workspaces of a part of the keys."""

    matrices: HeadMatrices
    tiles: AttentionTiles

    @property
    def spec(self) -> Attention:
        return self.matrices.spec

    @property
    def output(self) -> Matmul:
        return self.matrices.output

    @property
    def width(self) -> int:
        """Elements per access."""
        strides = self.output.batch_stride_c
        steps = strides if isinstance(strides, tuple) else (strides or 0,)
        row = self.row_stride if self.output.m > 1 else 0
        registers = self.tiles.instruction.registers
        whole = math.gcd(self.spec.out_head, row, registers, *steps)
        return power_of_two_divisor(whole, WIDEST // self.itemsize)

    @property
    def itemsize(self) -> int:
        return self.output.out.itemsize

    @property
    def type(self) -> FloatType:
        return FloatType(dtype=self.output.out, lanes=self.width)

    @property
    def sums(self) -> FloatType:
        """Type of an access before it is rounded."""
        return self.type.of(DType.F32)

    @property
    def words(self) -> FloatType:
        return self.type.words

    @property
    def casts(self) -> bool:
        return self.words != self.type

    @property
    def rounds(self) -> bool:
        return self.output.out is not DType.F32

    @property
    def row_stride(self) -> int:
        return self.output.out_strides[1]

    @property
    def row_bytes(self) -> int:
        return self.row_stride * self.itemsize

    @property
    def terms(self) -> tuple[BatchTerm, ...]:
        """Terms of the address of a matrix's results, in elements."""
        if self.matrices.is_split:
            return self._packed_terms(self.spec.out_head)
        return self.matrices.out_terms

    @property
    def state_terms(self) -> tuple[BatchTerm, ...]:
        """Terms of the address of a matrix's states, in bytes."""
        return self._packed_terms(STATE_BYTES)

    @property
    def state_bytes(self) -> int:
        return STATE_BYTES

    def _packed_terms(self, row: int) -> tuple[BatchTerm, ...]:
        return self.matrices.terms(self.matrices.packed_strides(self.matrices.rows * row))

    @property
    def pieces(self) -> tuple[OutputPiece, ...]:
        i = self.tiles.instruction
        return tuple(
            OutputPiece(
                tile=tile,
                registers=range(register, register + self.width),
                element=tile * i.m + register,
            )
            for tile in self.tiles.out_tiles
            for register in range(0, i.registers, self.width)
        )

    def ends(self, piece: OutputPiece) -> bool:
        """Return whether a piece may lie past the end of a query's result."""
        registers = self.tiles.instruction.registers
        last = piece.element + registers * (self.tiles.group_count - 1)
        return last + self.width > self.spec.out_head
