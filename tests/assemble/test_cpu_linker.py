"""The CPU's linker: shared objects are self-contained and load without llvmlite; others are
refused."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from kgen import pipeline
from kgen.check.execute.qemu import run_aarch64
from kgen.errors import AssembleError, EmulationError
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets import elf
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.assemble import compile_object
from kgen.targets.cpu.linker import link
from tests.device.cpu.cpu_support import require_qemu
from tests.specs import relu_of, softmax_of

ON_X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 CPU")

#: A table of constants, an internal call and a loop that LLVM would like to make a memset of.
PROGRAM = """
@table = private constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]
@wide = private constant <4 x i32> <i32 1, i32 2, i32 3, i32 4>
define internal i32 @look_up(i64 %i) noinline "no-builtins" {
  %at = getelementptr i32, ptr @table, i64 %i
  %x = load i32, ptr %at
  ret i32 %x
}
define void @kernel(ptr %out, i64 %begin, i64 %end) nounwind "no-builtins" {
entry:
  br label %head
head:
  %i = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %x = call i32 @look_up(i64 %i)
  %v = load <4 x i32>, ptr @wide
  %e = extractelement <4 x i32> %v, i64 %i
  %sum = add i32 %x, %e
  %at = getelementptr i32, ptr %out, i64 %i
  store i32 %sum, ptr %at
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
"""


def shared_object(text: str, arch: str = "x86_64", features: tuple[str, ...] = ()) -> bytes:
    return link(compile_object(text, arch, features))


@ON_X86_64
def test_constants_and_internal_calls_x86(tmp_path: Path) -> None:
    path = tmp_path / "kernel.so"
    path.write_bytes(shared_object(PROGRAM))
    out = np.zeros(4, np.int32)
    kernel = ctypes.CDLL(str(path)).kernel
    kernel(ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(0), ctypes.c_int64(3))
    assert out.tolist() == [11, 22, 33, 0]


def test_constants_and_internal_calls_aarch64() -> None:
    require_qemu()
    out = np.zeros(4, np.int32)
    run_aarch64(shared_object(PROGRAM, "aarch64", ("fp", "asimd")), "kernel", [out], 3)
    assert out.tolist() == [11, 22, 33, 0]


def test_qemu_reports_a_kernel_that_leaves_its_buffer() -> None:
    require_qemu()
    code = shared_object(PROGRAM, "aarch64", ("fp", "asimd"))
    with pytest.raises(EmulationError, match="SIGSEGV"):
        run_aarch64(code, "kernel", [np.zeros(2, np.int32)], 3)
    with pytest.raises(EmulationError, match="no such function"):
        run_aarch64(code, "other", [], 0)


def test_qemu_passes_arguments_beyond_the_registers() -> None:
    require_qemu()
    names = ", ".join(f"ptr %p{i}" for i in range(9))
    stores = "".join(f"  store i64 {100 + i}, ptr %p{i}\n" for i in range(9))
    text = f"define void @many({names}, i64 %b, i64 %e) {{\n{stores}  store i64 %e, ptr %p0\n"
    out = [np.zeros(1, np.int64) for _ in range(9)]
    run_aarch64(shared_object(text + "  ret void\n}\n", "aarch64"), "many", out, 7)
    assert [int(x[0]) for x in out] == [7, *range(101, 109)]


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_all_functions_have_names(arch: str) -> None:
    """Debuggers and profilers see all functions; the loader sees only the kernel."""
    found = elf.read(shared_object(PROGRAM, arch, ("fp", "asimd") if arch == "aarch64" else ()))
    names = {s.name: s for s in found.symbols if s.is_function}
    assert names.keys() == {"look_up", "kernel"}
    (code,) = (s for s in found.sections if s.has(elf.SHF_EXECINSTR))
    for symbol in names.values():
        assert symbol.section == code.index and symbol.size
        assert code.address <= symbol.value < symbol.value + symbol.size <= code.address + code.size
    (table,) = (s for s in found.sections if s.type == elf.SHT_SYMTAB)
    assert table.info == 2 and not table.has(elf.SHF_ALLOC)
    assert found.sections[table.link].name == ".strtab"
    (loaded,) = (s for s in found.sections if s.type == elf.SHT_DYNSYM)
    assert loaded.size == 2 * elf.SYMBOL.size


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_undefined_symbols_are_refused(arch: str) -> None:
    text = """
    declare float @expf(float)
    define float @f(float %x) {
      %y = call float @expf(float %x)
      ret float %y
    }"""
    with pytest.raises(AssembleError, match="expf"):
        shared_object(text, arch)


def test_writable_data_is_refused() -> None:
    text = """
    @state = internal global i32 1
    define i32 @f() {
      %x = load volatile i32, ptr @state
      store volatile i32 2, ptr @state
      ret i32 %x
    }"""
    with pytest.raises(AssembleError, match="writable data"):
        shared_object(text)


def test_ir_that_llvm_refuses() -> None:
    with pytest.raises(AssembleError, match=r"LLVM refuses the IR.*expected") as error:
        shared_object("define void @f() {\n ret i32 \n}")
    assert "\n" not in str(error.value)


def test_the_loader_needs_no_llvmlite(tmp_path: Path) -> None:
    """A new interpreter in which llvmlite cannot be imported loads a kernel."""
    path = tmp_path / "kernel.so"
    path.write_bytes(shared_object(PROGRAM, platform.machine().replace("arm64", "aarch64")))
    script = f"""
        import ctypes, sys
        sys.modules["llvmlite"] = None
        out = (ctypes.c_int32 * 4)()
        ctypes.CDLL({str(path)!r}).kernel(out, ctypes.c_int64(1), ctypes.c_int64(4))
        assert list(out) == [0, 22, 33, 44], list(out)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


SPECS = [
    Matmul(
        m=37, n=41, k=43, dtype=DType.BF16, layout=Layout.TT, epilogue=tuple(Epilogue), beta=0.5
    ),
    Matmul(m=37, n=1, k=700, dtype=DType.F16, layout=Layout.NT, out_dtype=DType.BF16),
    Matmul(m=9, n=50, k=1000, dtype=DType.F64, epilogue=(Epilogue.GELU, Epilogue.GELU_TANH)),
    softmax_of(5, 70001, dtype=DType.BF16),
    softmax_of(5, 7001, dtype=DType.F16, log=True),
    relu_of((1003,), dtype=DType.BF16),
]


@pytest.mark.parametrize("target", [t.name for t in FAMILY.targets])
def test_every_kernel_is_self_contained(target: str) -> None:
    """The linker would reject calls of memset, of half and bfloat helpers, and of the stack
    probe."""
    found = FAMILY.find(target)
    assert found is not None
    for spec in SPECS:
        assembled = pipeline.kernel(spec, found).assembled
        machine_code, source = assembled.artifacts
        assert machine_code.format == f"elf-{found.arch}"
        assert elf.read(machine_code.data).type == elf.ET_DYN
        assert set(machine_code.requires) == {"arch", "features"}
        assert (source.format, source.role) == ("llvm-ir", "source")
        assert assembled.resources.code_bytes


def test_builds_are_reproducible() -> None:
    found = FAMILY.find("x86-64-v3")
    assert found is not None
    first, second = (pipeline.kernel(SPECS[0], found).assembled for _ in range(2))
    assert first == second
