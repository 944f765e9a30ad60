"""Functions of a module and calls of them (PTX ISA 5.1.6.4, 7, 9.7.12.5 call).

A call is inlined: the function's body is parsed in its place, with the formal names bound to the
actual ones. Recursive functions are not supported.
"""

from __future__ import annotations

import re

from kgen_runtime.values import frozen

_FUNCTION = re.compile(
    r"\.func\s*(?:\((?P<results>[^)]*)\))?\s*(?P<name>[\w$]+)\s*(?:\((?P<parameters>[^)]*)\))?"
    r"[^{;]*\{"
)
_CALL = re.compile(
    r"(?:\((?P<results>[^)]*)\)\s*,\s*)?(?P<name>[A-Za-z_$][\w$]*)\s*"
    r"(?:,\s*\((?P<arguments>[^)]*)\))?$"
)
_NAME = re.compile(r"([\w$%]+)\s*(?:\[\s*\d*\s*\])?$")

#: Function that a failed assert() of CUDA C++ calls; it does not return.
ASSERTION = "__assertfail"
#: Function that printf() of CUDA C++ calls, and the opcode that replaces its call.
VPRINTF, PRINT = "vprintf", "call#vprintf"


@frozen
class PtxFunction:
    """Function with a body, whose opening brace is at `position`; `formals`: results first."""

    formals: tuple[str, ...]
    position: int


@frozen
class DirectCall:
    """Direct call; `actuals` are the results and then the arguments."""

    name: str
    actuals: tuple[str, ...]


@frozen
class OpenCall:
    """Call whose function's body is being parsed; it returns to the label `end`."""

    name: str
    end: str


def functions(text: str) -> dict[str, PtxFunction]:
    """Return the functions of a module that have a body."""
    return {
        found["name"]: PtxFunction(
            formals=(*_names(found["results"]), *_names(found["parameters"])),
            position=found.end() - 1,
        )
        for found in _FUNCTION.finditer(text)
    }


def parse_call(text: str) -> DirectCall | None:
    """Parse the operands of a call instruction; None if it is not a direct call by names."""
    found = _CALL.match(text.strip())
    if found is None:
        return None
    actuals = (*_names(found["results"]), *_names(found["arguments"]))
    return DirectCall(name=found["name"], actuals=actuals)


def _names(text: str | None) -> tuple[str, ...]:
    """Return the names in declarations or actual operands, in order; constants have none."""
    parts = (part.strip() for part in (text or "").split(","))
    found = (_NAME.search(part) for part in parts if part)
    return tuple(name[1] for name in found if name is not None)
