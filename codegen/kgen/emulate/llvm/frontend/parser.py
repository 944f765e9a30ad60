"""Parser of textual LLVM IR to a :class:`Module`: the top level and the bodies of functions."""

from __future__ import annotations

from functools import lru_cache

from kgen.emulate.llvm.frontend.constants import OperandParser
from kgen.emulate.llvm.frontend.instructions import InstructionParser
from kgen.emulate.llvm.frontend.lexer import Tokens, symbol
from kgen.emulate.llvm.frontend.module import (
    BasicBlock,
    Constant,
    Global,
    LlvmFunction,
    LlvmInstruction,
    LlvmParameter,
    Module,
)
from kgen.emulate.llvm.frontend.processor import named_in_triple
from kgen.emulate.llvm.types import LlvmType

_TOP_LEVEL = frozenset(("define", "declare", "target", "attributes", "source_filename", "module"))
_LINKAGE_WITHOUT_VALUE = frozenset(("external", "extern_weak"))


@lru_cache(maxsize=8)
def parse(source: str) -> Module:
    """Parse a module. Raises :class:`EmulationError`, which names the line.

    The last few modules are cached, because a kernel for a CPU runs once per range of its tasks.
    """
    return _ModuleParser(source).parse()


class _ModuleParser:
    def __init__(self, source: str) -> None:
        self.tokens = Tokens(source)
        self.operands = OperandParser(self.tokens, narrow_pointers="amdgpu_kernel" in source)
        self.instructions = InstructionParser(self.operands)
        self.lines = tuple(source.splitlines())
        self.triple = ""
        self.globals: dict[str, Global] = {}
        self.functions: dict[str, LlvmFunction] = {}
        self.attribute_groups: dict[str, dict[str, str]] = {}
        self.function_groups: dict[str, list[str]] = {}

    def parse(self) -> Module:
        t = self.tokens
        while t.kind != "end":
            start = t.at
            if t.text == "define":
                self._define()
            elif t.text == "target":
                self._target()
            elif t.text == "attributes":
                self._attributes()
            elif t.kind == "global":
                self._global()
            elif t.kind == "local":
                self._named_type()
            else:
                t.next()
            self._skip_to_top_level(start)
        for name, groups in self.function_groups.items():
            for group in groups:
                self.functions[name].attributes.update(self.attribute_groups.get(group, {}))
        if processor := named_in_triple(self.triple):
            for function in self.functions.values():
                function.attributes.setdefault("target-cpu", processor)
        return Module(
            triple=self.triple, globals=self.globals, functions=self.functions, lines=self.lines
        )

    def _skip_to_top_level(self, start: int) -> None:
        """Skip declarations, metadata and the remainder of the entity that was read."""
        t = self.tokens
        while t.kind != "end":
            starts = t.at > start and t.starts_line()
            if starts and (t.text in _TOP_LEVEL or t.kind in ("global", "local")):
                return
            t.next()

    def _target(self) -> None:
        t = self.tokens
        t.expect("target")
        what = t.next()
        t.expect("=")
        value = t.expect_kind("string").strip('"')
        if what == "triple":
            self.triple = value
            self.operands.narrow_pointers |= value.startswith(("amdgcn", "amdgpu"))

    def _attributes(self) -> None:
        """Parse ``attributes #0 = { nounwind "key"="value" }``."""
        t = self.tokens
        t.expect("attributes")
        group = t.expect_kind("attribute")
        t.expect("=")
        t.expect("{")
        values: dict[str, str] = {}
        self.attribute_groups[group] = values
        while not t.accept("}"):
            if t.kind == "string":
                self._string_attribute(values)
            else:
                t.next()

    def _string_attribute(self, into: dict[str, str]) -> None:
        t = self.tokens
        key = t.next().strip('"')
        into[key] = t.next().strip('"') if t.accept("=") else ""

    def _named_type(self) -> None:
        t = self.tokens
        name = symbol(t.next())
        t.expect("=")
        t.expect("type")
        if t.text != "opaque":
            self.operands.named_types[name] = self.operands.type()

    def _global(self) -> None:
        """Parse ``@name = [linkage ...] [addrspace(n)] global|constant <type> [value] [, align
        n]``."""
        t = self.tokens
        name = symbol(t.next())
        t.expect("=")
        space, initialised = 0, True
        while t.text not in ("global", "constant"):
            if t.text in ("alias", "ifunc"):
                raise t.error(f"@{name}: aliases are not supported")
            initialised &= t.text not in _LINKAGE_WITHOUT_VALUE
            if t.next() == "addrspace":
                t.expect("(")
                space = t.integer()
                t.expect(")")
        t.next()
        type_ = self.operands.type()
        value: Constant | None = None
        if initialised:
            value = self.operands.constant(type_)
        align = type_.align
        while t.accept(","):
            if t.next() == "align":
                align = t.integer()
            elif t.kind != "end" and not t.starts_line():
                t.next()
        self.globals[name] = Global(
            name=name, type=type_, space=space, align=align, initializer=value
        )

    # -- functions ------------------------------------------------------------------------------

    def _define(self) -> None:
        t = self.tokens
        line = t.line
        t.expect("define")
        kernel = False
        while not self.operands.at_type():
            kernel |= t.text == "amdgpu_kernel"
            t.next()
            if t.text == "(":
                t.skip_brackets()
        result = self.operands.type()
        name = symbol(t.expect_kind("global"))
        parameters = self._parameters()
        attributes: dict[str, str] = {}
        groups: list[str] = []
        while not t.accept("{"):
            if t.kind == "attribute":
                groups.append(t.next())
            elif t.kind == "string":
                self._string_attribute(attributes)
            elif t.text == "(":
                t.skip_brackets()
            else:
                t.next()
        unnamed = sum(parameter.name.isdigit() for parameter in parameters)
        self.function_groups[name] = groups
        self.functions[name] = LlvmFunction(
            name=name,
            line=line,
            result=result,
            parameters=parameters,
            blocks=self._blocks(entry=str(unnamed)),
            kernel=kernel,
            attributes=attributes,
        )

    def _parameters(self) -> tuple[LlvmParameter, ...]:
        t = self.tokens
        t.expect("(")
        parameters: list[LlvmParameter] = []
        unnamed = 0
        while not t.accept(")"):
            type_: LlvmType = self.operands.type()
            self.operands.skip_attributes()
            name = symbol(t.next()) if t.kind == "local" else str(unnamed)
            unnamed += name.isdigit()
            parameters.append(LlvmParameter(name=name, type=type_))
            t.accept(",")
        return tuple(parameters)

    def _blocks(self, *, entry: str) -> tuple[BasicBlock, ...]:
        t = self.tokens
        blocks: list[BasicBlock] = []
        name = entry
        body: list[LlvmInstruction] = []
        if t.kind == "label":
            name = t.next()[:-1].strip('"')
        while not t.accept("}"):
            if t.kind == "label":
                blocks.append(BasicBlock(name=name, instructions=tuple(body)))
                name, body = t.next()[:-1].strip('"'), []
            else:
                body.append(self.instructions.parse())
        blocks.append(BasicBlock(name=name, instructions=tuple(body)))
        return tuple(blocks)
