"""Functions of a module and calls of them, as text (PTX ISA 5.1.6.4, 7, 9.7.12.5 call).

A call is parsed by parsing the function's body in its place, with the formal names standing for the
actual ones, so that there is no stack: a function that calls itself is not known.
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

#: What a failed assert() of CUDA C++ calls; it does not return.
ASSERTION = "__assertfail"
#: The function that printf() of CUDA C++ calls, and the instruction that stands for its call.
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
    """A call whose function's body is being parsed; it returns to the label `end`."""

    name: str
    end: str


def functions(text: str) -> dict[str, PtxFunction]:
    """The functions of a module that have a body."""
    return {
        found["name"]: PtxFunction(
            formals=(*_names(found["results"]), *_names(found["parameters"])),
            position=found.end() - 1,
        )
        for found in _FUNCTION.finditer(text)
    }


def parse_call(text: str) -> DirectCall | None:
    """The operands of a call instruction; None if it is not a direct call by names."""
    found = _CALL.match(text.strip())
    if found is None:
        return None
    actuals = (*_names(found["results"]), *_names(found["arguments"]))
    return DirectCall(name=found["name"], actuals=actuals)


def _names(text: str | None) -> tuple[str, ...]:
    """The names of declarations or of actual operands, in order; constants have none."""
    parts = (part.strip() for part in (text or "").split(","))
    found = (_NAME.search(part) for part in parts if part)
    return tuple(name[1] for name in found if name is not None)
