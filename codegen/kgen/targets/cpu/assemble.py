"""Compile LLVM IR to a shared object in process; only this CPU module imports llvmlite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import llvmlite.binding as llvm

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.base import Artifact, Assembled, Source
from kgen.targets.cpu.limits import LLVM_FEATURES
from kgen.targets.cpu.linker import link
from kgen.targets.cpu.plan.cpu_plan import CpuPlan
from kgen_runtime.manifest import Resources

#: LLVM's name of an architecture's first version, to which features are added.
BASE_CPU = {"x86_64": "x86-64", "aarch64": "generic"}
#: LLVM features for all code of an architecture: fast-dpwssd keeps LLVM from splitting VPDPWSSD in
#: two; reserve-x18 because macOS and Windows own x18 (AAPCS64, 6.1.1).
COMMON_FEATURES = {"x86_64": ("fast-dpwssd",), "aarch64": ("reserve-x18",)}


def assemble(source: Source, plan: CpuPlan) -> Assembled:
    """Return the machine code and its IR. Raises AssembleError if LLVM or the linker refuses it.
    The code uses only the plan's features, which are also its `requires`."""
    arch = plan.target.arch
    obj = compile_object(source.text, arch, plan.features)
    code = next(s for s in elf.read(obj).sections if s.has(elf.SHF_EXECINSTR) and s.size)
    return Assembled(
        artifacts=(
            Artifact(
                format=f"elf-{arch}",
                extension="so",
                role="machine-code",
                data=link(obj),
                requires={"arch": arch, "features": plan.features},
            ),
            Artifact(
                format="llvm-ir",
                extension=source.extension,
                role="source",
                data=source.text.encode(),
            ),
        ),
        resources=Resources(stack=plan.scratch_bytes, code_bytes=code.size),
    )


def compile_object(text: str, arch: str, features: Sequence[str]) -> bytes:
    """Return a relocatable object. `features` are named as in /proc/cpuinfo."""
    machine = target_machine(arch, features)
    data = machine.emit_object(_optimised(text, arch, machine))
    assert isinstance(data, bytes)
    return data


def assembly(text: str, arch: str, features: Sequence[str]) -> str:
    """Return the machine code of the IR as assembly text with LLVM's comments."""
    machine = target_machine(arch, features)
    machine.set_asm_verbosity(True)
    return str(machine.emit_assembly(_optimised(text, arch, machine)))


def _optimised(text: str, arch: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        why = " ".join(str(error).split())
        raise AssembleError(f"LLVM refuses the IR for {arch}: {why}") from None
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    # The template has already vectorised the code.
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def _llvm_feature(word: str) -> str:
    if word not in LLVM_FEATURES:
        raise AssembleError(
            f"feature {word!a:.60} is not known; known are {', '.join(LLVM_FEATURES)}; build the "
            "bundle again"
        )
    return LLVM_FEATURES[word]


def target_machine(arch: str, features: Sequence[str]) -> llvm.TargetMachine:
    # Use an ELF triple on every system: with a Windows triple, stack probes would call a function
    # that kernels lack.
    _initialise()
    named = (*map(_llvm_feature, features), *COMMON_FEATURES[arch])
    return llvm.Target.from_triple(f"{arch}-unknown-linux-gnu").create_target_machine(
        cpu=BASE_CPU[arch],
        features=",".join(f"+{name}" for name in named),
        opt=3,
        reloc="pic",
        codemodel="small",
    )


@cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
