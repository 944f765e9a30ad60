"""Parser of an instruction of LLVM IR text to an :class:`LlvmInstruction`.

This module has the instructions that compute a value from their operands;
:mod:`memory_instructions` and :mod:`control_instructions` have the others.
"""

from __future__ import annotations

from kgen.emulate.llvm.frontend.constants import FLAGS, OperandParser, Parse
from kgen.emulate.llvm.frontend.control_instructions import ControlParser
from kgen.emulate.llvm.frontend.lexer import symbol, words
from kgen.emulate.llvm.frontend.memory_instructions import MemoryParser
from kgen.emulate.llvm.frontend.module import Constant, Fields, LlvmInstruction
from kgen.emulate.llvm.types import I1, Aggregate, LlvmVector, value_shape

_BINARY = frozenset(
    words("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem")
)
_CASTS = frozenset(
    words(
        "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast"
        " addrspacecast ptrtoaddr"
    )
)
_NO_OVERFLOW = frozenset(("nuw", "nsw"))
_TAIL_WORDS = frozenset(("tail", "musttail", "notail"))


class InstructionParser:
    def __init__(self, operands: OperandParser) -> None:
        self.operands = operands
        self.tokens = operands.tokens
        self._parsers: dict[str, Parse] = {
            **dict.fromkeys(_BINARY, self._binary),
            **dict.fromkeys(_CASTS, self._cast),
            **dict.fromkeys(("fneg", "freeze"), self._unary),
            **dict.fromkeys(("icmp", "fcmp"), self._compare),
            **MemoryParser(operands).parsers,
            **ControlParser(operands).parsers,
            "extractelement": self._extractelement,
            "extractvalue": self._extractvalue,
            "insertelement": self._insertelement,
            "insertvalue": self._insertvalue,
            "select": self._select,
            "shufflevector": self._shufflevector,
        }

    def parse(self) -> LlvmInstruction:
        """Parse the instruction at the cursor, with alignment and metadata after it."""
        t = self.tokens
        line = t.line
        result = ""
        if t.kind == "local":
            result = symbol(t.next())
            t.expect("=")
        while t.text in _TAIL_WORDS:
            t.next()
        opcode = t.next()
        parser = self._parsers.get(opcode)
        if parser is None:
            # Decoding reports it as unknown; the parser only skips it.
            while t.kind != "end" and t.line == line:
                t.next()
            return LlvmInstruction(opcode=opcode, line=line, result=result)
        flags, fields = self._flags(), parser()
        mmra = self._skip_trailing()
        return LlvmInstruction(
            opcode=opcode, line=line, result=result, flags=flags, mmra=mmra, **fields
        )

    def _flags(self) -> frozenset[str]:
        """Skip flags; return those that promise no overflow."""
        t = self.tokens
        found: set[str] = set()
        while t.text in FLAGS:
            found.add(t.next())
        return _NO_OVERFLOW & found

    def _skip_trailing(self) -> str:
        """Skip ``, !tbaa !3``, ``, addrspace(5)``, ``#2`` and ``[ "bundle"(...) ]``; return
        ``!mmra``."""
        t = self.tokens
        mmra = ""
        while True:
            if t.kind == "attribute":
                t.next()
            elif t.text == "[":
                t.skip_brackets()
            elif t.text == "," and t.kinds[t.at + 1] == "metadata":
                is_mmra = t.texts[t.at + 1] == "!mmra"
                t.at += 2
                start = t.at
                if t.kind == "metadata":
                    t.next()
                if t.text in ("{", "("):
                    t.skip_brackets()
                if is_mmra:
                    mmra = "".join(t.texts[start : t.at])
            else:
                return mmra

    def _binary(self) -> Fields:
        type_ = self.operands.type()
        left = self.operands.operand(type_)
        self.tokens.expect(",")
        operands = (left, self.operands.operand(type_))
        return Fields(type=type_, operands=operands)

    def _unary(self) -> Fields:
        operand = self.operands.typed_operand()
        return Fields(type=operand.type, operands=(operand,))

    def _cast(self) -> Fields:
        operand = self.operands.typed_operand()
        self.tokens.expect("to")
        type_ = self.operands.type()
        return Fields(type=type_, operands=(operand,))

    def _compare(self) -> Fields:
        predicate = self.tokens.next()
        type_ = self.operands.type()
        left = self.operands.operand(type_)
        self.tokens.expect(",")
        right = self.operands.operand(type_)
        return Fields(
            type=LlvmVector(type_.lanes, I1) if value_shape(type_) else I1,
            operands=(left, right),
            predicate=predicate,
        )

    def _select(self) -> Fields:
        operands = tuple(self.operands.typed_operands())
        return Fields(type=operands[1].type, operands=operands)

    def _extractelement(self) -> Fields:
        operands = tuple(self.operands.typed_operands())
        return Fields(type=operands[0].type.element, operands=operands)

    def _insertelement(self) -> Fields:
        operands = tuple(self.operands.typed_operands())
        return Fields(type=operands[0].type, operands=operands)

    def _shufflevector(self) -> Fields:
        first, second, mask = self.operands.typed_operands()
        assert isinstance(mask, Constant)
        elements = mask.value if mask.kind == "list" else ()
        assert isinstance(elements, tuple)
        indices = tuple(e.value if e.kind == "int" else -1 for e in elements)
        return Fields(
            type=LlvmVector(mask.type.lanes, first.type.element),
            operands=(first, second),
            indices=indices or (0,) * mask.type.lanes,
        )

    def _indices(self) -> tuple[int, ...]:
        t = self.tokens
        indices: list[int] = []
        while t.text == "," and t.kinds[t.at + 1] == "number":
            t.next()
            indices.append(t.integer())
        return tuple(indices)

    def _extractvalue(self) -> Fields:
        operand = self.operands.typed_operand()
        indices = self._indices()
        type_ = operand.type
        for index in indices:
            assert isinstance(type_, Aggregate)
            type_ = type_.field(index)
        return Fields(type=type_, operands=(operand,), indices=indices)

    def _insertvalue(self) -> Fields:
        operand = self.operands.typed_operand()
        self.tokens.expect(",")
        value = self.operands.typed_operand()
        return Fields(type=operand.type, operands=(operand, value), indices=self._indices())
