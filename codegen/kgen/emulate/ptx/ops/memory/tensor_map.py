"""tensormap.replace and tensormap.cp_fenceproxy (PTX ISA, sections of these names).

A replacement reads and writes the whole map as a weak access of the thread. Fences between a
replacement and the copies that use the map act as memory fences; their presence is not checked.
Strides are in bytes in every PTX version, as in the code of ptxas 12.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgen.emulate.ptx.asynchronous.descriptor import (
    ELEMENT_TYPES,
    FIELDS,
    FILLS,
    MAP_BYTES,
    MARK,
    SWIZZLES,
    Field,
)
from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.operations import Action, Collective, Operation
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.memory.loadstore import Load, loader, storer
from kgen.emulate.ptx.ops.synchronisation import control
from kgen.emulate.ptx.types import TYPES, Array
from kgen.emulate.tensor_map import ELEMENT_BYTES
from kgen.errors import EmulationError

#: Fields with enumerated values, and the supported values.
_CHOICES: Mapping[str, Mapping[int, object]] = {
    "elemtype": ELEMENT_TYPES,
    "swizzle_mode": SWIZZLES,
    "fill_mode": FILLS,
    "interleave_layout": {0: "none"},
    "swizzle_atomicity": {0: "16 bytes"},
}
#: Fields with a value per dimension.
_INDEXED = ("box_dim", "global_dim", "global_stride", "element_stride")
_LONG = ("global_address", "global_stride")
#: Bytes of a word, and of the vectors in which a map is read and written.
_WORD, _VECTOR = 4, 16


def _tensormap(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
    if words.flag("cp_fenceproxy"):
        return _copy(decoder, words, operands)
    if words.flag("replace"):
        return _replace(decoder, words, operands)
    raise Unsupported


def _replace(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    tile, opaque = words.flag("tile"), words.flag("b1024")
    name = words.one_of("global_address", "rank", *_INDEXED, *_CHOICES)
    space = (words.choice("global", "shared::cta") or "").removesuffix("::cta")
    type_ = words.only_type()
    require(tile and opaque and len(operands) == (3 if name in _INDEXED else 2))
    require(type_ is TYPES["b64" if name in _LONG else "b32"])
    if name in _CHOICES:
        _check_choice(decoder, name, decoder.constant(operands[1]))
    field = FIELDS.get(name)
    number = decoder.constant(operands[1]) if name in _INDEXED else 0
    if field is not None and not 0 <= number < field.count:
        raise EmulationError(
            f"{decoder.kernel.name}, line {decoder.line}: tensormap.replace of {name} {number}; "
            f"a tensor map has {field.count}, counted from 0"
        )
    address, value = decoder.address(operands[0]), decoder.source(operands[-1], type_)
    load, store = loader(decoder, space, _VECTOR), storer(decoder, space, _VECTOR)

    def run(mask: Mask) -> None:
        at = address()
        held = _load_map(load, at, mask)
        if field is not None:
            _put(held, field, number, value().astype(np.uint64))
        held[-1] = held[-1] & np.uint32(0xFFFFFF) | np.uint32(MARK << 24)
        for start in range(0, len(held), _WORD):
            store(at + start * _WORD, held[start : start + _WORD], _WORD, mask)

    return run


def _check_choice(decoder: Decoder, name: str, value: int) -> None:
    if value not in _CHOICES[name]:
        known = ", ".join(f"{number} ({what})" for number, what in _CHOICES[name].items())
        raise EmulationError(
            f"{decoder.kernel.name}, line {decoder.line}: tensormap.replace of {name} by {value} "
            f"is not supported; take one of {known}"
        )
    if name == "elemtype":
        decoder.global_access(ELEMENT_BYTES[ELEMENT_TYPES[value]])


def _load_map(load: Load, address: Array, mask: Mask) -> list[Array]:
    """Load the words of a map."""
    return [
        word
        for start in range(0, MAP_BYTES, _VECTOR)
        for word in load(address + start, _WORD, _VECTOR // _WORD, mask)
    ]


def _put(held: list[Array], field: Field, number: int, value: Array) -> None:
    """Replace a value in the words of a map; a value that is too large is clamped."""
    place, byte = divmod(field.offset + number * field.size, _WORD)
    if field.size < _WORD:
        bits = np.uint32(8 * byte)
        kept = held[place] & ~(np.uint32(0xFF) << bits)
        held[place] = kept | np.minimum(value, 0xFF).astype(np.uint32) << bits
        return
    held[place] = value.astype(np.uint32)
    if field.size > _WORD:
        held[place + 1] = (value >> np.uint64(32)).astype(np.uint32)


def _copy(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """cp_fenceproxy: a warp copies one map from shared to global memory, and releases it."""
    known = ("global", "shared::cta", "tensormap::generic", "release", "sync", "aligned")
    require([words.choice(word) for word in known] == [*known] and len(operands) == 3)
    require(decoder.constant(operands[2]) == MAP_BYTES)
    to, source = decoder.address(operands[0]), decoder.address(operands[1])
    load, store = loader(decoder, "shared", _VECTOR), storer(decoder, "global", _VECTOR)
    # The remaining words are the scope.
    fence = control.fence(decoder, words, ())
    machine = decoder.machine

    def run(mask: Mask) -> None:
        lanes = machine.everywhere(machine.active(mask))
        first = lanes & (np.cumsum(lanes, axis=2) == 1)
        held = _load_map(load, source(), first)
        for start in range(0, len(held), _WORD):
            store(to() + start * _WORD, held[start : start + _WORD], _WORD, first)
        fence(mask)

    return Collective(action=run)


BUILDERS: dict[str, Builder] = {"tensormap": _tensormap}
