"""The classes by which executed instructions are counted, and the names of matrix instructions.

The names of the classes are those of :mod:`kgen.emulate.counters`. An access through a generic
address counts as one of global memory here, since the class is known before anything runs; its
traffic is counted where it really goes.
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
#: Spaces whose loads and stores have classes of their own; a generic access has no space.
_SPACES = {
    **dict.fromkeys(("shared", "shared::cta", "shared::cluster"), "shared"),
    **dict.fromkeys(("local", "const", "param"), "other"),
}
#: Words that say that an asynchronous instruction waits, or closes what is waited for.
_WAITS = frozenset({"commit_group", "wait_group", "wait_all", "mbarrier"})
_FLOATS = ("float", "bfloat")
#: Types of matrix operands that registers do not have.
_NARROW = frozenset({"b1", "s4", "u4", "e4m3", "e5m2"})


def class_of(instruction: Sequence[str]) -> str:
    """The class of an instruction, by its words, as a name of the counters."""
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
    """NAME of the counter `matrix.NAME`: opcode, shape and type of A, as in mma.m16n8k16.f16."""
    if class_of(words) != "matrix":
        return None
    shape = next((word for word in words if word[:1] == "m" and word[1:2].isdigit()), "")
    types = [word for word in words if word in TYPES or word in _NARROW]
    # D A B C for mma, D A B for wgmma; wmma on f16 names D and C alone.
    operand = types[1] if len(types) > 2 else "f16"
    return f"{words[0]}.{shape}.{operand}"


def _space(words: Sequence[str]) -> str:
    return next((_SPACES[word] for word in words if word in _SPACES), "global")


def _waits(words: Iterable[str]) -> bool:
    """Whether a cp is about groups of copies: cp.async.wait_group, cp.async.mbarrier.arrive."""
    return any(word in _WAITS for word in words)


def _arithmetic(opcode: str, type_name: str) -> str:
    """Opcodes that integers share with floating-point numbers and predicates."""
    type_ = TYPES.get(type_name)
    if type_ is None:
        return "integer"
    if type_.kind == "pred":
        return "compare"
    if type_.kind not in _FLOATS:
        return "integer"
    return {"mad": "fma", "div": "special"}.get(opcode, "float")
