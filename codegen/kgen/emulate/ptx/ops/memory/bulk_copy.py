"""cp.async.bulk, cp.reduce.async.bulk and their groups (PTX ISA 9.7.9.25.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.emulate.ptx.asynchronous.tensor_box import CHUNK, REDUCTIONS, Combine, reduction
from kgen.emulate.ptx.asynchronous.transfers import BulkTransfers, Issue, issues, region
from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.counting.traffic import Requests
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import U32, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.memory.bulk_destination import check_aligned, destination
from kgen.emulate.ptx.races.bulk_order import Rows
from kgen.emulate.ptx.types import Array
from kgen.emulate.windows import WINDOW_BITS

SHARED_SPACES = ("shared::cluster", "shared::cta")
_SPACES = (*SHARED_SPACES, "global")
HINTS = frozenset(["L2::cache_hint"])


def bulk(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], reduces: bool
) -> Action:
    """Build the instructions that begin with cp.async.bulk, from the words after it."""
    step = words.choice("commit_group", "wait_group", "prefetch")
    if step == "prefetch":
        return lambda mask: None
    transfers = decoder.engine(BulkTransfers)
    if step == "commit_group":
        words.finish()
        return transfers.commit
    if step == "wait_group":
        reading_only = words.flag("read")
        words.finish()
        pending = decoder.constant(operands[0])
        return lambda mask: transfers.wait(pending, mask, reading_only=reading_only)
    hinted = words.flag("L2::cache_hint")
    if hinted:
        operands = operands[:-1]
    decoder.global_access(CHUNK)
    to, source = words.choice(*_SPACES), words.choice(*_SPACES)
    if to == "global" and source == "shared::cta":
        return _store(decoder, words, operands, reduces)
    if to in SHARED_SPACES and source in ("global", "shared::cta") and not reduces:
        return _load(decoder, words, operands, source)
    raise Unsupported


# ---------------------------------------------------------------------- into shared memory


def _load(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], space: str) -> Action:
    require(len(operands) in (4, 5))
    to = destination(decoder, words, operands[0], operands[3], (*operands, None)[4])
    words.finish()
    source, size = decoder.address(operands[1]), decoder.source(operands[2], U32)
    machine, requests = decoder.machine, decoder.watch()

    def run(mask: Mask) -> None:
        for every in issues(machine, mask):
            for issue, nbytes in _by_size(decoder, every, size()):
                start = issue.of(machine, source())
                check_aligned(issue, start, CHUNK, decoder)
                if space == "global":
                    fetch = _from_global(decoder, issue, start, nbytes)
                    if requests is not None:
                        _count(requests, start[issue.ctas], nbytes, to.readers(issue)[issue.ctas])
                else:
                    fetch = _from_shared(decoder, issue, start, nbytes)
                rows = _rows(issue, start, nbytes) if space == "global" else {}
                to.start(issue, to.starts(issue) + _chunks(nbytes), fetch, rows)

    return run


def _rows(issue: Issue, start: Array, nbytes: int) -> Rows:
    """Return the rows of global memory that each CTA's copy accesses."""
    return {int(cta): (start[cta : cta + 1], nbytes) for cta in np.flatnonzero(issue.ctas)}


def _count(requests: Requests, addresses: Array, nbytes: int, readers: Array) -> None:
    """Count one copy from each address, and the number of CTAs that receive it."""
    for address, times in zip(addresses, readers, strict=True):
        requests.bulk(address, nbytes, store=False, readers=int(times))


def _chunks(nbytes: int) -> Array:
    return np.arange(0, nbytes, CHUNK)[None, :]


def _by_size(decoder: Decoder, issue: Issue, size: Array) -> list[tuple[Issue, int]]:
    """Divide threads by the size of their copies; copies of 0 bytes are dropped."""
    sizes = issue.of(decoder.machine, size)
    check_aligned(issue, sizes, CHUNK, decoder)
    return [
        (issue.where(sizes == nbytes), int(nbytes))
        for nbytes in np.unique(sizes[issue.ctas])
        if nbytes > 0
    ]


