"""Processors that support each AMD intrinsic; kernels are checked against them before LLVM runs.

LLVM 22 does not check this reliably. An intrinsic that it does not know becomes a call of an
undefined function. For most intrinsics that a processor lacks, it ends the process, but for some it
generates code that the processor cannot run: ``cvt.scalef32`` on gfx90a and gfx942, ``s.waitcnt``
on gfx12. So this table lists every intrinsic that a kernel may call.

Source: the processors for which LLVM 22 selects an instruction (a test compares them), without
those whose instruction set manual lacks that instruction.
"""

from __future__ import annotations

import re

from kgen.errors import AssembleError

_CDNA = "gfx90a gfx942 gfx950"
_RDNA = "gfx1030 gfx1100 gfx1201"

#: Pairs of processors and intrinsics, without ``llvm.amdgcn.`` and without overloaded types.
_ROWS = (
    (
        f"{_CDNA} {_RDNA}",
        "workitem.id.x workitem.id.y workitem.id.z workgroup.id.x workgroup.id.y workgroup.id.z"
        " s.barrier wave.barrier sched.barrier sched.group.barrier s.setprio s.sleep s.nop"
        " readfirstlane readlane ds.bpermute ds.swizzle ballot mbcnt.lo mbcnt.hi update.dpp"
        " make.buffer.rsrc raw.ptr.buffer.load raw.ptr.buffer.store raw.ptr.buffer.atomic.add"
        " fdot2 sdot4 udot4 exp2 log rcp rsq sqrt fmed3 fract perm cvt.pkrtz class",
    ),
    (f"{_CDNA} gfx1030 gfx1100", "s.waitcnt"),
    (f"{_CDNA} gfx1030", "global.load.lds load.to.lds raw.ptr.buffer.load.lds"),
    (f"{_CDNA} gfx1100 gfx1201", "raw.ptr.buffer.atomic.fadd"),
    (_RDNA, "permlane16 permlanex16 mov.dpp8"),
    ("gfx950 gfx1100 gfx1201", "fdot2.f32.bf16"),
    (
        "gfx942 gfx950 gfx1201",
        "cvt.pk.fp8.f32 cvt.pk.bf8.f32 cvt.f32.fp8 cvt.f32.bf8 cvt.pk.f32.fp8 cvt.pk.f32.bf8",
    ),
    (
        "gfx1100 gfx1201",
        "permlane64 sudot4 wmma.f32.16x16x16.f16 wmma.f32.16x16x16.bf16 wmma.i32.16x16x16.iu8",
    ),
    (
        "gfx1201",
        "s.barrier.signal s.barrier.wait s.wait.loadcnt s.wait.dscnt s.wait.storecnt"
        " s.prefetch.data global.load.tr.b64 global.load.tr.b128"
        " wmma.f32.16x16x16.fp8.fp8 wmma.f32.16x16x16.fp8.bf8"
        " wmma.f32.16x16x16.bf8.fp8 wmma.f32.16x16x16.bf8.bf8",
    ),
    (
        _CDNA,
        "mfma.f32.32x32x8f16 mfma.f32.16x16x16f16 mfma.f32.32x32x8bf16.1k"
        " mfma.f32.16x16x16bf16.1k mfma.f32.32x32x2f32 mfma.f32.16x16x4f32",
    ),
    ("gfx90a", "mfma.i32.32x32x8i8 mfma.i32.16x16x16i8"),
    (
        "gfx942 gfx950",
        "s.getreg mfma.i32.32x32x16.i8 mfma.i32.16x16x32.i8"
        " mfma.f32.32x32x16.fp8.fp8 mfma.f32.32x32x16.fp8.bf8 mfma.f32.32x32x16.bf8.fp8"
        " mfma.f32.32x32x16.bf8.bf8 mfma.f32.16x16x32.fp8.fp8 mfma.f32.16x16x32.fp8.bf8"
        " mfma.f32.16x16x32.bf8.fp8 mfma.f32.16x16x32.bf8.bf8",
    ),
    ("gfx942", "mfma.f32.32x32x4.xf32 mfma.f32.16x16x8.xf32"),
    (
        "gfx950",
        "mfma.f32.32x32x16.f16 mfma.f32.16x16x32.f16 mfma.f32.32x32x16.bf16"
        " mfma.f32.16x16x32.bf16 mfma.i32.32x32x32.i8 mfma.i32.16x16x64.i8"
        " mfma.scale.f32.16x16x128.f8f6f4 mfma.scale.f32.32x32x64.f8f6f4"
        " ds.read.tr16.b64 ds.read.tr8.b64 permlane16.swap permlane32.swap",
    ),
)
#: Processors that support each intrinsic.
PROCESSORS = {name: where.split() for where, names in _ROWS for name in names.split()}

_PREFIX = "llvm.amdgcn."
_CALL = re.compile(r"\bcall\b[^@\n]*@llvm\.amdgcn\.([\w.]+)\(")
_CPU = re.compile(r'"target-cpu"\s*=\s*"(\w+)"')


def check(text: str, arch: str) -> None:
    """Check the text of a kernel for a processor.

    Raises AssembleError for the first intrinsic that the processor lacks or that is unknown, and
    for a text for another processor.
    """
    for cpu in _CPU.findall(text):
        if cpu != arch:
            raise AssembleError(f"the source is for {cpu}, not for {arch}; assemble it for {cpu}")
    for name in dict.fromkeys(_CALL.findall(text)):
        processors = processors_of(name)
        if processors is None:
            raise AssembleError(
                f"{_PREFIX}{name} is unknown, and LLVM may compile it to a function call; add it "
                "to kgen/targets/amdgpu/intrinsics.py"
            )
        if arch not in processors:
            raise AssembleError(
                f"{_PREFIX}{name} has no instruction on {arch}; use {', '.join(processors)}"
            )


def processors_of(name: str) -> list[str] | None:
    """Return the processors that have an intrinsic, named with or without its types; None if the
    name is unknown."""
    while name not in PROCESSORS:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    return PROCESSORS[name]
