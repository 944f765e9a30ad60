"""vprintf, which CUDA C++'s printf calls (CUDA C++ Programming Guide, Formatted Output).

The argument buffer holds the arguments one after another, each aligned to its size, after C's
default promotions: float as f64, small integers as 32 bits. Each thread's output is one piece of
the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from kgen.emulate.c_format import FormatConversion, convert, parse
from kgen.emulate.ptx.chunk import GENERIC_WINDOW_BITS, LOCAL_WINDOW, SHARED_WINDOW, Mask, Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.calls import PRINT
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.memory.accesses import RANK_SHIFT
from kgen.emulate.ptx.ops.memory.loadstore import Load, loader
from kgen.emulate.ptx.types import TYPES, Array
from kgen.emulate.windows import WINDOW_BITS, window_start
from kgen.errors import EmulationError

_B32, _B64 = TYPES["b32"], TYPES["b64"]
#: Longest format string, and longest argument of %s, in bytes.
_LONGEST_STRING = 1 << 16
#: Result for a format string at address 0.
_NO_FORMAT = 0xFFFFFFFF

#: Lane: (CTA, warp, lane).
Lane = tuple[int, int, int]


def _vprintf(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    words.finish()
    target = decoder.target(operands[0], _B32)
    formats, buffers = decoder.sources(operands[1:], _B64)
    machine = decoder.machine
    loads = {size: loader(decoder, "", size) for size in (4, 8)}

    def run(mask: Mask) -> None:
        active = machine.everywhere(machine.active(mask))
        at = machine.everywhere(formats())
        result = np.full(machine.shape, _NO_FORMAT, np.uint32)
        pieces: dict[Lane, list[bytes]] = {}
        for address in np.unique(at[active & (at != 0)]).tolist():
            for text, lanes in _formats(machine, int(address), active & (at == address)):
                parts = parse(text)
                _print(machine, parts, buffers().astype(np.int64), lanes, loads, pieces)
                result[lanes] = sum(len(p.sizes) for p in parts if isinstance(p, FormatConversion))
        for lane in sorted(pieces):
            machine.printed.add(b"".join(pieces[lane]))
        target(result, mask)

    return run


def _formats(machine: Machine, address: int, lanes: Array) -> list[tuple[bytes, Array]]:
    """Return the format strings at an address, with the lanes that read each: shared and local
    memory may hold different strings."""
    if address >> GENERIC_WINDOW_BITS >= 1 << WINDOW_BITS - GENERIC_WINDOW_BITS:
        first = _lanes(lanes)[0]
        return [(_string(machine, first, address), lanes)]
    found: dict[bytes, Array] = {}
    for lane in _lanes(lanes):
        text = _string(machine, lane, address)
        found.setdefault(text, np.zeros(lanes.shape, bool))[lane] = True
    return list(found.items())


def _print(
    machine: Machine,
    parts: Sequence[bytes | FormatConversion],
    buffer: Array,
    lanes: Array,
    loads: dict[int, Load],
    pieces: dict[Lane, list[bytes]],
) -> None:
    """Append the output of every lane to its pieces."""
    places = _lanes(lanes)
    offset = 0
    for part in parts:
        if isinstance(part, bytes):
            for lane in places:
                pieces.setdefault(lane, []).append(part)
            continue
        values = []
        for size in part.sizes:
            offset = -(-offset // size) * size
            (loaded,) = loads[size](buffer + offset, size, 1, lanes)
            values.append(machine.everywhere(loaded))
            offset += size
        for lane in places:
            bits = [int(value[lane]) for value in values]
            text = convert(part, bits, partial(_string, machine, lane))
            pieces.setdefault(lane, []).append(text)


def _lanes(mask: Array) -> list[Lane]:
    return [(cta, warp, lane) for cta, warp, lane in np.argwhere(mask).tolist()]


def _string(machine: Machine, lane: Lane, address: int) -> bytes:
    """Return the bytes up to the next zero at a generic address, as seen by a lane."""
    cta, warp, thread = lane
    window = address >> GENERIC_WINDOW_BITS << GENERIC_WINDOW_BITS
    number = (address >> WINDOW_BITS) - 1
    data: Array = np.zeros(0, np.uint8)
    offset = address - window
    if window == SHARED_WINDOW and not offset >> RANK_SHIFT:
        data = machine.shared.data[cta]
    elif window == LOCAL_WINDOW:
        data = machine.local.data[cta, warp, thread]
    elif 0 <= number < len(machine.memory.buffers):
        data, offset = machine.memory.buffers[number], address - window_start(number)
    text, zero, _ = data[offset : offset + _LONGEST_STRING].tobytes().partition(b"\0")
    if zero:
        return text
    if len(text) == _LONGEST_STRING:
        raise EmulationError(
            f"{machine.kernel.name}: printf of a string of more than {_LONGEST_STRING} bytes, the "
            "emulator's limit; end it with a zero, or print less of it"
        )
    lanes = np.zeros(machine.shape, bool)
    lanes[lane] = True
    message = f"printf reads a string of {len(text)} bytes that has no zero at its end"
    raise Violation("out-of-bounds", message, lanes, np.full((1, 1, 1), address))


BUILDERS: dict[str, Builder] = {PRINT: _vprintf}
