"""LLVM IR for the emulator's tests: every text is verified by LLVM before it is emulated."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from kgen import emulate
from kgen.emulate.report import LaunchReport

Array = npt.NDArray[Any]
run = partial(emulate.run, language="llvm")

_IR_TYPES = {
    "uint8": "i8",
    "uint16": "i16",
    "uint32": "i32",
    "uint64": "i64",
    "int32": "i32",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}
#: Words that differ in every lane of a wave of 64, the extremes among them; the lanes.
WORDS = np.random.default_rng(3).integers(0, 1 << 32, 64, dtype=np.uint32)
OTHERS = np.random.default_rng(4).integers(0, 1 << 32, 64, dtype=np.uint32)
WORDS[:4], OTHERS[:4] = (0, 2**32 - 1, 2**31, 2**31 - 1), (2**32 - 1, 1, 2**31 - 1, 2**31)
LANE = np.arange(64, dtype=np.uint32)
for shared in (WORDS, OTHERS, LANE):
    shared.flags.writeable = False


def as_signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def verified(source: str) -> str:
    llvm.parse_assembly(source).verify()
    return source


def kernel(
    body: str,
    parameters: str,
    *,
    cpu: str = "gfx942",
    declarations: str = "",
    attributes: str = "",
) -> str:
    """Return an AMDGPU kernel ``k`` whose entry block has the thread's number in %t (i32) and %i
    (i64)."""
    return verified(f"""target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
{declarations}
define amdgpu_kernel void @k({parameters}) #0 {{
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %t to i64
{body}
}}
attributes #0 = {{ "target-cpu"="{cpu}" {attributes} }}
""")


def lanewise(
    body: str,
    inputs: Sequence[Array],
    out: Array,
    *,
    cpu: str = "gfx942",
    declarations: str = "",
) -> LaunchReport:
    """Run ``body`` in one lane per element: it has the inputs' elements in %a, %b, ... and leaves
    the result, of the type of ``out``'s elements, in %r. The body may have blocks of its own, of
    which the last is open."""
    arrays = [*inputs, out]
    names = [chr(ord("a") + i) for i in range(len(inputs))]
    pointers = [f"ptr addrspace(1) %p.{name}" for name in (*names, "out")]
    loads = ""
    for name, array in zip(names, inputs, strict=True):
        type_ = _IR_TYPES[array.dtype.name]
        loads += f"""
  %at.{name} = getelementptr {type_}, ptr addrspace(1) %p.{name}, i64 %i
  %{name} = load {type_}, ptr addrspace(1) %at.{name}"""
    type_ = _IR_TYPES[out.dtype.name]
    source = kernel(
        f"""{loads}
{body}
  %at.out = getelementptr {type_}, ptr addrspace(1) %p.out, i64 %i
  store {type_} %r, ptr addrspace(1) %at.out
  ret void""",
        ", ".join(pointers),
        cpu=cpu,
        declarations=declarations,
    )
    return run(source, entry="k", grid=(1, 1, 1), block=(len(out), 1, 1), arguments=arrays)


def in_lanes(
    body: str,
    inputs: Sequence[Array],
    dtype: npt.DTypeLike,
    declarations: str = "",
    *,
    cpu: str = "gfx942",
) -> Array:
    """Return what :func:`lanewise` leaves in %r, of this type."""
    out: Array = np.zeros(len(inputs[0]), dtype)
    lanewise(body, inputs, out, cpu=cpu, declarations=declarations)
    return out


def one_call(
    call: str, declaration: str, inputs: Sequence[Array], dtype: npt.DTypeLike, cpu: str = "gfx942"
) -> Array:
    """Return the result of one call in each lane."""
    return in_lanes(f"  %r = call {call}", inputs, dtype, f"declare {declaration}", cpu=cpu)


def native(source: str, entry: str, arguments: Sequence[Array]) -> None:
    """Compile for this machine and call with the arrays' addresses, as the oracle of CPU code."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(source)
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))(
        engine.get_function_address(entry)
    )
    function(*[array.ctypes.data for array in arguments])


def on_cpu(source: str, entry: str, arguments: Sequence[Array | np.generic]) -> LaunchReport:
    return run(verified(source), entry=entry, grid=(1, 1, 1), block=(1, 1, 1), arguments=arguments)


_OPTIMISE = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(
    cpu=sys.argv[1], opt=3, reloc="pic"
)
module = llvm.parse_assembly(sys.stdin.read())
module.data_layout = str(machine.target_data)
passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
passes.getModulePassManager().run(module, passes)
print(module)
"""


def optimised(source: str, cpu: str) -> str:
    """Return the text after -O3 for an AMDGPU. LLVM runs in a child process, because an error
    ends it."""
    result = subprocess.run(
        [sys.executable, "-c", _OPTIMISE, cpu],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout
