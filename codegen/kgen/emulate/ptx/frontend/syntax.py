"""Parsed PTX entry point, as plain values (PTX ISA 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgen.emulate.ptx.types import PtxType
from kgen_runtime.values import frozen


@frozen
class Register:
    """Register, special register or, without a leading %, variable. `_` is the sink."""

    name: str


@frozen
class Not:
    """Negated predicate, `!%p`."""

    register: Register


@frozen
class DestinationPair:
    """Two destinations, `%p|%q`."""

    first: Register
    second: Register


@frozen
class IntegerLiteral:
    value: int


@frozen
class FloatLiteral:
    value: float


@frozen
class VectorOperand:
    """Vector of operands, `{a, b, ...}`."""

    elements: tuple[Operand, ...]


@frozen
class Address:
    """Address `[base+offset]` in bytes; `[base, {c0, c1, ...}]` has coordinates of a tensor as
    well."""

    base: Register | IntegerLiteral
    offset: int
    coordinates: tuple[Operand, ...] = ()


@frozen
class SymbolAddress:
    """Address of a variable plus a constant in bytes, `tile+16`."""

    base: Register
    offset: int


Operand = (
    Register
    | Not
    | DestinationPair
    | IntegerLiteral
    | FloatLiteral
    | VectorOperand
    | Address
    | SymbolAddress
)


def names_in(operands: Iterable[Operand]) -> list[str]:
    """Return the registers and variables that operands name."""
    found: list[str] = []
    for operand in operands:
        if isinstance(operand, Register):
            found.append(operand.name)
        elif isinstance(operand, Not):
            found.append(operand.register.name)
        elif isinstance(operand, DestinationPair):
            found += [operand.first.name, operand.second.name]
        elif isinstance(operand, VectorOperand):
            found += names_in(operand.elements)
        elif isinstance(operand, SymbolAddress):
            found.append(operand.base.name)
        elif isinstance(operand, Address):
            found += names_in([operand.base, *operand.coordinates])
    return found


@frozen
class PtxInstruction:
    """PTX instruction; `words` are its opcode split at the dots, `line` counts from 1."""

    words: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | Not | None
    line: int
    text: str


@frozen
class PtxParameter:
    """Kernel parameter at a byte offset of parameter space."""

    name: str
    offset: int
    size: int


@frozen
class Variable:
    """Variable at a byte offset of a state space; `data` are its initial bytes."""

    space: str
    offset: int
    size: int
    data: bytes = b""


@frozen
class PtxKernel:
    """Entry point of a PTX text.

    - `target`: architecture of the module; "" if it names none
    - `registers`: type of each declared register
    - `labels`: index of the instruction at each label
    - `variables`: variables that the kernel names; `spaces`: their bytes in each state space
    - `dynamic_shared`: start of all extern shared variables, after the static ones
    - `required_block`: .reqntid; `max_threads`: .maxntid; `required_cluster`: .reqnctapercluster
    - `written`: parameters and variables that the kernel may write, see :mod:`written`
    """

    name: str
    target: str = ""
    parameters: tuple[PtxParameter, ...]
    registers: Mapping[str, PtxType]
    variables: Mapping[str, Variable]
    spaces: Mapping[str, int]
    dynamic_shared: int
    instructions: tuple[PtxInstruction, ...]
    labels: Mapping[str, int]
    required_block: tuple[int, ...] | None = None
    max_threads: int | None = None
    required_cluster: tuple[int, ...] | None = None
    written: frozenset[str] = frozenset()

    @property
    def static_shared(self) -> int:
        """Bytes of the static shared variables that the kernel names."""
        return sum(v.size for v in self.variables.values() if v.space == "shared")
