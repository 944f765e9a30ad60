"""Matrix operands as numbers: decode the registers of MFMA and WMMA by element type.

fp8 and bf8 are e4m3 and e5m2: the FNUZ variants on gfx942, the OCP variants on later processors
(CDNA3 and CDNA4 instruction set manuals, "Data types"). xf32 is float32 rounded to 10 bits of
fraction; the manual does not document the rounding (CDNA3 manual, "XF32"), so the emulator rounds
to nearest even.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kgen.emulate.floats import bf16_to_f32
from kgen.emulate.llvm.numbers import widen
from kgen.emulate.llvm.types import HALF, Array
from kgen.emulate.minifloat import VALUES
from kgen.errors import EmulationError

if TYPE_CHECKING:
    from kgen.emulate.llvm.exec.machine import Machine

#: Element types whose products and sums are computed in float64: integers, and float64 itself.
WIDE = frozenset(("f64", "i8", "iu8", "iu4"))
_MINIFLOATS = {"fp8": "e4m3", "bf8": "e5m2"}
#: Smallest normal number of each type whose subnormals a launch may flush.
_SMALLEST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126}
#: Fraction bits of float32 that xf32 drops.
_XF32_DROPPED = 13


def fragments(m: Machine, value: Array, kind: str, *, is_signed: bool = True) -> Array:
    """Return an operand as numbers [wave, lane, element]: float32, or float64 for the `WIDE`
    types."""
    waves = m.waves(_numbers(m, value, kind, is_signed))
    # The other operand may differ between workgroups where this one does not.
    return np.broadcast_to(waves, (m.workgroups, *waves.shape[1:])).reshape(-1, *waves.shape[2:])


def flushed(m: Machine, value: Array, kind: str) -> Array:
    """Return the value with subnormal numbers as zero if the launch's numerics flush them."""
    if not m.numerics.flush_subnormals or kind not in _SMALLEST_NORMAL:
        return value
    return np.where(np.abs(value) < _SMALLEST_NORMAL[kind], value.dtype.type(0), value)


def _numbers(m: Machine, value: Array, kind: str, is_signed: bool) -> Array:
    """Return an operand as numbers [workgroup | 1, lane, element]."""
    if kind == "bf16":
        return flushed(m, bf16_to_f32(value), kind)
    if kind == "f16":
        return flushed(m, widen(value, HALF), kind)
    if kind in ("f32", "f64", "xf32"):
        whole = value[..., None] if value.ndim == 2 else value
        return _rounded_to_xf32(whole) if kind == "xf32" else whole
    packed = _bytes(value)
    if kind in _MINIFLOATS:
        return minifloats(m, kind).take(packed)
    if kind == "iu4":
        nibbles = np.stack([packed & 15, packed >> 4], axis=-1)
        packed = nibbles.reshape(*packed.shape[:-1], -1)
        signed = (packed ^ 8).astype(np.int8) - np.int8(8)
        return (signed if is_signed else packed).astype(np.float64)
    return (packed.view(np.int8) if is_signed else packed).astype(np.float64)


def _bytes(value: Array) -> Array:
    """Return words, or vectors of words, as [w, lane, byte]."""
    whole = np.ascontiguousarray(value if value.ndim == 3 else value[..., None])
    return whole.view(np.uint8)


def _rounded_to_xf32(value: Array) -> Array:
    bits = np.ascontiguousarray(value).view(np.uint32)
    odd = bits >> np.uint32(_XF32_DROPPED) & np.uint32(1)
    half = np.uint32((1 << (_XF32_DROPPED - 1)) - 1)
    rounded = (bits + half + odd) >> np.uint32(_XF32_DROPPED) << np.uint32(_XF32_DROPPED)
    return np.where(np.isfinite(value), rounded, bits).astype(np.uint32).view(np.float32)


def minifloats(m: Machine, kind: str) -> Array:
    """Return the float32 value of each of the 256 codes of fp8 or bf8."""
    return VALUES[minifloat_name(m, kind)]


def minifloat_name(m: Machine, kind: str) -> str:
    """Return the name of the format that fp8 or bf8 means on the chunk's processor.

    Raises EmulationError if the module names no processor.
    """
    if not m.processor:
        raise EmulationError(
            f"{m.entry}: what {kind} means depends on the processor, which the text does not name; "
            'give it an attribute "target-cpu"="gfx..."'
        )
    return _MINIFLOATS[kind] + ("fnuz" if m.processor == "gfx942" else "")
