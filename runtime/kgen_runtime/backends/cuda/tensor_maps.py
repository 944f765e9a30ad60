"""Tensor maps of TMA: encodes a manifest's fields and a device address into the driver's 128 bytes.

CUDA Driver API, "Tensor Map Object Management", cuTensorMapEncodeTiled: dimensions are listed
innermost first; strides are in bytes, without the innermost one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from kgen_runtime.backends.cuda.driver import call, driver
from kgen_runtime.backends.parameters import Structure
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import TensorMap

DATA_TYPES: Mapping[DType, str] = {
    DType.F64: "FLOAT64",
    DType.F32: "FLOAT32",
    DType.F16: "FLOAT16",
    DType.BF16: "BFLOAT16",
    **dict.fromkeys((DType.S8, DType.E4M3, DType.E5M2), "UINT8"),
}
#: Encoded maps to cache: most addresses are those of a few weights and activations.
KEPT = 256


class TensorMaps:
    """Tensor maps of one kernel, encoded for the buffers of a call."""

    __slots__ = ("_encoded", "_maps")

    def __init__(self, maps: Iterable[TensorMap]) -> None:
        self._maps = {map_.name: map_ for map_ in maps}
        self._encoded = lru_cache(maxsize=KEPT)(encode)

    def argument(self, name: str, buffers: Mapping[str, int]) -> int | Structure:
        """Return a launch argument: the address of a buffer, or the encoded map of one."""
        map_ = self._maps.get(name)
        return buffers[name] if map_ is None else self._encoded(map_, buffers[map_.tensor])


def encode(map_: TensorMap, address: int) -> Structure:
    """Return the driver's CUtensorMap. Raises DeviceError if it cannot be encoded."""
    api: Any = driver()
    dims, strides = map_.shape[::-1], map_.strides[-2::-1]
    swizzle = f"{map_.swizzle}B" if map_.swizzle else "NONE"
    data_type = "TFLOAT32" if map_.tf32 else DATA_TYPES[map_.dtype]
    encoded: Structure = call(
        "cuTensorMapEncodeTiled",
        getattr(api.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{data_type}"),
        len(dims),
        address,
        [api.cuuint64_t(size) for size in dims],
        [api.cuuint64_t(stride * map_.dtype.itemsize) for stride in strides],
        [api.cuuint32_t(extent) for extent in map_.box[::-1]],
        [api.cuuint32_t(1) for _ in dims],
        api.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(api.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
        api.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        api.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    return encoded
