"""Parser of instructions on memory in textual LLVM IR; a part of :mod:`instructions`."""

from __future__ import annotations

from kgen.emulate.llvm.frontend.constants import OperandParser, Parse
from kgen.emulate.llvm.frontend.lexer import words
from kgen.emulate.llvm.frontend.module import LlvmInstruction, Operand
from kgen.emulate.llvm.types import I1, LlvmVector, Pointer, Struct

_ORDERINGS = tuple(words("unordered monotonic acquire release acq_rel seq_cst"))
_STRENGTH = ("", *_ORDERINGS).index
_MODIFIERS = frozenset(words("atomic volatile weak elementwise"))


class MemoryParser:
    def __init__(self, operands: OperandParser) -> None:
        self.operands = operands
        self.tokens = operands.tokens
        self.parsers: dict[str, Parse] = {
            "alloca": self.alloca,
            "atomicrmw": self.atomicrmw,
            "cmpxchg": self.cmpxchg,
            "fence": self.fence,
            "getelementptr": self.getelementptr,
            "load": self.load,
            "store": self.store,
        }

    def getelementptr(self, opcode: str, line: int, result: str) -> LlvmInstruction:
        if self.tokens.accept("inrange"):
            self.tokens.skip_brackets()
        source = self.operands.type()
        self.tokens.expect(",")
        operands = tuple(self.operands.typed_operands())
        lanes = max(operand.type.lanes for operand in operands)
        pointer = operands[0].type.element
        return LlvmInstruction(
            opcode=opcode,
            line=line,
            result=result,
            type=LlvmVector(lanes, pointer) if lanes else pointer,
            operands=operands,
            source_type=source,
        )

    def _atomic_words(self) -> tuple[str, str]:
        """Skip ``atomic``, ``volatile``, ``weak``, the scope and the orderings; return the scope
        and the strongest ordering."""
        t = self.tokens
        scope = ordering = ""
        while True:
            if t.accept("syncscope"):
                t.expect("(")
                scope = t.next().strip('"')
                t.expect(")")
            elif t.text in _ORDERINGS:
                ordering = max(ordering, t.next(), key=_STRENGTH)
            elif t.text in _MODIFIERS:
                t.next()
            else:
                return scope, ordering

    def load(self, opcode: str, line: int, result: str) -> LlvmInstruction:
        self._atomic_words()
        type_ = self.operands.type()
        self.tokens.expect(",")
        pointer = self.operands.typed_operand()
        scope, ordering = self._atomic_words()
        return LlvmInstruction(
            opcode=opcode,
            scope=scope,
            ordering=ordering,
            line=line,
            result=result,
            type=type_,
            operands=(pointer,),
            align=self.operands.alignment(type_),
        )

    def store(self, opcode: str, line: int, result: str) -> LlvmInstruction:
        self._atomic_words()
        value, pointer = self.operands.typed_operands()
        scope, ordering = self._atomic_words()
        return LlvmInstruction(
            opcode=opcode,
            scope=scope,
            ordering=ordering,
            line=line,
            operands=(value, pointer),
            align=self.operands.alignment(value.type),
        )

    def alloca(self, opcode: str, line: int, result: str) -> LlvmInstruction:
        """Parse ``alloca <type> [, <ty> <count>] [, align n] [, addrspace(n)]``."""
        t = self.tokens
        t.accept("inalloca")
        type_ = self.operands.type()
        operands: tuple[Operand, ...] = ()
        align = type_.align
        pointer = Pointer()
        while t.text == "," and t.kinds[t.at + 1] != "metadata":
            t.next()
            if t.accept("align"):
                align = t.integer()
            elif t.text == "addrspace":
                t.at -= 1
                t.texts[t.at] = "ptr"  # the same syntax as in a pointer type
                parsed = self.operands.type()
                assert isinstance(parsed, Pointer)
                pointer = parsed
            else:
                operands = (self.operands.typed_operand(),)
        return LlvmInstruction(
            opcode=opcode,
            line=line,
            result=result,
            type=pointer,
            operands=operands,
            source_type=type_,
            align=align,
        )

    def fence(self, opcode: str, line: int, result: str) -> LlvmInstruction:
        scope, ordering = self._atomic_words()
        return LlvmInstruction(opcode=opcode, line=line, scope=scope, ordering=ordering)

    def atomicrmw(self, opcode: str, line: int, result: str) -> LlvmInstruction:
        self._atomic_words()
        predicate = self.tokens.next()
        pointer, value = self.operands.typed_operands()
        scope, ordering = self._atomic_words()
        return LlvmInstruction(
            opcode=opcode,
            scope=scope,
            ordering=ordering,
            line=line,
            result=result,
            type=value.type,
            operands=(pointer, value),
            predicate=predicate,
            align=self.operands.alignment(value.type),
        )

    def cmpxchg(self, opcode: str, line: int, result: str) -> LlvmInstruction:
        self._atomic_words()
        operands = tuple(self.operands.typed_operands())
        scope, ordering = self._atomic_words()
        type_ = operands[1].type
        return LlvmInstruction(
            opcode=opcode,
            scope=scope,
            ordering=ordering,
            line=line,
            result=result,
            type=Struct((type_, I1)),
            operands=operands,
            align=self.operands.alignment(type_),
        )
