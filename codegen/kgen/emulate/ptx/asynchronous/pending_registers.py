"""Check that instructions other than wgmma do not access registers of unfinished wgmma operations
(PTX ISA 9.7.15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgen.emulate.ptx.asynchronous.warpgroups import Warpgroups
from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.operations import Action, Collective, DecodedInstruction
from kgen.emulate.ptx.frontend.decode import Decoder
from kgen.emulate.ptx.frontend.syntax import names_in


def protected(decoder: Decoder, steps: Sequence[DecodedInstruction]) -> list[DecodedInstruction]:
    """Wrap the steps that access registers of wgmma operations in a check; return all steps."""
    products = decoder.found(Warpgroups)
    if products is None or not decoder.machine.checks:
        return list(steps)
    return [_protected(products, step) for step in steps]


def _protected(products: Warpgroups, step: DecodedInstruction) -> DecodedInstruction:
    names = names_in(step.instruction.operands)
    known = products.machine.slots
    slots = [known[name] for name in names if known.get(name) in products.slots]
    if not slots or step.instruction.words[0] == "wgmma":
        return step
    operation = step.operation
    if isinstance(operation, Collective):
        action = _checked(products, slots, operation.action)
        return replace(step, operation=replace(operation, action=action))
    if callable(operation):
        return replace(step, operation=_checked(products, slots, operation))
    return step


def _checked(products: Warpgroups, slots: Sequence[int], action: Action) -> Action:
    def run(mask: Mask) -> None:
        if products.pending:
            products.refuse_pending(slots, products.warps(mask))
        action(mask)

    return run
