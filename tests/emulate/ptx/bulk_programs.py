"""Kernels of bulk and tensor copies: one warp, an mbarrier, a buffer before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgen.emulate import TensorMap, run
from tests.emulate.ptx.ptx_kernels import Array
from tests.emulate.ptx.ptxas import assemble

#: A module with up to five 32-bit coordinates; thread 0 has made an mbarrier at %bar.
HEAD = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k(MAP, .param .u64 in, .param .u64 out, .param .u32 size
  , .param .u32 c0, .param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4)
{
  .reg .pred %first, %done, %more;
  .reg .b16 %mask;
  .reg .b32 %t, %tile, %bar, %size, %i, %r, %at, %c0, %c1, %c2, %c3, %c4;
  .reg .b64 %map, %in, %out, %d;
  .shared .align 8 .b64 bar;
  LOADMAP
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %size, [size];
  ld.param.u32 %c0, [c0];
  ld.param.u32 %c1, [c1];
  ld.param.u32 %c2, [c2];
  ld.param.u32 %c3, [c3];
  ld.param.u32 %c4, [c4];
  mov.u32 %t, %tid.x;
  mov.u32 %tile, tile;
  mov.u32 %bar, bar;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared::cta.b64 [%bar], 1;
  @%first fence.mbarrier_init.release.cluster;
  bar.sync 0;
"""
WAIT = """
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], %size;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;
  @!%done bra wait;
"""
#: All threads copy `size` bytes of shared memory to out, in order.
DUMP = """
  mad.lo.u32 %i, %t, 4, 0;
dump:
  setp.ge.u32 %done, %i, %size;
  @%done bra dumped;
  add.u32 %at, %tile, %i;
  ld.shared.u32 %r, [%at];
  cvt.u64.u32 %d, %i;
  add.u64 %d, %d, %out;
  st.global.u32 [%d], %r;
  add.u32 %i, %i, 128;
  bra dump;
dumped:
"""
#: All threads copy `size` bytes of `in` to shared memory, for the async proxy to read.
FILL = """
  mad.lo.u32 %i, %t, 4, 0;
fill:
  setp.ge.u32 %done, %i, %size;
  @%done bra filled;
  add.u32 %at, %tile, %i;
  cvt.u64.u32 %d, %i;
  add.u64 %d, %d, %in;
  ld.global.u32 %r, [%d];
  st.shared.u32 [%at], %r;
  add.u32 %i, %i, 128;
  bra fill;
filled:
  fence.proxy.async.shared::cta;
  bar.sync 0;
"""
BY_VALUE = ".param .align 64 .b8 map[128]"
LOAD_VALUE = "mov.b64 %map, map;\n  cvta.param.u64 %map, %map;"


def program(
    body: str, *, parameter: str = BY_VALUE, load: str = LOAD_VALUE, version: str = "8.0"
) -> str:
    head = HEAD.replace("LOADMAP", load).replace("MAP", parameter).replace("8.0", version)
    source = f"{head}{body}\n  ret;\n}}\n"
    assemble(source, "sm_90a")
    return source


def launch(
    source: str,
    map_: TensorMap | np.generic,
    data: Array,
    out: Array,
    size: int,
    at: tuple[int, ...] = (),
    **options: Any,
) -> Any:
    coordinates = [np.int32(c) for c in (*at, 0, 0, 0, 0, 0)[:5]]
    return run(
        source,
        language="ptx",
        entry="k",
        grid=(1, 1, 1),
        block=(32, 1, 1),
        arguments=[map_, data, out, np.uint32(size), *coordinates],
        dynamic_shared=65536,
        **options,
    )


NO_MAP, NONE = {"parameter": ".param .u64 map", "load": "ld.param.u64 %map, [map];"}, np.uint64(0)
WORDS = np.arange(4096, dtype=np.uint32)


def coordinates(rank: int) -> str:
    return "{" + ", ".join(f"%c{i}" for i in range(rank)) + "}"


def load_program(rank: int) -> str:
    load = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    return program(f"  @%first {load} [%tile], [%map, {coordinates(rank)}], [%bar];\n{WAIT}{DUMP}")
