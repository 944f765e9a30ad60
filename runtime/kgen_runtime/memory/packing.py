"""Packing of constant matrices into the order that kernels read; libkgen does the work.

The manifest states the order (:class:`kgen_runtime.manifest.Packing`), so that any tool can pack.
Elements keep their type.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from kgen_runtime import libkgen

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kgen_runtime.manifest import TensorParam

    Bytes = npt.NDArray[np.uint8]

#: KGEN_MAX_RANK of kgen.h.
MAX_RANK = 8


class _Packing(ctypes.Structure):
    """kgen_packing of kgen_backend.h."""

    _fields_ = (
        ("itemsize", ctypes.c_int64),
        ("rank", ctypes.c_int64),
        ("shape", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
        ("transposed", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("depth", ctypes.c_int64),
        ("steps", ctypes.c_int64),
        ("num_runs", ctypes.c_int64),
        ("runs", ctypes.c_void_p),
    )


def pack(param: TensorParam, matrix: Bytes, packed: Bytes) -> None:
    """Fill `packed`, the bytes of the packed parameter, from the bytes of the matrix."""
    _move(param, matrix, packed, unpacks=False)


def unpack(param: TensorParam, packed: Bytes, matrix: Bytes) -> None:
    """Fill the elements of `matrix` from the bytes of the packed parameter; bytes in gaps are
    unchanged."""
    _move(param, matrix, packed, unpacks=True)


def _move(param: TensorParam, matrix: Bytes, packed: Bytes, *, unpacks: bool) -> None:
    order = param.packing
    assert order is not None
    assert matrix.nbytes >= param.unpacked.nbytes and packed.nbytes >= param.nbytes
    assert matrix.flags.c_contiguous and packed.flags.c_contiguous
    runs = (ctypes.c_int64 * len(order.runs))(*order.runs)
    words = ctypes.c_int64 * MAX_RANK
    described = _Packing(
        itemsize=param.dtype.itemsize,
        rank=len(order.shape),
        shape=words(*order.shape),
        strides=words(*order.strides),
        transposed=order.transposed,
        width=order.width,
        depth=order.depth,
        steps=param.shape[-3],
        num_runs=len(runs),
        runs=ctypes.addressof(runs),
    )
    libkgen.library().kgen_pack_matrices(
        ctypes.byref(described), matrix.ctypes.data, packed.ctypes.data, param.nbytes, unpacks
    )
