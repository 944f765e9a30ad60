"""Decoder of a parsed function to a :class:`CompiledFunction`: every instruction becomes a
closure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from kgen.emulate.llvm import intrinsics, ops
from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.frontend.literals import constant_value
from kgen.emulate.llvm.frontend.module import (
    BasicBlock,
    Constant,
    LlvmFunction,
    LlvmInstruction,
    Local,
    Module,
    Operand,
    immediate,
)
from kgen.emulate.llvm.frontend.program import (
    DONE,
    CodeSegment,
    CompiledFunction,
    Edge,
    Registers,
    Step,
)
from kgen.emulate.llvm.frontend.topology import weak_topological_order
from kgen.emulate.llvm.ops.overflow import CHECKED, Overflows, overflow_of
from kgen.emulate.llvm.types import Array, LlvmInteger, Void
from kgen.emulate.report import UnknownInstruction

_TERMINATORS = frozenset(("br", "switch", "ret", "unreachable"))
_BARRIERS = frozenset(("llvm.amdgcn.s.barrier", "llvm.amdgcn.s.barrier.wait"))

#: Separator between a block's label and a number in the names of all pieces of the block but the
#: first. Labels have no newline.
_SEPARATOR = "\n"


def split(block: BasicBlock) -> list[BasicBlock]:
    """Return the pieces of a block, without anything after its terminator."""
    pieces: list[BasicBlock] = []
    body: list[LlvmInstruction] = []
    name = block.name
    for ins in block.instructions:
        body.append(ins)
        if ins.callee in _BARRIERS or ins.opcode in _TERMINATORS:
            pieces.append(BasicBlock(name=name, instructions=tuple(body)))
            name, body = continuation(name), []
    return pieces


def continuation(name: str) -> str:
    """Return the name of the piece after the barrier that ends the piece ``name``."""
    label, _, number = name.partition(_SEPARATOR)
    return f"{label}{_SEPARATOR}{int(number or 0) + 1}"


def block_of(name: str) -> str:
    """Return the label of a piece's block."""
    return name.partition(_SEPARATOR)[0]


def targets(piece: BasicBlock) -> tuple[str, ...]:
    """Return the names of the pieces that may follow."""
    last = piece.instructions[-1]
    return (continuation(piece.name),) if last.opcode == "call" else last.labels


#: Bits of the widest supported integer.
_WIDEST = 64


@lru_cache(maxsize=8)
def decode(
    module: Module, name: str, symbols: tuple[tuple[str, int], ...]
) -> Mapping[str, CompiledFunction]:
    """Return the function ``name`` and all functions that it calls, by name.

    ``symbols`` are the addresses of globals. The last few results are cached, because tests and the
    verifier run a kernel under several schedules. Raises :class:`UnknownInstruction` for the first
    unknown instruction, whether or not it would be executed.
    """
    programs: dict[str, CompiledFunction] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name not in programs:
            decoder = _Decoder(module, module.functions[name], dict(symbols))
            programs[name] = decoder.decode()
            waiting.extend(decoder.callees)
    return programs


