"""Instruction classes for counting, and names of matrix instructions.

The class names are those of :mod:`kgen.emulate.counters`. An access through a generic address is
counted as an instruction on global memory, because its class is assigned before the run; its
traffic is counted for the space that it accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgen.emulate.ptx.types import TYPES

_BY_OPCODE = {
    opcode: name
    for name, opcodes in {
        "integer": "add sub mul mad mul24 mad24 sad div rem abs neg min max addc subc madc popc clz"
        " bfind fns brev bfe bfi szext bmsk dp4a dp2a and or xor not cnot lop3 shf shl shr"
        " cvta mapa getctarank",
        "float": "copysign",
        "fma": "fma",
        "special": "rcp sqrt rsqrt ex2 lg2 sin cos tanh",
        "convert": "cvt",
        "move": "mov selp slct prmt",
        "compare": "setp set testp isspacep",
        "control": "bra brx ret exit call call#vprintf trap brkpt",
        "matrix": "mma",
        "load.global": "ldu",
        "load.shared": "ldmatrix",
        "store.shared": "stmatrix",
        "copy": "cp tensormap",
        "atomic": "atom red",
        "warp": "shfl vote match activemask redux elect",
        "barrier": "bar barrier mbarrier griddepcontrol",
        "fence": "fence membar",
    }.items()
    for opcode in opcodes.split()
}
#: State spaces whose loads and stores have their own classes; a generic access names no space.
_SPACES = {
    **dict.fromkeys(("shared", "shared::cta", "shared::cluster"), "shared"),
    **dict.fromkeys(("local", "const", "param"), "other"),
}
#: Words of a cp instruction that waits, or closes a group.
_WAITS = frozenset({"commit_group", "wait_group", "wait_all", "mbarrier"})
_FLOATS = ("float", "bfloat")
#: Types of matrix operands that registers cannot have.
_NARROW = frozenset({"b1", "s4", "u4", "e4m3", "e5m2"})


def class_of(instruction: Sequence[str]) -> str:
    """Return the counter name of an instruction's class, from the words of its opcode."""
    opcode, *words = instruction
    if opcode in ("ld", "st"):
        return ("load." if opcode == "ld" else "store.") + _space(words)
    if opcode == "wmma":
        steps = {"load": f"load.{_space(words)}", "store": f"store.{_space(words)}"}
        return steps.get(words[0], "matrix")
    if opcode == "wgmma":
        return {"fence": "fence", "mma_async": "matrix"}.get(words[0], "barrier")
    if opcode == "cp" and _waits(words):
        return "barrier"
    found = _BY_OPCODE.get(opcode, "other")
    return _arithmetic(opcode, words[-1]) if found == "integer" and words else found


def matrix_name(words: Sequence[str]) -> str | None:
    """Return NAME of the counter `matrix.NAME`: opcode, shape and type of A, as in
    mma.m16n8k16.f16."""
    if class_of(words) != "matrix":
        return None
    shape = next((word for word in words if word[:1] == "m" and word[1:2].isdigit()), "")
    types = [word for word in words if word in TYPES or word in _NARROW]
    # Types are D A B C for mma and D A B for wgmma; wmma on f16 names only D and C.
    operand = types[1] if len(types) > 2 else "f16"
    return f"{words[0]}.{shape}.{operand}"


def _space(words: Sequence[str]) -> str:
    return next((_SPACES[word] for word in words if word in _SPACES), "global")


def _waits(words: Iterable[str]) -> bool:
    """Return whether a cp instruction concerns groups of copies: cp.async.wait_group,
    cp.async.mbarrier.arrive."""
    return any(word in _WAITS for word in words)


def _arithmetic(opcode: str, type_name: str) -> str:
    """Return the class of an opcode that exists for integers, floats and predicates."""
    type_ = TYPES.get(type_name)
    if type_ is None:
        return "integer"
    if type_.kind == "pred":
        return "compare"
    if type_.kind not in _FLOATS:
        return "integer"
    return {"mad": "fma", "div": "special"}.get(opcode, "float")
