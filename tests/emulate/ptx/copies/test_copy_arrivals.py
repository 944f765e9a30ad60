"""cp.async.mbarrier.arrive: an arrival covers the copies before it, and no later ones."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault, Fault
from tests.emulate.ptx import ptx_kernels
from tests.emulate.ptx.ptx_kernels import Array, kernel, launch
from tests.emulate.ptx.ptxas import assemble

SEEDS = range(6)
each_form = pytest.mark.parametrize("form", ["", ".noinc"])
each_seed = pytest.mark.parametrize("seed", SEEDS)

#: Two objects, at %r1 and %r1+8. %r2 and %r2+256 are the thread's words in two tiles, %r3 and
#: %r3+256 those of its neighbour in the other warp; %r4 is an unrelated word of the thread.
SHARED = (
    "  .shared .align 16 .b8 tile[512];\n  .shared .align 16 .b8 more[256];\n"
    "  .shared .align 8 .b64 bar[2];\n"
)
START = """
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, bar;
  mov.u32 %r5, tile;
  mad.lo.u32 %r2, %r0, 4, %r5;
  xor.b32 %r6, %r0, 32;
  mad.lo.u32 %r3, %r6, 4, %r5;
  mov.u32 %r5, more;
  mad.lo.u32 %r4, %r0, 4, %r5;
  mad.lo.u32 %r7, %r6, 4, %r5;
  mad.wide.u32 %d0, %r0, 4, %in;
  mad.wide.u32 %d1, %r0, 4, %out;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra made;
  mbarrier.init.shared.b64 [%r1], 64;
  mbarrier.init.shared.b64 [%r1+8], 64;
made:
  bar.sync 0;
"""
FIRST = "  cp.async.ca.shared.global [%r2], [%d0], 4;\n"
SECOND = "  cp.async.ca.shared.global [%r2+256], [%d0+256], 4;\n"


def arrive(number: int, form: str) -> str:
    """Return code that makes the earlier copies arrive at an mbarrier; without .noinc the thread
    arrives, too."""
    text = f"  cp.async.mbarrier.arrive{form}.shared.b64 [%r1+{8 * number}];\n"
    return text if form else f"{text}  mbarrier.arrive.shared.b64 _, [%r1+{8 * number}];\n"


def wait(number: int) -> str:
    return f"""
wait{number}:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r1+{8 * number}], 0;
  @!%p1 bra wait{number};
"""


def read(address: str) -> str:
    return f"  ld.shared.u32 %r8, [{address}];\n  st.global.u32 [%d1], %r8;\n"


def program(*parts: str) -> str:
    source = kernel(START + "".join(parts), params=("in", "out"), declarations=SHARED)
    assemble(source, "sm_90")
    return source


def result(source: str, seed: int) -> tuple[Array, Array]:
    """Return (copied words, stored words)."""
    data, out = np.arange(1, 129, dtype=np.uint32), np.zeros(64, np.uint32)
    launch(source, data, out, block=(64, 1, 1), seed=seed)
    return data.reshape(2, 64), out


def fault(source: str, seed: int) -> Fault:
    data, out = np.arange(1, 129, dtype=np.uint32), np.zeros(64, np.uint32)
    return ptx_kernels.fault(source, data, out, block=(64, 1, 1), seed=seed)


OTHERS = np.arange(64) ^ 32


@each_form
@each_seed
@pytest.mark.parametrize("number", [0, 1])
def test_who_waits_for_a_copy_has_it(form: str, seed: int, number: int) -> None:
    source = program(
        FIRST, arrive(0, form), SECOND, arrive(1, form), wait(number), read(f"%r3+{256 * number}")
    )
    data, out = result(source, seed)
    assert (out == data[number][OTHERS]).all()


@each_form
@each_seed
@pytest.mark.parametrize("whose", ["%r2", "%r3"])
def test_an_arrival_does_not_complete_later_copies(form: str, seed: int, whose: str) -> None:
    """Each thread waits for the first of two copies and reads the second one's data."""
    source = program(FIRST, arrive(0, form), SECOND, arrive(1, form), wait(0), read(f"{whose}+256"))
    found = fault(source, seed)
    assert found.kind in ("pending-copy", "race")
    assert found.instruction.startswith("ld.shared.u32")


@each_form
@each_seed
def test_an_arrival_does_not_complete_a_copy_that_none_counts(form: str, seed: int) -> None:
    source = program(FIRST, arrive(0, form), SECOND, wait(0), read("%r3+256"))
    assert fault(source, seed).kind == "pending-copy"


@each_form
@each_seed
def test_the_second_arrival_covers_the_first_copy(form: str, seed: int) -> None:
    """An arrival tracks all earlier copies of the thread (PTX ISA 9.7.13.15.14)."""
    source = program(FIRST, arrive(0, form), SECOND, arrive(1, form), wait(1), read("%r3"))
    data, out = result(source, seed)
    assert (out == data[0][OTHERS]).all()


@each_seed
def test_an_arrival_releases_the_stores_before_it_alone(seed: int) -> None:
    store, arrival = "  st.shared.u32 [%r4], %r0;\n", arrive(0, ".noinc")
    before = program(store, FIRST, arrival, wait(0), read("%r7"))
    assert (result(before, seed)[1] == OTHERS).all()
    after = program(FIRST, arrival, store, wait(0), read("%r7"))
    assert fault(after, seed).kind == "race"


@each_form
@each_seed
def test_who_also_waits_for_its_own_copies(form: str, seed: int) -> None:
    """A wait_all by the copying thread does not satisfy threads that wait for the mbarrier."""
    own = "  cp.async.wait_all;\n"
    source = program(FIRST, arrive(0, form), own, wait(0), read("%r3"))
    data, out = result(source, seed)
    assert (out == data[0][OTHERS]).all()


