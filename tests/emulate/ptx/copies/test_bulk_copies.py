"""Plain bulk copies: destinations of bytes, reductions, faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault
from tests.emulate.ptx.bulk_programs import DUMP, FILL, NO_MAP, NONE, WAIT, WORDS, launch, program


@pytest.mark.parametrize("space", ["shared::cluster", "shared::cta"])
def test_bulk_load(space: str) -> None:
    body = f"""
  @%first cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes [%tile], [%in], %size, [%bar];
{WAIT}{DUMP}"""
    source = program(body, version="8.6", **NO_MAP)
    out = np.zeros(512, np.uint32)
    launch(source, NONE, WORDS, out, 1040)
    assert (out[:260] == WORDS[:260]).all() and not out[260:].any()


def test_every_lane_copies_a_row() -> None:
    body = f"""
  mad.lo.u32 %at, %t, 32, %tile;
  mad.wide.u32 %d, %t, 48, %in;
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;
  bar.warp.sync 0xffffffff;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%d], 32, [%bar];
{WAIT.replace("  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], %size;", "")}{DUMP}"""
    out = np.zeros(256, np.uint32)
    launch(program(body, **NO_MAP), NONE, WORDS, out, 1024)
    assert (out.reshape(32, 8) == WORDS[: 32 * 12].reshape(32, 12)[:, :8]).all()


STORE = """
  @!%first bra stored;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], %size;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
stored:
"""


def test_bulk_store() -> None:
    out = np.zeros(512, np.uint32)
    launch(program(FILL + STORE, **NO_MAP), NONE, WORDS, out, 1040)
    assert (out[:260] == WORDS[:260]).all() and not out[260:].any()


@pytest.mark.parametrize(
    ("suffix", "dtype", "function"),
    [
        ("add.u32", np.uint32, np.add),
        ("min.s32", np.int32, np.minimum),
        ("max.u64", np.uint64, np.maximum),
        ("and.b32", np.uint32, np.bitwise_and),
        ("xor.b64", np.uint64, np.bitwise_xor),
        ("add.f32", np.float32, np.add),
        ("add.noftz.f16", np.float16, np.add),
        ("max.f16", np.float16, np.maximum),
    ],
)
def test_bulk_reduction(suffix: str, dtype: Any, function: Any) -> None:
    rng = np.random.default_rng(1)
    count = 1024 // np.dtype(dtype).itemsize
    new, out = (rng.integers(0, 999, count).astype(dtype) for _ in range(2))
    if suffix.endswith("s32"):
        new -= 500
    wanted = function(out, new)
    body = FILL + STORE.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global")
    body = body.replace("bulk_group [%out]", f"bulk_group.{suffix} [%out]")
    launch(program(body, **NO_MAP), NONE, new, out, 1024)
    assert (out == wanted).all()


def test_bulk_faults() -> None:
    load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    body = f"  @%first {load} [%tile], [%in], %size, [%bar];" + WAIT + DUMP
    source, out = program(body, **NO_MAP), np.zeros(8192, np.uint32)
    for size, kind in ((1000, "misaligned"), (16400, "out-of-bounds")):
        with pytest.raises(EmulationFault, match=kind):
            launch(source, NONE, WORDS, out, size)
    too_few = program(body.replace("[%bar], %size;", "[%bar], 512;"), **NO_MAP)
    with pytest.raises(EmulationFault, match="transaction-count"):
        launch(too_few, NONE, WORDS, out, 1024)
    waitless = program(body.replace("@!%done bra wait;", ""), **NO_MAP)
    with pytest.raises(EmulationFault, match="pending-copy"):
        launch(waitless, NONE, WORDS, out, 1024)
    unfenced = program(FILL.replace("fence.proxy.async.shared::cta;", "") + STORE, **NO_MAP)
    with pytest.raises(EmulationFault, match="missing-proxy-fence"):
        launch(unfenced, NONE, WORDS, out, 1024)
    forgotten = program(FILL + STORE.replace("cp.async.bulk.wait_group 0;", ""), **NO_MAP)
    with pytest.raises(EmulationFault, match="ends while"):
        launch(forgotten, NONE, WORDS, out, 1024)


@pytest.mark.parametrize(
    ("wait", "races"),
    [("wait_group 0", False), ("wait_group.read 0", False), ("wait_group 1", True)],
)
def test_the_source_of_a_store_is_free_after_its_wait(wait: str, races: bool) -> None:
    again = "\n  @%first st.shared.u32 [%tile], 7;\n  @%first cp.async.bulk.wait_group 0;"
    source = program(FILL + STORE.replace("wait_group 0", wait) + again, **NO_MAP)
    out = np.zeros(512, np.uint32)
    if races:
        with pytest.raises(EmulationFault, match="may still read"):
            launch(source, NONE, WORDS, out, 1024)
    else:
        launch(source, NONE, WORDS, out, 1024)
        assert (out[:256] == WORDS[:256]).all()
