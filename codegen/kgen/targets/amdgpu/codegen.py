"""LLVM IR to an AMDGPU object file: standard input to standard output, in a process of its own.

LLVM's code generators end the process on errors (an unknown cpu, too much LDS, a call that the
target lacks), so :mod:`kgen.targets.amdgpu.assemble` runs this file as a child and reads LLVM's
last words from standard error. The child imports nothing but llvmlite.

Usage: ``codegen.py CPU < kernel.ll > kernel.o``
"""

from __future__ import annotations

import sys

TRIPLE = "amdgcn-amd-amdhsa"


def compile_object(ir: str, cpu: str) -> bytes:
    """The optimised (-O3) relocatable object. `cpu` must be one that LLVM knows."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=cpu, opt=3, reloc="pic", codemodel="default"
    )
    module = llvm.parse_assembly(ir)
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    module.verify()
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    # Code generation changes a module in place: it gets a fresh copy of the optimised one.
    emitted: bytes = machine.emit_object(llvm.parse_assembly(str(module)))
    return emitted


if __name__ == "__main__":
    try:
        sys.stdout.buffer.write(compile_object(sys.stdin.read(), sys.argv[1]))
    except RuntimeError as error:
        sys.exit(str(error))
