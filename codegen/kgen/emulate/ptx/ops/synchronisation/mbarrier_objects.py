"""Address operands of mbarrier instructions, and their memory semantics."""

from __future__ import annotations

from collections.abc import Callable

from kgen.emulate.ptx.asynchronous.mbarriers import OBJECT_BYTES, Lanes, Mbarriers
from kgen.emulate.ptx.chunk import SHARED_WINDOW, Mask, Violation
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.frontend.decode import Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.memory.loadstore import by_window
from kgen.emulate.ptx.order.tags import Strength
from kgen.emulate.ptx.types import Array

_SPACES = ("shared", "shared::cta", "shared::cluster")
_SCOPES = ("cta", "cluster")


def objects_at(
    decoder: Decoder, words: OpcodeWords, operand: Operand
) -> Callable[[Mask], list[Lanes]]:
    """Return a function that finds the objects at the lanes' addresses and checks a strong access
    to them."""
    address, machine = shared_address(decoder, words, operand), decoder.machine
    mbarriers = decoder.engine(Mbarriers)

    def find(mask: Mask) -> list[Lanes]:
        at = address(mask)
        machine.shared.read(at, OBJECT_BYTES, mask, strength=Strength.CLUSTER)
        return mbarriers.used_by(at, mask)

    return find


def shared_address(
    decoder: Decoder, words: OpcodeWords, operand: Operand
) -> Callable[[Mask], Array]:
    """Return a reader of a shared address, which the operand names as a shared or a generic
    address."""
    named = words.choice(*_SPACES) is not None
    address, machine = decoder.address(operand), decoder.machine
    decoder.shared_access(OBJECT_BYTES)
    if named:
        return lambda mask: address()
    return lambda mask: _in_shared(machine, address(), mask)


def _in_shared(machine: Machine, address: Array, mask: Mask) -> Array:
    """Convert generic addresses to shared ones. Raises Violation for other spaces."""
    for space, _, lanes in by_window(machine, address, mask):
        if space != "shared":
            message = "an mbarrier must be in shared memory"
            raise Violation("out-of-bounds", message, machine.active(lanes), address)
    return address - SHARED_WINDOW


def synchronises(words: OpcodeWords, release: bool) -> bool:
    """Return whether the instruction releases (or acquires), from its words; the scope has no
    effect."""
    weak = words.choice("relaxed", "release", "acquire") == "relaxed"
    words.choice(*_SCOPES)
    return release and not weak
