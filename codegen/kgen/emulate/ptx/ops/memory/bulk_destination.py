"""Destinations of bulk copies into shared memory: CTAs of a multicast, and their mbarriers (PTX ISA
9.7.9.25.4, 9.7.9.25.5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.ptx.asynchronous.mbarriers import Lanes, Mbarriers
from kgen.emulate.ptx.asynchronous.tensor_box import CHUNK
from kgen.emulate.ptx.asynchronous.transfers import BulkLoad, BulkTransfers, Issue, region
from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.exec.operations import Source
from kgen.emulate.ptx.frontend.decode import Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.memory.accesses import RANK_SHIFT
from kgen.emulate.ptx.ops.synchronisation.mbarrier_objects import objects_at
from kgen.emulate.ptx.races.bulk_order import Rows, begin_read, chosen
from kgen.emulate.ptx.types import TYPES, Array, any_of
from kgen_runtime.values import frozen

_B16 = TYPES["b16"]


@frozen
class Destination:
    """Destination of an instruction's copies: CTAs, and the mbarriers on which they complete."""

    decoder: Decoder
    address: Source
    objects: Callable[[Mask], list[Lanes]]
    #: Operand that names the CTAs of a multicast, as bits.
    ranks: Source | None

    def starts(self, issue: Issue, alignment: int = CHUNK) -> Array:
        """Return the starts of the threads' copies, as offsets [C, 1] in a CTA's shared memory."""
        to = issue.of(self.decoder.machine, self.address())
        check_aligned(issue, to, alignment, self.decoder)
        return np.asarray(to & ((1 << RANK_SHIFT) - 1))[:, None]

    def readers(self, issue: Issue) -> Array:
        """Return the number of CTAs that receive the copy of each CTA's thread, [C]."""
        if self.ranks is None:
            return np.ones(self.decoder.machine.ctas, np.int64)
        return np.bitwise_count(self._named(issue, self.ranks))

    def _named(self, issue: Issue, ranks: Source) -> Array:
        """Return the ranks [C] of a multicast, as bits. Raises Violation for a rank outside the
        cluster."""
        machine = self.decoder.machine
        bits = issue.of(machine, ranks())
        beyond = issue.where(bits >> machine.cluster != 0)
        if np.count_nonzero(beyond.ctas):
            message = f"multicast to more than the {machine.cluster} CTAs of the cluster"
            raise Violation("out-of-bounds", message, beyond.lanes(machine))
        return bits

    def start(self, issue: Issue, addresses: Array, fetch: Callable[[], Array], rows: Rows) -> None:
        """Start copies to chunks at these offsets [C, n], from rows of global memory."""
        machine = self.decoder.machine
        mbarriers, transfers = self.decoder.engine(Mbarriers), self.decoder.engine(BulkTransfers)
        to = issue.of(machine, self.address())
        for who in self.objects(issue.lanes(machine)):
            here = issue.where(any_of(who.lanes, (1, 2)))
            self._check_place(here, who, to)
            for part, rank in self._by_rank(here, to):
                named = 0 if machine.cluster == 1 else (rank + 1) << RANK_SHIFT
                place = region(machine, addresses | named, CHUNK, part)
                load = BulkLoad(
                    pc=machine.pc,
                    region=place,
                    fetch=fetch,
                    nbytes=addresses.shape[1] * CHUNK,
                    offset=who.offset,
                    rank=rank,
                    destination=self._destination(part, rank),
                    readings=begin_read(machine, part.thread, chosen(rows, part.ctas)),
                )
                transfers.load(mbarriers, who, load)

    def _by_rank(self, issue: Issue, to: Array) -> list[tuple[Issue, int]]:
        """Divide threads by the rank of their own CTA and of the destination."""
        machine = self.decoder.machine
        if machine.cluster == 1:
            return [(issue, 0)]
        own = np.arange(machine.ctas) % machine.cluster
        found = []
        for source in range(machine.cluster):
            here = issue.where(own == source)
            for rank in range(machine.cluster):
                part = here.where(self._goes_to(issue, rank, to, own))
                if np.count_nonzero(part.ctas):
                    found.append((part, rank))
        return found

    def _check_place(self, issue: Issue, who: Lanes, to: Array) -> None:
        """Check that the mbarrier is in the destination's CTA (PTX ISA 9.7.9.25.5.2,
        .cta_group::1)."""
        machine = self.decoder.machine
        if machine.cluster == 1 or self.ranks is not None:
            return
        own, named = np.arange(machine.ctas) % machine.cluster, to >> RANK_SHIFT
        counts = own if who.rank is None else who.rank
        apart = issue.where(np.where(named == 0, own, named - 1) != counts)
        if np.count_nonzero(apart.ctas):
            message = "bulk copy to one CTA that completes on an mbarrier of another"
            raise Violation("trap", message, apart.lanes(machine))

    def _goes_to(self, issue: Issue, rank: int, to: Array, own: Array) -> Array:
        if self.ranks is not None:
            return np.asarray(self._named(issue, self.ranks) >> rank & 1 == 1)
        named = to >> RANK_SHIFT
        return np.asarray(np.where(named == 0, own, named - 1) == rank)

    def _destination(self, issue: Issue, rank: int) -> Array:
        """Return the destination CTAs [C] of the copies."""
        cluster = self.decoder.machine.cluster
        if cluster == 1:
            return issue.ctas
        found = np.zeros(len(issue.ctas), bool)
        found[rank::cluster] = issue.ctas.reshape(-1, cluster).any(axis=1)
        return found


def check_aligned(issue: Issue, address: Array, nbytes: int, decoder: Decoder) -> None:
    """Raise Violation unless the threads' addresses [C] are multiples of `nbytes`."""
    odd = issue.where(address % nbytes != 0)
    if np.count_nonzero(odd.ctas):
        message = f"bulk copy at an address that is not a multiple of {nbytes} bytes"
        lanes = odd.lanes(decoder.machine)
        raise Violation("misaligned", message, lanes, address.reshape(-1, 1, 1))


def destination(
    decoder: Decoder, words: OpcodeWords, to: Operand, mbarrier: Operand, ranks: Operand | None
) -> Destination:
    """Parse the destination of a load: .mbarrier::complete_tx::bytes, .multicast::cluster."""
    require(words.flag("mbarrier::complete_tx::bytes"))
    if words.flag("multicast::cluster") != (ranks is not None):
        raise Unsupported
    decoder.shared_access(CHUNK)
    no_words = OpcodeWords(["shared::cta"])
    return Destination(
        decoder=decoder,
        address=decoder.address(to),
        objects=objects_at(decoder, no_words, mbarrier),
        ranks=None if ranks is None else decoder.source(ranks, _B16),
    )
