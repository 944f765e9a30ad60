"""Interface of a chunk of CTAs to the parts of the emulator: lanes, memory order, faults.

Parts take a :class:`Chunk`, which does not expose the other parts. The machine implements it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.memory.semantics import Semantics
from kgen.emulate.ptx.memory.stored import StoredBytes
from kgen.emulate.ptx.order.clocks import Clocks
from kgen.emulate.ptx.types import Array
from kgen.emulate.request import Request
from kgen_runtime.values import frozen

#: Active lanes at any broadcast shape; None for all lanes.
Mask = Array | None

#: Generic addresses of the windows of shared, local and parameter memory (PTX ISA 5.2, 6.4.1.1).
SHARED_WINDOW = 1 << 32
LOCAL_WINDOW = 2 << 32
PARAMETER_WINDOW = 3 << 32
GENERIC_WINDOW_BITS = 32


class StallRank(IntEnum):
    """Order in which asynchronous work is finished when no thread can continue.

    The threads that rely on a bulk copy are known exactly, whenever it finishes. The bytes of a
    cp.async count as written by its thread, and other threads may know that thread without having
    waited for the copy; so cp.async copies stay unfinished longer.
    """

    BULK_COPY = 0
    COPY_ARRIVAL = 1
    TIME_LIMIT = 2


class Violation(Exception):
    """Fault of an instruction; the scheduler adds the source location.

    `lanes` are the faulty lanes at any broadcast shape. `address` has the same shape and holds
    their addresses in the state space `space`.
    """

    def __init__(
        self, kind: str, message: str, lanes: Array, address: Array | None = None, space: str = ""
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.lanes, self.address = kind, message, lanes, address
        self.space = space


@frozen
class PtxLaunch(Request):
    """Launch with the data that all CTAs share; `parameters` are the bytes of parameter space."""

    parameters: bytes
    shared_bytes: int
    #: Whether warp collectives order memory.
    collectives_order: bool = False
    #: Element sizes, in bytes, of the tensor maps among the arguments.
    mapped_elements: frozenset[int] = frozenset()

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z

    @property
    def warps(self) -> int:
        return -(-self.threads // WARP)

    @property
    def cluster_size(self) -> int:
        x, y, z = self.cluster
        return x * y * z


@frozen
class GlobalAccess:
    """Access of lanes to units of `nbytes` bytes of a buffer in global memory.

    `later` marks a read that happens after the instruction. `stored` returns the values of a store,
    which is not a race where it leaves the bytes unchanged.
    """

    buffer: int
    index: Array
    nbytes: int
    mask: Mask
    how: Semantics
    reads: bool = False
    writes: bool = False
    stored: Callable[[], StoredBytes] | None = None
    later: bool = False


class Order(Protocol):
    """Memory order of all accesses of a launch. Memories report accesses to it and query it."""

    @property
    def machine(self) -> Chunk: ...

    @property
    def first_cluster(self) -> int:
        """Number of the chunk's first cluster within the launch."""

    def learned(self, place: Array, cluster: Array, other: Array, time: Array) -> Array:
        """Return whether lanes of the chunk know, through memory, what a thread of a cluster did by
        a time."""

    def name(self, cluster: int, thread: int) -> str:
        """Format a thread of a cluster for messages."""

    def accessed(self, access: GlobalAccess) -> None:
        """Record an access of lanes to a buffer of global memory."""

    def strong(
        self, space: object, place: Array, mask: Mask, how: Semantics, *, reads: bool, writes: bool
    ) -> None:
        """Record strong accesses of lanes to a state space."""


class Chunk(Protocol):
    """Lanes [CTA, warp, lane] of the CTAs that run now, their coordinates and their memory
    order."""

    checks: bool
    #: Size of the kernel's smallest shared access, in bytes.
    granule: int
    #: Size of the kernel's smallest global access, in bytes.
    global_unit: int
    #: Whether an instruction of the kernel completes asynchronously on an mbarrier.
    asynchronous: bool
    ctas: int
    warps: int
    #: CTAs per cluster. The CTAs of a cluster are adjacent, in the order of their ranks.
    cluster: int
    #: Index of the instruction that is being executed.
    pc: int
    #: Lanes that are not padding, [1, warp, lane].
    exists: Array
    #: Whether the threads of the cluster have met at the cluster barrier, [CTA].
    met: Array

    @property
    def launch(self) -> PtxLaunch: ...

    @property
    def clocks(self) -> Clocks: ...

    @property
    def order(self) -> Order: ...

    @property
    def shape(self) -> tuple[int, int, int]: ...

    def line(self, pc: int) -> int:
        """Return the source line of an instruction."""

    def warn(self, violation: Violation) -> None:
        """Add a warning about the current instruction, once per instruction."""

    def refuse(self, violation: Violation) -> None:
        """Record a fault of the current instruction and continue. Raises EmulationFault if the
        limit on faults is reached."""

    def active(self, mask: Mask) -> Array:
        """Return a mask as an array."""

    def everywhere(self, value: Array) -> Array:
        """Return a read-only view at the full shape [CTA, warp, lane]."""


def uniform(value: int, dtype: npt.DTypeLike) -> Array:
    """Return one value for every lane."""
    return np.full((1, 1, 1), value, dtype)
