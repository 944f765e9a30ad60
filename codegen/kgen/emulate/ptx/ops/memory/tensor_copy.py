"""cp.async.bulk.tensor in tiled mode (PTX ISA 9.7.9.25.5; tensors 5.5).

The im2col mode is not supported: such an instruction is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from kgen.emulate.ptx.asynchronous.descriptor import MAP_BYTES, decode
from kgen.emulate.ptx.asynchronous.tensor_box import (
    CHUNK,
    REDUCTIONS,
    Combine,
    MappedTensor,
    TensorBox,
    chunks,
    reduction,
)
from kgen.emulate.ptx.asynchronous.transfers import BulkTransfers, Issue, issues
from kgen.emulate.ptx.chunk import PARAMETER_WINDOW, Mask, Violation
from kgen.emulate.ptx.counting.traffic import Requests
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action, Source
from kgen.emulate.ptx.frontend.decode import Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Address, Operand
from kgen.emulate.ptx.memory.spaces import ParameterMemory
from kgen.emulate.ptx.ops.memory.bulk_copy import SHARED_SPACES
from kgen.emulate.ptx.ops.memory.bulk_destination import check_aligned, destination
from kgen.emulate.ptx.races.bulk_order import Rows
from kgen.emulate.ptx.types import TYPES, Array
from kgen.emulate.tensor_map import TensorMap
from kgen.emulate.windows import WINDOW_BITS, window_start
from kgen.errors import EmulationError
from kgen_runtime.values import frozen

_S32 = TYPES["s32"]
_DIMENSIONS = {f"{n}d": n for n in range(1, 6)}
#: Alignment of a box in shared memory, in bytes (PTX ISA 5.5, table of alignments).
_BOX_ALIGNMENT = 128

#: Box of each CTA that has one.
Boxes = dict[int, TensorBox]


def tensor(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], reduces: bool
) -> Action:
    """Build the instructions that begin with cp.async.bulk.tensor, from the words after it."""
    words.flag("tile")
    prefetches = words.flag("prefetch")
    dimensions = _DIMENSIONS.get(words.choice(*_DIMENSIONS) or "")
    if words.flag("L2::cache_hint"):
        operands = operands[:-1]
    if dimensions is None:
        raise Unsupported
    for nbytes in decoder.machine.launch.mapped_elements:
        decoder.global_access(nbytes)
    if prefetches:
        words.drop(frozenset(["L2", "global"]))
        words.finish()
        return lambda mask: None
    spaces = (*SHARED_SPACES, "global")
    to, source = words.choice(*spaces), words.choice(*spaces)
    if to == "global" and source == "shared::cta":
        return _store(decoder, words, operands, dimensions, reduces)
    if to in SHARED_SPACES and source == "global" and not reduces:
        return _load(decoder, words, operands, dimensions)
    raise Unsupported


class _TensorMaps:
    """Tensor maps that a chunk has used, by their bytes."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._known: dict[bytes, MappedTensor | None] = {}
        machine.on_reset.append(self._known.clear)

    def at(self, address: int) -> MappedTensor | None:
        """Return the map at a generic address of parameter or global memory; None if there is none.

        Raises EmulationError for a map that the driver would not encode.
        """
        memory = self.machine.memory
        number, offset = (address >> WINDOW_BITS) - 1, address & (window_start(0) - 1)
        held: Array = np.zeros(0, np.uint8)
        if 0 <= number < len(memory.buffers):
            held = memory.buffers[number]
        elif number < 0 and address >= PARAMETER_WINDOW + ParameterMemory.START:
            held = self.machine.parameters.data
            offset = address - PARAMETER_WINDOW - ParameterMemory.START
        data = held[offset : offset + MAP_BYTES].tobytes()
        if len(data) < MAP_BYTES:
            return None
        if data not in self._known:
            self._known[data] = decode(data, memory)
        return self._known[data]


@frozen
class _Place:
    """Operand `[map, {coordinates}]`, in every lane."""

    decoder: Decoder
    map: Source
    coordinates: tuple[Source, ...]

    def boxes(self, issue: Issue) -> list[tuple[Issue, TensorMap, Boxes]]:
        """Divide threads by their map; return the threads, the map, and the box of each CTA."""
        machine = self.decoder.machine
        address = issue.of(machine, self.map())
        at = [issue.of(machine, read()) for read in self.coordinates]
        found = []
        for value in np.unique(address[issue.ctas]):
            part = issue.where(address == value)
            tensor = self._tensor(int(value), part)
            boxes = {
                int(cta): TensorBox(tensor=tensor, coordinates=tuple(int(c[cta]) for c in at))
                for cta in np.flatnonzero(part.ctas)
            }
            found.append((part, tensor.map, boxes))
        return found

    def _tensor(self, address: int, issue: Issue) -> MappedTensor:
        machine = self.decoder.machine
        lanes = issue.lanes(machine)
        try:
            tensor = self.decoder.engine(_TensorMaps).at(address)
        except EmulationError as error:
            raise Violation("trap", str(error), lanes) from None
        if tensor is None:
            message = "there is no tensor map at the address (is a cvta.param missing?)"
            raise Violation("out-of-bounds", message, lanes, np.full((1, 1, 1), address))
        if tensor.map.rank != len(self.coordinates):
            message = (
                f"the tensor map has {tensor.map.rank} dimensions, not {len(self.coordinates)}"
            )
            raise Violation("trap", message, lanes)
        return tensor