class _Decoder:
    def __init__(self, module: Module, function: LlvmFunction, symbols: Mapping[str, int]) -> None:
        self.module = module
        self.function = function
        self.symbols = symbols
        self.template: list[Any] = []
        self.names: dict[str, int] = {}
        self.constants: dict[Constant, int] = {}
        self.callees: list[str] = []

    def decode(self) -> CompiledFunction:
        parameters = tuple(self._named(p.name) for p in self.function.parameters)
        result = self._new(None)
        pieces = [piece for block in self.function.blocks for piece in split(block)]
        index = {piece.name: i for i, piece in enumerate(pieces)}
        successors = [[index[label] for label in targets(piece)] for piece in pieces]
        order = weak_topological_order(successors)
        position = {pieces[node].name: at for at, node in enumerate(order)}
        blocks = {block.name: block for block in self.function.blocks}
        escaping = self._escaping(pieces)
        segments = []
        for node in order:
            piece = pieces[node]
            segments.append(self._segment(piece, position, blocks, escaping[piece.name], result))
        return CompiledFunction(
            name=self.function.name,
            segments=tuple(segments),
            template=tuple(self.template),
            parameters=parameters,
            result=result,
        )

    # -- registers ------------------------------------------------------------------------------

    def _new(self, value: Any) -> int:
        self.template.append(value)
        return len(self.template) - 1

    def _named(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = self._new(None)
        return self.names[name]

    def _register(self, operand: Operand) -> int:
        if isinstance(operand, Local):
            return self._named(operand.name)
        if operand not in self.constants:
            value = None
            if not isinstance(operand.type, Void):
                value = constant_value(operand, self.symbols)
            self.constants[operand] = self._new(value)
        return self.constants[operand]

    # -- segments -------------------------------------------------------------------------------

    def _escaping(self, pieces: list[BasicBlock]) -> dict[str, set[str]]:
        """Return, for each segment, the names that it defines and that another segment or a phi
        reads."""
        home = {ins.result: p.name for p in pieces for ins in p.instructions if ins.result}
        escaping: dict[str, set[str]] = defaultdict(set)
        for piece in pieces:
            for ins in piece.instructions:
                for operand in ins.operands:
                    if isinstance(operand, Local) and operand.name in home:
                        defined_in = home[operand.name]
                        if defined_in != piece.name or ins.opcode == "phi":
                            escaping[defined_in].add(operand.name)
        return escaping

    def _segment(
        self,
        piece: BasicBlock,
        position: Mapping[str, int],
        blocks: Mapping[str, BasicBlock],
        escaping: set[str],
        result: int,
    ) -> CodeSegment:
        *body, last = piece.instructions
        body = [ins for ins in body if ins.opcode != "phi"]
        steps: list[Step] = []
        for ins in body:
            step = self._guarded(ins, self._step)
            if step is not None:
                steps.append(step)
        if last.opcode == "unreachable":
            steps.append(_trap(last))
        # Phis are assigned on the edge, so a mask never drops their values.
        written_here = {ins.result for ins in body}
        edges: tuple[Edge, ...]
        if last.opcode == "ret":
            moves = tuple((result, self._register(value)) for value in last.operands)
            edges = (Edge(target=DONE, moves=moves),)
        elif last.opcode == "call":
            edges = (Edge(target=position[continuation(piece.name)]),)
        else:
            edges = tuple(
                Edge(target=position[label], moves=self._moves(blocks[label], piece.name))
                for label in last.labels
            )
        return CodeSegment(
            steps=tuple(steps),
            escaping=tuple(self.names[name] for name in sorted(escaping & written_here)),
            choose=self._guarded(last, self._choose),
            edges=edges,
            terminator=last,
            barrier=last.opcode == "call",
            instructions=(*body, last),
        )

    def _moves(self, target: BasicBlock, piece: str) -> tuple[tuple[int, int], ...]:
        """Return the register moves of the phis of ``target`` on the edge from a segment."""
        came_from = block_of(piece)
        moves = []
        for ins in target.instructions:
            if ins.opcode != "phi":
                break
            value = ins.operands[ins.labels.index(came_from)]
            moves.append((self._named(ins.result), self._register(value)))
        return tuple(moves)

    # -- instructions ---------------------------------------------------------------------------

    def _guarded(self, ins: LlvmInstruction, build: Callable[[LlvmInstruction], Any]) -> Any:
        """Run a builder, and turn its failure into an error that names the instruction."""
        try:
            return build(ins)
        except (TypeError, KeyError) as error:
            text = self.module.text(ins.line)
            raise UnknownInstruction(self.function.name, text, ins.line) from error

    def _step(self, ins: LlvmInstruction) -> Step | None:
        for type_ in (ins.type, *(operand.type for operand in ins.operands)):
            if isinstance(type_.element, LlvmInteger) and type_.element.width > _WIDEST:
                raise TypeError(f"{type_} is wider than {_WIDEST} bits")
        if ins.opcode == "call":
            return self._call(ins)
        if ins.opcode in ops.PURE:
            compute = ops.PURE[ins.opcode](ins)
            if ins.opcode in CHECKED and (overflows := overflow_of(ins)) is not None:
                return self._checked(ins, compute, overflows)
            return self._pure(ins, compute)
        if ins.opcode in ops.EFFECTS:
            return self._effect(ins, ops.EFFECTS[ins.opcode](ins))
        raise TypeError(ins.opcode)

    def _call(self, ins: LlvmInstruction) -> Step | None:
        name = ins.callee
        if name in self.module.functions:
            self.callees.append(name)
            return self._effect(ins, lambda m, *arguments: m.call(name, list(arguments)))
        found = intrinsics.find(name)
        if found is None:
            raise TypeError(f"@{name}")
        kind, build = found
        if kind == "nothing":
            return None
        return (self._pure if kind == "pure" else self._effect)(ins, build(ins))

    def _pure(self, ins: LlvmInstruction, compute: Callable[..., Any]) -> Step:
        d = self._named(ins.result)
        operands = [self._register(operand) for operand in ins.operands]
        if len(operands) == 1:
            (a,) = operands

            def unary(m: Any, r: Registers) -> None:
                r[d] = compute(r[a])

            return unary
        if len(operands) == 2:
            a, b = operands

            def binary(m: Any, r: Registers) -> None:
                r[d] = compute(r[a], r[b])

            return binary

        def step(m: Any, r: Registers) -> None:
            r[d] = compute(*[r[operand] for operand in operands])

        return step

    def _checked(
        self, ins: LlvmInstruction, compute: Callable[..., Any], overflows: Overflows
    ) -> Step:
        """Return the step of an integer operation that promises not to overflow."""
        d = self._named(ins.result)
        a, b = (self._register(operand) for operand in ins.operands)

        def step(m: Any, r: Registers) -> None:
            result = r[d] = compute(r[a], r[b])
            if m.checks:
                where = overflows(r[a], r[b], result)
                if np.count_nonzero(where):
                    _refuse_overflow(m, ins, where)

        return step

    def _effect(self, ins: LlvmInstruction, perform: Callable[..., Any]) -> Step:
        operands = [self._register(operand) for operand in ins.operands]
        if not ins.result:

            def act(m: Any, r: Registers) -> None:
                perform(m, *[r[operand] for operand in operands])

            return act
        d = self._named(ins.result)

        def step(m: Any, r: Registers) -> None:
            r[d] = perform(m, *[r[operand] for operand in operands])

        return step

    # -- control --------------------------------------------------------------------------------

    def _choose(self, ins: LlvmInstruction) -> Callable[[Registers], int | Array]:
        """Return the function that chooses an edge from the registers."""
        if ins.opcode == "br" and ins.operands:
            return self._choose_branch(ins)
        if ins.opcode == "switch":
            return self._choose_case(ins)
        if ins.opcode in ("br", "ret", "call", "unreachable"):
            return lambda r: 0
        raise TypeError(ins.opcode)

    def _choose_branch(self, ins: LlvmInstruction) -> Callable[[Registers], int | Array]:
        condition = self._register(ins.operands[0])

        def choose(r: Registers) -> int | Array:
            holds: Array = r[condition]
            if holds.size == 1 or holds.all() or not np.count_nonzero(holds):
                return 0 if holds.flat[0] else 1
            return np.where(holds, 0, 1)

        return choose

    def _choose_case(self, ins: LlvmInstruction) -> Callable[[Registers], int | Array]:
        selector = self._register(ins.operands[0])
        cases = [immediate(case) for case in ins.operands[1:]]

        def choose(r: Registers) -> int | Array:
            value: Array = r[selector]
            taken: Array = np.zeros(value.shape, np.int64)
            for index, case in enumerate(cases, start=1):
                taken[value == value.dtype.type(case % (1 << 8 * value.itemsize))] = index
            return taken if np.count_nonzero(taken != taken.flat[0]) else int(taken.flat[0])

        return choose


def _refuse_overflow(m: Any, ins: LlvmInstruction, where: Array) -> None:
    """Report a fault if a lane that executes `ins` overflows."""
    lanes = m.selected() & (where.any(axis=2) if where.ndim > 2 else where)
    if np.count_nonzero(lanes):
        promise = " and ".join(sorted(ins.flags))
        raise fault(m, "poison", f"the result overflows, against {promise}", ins, lanes)


def _trap(ins: LlvmInstruction) -> Step:
    def trap(m: Any, r: Registers) -> None:
        raise fault(m, "trap", "the kernel reaches an unreachable instruction", ins, m.selected())

    return trap
