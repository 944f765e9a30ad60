"""Interface of a peer, and the data that it computes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.check.oracle import attention_bounds, transformed_sums, window_products
from kgen.check.oracle import operations as oracle
from kgen.check.tensors import Bits, Bytes, Values, decode, empty_buffer, strided_bits
from kgen.errors import DeviceError
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.reference.winograd_weights import winograd_tile
from kgen_runtime.values import frozen

Array = npt.NDArray[Any]


@frozen
class Peer:
    """Library's version of a kernel. `run` returns when the result is complete.

    `name` includes the type of the computation if it is not the kernel's. `result` returns the bits
    of the output if `run` does not return it. `keep` must live as long as `run`.
    """

    name: str
    run: Callable[[], object]
    result: Callable[[], Bits] | None = None
    keep: object = None


PeerMaker = Callable[[KernelEntry, Mapping[str, Bytes], DeviceInfo], Peer]


def values(buffers: Mapping[str, Bytes], param: TensorParam) -> Values:
    return decode(strided_bits(buffers[param.name], param), param.dtype)


def aligned(array: Array) -> Array:
    """Return a copy that starts at a cache line."""
    copy = empty_buffer(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def kernels(spec: Mapping[str, Any], stored: Array) -> Array:
    """Return a convolution's f32 weights: output channels x channels of a group x kernel sizes.

    Weights that Winograd's transforms were applied to are restored.
    """
    found = window_products.oihw(spec, stored) if not winograd_tile(spec) else None
    if found is None:
        outputs, depth, *sizes = spec["weights"]
        restored = transformed_sums.kernels(spec, stored).reshape(*sizes, depth, outputs)
        found = np.moveaxis(restored, (-1, -2), (0, 1))
    return aligned(found.astype(np.float32))


def check_has_no_pages(spec: Mapping[str, Any]) -> None:
    """Raise DeviceError for attention whose K and V are pools of pages."""
    if spec.get("page_size") is not None:
        raise DeviceError(
            f"page_size={spec['page_size']} is supported by no other library here; to compare, "
            "build a kernel without page_size"
        )


def score_bias(spec: Mapping[str, Any], x: Mapping[str, Array]) -> Array | None:
    """Return the addends of attention's scores, batch x heads x queries x keys: the mask, and
    -infinity for keys that a query does not attend to. None if all are 0."""
    batch, heads, queries, _ = spec["q"]
    b, h = np.divmod(np.arange(batch * heads), heads)
    kept = attention_bounds.attended(spec, x, b, h, slice(0, queries))
    kept = kept.reshape(batch, heads, *kept.shape[1:])
    adds_mask = spec.get("mask") is not None and spec["mask_dtype"] != "bool"
    if kept.all() and not adds_mask:
        return None
    return np.where(kept, x["mask"] if adds_mask else 0.0, -np.inf).astype(x["q"].dtype)


def first(outputs: Mapping[str, Any]) -> Any:
    """Return the first output, by which a peer is checked."""
    return next(iter(outputs.values()))


def check_last_axes(entry: KernelEntry) -> None:
    """Raise DeviceError for rows along other axes than the last, which peers would reorder."""
    if oracle.rows_first(entry) != list(range(len(oracle.domain(entry)))):
        raise DeviceError(
            "other libraries are measured on rows along the last axes only; try against=read"
        )