def _place(decoder: Decoder, operand: Operand, dimensions: int) -> _Place:
    if not isinstance(operand, Address) or len(operand.coordinates) != dimensions:
        raise Unsupported
    return _Place(
        decoder=decoder,
        map=decoder.address(replace(operand, coordinates=())),
        coordinates=tuple(decoder.sources(operand.coordinates, _S32)),
    )


def _load(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], dimensions: int
) -> Action:
    require(len(operands) in (3, 4))
    to = destination(decoder, words, operands[0], operands[2], (*operands, None)[3])
    words.finish()
    place = _place(decoder, operands[1], dimensions)
    machine, requests = decoder.machine, decoder.watch()

    def run(mask: Mask) -> None:
        for every in issues(machine, mask):
            for issue, map_, boxes in place.boxes(every):
                addresses = _addresses(map_, to.starts(issue, _BOX_ALIGNMENT))
                rows = _rows(machine, boxes)
                to.start(issue, addresses, partial(_fetch, machine.ctas, boxes), rows)
                _count(requests, boxes, to.readers(issue), store=False)

    return run


def _rows(machine: Machine, boxes: Boxes) -> Rows:
    """Return the rows of global memory that each CTA's box accesses, if they are checked."""
    base = next(iter(boxes.values())).tensor.base
    if not machine.checks or machine.order.shadow((base >> WINDOW_BITS) - 1) is None:
        return {}
    return {cta: box.rows() for cta, box in boxes.items()}


def _addresses(map_: TensorMap, start: Array) -> Array:
    """Return the shared addresses [C, chunks] of boxes that start at [C, 1]."""
    return np.stack([chunks(int(at), map_.box_bytes, map_.swizzle) * CHUNK for at in start[:, 0]])


def _fetch(ctas: int, boxes: Boxes) -> Array:
    size = next(iter(boxes.values())).map.box_bytes
    data = np.zeros((ctas, size // CHUNK, CHUNK), np.uint8)
    for cta, box in boxes.items():
        data[cta] = box.load().reshape(-1, CHUNK)
    return data


def _store(
    decoder: Decoder,
    words: OpcodeWords,
    operands: Sequence[Operand],
    dimensions: int,
    reduces: bool,
) -> Action:
    name = words.choice(*REDUCTIONS) if reduces else None
    if not words.flag("bulk_group") or len(operands) != 2 or reduces != (name is not None):
        raise Unsupported
    words.finish()
    decoder.shared_access(CHUNK)
    place, source = _place(decoder, operands[0], dimensions), decoder.address(operands[1])
    machine, transfers, requests = decoder.machine, decoder.engine(BulkTransfers), decoder.watch()

    def run(mask: Mask) -> None:
        for every in issues(machine, mask):
            for issue, map_, boxes in place.boxes(every):
                start = issue.of(machine, source())
                check_aligned(issue, start, _BOX_ALIGNMENT, decoder)
                _check_writeable(decoder, issue, map_)
                write = _writer(boxes, _combine(name, map_, issue.lanes(machine)))
                addresses, rows = _addresses(map_, start[:, None]), _rows(machine, boxes)
                transfers.store(issue, addresses, CHUNK, write, rows, reduces=reduces)
                _count(requests, boxes, np.ones(machine.ctas, np.int64), store=True)

    return run


def _combine(name: str | None, map_: TensorMap, lanes: Array) -> Combine | None:
    if name is None:
        return None
    combine = reduction(name, map_.dtype)
    if combine is None:
        raise Violation("trap", f"there is no reduction {name} of {map_.dtype}", lanes)
    return combine


def _writer(boxes: Boxes, combine: Combine | None) -> Callable[[Array, Array], None]:
    def write(data: Array, ctas: Array) -> None:
        for cta in np.flatnonzero(ctas):
            boxes[int(cta)].store(data[cta].reshape(-1), combine)

    return write


def _check_writeable(decoder: Decoder, issue: Issue, map_: TensorMap) -> None:
    if not map_.buffer.flags.writeable:
        message = "bulk copy to a read-only buffer"
        raise Violation("out-of-bounds", message, issue.lanes(decoder.machine))


def _count(requests: Requests | None, boxes: Boxes, readers: Array, *, store: bool) -> None:
    """Count the contiguous rows of global memory that each CTA's box accesses."""
    if requests is not None:
        for cta, box in boxes.items():
            rows, nbytes = box.rows()
            if rows.size and nbytes:
                requests.bulk(rows, nbytes, store=store, readers=int(readers[cta]))
