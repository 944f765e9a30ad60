"""Memory scopes of fences and atomics, and the fences that an ordering implies.

Source: LLVM "User Guide for AMDGPU Backend", memory scopes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kgen.emulate.llvm.frontend.module import LlvmInstruction


class Fencing(Protocol):
    """Chunk of workgroups that records fences."""

    def fence(self, ins: LlvmInstruction, *, release: bool, acquire: bool, device: bool) -> None:
        """Record a fence of the active lanes."""


#: Memory scopes from narrow to wide: one lane, a wave, a workgroup, the device.
LANE, WAVE, WORKGROUP, DEVICE = range(4)

_REACH = {"singlethread": LANE, "wavefront": WAVE, "workgroup": WORKGROUP}
_RELEASES = frozenset(("release", "acq_rel", "seq_cst"))
_ACQUIRES = frozenset(("acquire", "acq_rel", "seq_cst"))


def reach(ins: LlvmInstruction) -> int:
    """Return the scope of a fence or an atomic. System scope counts as device scope."""
    return _REACH.get(ins.scope.removesuffix("one-as").removesuffix("-"), DEVICE)


def fence(m: Fencing, ins: LlvmInstruction, *, before: bool = True, after: bool = True) -> None:
    """Record a fence, or the half of an atomic's ordering ``before`` or ``after`` its access."""
    scope = reach(ins)
    if scope == LANE:
        return
    m.fence(
        ins,
        release=before and scope >= WORKGROUP and ins.ordering in _RELEASES,
        acquire=after and scope >= WORKGROUP and ins.ordering in _ACQUIRES,
        device=scope == DEVICE,
    )


def ordered(ins: LlvmInstruction, access: Callable[..., Any]) -> Callable[..., Any]:
    """Return the access with the fences that its ordering implies before and after it."""
    if ins.ordering not in _RELEASES | _ACQUIRES:
        return access

    def fenced(m: Fencing, *operands: Any) -> Any:
        if ins.ordering in _RELEASES:
            fence(m, ins, after=False)
        result = access(m, *operands)
        if ins.ordering in _ACQUIRES:
            fence(m, ins, before=False)
        return result

    return fenced
