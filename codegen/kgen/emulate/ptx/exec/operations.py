"""Decoded instructions: actions on lanes and control flow, for the scheduler."""

from __future__ import annotations

from collections.abc import Callable

from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.frontend.syntax import PtxInstruction
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen

#: Reads an operand in every lane.
Source = Callable[[], Array]
#: Writes a register in the active lanes.
Target = Callable[[Array, Mask], None]
#: Executes an instruction in the active lanes.
Action = Callable[[Mask], None]


@frozen
class Branch:
    target: int


@frozen
class Exit:
    pass


@frozen
class Barrier:
    """bar or barrier: `number` and `threads` are uniform; without `threads` all threads take
    part."""

    number: Source
    threads: Source | None
    waits: bool
    #: Whether all lanes of a warp must execute the same instruction.
    aligned: bool
    #: Called with the lanes that leave the barrier, after all have arrived.
    reduction: Action | None = None


@frozen
class Collective:
    """Instruction that the `members` of a warp (None: all lanes) execute together.

    Lanes that have exited count as missing, unless `spares_exited`.
    """

    action: Action
    members: Source | None = None
    spares_exited: bool = False
    #: Warps that execute it together, starting at a multiple of this number: 4 for a warpgroup.
    warps: int = 1


@frozen
class Wait:
    """Instruction at which lanes wait for an event.

    `ready` returns the lanes of a mask that may continue, at any broadcast shape; it is called
    again after `machine.signals` has changed. `action` executes the instruction in these lanes.
    `describe` returns the kind of fault and the message for lanes [C, W, 32] that never continue.
    """

    ready: Callable[[Mask], Array]
    action: Action
    describe: Callable[[Array], tuple[str, str]]


Operation = Action | Branch | Exit | Barrier | Collective | Wait


@frozen
class DecodedInstruction:
    """Decoded instruction; `guard` is its predicate."""

    instruction: PtxInstruction
    guard: Source | None
    operation: Operation
