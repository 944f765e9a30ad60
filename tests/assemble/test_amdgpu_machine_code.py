"""The text that LLVM prints matches the machine code, and the code waits for every result that it
uses."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from kgen import pipeline, targets
from kgen.check.static.amdgpu import check
from kgen.spec import DType, Matmul, Rowwise, Spec
from kgen.targets import elf
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.assemble import assembly, compile_object
from kgen.targets.base import Target
from tests import needs

SPECS: tuple[Spec, ...] = (
    Matmul(m=130, n=128, k=128),
    Matmul(m=256, n=131, k=129, dtype=DType.F32),
    Rowwise(expression="softmax(x)", shapes=((4, 4096),)),
)
TARGETS = pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
SPEC = pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)


def printed(spec: Spec, target: Target) -> str:
    return _printed(spec, target.name)


@cache
def _printed(spec: Spec, name: str) -> str:
    target = targets.find(name)
    return assembly(pipeline.source(pipeline.plan(spec, target)).text, target)


@TARGETS
@SPEC
def test_the_text_is_the_machine_code(spec: Spec, target: Target, tmp_path: Path) -> None:
    """LLVM's assembler makes the same bytes from the text."""
    if importlib.util.find_spec("ziglang") is None:
        needs.absent("ziglang is not installed; pip install '.[dev]'")
    (tmp_path / "k.s").write_text(printed(spec, target))
    clang = [sys.executable, "-m", "ziglang", "clang", "-target", "amdgcn-amd-amdhsa"]
    command = [*clang, f"-mcpu={target.arch}", "-c", "k.s", "-o", "k.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assembled = elf.read((tmp_path / "k.o").read_bytes())
    made = elf.read(compile_object(pipeline.source(pipeline.plan(spec, target)), target))
    for name in (".text", ".rodata"):
        assert assembled.section(name).data == made.section(name).data


@TARGETS
@SPEC
def test_nothing_is_used_too_early(spec: Spec, target: Target) -> None:
    assert check(printed(spec, target), target.arch) == []


#: No-ops of one state stand for hazards too that nothing here looks for.
_SEEDED = re.compile(r"\s+(s_waitcnt |s_waitcnt_vscnt|s_wait_\w*cnt|s_nop [1-9])")


@TARGETS
@pytest.mark.parametrize("spec", (SPECS[0], SPECS[2]), ids=lambda s: s.key)
def test_any_wait_that_is_left_out_is_found(spec: Spec, target: Target) -> None:
    lines = printed(spec, target).splitlines()
    seeded = [n for n, line in enumerate(lines) if _SEEDED.match(line)]
    assert len(seeded) >= 8
    for n in seeded:
        assert check("\n".join(lines[:n] + lines[n + 1 :]), target.arch), lines[n]


def findings(code: str, arch: str = "gfx942") -> list[str]:
    text = "\n".join(
        line if line.startswith(".L") else f"\t{line}" for line in (*code.split("; "), "s_endpgm")
    )
    return [finding.what for finding in check(text, arch)]


LOAD = "global_load_dwordx2 v[2:3], v0, s[0:1]"


@pytest.mark.parametrize(
    "code, what, arch",
    [
        (f"{LOAD}; v_add_f32_e32 v1, v3, v3", "v3 is still being loaded", "gfx942"),
        (f"{LOAD}; v_mov_b32_e32 v3, 0", "v3 is still being loaded", "gfx942"),
        (f"{LOAD}; {LOAD}; s_waitcnt vmcnt(0); v_mov_b32_e32 v3, 0", "", "gfx942"),
        # The store behind it counts on gfx9, where one may stay under way; not on gfx10.
        (
            f"{LOAD}; global_store_dword v0, v5, s[0:1]; s_waitcnt vmcnt(1); v_mov_b32_e32 v3, 0",
            "",
            "gfx942",
        ),
        (
            f"{LOAD}; global_store_dword v0, v5, s[0:1]; s_waitcnt vmcnt(1); v_mov_b32_e32 v3, 0",
            "v3 is still being loaded",
            "gfx1030",
        ),
        # Scalar loads end in any order.
        (
            "s_load_dword s4, s[0:1], 0x0; s_load_dword s5, s[0:1], 0x4; "
            "s_waitcnt lgkmcnt(1); s_mov_b32 s6, s4",
            "s4 is still being loaded",
            "gfx942",
        ),
        (
            "ds_write_b32 v0, v1; s_barrier",
            "a barrier before an earlier write to LDS has completed",
            "gfx942",
        ),
        ("ds_read_b32 v0, v1; s_barrier", "", "gfx942"),
        ("ds_load_b32 v0, v1; s_wait_dscnt 0x0; v_mov_b32_e32 v0, v0", "", "gfx1201"),
        (
            "ds_load_b32 v0, v1; s_wait_loadcnt_dscnt 0x1; v_mov_b32_e32 v0, v0",
            "v0 is still being loaded",
            "gfx1201",
        ),
        # On the second turn of the loop the load of the first one is under way.
        (
            f".LBB0_1:; v_mov_b32_e32 v1, v3; {LOAD}; s_cbranch_scc1 .LBB0_1",
            "v3 is still being loaded",
            "gfx942",
        ),
    ],
)
def test_waits(code: str, what: str, arch: str) -> None:
    assert findings(code, arch) == ([what] if what else [])


MFMA = "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]"
F8F6F4 = "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], v[0:15]"


@pytest.mark.parametrize(
    "code, what, arch",
    [
        (f"{MFMA}; s_nop 9; v_mov_b32_e32 v20, v3", "v3 needs 11 wait states, has 10", "gfx942"),
        (f"{MFMA}; s_nop 10; v_mov_b32_e32 v20, v3", "", "gfx942"),
        (f"{MFMA}; s_nop 10; v_mov_b32_e32 v20, v3", "v3 needs 19 wait states, has 11", "gfx90a"),
        (f"{MFMA}; {MFMA}", "", "gfx942"),
        (
            f"{MFMA}; v_mfma_f32_32x32x8_f16 v[20:35], v[0:1], v[18:19], v[20:35]",
            "v1 needs 11 wait states, has 0",
            "gfx942",
        ),
        (
            "v_mfma_f32_16x16x16f16 v[4:7], v[16:17], v[18:19], v[0:3]; v_mov_b32_e32 v0, 0",
            "v0 needs 7 wait states, has 0",
            "gfx90a",
        ),
        (
            "v_mfma_f32_16x16x16_f16 v[4:7], v[16:17], v[18:19], v[0:3]; ds_read_b32 v0, v20",
            "v0 needs 3 wait states, has 0",
            "gfx942",
        ),
        (
            "v_mfma_f32_16x16x4f32 v[4:7], v16, v18, v[0:3]; ds_read_b32 v0, v20",
            "v0 needs 7 wait states, has 0",
            "gfx90a",
        ),
        ("v_mfma_f32_16x16x4_f32 v[4:7], v16, v18, v[0:3]; ds_read_b32 v0, v20", "", "gfx950"),
        # 16 passes of 8-bit floats.
        (f"{F8F6F4}; s_nop 15; s_nop 3; v_mov_b32_e32 v40, v0", "", "gfx950"),
        (
            f"{F8F6F4}; s_nop 15; s_nop 2; v_mov_b32_e32 v40, v0",
            "v0 needs 20 wait states, has 19",
            "gfx950",
        ),
        (
            "v_mov_b32_e32 v1, 0; s_nop 0; v_add_f32_dpp v2, v1, v1 row_mirror row_mask:0xf",
            "v1 needs 2 wait states, has 1",
            "gfx942",
        ),
        (
            "v_readfirstlane_b32 s1, v0; s_nop 3; global_load_dword v2, v3, s[0:1]",
            "s1 needs 5 wait states, has 4",
            "gfx90a",
        ),
        (
            "v_exp_f32_e32 v1, v1; v_add_f32_e32 v2, v1, v1",
            "v1 needs 1 wait states, has 0",
            "gfx950",
        ),
        ("v_exp_f32_e32 v1, v1; v_add_f32_e32 v2, v1, v1", "", "gfx90a"),
        (
            "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]; "
            "v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[12:15], v[16:23]",
            "v3 needs 1 wait states, has 0",
            "gfx1201",
        ),
    ],
)
def test_hazards(code: str, what: str, arch: str) -> None:
    assert findings(code, arch) == ([what] if what else [])
