"""Scopes of fences and atomics.

Source: LLVM "User Guide for AMDGPU Backend", memory scopes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kgen.emulate.llvm.frontend.module import LlvmInstruction


class Fencing(Protocol):
    """A chunk whose accesses fences put in order."""

    def fence(self, ins: LlvmInstruction, *, release: bool, acquire: bool, device: bool) -> None:
        """Order the active lanes' accesses."""


#: Who takes part: the lanes of a wave, the waves of a workgroup, the workgroups of the device.
LANE, WAVE, WORKGROUP, DEVICE = range(4)

_REACH = {"singlethread": LANE, "wavefront": WAVE, "workgroup": WORKGROUP}
_RELEASES = frozenset(("release", "acq_rel", "seq_cst"))
_ACQUIRES = frozenset(("acquire", "acq_rel", "seq_cst"))


def reach(ins: LlvmInstruction) -> int:
    """The scope of a fence or an atomic; that of the whole system is one of the device here."""
    return _REACH.get(ins.scope.removesuffix("one-as").removesuffix("-"), DEVICE)


def fence(m: Fencing, ins: LlvmInstruction, *, before: bool = True, after: bool = True) -> None:
    """Apply a fence, or the order of an atomic ``before`` it takes place or ``after``."""
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
    """An access with the fences around it that its ordering stands for."""
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
