"""Cache of machines with a decoded kernel, for launches that differ only in their data.

Tests and the verifier run one PTX text several times, with several schedules and data.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgen.emulate.ptx.asynchronous.pending_registers import protected
from kgen.emulate.ptx.chunk import PtxLaunch
from kgen.emulate.ptx.exec.machine import NO_CTAS, Machine
from kgen.emulate.ptx.exec.operations import DecodedInstruction
from kgen.emulate.ptx.frontend.decode import Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported
from kgen.emulate.ptx.frontend.syntax import PtxInstruction, PtxKernel
from kgen.emulate.ptx.memory.spaces import GlobalMemory
from kgen.emulate.ptx.ops import BUILDERS
from kgen.emulate.ptx.races.remote import check_remote_accesses
from kgen.emulate.report import UnknownInstruction
from kgen_runtime.values import frozen

#: Widest granule of the checks: the widest access, in bytes.
_GRANULE = 16
#: Machines in the cache.
_KEPT = 4


@frozen
class Prepared:
    """Machine without CTAs, and the decoded instructions of its kernel."""

    machine: Machine
    steps: list[DecodedInstruction]


_kept: OrderedDict[object, Prepared] = OrderedDict()


def prepared(kernel: PtxKernel, launch: PtxLaunch, memory: GlobalMemory) -> Prepared:
    """Prepare a kernel for a launch on these buffers; module variables become further buffers.

    A machine from the cache is removed from it until :func:`keep` returns it.
    """
    spaces = {
        space: memory.add(f"the .{space} variables", _module_data(kernel, space))
        for space in ("global", "const")
    }
    found = _kept.pop(_key(kernel, launch, memory), None)
    if found is not None:
        found.machine.begin(launch, memory)
        return found
    machine = Machine(kernel, launch, memory, _GRANULE)
    machine.on_end.append(lambda: check_remote_accesses(machine, machine.shared.shadow))
    return Prepared(machine=machine, steps=_decode(machine, spaces))


def keep(used: Prepared) -> None:
    """Return a machine to the cache, except for a profile, whose instructions hold counts. It keeps
    nothing of the launch but the bytes of its parameters."""
    machine = used.machine
    if machine.launch.profile:
        return
    key = _key(machine.kernel, machine.launch, machine.memory)
    machine.begin(replace(machine.launch, arguments=()), GlobalMemory())
    machine.reset(NO_CTAS)
    _kept[key] = used
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)


def _key(kernel: PtxKernel, launch: PtxLaunch, memory: GlobalMemory) -> object:
    """Return the cache key: everything that decoded instructions depend on. Kernels are compared by
    identity; the parser caches the last few, and this cache keeps its kernels alive."""
    return (
        id(kernel), launch.grid, launch.block, launch.cluster, launch.parameters,
        launch.shared_bytes, launch.checks, launch.profile, launch.strict,
        launch.collectives_order, launch.numerics, launch.mapped_elements, len(memory.buffers),
    )  # fmt: skip


def _decode(machine: Machine, spaces: Mapping[str, int]) -> list[DecodedInstruction]:
    decoder = Decoder(machine)
    decoder.module_spaces.update(spaces)
    steps = [_step(decoder, instruction) for instruction in machine.kernel.instructions]
    return protected(decoder, steps)


def _module_data(kernel: PtxKernel, space: str) -> npt.NDArray[np.uint8]:
    """Return the initial bytes of a state space's module variables."""
    data = np.zeros(kernel.spaces.get(space, 0), np.uint8)
    for variable in kernel.variables.values():
        if variable.space == space and variable.data:
            stored = np.frombuffer(variable.data, np.uint8)
            data[variable.offset : variable.offset + variable.size] = stored
    return data


def _step(decoder: Decoder, instruction: PtxInstruction) -> DecodedInstruction:
    decoder.line = instruction.line
    try:
        guard = None if instruction.guard is None else decoder.predicate(instruction.guard)
        build = BUILDERS[instruction.words[0]]
        operation = build(decoder, OpcodeWords(instruction.words[1:]), instruction.operands)
    except (Unsupported, KeyError, IndexError, ValueError):
        raise UnknownInstruction(decoder.kernel.name, instruction.text, instruction.line) from None
    return DecodedInstruction(instruction=instruction, guard=guard, operation=operation)
