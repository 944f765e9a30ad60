"""Decoder of instructions to closures; operands and modifiers are resolved once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from kgen.emulate.ptx.chunk import LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, Mask, uniform
from kgen.emulate.ptx.counting.traffic import Requests
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action, Operation, Source, Target
from kgen.emulate.ptx.exec.timers import TIMERS
from kgen.emulate.ptx.frontend.implicit import REGISTERS
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import (
    Address,
    DestinationPair,
    FloatLiteral,
    IntegerLiteral,
    Not,
    Operand,
    Register,
    SymbolAddress,
    VectorOperand,
    names_in,
)
from kgen.emulate.ptx.memory.spaces import ParameterMemory
from kgen.emulate.ptx.types import SIGNED, TYPES, UNSIGNED, Array, PtxType, narrow

PRED = TYPES["pred"]
U32 = TYPES["u32"]
#: Destination that discards its value.
SINK = Register(name="_")


Shared = TypeVar("Shared")


#: Builds an instruction's operation from its words (without the opcode) and its operands.
Builder = Callable[["Decoder", OpcodeWords, Sequence[Operand]], Operation]


class Decoder:
    """Decoder of one kernel on one machine, used by the builders of instructions."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.kernel = machine, machine.kernel
        self.parameters = {p.name: p for p in machine.kernel.parameters}
        #: Addresses of the buffers that hold module variables, by state space.
        self.module_spaces: dict[str, int] = {}
        self._objects: dict[Any, Any] = {}
        #: Source line of the instruction that is being decoded.
        self.line = 0

    # ------------------------------------------------------------------ sources

    def source(self, operand: Operand, type_: PtxType) -> Source:
        """Return a reader of an operand in the type's dtype."""
        if isinstance(operand, Not):
            inner = self.source(operand.register, type_)
            return lambda: ~inner()
        if isinstance(operand, IntegerLiteral | FloatLiteral):
            constant = self._constant(operand, type_)
            return lambda: constant
        if isinstance(operand, SymbolAddress):
            place = self.symbol(operand.base.name) + operand.offset
            return self.source(IntegerLiteral(value=place), type_)
        if not isinstance(operand, Register):
            raise Unsupported
        if operand.name in self.machine.slots:
            return self._register(operand.name, type_.dtype)
        if operand.name in self.machine.special:
            return self._special(operand.name, type_)
        if operand.name in TIMERS:
            return self._timer(TIMERS[operand.name], type_)
        if operand.name in REGISTERS:
            derived = REGISTERS[operand.name]
            start = self.symbol(derived.of.name) if derived.of else 0
            bits = start + derived.add >> derived.shift & 0xFFFFFFFF
            return self.source(IntegerLiteral(value=bits), type_)
        address = uniform(self.symbol(operand.name), np.int64).astype(type_.dtype)
        return lambda: address

    def sources(self, operands: Sequence[Operand], type_: PtxType) -> list[Source]:
        return [self.source(operand, type_) for operand in operands]

    def predicate(self, operand: Operand) -> Source:
        return self.source(operand, PRED)

    def _register(self, name: str, wanted: np.dtype[np.generic]) -> Source:
        registers, slot = self.machine.registers, self.machine.slots[name]
        held = self.kernel.registers[name].dtype
        if held == wanted:
            return lambda: registers[slot]
        require(bool not in (held, wanted) and held.itemsize >= wanted.itemsize)
        if held.itemsize == wanted.itemsize:
            return lambda: registers[slot].view(wanted)
        # Reading a wider register yields its low bits (PTX ISA 9.4.1).
        bits, low = UNSIGNED[held.itemsize], UNSIGNED[wanted.itemsize]
        return lambda: registers[slot].view(bits).astype(low).view(wanted)

    def _special(self, name: str, type_: PtxType) -> Source:
        special = self.machine.special
        dtype = type_.dtype
        return lambda: special[name].astype(dtype, copy=False)

    def _timer(self, shift: int, type_: PtxType) -> Source:
        machine, dtype = self.machine, type_.dtype
        return lambda: uniform(machine.time >> shift, np.int64).astype(dtype)

    def _constant(self, operand: IntegerLiteral | FloatLiteral, type_: PtxType) -> Array:
        if type_.kind == "pred":
            return uniform(bool(operand.value), bool)
        if isinstance(operand, FloatLiteral) and type_.dtype.kind == "f":
            return np.full((1, 1, 1), operand.value, type_.dtype)
        if isinstance(operand, FloatLiteral):
            return self._float_bits(operand.value, type_)
        if type_.dtype.kind == "f":
            # An integer literal in a floating-point instruction is a bit pattern.
            return self._constant(operand, TYPES[f"b{type_.bits}"]).view(type_.dtype)
        value = operand.value & ((1 << type_.bits) - 1)
        return np.full((1, 1, 1), value, UNSIGNED[type_.size]).view(type_.dtype)

    @staticmethod
    def _float_bits(value: float, type_: PtxType) -> Array:
        """Return the bits of a floating-point constant in an untyped or 16-bit instruction."""
        if type_.kind in ("float", "bfloat") and type_.lanes == 1:
            return narrow(type_, np.full((1, 1, 1), value))
        dtype = np.float32 if type_.size == 4 else np.float64
        require(type_.size >= 4)
        return np.full((1, 1, 1), value, dtype).view(type_.dtype)

    def constant(self, operand: Operand) -> int:
        """Return the value of an operand that must be an immediate integer."""
        if not isinstance(operand, IntegerLiteral):
            raise Unsupported
        return operand.value

    def symbol(self, name: str) -> int:
        """Return the address of a variable or parameter in its own state space."""
        if name in self.parameters:
            return ParameterMemory.START + self.parameters[name].offset
        require(name in self.kernel.variables)
        variable = self.kernel.variables[name]
        return self.module_spaces.get(variable.space, 0) + variable.offset

    # ------------------------------------------------------------------ targets

    def target(self, operand: Operand, type_: PtxType) -> Target:
        """Return a writer of values in the type's dtype; a wider register is filled by
        extension."""
        if not isinstance(operand, Register):
            raise Unsupported
        if operand == SINK:
            return lambda value, mask: None
        require(operand.name in self.machine.slots)
        registers, slot = self.machine.registers, self.machine.slots[operand.name]
        convert = self._to_register(type_.dtype, self.kernel.registers[operand.name].dtype)

        def write(value: Array, mask: Mask) -> None:
            held = value if convert is None else convert(value)
            registers[slot] = held if mask is None else np.where(mask, held, registers[slot])

        return write

    @staticmethod
    def _to_register(
        given: np.dtype[np.generic], held: np.dtype[np.generic]
    ) -> Callable[[Array], Array] | None:
        if given == held:
            return None
        require(bool not in (given, held) and given.itemsize <= held.itemsize)
        if given.itemsize == held.itemsize:
            return lambda value: value.view(held)
        size = held.itemsize
        bits = UNSIGNED[given.itemsize]
        if given.kind == "i":
            return lambda value: value.astype(SIGNED[size]).view(held)
        return lambda value: value.view(bits).astype(UNSIGNED[size]).view(held)

    def elements(self, operand: Operand) -> tuple[Operand, ...]:
        """Return the elements of a vector operand, or the operand itself as the only one."""
        return operand.elements if isinstance(operand, VectorOperand) else (operand,)

    def is_used(self, operand: Operand) -> bool:
        """Return whether an instruction other than the current one names the register."""
        return operand != SINK and any(self._mentions[name] > 1 for name in names_in([operand]))

    @cached_property
    def _mentions(self) -> Counter[str]:
        """Number of instructions that name each register, as an operand or as their guard."""
        return Counter(
            name
            for instruction in self.kernel.instructions
            for name in set(names_in(filter(None, (*instruction.operands, instruction.guard))))
        )

    def pair(self, operand: Operand) -> tuple[Operand, Operand | None]:
        """Split `a|b` into (a, b); `a` gives (a, None)."""
        if isinstance(operand, DestinationPair):
            return operand.first, operand.second
        return operand, None

    # ------------------------------------------------------------------ memory

    def address(self, operand: Operand) -> Source:
        """Return a reader of the address `[base+offset]` as int64. The sum wraps like the base's
        register (PTX ISA 6.4.1)."""
        if not isinstance(operand, Address) or operand.coordinates:
            raise Unsupported
        offset = operand.offset
        base = operand.base
        if isinstance(base, IntegerLiteral):
            fixed = uniform(base.value + offset, np.int64)
            return lambda: fixed
        if base.name not in self.machine.slots:
            fixed = uniform(self.symbol(base.name) + offset, np.int64)
            return lambda: fixed
        size = self.kernel.registers[base.name].size
        read = self._register(base.name, UNSIGNED[size])
        if offset == 0:
            return lambda: read().astype(np.int64)
        if size == 8:
            return lambda: read().view(np.int64) + offset
        added = UNSIGNED[size].type(offset & ((1 << 8 * size) - 1))
        return lambda: (read() + added).astype(np.int64)

    def found(self, kind: type[Shared]) -> Shared | None:
        """Return the shared object of a class if an instruction has requested it; else None."""
        found: Shared | None = self._objects.get(kind)
        return found

    def engine(self, kind: Callable[[Machine], Shared]) -> Shared:
        """Return the object of a class that all instructions share; it is created on first use."""
        if kind not in self._objects:
            self._objects[kind] = kind(self.machine)
        found: Shared = self._objects[kind]
        return found

    def access(self, space: str, nbytes: int) -> None:
        """Record an access of `nbytes` bytes to a state space; "" for a generic address."""
        if space in ("", "shared"):
            self.shared_access(nbytes)
        if space in ("", "global"):
            self.global_access(nbytes)

    def global_access(self, nbytes: int) -> None:
        """Record the size of an access to global memory."""
        self.machine.global_unit = min(self.machine.global_unit, nbytes)

    def shared_access(self, nbytes: int) -> None:
        """Record the size of an access to shared memory, which the checks must distinguish."""
        self.machine.granule = min(self.machine.granule, nbytes)

    def watch(self) -> Requests | None:
        """Return the counters of the instruction's line; None without a profile."""
        traffic = self.machine.traffic
        return None if traffic is None else traffic.watch(self.line)


