"""Proxy fences, fence.mbarrier_init, griddepcontrol and setmaxnreg (PTX ISA 9.7.13.4, .12,
9.7.19.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.asynchronous.descriptor import MAP_BYTES
from kgen.emulate.ptx.asynchronous.warpgroups import WARPS
from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Action, Collective, Operation
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.synchronisation import control
from kgen.emulate.ptx.order.released_knowledge import Fence
from kgen.emulate.ptx.types import Array
from kgen.errors import EmulationError

_LEAST, _MOST, _STEP = 24, 256, 8
#: 32-bit registers of an SM on every architecture with setmaxnreg.
_REGISTER_FILE = 1 << 16


def _fence(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
    """Build fence.proxy.async and fence.mbarrier_init; other fences are memory fences."""
    if words.flag("mbarrier_init"):
        # Releases mbarrier.init to the cluster, and so to the copies that complete there.
        words.drop(frozenset(["release", "cluster"]))
        words.finish()
        return _proxy_fence(decoder, "mbarrier_init")
    if not words.flag("proxy"):
        return control.fence(decoder, words, operands)
    if words.flag("tensormap::generic"):
        return _tensor_map_fence(decoder, words, operands)
    kind = words.one_of("async", "alias", "async::generic")
    space = words.choice("global", "shared::cta", "shared::cluster")
    restricted = words.choice("sync_restrict::shared::cta", "sync_restrict::shared::cluster")
    words.drop(frozenset(["acquire", "release", "cluster"]))
    words.finish()
    if kind == "alias":
        # Memory has no alias addresses in the emulator.
        return lambda mask: None
    if space is None and restricted is None:
        return _proxy_fence(decoder, "async.shared", "async.global")
    return _proxy_fence(decoder, "async.global" if space == "global" else "async.shared")


def _tensor_map_fence(
    decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]
) -> Operation:
    """Build a fence for tensor maps as a memory fence: changes of tensor maps are generic writes
    here."""
    require(words.has("acquire") == (len(operands) == 2))
    require(not operands or decoder.constant(operands[1]) == MAP_BYTES)
    return control.fence(decoder, words, ())


def _proxy_fence(decoder: Decoder, *fences: Fence) -> Action:
    machine = decoder.machine

    def run(mask: Mask) -> None:
        if machine.checks:
            for fence in fences:
                machine.clocks.fence(fence, machine.active(mask))

    return run


def _dependent_grids(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Action:
    """griddepcontrol: no effect, because only one launch is run."""
    if words.choice("wait", "launch_dependents") is None:
        raise Unsupported
    words.finish()
    return lambda mask: None


class _RegisterCounts:
    """Register counts that the warps [C, W] have set; 0 for none."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.on_reset.append(self._reset)
        self._reset()

    def _reset(self) -> None:
        self._counts = np.zeros((self.machine.ctas, self.machine.warps), np.int64)

    def set(self, count: int, increases: bool, mask: Mask) -> None:
        machine = self.machine
        lanes = machine.everywhere(machine.active(mask))
        warps = lanes.any(axis=2)
        wrong = self._counts > count if increases else self._counts < count
        wrong = wrong & warps & (self._counts > 0)
        if np.count_nonzero(wrong):
            change = "increases" if increases else "decreases"
            message = f"setmaxnreg {change} the {int(self._counts[wrong][0])} registers to {count}"
            raise Violation("trap", message, lanes & wrong[..., None])
        self._counts = np.where(warps, count, self._counts)
        self._check_total(lanes)

    def _check_total(self, lanes: Array) -> None:
        """Check that the counts of all warps fit into the registers with which the CTA was
        launched."""
        launched = _REGISTER_FILE // (self.machine.warps * WARP) // _STEP * _STEP
        there = min(launched, _MOST - 1) * self.machine.warps
        asked = self._counts.sum(axis=1)
        over = (self._counts > 0).all(axis=1) & (asked > there)
        if np.count_nonzero(over):
            message = (
                f"setmaxnreg never completes: the warps ask for {int(asked[over][0]) * WARP} "
                f"registers; the CTA has at most {there * WARP}"
            )
            raise Violation("deadlock", message, lanes & over[:, None, None])


def _set_registers(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """setmaxnreg.inc or .dec, by a warpgroup."""
    change = words.one_of("inc", "dec")
    require(words.flag("sync") and words.flag("aligned"))
    words.flag("u32")
    words.finish()
    count = decoder.constant(operands[0])
    if count % _STEP or not _LEAST <= count <= _MOST:
        raise EmulationError(
            f"setmaxnreg {count}: the count must be a multiple of {_STEP} from {_LEAST} to {_MOST}"
        )
    counts = decoder.engine(_RegisterCounts)
    return Collective(action=lambda mask: counts.set(count, change == "inc", mask), warps=WARPS)


BUILDERS: dict[str, Builder] = {
    "fence": _fence,
    "griddepcontrol": _dependent_grids,
    "setmaxnreg": _set_registers,
}
