"""Decoded instructions as the scheduler sees them: actions on lanes, changes of control."""

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
#: What an instruction does in the active lanes.
Action = Callable[[Mask], None]


@frozen
class Branch:
    target: int


@frozen
class Exit:
    pass


@frozen
class Barrier:
    """bar / barrier: `number` and `threads` are uniform; without `threads` all take part."""

    number: Source
    threads: Source | None
    waits: bool
    #: The lanes of a warp must all come to the same instruction.
    aligned: bool
    #: Called with the lanes that leave the barrier, after all have arrived.
    reduction: Action | None = None


@frozen
class Collective:
    """An instruction that the `members` of a warp (all lanes if None) execute together.

    Lanes that have exited are missed, unless `spares_exited`.
    """

    action: Action
    members: Source | None = None
    spares_exited: bool = False
    #: How many warps, from a multiple of this number on, execute it together: 4 for a warpgroup.
    warps: int = 1


@frozen
class Wait:
    """An instruction at which lanes stay until something has happened.

    `ready` gives the lanes of a mask that may go on, at any broadcast shape; `action` is what the
    instruction does in them. It is asked again after `machine.signals` has changed. `describe` says
    what kind of fault it is that lanes [C, W, 32] never go on, and what they wait for.
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
