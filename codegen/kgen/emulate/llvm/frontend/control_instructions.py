"""Parser of terminators, phis and calls in textual LLVM IR; a part of :mod:`instructions`."""

from __future__ import annotations

from kgen.emulate.llvm.frontend.constants import OperandParser, Parse
from kgen.emulate.llvm.frontend.lexer import symbol
from kgen.emulate.llvm.frontend.module import Fields, Operand
from kgen.errors import EmulationError


class ControlParser:
    def __init__(self, operands: OperandParser) -> None:
        self.operands = operands
        self.tokens = operands.tokens
        self.parsers: dict[str, Parse] = {
            "br": self.br,
            "call": self.call,
            "phi": self.phi,
            "ret": self.ret,
            "switch": self.switch,
            "unreachable": self.unreachable,
        }

    def _label(self) -> str:
        self.tokens.expect("label")
        return symbol(self.tokens.expect_kind("local"))

    def br(self) -> Fields:
        if self.tokens.text == "label":
            return Fields(labels=(self._label(),))
        condition = self.operands.typed_operand()
        self.tokens.expect(",")
        then = self._label()
        self.tokens.expect(",")
        return Fields(operands=(condition,), labels=(then, self._label()))

    def switch(self) -> Fields:
        t = self.tokens
        operands = [self.operands.typed_operand()]
        t.expect(",")
        labels = [self._label()]
        t.expect("[")
        while not t.accept("]"):
            operands.append(self.operands.typed_operand())
            t.expect(",")
            labels.append(self._label())
        return Fields(operands=tuple(operands), labels=tuple(labels))

    def phi(self) -> Fields:
        t = self.tokens
        type_ = self.operands.type()
        operands, labels = [], []
        while True:
            t.expect("[")
            operands.append(self.operands.operand(type_))
            t.expect(",")
            labels.append(symbol(t.expect_kind("local")))
            t.expect("]")
            if t.text != "," or t.texts[t.at + 1] != "[":
                break
            t.next()
        return Fields(type=type_, operands=tuple(operands), labels=tuple(labels))

    def ret(self) -> Fields:
        if self.tokens.accept("void"):
            return Fields()
        value = self.operands.typed_operand()
        return Fields(type=value.type, operands=(value,))

    def unreachable(self) -> Fields:
        return Fields()

    def call(self) -> Fields:
        t = self.tokens
        while not self.operands.at_type():
            if t.kind not in ("word", "number", "string"):
                raise t.error("expected the type of a call")
            self._skip_attribute()
        type_ = self.operands.type()
        if t.text == "(":
            t.skip_brackets()
        if t.text == "asm":
            callee = self._empty_assembly()
        elif t.kind != "global":
            raise EmulationError(f"line {t.line}: calls through a pointer are not supported")
        else:
            callee = symbol(t.next())
        t.expect("(")
        operands: list[Operand] = []
        while not t.accept(")"):
            operands.append(self.operands.typed_operand())
            t.accept(",")
        while (t.kind == "word" and not t.starts_line()) or t.kind == "attribute":
            self._skip_attribute()
        return Fields(type=type_, operands=tuple(operands), callee=callee)

    def _empty_assembly(self) -> str:
        """Return a callee without effect for assembly without instructions, which only keeps LLVM
        from moving memory accesses (LLVM Language Reference, Inline Assembler Expressions)."""
        t = self.tokens
        while t.kind == "word":
            t.next()
        if t.next() != '""':
            raise EmulationError(f"line {t.line}: inline assembly is not supported; remove it")
        t.expect(",")
        t.next()
        return "llvm.donothing"

    def _skip_attribute(self) -> None:
        """Skip a word, a number, ``#3`` or ``align(8)``."""
        self.tokens.next()
        if self.tokens.text == "(":
            self.tokens.skip_brackets()
