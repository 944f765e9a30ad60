"""Divergence and reconvergence, loops, switches, calls, and the order of blocks."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.llvm.exec import launch
from kgen.emulate.llvm.frontend.topology import weak_topological_order
from kgen.emulate.report import EmulationFault
from tests.emulate.llvm.llvm_kernels import kernel, lanewise, run

LANES = 128


def test_weak_topological_order_keeps_loops_together() -> None:
    # 0 -> 1 (loop 1-2-3, inner loop 2) -> 4; the exit of the loop is listed first.
    assert weak_topological_order([[1], [4, 2], [2, 3], [1], []]) == [0, 1, 2, 3, 4]
    # A branch around a branch: the join is behind both arms.
    order = weak_topological_order([[3, 1], [2, 4], [4], [4], []])
    assert order[0] == 0 and order[-1] == 4
    # So it is inside of a loop, whatever the order in which its blocks are found.
    order = weak_topological_order([[1], [2, 3], [4], [4], [1, 5], []])
    assert order.index(4) > max(order.index(2), order.index(3))
    # Unreachable blocks are left out, long chains need no recursion.
    assert weak_topological_order([[2], [2], []]) == [0, 2]
    count = 5000
    chain = [[n + 1] for n in range(count)] + [[]]
    assert weak_topological_order(chain) == list(range(count + 1))


COLLATZ = """
  br label %test
done:
  %r = add i32 %count, 0
  br label %end
test:
  %n = phi i32 [ %a, %entry ], [ %m, %joined ]
  %count = phi i32 [ 0, %entry ], [ %more, %joined ]
  %is.one = icmp eq i32 %n, 1
  %more = add i32 %count, 1
  br i1 %is.one, label %done, label %step
step:
  %odd = trunc i32 %n to i1
  br i1 %odd, label %up, label %down
up:
  %triple = mul i32 %n, 3
  %n.up = add i32 %triple, 1
  br label %joined
down:
  %n.down = lshr i32 %n, 1
  br label %joined
joined:
  %m = phi i32 [ %n.up, %up ], [ %n.down, %down ]
  br label %test
end:
"""


def test_lanes_leave_a_loop_one_by_one() -> None:
    """Every lane has its own trip count, and keeps the value of its own last iteration."""
    start = np.arange(1, LANES + 1, dtype=np.uint32)
    steps = np.zeros(LANES, np.uint32)
    report = lanewise(COLLATZ, [start], steps)
    expected = []
    for value in start.tolist():
        count = 0
        while value != 1:
            value = 3 * value + 1 if value % 2 else value // 2
            count += 1
        expected.append(count)
    np.testing.assert_array_equal(steps, expected)
    # Lanes reconverge in every iteration: the loop runs as often as its longest lane, not as the
    # sum of all paths.
    assert report.counters["control"] < 2 * 5 * (max(expected) + 3)


def test_switch_with_a_phi() -> None:
    a = np.arange(LANES, dtype=np.uint32)
    out = np.zeros(LANES, np.uint32)
    lanewise(
        """
  %case = urem i32 %a, 5
  switch i32 %case, label %other [
    i32 0, label %join
    i32 1, label %one
    i32 3, label %one
  ]
one:
  %square = mul i32 %a, %a
  br label %join
other:
  br label %join
join:
  %r = phi i32 [ 7, %entry ], [ %square, %one ], [ %case, %other ]
""",
        [a],
        out,
    )
    expected = np.choose(a % 5, [np.full_like(a, 7), a * a, a % 5, a * a, a % 5])
    np.testing.assert_array_equal(out, expected)


def test_what_a_loop_defines_is_kept_for_lanes_that_left_it() -> None:
    """Without a phi after the loop, a lane sees the value of its own last iteration."""
    a = np.arange(LANES, dtype=np.uint32)
    out = np.zeros(LANES, np.uint32)
    lanewise(
        """
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %p.a, i32 %k
  %loaded = load i32, ptr addrspace(1) %at
  %next = add i32 %k, 1
  %more = icmp ule i32 %next, %a
  br i1 %more, label %loop, label %done
done:
  %r = add i32 %loaded, %next
""",
        [a],
        out,
    )
    np.testing.assert_array_equal(out, a + a + 1)


@pytest.mark.parametrize("together", [False, True])
def test_swap_in_phis_is_simultaneous(together: bool) -> None:
    a = np.full(LANES, 4, np.uint32) if together else np.arange(LANES, dtype=np.uint32)
    out = np.zeros(LANES, np.uint32)
    lanewise(
        """
  br label %loop
loop:
  %x = phi i32 [ 1, %entry ], [ %y, %loop ]
  %y = phi i32 [ 2, %entry ], [ %x, %loop ]
  %k = phi i32 [ 0, %entry ], [ %k.next, %loop ]
  %k.next = add i32 %k, 1
  %more = icmp ule i32 %k.next, %a
  br i1 %more, label %loop, label %done
done:
  %r = add i32 %x, 0
