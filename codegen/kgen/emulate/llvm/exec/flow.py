"""Control flow: lockstep, divergence, reconvergence and barriers.

While all lanes are at the same position, the position is one int and there is no mask. After they
diverge, every lane has a position. Among the lanes whose turn it is, those at the lowest position
run under a mask. Values that are live after the segment are merged, so that other lanes keep
theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine, merge
from kgen.emulate.llvm.exec.wave_turns import WaveTurns
from kgen.emulate.llvm.frontend.program import (
    DONE,
    WAITING,
    CodeSegment,
    CompiledFunction,
    Edge,
    Registers,
)
from kgen.emulate.llvm.types import Array
from kgen.errors import EmulationError

Position = int | Array
"""One position, or one per lane: broadcastable to [workgroup, lane]."""


def execute(machine: Machine, program: CompiledFunction, arguments: list[Any]) -> Any:
    """Run ``program`` for the lanes of ``machine.mask``, and return the value of its ``ret``."""
    registers = list(program.template)
    for register, argument in zip(program.parameters, arguments, strict=True):
        registers[register] = argument
    return _Flow(machine, program, registers).run()


class _Flow:
    def __init__(self, machine: Machine, program: CompiledFunction, registers: Registers) -> None:
        self.machine = machine
        self.program = program
        self.registers = registers
        self.entry_mask = machine.mask
        self.turns = WaveTurns(machine, machine.random)
        self.position: Position = 0
        if self.entry_mask is not None:
            self.position = np.where(self.entry_mask, 0, DONE)
        self.resume: Array = np.zeros((1, 1), np.int64)
        """Position at which each waiting lane continues."""

    def run(self) -> Any:
        for _ in range(self.machine.steps):
            self._settle()
            position = self.position
            if not self.machine.depth:
                self.machine.unfinished = _unfinished(position)
            if not isinstance(position, np.ndarray) and position >= WAITING:
                self.machine.mask = self.entry_mask
                return self.registers[self.program.result]
            lanes = self.turns.chosen(position)
            if lanes is None and not isinstance(position, np.ndarray):
                self._run_together(self.program.segments[position])
                continue
            whole = np.asarray(position)
            able = whole if lanes is None else np.where(lanes, whole, DONE)
            current = int(able.min())
            self._run_apart(self.program.segments[current], whole, able == current)
        raise fault(
            self.machine,
            "deadlock",
            f"the kernel has not ended after {self.machine.steps} steps",
            self.program.segments[self._lowest()].terminator,
            self.machine.selected(),
        )

    def _lowest(self) -> int:
        return int(np.min(self.position))

    def _settle(self) -> None:
        """Release workgroups that have completed their barrier, and detect lanes at one position.

        In lockstep, all workgroups are released at once, so that they stay together.
        """
        position = self.position
        if isinstance(position, np.ndarray):
            idle = position.min() >= WAITING
            if (idle or self.turns.apart) and np.count_nonzero(position == WAITING):
                self._release(position)
                position = np.asarray(self.position)
            if position.max() == position.min():
                self.position = int(position.min())

    def _run_together(self, segment: CodeSegment) -> None:
        machine, registers = self.machine, self.registers
        machine.mask = None
        machine.count(segment)
        for step in segment.steps:
            step(machine, registers)
        if segment.barrier:
            self._check_all_called(segment)
            machine.arrive(segment.terminator)
            machine.pass_barrier(None)
        taken = segment.choose(registers)
        if isinstance(taken, np.ndarray):
            self._branch(segment, taken, None)
        else:
            self._take(segment.edges[taken])

    def _run_apart(self, segment: CodeSegment, position: Array, mask: Array) -> None:
        machine, registers = self.machine, self.registers
        others = ~mask & (position != DONE)
        machine.mask = mask
        machine.count(segment)
        keep = [registers[r] for r in segment.escaping] if np.count_nonzero(others) else []
        for step in segment.steps:
            step(machine, registers)
        for register, old in zip(segment.escaping, keep, strict=False):
            if old is not None:
                registers[register] = merge(mask, registers[register], old)
        if segment.barrier:
            self._wait(segment, position, mask)
            return
        taken = segment.choose(registers)
        if not isinstance(taken, np.ndarray):
            taken = np.full((1, 1), taken)
        self._branch(segment, taken, mask)

    def _branch(self, segment: CodeSegment, taken: Array, mask: Array | None) -> None:
        """Move each lane of ``mask`` along its edge in ``taken``."""
        self._count_divergence(segment, taken, mask)
        position: Array = np.full((1, 1), DONE) if mask is None else np.asarray(self.position)
        for index, edge in enumerate(segment.edges):
            going = taken == index if mask is None else (taken == index) & mask
            if not np.count_nonzero(going):
                continue
            if going.all():
                self._take(edge)
                return
            self._move(edge, going)
            position = np.where(going, edge.target, position)
        self.position = position

    def _count_divergence(self, segment: CodeSegment, taken: Array, mask: Array | None) -> None:
        """Count the waves whose lanes take different edges."""
        machine = self.machine
        if taken.shape[1] == 1:
            return
        target = np.array([edge.target for edge in segment.edges])[taken]
        active = np.True_ if mask is None else mask
        shape = np.broadcast_shapes(target.shape, active.shape)
        lowest = machine.waves(np.broadcast_to(np.where(active, target, DONE), shape)).min(axis=2)
        highest = machine.waves(np.broadcast_to(np.where(active, target, -1), shape)).max(axis=2)
        parted = int(np.count_nonzero(highest > lowest))
        machine.events.divergent_branches += parted * (machine.workgroups // shape[0])

    def _take(self, edge: Edge) -> None:
        """Move all lanes along an edge."""
        registers = self.registers
        if edge.moves:
            values = [registers[source] for _, source in edge.moves]
            for (destination, _), value in zip(edge.moves, values, strict=True):
                registers[destination] = value
        self.position = edge.target

    def _move(self, edge: Edge, going: Array) -> None:
        registers = self.registers
        values = [registers[source] for _, source in edge.moves]
        for (destination, _), value in zip(edge.moves, values, strict=True):
            old = registers[destination]
            registers[destination] = value if old is None else merge(going, value, old)

    # -- barriers -------------------------------------------------------------------------------

    def _wait(self, segment: CodeSegment, position: Array, mask: Array) -> None:
        """Suspend the lanes of ``mask`` until no lane of their workgroup can run."""
        self._check_all_called(segment)
        self._check_waves_whole(segment, position, mask)
        self.machine.arrive(segment.terminator)
        (edge,) = segment.edges
        self.resume = np.where(mask, edge.target, self.resume)
        self.position = np.where(mask, WAITING, position)

    def _release(self, position: Array) -> None:
        """Release the workgroups whose lanes are all suspended or finished."""
        shape = np.broadcast_shapes(position.shape, self.resume.shape)
        complete = (position >= WAITING).all(axis=1, keepdims=True)
        waiting = np.broadcast_to(complete & (position == WAITING), shape)
        if np.count_nonzero(waiting):
            self.machine.pass_barrier(None if waiting.all() else waiting)
            self.position = np.where(waiting, self.resume, position)

    def _check_all_called(self, segment: CodeSegment) -> None:
        """Check that all lanes of a workgroup reach a barrier of a called function in one call."""
        machine = self.machine
        if not machine.depth or self.entry_mask is None:
            return
        alive = np.True_ if machine.unfinished is None else machine.unfinished
        missing = alive & ~self.entry_mask & self.entry_mask.any(axis=1, keepdims=True)
        if np.count_nonzero(missing):
            line = segment.terminator.line
            raise EmulationError(
                f"{self.program.name}, line {line}: some waves come to a barrier in a called "
                "function that others have not called; the emulator needs such functions inlined"
            )

    def _check_waves_whole(self, segment: CodeSegment, position: Array, mask: Array) -> None:
        """Check that each wave reaches a barrier with all its unfinished lanes, because barriers
        count waves."""
        machine = self.machine
        if not machine.checks or mask.shape[1] == 1:
            return
        here = machine.waves(mask)
        missing = ~here & machine.waves(np.broadcast_to(position, mask.shape) != DONE)
        torn = here.any(axis=2) & missing.any(axis=2)
        if np.count_nonzero(torn):
            lanes = (missing & np.asarray(torn)[..., None]).reshape(mask.shape)
            raise fault(
                machine,
                "divergent-warp-instruction",
                "a wave reaches a barrier while these of its lanes are inactive",
                segment.terminator,
                lanes,
            )


def _unfinished(position: Position) -> Array | None:
    """Return the unfinished lanes; None if all lanes are at one position."""
    return None if isinstance(position, int) else np.not_equal(position, DONE)
