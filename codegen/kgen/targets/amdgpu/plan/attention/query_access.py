"""Loads of a wave's queries from memory to registers, as fragments of B."""

from __future__ import annotations

import math

from kgen.spec import DType
from kgen.targets.amdgpu.float8 import Float8
from kgen.targets.amdgpu.plan.attention.wave_tiles import AttentionTiles
from kgen.targets.amdgpu.plan.staging.chunks import power_of_two_divisor
from kgen.targets.attention.weights import weight_dtype
from kgen.targets.contraction.access import AccessMap, Digit
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.values import frozen


def in_bytes(digits: tuple[Digit, ...], itemsize: int) -> tuple[Digit, ...]:
    """Return digits with strides in bytes."""
    return tuple(Digit(extent=each.extent, stride=each.stride * itemsize) for each in digits)


def span(digits: tuple[Digit, ...]) -> int:
    """Return the distance from the first row to the last one."""
    return sum(each.stride * (each.extent - 1) for each in digits)


@frozen
class QueryAccess:
    """Loads of a lane's elements of its queries, slot by slot.

    The buffer begins at the workgroup's first query, or at the first one of the matrix if queries
    are not equally far apart.
    """

    access: AccessMap
    tiles: AttentionTiles

    @property
    def width(self) -> int:
        """Elements per access."""
        whole = math.gcd(self.access.depth, *self.access.starts)
        return power_of_two_divisor(whole, self.tiles.instruction.slot_k)

    @property
    def has_parts(self) -> bool:
        """Whether a slot needs several accesses."""
        return self.width < self.tiles.instruction.slot_k

    @property
    def firsts(self) -> range:
        """First element of each access to a slot."""
        return range(0, self.tiles.instruction.slot_k, self.width)

    @property
    def elements(self) -> tuple[tuple[int, int, int], ...]:
        """Elements of a slot: first element of the access, number in the access and in the slot."""
        return tuple(
            (first, lane, first + lane) for first in self.firsts for lane in range(self.width)
        )

    @property
    def type(self) -> FloatType:
        return FloatType(dtype=self.access.dtype, lanes=self.width)

    @property
    def casts_words(self) -> bool:
        return self.type.words != self.type

    @property
    def widens_bytes(self) -> bool:
        """Whether accesses of e4m3 become f16."""
        return self.access.dtype is DType.E4M3

    @property
    def float8(self) -> Float8:
        """Conversion of an access."""
        return Float8(type=self.type)

    @property
    def wide(self) -> FloatType:
        """Type of an access in a slot."""
        return self.type.of(weight_dtype(self.tiles.spec))

    @property
    def stored_slot(self) -> FloatType:
        """Type of a slot before it is an operand."""
        return FloatType(dtype=self.wide.dtype, lanes=self.tiles.instruction.slot_k)

    @property
    def slot_bytes(self) -> int:
        """Bytes of a slot in memory."""
        return self.tiles.instruction.slot_k * self.access.dtype.itemsize

    @property
    def slot_type(self) -> str:
        """Type of a slot as an operand of matrix instructions."""
        return f"<{self.tiles.instruction.slot_k} x {self.tiles.instruction.element}>"

    @property
    def casts_slots(self) -> bool:
        return str(self.stored_slot) != self.slot_type

    @property
    def divides_rows(self) -> bool:
        """Whether queries are not equally far apart: a row is a head and a query."""
        return len(self.access.row) > 1

    @property
    def row_digits(self) -> tuple[Digit, ...]:
        """Digits of a row's number; strides in bytes."""
        return in_bytes(self.access.row, self.access.dtype.itemsize)

    @property
    def row_stride(self) -> int:
        return 0 if self.divides_rows else self.access.row[0].stride

    @property
    def matrix_bytes(self) -> int:
        """Bytes of the buffer of a whole matrix."""
        return span(self.row_digits) + self.head_bytes

    @property
    def row_bytes(self) -> int:
        """Bytes from one query to the next."""
        return self.row_stride * self.access.dtype.itemsize

    @property
    def head_bytes(self) -> int:
        return self.access.depth * self.access.dtype.itemsize

    @property
    def group_bytes(self) -> int:
        """Bytes from one lane group's elements of a query to the next lane group's."""
        return self.tiles.lane_lines * self.slot_bytes

    def offset(self, line: int, first: int) -> int:
        """Return the bytes from a query's first element to an access to a slot."""
        return line * self.slot_bytes + first * self.access.dtype.itemsize

    def ends(self, line: int) -> bool:
        """Return whether elements of a slot may lie past the end of the head."""
        last = line + self.tiles.lane_lines * (self.tiles.group_count - 1)
        return (last + 1) * self.slot_bytes > self.head_bytes
