"""Check that code waits for its loads before it uses their results.

A counter counts the operations of a kind in flight, and a wait instruction blocks until at most a
given number remain. Most kinds complete in order, so the count tells which ones are complete.
Scalar loads complete out of order: only a count of zero is conclusive. Sources: "Data dependency
resolution" in the ISA manuals (CDNA3, RDNA2, RDNA3), "Wait counters" in that of RDNA4; LLVM,
SIInsertWaitcnts.cpp.

Two rules are checked. A register that a load writes is not touched until the load is complete,
except by another load of the same in-order counter. No wave passes a barrier with writes to LDS in
flight.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kgen.check.static.amdgpu.decode import Decoded
from kgen.check.static.amdgpu.flow import Finding, State, states_before

#: Limit of counting, beyond the largest hardware counter.
_MOST = 64
_VECTOR = re.compile(r"(global|buffer|scratch|flat)_")
_STORE = re.compile(r"(global|buffer|scratch|flat)_(store|atomic)")
_LDS_WRITE = re.compile(r"ds_(write|store|add|sub|min|max|and|or|xor|inc|dec)")
_NO_COUNT = re.compile(r"global_(inv|wb)|buffer_(inv|wb|gl\d_inv)|ds_nop")
_BARRIERS = ("s_barrier", "s_barrier_signal")
_COUNTER = re.compile(r"(vmcnt|lgkmcnt|expcnt|vscnt)\((\d+)\)")
#: Waits of gfx12 for two counters: bits 8 and up belong to the first.
_PAIRS = {"loadcnt_dscnt": ("load", "ds"), "storecnt_dscnt": ("store", "ds")}


def missing_waits(code: Sequence[Decoded], arch: str) -> list[Finding]:
    counters = [_counter(ins, arch) for ins in code]
    waits = [_wait(ins, arch) for ins in code]

    def step(state: State, ins: Decoded) -> State:
        after = _waited(state, waits[ins.at], counters, code)
        counter = counters[ins.at]
        if counter:
            after = {
                at: min(_MOST, count + (counters[at] == counter)) for at, count in after.items()
            }
            after[ins.at] = 0
        return after

    found = []
    for ins, state in zip(code, states_before(code, step), strict=True):
        for at in sorted(state):
            what = _too_early(ins, code[at], counters[ins.at] == counters[at])
            if what:
                found.append(
                    Finding(at=ins.at, instruction=str(ins), after=str(code[at]), what=what)
                )
    return found


def _too_early(ins: Decoded, load: Decoded, same_counter: bool) -> str:
    if ins.opcode in _BARRIERS and _LDS_WRITE.match(load.opcode):
        return "a barrier before an earlier write to LDS has completed"
    touched = ins.reads if same_counter and not _is_scalar(load) else ins.touches
    early = sorted(touched & load.writes)
    return f"{early[0]} is still being loaded" if early else ""


def _is_scalar(ins: Decoded) -> bool:
    return ins.opcode.startswith(("s_load", "s_buffer_load"))


def _counter(ins: Decoded, arch: str) -> str:
    """Return the counter that an instruction increments; "" for most."""
    gfx12, opcode = arch.startswith("gfx12"), ins.opcode
    if _NO_COUNT.match(opcode):
        return ""
    if _VECTOR.match(opcode):
        # An atomic without a result is a store. gfx9 counts stores with the loads.
        stores = _STORE.match(opcode) is not None and not ins.writes
        return "store" if stores and not arch.startswith("gfx9") else "load"
    if opcode.startswith("ds_"):
        return "ds"
    if _is_scalar(ins):
        return "scalar" if gfx12 else "ds"
    return ""


def _wait(ins: Decoded, arch: str) -> Mapping[str, int]:
    """Return the number of operations in flight that an instruction allows, by counter."""
    opcode = ins.opcode
    text = " ".join((*ins.operands, ins.modifiers))
    if opcode == "s_waitcnt":
        names = {"vmcnt": "load", "lgkmcnt": "ds", "vscnt": "store", "expcnt": "export"}
        return {names[name]: int(left) for name, left in _COUNTER.findall(text)}
    if opcode == "s_waitcnt_vscnt":
        return {"store": int(ins.operands[-1], 0)}
    name = opcode.removeprefix("s_wait_")
    if name in _PAIRS:
        left = int(ins.operands[0], 0)
        first, second = _PAIRS[name]
        return {first: left >> 8, second: left & 0xFF}
    if name in ("loadcnt", "storecnt", "dscnt", "kmcnt"):
        counter = {"kmcnt": "scalar"}.get(name, name.removesuffix("cnt"))
        return {counter: int(ins.operands[0], 0)}
    return {"load": 0, "store": 0, "ds": 0, "scalar": 0} if name == "idle" else {}


def _waited(
    state: State, waits: Mapping[str, int], counters: Sequence[str], code: Sequence[Decoded]
) -> State:
    """Return the state after a wait."""
    for counter, left in waits.items():
        out_of_order = left and any(
            counters[at] == counter and _is_scalar(code[at]) for at in state
        )
        state = {
            at: count
            for at, count in state.items()
            if counters[at] != counter or count < left or out_of_order
        }
    return state
