"""atom and red on global and shared memory (PTX ISA 9.7.13.5, 9.7.13.7).

Lanes with equal addresses are processed one after another, in the order of CTAs and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from kgen.emulate.lanes import turns
from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.memory.semantics import semantics_of
from kgen.emulate.ptx.ops.memory.loadstore import by_window, space_of
from kgen.emulate.ptx.types import Array, PtxType, narrow, pack, unpack, widen

#: Functions that vectors of floats in global memory support.
_VECTOR_FUNCTIONS = frozenset(["add", "min", "max"])
_FLOATS = frozenset(["float", "bfloat"])
_HINTS = frozenset(["noftz", "L2::cache_hint"])


def _compare_and_swap(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


#: Functions from the old value and one or two operands to the new value.
_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": lambda old, a: old + a,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, a: a,
    "inc": lambda old, a: np.where(old >= a, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, a: np.where((old == 0) | (old > a), a, old - old.dtype.type(1)),
    "cas": _compare_and_swap,
}


def _build(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand], *, returns: bool
) -> Action:
    if words.has("L2::cache_hint"):
        operands = operands[:-1]
    words.drop(_HINTS)
    how = semantics_of(words, "relaxed")
    type_ = words.type()
    count = int((words.choice("v2", "v4", "v8") or "v1")[1:])
    space = space_of(words)
    name = words.one_of(*_FUNCTIONS)
    words.finish()
    require(space in ("", "global", "shared"))
    require(
        count <= 1 or (space != "shared" and name in _VECTOR_FUNCTIONS and type_.kind in _FLOATS)
    )
    function = _on_registers(_FUNCTIONS[name], name, type_)
    rest = operands[1:] if returns else operands
    address = decoder.address(rest[0])
    require(len(rest) == (3 if name == "cas" else 2))
    results = decoder.elements(operands[0]) if returns else ()
    values = [decoder.elements(operand) for operand in rest[1:]]
    require(all(len(each) == count for each in (*values, *([results] if returns else []))))
    targets = [decoder.target(result, type_) for result in results]
    sources = [decoder.sources(elements, type_) for elements in zip(*values, strict=True)]
    machine, requests = decoder.machine, decoder.watch()
    decoder.access(space, type_.size)
    reads = name != "exch" or (returns and decoder.is_used(operands[0]))

    def run(mask: Mask) -> None:
        where = address()
        if count > 1:
            _refuse_misaligned(where, count * type_.size, mask)
        # Each element is atomic separately. All operands are read before a result overwrites one.
        given = [[source() for source in each] for each in sources]
        for number, values in enumerate(given):
            one(where + number * type_.size if number else where, values, number, mask)

    def one(where: Array, values: Sequence[Array], number: int, mask: Mask) -> None:
        for part_space, at, lanes in _parts(machine, space, where, mask):
            memory = machine.shared if part_space == "shared" else machine.memory
            view, cell = memory.cells(at, type_.size, lanes, how, reads=reads)
            old = _update(
                view.view(type_.dtype), cell, values, machine.everywhere(machine.active(lanes)),
                function,
            )  # fmt: skip
            machine.look(at, old)
            if requests is not None and part_space == "shared":
                requests.shared(at, type_.size, lanes, atomic=True)
            elif requests is not None:
                requests.store(at, type_.size, lanes)
            if targets:
                targets[number](old, lanes)

    return run


def _refuse_misaligned(address: Array, nbytes: int, mask: Mask) -> None:
    odd = (address & (nbytes - 1)) != 0
    lanes = odd if mask is None else odd & mask
    if np.count_nonzero(lanes):
        message = f"atomic of {nbytes} bytes that is not aligned to its size"
        raise Violation("misaligned", message, lanes, address, space="global")


def _parts(
    machine: Machine, space: str, address: Array, mask: Mask
) -> list[tuple[str, Array, Mask]]:
    """Divide lanes by the memory that they modify: (state space, addresses there, lanes)."""
    parts = by_window(machine, address, mask) if space == "" else [(space, address, mask)]
    return [
        (name, at, piece)
        for name, at, lanes in parts
        for piece in (machine.memory.by_buffer(at, lanes) if name == "global" else [lanes])
    ]


def _on_registers(
    function: Callable[..., Array], name: str, type_: PtxType
) -> Callable[..., Array]:
    """Return the function on register values; 16-bit floats are rounded after it."""
    if type_.kind not in ("float", "bfloat") or type_.dtype.kind == "f" or name in ("exch", "cas"):
        return function
    element = type_.element

    def half(*values: Array) -> Array:
        return narrow(element, function(*(widen(element, v) for v in values)))

    if type_.lanes == 1:
        return half

    def both(*values: Array) -> Array:
        low, high = zip(*(unpack(v) for v in values), strict=True)
        return pack(half(*low), half(*high))

    return both


def _update(
    view: Array, cell: Array, values: Sequence[Array], lanes: Array, function: Callable[..., Array]
) -> Array:
    """Apply the function in every active lane, in order; return the old values [C, W, 32]."""
    cells = np.broadcast_to(cell, lanes.shape)[lanes]
    operands = [np.broadcast_to(value, lanes.shape)[lanes] for value in values]
    old = np.empty(len(cells), view.dtype)
    for chosen in turns(cells):
        at = cells[chosen]
        old[chosen] = view[at]
        view[at] = function(old[chosen], *(operand[chosen] for operand in operands))
    result = np.zeros(lanes.shape, view.dtype)
    result[lanes] = old
    return result


BUILDERS: dict[str, Builder] = {
    "atom": partial(_build, returns=True),
    "red": partial(_build, returns=False),
}
