"""Kernels of clusters of CTAs, whose threads each write one word."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgen.emulate import run
from tests.emulate.ptx.ptx_kernels import Array
from tests.emulate.ptx.ptxas import assemble

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p, %q, %done;
  .reg .b16 %mask;
  .reg .b32 %t, %rank, %other, %at, %there, %r<8>;
  .reg .b64 %in, %out, %d, %e;
  .shared .align 128 .b8 tile[1024];
  .shared .align 8 .b64 bar;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %r0, %cluster_nctarank;
  add.u32 %other, %rank, 1;
  rem.u32 %other, %other, %r0;
  mov.u32 %at, tile;
  mad.lo.u32 %at, %t, 4, %at;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r1, %r1, %r2, %t;
  mad.wide.u32 %d, %r1, 4, %out;
"""
SYNC = "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n"


def program(body: str, *, directives: str = "", version: str = "8.0") -> str:
    head = HEAD.replace("{\n", f"{directives}\n{{\n", 1).replace("8.0", version)
    source = f"{head}{body}\n  ret;\n}}\n"
    assemble(source)
    return source


def launch(
    source: str,
    data: Array,
    out: Array,
    *,
    ctas: int = 8,
    cluster: int = 4,
    threads: int = 64,
    **options: Any,
) -> Any:
    return run(
        source,
        language="ptx",
        entry="k",
        grid=(ctas, 1, 1),
        block=(threads, 1, 1),
        cluster=(cluster, 1, 1),
        arguments=[data, out],
        **options,
    )


NONE = np.zeros(1, np.uint32)


def result(source: str, threads: int = 64, ctas: int = 8, **options: Any) -> Array:
    out = np.zeros((ctas, threads), np.uint32)
    launch(source, NONE, out, ctas=ctas, threads=threads, **options)
    return out


#: All CTAs of the cluster have started.
STARTED = "  barrier.cluster.arrive.relaxed;\n  barrier.cluster.wait;\n"
STORE_THERE = {
    "shared": f"""{STARTED}
  mapa.shared::cluster.u32 %there, %at, %other;
  st.shared::cluster.u32 [%there], %r1;
""",
    "generic": f"""{STARTED}
  cvt.u64.u32 %e, %at;
  cvta.shared.u64 %e, %e;
  mapa.u64 %e, %e, %other;
  st.u32 [%e], %r1;
""",
    "atomic": """
  mov.u32 %r3, 0;
  st.shared.u32 [%at], %r3;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mapa.shared::cluster.u32 %there, %at, %other;
  red.shared::cluster.add.u32 [%there], %r1;
""",
}
READ_OWN = "  ld.shared.u32 %r4, [%at];\n  st.global.u32 [%d], %r4;\n"
