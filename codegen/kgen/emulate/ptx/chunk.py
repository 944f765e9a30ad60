"""Interface of a chunk of CTAs to the parts of the emulator: lanes, order, faults.

A part takes a :class:`Chunk`, which says nothing of the other parts; the machine is one.
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

#: Active lanes at any broadcast shape; None means all of them.
Mask = Array | None

#: Generic addresses of the windows of shared, local and parameter memory (PTX ISA 5.2, 6.4.1.1).
SHARED_WINDOW = 1 << 32
LOCAL_WINDOW = 2 << 32
PARAMETER_WINDOW = 3 << 32
GENERIC_WINDOW_BITS = 32


class StallRank(IntEnum):
    """Order in which asynchronous work is finished when no thread can go on.

    Who relies on a bulk copy is known exactly, whenever it ends. What cp.async has copied counts as
    its thread's, which others may know of without having waited: it stays under way for longer.
    """

    BULK_COPY = 0
    COPY_ARRIVAL = 1
    TIME_LIMIT = 2


class Violation(Exception):
    """A fault as an instruction sees it; the scheduler adds the instruction's place.

    `lanes` are the offenders at any broadcast shape, `address` the bytes' addresses likewise, of
    the state space that is named.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        lanes: Array,
        address: Array | None = None,
        space: str = "",
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.lanes, self.address = kind, message, lanes, address
        self.space = space


@frozen
class PtxLaunch(Request):
    """Launch as every CTA sees it; `parameters` are the bytes of parameter space."""

    parameters: bytes
    shared_bytes: int
    #: Whether warp collectives order memory.
    collectives_order: bool = False
    #: Bytes of the elements of tensor maps among the arguments.
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
    """Lanes access units of `nbytes` bytes of a buffer of global memory; a read may be said to be
    done `later`. `stored` are the values of a store that is excused where it leaves the bytes as
    they are."""

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
    """The order of accesses over a launch, as the memories tell it and ask it."""

    @property
    def machine(self) -> Chunk: ...

    @property
    def first_cluster(self) -> int:
        """The number of the chunk's first cluster, over the launch."""

    def learned(self, place: Array, cluster: Array, other: Array, time: Array) -> Array:
        """Whether lanes of the chunk know, through memory, what a thread of a cluster did."""

    def name(self, cluster: int, thread: int) -> str:
        """A thread of a cluster for a reader."""

    def accessed(self, access: GlobalAccess) -> None:
        """Lanes access a buffer of global memory."""

    def strong(
        self, space: object, place: Array, mask: Mask, how: Semantics, *, reads: bool, writes: bool
    ) -> None:
        """Lanes make strong accesses to a space."""


class Chunk(Protocol):
    """The lanes [CTA, warp, lane] of the CTAs that run, where they are, and what orders them."""

    checks: bool
    #: The smallest shared access of the kernel.
    granule: int
    #: The smallest global access.
    global_unit: int
    #: Whether an instruction of the kernel completes asynchronously on an mbarrier.
    asynchronous: bool
    ctas: int
    warps: int
    #: CTAs of a cluster. Those of one cluster are next to each other, in the order of ranks.
    cluster: int
    #: The instruction that is being executed.
    pc: int
    #: Lanes that are no padding, [1, warp, lane].
    exists: Array
    #: Whether the threads of the cluster have met at its barrier, [C].
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
        """The source line of an instruction."""

    def warn(self, violation: Violation) -> None:
        """Note what the present instruction does; once is enough."""

    def refuse(self, violation: Violation) -> None:
        """Note a fault of the present instruction, whose effect takes place all the same. Raises
        EmulationFault if no more are wanted."""

    def active(self, mask: Mask) -> Array:
        """A mask as an array."""

    def everywhere(self, value: Array) -> Array:
        """A read-only view over the whole of [CTA, warp, lane]."""


def uniform(value: int, dtype: npt.DTypeLike) -> Array:
    """Return one value for every lane."""
    return np.full((1, 1, 1), value, dtype)
