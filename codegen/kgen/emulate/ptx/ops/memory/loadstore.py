"""ld, st and their cache hints (PTX ISA 9.7.9.8 to 9.7.9.13)."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np

from kgen.emulate.lanes import settle
from kgen.emulate.ptx.chunk import GENERIC_WINDOW_BITS, Mask
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import Builder, Decoder, window
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Address, Operand, Register
from kgen.emulate.ptx.memory.semantics import WEAK, Semantics, semantics_of
from kgen.emulate.ptx.memory.spaces import ParameterMemory, choose
from kgen.emulate.ptx.types import UNSIGNED, Array, PtxType, bits_of

#: Words that select caches and eviction priorities.
HINTS = frozenset(
    ["ca", "cg", "cs", "lu", "cv", "wb", "wt"]
    + ["L2::64B", "L2::128B", "L2::256B", "L2::cache_hint", "L2::evict_last"]
    + ["L2::evict_first", "L2::evict_normal"]
    + [f"L1::{word}" for word in ("evict_normal", "evict_unchanged", "evict_first")]
    + ["L1::evict_last", "L1::no_allocate"]
)
SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param")
_COUNTS = {"v2": 2, "v4": 4, "v8": 8}

#: Loads the elements at addresses.
Load = Callable[[Array, int, int, Mask], list[Array]]
#: Stores the elements at addresses.
Store = Callable[[Array, Sequence[Array], int, Mask], None]
#: Counts an access at addresses.
Note = Callable[[Array, Mask], None]


def space_of(words: OpcodeWords) -> str:
    """Return the state space that the opcode names; "" for generic addresses."""
    return (words.choice(*SPACES) or "").removesuffix("::cta").removesuffix("::cluster")


def _access(words: OpcodeWords) -> tuple[str, int, PtxType, Semantics]:
    """Parse a load or store: state space, elements, type, semantics."""
    type_ = words.type()
    space = space_of(words)
    count = _COUNTS[words.choice(*_COUNTS) or ""] if words.last in _COUNTS else 1
    how = semantics_of(words)
    words.drop(HINTS)
    words.finish()
    return space, count, type_, how


def _load(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    space, count, type_, how = _access(words)
    elements = decoder.elements(operands[0])
    require(len(elements) == count)
    targets = [decoder.target(element, type_) for element in elements]
    size = type_.size
    if space == "param" and _is_name(operands[1], decoder.kernel.variables):
        space = "local"
    if space == "param" and _is_name(operands[1], decoder.parameters):
        return _load_parameter(decoder, operands[1], targets, type_)
    address = decoder.address(operands[1])
    load = loader(decoder, space, size * count, how)
    note = access_note(decoder, space, size * count, store=False)

    def run(mask: Mask) -> None:
        at = address()
        values = load(at, size, count, mask)
        if how.strength:
            decoder.machine.look(at, values[0])
        if note is not None:
            note(at, mask)
        for target, value in zip(targets, values, strict=True):
            target(value.view(type_.dtype), mask)

    return run


def _is_name(operand: Operand, names: Container[str]) -> bool:
    """Return whether an address starts at one of these names; variables are the parameters of
    calls."""
    base = operand.base if isinstance(operand, Address) else None
    return isinstance(base, Register) and base.name in names


def _load_parameter(
    decoder: Decoder,
    operand: Operand,
    targets: Sequence[Callable[[Array, Mask], None]],
    type_: PtxType,
) -> Action:
    """Build a load of a kernel parameter, whose value is constant and equal in all lanes."""
    if not isinstance(operand, Address) or not isinstance(operand.base, Register):
        raise Unsupported
    start = decoder.parameters[operand.base.name].offset + operand.offset
    data = decoder.machine.launch.parameters[start : start + type_.size * len(targets)]
    values = np.frombuffer(data, type_.dtype).reshape(-1, 1, 1, 1)
    require(len(values) == len(targets))

    def run(mask: Mask) -> None:
        for target, value in zip(targets, values, strict=True):
            target(value, mask)

    return run


def _store(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    space, count, type_, how = _access(words)
    require(
        space != "const" and (space != "param" or not _is_name(operands[0], decoder.parameters))
    )
    elements = decoder.elements(operands[1])
    require(len(elements) == count)
    size = type_.size
    sources = decoder.sources(elements, bits_of(type_))
    address = decoder.address(operands[0])
    store = storer(decoder, space, size * count, how)
    note = access_note(decoder, space, size * count, store=True)

    def run(mask: Mask) -> None:
        store(address(), [source() for source in sources], size, mask)
        if note is not None:
            note(address(), mask)

    return run


def access_note(decoder: Decoder, space: str, nbytes: int, *, store: bool) -> Note | None:
    """Return a function that counts accesses to a state space; None if they are not counted."""
    requests, machine = decoder.watch(), decoder.machine
    if requests is None or space not in ("", "global", "shared"):
        return None

    def note(address: Array, mask: Mask) -> None:
        parts = by_window(machine, address, mask) if space == "" else [(space, address, mask)]
        for part_space, at, lanes in parts:
            if part_space == "shared":
                requests.shared(at, nbytes, lanes, load=not store)
            elif part_space == "global":
                (requests.store if store else requests.load)(at, nbytes, lanes)

    return note


def loader(decoder: Decoder, space: str, nbytes: int, how: Semantics = WEAK) -> Load:
    """Return the function that loads from a state space."""
    machine = decoder.machine
    decoder.access(space, nbytes)
    if space == "shared":
        return lambda address, size, count, mask: machine.shared.load(
            address, size, count, mask, how
        )
    if space in ("global", "const"):
        return lambda address, size, count, mask: machine.memory.load(
            address, size, count, mask, how
        )
    if space == "local":
        return lambda address, size, count, mask: machine.local.load(address, size, count, mask)
    if space == "param":
        return lambda address, size, count, mask: _load_by_address(
            machine, address, size, count, mask
        )
    return lambda address, size, count, mask: _load_generic(
        machine, address, size, count, mask, how
    )


def storer(decoder: Decoder, space: str, nbytes: int, how: Semantics = WEAK) -> Store:
    """Return the function that stores to a state space."""
    machine = decoder.machine
    decoder.access(space, nbytes)
    if space == "shared":
        return lambda address, values, size, mask: machine.shared.store(
            address, values, size, mask, how
        )
    if space == "global":
        return lambda address, values, size, mask: machine.memory.store(
            address, values, size, mask, how
        )
    if space in ("local", "param"):
        # Parameters of calls are in the thread's memory; kernel parameters cannot be stored to.
        return lambda address, values, size, mask: machine.local.store(address, values, size, mask)
    return lambda address, values, size, mask: _store_generic(
        machine, address, values, size, mask, how
    )


def _load_by_address(
    machine: Machine, address: Array, size: int, count: int, mask: Mask
) -> list[Array]:
    """Load a parameter of the kernel, or of a call."""
    of_calls = int(settle(address, mask).max()) < ParameterMemory.START
    where = machine.local if of_calls else machine.parameters
    return where.load(address, size, count, mask)


def _load_generic(
    machine: Machine, address: Array, size: int, count: int, mask: Mask, how: Semantics
) -> list[Array]:
    result: list[Array] = [np.zeros((1, 1, 1), UNSIGNED[size])] * count
    for space, where, part in by_window(machine, address, mask):
        if space == "shared":
            loaded = machine.shared.load(where, size, count, part, how)
        elif space == "local":
            loaded = machine.local.load(where, size, count, part)
        elif space == "param":
            loaded = machine.parameters.load(where, size, count, part)
        else:
            loaded = machine.memory.load(where, size, count, part, how)
        if part is mask:
            return loaded
        result = [choose(part, new, old) for new, old in zip(loaded, result, strict=True)]
    return result


def _store_generic(
    machine: Machine, address: Array, values: Sequence[Array], size: int, mask: Mask, how: Semantics
) -> None:
    for space, where, part in by_window(machine, address, mask):
        if space == "shared":
            machine.shared.store(where, values, size, part, how)
        elif space == "local":
            machine.local.store(where, values, size, part)
        else:
            machine.memory.store(where, values, size, part, how)


def by_window(machine: Machine, address: Array, mask: Mask) -> list[tuple[str, Array, Mask]]:
    """Divide generic addresses into (space, addresses there, lanes); a single space keeps the
    mask."""
    number_of = address >> GENERIC_WINDOW_BITS
    lanes = machine.active(mask)
    numbers = np.unique(settle(number_of, lanes))
    found: list[tuple[str, Array, Mask]] = []
    global_lanes = np.ones((1, 1, 1), bool)
    for space in ("shared", "local", "param"):
        start = window(space)
        number = start >> GENERIC_WINDOW_BITS
        if number in numbers:
            if len(numbers) == 1:
                return [(space, address - start, mask)]
            part = number_of == number
            found.append((space, address - start, lanes & part))
            global_lanes = global_lanes & ~part
    if not found:
        return [("global", address, mask)]
    if np.count_nonzero(lanes & global_lanes):
        found.append(("global", address, lanes & global_lanes))
    return found


BUILDERS: dict[str, Builder] = {"ld": _load, "ldu": _load, "st": _store}