""",
        [a],
        out,
    )
    np.testing.assert_array_equal(out, np.where(a % 2 == 0, 1, 2))


def test_lanes_that_returned_stay_away() -> None:
    out = np.full(LANES, 9, np.uint32)
    source = kernel(
        """
  %few = icmp ult i32 %t, 100
  br i1 %few, label %work, label %leave
leave:
  ret void
work:
  %at = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %t, ptr addrspace(1) %at
  ret void""",
        "ptr addrspace(1) %out",
    )
    small = out[:100].copy()
    run(source, entry="k", grid=(1, 1, 1), block=(LANES, 1, 1), arguments=[small])
    np.testing.assert_array_equal(small, np.arange(100))


def test_a_block_that_is_no_multiple_of_a_wave() -> None:
    out = np.zeros(70, np.uint32)
    lanewise("  %r = add i32 %t, 1", [], out)
    np.testing.assert_array_equal(out, np.arange(1, 71))
    counts = np.zeros(70, np.uint32)
    lanewise(
        """
  %mask = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %count = call i64 @llvm.ctpop.i64(i64 %mask)
  %r = trunc i64 %count to i32""",
        [],
        counts,
        declarations="declare i64 @llvm.amdgcn.ballot.i64(i1)\ndeclare i64 @llvm.ctpop.i64(i64)",
    )
    assert counts.tolist() == [64] * 64 + [6] * 6


def test_calls_under_divergence() -> None:
    a = np.arange(LANES, dtype=np.uint32)
    out = np.zeros(LANES, np.uint32)
    lanewise(
        """
  %odd = trunc i32 %a to i1
  br i1 %odd, label %recurse, label %join
recurse:
  %s = call i32 @sum(i32 %a)
  br label %join
join:
  %r = phi i32 [ 0, %entry ], [ %s, %recurse ]
""",
        [a],
        out,
        declarations="""
define internal i32 @sum(i32 %n) {
  %zero = icmp eq i32 %n, 0
  br i1 %zero, label %base, label %more
base:
  ret i32 0
more:
  %less = sub i32 %n, 1
  %rest = call i32 @sum(i32 %less)
  %total = add i32 %rest, %n
  ret i32 %total
}""",
    )
    np.testing.assert_array_equal(out, np.where(a % 2 == 1, a * (a + 1) // 2, 0))


def test_workgroups_of_a_grid_and_a_choice_of_them() -> None:
    source = kernel(
        """
  %x = call i32 @llvm.amdgcn.workgroup.id.x()
  %y = call i32 @llvm.amdgcn.workgroup.id.y()
  %z = call i32 @llvm.amdgcn.workgroup.id.z()
  %ty = call i32 @llvm.amdgcn.workitem.id.y()
  %y3 = mul i32 %y, 3
  %z6 = mul i32 %z, 6
  %xy = add i32 %x, %y3
  %group = add i32 %xy, %z6
  %of.group = mul i32 %group, 64
  %of.row = mul i32 %ty, 32
  %in.group = add i32 %of.row, %t
  %n = add i32 %of.group, %in.group
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %n
  %value = add i32 %n, %scalar
  store i32 %value, ptr addrspace(1) %at
  ret void""",
        "ptr addrspace(1) %out, i32 %scalar",
        declarations="declare i32 @llvm.amdgcn.workgroup.id.x()\n"
        "declare i32 @llvm.amdgcn.workgroup.id.y()\ndeclare i32 @llvm.amdgcn.workgroup.id.z()\n"
        "declare i32 @llvm.amdgcn.workitem.id.y()",
    )
    size = 3 * 2 * 2 * 64
    for seed in (0, 1):
        out = np.zeros(size, np.uint32)
        report = run(
            source,
            entry="k",
            grid=(3, 2, 2),
            block=(32, 2, 1),
            arguments=[out, np.int32(5)],
            seed=seed,
        )
        np.testing.assert_array_equal(out, np.arange(size) + 5)
        assert (report.workgroups_run, report.workgroups_total) == (12, 12)
    out = np.zeros(size, np.uint32)
    report = run(
        source,
        entry="k",
        grid=(3, 2, 2),
        block=(32, 2, 1),
        arguments=[out, np.int32(5)],
        workgroups=[(1, 0, 0), (2, 1, 1)],
    )
    assert report.workgroups_run == 2
    written = np.flatnonzero(out.reshape(12, 64).any(axis=1))
    np.testing.assert_array_equal(written, [1, 11])


def test_a_loop_without_end_is_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_FREE_STEPS", 100)
    body = """
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, STOP
  br i1 %more, label %loop, label %done
done:
  %r = add i32 %next, 0
"""
    out = np.zeros(LANES, np.uint32)
    lanewise(body.replace("STOP", "500"), [], out)
    with pytest.raises(EmulationFault, match="has not ended after 612 steps") as error:
        lanewise(body.replace("STOP", "700"), [], out)
    assert error.value.fault.kind == "deadlock"
