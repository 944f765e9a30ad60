"""Machine code of every target and operation: linked as ld.lld does it, without spills."""

from __future__ import annotations

import dataclasses
import importlib.util
import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import msgpack
import pytest

from kgen import pipeline
from kgen.errors import AssembleError
from kgen.spec import DType, Epilogue, Layout, Matmul, Rowwise, Spec
from kgen.targets import elf
from kgen.targets.amdgpu import FAMILY, notes
from kgen.targets.amdgpu.assemble import compile_object
from kgen.targets.amdgpu.link import link
from kgen.targets.amdgpu.plan.matmul.matmul_plan import MatmulPlan
from kgen.targets.base import Source, Target
from tests import needs
from tests.specs import relu_of

SPECS: tuple[Spec, ...] = (
    Matmul(m=65, n=66, k=67, epilogue=(Epilogue.BIAS, Epilogue.GELU)),
    Matmul(m=64, n=64, k=64, dtype=DType.F32),
    relu_of((1003,), dtype=DType.BF16),
    Rowwise(expression="softmax(x)", shapes=((33, 1000),)),
)
#: The bytes of a kernel descriptor that hold the distance to the code (AMDGPUUsage, "Kernel
#: Descriptor"): it depends on the layout of the file.
ENTRY_OFFSET = slice(16, 24)


def target_named(name: str) -> Target:
    target = FAMILY.find(name)
    assert target is not None
    return target


def rendered(spec: Spec, target: Target) -> Source:
    return pipeline.source(pipeline.plan(spec, target))


def lld(data: bytes, folder: Path) -> bytes:
    """Return the code object that ld.lld links from an object file."""
    if importlib.util.find_spec("ziglang") is None:
        needs.absent("ziglang is not installed; pip install '.[dev]'")
    (folder / "kernel.o").write_bytes(data)
    command = [sys.executable, "-m", "ziglang", "ld.lld", "-shared", "kernel.o", "-o", "kernel.so"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "kernel.so").read_bytes()


def exported(file: elf.ElfFile) -> dict[str, tuple[int, int, int, str]]:
    return {
        s.name: (s.info, s.other, s.size, file.sections[s.section].name)
        for s in file.symbols
        if s.exported
    }


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
def test_linked_as_ld_lld_does(target: Target, spec: Spec, tmp_path: Path) -> None:
    data = compile_object(rendered(spec, target), target)
    ours, oracle = elf.read(link(data)), elf.read(lld(data, tmp_path))
    assert (ours.type, ours.machine, ours.flags, ours.ident) == (
        oracle.type,
        oracle.machine,
        oracle.flags,
        oracle.ident,
    )
    assert exported(ours) == exported(oracle)
    for name in (".note", ".text"):
        assert ours.section(name).data == oracle.section(name).data
    descriptors = [bytearray(file.section(".rodata").data) for file in (ours, oracle)]
    for file, descriptor in zip((ours, oracle), descriptors, strict=True):
        (distance,) = struct.unpack("<q", descriptor[ENTRY_OFFSET])
        kernel = next(s for s in file.symbols if s.name == spec.key)
        assert file.section(".rodata").address + distance == kernel.value
        descriptor[ENTRY_OFFSET] = bytes(8)
    assert descriptors[0] == descriptors[1]


