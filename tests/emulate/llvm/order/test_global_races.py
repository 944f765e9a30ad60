"""The checks of global memory: races between lanes, waves and workgroups."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault, Fault
from tests.emulate.llvm.llvm_kernels import kernel, run

LANES = 128
#: More than fit into one chunk of lockstep.
MANY = 300

DECLARATIONS = """
@last = internal addrspace(3) global i32 poison, align 4
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
"""
LOCAL = '\n!1 = !{!"amdgpu-synchronize-as", !"local"}\n'
RELEASE, ACQUIRE = 'fence syncscope("workgroup") release', 'fence syncscope("workgroup") acquire'
BARRIER = f"""{RELEASE}
  call void @llvm.amdgcn.s.barrier()
  {ACQUIRE}"""
NUMBER = """
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %g, 128
  %n = add i32 %base, %t"""


def launch(
    body: str,
    *arrays: np.ndarray,
    groups: int = 3,
    checks: bool = True,
    seed: int = 0,
    metadata: str = "",
) -> None:
    parameters = ", ".join(f"ptr addrspace(1) %p{i}" for i in range(len(arrays)))
    source = kernel(NUMBER + body, parameters, declarations=DECLARATIONS + metadata)
    run(
        source,
        entry="k",
        grid=(groups, 1, 1),
        block=(LANES, 1, 1),
        arguments=arrays,
        checks=checks,
        seed=seed,
    )


def fault(
    body: str, *arrays: np.ndarray, groups: int = 3, seed: int = 0, metadata: str = ""
) -> Fault:
    launch(body, *(a.copy() for a in arrays), groups=groups, checks=False, metadata=metadata)
    with pytest.raises(EmulationFault) as error:
        launch(body, *arrays, groups=groups, seed=seed, metadata=metadata)
    assert error.value.fault.kind == "race"
    return error.value.fault


def zeros(count: int) -> np.ndarray:
    return np.zeros(count, np.uint32)


def at(name: str, pointer: str, index: str) -> str:
    return f"  %{name} = getelementptr i32, ptr addrspace(1) %{pointer}, i32 {index}\n"


def store(name: str, pointer: str, index: str, value: str) -> str:
    return at(name, pointer, index) + f"  store i32 {value}, ptr addrspace(1) %{name}\n"


def load(name: str, pointer: str, index: str) -> str:
    where = at(f"{name}.at", pointer, index)
    return where + f"  %{name} = load i32, ptr addrspace(1) %{name}.at\n"


# -- between workgroups -------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [2, MANY])
def test_two_workgroups_that_write_one_address(groups: int) -> None:
    """The last workgroup stores where the first one does, in the same chunk of workgroups or
    not."""
    body = f"""
  %is = icmp eq i32 %g, {groups - 1}
  %w = select i1 %is, i32 %t, i32 %n
{store("to", "p0", "%w", "%n")}
  ret void"""
    found = fault(body, zeros(groups * LANES), groups=groups)
    assert found.workgroup in ((0, 0, 0), (groups - 1, 0, 0))
    assert "of workgroup" in found.message and "no device-scope release" in found.message
    assert found.address == 1 << 40


def test_each_address_once_is_clean() -> None:
    out = zeros(MANY * LANES)
    launch(store("to", "p0", "%n", "%n") + "  ret void", out, groups=MANY)
    np.testing.assert_array_equal(out, np.arange(len(out)))


def test_a_shift_in_place_reads_what_the_neighbour_writes() -> None:
    body = f"""
  %next = add i32 %n, 1
{load("x", "p0", "%next")}
{store("to", "p0", "%n", "%x")}
  ret void"""
    assert "read" in fault(body, zeros(3 * LANES + 1)).message
    # From one array to another it is fine, but not if they are the same.
    shift = body.replace(
        "%to = getelementptr i32, ptr addrspace(1) %p0",
        "%to = getelementptr i32, ptr addrspace(1) %p1",
    )
    array = zeros(3 * LANES + 1)
    launch(shift, array, zeros(3 * LANES))
    fault(shift, array, array[:-1])


def test_many_readers_of_what_one_writes() -> None:
    """Every wave reads the first element, and the last workgroup writes it."""
    body = f"""
{load("x", "p0", "0")}
  %is = icmp eq i32 %n, {3 * LANES - 1}
  br i1 %is, label %write, label %done
write:
  store i32 1, ptr addrspace(1) %p0
  br label %done
done:
{store("to", "p1", "%n", "%x")}
  ret void"""
    found = fault(body, zeros(1), zeros(3 * LANES))
    assert "writes bytes that" in found.message or "reads bytes that" in found.message


TICKET = f"""
{store("part", "p0", "%n", "%n")}
  {BARRIER}
  %first = icmp eq i32 %t, 0
  br i1 %first, label %take, label %join
take:
  fence syncscope("agent") release
  %ticket = atomicrmw add ptr addrspace(1) %p1, i32 1 syncscope("agent") monotonic
  fence syncscope("agent") acquire
  store i32 %ticket, ptr addrspace(3) @last
  br label %join
join:
  {BARRIER}
  %mine = load i32, ptr addrspace(3) @last
  %is = icmp eq i32 %mine, GROUPS
  br i1 %is, label %sum, label %done
sum:
  br label %loop
loop:
  %k = phi i32 [ 0, %sum ], [ %k.next, %loop ]
  %total = phi i32 [ 0, %sum ], [ %more, %loop ]
  %from = mul i32 %k, 128
  %index = add i32 %from, %t
{load("x", "p0", "%index")}
  %more = add i32 %total, %x
  %k.next = add i32 %k, 1
  %on = icmp ult i32 %k.next, LIMIT
  br i1 %on, label %loop, label %write
