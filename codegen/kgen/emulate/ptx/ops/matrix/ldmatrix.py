"""ldmatrix and stmatrix: 8x8 matrices of 16-bit elements in shared memory (PTX ISA 9.7.14.5.15,
.16).

Lane 8 i + r provides the address of row r of matrix i. Lane l holds the elements (l / 4, 2 (l % 4))
and (l / 4, 2 (l % 4) + 1) of each matrix, or of its transpose with .trans.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.exec.operations import Collective
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.types import TYPES, Array, pack, unpack

_B32 = TYPES["b32"]
_COUNTS = {"x1": 1, "x2": 2, "x4": 4}
_ROW_BYTES = 16
_LANE = np.arange(WARP)
_GROUP, _IN_GROUP = _LANE // 4, _LANE % 4


def _form(words: OpcodeWords) -> tuple[int, bool]:
    """Parse the modifiers: number of matrices, and whether they are transposed."""
    count = _COUNTS.get(words.choice(*_COUNTS) or "")
    transposed = words.flag("trans")
    if count is None or not (words.flag("sync") and words.flag("aligned") and words.flag("m8n8")):
        raise Unsupported
    require(words.flag("shared") or words.flag("shared::cta"))
    require(words.flag("b16"))
    words.finish()
    return count, transposed


def _rows(address: Array) -> Array:
    """Broadcast addresses to all 32 lanes."""
    return np.broadcast_to(address, (*address.shape[:2], WARP))


def _pieces(rows: Array, matrix: int, transposed: bool) -> list[Array]:
    """Return the addresses of each lane's part of a matrix: one word, or two halves in two rows."""
    if not transposed:
        return [rows[..., 8 * matrix + _GROUP] + 4 * _IN_GROUP]
    return [rows[..., 8 * matrix + 2 * _IN_GROUP + half] + 2 * _GROUP for half in (0, 1)]


def _load(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    count, transposed = _form(words)
    targets = [decoder.target(element, _B32) for element in decoder.elements(operands[0])]
    require(len(targets) == count)
    address = decoder.address(operands[1])
    decoder.shared_access(_ROW_BYTES)
    machine, requests = decoder.machine, decoder.watch()
    gives_row = (8 * count > _LANE).reshape(1, 1, WARP)

    def run(mask: Mask) -> None:
        readers: Mask = gives_row if mask is None else mask & gives_row
        if count == 4:
            readers = mask
        at = address()
        rows = _rows(machine.shared.read(at, _ROW_BYTES, readers, by_warp=True))
        if requests is not None:
            requests.shared(at, _ROW_BYTES, readers)
        for matrix, target in enumerate(targets):
            pieces = _pieces(rows, matrix, transposed)
            parts = [machine.shared.peek(at, 4 // len(pieces), 1)[0] for at in pieces]
            target(pack(*parts) if transposed else parts[0], mask)

    return Collective(action=run)


def _store(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    count, transposed = _form(words)
    sources = [decoder.source(element, _B32) for element in decoder.elements(operands[1])]
    require(len(sources) == count)
    address = decoder.address(operands[0])
    size = 2 if transposed else 4
    decoder.shared_access(size)
    machine, requests = decoder.machine, decoder.watch()
    gives_row = (8 * count > _LANE).reshape(1, 1, WARP)

    def run(mask: Mask) -> None:
        rows = _rows(address())
        if requests is not None:
            requests.shared(rows, _ROW_BYTES, gives_row if mask is None else mask & gives_row)
        for matrix, source in enumerate(sources):
            values = list(unpack(source())) if transposed else [source()]
            for at, value in zip(_pieces(rows, matrix, transposed), values, strict=True):
                machine.shared.store(at, [value], size, mask)

    return Collective(action=run)


BUILDERS: dict[str, Builder] = {"ldmatrix": _load, "stmatrix": _store}