@each_seed
def test_ring_of_two_objects(seed: int) -> None:
    """A producer warp and a consumer warp share two stages; the parity of the full barrier
    alternates."""
    body = """
  mov.u32 %r10, 0;
  setp.ge.u32 %p2, %r0, 32;
  and.b32 %r11, %r0, 31;
  mov.u32 %r5, tile;
  mad.lo.u32 %r2, %r11, 4, %r5;
  xor.b32 %r12, %r11, 1;
  mad.lo.u32 %r3, %r12, 4, %r5;
  mad.wide.u32 %d0, %r11, 4, %in;
  mov.u32 %r20, 0;
  @%p2 bra consume;
produce:
  and.b32 %r13, %r10, 1;
  shl.b32 %r14, %r13, 3;
  add.u32 %r14, %r14, %r1;
  shr.u32 %r15, %r10, 1;
  xor.b32 %r15, %r15, 1;
  and.b32 %r15, %r15, 1;
empty:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r14+16], %r15;
  @!%p1 bra empty;
  mad.lo.u32 %r16, %r13, 256, %r2;
  cp.async.ca.shared.global [%r16], [%d0], 4;
  cp.async.mbarrier.arrive.noinc.shared.b64 [%r14];
  add.u64 %d0, %d0, 128;
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p3, %r10, 4;
  @%p3 bra produce;
  ret;
consume:
  and.b32 %r13, %r10, 1;
  shl.b32 %r14, %r13, 3;
  add.u32 %r14, %r14, %r1;
  shr.u32 %r15, %r10, 1;
  and.b32 %r15, %r15, 1;
full:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r14], %r15;
  @!%p1 bra full;
  mad.lo.u32 %r16, %r13, 256, %r3;
  ld.shared.u32 %r17, [%r16];
  add.u32 %r20, %r20, %r17;
  mbarrier.arrive.shared.b64 _, [%r14+16];
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p3, %r10, 4;
  @%p3 bra consume;
  st.global.u32 [%d1], %r20;
"""
    objects = "".join(f"  mbarrier.init.shared.b64 [%r1+{8 * i}], 32;\n" for i in range(4))
    start = START.replace(
        "  mbarrier.init.shared.b64 [%r1], 64;\n  mbarrier.init.shared.b64 [%r1+8], 64;\n", objects
    )
    source = kernel(
        start + body, params=("in", "out"), declarations=SHARED.replace("bar[2]", "bar[4]")
    )
    assemble(source, "sm_90")
    data, out = result(source, seed)
    assert (out[32:] == data.reshape(4, 32).sum(0)[np.arange(32) ^ 1]).all()
    # The consumer that looks at the stage after the one that it has waited for.
    wrong = source.replace(
        "  mad.lo.u32 %r16, %r13, 256, %r3;\n",
        "  xor.b32 %r13, %r13, 1;\n  mad.lo.u32 %r16, %r13, 256, %r3;\n",
    )
    assert fault(wrong, seed).kind in ("pending-copy", "race", "uninitialised-read")


# ---------------------------------------------------------------------- who waits for another one

BULK = """
  @%p0 bra issued;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r1+8], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%in], 256, [%r1+8];
issued:
"""


@each_seed
@pytest.mark.parametrize("bulk_first", [False, True])
def test_waiting_for_a_bulk_copy_in_place_of_a_copy(seed: int, bulk_first: bool) -> None:
    """A barrier after the arrival shows other threads that it was issued, not that it is
    complete."""
    copy = FIRST + arrive(0, ".noinc")
    issue = BULK + copy if bulk_first else copy + BULK
    start = START.replace("[%r1+8], 64", "[%r1+8], 1").replace(
        "made:", "  fence.mbarrier_init.release.cluster;\nmade:"
    )
    text = start + issue + "  bar.sync 0;\n" + wait(1) + "WAIT" + read("%r3")
    source = kernel(text, params=("in", "out"), declarations=SHARED)
    data, out = result(source.replace("WAIT", wait(0)), seed)
    assert (out == data[0][OTHERS]).all()
    assert fault(source.replace("WAIT", ""), seed).kind == "pending-copy"


@pytest.mark.parametrize("other", [0, 1])
def test_waiting_for_the_copies_of_another_warp(other: int) -> None:
    """Each warp copies for its own mbarrier; all wait for one of them and read the other's data."""
    start = START.replace("], 64", "], 32").replace("[%r1+8], 64", "[%r1+8], 32")
    issue = f"""
  setp.ge.u32 %p2, %r0, 32;
{FIRST}
  @!%p2 cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
  @%p2 cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+8];
  bar.sync 0;
"""
    place = f"  and.b32 %r9, %r0, 31;\n  mad.lo.u32 %r9, %r9, 4, {128 * other};\n"
    look = f"{place}  mov.u32 %r10, tile;\n  add.u32 %r9, %r9, %r10;\n" + read("%r9")

    def waiting(*numbers: int) -> str:
        text = start + issue + "".join(map(wait, numbers)) + look
        return kernel(text, params=("in", "out"), declarations=SHARED)

    for seed in SEEDS:
        data, out = result(waiting(0, 1), seed)
        assert (out.reshape(2, 32) == data[0, 32 * other : 32 * other + 32]).all()
    wrong, caught = waiting(1 - other), []
    for seed in (0, 1):
        try:
            result(wrong, seed)
        except EmulationFault as error:
            caught.append(error.fault.kind)
    assert caught and set(caught) == {"pending-copy"}
