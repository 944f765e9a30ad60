"""Helpers of the tests of the PTX emulator's counters."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgen.emulate import LaunchReport
from tests.emulate.ptx.ptx_programs import program, run

SHARED = ".shared .align 16 .b8 s[8192];"
#: Shared memory is read as it was: the checks are for other tests.
UNCHECKED: dict[str, Any] = {"checks": False, "profile": True}


def shared_access(access: str, shift: str, *, threads: int = 32) -> tuple[int, int]:
    """Return (wavefronts, ideal) of one access at s plus the address in %r0, which `shift`
    computes."""
    body = f"{shift}\n mov.u32 %r1, s;\n add.u32 %r1, %r1, %r0;\n {access}"
    report = run(program(body, params=0, shared=SHARED), threads=threads, **UNCHECKED)
    counters = report.counters
    assert counters["bank_conflicts"] == (
        counters["shared_wavefronts"] - counters["shared_wavefronts_ideal"]
    )
    return counters["shared_wavefronts"], counters["shared_wavefronts_ideal"]


def global_access(access: str, offset: str, *, threads: int = 32, ctas: int = 1) -> LaunchReport:
    """Run one access at p0 + the offset in %r0."""
    body = f"{offset}\n mad.wide.u32 %a0, %r0, 1, %p0;\n {access}"
    data = np.zeros(1 << 16, np.uint8)
    return run(program(body, params=1), data, threads=threads, ctas=ctas, profile=True)
