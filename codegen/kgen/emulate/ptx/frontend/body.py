"""The statements of one entry point: scopes, declarations, instructions (PTX ISA 4.3, 5.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from kgen.emulate.ptx.frontend import operands
from kgen.emulate.ptx.frontend.calls import ASSERTION, Function, OpenCall, parse_call
from kgen.emulate.ptx.frontend.lexer import end_of_statement, spaced, tokens
from kgen.emulate.ptx.frontend.syntax import (
    Instruction,
    Integer,
    Not,
    Operand,
    Register,
    Variable,
)
from kgen.emulate.ptx.types import TYPES, Type
from kgen.emulate.report import UnknownInstruction
from kgen.errors import EmulationError

_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
#: Directives of debuggers, which no semicolon ends (PTX ISA 11.5).
LINE_DIRECTIVE = re.compile(
    r'\.file\s+\d+\s*"[^"]*"(?:\s*,\s*\d+){0,2}'
    r"|\.loc(?:\s+\d+){3}(?:\s*,\s*function_name\s+[\w$]+(?:\s*\+\s*\d+)?"
    r"\s*,\s*inlined_at(?:\s+\d+){3})?"
)
# These are of text with one blank between any two tokens.
_BRACE = re.compile(r"[{}]")
_FAMILY = re.compile(r"(\S+) < (\d+) >$")
_VARIABLE = re.compile(
    r"(?P<extern>\.extern )?(?:\.(?:visible|weak|common) )?"
    r"\.(?P<space>shared|local|global|const|param) (?:\.align (?P<align>\d+) )?"
    r"\.(?P<type>\w+) (?P<name>[\w$%]+)(?P<extents>(?: \[(?: \d+)? \])*)"
    r"(?: = (?P<value>.*))?$"
)


def product(values: tuple[int, ...]) -> int:
    product = 1
    for value in values:
        product *= value
    return product


@dataclass(kw_only=True)
class Body:
    """The statements of one entry point, read from `position` to its closing brace."""

    text: str
    position: int
    entry: str
    functions: Mapping[str, Function]
    registers: dict[str, Type] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    spaces: dict[str, int] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])
    #: What makes the names of each open scope unique.
    suffixes: list[str] = field(default_factory=lambda: [""])
    scopes_opened: int = 0
    #: The line of the character `counted`.
    line: int = 1
    counted: int = 0
    dynamic: list[tuple[str, int]] = field(default_factory=list)
    #: The targets of brx.idx by the name of their list.
    tables: dict[str, list[str]] = field(default_factory=dict)
    #: The calls in whose place a body is being parsed.
    calls: list[OpenCall] = field(default_factory=list)

    def parse(self, depth: int = 0) -> None:
        """Read until fewer than this many scopes are open."""
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
        """A block: names declared in it hide outer ones (PTX ISA 5.4.6)."""
        self.position += 1
        self.scopes_opened += 1
        scope: dict[str, str] = {}
        depth, start = 1, self.position
        #: What is in the block but in none within it.
        own = []
        for brace in _BRACE.finditer(self.text, start):
            if depth == 1:
                own.append(self.text[start : brace.start()])
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                break
            if depth == 1:
                own.append("}")
                start = brace.end()
        for label in re.findall(r"(?:^|[;{}\n])\s*([A-Za-z_$][\w$]*)\s*:(?!:)", "".join(own)):
            scope[label] = f"{label}#{self.scopes_opened}"
        self.scopes.append(scope)
        self.suffixes.append(f"#{self.scopes_opened}")

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
                statement = " ".join(text.split())
                raise EmulationError(f"{self.entry}, line {self.line}: cannot read `{statement}`")
        else:
            self._instruction(found, self.line, " ".join(text.split()))

    def _declare_registers(self, declaration: list[str]) -> None:
        kind = "".join(declaration[:1])
        type_ = TYPES.get(kind[1:])
        if type_ is None:
            raise EmulationError(f"{self.entry}, line {self.line}: no registers of type {kind}")
        for name in (part.strip() for part in " ".join(declaration[1:]).split(",")):
            family = _FAMILY.match(name)
            for member in [f"{family[1]}{i}" for i in range(int(family[2]))] if family else [name]:
                unique = member + self.suffixes[-1]
                self.scopes[-1][member] = unique
                self.registers[unique] = type_

    def declare_variable(self, statement: str) -> bool:
        """Place a variable; False if the statement does not declare one."""
        found = _VARIABLE.match(spaced(statement))
        if found is None or found["type"] not in TYPES:
            return False
        size = TYPES[found["type"]].size
        align = int(found["align"] or size)
        if found["extern"] and found["space"] == "shared":
            self.dynamic.append((found["name"], align))
            return True
        count = product(tuple(int(n) for n in re.findall(r"\d+", found["extents"])))
        # The parameters of a call are memory of the thread (PTX ISA 5.1.6.4).
        space = "local" if found["space"] == "param" else found["space"]
        name = self._place(space, found["name"], size * count, align)
        if found["value"]:
            self._initialise(name, TYPES[found["type"]], found["value"])
        return True

    def _place(self, space: str, name: str, size: int, align: int) -> str:
        """The unique name of a new variable of the present scope."""
        offset = -(-self.spaces.get(space, 0) // align) * align
        self.spaces[space] = offset + size
        unique = name + self.suffixes[-1]
        self.scopes[-1][name] = unique
        self.variables[unique] = Variable(space=space, offset=offset, size=size)
        return unique

    def _initialise(self, name: str, type_: Type, value: str) -> None:
        items = operands.split(value.replace(" ", "").strip("<>"))
        try:
            data = b"".join(operands.initial_bytes(item, type_) for item in items)
        except ValueError as error:
            raise EmulationError(f"the initial value of {name}: {error}") from None
        at = self.variables[name]
        self.variables[name] = replace(at, data=data.ljust(at.size, b"\0"))

    def place_dynamic(self) -> int:
        """The offset of dynamic shared memory: behind the static variables, all at one place."""
        align = max((align for _, align in self.dynamic), default=1)
        start = -(-self.spaces.get("shared", 0) // align) * align
        for name, _ in self.dynamic:
            self.variables[name] = Variable(space="shared", offset=start, size=0)
        return start

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
        self.instructions.append(
            Instruction(words=words, operands=parsed, guard=guard, line=line, text=text)
        )

    def _branch_targets(self, targets: list[str]) -> None:
        """`name: .branchtargets a, b, ...;` (PTX ISA 11.3); its label has just been read."""
        names = "".join(targets).split(",")
        here = len(self.instructions)
        for label, index in self.labels.items():
            if index == here:
                self.tables[label] = [self._resolve(name) for name in names]

    def _indexed_branch(
        self, rest: str, guard: Register | Not | None, line: int, statement: str
    ) -> None:
        """brx.idx, as a comparison and a branch for each target."""
        index, name = (part.strip() for part in rest.split(","))
        targets = self.tables.get(self._resolve(name))
        if targets is None or guard is not None:
            raise UnknownInstruction(self.entry, statement, line)
        chosen = Register(name=f"brx#{len(self.instructions)}")
        self.registers[chosen.name] = TYPES["pred"]
        source = operands.operand(index, self._resolve)
        for number, target in enumerate(targets):
            against = Integer(value=number)
            self._emit(("setp", "eq", "u32"), (chosen, source, against), None, line, statement)
            self._emit(("bra",), (Register(name=target),), chosen, line, statement)

    def _call(self, text: str, guard: Register | Not | None, line: int, statement: str) -> None:
        """Parse a function's body in place of a call."""
        call = parse_call(text)
        if call is not None and call.name == ASSERTION:
            self._emit(("trap",), (), guard, line, statement)
            return
        function = self.functions.get(call.name) if call else None
        if call is None or function is None or len(call.actuals) != len(function.formals):
            raise UnknownInstruction(self.entry, statement, line)
        if any(open_.name == call.name for open_ in self.calls):
            raise EmulationError(f"{self.entry}, line {line}: {call.name} calls itself")
        end = f"{call.name}#end{len(self.instructions)}"
        if guard is not None:
            skip = guard.register if isinstance(guard, Not) else Not(register=guard)
            self._emit(("bra",), (Register(name=end),), skip, line, statement)
        actuals = [self._resolve(name) for name in call.actuals]
        before = self.position, self.line, self.counted, self.scopes, self.suffixes
        self.position = self.counted = function.position
        self.line = self.text.count("\n", 0, self.position) + 1
        # A function sees the names of the module and its own, not its caller's.
        self.scopes, self.suffixes = [dict(zip(function.formals, actuals, strict=True))], [""]
        self.calls.append(OpenCall(name=call.name, end=end))
        self._open_scope()
        self.parse(depth=1)
        self.calls.pop()
        self.position, self.line, self.counted, self.scopes, self.suffixes = before
        self.labels[end] = len(self.instructions)