def _from_global(decoder: Decoder, issue: Issue, start: Array, nbytes: int) -> Callable[[], Array]:
    machine = decoder.machine
    places = [
        _in_buffer(decoder, issue, int(cta), int(start[cta]), nbytes)
        for cta in np.flatnonzero(issue.ctas)
    ]

    def fetch() -> Array:
        data = np.zeros((machine.ctas, nbytes // CHUNK, CHUNK), np.uint8)
        for cta, (number, offset) in zip(np.flatnonzero(issue.ctas), places, strict=True):
            found = machine.memory.buffers[number][offset : offset + nbytes]
            data[cta] = found.reshape(-1, CHUNK)
        return data

    return fetch


def _in_buffer(
    decoder: Decoder, issue: Issue, cta: int, address: int, nbytes: int, *, write: bool = False
) -> tuple[int, int]:
    """Return buffer number and offset of global bytes. Raises Violation if they are not in one
    buffer."""
    memory = decoder.machine.memory
    number, offset = (address >> WINDOW_BITS) - 1, address & ((1 << WINDOW_BITS) - 1)
    exists = 0 <= number < len(memory.buffers)
    limit = len(memory.buffers[number]) if exists else 0
    where = f"in {memory.names[number]}" if exists else "outside every buffer"
    message = None
    if offset + nbytes > limit:
        message = f"bulk copy {where} of {nbytes} bytes at offset {offset} of {limit} bytes"
    elif write and not memory.buffers[number].flags.writeable:
        message = "bulk copy to a read-only buffer"
    if message is not None:
        only = issue.where(np.arange(len(issue.ctas)) == cta)
        lanes = only.lanes(decoder.machine)
        raise Violation("out-of-bounds", message, lanes, np.full((1, 1, 1), address))
    return number, offset


def _from_shared(decoder: Decoder, issue: Issue, start: Array, nbytes: int) -> Callable[[], Array]:
    """Start a read of the CTA's own shared memory, which ends when the copy completes; return a
    function that returns the bytes."""
    shared = decoder.machine.shared
    source = region(decoder.machine, start[:, None] + _chunks(nbytes), CHUNK, issue)
    shared.begin_read(source)

    def fetch() -> Array:
        shared.finish_read(source, source.issuer)
        return shared.fetch(source)

    return fetch


# ---------------------------------------------------------------------- out of shared memory


def _store(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], reduces: bool
) -> Action:
    require(words.flag("bulk_group") and len(operands) == 3)
    combine = _reduction_of(words) if reduces else None
    words.finish()
    decoder.shared_access(CHUNK)
    to, source = decoder.address(operands[0]), decoder.address(operands[1])
    size = decoder.source(operands[2], U32)
    machine, transfers, requests = decoder.machine, decoder.engine(BulkTransfers), decoder.watch()

    def run(mask: Mask) -> None:
        for every in issues(machine, mask):
            for issue, nbytes in _by_size(decoder, every, size()):
                start, end = issue.of(machine, source()), issue.of(machine, to())
                check_aligned(issue, start, CHUNK, decoder)
                check_aligned(issue, end, CHUNK, decoder)
                write = _to_global(decoder, issue, end, nbytes, combine)
                addresses, rows = start[:, None] + _chunks(nbytes), _rows(issue, end, nbytes)
                transfers.store(issue, addresses, CHUNK, write, rows, reduces=reduces)
                if requests is not None:
                    requests.bulk(end[issue.ctas][:, None], nbytes, store=True)

    return run


def _to_global(
    decoder: Decoder, issue: Issue, to: Array, nbytes: int, combine: tuple[int, Combine] | None
) -> Callable[[Array, Array], None]:
    memory = decoder.machine.memory
    places = {
        int(cta): _in_buffer(decoder, issue, int(cta), int(to[cta]), nbytes, write=True)
        for cta in np.flatnonzero(issue.ctas)
    }

    def write(data: Array, ctas: Array) -> None:
        for cta in np.flatnonzero(ctas):
            number, offset = places[int(cta)]
            target = memory.buffers[number][offset : offset + nbytes]
            new = data[cta].reshape(-1)
            if combine is not None:
                width, function = combine
                unit = f"u{width}"
                new = function(target.view(unit), new.view(unit)).view(np.uint8)
            target[:] = new

    return write


def _reduction_of(words: OpcodeWords) -> tuple[int, Combine]:
    """Return element bytes and reduction for .redOp and .type."""
    words.flag("noftz")
    type_ = words.type()
    name = words.choice(*REDUCTIONS)
    combine = None if name is None else reduction(name, type_.name)
    if combine is None:
        raise Unsupported
    return type_.size, combine
