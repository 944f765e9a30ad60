"""Tables from the name of an LLVM intrinsic to the builder of its function, as in
:mod:`kgen.emulate.llvm.ops`.

A key is the intrinsic's name without overload types: ``llvm.fma`` stands for ``llvm.fma.v16f32``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kgen.emulate.llvm.frontend.lexer import words
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.intrinsics import (
    amx,
    bits,
    buffer_atomics,
    buffers,
    copies,
    dot,
    hardware,
    lanes,
    mathematics,
    matrix,
    prefetches,
    transposed,
    vectors,
    votes,
    wmma,
    workgroup,
)

PURE: Mapping[str, Build] = {
    **bits.PURE,
    **dot.PURE,
    **hardware.PURE,
    **mathematics.PURE,
    **vectors.PURE,
    **workgroup.PURE,
}
EFFECTS: Mapping[str, Build] = {
    **amx.EFFECTS,
    **buffer_atomics.EFFECTS,
    **buffers.EFFECTS,
    **copies.EFFECTS,
    **hardware.EFFECTS,
    **lanes.EFFECTS,
    **matrix.EFFECTS,
    **prefetches.EFFECTS,
    **transposed.EFFECTS,
    **vectors.EFFECTS,
    **votes.EFFECTS,
    **wmma.EFFECTS,
    **workgroup.EFFECTS,
}
#: Intrinsics without an effect here: optimiser assumptions, and hints to the compiler or the
#: scheduler.
NOTHING = frozenset(
    f"llvm.{name}"
    for name in words(
        "amdgcn.iglp.opt amdgcn.s.setprio amdgcn.s.sleep amdgcn.s.nop amdgcn.sched.barrier"
        " amdgcn.sched.group.barrier amdgcn.s.wait.dscnt amdgcn.s.wait.storecnt"
        " amdgcn.s.wait.expcnt amdgcn.s.wait.kmcnt amdgcn.s.sethalt amdgcn.s.dcache.inv"
        " amdgcn.s.dcache.wb assume lifetime.start lifetime.end sideeffect donothing"
        " experimental.noalias.scope.decl"
    )
)
_OVERLOAD = re.compile(r"\.(v\d+)?(i\d+|f\d+|bf16|p\d+)$|\.v\d+\w*$")


def find(name: str) -> tuple[str, Build] | None:
    """Return the kind of intrinsic ("pure", "effect" or "nothing") and its builder; None if
    unknown.

    The name may end in overload types, which are removed one by one until a table has the rest.
    """
    while True:
        if name in PURE:
            return "pure", PURE[name]
        if name in EFFECTS:
            return "effect", EFFECTS[name]
        if name in NOTHING:
            return "nothing", _no_build
        shorter = _OVERLOAD.sub("", name)
        if shorter == name:
            return None
        name = shorter


def _no_build(ins: LlvmInstruction) -> Callable[..., Any]:
    raise AssertionError(f"{ins.callee} does nothing")