def apply(
    decoder: Decoder,
    operands: Sequence[Operand],
    function: Callable[..., Array],
    inputs: Sequence[PtxType],
    output: PtxType,
) -> Action:
    """Return the action operands[0] = function(operands[1], ...), with these types."""
    require(len(operands) == len(inputs) + 1)
    target = decoder.target(operands[0], output)
    sources = [decoder.source(o, t) for o, t in zip(operands[1:], inputs, strict=True)]
    if len(sources) == 1:
        (a,) = sources
        return lambda mask: target(function(a()), mask)
    if len(sources) == 2:
        a, b = sources
        return lambda mask: target(function(a(), b()), mask)
    return lambda mask: target(function(*(read() for read in sources)), mask)


def computed(
    make: Callable[[PtxType], Callable[..., Array]],
    *inputs: PtxType | None,
    output: PtxType | None = None,
) -> Builder:
    """Return the builder of an instruction that has a type and no modifiers, and whose result is
    `make(type)` of its operands.

    `inputs` and `output` are the operands' types; None stands for that of the instruction.
    """

    def build(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
        type_ = words.only_type()
        types = [of or type_ for of in inputs]
        return apply(decoder, operands, make(type_), types, output or type_)

    return build


def window(space: str) -> int:
    """Return the generic address at which a state space starts (PTX ISA 6.4.1.1)."""
    windows = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAMETER_WINDOW}
    return windows.get(space, 0)
