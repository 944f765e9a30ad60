"""Peephole pass over rendered kernels: removes identity arithmetic and folds constants.

Templates write an address or an index once for all tiles. Where a term is 0 or 1, the line adds 0,
multiplies by 1 or by 0, shifts by 0, or computes with two literals. In PTX it becomes a move, or
nothing if the register is its own result. In LLVM IR and SPIR-V, where a name stands for one value,
the value replaces the result.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

#: Patterns are compiled when the first kernel in their language is rendered. Those that begin with
#: a newline are tried once per line; one that begins with (?m)^ is tried at each character.
_PTX = (
    r"(?m)^(?P<indent>[ \t]*)(?P<guard>@!?%\w+ )?(?:"
    r"(?P<same>(?:add|sub|and|or|xor|shl|shr|mul\.lo|div)\.(?P<type>[usb](?P<bits>32|64)))"
    r" (?P<to>%\w+), (?P<of>%\w+), (?P<number>[01]);"
    r"|mad\.lo\.(?P<sum_type>[us]\d\d) (?P<sum>%\w+), (?P<one>%\w+), 1, (?P<other>%\w+);"
    r"|rem\.(?P<rem_type>u\d\d) (?P<rem>%\w+), %\w+, 1;"
    r")[ \t]*\n"
)
_LLVM = (
    r"\n[ \t]*(?P<to>%[\w.$-]+) = (?:"
    r"(?P<known>add|sub|mul|shl|lshr|udiv|urem|and|or|xor)(?: nuw| nsw| exact| disjoint)* i\d+"
    r" (?P<x>\d+), (?P<y>\d+)"
    r"|(?:add|sub|or|xor|shl|lshr|ashr)(?: nuw| nsw| exact| disjoint)* i\d+ (?P<of0>%[\w.$-]+), 0"
    r"|add(?: nuw| nsw)* i\d+ 0, (?P<of3>%[\w.$-]+)"
    r"|(?:mul|udiv|sdiv)(?: nuw| nsw| exact)* i\d+ (?P<of1>%[\w.$-]+), 1"
    r"|urem i\d+ %[\w.$-]+, 1"
    r"|(?:mul|and)(?: nuw| nsw)* i\d+ (?:0, %[\w.$-]+|%[\w.$-]+, 0)"
    r"|(?:shl|lshr|udiv|urem)(?: nuw| nsw| exact)* i\d+ 0, %[\w.$-]+"
    r"|getelementptr(?: inbounds| nuw| nusw)* (?:[\w.]+|<[^>]+>|\[[^]]+\]),"
    r" ptr(?: addrspace\(\d+\))? (?P<of2>[%@][\w.$-]+), i\d+ 0"
    r")[ \t]*(?=\n)"
)
_SPIRV = (
    r"\n[ \t]*(?P<to>%\w+) = Op(?:"
    r"(?:IAdd|ISub|ShiftLeftLogical|ShiftRightLogical|BitwiseOr|BitwiseXor)"
    r" %uint (?P<of0>%\w+) %uint_0"
    r"|(?:IMul|UDiv) %uint (?P<of1>%\w+) %uint_1"
    r"|UMod %uint (?P<of2>%\w+) %uint_1"
    r")[ \t]*(?=\n)"
)
_NEUTRAL = {"mul.lo": "1", "div": "1"}
_GIVES_ZERO = ("and", "mul.lo")
#: Operations of LLVM IR on two literals, as in the index of the first of several tiles.
_OF_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "shl": operator.lshift,
    "lshr": operator.rshift,
    "udiv": operator.floordiv,
    "urem": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_NAME = r"(%[\w.$-]*[\w$-])"
#: Last line of a function in LLVM IR.
_END = "\n}\n"


def without_identities(text: str, extension: str) -> str:
    """Return a kernel without identity arithmetic.

    The file extension selects the language: PTX, LLVM IR or SPIR-V assembly.
    """
    if extension == "ptx":
        return re.sub(_PTX, _moved, text)
    if extension == "ll":
        return _END.join(_renamed(part, _LLVM, _llvm_value) for part in text.split(_END))
    return _renamed(f"\n{text}", _SPIRV, _spirv_value)[1:]


def _moved(found: re.Match[str]) -> str:
    """Return the replacement for a line of PTX whose arithmetic may be an identity."""
    start = found["indent"] + (found["guard"] or "")
    if found["sum"]:
        first, second = found["one"], found["other"]
        return f"{start}add.{found['sum_type']} {found['sum']}, {first}, {second};\n"
    if found["rem"]:
        return f"{start}mov.{found['rem_type']} {found['rem']}, 0;\n"
    operation = found["same"].rpartition(".")[0]
    if found["number"] == "0" and operation in _GIVES_ZERO:
        return f"{start}mov.{found['type']} {found['to']}, 0;\n"
    if operation == "and" or found["number"] != _NEUTRAL.get(operation, "0"):
        return found[0]
    if found["to"] == found["of"]:
        return ""
    return f"{start}mov.{found['type']} {found['to']}, {found['of']};\n"


def _llvm_value(found: re.Match[str]) -> str:
    if found["known"]:
        return str(_OF_NUMBERS[found["known"]](int(found["x"]), int(found["y"])))
    return found["of0"] or found["of1"] or found["of2"] or found["of3"] or "0"


def _spirv_value(found: re.Match[str]) -> str:
    return found["of0"] or found["of1"] or "%uint_0"


def _renamed(text: str, identity: str, value: Callable[[re.Match[str]], str]) -> str:
    """Return text without identity definitions, with each result replaced by its value."""
    while same := {found["to"]: value(found) for found in re.finditer(identity, text)}:
        for name, other in same.items():
            while other in same:
                other = same[other]
            same[name] = other
        words = re.split(_NAME, re.sub(identity, "", text))
        words[1::2] = [same.get(name, name) for name in words[1::2]]
        text = "".join(words)
    return text
