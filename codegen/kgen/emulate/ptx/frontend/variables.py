"""Variables of a module and of an entry point: declarations and memory layout (PTX ISA 5.1, 5.4).

Only the variables that an entry point names are laid out, like in an assembler. Other variables
take no memory, and an initial value that cannot be parsed matters only to an entry point that uses
it.
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
#: Limit on the bytes of an entry point's variables, by state space. They exceed the shared memory
#: of a CTA on any GPU, and equal the 512 KiB of local memory of a thread (CUDA C++ Programming
#: Guide, Technical Specifications per Compute Capability).
_MOST_BYTES = {"shared": 1 << 20, "local": 1 << 19, "global": 1 << 28, "const": 1 << 23}
#: Largest alignment in bytes, and most digits of a number.
_MOST_ALIGN, _MOST_DIGITS = 1 << 16, 20


@frozen
class _Declaration:
    """Declaration of a variable; `size` is in bytes, `value` the text of its initialiser."""

    space: str
    size: int
    align: int
    type_: PtxType
    value: str


@frozen
class VariableLayout:
    """Variables with their offsets, bytes of each state space, and start of dynamic shared
    memory."""

    variables: Mapping[str, Variable]
    spaces: Mapping[str, int]
    dynamic_shared: int


@dataclass(kw_only=True)
class Variables:
    """Declarations in the order of the text, by unique name."""

    entry: str
    declared: dict[str, _Declaration] = field(default_factory=dict)
    #: Alignment of each extern shared variable; all of them start after the static ones.
    dynamic: dict[str, int] = field(default_factory=dict)

    def declare(self, statement: str, suffix: str) -> tuple[str, str] | None:
        """Declare the variable of a statement; return its name and its unique name, or None if the
        statement does not declare one. Raises EmulationError for a size that no GPU supports."""
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
        # Parameters of a call are in the thread's memory (PTX ISA 5.1.6.4).
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
        """Lay out the named variables in the order of their declarations, then the implicit
        ones."""
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
        """Parse a size. Raises EmulationError for a number with too many digits."""
        if len(digits) > _MOST_DIGITS:
            raise EmulationError(
                f"{self.entry}: the {what} of {name} has {len(digits)} digits; {_MOST_DIGITS} are "
                "the limit; declare smaller arrays"
            )
        return int(digits)


#: Alignment of implicit variables, in bytes.
_IMPLICIT_ALIGN = 16
#: Elements of inner arrays are contiguous.
_WITHOUT_BRACES = str.maketrans("", "", "{}")


def _shown(unique: str) -> str:
    """Return a variable's name in the text, without the suffix that makes it unique."""
    return unique.partition("#")[0]
