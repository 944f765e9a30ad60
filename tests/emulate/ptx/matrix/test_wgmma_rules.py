"""Rules for the registers and the shared memory of a wgmma, and bad descriptors."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault, run
from kgen.errors import EmulationError
from tests.emulate.ptx.wgmma_programs import B_AT, K_MAJOR, launch, program

NAME = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
FENCE, COMMIT = "  wgmma.fence.sync.aligned;\n", "  wgmma.commit_group.sync.aligned;\n"


def run_body(
    body: str, *, a_registers: bool = False, descriptors: tuple[int, int] | None = None
) -> None:
    immediates = ", 1, 1, 0" if a_registers else ", 1, 1, 0, 0"
    source = program(NAME, 8, immediates=immediates, a_registers=a_registers, body=body)
    image, c = bytearray(65536), np.zeros((128, 4), np.float32)
    both = descriptors or (K_MAJOR[32].descriptor, K_MAJOR[32].descriptor)
    launch(source, image, c, np.zeros((128, 4), np.uint32), both)


def test_what_a_wgmma_needs() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    run_body(f"{FENCE}PRODUCTPRODUCT{COMMIT}{wait}")
    run_body(f"{FENCE}PRODUCT{COMMIT}{wait}PRODUCT{COMMIT}{wait}")
    change = "  add.f32 %acc0, %acc0, 0f3F800000;\n"
    cases = {
        f"PRODUCT{COMMIT}{wait}": "missing-wgmma-fence: no wgmma.fence",
        f"{FENCE}{change}PRODUCT{COMMIT}{wait}": "missing-wgmma-fence: register %acc0",
        f"{FENCE}PRODUCT{COMMIT}": "pending-wgmma: register %acc0",
        f"{FENCE}PRODUCT{wait}": "pending-wgmma",
        f"{FENCE}PRODUCT{COMMIT}  wgmma.wait_group.sync.aligned 1;\n": "pending-wgmma",
        f"{FENCE}PRODUCT{COMMIT}{change}{wait}": "pending-wgmma",
    }
    for body, message in cases.items():
        with pytest.raises(EmulationFault, match=message):
            run_body(body)


def test_registers_of_a_are_pending_too() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    change = "  mov.b32 %a1, 0;\n"
    run_body(f"{FENCE}PRODUCTPRODUCT{COMMIT}{wait}{change}", a_registers=True)
    with pytest.raises(EmulationFault, match="pending-wgmma: register %a1"):
        run_body(f"{FENCE}PRODUCT{COMMIT}{change}{wait}", a_registers=True)
    with pytest.raises(EmulationFault, match="missing-wgmma-fence: register %a1"):
        run_body(f"{FENCE}  not.b32 %a1, %a1;\nPRODUCT{COMMIT}{wait}", a_registers=True)


def test_shared_memory_must_be_fenced_and_left_alone() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    body = f"{FENCE}PRODUCT{COMMIT}{wait}"
    source = program(NAME, 8, immediates=", 1, 1, 0, 0", body=body)
    image, c, a = bytearray(65536), np.zeros((128, 4), np.float32), np.zeros((128, 4), np.uint32)
    descriptors = (K_MAJOR[32].descriptor,) * 2
    launch(source, image, c, a, descriptors)
    with pytest.raises(EmulationFault, match="missing-proxy-fence"):
        launch(source.replace("  fence.proxy.async.shared::cta;\n", ""), image, c, a, descriptors)
    with pytest.raises(EmulationFault, match="race"):
        launch(source.replace("  bar.sync 0;\n", ""), image, c, a, descriptors)
    with pytest.raises(EmulationFault, match="may still read"):
        run_body(f"{FENCE}PRODUCT{COMMIT}  st.shared.u32 [tile], 0;\n{wait}")


#: Thread t writes 16 bytes at an offset and makes them known to its warp, with no other barrier.
WRITE = """
  mov.u32 %at, tile;
  mad.lo.u32 %at, %t, 16, %at;
  st.shared.v2.u64 [%at+OFFSET], {0, 0};
  fence.proxy.async.shared::cta;
  bar.warp.sync 0xffffffff;
"""


def test_each_warp_reads_its_own_rows_of_a() -> None:
    body = f"{FENCE}PRODUCT{COMMIT}  wgmma.wait_group.sync.aligned 0;\n"
    # Rows of 32 bytes: each warp writes the 16 rows that it reads.
    own = WRITE.replace("OFFSET", "0")
    run_body(own + body)
    # Each warp writes the rows of the next one.
    with pytest.raises(
        EmulationFault, match="asynchronous read of bytes that another thread"
    ) as found:
        run_body(own.replace("%t, 16, %at;", "%t, 16, %at;\n  add.u32 %at, %at, 512;") + body)
    assert found.value.fault.kind == "race"
    # A barrier of the warpgroup orders it.
    run_body(own.replace("bar.warp.sync 0xffffffff", "bar.sync 0") + body)


@pytest.mark.parametrize("writer", range(4))
def test_every_warp_reads_all_of_b(writer: int) -> None:
    body = f"{FENCE}PRODUCT{COMMIT}  wgmma.wait_group.sync.aligned 0;\n"
    # One warp alone writes the 256 bytes of B.
    alone = f"  shr.u32 %r, %t, 4;\n  setp.ne.u32 %done, %r, {2 * writer};\n  @%done bra past;\n"
    write = WRITE.replace("OFFSET", str(B_AT - 512 * writer))
    order = write[write.index("  bar.warp") :]
    write = alone + write.replace(order, "") + "past:\n" + order
    with pytest.raises(
        EmulationFault, match="asynchronous read of bytes that another thread"
    ) as found:
        run_body(write + body)
    assert found.value.fault.kind == "race"
    run_body(write.replace("bar.warp.sync 0xffffffff", "bar.sync 0") + body)


def test_descriptors_that_lead_nowhere() -> None:
    good = K_MAJOR[32].descriptor
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    body = f"{FENCE}PRODUCT{COMMIT}{wait}"
    with pytest.raises(EmulationFault, match="out-of-bounds"):
        run_body(body, descriptors=(good | 65536 - 1024 >> 4, good))
    with pytest.raises(EmulationFault, match="base offset"):
        run_body(body, descriptors=(good | 1 << 49, good))


def test_a_warpgroup_must_be_whole() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    skip = "  setp.ge.u32 %done, %t, 96;\n  @%done bra skipped;\n"
    with pytest.raises(EmulationFault, match="divergent-warp-instruction"):
        run_body(f"{skip}{FENCE}PRODUCT{COMMIT}{wait}skipped:\n")
    source = program(NAME, 8, immediates=", 1, 1, 0, 0")
    with pytest.raises(EmulationError, match="128 threads"):
        run(
            source,
            language="ptx",
            entry="k",
            grid=(1, 1, 1),
            block=(96, 1, 1),
            arguments=[np.zeros(1)] * 3 + [np.uint64(0)] * 2,
            dynamic_shared=65536,
        )
