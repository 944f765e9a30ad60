"""Tensor maps: the fields that the driver's cuTensorMapEncodeTiled packs into 128 bytes.

The innermost dimension comes first, in every field and in the coordinates of an instruction, as in
the driver. The requirements are those of the driver (CUDA Driver API, Tensor Map Object
Management), so the emulator refuses every map that the driver would refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.errors import EmulationError

#: Bytes of each element type. The driver has no 8-bit floats; they are u8.
ELEMENT_BYTES = {
    "u8": 1,
    **dict.fromkeys(("u16", "f16", "bf16"), 2),
    **dict.fromkeys(("u32", "s32", "f32", "tf32"), 4),
    **dict.fromkeys(("u64", "s64", "f64"), 8),
}
#: Bits of the NaN that fills elements out of bounds, by type.
NAN_BITS = {
    **dict.fromkeys(("f16", "bf16"), 0x7FFF),
    **dict.fromkeys(("f32", "tf32"), 0x7FFFFFFF),
    "f64": 0x7FF8000000000000,
}
_STRIDE_BYTES, _ROW_BYTES = 16, 16
_MOST_DIMENSIONS, _LONGEST_BOX, _LONGEST_STEP = 5, 256, 8


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorMap:
    """Tensor in a buffer, and the box of it that one instruction copies (tiled mode).

    Raises EmulationError if the driver would refuse it.
    """

    #: memory of the tensor
    buffer: npt.NDArray[Any]
    #: u8 u16 u32 u64 s32 s64 f16 bf16 f32 tf32 f64; tf32 rounds loads to nearest
    dtype: str
    #: elements per dimension, innermost first
    shape: Sequence[int]
    #: elements that one copy moves, per dimension
    box: Sequence[int]
    #: bytes from one index to the next, for all dimensions but the innermost; default: no gaps
    strides: Sequence[int] | None = None
    #: step between elements, per dimension; default: 1
    element_strides: Sequence[int] | None = None
    #: 0, 32, 64 or 128 bytes; default: 0
    swizzle: int = 0
    #: "zero" or "nan" for elements out of bounds; default: zero
    fill: str = "zero"

    def __post_init__(self) -> None:
        if self.dtype not in ELEMENT_BYTES:
            _refuse(f"cannot have dtype {self.dtype}; known are {', '.join(ELEMENT_BYTES)}")
        if not 1 <= self.rank <= _MOST_DIMENSIONS:
            _refuse(f"has {self.rank} dimensions; it can have 1 to {_MOST_DIMENSIONS}")
        self._check_lengths()
        self._check_strides()
        self._check_box()
        if self.fill not in ("zero", "nan"):
            _refuse(f"cannot have fill {self.fill}; known are zero, nan")
        if self.fill == "nan" and self.dtype not in NAN_BITS:
            _refuse(f"cannot fill {self.dtype} with nan")
        if self.extent > self.buffer.nbytes:
            _refuse(f"spans {self.extent} bytes; its buffer has {self.buffer.nbytes}")

    # ------------------------------------------------------------------ derived

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def element_bytes(self) -> int:
        return ELEMENT_BYTES[self.dtype]

    @property
    def byte_strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next, in every dimension."""
        if self.strides is None:
            return tuple(accumulate([self.element_bytes, *self.shape[:-1]], mul))
        return (self.element_bytes, *self.strides)

    @property
    def steps(self) -> tuple[int, ...]:
        """Step between the elements of a box in each dimension; the innermost one has step 1."""
        given = self.element_strides or (1,) * self.rank
        return (1, *given[1:])

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements of a box in shared memory; with a step, only the elements at it."""
        return tuple(-(-b // s) for b, s in zip(self.box, self.steps, strict=True))

    @property
    def box_bytes(self) -> int:
        """Bytes that one instruction copies, including those outside of the tensor."""
        return int(np.prod(self.counts)) * self.element_bytes

    @property
    def extent(self) -> int:
        """Bytes from the first element to the end of the last."""
        reach = zip(self.shape, self.byte_strides, strict=True)
        return sum((n - 1) * stride for n, stride in reach) + self.element_bytes

    # ------------------------------------------------------------------ requirements

    def _check_lengths(self) -> None:
        wanted = {"box": self.box, "element_strides": self.element_strides}
        for name, values in wanted.items():
            if values is not None and len(values) != self.rank:
                _refuse(f"has {self.rank} dimensions, but {len(values)} values in {name}")
        if self.strides is not None and len(self.strides) != self.rank - 1:
            _refuse(
                f"has {self.rank} dimensions; give {self.rank - 1} strides, without the innermost"
            )
        _check_range("shape", self.shape, 1 << 32)
        _check_range("box", self.box, _LONGEST_BOX)
        _check_range("element_strides", self.element_strides or (), _LONGEST_STEP)

    def _check_strides(self) -> None:
        for stride in self.byte_strides[1:]:
            if stride % _STRIDE_BYTES or not 0 < stride < 1 << 40:
                _refuse(f"has a stride of {stride} bytes; it must be a multiple of {_STRIDE_BYTES}")

    def _check_box(self) -> None:
        row = self.box[0] * self.element_bytes
        if row % _ROW_BYTES:
            _refuse(f"has rows of {row} bytes in its box; a multiple of {_ROW_BYTES} is needed")
        if self.swizzle not in (0, 32, 64, 128):
            _refuse(f"cannot have swizzle {self.swizzle}; known are 0, 32, 64, 128 bytes")
        if self.swizzle and row > self.swizzle:
            _refuse(f"has rows of {row} bytes in its box, longer than the swizzle {self.swizzle}")
        if self.swizzle and row < self.swizzle:
            # The driver accepts this, but no document defines the layout of such rows.
            _refuse(
                f"has rows of {row} bytes in its box; they must fill the swizzle {self.swizzle}"
            )


def _check_range(name: str, values: Sequence[int], most: int) -> None:
    for value in values:
        if not 1 <= value <= most:
            _refuse(f"has {value} in {name}; it can be 1 to {most}")


def _refuse(why: str) -> None:
    raise EmulationError(f"the tensor map {why}")
