"""Shared memory of the CTAs in a chunk, [CTA, byte], with a check of every access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from kgen.emulate.lanes import settle
from kgen.emulate.ptx.chunk import Chunk, Mask, Violation
from kgen.emulate.ptx.exec.ctas import over_ctas
from kgen.emulate.ptx.memory.accesses import RANK_SHIFT, Region
from kgen.emulate.ptx.memory.semantics import WEAK, Semantics
from kgen.emulate.ptx.memory.spaces import check, columns, elements, scatter
from kgen.emulate.ptx.memory.stored import StoredBytes
from kgen.emulate.ptx.races.proxy import AsyncProxy
from kgen.emulate.ptx.races.remote import check_started
from kgen.emulate.ptx.races.shadow import Shadow
from kgen.emulate.ptx.types import Array, any_of

#: Widest access in bytes; rows are padded to a multiple of it.
_WIDEST = 32


class SharedMemory:
    """Shared memory with race detection: accesses of threads, of cp.async and of the async proxy.

    An address that is equal in all CTAs, as most are, stays one row of the arrays; the same holds
    for its checks.
    """

    def __init__(self, machine: Chunk) -> None:
        self.machine, self.nbytes = machine, machine.launch.shared_bytes
        padded = max(_WIDEST, -(-self.nbytes // _WIDEST) * _WIDEST)
        self.data = np.full((machine.ctas, padded), 0xFF, np.uint8)
        self.shadow = Shadow(machine, padded) if machine.checks else None
        self.proxy = None if self.shadow is None else AsyncProxy(self.shadow)
        self._row = np.arange(machine.ctas).reshape(-1, 1, 1)
        self._cluster_row = self._row // machine.cluster * machine.cluster

    def load(
        self, address: Array, size: int, count: int, mask: Mask, how: Semantics = WEAK
    ) -> list[Array]:
        """Load `count` elements of `size` bytes from each active lane's address."""
        settled = self.read(address, size * count, mask, strength=how.strength)
        if how.strength:
            self._strong(settled, mask, how, reads=True)
        return self.peek(settled, size, count)

    def read(
        self, address: Array, nbytes: int, mask: Mask, *, by_warp: bool = False, strength: int = 0
    ) -> Array:
        """Check a read; return addresses that are valid in inactive lanes as well.

        `by_warp`: the whole warp receives the bytes that a lane reads.
        """
        settled = self._settle(address, nbytes, mask, "load")
        if self.shadow is not None:
            self.shadow.read(address, nbytes, mask, by_warp=by_warp, strength=strength)
        return settled

    def peek(self, address: Array, size: int, count: int) -> list[Array]:
        """Return the values at valid addresses, without a check."""
        view = elements(self.data, size, count)
        if address.shape[0] == 1 and not self._remote(address):
            return columns(view.take(address[0] // (size * count), axis=1, mode="clip"))
        index = self._units(address, size * count, view.shape[1])
        return columns(view.reshape(-1, count).take(index, axis=0, mode="clip"))

    def store(
        self, address: Array, values: Sequence[Array], size: int, mask: Mask, how: Semantics = WEAK
    ) -> None:
        """Store each active lane's elements."""
        nbytes = size * len(values)
        settled = self._settle(address, nbytes, mask, "store")
        stored = partial(self._stored, settled, values, size)
        overlapping = self.shadow is not None and self.shadow.write(
            address, nbytes, mask, strength=how.strength,
            stored=None if self.machine.launch.strict else stored,
        )  # fmt: skip
        if how.strength:
            self._strong(settled, mask, how, writes=True)
        self._put(settled, values, size, mask)
        if overlapping and not how.strength:
            self._check_same(address, settled, values, size, mask)

    def _stored(self, address: Array, values: Sequence[Array], size: int) -> StoredBytes:
        there = self.peek(address, size, len(values))
        return StoredBytes(values, there, self.machine.shape, self.machine.granule)

    def cells(
        self, address: Array, size: int, mask: Mask, how: Semantics, *, reads: bool = True
    ) -> tuple[Array, Array]:
        """Return all memory as units of `size` bytes, flat, and every lane's unit, for an atomic.

        `reads` is false if no one uses the old value.
        """
        settled = self._settle(address, size, mask, "atomic")
        if self.shadow is not None:
            self.shadow.write(address, size, mask, strength=how.strength, reads=reads)
        self._strong(settled, mask, how, reads=True, writes=True)
        view = elements(self.data, size, 1)
        return view.reshape(-1), self._units(settled, size, view.shape[1])

    def begin_copy(self, address: Array, nbytes: int, mask: Mask) -> None:
        """Begin a copy: its bytes may change until the copying thread has waited."""
        self._settle(address, nbytes, mask, "copy")
        if self.shadow is not None:
            self.shadow.begin_copy(address, nbytes, mask)

    def land(self, address: Array, values: Sequence[Array], size: int, mask: Mask) -> None:
        """Write the bytes of a copy, before any thread may rely on them."""
        self._put(settle(address, mask), values, size, mask)

    def finish_copy(self, address: Array, nbytes: int, mask: Mask, times: Array | None) -> None:
        """Finish a copy: the copying thread, and threads that know its actions, may rely on it; see
        `Shadow`."""
        if self.shadow is not None:
            self.shadow.finish_copy(address, nbytes, mask, times)

    # ------------------------------------------------------------------ asynchronous operations

    def begin_write(self, region: Region) -> None:
        """Begin a write of the async proxy: no thread may access its bytes."""
        self._check_region(region, "asynchronous write")
        if self.proxy is not None:
            self.proxy.begin_write(region)

    def finish_write(self, region: Region, data: Array, actor: Array | int) -> None:
        """Write the bytes [C or 1, n, unit] of an asynchronous actor at its current time.

        The actor is one number for all CTAs, or [C].
        """
        if self.proxy is not None:
            self.proxy.finish_write(region, actor)
        ctas, index = self._region_bytes(region)
        whole = np.broadcast_to(data, (self.machine.ctas, *data.shape[1:]))
        self.data.reshape(-1)[index] = whole[ctas].reshape(index.shape)

    def begin_read(self, region: Region) -> None:
        """Begin a read of the async proxy: no thread may write its bytes."""
        self._check_region(region, "asynchronous read")
        if self.proxy is not None:
            self.proxy.begin_read(region)

    def check_read(self, region: Region) -> None:
        """Check a read of the async proxy that has begun, on behalf of another thread that belongs
        to the operation."""
        if self.proxy is not None:
            self.proxy.refuse_read(region)

    def check_object(self, region: Region, unfenced: Callable[[Violation], None]) -> None:
        """Check the use of mbarrier objects by the async proxy. `unfenced` is called if no fence
        has made their initialisation visible to it."""
        self._check_region(region, "mbarrier")
        if self.proxy is not None:
            self.proxy.refuse_read(region, "mbarrier_init", tell=unfenced)

    def finish_read(self, region: Region, reader: Array, *, by_warp: bool = False) -> None:
        """End a read. A thread may then write the bytes if it knows the current actions of
        `reader`, a thread number [C or 1] of each CTA.

        `by_warp`: the operation belongs to the readers' whole warps.
        """
        if self.proxy is not None:
            self.proxy.finish_read(region, reader, by_warp=by_warp)

    def fetch(self, region: Region) -> Array:
        """Return the bytes [C, n, unit] of a region; undefined for CTAs without one."""
        ctas, index = self._region_bytes(region)
        found = np.zeros((self.machine.ctas, *index.shape[1:]), np.uint8)
        found[ctas] = self.data.reshape(-1)[index]
        return found

    def _region_bytes(self, region: Region) -> tuple[Array, Array]:
        """Return the CTAs, and the positions of the region's bytes [CTA, n, unit] in the memory of
        all CTAs."""
        count = self.machine.ctas
        ctas = np.flatnonzero(over_ctas(region.ctas, count))
        address = over_ctas(region.address, count)[ctas]
        named, offset = np.divmod(address, 1 << RANK_SHIFT)
        first = ctas[:, None] // self.machine.cluster * self.machine.cluster
        cta = np.where(named == 0, ctas[:, None], first + named - 1)
        start = cta * self.data.shape[1] + offset
        return ctas, start[..., None] + np.arange(region.unit)

    def _check_region(self, region: Region, what: str) -> None:
        """Raise Violation, for the issuing thread, if a region leaves shared memory."""
        named, offset = np.divmod(region.address, 1 << RANK_SHIFT)
        outside = (offset > self.nbytes - region.unit) | (named > self.machine.cluster)
        if not np.count_nonzero(outside):
            return
        count = self.machine.ctas
        outside = over_ctas(outside, count) & over_ctas(region.ctas, count)[:, None]
        if not np.count_nonzero(outside):
            return
        first = int(over_ctas(region.address, count)[outside].flat[0])
        thread = np.arange(self.machine.warps * 32) == over_ctas(region.issuer, count)[:, None]
        lanes = (thread & any_of(outside, 1)[:, None]).reshape(self.machine.shape)
        message = f"shared {what} of {region.unit} bytes at offset {first} of {self.nbytes} bytes"
        raise Violation("out-of-bounds", message, lanes, np.full((1, 1, 1), first))

    def _strong(
        self,
        address: Array,
        mask: Mask,
        how: Semantics,
        *,
        reads: bool = False,
        writes: bool = False,
    ) -> None:
        if self.machine.checks:
            place = self._units(address, 1, self.data.shape[1])
            self.machine.order.strong("shared", place, mask, how, reads=reads, writes=writes)

    # ------------------------------------------------------------------ addresses

    def _settle(self, address: Array, nbytes: int, mask: Mask, what: str) -> Array:
        settled = settle(address, mask)
        offset = settled
        if self._remote(settled):
            offset = settled & ((1 << RANK_SHIFT) - 1)
            self._check_rank(address, settled >> RANK_SHIFT, mask)
            check_started(self.machine, settled >> RANK_SHIFT, mask)
        check(address, nbytes, self.nbytes, f"shared {what}", offset, mask)
        return settled

    def _remote(self, address: Array) -> bool:
        """Return whether an address may name another CTA of the cluster."""
        return self.machine.cluster > 1 and int(address.max()) >> RANK_SHIFT > 0

    def _check_rank(self, address: Array, named: Array, mask: Mask) -> None:
        outside = named > self.machine.cluster
        lanes = outside if mask is None else outside & mask
        if np.count_nonzero(lanes):
            message = f"address of a CTA beyond the {self.machine.cluster} CTAs of the cluster"
            raise Violation("out-of-bounds", message, lanes, address)

    def _units(self, address: Array, nbytes: int, per_cta: int) -> Array:
        """Return addresses as units of `nbytes` bytes in the memory of all CTAs."""
        if not self._remote(address):
            return address // nbytes + self._row * per_cta
        named, offset = np.divmod(address, 1 << RANK_SHIFT)
        cta = np.where(named == 0, self._row, self._cluster_row + named - 1)
        found: Array = offset // nbytes + cta * per_cta
        return found

    def _put(self, address: Array, values: Sequence[Array], size: int, mask: Mask) -> None:
        view = elements(self.data, size, len(values))
        index = self._units(address, size * len(values), view.shape[1])
        scatter(view.reshape(-1, len(values)), index, values, mask)

    def _check_same(
        self, address: Array, settled: Array, values: Sequence[Array], size: int, mask: Mask
    ) -> None:
        """Raise a fault if lanes of one instruction store different values to the same bytes."""
        stored = self.peek(settled, size, len(values))
        lost = np.logical_or.reduce(
            [there != mine for there, mine in zip(stored, values, strict=True)]
        )
        lanes = lost if mask is None else lost & mask
        if np.count_nonzero(lanes):
            message = "threads store different values to the same shared bytes at once"
            self.machine.refuse(Violation("race", message, lanes, address, space="shared"))
