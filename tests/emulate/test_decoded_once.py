"""A text that runs several times is decoded once, and a run leaves nothing for the next.
test_determinism.py compares reports of larger programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, LaunchReport
from kgen.emulate.llvm.frontend import decode
from kgen.emulate.ptx.exec.launching import prepared
from kgen.emulate.ptx.exec.operations import DecodedInstruction
from kgen.emulate.ptx.frontend.decode import Decoder
from kgen.emulate.ptx.frontend.syntax import PtxInstruction
from tests.emulate.llvm.llvm_kernels import run as run_llvm
from tests.emulate.ptx.ptx_programs import Array, program, run

#: Doubles what each thread has, through shared memory, and counts the launches in a variable.
PTX = program(
    """
    mad.wide.u32 %a0, %i, 4, %p0;
    ld.global.u32 %r0, [%a0];
    mov.u32 %r1, tile;
    mad.lo.u32 %r1, %t, 4, %r1;
    st.shared.u32 [%r1], %r0;
    bar.sync 0;
    ld.shared.u32 %r2, [%r1];
    add.u32 %r0, %r0, %r2;
    mov.u64 %a1, launches;
    atom.global.add.u32 %r3, [%a1], 1;
    add.u32 %r0, %r0, %r3;
    st.global.u32 [%a0], %r0;""",
    params=1,
    shared=".shared .align 4 .b8 tile[128];",
).replace(".visible .entry", ".global .align 4 .u32 launches;\n.visible .entry")
LLVM = """
define amdgpu_kernel void @f(ptr addrspace(1) %p) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %t
  %x = load i32, ptr addrspace(1) %at
  %y = add i32 %x, %x
  store i32 %y, ptr addrspace(1) %at
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "target-cpu"="gfx942" }
"""


def run_amd(source: str, data: Array, **options: Any) -> LaunchReport:
    return run_llvm(
        source, entry="f", grid=(1, 1, 1), block=(64, 1, 1), arguments=[data], **options
    )


def test_ptx_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    plain = prepared._step

    def step(decoder: Decoder, one: PtxInstruction) -> DecodedInstruction:
        decoded.append(one.line)
        return plain(decoder, one)

    monkeypatch.setattr(prepared, "_step", step)
    for seed in range(3):
        data = np.arange(32, dtype=np.uint32) + seed
        before = data.copy()
        run(PTX, data, seed=seed)
        # Another run starts with other data, and with the variable as the text has it.
        np.testing.assert_array_equal(data, 2 * before + np.arange(32))
    assert decoded == sorted(set(decoded))


def test_a_buffer_of_another_size_is_checked_anew() -> None:
    run(PTX, np.zeros(32, np.uint32))
    with pytest.raises(EmulationFault, match="out-of-bounds"):
        run(PTX, np.zeros(31, np.uint32))
    run(PTX, np.zeros(32, np.uint32))


def test_what_is_kept_is_bounded_and_holds_no_data() -> None:
    for number in range(prepared._KEPT + 3):
        run(f"// {number}\n{PTX}", np.zeros(32, np.uint32))
    assert len(prepared._kept) == prepared._KEPT
    for kept in prepared._kept.values():
        machine = kept.machine
        assert machine.memory.buffers == [] and machine.launch.arguments == ()
        assert machine.ctas == 0 and machine.shared.data.size == 0


def test_llvm_is_decoded_once() -> None:
    before = decode.decode.cache_info().misses
    for seed in range(3):
        data = np.arange(64, dtype=np.uint32) + seed
        report = run_amd(LLVM, data, seed=seed)
        np.testing.assert_array_equal(data, 2 * (np.arange(64) + seed))
        assert report.counters["instructions"] == 6
    assert decode.decode.cache_info().misses == before + 1
