"""Types of LLVM IR: their layout in memory, and the numpy arrays that store their values.

A scalar or pointer is an array ``[workgroup, lane]``. A vector or buffer resource is an array
``[workgroup, lane, element]``. The first two axes have length 1 where the value is uniform along
them. An integer is stored in the smallest unsigned numpy type that holds it, modulo ``2**width``;
``i1`` is stored as bool, and ``bfloat`` as its bits. A struct or array is a tuple of such arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Address spaces of AMDGPU (LLVM "User Guide for AMDGPU Backend", address spaces).
FLAT, GLOBAL, REGION, LDS, CONSTANT, PRIVATE = 0, 1, 2, 3, 4, 5
BUFFER_RESOURCE = 8

#: Elements of a buffer resource: base address, stride, number of bytes, flags.
RESOURCE_WORDS = 4


class LlvmType:
    """Base of all LLVM types.

    `size` and `align` are bytes in memory, by the data layout; `bits` is the size in bits.
    Attributes that a type does not have raise TypeError.
    """

    @property
    def size(self) -> int:
        raise TypeError(f"{self} has no size")

    @property
    def align(self) -> int:
        raise TypeError(f"{self} has no alignment")

    @property
    def dtype(self) -> np.dtype[Any]:
        """Numpy type that stores one element of a value."""
        raise TypeError(f"{self} has no values")

    @property
    def element(self) -> LlvmType:
        """Type of a vector's elements; a scalar is its own element."""
        return self

    @property
    def lanes(self) -> int:
        """Number of elements of a vector; 0 for a scalar."""
        return 0

    @property
    def bits(self) -> int:
        return self.size * 8


def _round_up_to_power_of_two(value: int) -> int:
    return 1 << max(0, value - 1).bit_length()


@dataclass(frozen=True)
class Void(LlvmType):
    """``void``, or another type without data: label, token, metadata."""

    name: str = "void"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class LlvmInteger(LlvmType):
    width: int

    def __str__(self) -> str:
        return f"i{self.width}"

    @property
    def size(self) -> int:
        return (self.width + 7) // 8

    @property
    def align(self) -> int:
        return _round_up_to_power_of_two(self.size)

    @property
    def bits(self) -> int:
        return self.width

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        if self.width == 1:
            return np.dtype(np.bool_)
        if self.width > 64:
            raise TypeError(f"{self} is wider than 64 bits")
        return np.dtype(f"u{max(1, _round_up_to_power_of_two(self.width) // 8)}")

    @property
    def signed_dtype(self) -> np.dtype[Any]:
        return np.dtype(f"i{self.dtype.itemsize}")

    @property
    def fills_storage(self) -> bool:
        """Whether the type has all bits of its storage, so that numpy's results wrap correctly."""
        return self.width in (1, 8, 16, 32, 64)


@dataclass(frozen=True)
class Floating(LlvmType):
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return self.dtype.itemsize

    @property
    def align(self) -> int:
        return self.dtype.itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        return _FLOATING[self.name]


_FLOATING: dict[str, np.dtype[Any]] = {
    "half": np.dtype(np.float16),
    "bfloat": np.dtype(np.uint16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


@dataclass(frozen=True)
class Pointer(LlvmType):
    """Pointer, stored as an int64 address (see :mod:`kgen.emulate.llvm.memory.spaces`)."""

    space: int = FLAT
    width: int = 64

    def __str__(self) -> str:
        return f"ptr addrspace({self.space})" if self.space else "ptr"

    @property
    def size(self) -> int:
        return 16 if self.space == BUFFER_RESOURCE else self.width // 8

    @property
    def align(self) -> int:
        return self.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64)


@dataclass(frozen=True)
class LlvmVector(LlvmType):
    count: int
    of: LlvmType

    def __str__(self) -> str:
        return f"<{self.count} x {self.of}>"

    @property
    def size(self) -> int:
        return (self.count * self.of.bits + 7) // 8

    @property
    def align(self) -> int:
        return _round_up_to_power_of_two(self.size)

    @property
    def bits(self) -> int:
        return self.count * self.of.bits

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.of.dtype

    @property
    def element(self) -> LlvmType:
        return self.of

    @property
    def lanes(self) -> int:
        return self.count


@dataclass(frozen=True)
class Aggregate(LlvmType):
    """Struct, or array as a struct of equal fields. Offsets of fields are in bytes."""

    def field(self, index: int) -> LlvmType:
        raise NotImplementedError

    def offset(self, index: int) -> int:
        raise NotImplementedError

    @property
    def count(self) -> int:
        raise NotImplementedError


@dataclass(frozen=True)
class ArrayType(Aggregate):
    length: int
    of: LlvmType

    def __str__(self) -> str:
        return f"[{self.length} x {self.of}]"

    @property
    def size(self) -> int:
        return self.length * stride(self.of)

    @property
    def align(self) -> int:
        return self.of.align

    @property
    def count(self) -> int:
        return self.length

    def field(self, index: int) -> LlvmType:
        return self.of

    def offset(self, index: int) -> int:
        return index * stride(self.of)


@dataclass(frozen=True)
class Struct(Aggregate):
    fields: tuple[LlvmType, ...]
    packed: bool = False

    def __str__(self) -> str:
        body = "{ " + ", ".join(map(str, self.fields)) + " }"
        return f"<{body}>" if self.packed else body

    @cached_property
    def _offsets(self) -> tuple[int, ...]:
        offsets, end = [], 0
        for field in self.fields:
            if not self.packed:
                end = -(-end // field.align) * field.align
            offsets.append(end)
            end += stride(field) if not self.packed else field.size
        return (*offsets, end)

    @property
    def size(self) -> int:
        return -(-self._offsets[-1] // self.align) * self.align

    @property
    def align(self) -> int:
        return 1 if self.packed else max((field.align for field in self.fields), default=1)

    @property
    def count(self) -> int:
        return len(self.fields)

    def field(self, index: int) -> LlvmType:
        return self.fields[index]

    def offset(self, index: int) -> int:
        return self._offsets[index]


def stride(type_: LlvmType) -> int:
    """Return the bytes from one element of an array to the next, as in ``getelementptr``."""
    return -(-type_.size // type_.align) * type_.align


VOID = Void()
I1, I8, I16, I32, I64 = (LlvmInteger(width) for width in (1, 8, 16, 32, 64))
HALF, BFLOAT, FLOAT, DOUBLE = (Floating(name) for name in _FLOATING)


def value_shape(type_: LlvmType) -> tuple[int, ...]:
    """Return the shape of a value of this type after the axes ``[workgroup, lane]``."""
    if isinstance(type_, LlvmVector):
        return (type_.count,)
    if isinstance(type_, Pointer) and type_.space == BUFFER_RESOURCE:
        return (RESOURCE_WORDS,)
    return ()
