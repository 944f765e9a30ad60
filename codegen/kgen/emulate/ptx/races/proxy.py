"""Race detection for the async proxy in shared memory: bulk copies and wgmma (PTX ISA 8.10).

An operation is in flight from its issue until a thread may rely on its end. Generic accesses of
threads and accesses of the async proxy require both order and a proxy fence.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.memory.accesses import Accesses, Region
from kgen.emulate.ptx.order.released_knowledge import Fence
from kgen.emulate.ptx.order.tags import THREAD, TIME, Strength, is_async, tag
from kgen.emulate.ptx.races.reads import READ_ASYNC, READ_PC, READ_SEVERAL, READ_TIME, once
from kgen.emulate.ptx.races.shadow import Shadow
from kgen.emulate.ptx.races.shadow_tables import PENDING, READING
from kgen.emulate.ptx.types import Array, any_of

_PC = (1 << READING) - 1


class AsyncProxy:
    """Checks and records asynchronous operations in the tables of a Shadow."""

    def __init__(self, shadow: Shadow) -> None:
        self.shadow, self.machine, self.clocks = shadow, shadow.machine, shadow.clocks

    def begin_write(self, region: Region) -> None:
        """Start an asynchronous write: no thread may access its bytes until it is finished."""
        shadow = self.shadow
        at = shadow.region(region, region.issuer)
        self._refuse_unfenced(at, shadow.refuse_pending(at), "write over")
        shadow.refuse_unordered_reads(at, Strength.WEAK)
        self._warn_of_overwritten_reads(at)
        shadow.tables.writers[at.cell] = PENDING - self.machine.pc

    def finish_write(self, region: Region, actor: Array | int) -> None:
        """End a write. A thread may then access the bytes if it knows the asynchronous actor's
        current time."""
        shadow = self.shadow
        at = shadow.region(region, region.issuer)
        writers = shadow.tables.writers
        started = np.maximum(PENDING - writers[at.cell], 0)
        now = self.clocks.now(at.row, actor)
        thread = np.broadcast_to(np.asarray(actor) << 5, at.thread.shape)
        writers[at.cell] = tag(now, started, thread, asynchronous=True)

    def begin_read(self, region: Region) -> None:
        """Start an asynchronous read: no thread may write its bytes until it is finished."""
        at = self.refuse_read(region)
        reading = self.shadow.tables.readings
        # A granule that occurs several times counts once, here and at the end.
        reading[at.cell] = ((reading[at.cell] >> READING) + 1 << READING) | self.machine.pc

    def refuse_read(
        self, region: Region, *fences: Fence, tell: Callable[[Violation], None] | None = None
    ) -> Accesses:
        """Check a read. The threads that wrote the bytes must have passed each of `fences` and the
        proxy fence of shared memory.

        `tell` is called for bytes without a fence; None reports a fault.
        """
        shadow = self.shadow
        at = shadow.region(region, region.issuer)
        writer = shadow.tables.writers[at.cell]
        shadow.refuse_unwritten(at, writer)
        self._refuse_unfenced(at, np.maximum(writer, 0), "read of", *fences, tell=tell)
        return at

    def finish_read(self, region: Region, reader: Array, *, by_warp: bool) -> None:
        """End a read as if these threads of the issuing CTAs, [C or 1], read the bytes now.

        `by_warp`: their whole warps read the bytes, so that all lanes must be ordered.
        """
        shadow = self.shadow
        at = shadow.region(region, reader)
        reading = self.shadow.tables.readings
        started = int(np.max(reading[at.cell], initial=0)) & _PC
        reading[at.cell] -= 1 << READING
        entry = (shadow.now(at) << READ_TIME) | (started << READ_PC)
        entry |= (1 << READ_SEVERAL) if by_warp else at.thread & 31
        entry |= 1 << READ_ASYNC
        shadow.tables.reads.reshape(-1)[at.cell * shadow.warps + at.actor] = entry

    def _refuse_unfenced(
        self,
        at: Accesses,
        writer: Array,
        what: str,
        *fences: Fence,
        tell: Callable[[Violation], None] | None = None,
    ) -> None:
        """Refuse generic writes before an access of the async proxy that are unordered or lack a
        fence."""
        shadow, what = self.shadow, f"asynchronous {what}"
        shadow.refuse_unordered(at, shadow.unordered(at, writer), writer, what)
        unfenced = ~is_async(writer)
        for fence in ("async.shared", *fences):
            past = self.clocks.knowledge.past(fence, at.row, at.thread, (writer & THREAD) >> 5)
            unfenced &= (writer >> TIME) > past
        shadow.refuse(
            unfenced, at, "missing-proxy-fence",
            f"{what} bytes with no fence.proxy.async since they were written",
            lambda first: shadow.writer_text(writer[first]), tell,
        )  # fmt: skip

    def _warn_of_overwritten_reads(self, at: Accesses) -> None:
        """Warn about generic reads that are ordered before an asynchronous write, but without a
        proxy fence."""
        shadow = self.shadow
        at, read = once(at, shadow.tables.all_reads(at.cell))
        past = self.clocks.knowledge.past(
            "async.shared", at.row[:, None], at.thread[:, None], np.arange(shadow.warps)
        )
        generic = (read >> READ_ASYNC) & 1 == 0
        unfenced = any_of(generic & ((read >> READ_TIME) > past), 1)
        if np.count_nonzero(unfenced):
            self.machine.warn(shadow.granules.violation(
                at, unfenced, "proxy-read-overwritten",
                "asynchronous write over bytes with no fence.proxy.async since they were read",
            ))  # fmt: skip
