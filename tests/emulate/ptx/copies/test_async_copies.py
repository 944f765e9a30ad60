"""cp.async: groups, reads before their wait, zeros after a source."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_kernels import (
    THREAD,
    TILE,
    fault,
    kernel,
    launch,
)


def pipeline(groups: int, pending: int) -> str:
    """Each thread copies `groups` words one by one, waits, and sums those that must be there."""
    body = THREAD + "  mad.wide.u32 %d1, %r0, 4, %in;\n  mad.lo.u32 %r2, %r0, 4, %r1;\n"
    for i in range(groups):
        body += f"  cp.async.ca.shared.global [%r2+{256 * i}], [%d1+{256 * i}], 4;\n"
        body += "  cp.async.commit_group;\n"
    body += f"  cp.async.wait_group {pending};\n  mov.u32 %r4, 0;\n"
    for i in range(groups - pending):
        body += f"  ld.shared.u32 %r5, [%r2+{256 * i}];\n  add.u32 %r4, %r4, %r5;\n"
    body += "  mad.wide.u32 %d2, %r0, 4, %out;\n  st.global.u32 [%d2], %r4;\n"
    return kernel(body, params=("in", "out"), declarations=TILE)


@pytest.mark.parametrize("pending", [0, 1, 3])
def test_groups_finish_in_order(pending: int) -> None:
    data, out = np.arange(256, dtype=np.uint32), np.zeros(64, np.uint32)
    launch(pipeline(4, pending), data, out, block=(64, 1, 1))
    assert (out == data.reshape(4, 64)[: 4 - pending].sum(0)).all()


def test_a_thread_that_waits_for_too_few_groups() -> None:
    source = pipeline(4, 2).replace("wait_group 2", "wait_group 3")
    data, out = np.arange(256, dtype=np.uint32), np.zeros(64, np.uint32)
    assert fault(source, data, out, block=(64, 1, 1)).kind == "pending-copy"


def test_groups_belong_to_a_thread() -> None:
    """Odd lanes commit one more group, so wait_group 1 leaves the copies of even lanes pending."""
    body = (
        THREAD
        + """
  and.b32 %r3, %r0, 1;
  setp.eq.u32 %p0, %r3, 1;
  mad.wide.u32 %d1, %r0, 4, %in;
  mad.lo.u32 %r2, %r0, 4, %r1;
  cp.async.ca.shared.global [%r2], [%d1], 4;
  cp.async.commit_group;
  @%p0 cp.async.commit_group;
  cp.async.wait_group 1;
  {}ld.shared.u32 %r4, [%r2];
"""
    )
    data = np.arange(32, dtype=np.uint32)
    launch(kernel(body.format("@%p0 "), params=("in",), declarations=TILE), data)
    found = fault(kernel(body.format(""), params=("in",), declarations=TILE), data)
    assert (found.kind, found.lanes[:3]) == ("pending-copy", (0, 2, 4))


@pytest.mark.parametrize("size", [4, 8, 16])
def test_a_copy_fills_with_zeros_behind_its_source(size: int) -> None:
    """Thread t copies t % (size + 1) bytes; the source is not read past them."""
    count = size // 4
    registers = ", ".join(f"%r1{i}" for i in range(count))
    operand = f"{{{registers}}}" if count > 1 else registers
    vector = f".v{count}" if count > 1 else ""
    body = (
        THREAD
        + f"""
  rem.u32 %r3, %r0, {size + 1};
  mad.lo.u32 %r2, %r0, {size}, %r1;
  mad.wide.u32 %d1, %r0, {size}, %in;
  cp.async.ca.shared.global.L2::128B [%r2], [%d1], {size}, %r3;
  cp.async.wait_all;
  ld.shared{vector}.u32 {operand}, [%r2];
  mad.wide.u32 %d2, %r0, {size}, %out;
  st.global{vector}.u32 [%d2], {operand};
"""
    )
    threads = 32
    data = np.random.default_rng(2).integers(1, 256, threads * size, np.uint8)
    last = (threads - 1) % (size + 1)
    out = np.zeros_like(data)
    given = data[: (threads - 1) * size + last]
    launch(kernel(body, params=("in", "out"), declarations=TILE), given, out)
    kept = np.arange(size)[None] < (np.arange(threads) % (size + 1))[:, None]
    assert (out == np.where(kept, data.reshape(threads, size), 0).ravel()).all()


def test_a_copy_outside_its_source_is_a_fault_at_the_copy() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 4, %r1;
  mad.wide.u32 %d1, %r0, 4, %in;
  cp.async.ca.shared.global [%r2], [%d1], 4;
"""
    )
    found = fault(kernel(body, params=("in",), declarations=TILE), np.zeros(31, np.uint32))
    assert (found.kind, found.lanes) == ("out-of-bounds", (31,))


def test_a_copy_over_what_others_read_is_a_race() -> None:
    body = (
        THREAD
        + """
  mad.lo.u32 %r2, %r0, 4, %r1;
  mad.wide.u32 %d1, %r0, 4, %in;
  st.shared.u32 [%r2], 0;
  bar.sync 0;
  xor.b32 %r3, %r2, 128;
  ld.shared.u32 %r4, [%r3];
  {}
  cp.async.ca.shared.global [%r2], [%d1], 4;
"""
    )
    data = np.zeros(64, np.uint32)
    options = {"block": (64, 1, 1)}
    source = kernel(body.format(""), params=("in",), declarations=TILE)
    assert fault(source, data, **options).kind == "race"
    launch(kernel(body.format("bar.sync 0;"), params=("in",), declarations=TILE), data, **options)