def test_a_loader_finds_everything() -> None:
    """Segments hold their sections at the same distance in file and memory; pages do not mix."""
    target, spec = target_named("gfx942"), SPECS[0]
    data = link(compile_object(rendered(spec, target), target))
    file = elf.read(data)
    header = elf.HEADER.unpack_from(data)
    offset, count = header[5], header[10]
    segments = [elf.SEGMENT.unpack_from(data, offset + i * elf.SEGMENT.size) for i in range(count)]
    loads = [s for s in segments if s[0] == elf.PT_LOAD]
    assert [s[1] for s in loads] == [elf.PF_R, elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W]
    for section in file.sections:
        if section.has(elf.SHF_ALLOC):
            holding = [
                s
                for s in loads
                if s[2] <= section.offset and section.offset + section.size <= s[2] + s[5]
            ]
            assert len(holding) == 1
            assert section.address - section.offset == holding[0][3] - holding[0][2]
            assert section.address % section.alignment == 0
    pages = [range(s[3] // 4096, (s[3] + s[5] - 1) // 4096 + 1) for s in loads]
    assert all(a.stop <= b.start for a, b in pairwise(pages))
    dynamic = dict(elf.DYNAMIC.iter_unpack(file.section(".dynamic").data))
    assert dynamic[elf.DT_SYMTAB] == file.section(".dynsym").address
    assert dynamic[elf.DT_STRTAB] == file.section(".dynstr").address


@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
def test_the_note_reads_as_msgpack_reads_it(target: Target) -> None:
    data = compile_object(rendered(SPECS[0], target), target)
    (note,) = [
        n for s in elf.read(data).sections if s.type == elf.SHT_NOTE for n in elf.notes_in(s)
    ]
    assert notes.metadata(data) == msgpack.unpackb(note.description)
    assert notes.metadata(data)["amdhsa.target"] == f"amdgcn-amd-amdhsa--{target.arch}"
    (kernel,) = notes.metadata(data)["amdhsa.kernels"]
    assert kernel[".wavefront_size"] == target.subgroup
    # Our parameters are all there is: four pointers, no implicit arguments.
    assert kernel[".kernarg_segment_size"] == 8 * len(SPECS[0].parameters)


LARGE: tuple[Spec, ...] = (
    *(Matmul(m=4096, n=4096, k=4096, dtype=d) for d in (DType.F32, DType.F16, DType.BF16)),
    *(Matmul(m=4093, n=4099, k=4097, layout=layout) for layout in (Layout.NN, Layout.TT)),
    Matmul(m=2000, n=2001, k=2003, dtype=DType.F32, layout=Layout.TN),
    Matmul(m=1, n=4096, k=4096, dtype=DType.BF16),
    Rowwise(expression="softmax(x)", shapes=((128, 8192),), dtype=DType.F32),
    Rowwise(expression="softmax(x)", shapes=((128, 131072),)),
    Rowwise(expression="layer_norm(x, scale, shift)", shapes=((128, 32768), (32768,), (32768,))),
    Rowwise(expression="argmax(x)", shapes=((128, 32768),)),
)


@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
def test_default_schedules_do_not_spill(target: Target) -> None:
    for spec in LARGE:
        plan = pipeline.plan(spec, target)
        used = FAMILY.assemble(pipeline.source(plan), plan).resources
        assert (used.spills, used.stack) == (0, 0), spec.key
        assert used.registers is not None
        assert used.registers <= target.limits["registers"], spec.key
        if isinstance(plan, MatmulPlan):
            assert used.shared_memory == plan.a.tile.nbytes + plan.b.tile.nbytes, spec.key


def test_artifacts() -> None:
    plan = pipeline.plan(SPECS[0], target_named("gfx1100"))
    source = pipeline.source(plan)
    first, again = (FAMILY.assemble(source, plan) for _ in range(2))
    assert first == again
    code, text = first.artifacts
    assert (code.format, code.role, code.requires) == ("hsaco", "machine-code", {"arch": "gfx1100"})
    assert (text.format, text.extension, text.role) == ("llvm-ir", "ll", "source")
    assert text.data.decode() == source.text


#: IR that must not end this process: (text, words of the error).
BROKEN = (
    ("define amdgpu_kernel void @k() { %x = frob }", "expected instruction opcode"),
    (
        "@l = internal addrspace(3) global [70000 x i8] poison\n"
        "define amdgpu_kernel void @k(i32 %i) {\n"
        "  %p = getelementptr i8, ptr addrspace(3) @l, i32 %i\n"
        "  store volatile i8 1, ptr addrspace(3) %p\n  ret void\n}",
        r"local memory \(70000\) exceeds limit \(65536\)",
    ),
    (
        "declare float @llvm.tanh.f32(float)\n"
        "define amdgpu_kernel void @k(ptr addrspace(1) %p, float %x) {\n"
        "  %y = call float @llvm.tanh.f32(float %x)\n"
        "  store float %y, ptr addrspace(1) %p\n  ret void\n}",
        "no libcall available",
    ),
)


@pytest.mark.parametrize("text, words", BROKEN)
def test_what_llvm_refuses_is_one_line(text: str, words: str) -> None:
    source = Source(text=text, extension="ll", entry_point="k")
    with pytest.raises(AssembleError, match=words) as error:
        compile_object(source, target_named("gfx942"))
    assert str(error.value).startswith("k for gfx942: ")
    assert "\n" not in str(error.value)


def test_unknown_cpus_never_reach_llvm() -> None:
    target = dataclasses.replace(target_named("gfx942"), arch="gfx940")
    with pytest.raises(AssembleError, match="cpu=gfx940"):
        compile_object(Source(text="", extension="ll", entry_point="k"), target)


def test_undefined_functions_are_refused() -> None:
    text = (
        "declare float @f(float)\n"
        "define amdgpu_kernel void @k(ptr addrspace(1) %p, float %x) {\n"
        "  %y = call float @f(float %x)\n"
        "  store float %y, ptr addrspace(1) %p\n  ret void\n}"
    )
    source = Source(text=text, extension="ll", entry_point="k")
    with pytest.raises(AssembleError, match="calls f,"):
        link(compile_object(source, target_named("gfx942")))


def test_code_generation_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgen.targets.amdgpu.assemble.TIMEOUT", 0)
    with pytest.raises(
        AssembleError,
        match="relu_64_f16 for gfx90a: code generation took more than 0 s; try a smaller tile",
    ):
        pipeline.kernel(relu_of((64,)), FAMILY.targets[0])
