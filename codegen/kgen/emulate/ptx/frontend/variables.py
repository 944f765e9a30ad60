"""Variables of a module and of an entry point (PTX ISA 5.1, 5.4): declared, then laid out.

Only the variables that an entry point names are laid out, as an assembler does: others take no
memory, and an initial value that cannot be read matters only to an entry point that uses it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kgen.emulate.ptx.frontend import operands
from kgen.emulate.ptx.frontend.implicit import implied
from kgen.emulate.ptx.frontend.lexer import spaced
from kgen.emulate.ptx.frontend.syntax import Variable
from kgen.emulate.ptx.types import TYPES, PtxType
from kgen.errors import EmulationError
from kgen_runtime.values import frozen

_VARIABLE = re.compile(
    r"(?P<extern>\.extern )?(?:\.(?:visible|weak|common) )?"
    r"\.(?P<space>shared|local|global|const|param) (?:\.align (?P<align>\d+) )?"
    r"\.(?P<type>\w+) (?P<name>[\w$%]+)(?P<extents>(?: \[(?: \d+)? \])*)"
    r"(?: = (?P<value>.*))?$"
)
#: Bytes that an entry point's variables may have in each state space. A CTA of any GPU has less
#: shared memory, and a thread has 512 KiB of local memory (CUDA C++ Programming Guide, Technical
#: Specifications per Compute Capability).
_MOST_BYTES = {"shared": 1 << 20, "local": 1 << 19, "global": 1 << 28, "const": 1 << 23}
#: The largest alignment in bytes, and the digits of the largest number that is read.
_MOST_ALIGN, _MOST_DIGITS = 1 << 16, 20


@frozen
class _Declaration:
    """A variable as its statement says; `size` is in bytes, `value` the text of its initialiser."""

    space: str
    size: int
    align: int
    type_: PtxType
    value: str


@frozen
class VariableLayout:
    """Variables at their offsets, bytes of each state space, and start of dynamic shared memory."""

    variables: Mapping[str, Variable]
    spaces: Mapping[str, int]
    dynamic_shared: int


@dataclass(kw_only=True)
class Variables:
    """Declarations in the order of the text, by unique name."""

    entry: str
    declared: dict[str, _Declaration] = field(default_factory=dict)
    #: Alignment of the extern shared variables, which all start behind the static ones.
    dynamic: dict[str, int] = field(default_factory=dict)

    def declare(self, statement: str, suffix: str) -> tuple[str, str] | None:
        """(name, unique name) of the variable that a statement declares; None if it is no
        declaration. Raises EmulationError for a size that no GPU has."""
        found = _VARIABLE.match(spaced(statement))
        if found is None or found["type"] not in TYPES:
            return None
        name, type_ = found["name"], TYPES[found["type"]]
        align = self._number(name, "alignment", found["align"] or str(type_.size))
        if align & (align - 1) or not 0 < align <= _MOST_ALIGN:
            raise EmulationError(
                f"{self.entry}: the alignment {align} of {name} is not a power of two up to "
                f"{_MOST_ALIGN}; align it by less"
            )
        if found["extern"] and found["space"] == "shared":
            self.dynamic[name] = align
            return name, name
        extents = re.findall(r"\d+", found["extents"])
        count = math.prod(self._number(name, "array size", extent) for extent in extents)
        # The parameters of a call are memory of the thread (PTX ISA 5.1.6.4).
        space = "local" if found["space"] == "param" else found["space"]
        self.declared[name + suffix] = _Declaration(
            space=space,
            size=type_.size * count,
            align=align,
            type_=type_,
            value=found["value"] or "",
        )
        return name, name + suffix

    def lay_out(self, named: Collection[str]) -> VariableLayout:
        """Place the variables that are named, in the order of their declarations, and behind them
        those that special registers imply."""
        for one_more in implied(named):
            self.declared[one_more.name] = _Declaration(
                space=one_more.space,
                size=one_more.size,
                align=_IMPLICIT_ALIGN,
                type_=TYPES["u32"],
                value=one_more.value,
            )
            named = {*named, one_more.name}
        variables: dict[str, Variable] = {}
        spaces: dict[str, int] = {}
        for name, one in self.declared.items():
            if name not in named:
                continue
            offset = -(-spaces.get(one.space, 0) // one.align) * one.align
            spaces[one.space] = end = offset + one.size
            if end > (most := _MOST_BYTES[one.space]):
                raise EmulationError(
                    f"{self.entry}: the .{one.space} variables up to {_shown(name)} take {end} "
                    f"bytes; {most} is the limit of the emulator; declare smaller arrays"
                )
            data = self._initial(_shown(name), one)
            variables[name] = Variable(space=one.space, offset=offset, size=one.size, data=data)
        align = max(self.dynamic.values(), default=1)
        start = -(-spaces.get("shared", 0) // align) * align
        for name in self.dynamic:
            variables[name] = Variable(space="shared", offset=start, size=0)
        return VariableLayout(variables=variables, spaces=spaces, dynamic_shared=start)

    def _initial(self, name: str, one: _Declaration) -> bytes:
        if not one.value:
            return b""
        items = operands.split(one.value.replace(" ", "").translate(_WITHOUT_BRACES))
        try:
            data = b"".join(operands.initial_bytes(item, one.type_) for item in items)
        except ValueError as error:
            raise EmulationError(
                f"{self.entry}: the initial value of {name}: {error}; initialise it with numbers, "
                "or run an entry point that does not use it"
            ) from None
        if len(data) > one.size:
            raise EmulationError(
                f"{self.entry}: the initial value of {name} has {len(data)} bytes, the variable "
                f"{one.size}"
            )
        return data.ljust(one.size, b"\0")

    def _number(self, name: str, what: str, digits: str) -> int:
        """A whole number; a size written with more digits than any size has is refused."""
        if len(digits) > _MOST_DIGITS:
            raise EmulationError(
                f"{self.entry}: the {what} of {name} has {len(digits)} digits; {_MOST_DIGITS} are "
                "the limit; declare smaller arrays"
            )
        return int(digits)


#: Alignment of what no text declares.
_IMPLICIT_ALIGN = 16
#: Elements of inner arrays follow each other.
_WITHOUT_BRACES = str.maketrans("", "", "{}")


def _shown(unique: str) -> str:
    """A variable as the text calls it, without what makes its name unique."""
    return unique.partition("#")[0]
