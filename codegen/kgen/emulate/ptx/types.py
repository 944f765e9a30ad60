"""PTX types as numpy dtypes, and conversions that numpy does not have (PTX ISA 5.2, 9.7.1)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kgen.emulate.floats import F16_TO_F32, bf16_to_f32, round_towards, to_bf16
from kgen_runtime.values import frozen

Array = npt.NDArray[Any]
Kind = Literal["pred", "bits", "unsigned", "signed", "float", "bfloat"]

UNSIGNED: dict[int, np.dtype[Any]] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}
SIGNED: dict[int, np.dtype[Any]] = {n: np.dtype(f"i{n}") for n in (1, 2, 4, 8)}


@frozen
class PtxType:
    """PTX type: name, bytes of one value, and dtype of its registers.

    Registers hold 16-bit floats and packed pairs as bits; :func:`widen` and :func:`narrow` convert
    them. `lanes` is 2 for packed types.
    """

    name: str
    size: int
    kind: Kind
    dtype: np.dtype[Any]
    lanes: int = 1

    @property
    def bits(self) -> int:
        return 8 * self.size

    @property
    def element(self) -> PtxType:
        """Type of one half of a packed pair; other types are their own element."""
        return TYPES[self.name.removesuffix("x2")] if self.lanes == 2 else self


def _types() -> dict[str, PtxType]:
    found = [PtxType(name="pred", size=1, kind="pred", dtype=np.dtype(bool))]
    for n in (1, 2, 4, 8):
        found.append(PtxType(name=f"b{8 * n}", size=n, kind="bits", dtype=UNSIGNED[n]))
        found.append(PtxType(name=f"u{8 * n}", size=n, kind="unsigned", dtype=UNSIGNED[n]))
        found.append(PtxType(name=f"s{8 * n}", size=n, kind="signed", dtype=SIGNED[n]))
    found += [
        PtxType(name="f16", size=2, kind="float", dtype=UNSIGNED[2]),
        PtxType(name="bf16", size=2, kind="bfloat", dtype=UNSIGNED[2]),
        PtxType(name="f16x2", size=4, kind="float", dtype=UNSIGNED[4], lanes=2),
        PtxType(name="bf16x2", size=4, kind="bfloat", dtype=UNSIGNED[4], lanes=2),
        PtxType(name="u16x2", size=4, kind="unsigned", dtype=UNSIGNED[4], lanes=2),
        PtxType(name="s16x2", size=4, kind="signed", dtype=UNSIGNED[4], lanes=2),
        PtxType(name="tf32", size=4, kind="bits", dtype=UNSIGNED[4]),
        PtxType(name="f32", size=4, kind="float", dtype=np.dtype(np.float32)),
        PtxType(name="f64", size=8, kind="float", dtype=np.dtype(np.float64)),
    ]
    return {t.name: t for t in found}


TYPES = _types()

#: np.any and np.all without their dispatch in Python. `Any`: no overload accepts a bool `keepdims`.
_ANY: Any = np.logical_or.reduce
_ALL: Any = np.logical_and.reduce


def any_of(value: Array, axes: int | tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Return whether any value is true along the axes."""
    found: Array = np.asarray(_ANY(value, axis=axes, keepdims=keepdims))
    return found


def all_of(value: Array, axes: int | tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Return whether all values are true along the axes."""
    found: Array = np.asarray(_ALL(value, axis=axes, keepdims=keepdims))
    return found


def bits_of(type_: PtxType) -> PtxType:
    """Return the untyped type of the same size."""
    return TYPES[f"b{type_.bits}"]


def double_width(type_: PtxType) -> PtxType:
    """Return the integer type of twice the size, the result of mul.wide."""
    return TYPES[f"{type_.name[0]}{2 * type_.bits}"]


CANONICAL_NAN_16 = 0x7FFF
CANONICAL_NAN_32 = np.uint32(0x7FFFFFFF).view(np.float32)
CANONICAL_NAN_64 = np.uint64(0x7FF8000000000000).view(np.float64)


def canonical(value: Array) -> Array:
    """Replace every NaN by PTX's canonical NaN, 0x7fffffff in f32."""
    if value.size and np.isnan(value.max()):
        nan = CANONICAL_NAN_32 if value.dtype.itemsize == 4 else CANONICAL_NAN_64
        return np.where(np.isnan(value), nan, value)
    return value


def widen(type_: PtxType, bits: Array) -> Array:
    """Convert the bits of 16-bit floats to f32 (exact); return f32 and f64 unchanged."""
    if type_.size != 2:
        return bits
    if type_.kind == "bfloat":
        return bf16_to_f32(bits)
    return F16_TO_F32.take(bits)


def narrow(type_: PtxType, value: Array, rounding: str = "rn") -> Array:
    """Round f32 or f64 values once to a floating-point type; return them as its registers hold
    them."""
    if type_.kind == "bfloat":
        bits = to_bf16(value) if rounding == "rn" else _truncate_bf16(value, rounding)
    elif type_.size == 2:
        bits = round_towards(value, np.float16, rounding).view(np.uint16)
    else:
        return round_towards(value, type_.dtype, rounding)
    nan = np.isnan(value)
    return np.where(nan, np.uint16(CANONICAL_NAN_16), bits) if np.count_nonzero(nan) else bits


def _truncate_bf16(value: Array, rounding: str) -> Array:
    """Round towards zero to bfloat16; return the bits."""
    if rounding != "rz":
        raise ValueError(f"no rounding {rounding} to bf16")
    bits = np.ascontiguousarray(round_towards(value, np.float32, "rz")).view(np.uint32)
    return (bits >> np.uint32(16)).astype(np.uint16)


def unpack(bits: Array) -> tuple[Array, Array]:
    """Return the low and the high 16 bits of 32-bit words."""
    return bits.astype(np.uint16), (bits >> np.uint32(16)).astype(np.uint16)


def pack(low: Array, high: Array) -> Array:
    """Combine two arrays of 16 bits to 32-bit words."""
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))
