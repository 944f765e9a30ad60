"""Parser of an entry point's statements: scopes, declarations, instructions (PTX ISA 4.3, 5.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

from kgen.emulate.ptx.frontend import operands
from kgen.emulate.ptx.frontend.calls import (
    ASSERTION,
    PRINT,
    VPRINTF,
    DirectCall,
    OpenCall,
    PtxFunction,
    parse_call,
)
from kgen.emulate.ptx.frontend.lexer import end_of_statement, tokens
from kgen.emulate.ptx.frontend.syntax import (
    Address,
    IntegerLiteral,
    Not,
    Operand,
    PtxInstruction,
    Register,
    names_in,
)
from kgen.emulate.ptx.frontend.variables import Variables
from kgen.emulate.ptx.types import TYPES, PtxType
from kgen.emulate.report import UnknownInstruction
from kgen.emulate.wording import shorten
from kgen.errors import EmulationError

_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
#: Debugging directives that do not end in a semicolon (PTX ISA 11.5).
LINE_DIRECTIVE = re.compile(
    r'\.file\s+\d+\s*"[^"]*"(?:\s*,\s*\d+){0,2}'
    r"|\.loc(?:\s+\d+){3}(?:\s*,\s*function_name\s+[\w$]+(?:\s*\+\s*\d+)?"
    r"\s*,\s*inlined_at(?:\s+\d+){3})?"
)
# These patterns apply to text with one blank between tokens.
_BRACE = re.compile(r"[{}]")
_FAMILY = re.compile(r"(\S+) < (\d+) >$")
#: Limits on one entry point, so that a short text needs neither hours nor all memory.
_MOST_REGISTERS, _MOST_INSTRUCTIONS = 1 << 18, 1 << 20
#: Limits on nested blocks and nested calls.
_MOST_SCOPES, _MOST_NESTED_CALLS = 200, 80
#: Limit on calls; calls inside called functions count at every call.
_MOST_CALLS = 10_000
#: Operands: the result, the format string and the argument buffer.
_OPERANDS_OF_VPRINTF = 3


@dataclass(kw_only=True)
class EntryBody:
    """Statements of one entry point, parsed from `position` to the closing brace."""

    text: str
    position: int
    entry: str
    functions: Mapping[str, PtxFunction]
    registers: dict[str, PtxType] = field(default_factory=dict)
    variables: Variables = field(init=False)
    instructions: list[PtxInstruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])
    #: Suffixes that make the names of each open scope unique.
    suffixes: list[str] = field(default_factory=lambda: [""])
    scopes_opened: int = 0
    #: Line number of the character at `counted`.
    line: int = 1
    counted: int = 0
    #: Targets of brx.idx by the name of their list.
    tables: dict[str, list[str]] = field(default_factory=dict)
    calls_read: int = 0
    #: Calls whose function body is being parsed in their place.
    calls: list[OpenCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.variables = Variables(entry=self.entry)

    def parse(self, depth: int = 0) -> None:
        """Parse until fewer than `depth` scopes remain open."""
        text = self.text
        while len(self.scopes) > depth:
            while text[self.position : self.position + 1].isspace():
                self.position += 1
            rest = text[self.position : self.position + 1]
            if not rest:
                raise EmulationError(f"{self.entry}: the closing brace is missing")
            if rest == "{":
                self._open_scope()
            elif rest == "}":
                self.scopes.pop()
                self.suffixes.pop()
                self.position += 1
            elif label := _LABEL.match(text, self.position):
                self.labels[self._resolve(label[1])] = len(self.instructions)
                self.position = label.end()
            elif directive := LINE_DIRECTIVE.match(text, self.position):
                self.position = directive.end()
            else:
                self._statement()

    def _open_scope(self) -> None:
        """Open a block; names declared in it hide outer ones (PTX ISA 5.4.6)."""
        if len(self.suffixes) > _MOST_SCOPES:
            raise EmulationError(
                f"{self.entry}: blocks are nested more than {_MOST_SCOPES} deep, the emulator's "
                "limit; take some of the braces away"
            )
        self.position += 1
        self.scopes_opened += 1
        scope: dict[str, str] = {}
        #: Text of the block without nested blocks.
        own, start, end = [], self.position, self._closing.get(self.position - 1, len(self.text))
        while (inner := self.text.find("{", start, end)) >= 0:
            own.append(self.text[start:inner])
            start = self._closing.get(inner, end)
        own.append(self.text[start:end])
        for label in re.findall(r"(?:^|[;{}\n])\s*([A-Za-z_$][\w$]*)\s*:(?!:)", "".join(own)):
            scope[label] = f"{label}#{self.scopes_opened}"
        self.scopes.append(scope)
        self.suffixes.append(f"#{self.scopes_opened}")

    @cached_property
    def _closing(self) -> Mapping[int, int]:
        """Map from the position of each opening brace to its closing brace."""
        found, opened = {}, []
        for brace in _BRACE.finditer(self.text):
            if brace[0] == "{":
                opened.append(brace.start())
            elif opened:
                found[opened.pop()] = brace.start()
        return found

    def _resolve(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def _statement(self) -> None:
        end = end_of_statement(self.text, self.position)
        if end == len(self.text):
            raise EmulationError(f"{self.entry}: a statement has no end")
        self.line += self.text.count("\n", self.counted, self.position)
        self.counted = self.position
        text = self.text[self.position : end]
        found = tokens(text)
        self.position = end + 1
        if not found or found[0] == ".pragma":
            return
        if found[0] == ".reg":
            self._declare_registers(found[1:])
        elif found[0] == ".branchtargets":
            self._branch_targets(found[1:])
        elif found[0].startswith("."):
            if not self.declare_variable(text):
                raise EmulationError(
                    f"{self.entry}, line {self.line}: cannot read `{shorten(text)}`"
                )
        else:
            self._instruction(found, self.line, " ".join(text.split()))

    def _declare_registers(self, declaration: list[str]) -> None:
        kind = "".join(declaration[:1])
        type_ = TYPES.get(kind[1:])
        if type_ is None:
            raise EmulationError(f"{self.entry}, line {self.line}: no registers of type {kind}")
        for name in (part.strip() for part in " ".join(declaration[1:]).split(",")):
            for member in self._members(name):
                unique = member + self.suffixes[-1]
                self.scopes[-1][member] = unique
                self.registers[unique] = type_

    def _members(self, name: str) -> list[str]:
        """Return the registers that a name declares: `%r<3>` declares %r0, %r1 and %r2."""
        family = _FAMILY.match(name)
        digits = family[2] if family else "1"
        left = _MOST_REGISTERS - len(self.registers)
        if len(digits) > len(str(_MOST_REGISTERS)) or int(digits) > left:
            raise EmulationError(
                f"{self.entry}, line {self.line}: .reg {shorten(name)} makes more registers than "
                f"the emulator's limit of {_MOST_REGISTERS} in one entry point; declare as many as "
                "it uses"
            )
        return [f"{family[1]}{i}" for i in range(int(digits))] if family else [name]

    def declare_variable(self, statement: str) -> bool:
        """Declare a variable in the current scope; return False if the statement does not declare
        one."""
        names = self.variables.declare(statement, self.suffixes[-1])
        if names is not None:
            name, unique = names
            self.scopes[-1][name] = unique
        return names is not None

    def named(self) -> frozenset[str]:
        """Return the names in the operands of all instructions."""
        return frozenset(name for i in self.instructions for name in names_in(i.operands))

    def _instruction(self, found: list[str], line: int, statement: str) -> None:
        guard: Register | Not | None = None
        if found[0] == "@":
            negated = found[1:2] == ["!"]
            register = Register(name=self._resolve("".join(found[1 + negated : 2 + negated])))
            guard = Not(register=register) if negated else register
            found = found[2 + negated :]
        modifiers = list(takewhile(lambda token: token.startswith("."), found[1:]))
        rest = "".join(found[1 + len(modifiers) :])
        words = tuple("".join(found[: 1 + len(modifiers)]).split("."))
        if words in (("call",), ("call", "uni")):
            self._call(rest, guard, line, statement)
            return
        if words[0] == "brx":
            self._indexed_branch(rest, guard, line, statement)
            return
        if words[0] == "ret" and self.calls:
            self._emit(("bra",), (Register(name=self.calls[-1].end),), guard, line, statement)
            return
        try:
            parsed = tuple(operands.operand(o, self._resolve) for o in operands.split(rest))
        except ValueError as error:
            raise EmulationError(f"{self.entry}, line {line}: {error}") from None
        self._emit(words, parsed, guard, line, statement)

    def _emit(
        self,
        words: tuple[str, ...],
        parsed: tuple[Operand, ...],
        guard: Register | Not | None,
        line: int,
        text: str,
    ) -> None:
        if len(self.instructions) >= _MOST_INSTRUCTIONS:
            raise EmulationError(
                f"{self.entry}, line {line}: more than {_MOST_INSTRUCTIONS} instructions, the "
                "emulator's limit (a called function counts at every call); make it smaller"
            )
        self.instructions.append(
            PtxInstruction(words=words, operands=parsed, guard=guard, line=line, text=text)
        )

    def _branch_targets(self, targets: list[str]) -> None:
        """Parse `name: .branchtargets a, b, ...;` (PTX ISA 11.3); its label has just been
        parsed."""
        names = "".join(targets).split(",")
        here = len(self.instructions)
        for label, index in self.labels.items():
            if index == here:
                self.tables[label] = [self._resolve(name) for name in names]

    def _indexed_branch(
        self, rest: str, guard: Register | Not | None, line: int, statement: str
    ) -> None:
        """Emit brx.idx as a comparison and a branch for each target."""
        index, name = (part.strip() for part in rest.split(","))
        targets = self.tables.get(self._resolve(name))
        if targets is None or guard is not None:
            raise UnknownInstruction(self.entry, statement, line)
        chosen = Register(name=f"brx#{len(self.instructions)}")
        self.registers[chosen.name] = TYPES["pred"]
        source = operands.operand(index, self._resolve)
        for number, target in enumerate(targets):
            against = IntegerLiteral(value=number)
            self._emit(("setp", "eq", "u32"), (chosen, source, against), None, line, statement)
            self._emit(("bra",), (Register(name=target),), chosen, line, statement)

    def _call(self, text: str, guard: Register | Not | None, line: int, statement: str) -> None:
        """Parse a function's body in place of a call."""
        call = parse_call(text)
        if call is not None and call.name == ASSERTION:
            self._emit(("trap",), (), guard, line, statement)
            return
        function = self.functions.get(call.name) if call else None
        if call is not None and function is None and call.name == VPRINTF:
            self._print(call, guard, line, statement)
            return
        if call is None or function is None or len(call.actuals) != len(function.formals):
            raise UnknownInstruction(self.entry, statement, line)
        if any(open_.name == call.name for open_ in self.calls):
            raise EmulationError(f"{self.entry}, line {line}: {call.name} calls itself")
        self.calls_read += 1
        if len(self.calls) >= _MOST_NESTED_CALLS or self.calls_read > _MOST_CALLS:
            raise EmulationError(
                f"{self.entry}, line {line}: more calls than the emulator's limit of {_MOST_CALLS} "
                f"that are nested up to {_MOST_NESTED_CALLS} deep; inline some of them"
            )
        end = f"{call.name}#end{len(self.instructions)}"
        if guard is not None:
            skip = guard.register if isinstance(guard, Not) else Not(register=guard)
            self._emit(("bra",), (Register(name=end),), skip, line, statement)
        actuals = [self._resolve(name) for name in call.actuals]
        before = self.position, self.line, self.counted, self.scopes, self.suffixes
        self.position = self.counted = function.position
        self.line = self.text.count("\n", 0, self.position) + 1
        # A function sees the names of the module and its own names, not its caller's.
        self.scopes, self.suffixes = [dict(zip(function.formals, actuals, strict=True))], [""]
        self.calls.append(OpenCall(name=call.name, end=end))
        self._open_scope()
        self.parse(depth=1)
        self.calls.pop()
        self.position, self.line, self.counted, self.scopes, self.suffixes = before
        self.labels[end] = len(self.instructions)

    def _print(
        self, call: DirectCall, guard: Register | Not | None, line: int, statement: str
    ) -> None:
        """Emit vprintf as an instruction on registers; its operands may be parameters of the
        call."""
        if len(call.actuals) != _OPERANDS_OF_VPRINTF:
            raise UnknownInstruction(self.entry, statement, line)
        result, *inputs = (Register(name=self._resolve(name)) for name in call.actuals)
        found = []
        for operand in inputs:
            held = self._held(operand, "b64")
            if held != operand:
                at = Address(base=operand, offset=0)
                self._emit(("ld", "param", "b64"), (held, at), guard, line, statement)
            found.append(held)
        held = self._held(result, "b32")
        self._emit((PRINT,), (held, *found), guard, line, statement)
        if held != result:
            at = Address(base=result, offset=0)
            self._emit(("st", "param", "b32"), (at, held), guard, line, statement)

    def _held(self, operand: Register, type_name: str) -> Register:
        """Return the operand, or a new register for it if it is a variable."""
        if operand.name in self.registers:
            return operand
        held = Register(name=f"vprintf#{len(self.registers)}")
        self.registers[held.name] = TYPES[type_name]
        return held
