"""LLVM IR to AMDGPU object files: standard input to standard output, in a process of its own.

LLVM's code generators end the process on errors (an unknown cpu, too much LDS, a call that the
target lacks), so :mod:`kgen.targets.amdgpu.assemble` runs this file as a child and reads LLVM's
message from standard error. The child imports nothing but llvmlite. It compiles many kernels, one
after another, because starting takes longer than compiling most kernels.

Usage: ``codegen.py PARENT``. PARENT is the process that waits for this one; this process ends when
PARENT does. A request is a line ``CPU object SIZE``, or ``CPU assembly SIZE`` for assembly text,
followed by SIZE bytes of IR. An answer is a line with its size, followed by its bytes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

import llvmlite.binding as llvm

TRIPLE = "amdgcn-amd-amdhsa"
#: linux/prctl.h
PR_SET_PDEATHSIG = 1


def machine_for(cpu: str) -> llvm.TargetMachine:
    """Return LLVM's code generator for a cpu that LLVM knows."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=cpu, opt=3, reloc="pic", codemodel="default"
    )


def optimise(ir: str, machine: llvm.TargetMachine) -> str:
    """Return the IR after -O3. Raises RuntimeError for IR that is not well formed."""
    module = llvm.parse_assembly(ir)
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    module.verify()
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    return str(module)


def compile_object(ir: str, cpu: str) -> bytes:
    """Return the relocatable object of the optimised IR."""
    machine = machine_for(cpu)
    # Code generation changes a module in place, so it gets a fresh copy of the optimised one.
    emitted: bytes = machine.emit_object(llvm.parse_assembly(optimise(ir, machine)))
    return emitted


def compile_assembly(ir: str, cpu: str) -> bytes:
    """Return the kernel's machine code as assembly text with LLVM's comments."""
    machine = machine_for(cpu)
    machine.set_asm_verbosity(True)
    text: str = machine.emit_assembly(llvm.parse_assembly(optimise(ir, machine)))
    return text.encode()


def end_with(parent: int) -> None:
    """Ask Linux to kill this process when the thread that started it ends (prctl(2))."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is None:
        return
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has already ended, so no signal will come
        os._exit(1)


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    # Loop strength reduction would keep a 64-bit address in vector registers for every load of a
    # loop, and advance each. Without it, loads share a scalar base and have constant 32-bit
    # offsets.
    llvm.set_option("codegen", "-disable-lsr")
    emitters = {"object": compile_object, "assembly": compile_assembly}
    for request in sys.stdin.buffer:
        cpu, form, size = request.decode().split()
        ir = sys.stdin.buffer.read(int(size)).decode()
        try:
            code = emitters[form](ir, cpu)
        except RuntimeError as error:
            sys.exit(str(error))
        sys.stdout.buffer.write(b"%d\n%b" % (len(code), code))
        sys.stdout.buffer.flush()
