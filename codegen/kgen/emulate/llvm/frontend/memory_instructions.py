"""Parser of instructions on memory in textual LLVM IR; a part of :mod:`instructions`."""

from __future__ import annotations

from kgen.emulate.llvm.frontend.constants import OperandParser, Parse
from kgen.emulate.llvm.frontend.lexer import words
from kgen.emulate.llvm.frontend.module import Fields, Operand
from kgen.emulate.llvm.types import I1, LlvmType, LlvmVector, Pointer, Struct

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

    def getelementptr(self) -> Fields:
        if self.tokens.accept("inrange"):
            self.tokens.skip_brackets()
        source = self.operands.type()
        self.tokens.expect(",")
        operands = tuple(self.operands.typed_operands())
        lanes = max(operand.type.lanes for operand in operands)
        pointer = operands[0].type.element
        return Fields(
            type=LlvmVector(lanes, pointer) if lanes else pointer,
            operands=operands,
            source_type=source,
        )

    def _order(self) -> Fields:
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
                return Fields(scope=scope, ordering=ordering)

    def _order_and_alignment(self, type_: LlvmType) -> Fields:
        """Parse the end of an access to a value of a type."""
        return self._order() | Fields(align=self.operands.alignment(type_))

    def load(self) -> Fields:
        self._order()
        type_ = self.operands.type()
        self.tokens.expect(",")
        operands = (self.operands.typed_operand(),)
        return Fields(type=type_, operands=operands) | self._order_and_alignment(type_)

    def store(self) -> Fields:
        self._order()
        value, pointer = self.operands.typed_operands()
        return Fields(operands=(value, pointer)) | self._order_and_alignment(value.type)

    def alloca(self) -> Fields:
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
        return Fields(type=pointer, operands=operands, source_type=type_, align=align)

    def fence(self) -> Fields:
        return self._order()

    def atomicrmw(self) -> Fields:
        self._order()
        predicate = self.tokens.next()
        pointer, value = self.operands.typed_operands()
        found = Fields(type=value.type, operands=(pointer, value), predicate=predicate)
        return found | self._order_and_alignment(value.type)

    def cmpxchg(self) -> Fields:
        self._order()
        operands = tuple(self.operands.typed_operands())
        type_ = operands[1].type
        found = Fields(type=Struct((type_, I1)), operands=operands)
        return found | self._order_and_alignment(type_)
