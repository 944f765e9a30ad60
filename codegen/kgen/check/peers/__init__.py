"""Peers: libraries that compute the same operation, and ceilings, timed side by side with kernels.

What a library cannot do is a DeviceError that names it: the library is not installed, lacks the
product on this CPU, or adds s8 products inexactly. x86 before VNNI has only an instruction that
saturates sums of two products at 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from kgen import suggest
from kgen.check.oracle import operations as oracle
from kgen.check.peers import ceilings, onednn, torch_peers
from kgen.check.peers.iree import iree
from kgen.check.peers.numpy_peer import numpy_peer
from kgen.check.peers.peer import Peer, PeerMaker
from kgen.check.tensors import Bytes, decode
from kgen.errors import DeviceError
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry

__all__ = ["PEERS", "Peer", "check_exact", "make", "make_each", "threads"]

#: Rows and columns of an output that are compared.
COMPARED = 64

ARITHMETIC: Mapping[str, PeerMaker] = {"peak": ceilings.peak, "tiles": ceilings.tiles}
MEMORY = {"read": ceilings.read, "copy": ceilings.copy, "convert": ceilings.convert}
CEILINGS: Mapping[str, PeerMaker] = {**ARITHMETIC, **MEMORY}
PEERS: Mapping[str, PeerMaker] = {
    "numpy": numpy_peer,
    "torch": torch_peers.torch_peer,
    "cublas": torch_peers.cublas,
    "torch-onednn": torch_peers.packed_by("torch-onednn", torch_peers.onednn_packed),
    "torch-mkl": torch_peers.packed_by("torch-mkl", torch_peers.mkl_packed),
    "torch-compile": torch_peers.torch_compiled,
    "onednn": onednn.onednn,
    "onednn-packed": onednn.onednn_packed,
    "iree": iree,
    **CEILINGS,
}
#: Libraries by operation, for operations that not every library supports.
SUPPORTING: Mapping[str, Sequence[str]] = {
    "conv2d": ("numpy", "onednn-packed", "torch-onednn"),
    "attention": ("numpy", "torch"),
}


def make(name: str, entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Return the library's version of a kernel on the same data.

    Raises DeviceError if the library is unknown, not installed, or does not support the device.
    """
    if name not in PEERS:
        raise DeviceError(suggest.unknown(f"against={name}", name, PEERS))
    if name not in CEILINGS and (narrow := entry.spec.get("b_dtype")):
        raise DeviceError(
            f"against={name} does not support products of {entry.spec['dtype']} by {narrow}; "
            "try against=read"
        )
    if name not in (*SUPPORTING.get(entry.op, PEERS), *CEILINGS):
        raise DeviceError(f"against={name} does not support {entry.op}; try against=numpy")
    return PEERS[name](entry, buffers, device)


def make_each(
    name: str, entry: KernelEntry, sets: Sequence[Mapping[str, Bytes]], device: DeviceInfo
) -> list[Peer]:
    """Return a peer for each set of data.

    Ceilings share one that uses buffers of its own in turn.
    """
    if name in ARITHMETIC:
        return [make(name, entry, sets[0], device)] * len(sets)
    if name in MEMORY:
        return [MEMORY[name](entry, sets[0], device, len(sets))] * len(sets)
    return [make(name, entry, data, device) for data in sets]


def check_exact(peer: Peer, entry: KernelEntry, buffers: Mapping[str, Bytes]) -> None:
    """Raise DeviceError if a peer's sums of integers are wrong in a corner of the output (CPU).

    Exempt are libraries that add in a float type, as their names say so, and ceilings, which
    compute no product.
    """
    if entry.op != "matmul" or entry.output.dtype is not DType.S32 or peer.name in CEILINGS:
        return
    got = np.asarray(peer.run() if peer.result is None else peer.result())
    if got.dtype.kind not in "iu":
        return
    shape = oracle.output_shape(entry)
    corner = tuple(slice(0, min(size, COMPARED)) for size in shape)
    values = decode(got.reshape(shape)[corner].view(np.uint32), DType.S32)
    if not np.array_equal(values, oracle.estimate(entry, buffers, corner).value):
        dtype = entry.inputs[0].dtype
        raise DeviceError(
            f"against={peer.name} does not add {dtype} products exactly on this CPU; "
            "try against=iree"
        )


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Limit the libraries to this number of threads; None changes nothing.

    Raises DeviceError without threadpoolctl, which controls numpy's BLAS.
    """
    if count is None:
        yield
        return
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise DeviceError(
            f"threads={count} needs threadpoolctl, which limits the threads of numpy; "
            "pip install threadpoolctl"
        ) from None
    with ExitStack() as stack:
        for limited in (threadpool_limits, torch_peers.threads, onednn.threads):
            stack.enter_context(limited(count))
        yield