write:
{store("to", "p2", "%t", "%more")}
  br label %done
done:
  ret void"""


def ticket(groups: int) -> tuple[str, tuple[np.ndarray, ...]]:
    body = TICKET.replace("GROUPS", str(groups - 1)).replace("LIMIT", str(groups))
    return body, (zeros(groups * LANES), zeros(1), zeros(LANES))


@pytest.mark.parametrize("groups", [3, MANY])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_last_of_several_workgroups_sums_what_all_wrote(groups: int, seed: int) -> None:
    body, arrays = ticket(groups)
    launch(body, *arrays, groups=groups, seed=seed)
    expected = np.arange(groups * LANES).reshape(groups, LANES).sum(axis=0)
    np.testing.assert_array_equal(arrays[2], expected)


BROKEN = {
    "no release": ('  fence syncscope("agent") release\n', ""),
    "no acquire": ('  fence syncscope("agent") acquire\n', ""),
    "narrow release": ('fence syncscope("agent") release', RELEASE),
    "narrow acquire": ('fence syncscope("agent") acquire', ACQUIRE),
    "a barrier too few": (BARRIER, f"{RELEASE}\n  {ACQUIRE}"),
    "a narrow ticket": ('1 syncscope("agent")', '1 syncscope("workgroup")'),
    "fences of LDS only": (f"{RELEASE}\n", f"{RELEASE}, !mmra !1\n"),
}


@pytest.mark.parametrize("which", BROKEN)
@pytest.mark.parametrize("groups", [3, MANY])
def test_a_broken_ticket(which: str, groups: int) -> None:
    body, arrays = ticket(groups)
    old, new = BROKEN[which]
    assert old in body
    metadata = LOCAL if "!mmra" in new else ""
    found = fault(body.replace(old, new, 1), *arrays, groups=groups, metadata=metadata)
    if which in ("no release", "no acquire"):
        assert "reads bytes that lane" in found.message and found.instruction.startswith(
            "%x = load"
        )


def test_orderings_on_the_atomic_itself() -> None:
    body, arrays = ticket(3)
    for old in ('  fence syncscope("agent") release\n', '  fence syncscope("agent") acquire\n'):
        body = body.replace(old, "")
    launch(body.replace('syncscope("agent") monotonic', 'syncscope("agent") acq_rel'), *arrays)
    _, arrays = ticket(3)
    fault(body.replace('syncscope("agent") monotonic', 'syncscope("agent") acquire'), *arrays)


def test_atomics_of_many_workgroups_and_a_plain_access() -> None:
    add = "  %o = atomicrmw add ptr addrspace(1) %p0, i32 %n monotonic\n"
    total = zeros(1)
    launch(add + "  ret void", total, groups=MANY)
    assert total[0] == np.arange(MANY * LANES, dtype=np.uint32).sum(dtype=np.uint32)
    found = fault(
        add + load("x", "p0", "0") + store("to", "p1", "%n", "%x") + "  ret void",
        zeros(1),
        zeros(3 * LANES),
    )
    assert "an atomic of lane" in found.message
    # An atomic load does not race with them.
    atomic_load = load("x", "p0", "0").replace("load i32", "load atomic i32").rstrip()
    launch(
        add + atomic_load + " monotonic, align 4\n" + store("to", "p1", "%n", "%x") + "  ret void",
        zeros(1),
        zeros(3 * LANES),
    )


# -- within a workgroup -------------------------------------------------------------------------

EXCHANGE = (
    store("s", "p0", "%n", "%n")
    + f"  {BARRIER}\n  %o = xor i32 %n, 127\n"
    + load("x", "p0", "%o")
    + store("to", "p1", "%n", "%x")
    + "  ret void"
)


def test_an_exchange_through_global_memory() -> None:
    out = zeros(3 * LANES)
    launch(EXCHANGE, zeros(3 * LANES), out)
    np.testing.assert_array_equal(out, np.arange(3 * LANES) ^ 127)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("call void @llvm.amdgcn.s.barrier()", ""),
        (RELEASE, ""),
        (ACQUIRE, ""),
        (RELEASE, f"{RELEASE}, !mmra !1"),
        (ACQUIRE, f"{ACQUIRE}, !mmra !1"),
        (RELEASE, RELEASE.replace("workgroup", "wavefront")),
    ],
)
def test_a_broken_exchange(old: str, new: str) -> None:
    arrays = zeros(3 * LANES), zeros(3 * LANES)
    found = fault(EXCHANGE.replace(old, new), *arrays, metadata=LOCAL if "!mmra" in new else "")
    assert "no barrier with fences" in found.message
    assert f"wrote at line {found.line - 7}" in found.message or "wrote at line" in found.message


def test_within_a_wave_a_fence_is_enough_and_needed() -> None:
    body = EXCHANGE.replace("127", "1").replace(BARRIER, 'fence syncscope("wavefront") acq_rel')
    launch(body, zeros(3 * LANES), zeros(3 * LANES))
    none = body.replace('fence syncscope("wavefront") acq_rel', "")
    assert "no fence" in fault(none, zeros(3 * LANES), zeros(3 * LANES)).message


def test_pointers_that_come_from_memory_are_watched_too() -> None:
    """Nothing shows that the store is to p0, so all buffers have shadow memory."""
    body = f"""
  %slot = alloca ptr addrspace(1), addrspace(5)
  store ptr addrspace(1) %p0, ptr addrspace(5) %slot
  %p = load ptr addrspace(1), ptr addrspace(5) %slot
{store("to", "p", "%t", "%n")}
  ret void"""
    fault(body, zeros(LANES))
