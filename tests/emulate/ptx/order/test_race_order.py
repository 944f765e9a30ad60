"""Race detector against a reference: random programs, and every pair of their accesses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.emulate import EmulationFault
from tests.emulate.ptx.ptx_programs import program as source_of
from tests.emulate.ptx.ptx_programs import run
from tests.emulate.random_races import CELLS, LANES, Step, conflicts, masks, may_meet, programs

FENCES = {
    "block": "bar.sync 0;",
    "warp": "bar.warp.sync -1;",
    "fence": "fence.acq_rel.gpu;",
}
TEXT = {
    "load": "ld.{space}.u32 %r6, [%a1];",
    "store": "st.{space}.u32 [%a1], %t;",
    "peek": "ld.relaxed.gpu.{space}.u32 %r6, [%a1];",
    "put": "st.relaxed.gpu.{space}.u32 [%a1], %t;",
    "atomic": "atom.{space}.add.u32 %r6, [%a1], 1;",
}


def races(program: list[Step]) -> set[bool]:
    """Return the allowed verdicts: a race, none, or both if the scheduling decides."""
    answer = {False}
    for pair in conflicts(program):
        if pair.same_wave and pair.first == pair.last:
            # One instruction of a warp counts as one store, of any of the lanes; only in shared
            # memory it is refused if their values differ.
            return {False, True}
        between = {kind for kind, _, _ in program[pair.first + 1 : pair.last]}
        if "block" in between or (pair.same_wave and "warp" in between):
            continue
        if not may_meet(program, pair, {"fence"}, {"fence"}):
            return {True}
        answer = {False, True}
    return answer


def text(program: list[Step], space: str) -> str:
    """Return a program in which predicates select the lanes of each access; the stored value is
    the lane's number."""
    lines = ["and.b32 %r0, %t, 31;", "setp.ge.u32 %q0, %t, 32;", "mov.u64 %a2, %p0;"]
    if space == "shared":
        lines += ["mov.u64 %a2, cells;", "setp.eq.u32 %q2, %t, 63;"]
        lines += [f"@%q2 st.shared.u32 [%a2+{4 * i}], 0;" for i in range(CELLS)]
        lines += [FENCES["block"]]
    for step in program:
        if step[0] in FENCES:
            lines.append(FENCES[step[0]])
            continue
        for register, bits in zip(("%r1", "%r2", "%r3"), masks(step), strict=True):
            lines.append(f"selp.b32 {register}, {bits >> 32}, {bits & 0xFFFFFFFF}, %q0;")
            lines.append(f"shr.u32 {register}, {register}, %r0;")
            lines.append(f"and.b32 {register}, {register}, 1;")
        lines.append("setp.ne.u32 %q1, %r1, 0;")
        lines.append("mad.lo.u32 %r4, %r3, 2, %r2;")
        lines.append("mad.wide.u32 %a1, %r4, 4, %a2;")
        lines.append("@%q1 " + TEXT[step[0]].format(space=space))
    return source_of("\n".join(lines), params=1, shared=f".shared .align 4 .b8 cells[{4 * CELLS}];")


def found(program: list[Step], space: str, seed: int) -> bool:
    """Whether the emulator finds a race."""
    try:
        run(text(program, space), np.zeros(CELLS, np.uint32), threads=LANES, seed=seed)
    except EmulationFault as error:
        assert error.fault.kind == "race", str(error)
        return True
    return False


@pytest.mark.parametrize("space", ["global", "shared"])
@settings(max_examples=120, deadline=None)
@given(program=programs(list(FENCES)), seed=st.integers(0, 2))
def test_races_are_found_and_nothing_else(space: str, program: list[Step], seed: int) -> None:
    assert found(program, space, seed) in races(program)


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(
    "program",
    [
        [("atomic", "other", 0), ("atomic", "one", 0), ("load", "one", 0)],
        [("atomic", "both", 0), ("load", "one", 0)],
        [("peek", "other", 0), ("peek", "one", 0), ("store", "one", 0)],
        [("load", "twins", 0), ("store", "twins", 1), ("store", "twins", 0)],
        [("peek", "twins", 0), ("warp", "", 0), ("atomic", "four", 0), ("store", "one", 0)],
    ],
)
def test_several_before(space: str, program: list[Step]) -> None:
    assert found(program, space, 0)
