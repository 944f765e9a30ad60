"""Encoding of SPIR-V text to words, by the tables of instructions and enumerants.

The text is what spirv-dis prints and spirv-as reads, one instruction a line: ``%result = OpName
operands``, comments after ``;``. The bytes equal those of spirv-as: ids are numbered in the order
in which they first appear in the encoded operands.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from functools import cache

from kgen.errors import AssembleError
from kgen.targets.vulkan.spirv.enumerants import ENUMERANTS, GLSL_STD_450, MASKS
from kgen.targets.vulkan.spirv.literals import UINT32, NumberType, number, string
from kgen.targets.vulkan.spirv.opcodes import INSTRUCTIONS

MAGIC = 0x07230203
#: Generator's number that spirv-as writes, "Khronos SPIR-V Tools Assembler".
GENERATOR = 7 << 16
#: Most words of an instruction, whose length has 16 bits.
MAX_WORDS = 0xFFFF

_TOKEN = re.compile(r'\s*(?:;.*|("(?:\\.|[^"\\])*")|([^\s;"]+)|(\S))')
_ENUMERANT = re.compile(r"(\w+)=(\d+)(?:\(([\w,?*]+)\))?")
_ID = re.compile(r"%\w+")


@dataclass(frozen=True)
class SpirvOperand:
    kind: str
    optional: bool = False
    repeated: bool = False


@cache
def _instructions() -> dict[str, tuple[int, tuple[SpirvOperand, ...]]]:
    table = {}
    for signature, names in INSTRUCTIONS:
        operands = _operands(signature.split())
        for name in names.split():
            opcode, _, value = name.partition("=")
            table[opcode] = (int(value), operands)
    return table


@cache
def _enumerants(kind: str) -> dict[str, tuple[int, tuple[SpirvOperand, ...]]]:
    return {
        name: (int(value), _operands(parameters.split(",") if parameters else []))
        for name, value, parameters in _ENUMERANT.findall(ENUMERANTS[kind])
    }


@cache
def _glsl() -> dict[str, int]:
    return {name: int(value) for name, value, _ in _ENUMERANT.findall(GLSL_STD_450)}


def _operands(kinds: list[str]) -> tuple[SpirvOperand, ...]:
    return tuple(
        SpirvOperand(kind.rstrip("?*"), optional=kind.endswith("?"), repeated=kind.endswith("*"))
        for kind in kinds
    )


def assemble(text: str, version: tuple[int, int]) -> bytes:
    """Return the binary module of a SPIR-V version, such as (1, 3).

    Raises AssembleError, with the line's number and text, for text that is not SPIR-V assembly and
    for ids that are defined twice or not at all. Types are not checked; spirv-val does that.
    """
    module = _Module()
    words: list[int] = []
    for line_number, line in enumerate(text.splitlines(), start=1):
        try:
            tokens = _tokens(line)
            if tokens:
                words += _Instruction(module, tokens, line_number).encode()
        except ValueError as error:
            raise AssembleError(f"line {line_number}: {error}: {line.strip()}") from None
    for name, line_number in module.used.items():
        if name not in module.defined:
            raise AssembleError(f"line {line_number}: {name} is used and never defined")
    bound = len(module.ids) + 1
    header = [MAGIC, version[0] << 16 | version[1] << 8, GENERATOR, bound, 0]
    return struct.pack(f"<{len(header) + len(words)}I", *header, *words)


def _tokens(line: str) -> list[str]:
    tokens = []
    for quoted, word, stray in _TOKEN.findall(line):
        if stray:
            raise ValueError(f"unexpected {stray}")
        if quoted or word:
            tokens.append(quoted or word)
    return tokens


@dataclass
class _Module:
    """Facts about earlier instructions that later ones need, by the name of an id."""

    ids: dict[str, int] = field(default_factory=dict)
    #: Line of each name's first use.
    used: dict[str, int] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)
    number_types: dict[str, NumberType] = field(default_factory=dict)
    #: Type of each result.
    result_types: dict[str, str] = field(default_factory=dict)
    #: Name of each imported set of extended instructions.
    imports: dict[str, str] = field(default_factory=dict)


class _Instruction:
    """Line that is being encoded: its tokens, and the number of tokens read so far."""

    def __init__(self, module: _Module, tokens: list[str], line: int) -> None:
        self._module = module
        self._line = line
        self._result: str | None = None
        if len(tokens) > 1 and tokens[1] == "=":
            self._result, tokens = tokens[0], tokens[2:]
        if not tokens:
            raise ValueError("an instruction is missing")
        self._opcode, *self._tokens = tokens
        self._next = 0

    def encode(self) -> list[int]:
        table = _instructions()
        if self._opcode not in table:
            raise ValueError(f"unknown instruction {self._opcode}")
        code, operands = table[self._opcode]
        if (self._result is not None) != any(o.kind == "IdResult" for o in operands):
            has = "takes no" if self._result else "needs a"
            raise ValueError(f"{self._opcode} {has} result")
        words = self._sequence(operands)
        if self._more():
            raise ValueError(f"unexpected operand {self._tokens[self._next]}")
        if len(words) + 1 > MAX_WORDS:
            raise ValueError(f"{len(words) + 1} words; an instruction has at most {MAX_WORDS}")
        self._remember()
        return [(len(words) + 1) << 16 | code, *words]

    def _remember(self) -> None:
        """Record the facts on which operands of later instructions depend."""
        if self._result is None:
            return
        module, tokens = self._module, self._tokens
        if self._opcode == "OpTypeInt":
            signed = int(tokens[1]) == 1
            module.number_types[self._result] = NumberType(
                kind="int", width=_width(tokens[0], (8, 16, 32, 64)), signed=signed
            )
        elif self._opcode == "OpTypeFloat":
            module.number_types[self._result] = NumberType(
                kind="float", width=_width(tokens[0], (16, 32, 64))
            )
        elif self._opcode == "OpExtInstImport":
            module.imports[self._result] = tokens[0]
        if tokens:
            module.result_types[self._result] = tokens[0]

    def _more(self) -> bool:
        return self._next < len(self._tokens)

    def _take(self) -> str:
        if not self._more():
            raise ValueError(f"{self._opcode} has too few operands")
        self._next += 1
        return self._tokens[self._next - 1]

    def _sequence(self, operands: tuple[SpirvOperand, ...]) -> list[int]:
        words: list[int] = []
        for operand in operands:
            if operand.repeated:
                while self._more():
                    words += self._operand(operand.kind)
            elif not operand.optional or self._more():
                words += self._operand(operand.kind)
        return words

    def _operand(self, kind: str) -> list[int]:
        match kind:
            case "IdResult":
                return [self._define()]
            case "IdResultType" | "IdRef" | "IdScope" | "IdMemorySemantics":
                return [self._id(self._take())]
            case "PairIdRefIdRef":
                return [self._id(self._take()), self._id(self._take())]
            case "PairLiteralIntegerIdRef":
                # OpSwitch: the literals have the type of the selector.
                selector = self._module.result_types.get(self._tokens[0], "")
                return [*self._number(selector), self._id(self._take())]
            case "LiteralInteger":
                return number(self._take(), UINT32)
            case "LiteralString":
                return string(self._take())
            case "LiteralContextDependentNumber":
                return self._number(self._tokens[0])
            case "LiteralExtInstInteger":
                return [self._extended()]
            case "LiteralSpecConstantOpInteger":
                return self._constant_operation()
        return self._enumerant(kind)

    def _define(self) -> int:
        assert self._result is not None
        if self._result in self._module.defined:
            raise ValueError(f"{self._result} is defined twice")
        word = self._id(self._result)
        self._module.defined.add(self._result)
        return word

    def _id(self, token: str) -> int:
        if not _ID.fullmatch(token):
            raise ValueError(f"{token} is not an id")
        module = self._module
        module.used.setdefault(token, self._line)
        return module.ids.setdefault(token, len(module.ids) + 1)

    def _number(self, type_name: str) -> list[int]:
        kind = self._module.number_types.get(type_name)
        if kind is None:
            raise ValueError(f"{type_name or 'the type'} is not a declared type of numbers")
        return number(self._take(), kind)

    def _extended(self) -> int:
        library = self._module.imports.get(self._tokens[1])
        if library != '"GLSL.std.450"':
            raise ValueError(f"{self._tokens[1]} is not an import of GLSL.std.450")
        name = self._take()
        if name not in _glsl():
            raise ValueError(f"GLSL.std.450 has no {name}")
        return _glsl()[name]

    def _constant_operation(self) -> list[int]:
        """Return the operation inside an OpSpecConstantOp, which is written without its Op."""
        name = f"Op{self._take()}"
        if name not in _instructions():
            raise ValueError(f"unknown instruction {name}")
        code, operands = _instructions()[name]
        return [code, *self._sequence(tuple(o for o in operands if "IdResult" not in o.kind))]

    def _enumerant(self, kind: str) -> list[int]:
        table = _enumerants(kind)
        token = self._take()
        chosen = []
        for name in token.split("|") if kind in MASKS else [token]:
            if name not in table:
                raise ValueError(f"{name} is not a {kind}")
            chosen.append(table[name])
        # The operands of a mask's bits follow in the order of the bits.
        chosen.sort(key=lambda entry: entry[0])
        value = 0
        for bit, _ in chosen:
            value |= bit
        return [value, *(w for _, operands in chosen for w in self._sequence(operands))]


def _width(token: str, allowed: tuple[int, ...]) -> int:
    if token not in map(str, allowed):
        raise ValueError(
            f"{token} is not a width of a number; known are {', '.join(map(str, allowed))}"
        )
    return int(token)
