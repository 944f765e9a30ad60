"""Race detector against a reference: random programs, and every pair of their accesses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgen.emulate.report import EmulationFault
from tests.emulate.llvm.llvm_kernels import kernel, run
from tests.emulate.random_races import (
    ACCESSES,
    CELLS,
    LANES,
    Step,
    conflicts,
    masks,
    may_meet,
    programs,
)

FENCES = {
    "release": 'fence syncscope("workgroup") release',
    "acquire": 'fence syncscope("workgroup") acquire',
    "wave": 'fence syncscope("wavefront") acq_rel',
    "agent": 'fence syncscope("agent") acq_rel',
    "barrier": "call void @llvm.amdgcn.s.barrier()",
}
RELEASES, ACQUIRES = {"release", "agent"}, {"acquire", "agent"}
TEXT = {
    "load": "%v{i} = load i32, {at} %p{i}",
    "store": "store i32 %t, {at} %p{i}",
    "peek": "%v{i} = load atomic i32, {at} %p{i} monotonic, align 4",
    "put": "store atomic i32 %t, {at} %p{i} monotonic, align 4",
    "atomic": "%v{i} = atomicrmw add {at} %p{i}, i32 1 monotonic",
}


def ordered(program: list[Step], first: int, last: int, same_wave: bool) -> bool:
    """Whether accesses at two steps are ordered, by lanes that all execute every step."""
    between = [kind for kind, _, _ in program[first + 1 : last]]
    if same_wave:
        return any(kind in FENCES and kind != "barrier" for kind in between)
    wanted = [RELEASES, {"barrier"}, ACQUIRES]
    for kind in between:
        if wanted and kind in wanted[0]:
            wanted.pop(0)
    return not wanted


def races(program: list[Step]) -> set[bool]:
    """Return the allowed verdicts: a race, none, or both if the scheduling decides."""
    answer = {False}
    for pair in conflicts(program):
        if ordered(program, pair.first, pair.last, pair.same_wave):
            continue
        if pair.same_wave or not may_meet(program, pair, RELEASES, ACQUIRES):
            return {True}
        answer = {False, True}
    return answer


def text(program: list[Step], space: int) -> str:
    """Return a program with each access in a block of its own; the stored value is the lane's
    number."""
    at = f"ptr addrspace({space})"
    base = "@cells" if space == 3 else "%cells"
    body = ""
    for i, step in enumerate(program):
        if step[0] in FENCES:
            body += f"  {FENCES[step[0]]}\n"
            continue
        who, low, high = masks(step)
        body += f"""
  %m{i} = lshr i64 {who}, %i
  %c{i} = trunc i64 %m{i} to i1
  br i1 %c{i}, label %then{i}, label %join{i}
then{i}:
  %l{i} = lshr i64 {low}, %i
  %u{i} = lshr i64 {high}, %i
  %l1{i} = and i64 %l{i}, 1
  %u1{i} = and i64 %u{i}, 1
  %u2{i} = shl i64 %u1{i}, 1
  %n{i} = or i64 %l1{i}, %u2{i}
  %p{i} = getelementptr i32, {at} {base}, i64 %n{i}
  {TEXT[step[0]].format(i=i, at=at)}
  br label %join{i}
join{i}:
"""
    first = ""
    if space == 3:  # initialised by one lane, for all
        first = "  %z = icmp eq i32 %t, 63\n  br i1 %z, label %init, label %start\ninit:\n"
        first += f"  store [{CELLS} x i32] zeroinitializer, ptr addrspace(3) @cells\n"
        first += "  br label %start\nstart:\n"
        first += "".join(f"  {FENCES[k]}\n" for k in ("release", "barrier", "acquire"))
    return kernel(
        first + body + "  ret void",
        "ptr addrspace(1) %cells",
        cpu="gfx1100",
        declarations=f"""
@cells = internal addrspace(3) global [{CELLS} x i32] poison, align 4
declare void @llvm.amdgcn.s.barrier()""",
    )


def found(program: list[Step], space: int, seed: int) -> bool:
    """Whether the emulator finds a race."""
    try:
        run(
            text(program, space),
            entry="k",
            grid=(1, 1, 1),
            block=(LANES, 1, 1),
            arguments=[np.zeros(CELLS, np.uint32)],
            seed=seed,
        )
    except EmulationFault as error:
        assert error.fault.kind == "race", str(error)
        return True
    return False


@pytest.mark.parametrize("space", [1, 3])
@settings(max_examples=150, deadline=None)
@example(program=[("store", "apart", 0), ("store", "twins", 0)], seed=0)
@given(program=programs(list(FENCES)), seed=st.integers(0, 2))
def test_races_are_found_and_nothing_else(space: int, program: list[Step], seed: int) -> None:
    assert found(program, space, seed) in races(program)


@pytest.mark.parametrize("space", [1, 3])
@pytest.mark.parametrize("first", ACCESSES)
@pytest.mark.parametrize("last", ACCESSES)
def test_every_way_to_be_ordered(space: int, first: str, last: str) -> None:
    """Accesses are of two waves, or of two lanes of one wave."""
    between = [[], *([a] for a in FENCES), *(list(p) for p in product(FENCES, repeat=3))]
    for kinds in between[:: 2 if (first, last) == ("store", "load") else 11]:
        middle: list[Step] = [(kind, "", 0) for kind in kinds]
        for lanes in ("other", "neighbours"):
            program: list[Step] = [(first, "one", 1), *middle, (last, lanes, 1)]
            assert found(program, space, 0) in races(program), program


@pytest.mark.parametrize("space", [1, 3])
@pytest.mark.parametrize(
    "program",
    [
        [("atomic", "other", 0), ("atomic", "one", 0), ("load", "one", 0)],
        [("atomic", "both", 0), ("release", "", 0), ("load", "one", 0)],
        [("peek", "other", 0), ("peek", "one", 0), ("store", "one", 0)],
        [("load", "twins", 0), ("store", "twins", 1), ("store", "twins", 0)],
    ],
)
def test_several_before(space: int, program: list[Step]) -> None:
    assert found(program, space, 0)
