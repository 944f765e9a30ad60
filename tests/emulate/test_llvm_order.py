"""The race detector against a reference: random programs, and every pair of their accesses."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.emulate.llvm import run
from kgen.emulate.report import EmulationFault
from tests.emulate.llvm_kernels import kernel

#: Two waves on gfx1100; the lanes that access are few, so that they often meet.
LANES, CELLS = 64, 4
FENCES = {
    "release": 'fence syncscope("workgroup") release',
    "acquire": 'fence syncscope("workgroup") acquire',
    "wave": 'fence syncscope("wavefront") acq_rel',
    "agent": 'fence syncscope("agent") acq_rel',
    "barrier": "call void @llvm.amdgcn.s.barrier()",
}
#: Which lanes access which cell: each is a function of the lane, None for no access.
LANES_OF = {
    "one": lambda lane, cell: cell if lane == 0 else None,
    "other": lambda lane, cell: cell if lane == 32 else None,
    "neighbours": lambda lane, cell: (cell + lane) % CELLS if lane < 2 else None,
    "both": lambda lane, cell: cell if lane in (1, 33) else None,
    "apart": lambda lane, cell: (cell + lane // 32) % CELLS if lane in (3, 35) else None,
    "twins": lambda lane, cell: cell if lane in (2, 3) else None,
    "four": lambda lane, cell: cell if 30 <= lane < 34 else None,
}
ACCESSES = {
    "load": "%v{i} = load i32, {at} %p{i}",
    "store": "store i32 %t, {at} %p{i}",
    "peek": "%v{i} = load atomic i32, {at} %p{i} monotonic, align 4",
    "put": "store atomic i32 %t, {at} %p{i} monotonic, align 4",
    "atomic": "%v{i} = atomicrmw add {at} %p{i}, i32 1 monotonic",
}
WRITES, ATOMICS = {"store", "put", "atomic"}, {"peek", "put", "atomic"}
RELEASES, ACQUIRES = {"release", "agent"}, {"acquire", "agent"}
Step = tuple[str, str, int]

STEPS = st.one_of(
    st.tuples(
        st.sampled_from(list(ACCESSES)),
        st.sampled_from(list(LANES_OF)),
        st.integers(0, CELLS - 1),
    ),
    st.tuples(st.sampled_from(list(FENCES)), st.just(""), st.just(0)),
)


def ordered(program: list[Step], first: int, last: int, same_wave: bool) -> bool:
    """Whether accesses at two steps are, by lanes that all execute every step."""
    between = [kind for kind, _, _ in program[first + 1 : last]]
    if same_wave:
        return any(kind in FENCES and kind != "barrier" for kind in between)
    wanted = [RELEASES, {"barrier"}, ACQUIRES]
    for kind in between:
        if wanted and kind in wanted[0]:
            wanted.pop(0)
    return not wanted


def may_meet(program: list[Step], first: int, last: int) -> bool:
    """Whether the access of one wave at ``first`` may be ordered before the other wave's at
    ``last`` by atomics between a release of the one and an acquire of the other, if they happen to
    take turns so. Waves run at their own pace: the steps need not come in order."""
    kinds = [kind for kind, _, _ in program]
    released = [i for i, kind in enumerate(kinds) if kind in RELEASES and i > first]
    acquired = [i for i, kind in enumerate(kinds) if kind in ACQUIRES and i < last]
    leaves = released and any(kind in ("put", "atomic") for kind in kinds[released[0] :])
    reads = acquired and any(kind in ("peek", "atomic") for kind in kinds[: acquired[-1]])
    return bool(leaves and reads)


def races(program: list[Step]) -> set[bool]:
    """What the emulator may say: whether there is a race, or both where it depends on turns."""
    events = [
        (step, lane, cell, kind)
        for step, (kind, lanes, base) in enumerate(program)
        if kind not in FENCES
        for lane in range(LANES)
        if (cell := LANES_OF[lanes](lane, base)) is not None
    ]
    answer = {False}
    for (s1, l1, c1, k1), (s2, l2, c2, k2) in combinations(events, 2):
        kinds = {k1, k2}
        if c1 != c2 or l1 == l2 or kinds <= ATOMICS or not kinds & WRITES:
            continue
        same_wave = l1 // 32 == l2 // 32
        if s1 != s2 and ordered(program, min(s1, s2), max(s1, s2), same_wave):
            continue
        if same_wave or not (may_meet(program, s1, s2) or may_meet(program, s2, s1)):
            return {True}
        answer = {False, True}
    return answer


def text(program: list[Step], space: int) -> str:
    """Each access in a block of its own; the value stored is the lane's number."""
    base = "@cells" if space == 3 else "%cells"
    body = ""
    for i, (kind, lanes, cell) in enumerate(program):
        if kind in FENCES:
            body += f"  {FENCES[kind]}\n"
            continue
        at = f"ptr addrspace({space})"
        table = [LANES_OF[lanes](lane, cell) for lane in range(LANES)]
        bits = sum(1 << lane for lane, to in enumerate(table) if to is not None)
        cells = sum(1 << lane for lane, to in enumerate(table) if to is not None and to & 1)
        upper = sum(1 << lane for lane, to in enumerate(table) if to is not None and to & 2)
        access = ACCESSES[kind].format(i=i, at=at)
        body += f"""
  %m{i} = lshr i64 {bits}, %i
  %c{i} = trunc i64 %m{i} to i1
  br i1 %c{i}, label %then{i}, label %join{i}
then{i}:
  %l{i} = lshr i64 {cells}, %i
  %u{i} = lshr i64 {upper}, %i
  %l1{i} = and i64 %l{i}, 1
  %u1{i} = and i64 %u{i}, 1
  %u2{i} = shl i64 %u1{i}, 1
  %n{i} = or i64 %l1{i}, %u2{i}
  %p{i} = getelementptr i32, {at} {base}, i64 %n{i}
  {access}
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
@given(program=st.lists(STEPS, min_size=2, max_size=9), seed=st.integers(0, 2))
def test_races_are_found_and_nothing_else(space: int, program: list[Step], seed: int) -> None:
    assert found(program, space, seed) in races(program)


@pytest.mark.parametrize("space", [1, 3])
@pytest.mark.parametrize("first", ACCESSES)
@pytest.mark.parametrize("last", ACCESSES)
def test_every_way_to_be_ordered(space: int, first: str, last: str) -> None:
    """Between an access of one wave and one of the other, and of two lanes of one wave."""
    between = [[], *([a] for a in FENCES), *(list(p) for p in product(FENCES, repeat=3))]
    for kinds in between[:: 1 if (first, last) == ("store", "load") else 9]:
        middle: list[Step] = [(kind, "", 0) for kind in kinds]
        for lanes in ("other", "neighbours"):
            program: list[Step] = [(first, "one", 1), *middle, (last, lanes, 1)]
            assert found(program, space, 0) in races(program), program
