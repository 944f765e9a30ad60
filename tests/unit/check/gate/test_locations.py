"""Counts and faults beside the source that a kernel's text was compiled from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgen import emulate
from kgen.cli.main import main
from kgen.emulate.locations import by_place, places

pytestmark = pytest.mark.integration

CUDA_SOURCE = """\
// one warp copies every second word
extern "C" __global__ void copy(const float *in, float *out)
{
    int i = threadIdx.x;

    float x = in[2 * i];



    // far from the rest
    // of it
    out[i] = x;
}
"""
WITH_LINES = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 in, .param .u64 out)
{
    .reg .u64 %in, %out;
    .reg .u32 %i;
    .reg .f32 %x;
    .loc 1 4 13
    mov.u32 %i, %tid.x;
    .loc 1 6 15
    ld.param.u64 %in, [in];
    mad.wide.u32 %in, %i, 8, %in;
    ld.global.f32 %x, [%in];
    .loc 1 12 5
    ld.param.u64 %out, [out];
    mad.wide.u32 %out, %i, 4, %out;
    st.global.f32 [%out], %x;
    .loc 1 0 0
    ret;
}
    .file 1 "/home/someone/copy.cu"
"""


def test_counts_beside_the_source_that_the_text_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("copy.ptx").write_text(WITH_LINES)
    np.save("x.npy", np.zeros(64, np.float32))
    launch = ["emulate", "copy.ptx", "--entry=copy", "--grid=1", "--block=32", "--profile"]
    launch += ["--source", "--arg=in:x.npy", "--arg=out:f32:32:y.npy"]
    assert main(launch) == 0
    without = capsys.readouterr().out
    assert "ld.global.f32 %x, [%in]; (copy.cu:6)" in without
    assert main([*launch[:4], "--block=64", *launch[5:]]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert "address 0x10000000100, seed 0) (copy.cu:6); " in first
    Path("copy.cu").write_text(CUDA_SOURCE)
    assert main(launch) == 0
    shown = capsys.readouterr().out
    start = shown.index("/home/someone/copy.cu\n")
    listing = shown[start : shown.index("\n\n", start)].splitlines()[2:]
    cells = {line.split("|")[1].strip(): line.split("|")[0].split() for line in listing[:-1]}
    assert cells["float x = in[2 * i];"] == [">!", "6", "3", "8", "x2.00"]
    assert cells["out[i] = x;"] == [">", "12", "3", "4"]
    assert cells["int i = threadIdx.x;"] == ["4", "1"]
    assert "/home/someone/copy.cu" not in without.splitlines()


OPENCL_IR = """\
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @scale(ptr addrspace(1) %p) #0 !dbg !4 {
  %t = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !8
    #dbg_value(i32 %t, !9, !DIExpression(), !8)
  %at = getelementptr float, ptr addrspace(1) %p, i32 %t, !dbg !10
  %x = load float, ptr addrspace(1) %at, align 4, !dbg !10
  %y = fmul float %x, 2.0
  store float %y, ptr addrspace(1) %at, align 4, !dbg !11
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "target-cpu"="gfx942" }
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "scale.cl", directory: "/home/someone")
!4 = distinct !DISubprogram(name: "scale", scope: !1, file: !1, line: 1, unit: !0)
!8 = !DILocation(line: 3, column: 11, scope: !4)
!9 = !DILocalVariable(name: "t", scope: !4, file: !1, line: 3)
!10 = !DILocation(line: 4, column: 11, scope: !13)
!11 = !DILocation(line: 0, scope: !13)
!13 = distinct !DILexicalBlock(scope: !4, line: 4, column: 3)
"""


def test_places_in_llvm_ir() -> None:
    path = Path("/home/someone/scale.cl")
    assert places(OPENCL_IR) == {3: (path, 3), 5: (path, 4), 6: (path, 4)}
    values = np.ones(64, np.float32)
    report = emulate.run(
        OPENCL_IR,
        language="llvm",
        entry="scale",
        grid=(1, 1, 1),
        block=(64, 1, 1),
        arguments=[values],
        profile=True,
    )
    assert (values == 2).all()
    lines = by_place(report.lines, places(OPENCL_IR))[path]
    assert (lines[3].issued, lines[4].issued, lines[4].global_sectors) == (1, 2, 4)


def test_of_several_kernels_only_the_one_that_ran_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    other = "\n.visible .entry other()\n{\n    ret;\n}\n"
    Path("copy.ptx").write_text(other.replace("other", "first") + WITH_LINES.strip() + other)
    np.save("x.npy", np.zeros(64, np.float32))
    launch = ["emulate", "copy.ptx", "--entry=copy", "--grid=1", "--block=32", "--profile"]
    assert main([*launch, "--source", "--arg=in:x.npy", "--arg=out:f32:32:y.npy"]) == 0
    shown = capsys.readouterr().out
    assert ".entry copy(" in shown and "st.global.f32" in shown
    assert ".entry other(" not in shown and ".entry first(" not in shown
