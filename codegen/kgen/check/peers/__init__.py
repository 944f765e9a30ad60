"""Libraries that compute the same operation, to time kernels side by side with; and what binds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from kgen import suggest
from kgen.check.peers import ceilings, onednn, torch_peers
from kgen.check.peers.base import Peer, PeerMaker
from kgen.check.peers.iree import iree
from kgen.check.peers.numpy_peer import numpy_peer
from kgen.check.tensors import Bytes
from kgen.errors import DeviceError
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.manifest import KernelEntry

__all__ = ["PEERS", "Peer", "make", "threads"]

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
    "peak": ceilings.peak,
    "read": ceilings.read,
    "copy": ceilings.copy,
}


def make(name: str, entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """The library's version of a kernel on the same data.

    Raises DeviceError if the library is unknown, not here, or does not work on the device.
    """
    if name not in PEERS:
        raise DeviceError(suggest.unknown(f"against={name}", name, PEERS))
    return PEERS[name](entry, buffers, device)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """The libraries take so many threads; None leaves them as they are.

    Raises DeviceError without threadpoolctl, which alone can tell numpy's BLAS.
    """
    if count is None:
        yield
        return
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise DeviceError(
            f"threads={count} needs threadpoolctl, to hold numpy to it; pip install threadpoolctl"
        ) from None
    with ExitStack() as stack:
        for limited in (threadpool_limits, torch_peers.threads, onednn.threads):
            stack.enter_context(limited(count))
        yield
