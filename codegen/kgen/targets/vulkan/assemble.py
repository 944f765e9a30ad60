"""Assembly of a rendered kernel to a SPIR-V module, and its translation for Metal."""

from __future__ import annotations

import shutil
import subprocess

from kgen import temporary
from kgen.errors import AssembleError
from kgen.targets.base import Artifact, Assembled, Source
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan
from kgen.targets.vulkan.spirv import assemble as assemble_spirv
from kgen.targets.vulkan.spirv.usage import workgroup_usage
from kgen_runtime.manifest import Resources

PROGRAM = "spirv-cross"
#: MSL 3.0 as an argument of spirv-cross.
VERSION = "30000"


def translate(module: bytes, kernel: str) -> bytes:
    """Return a module as MSL text.

    The arguments of a launch are the buffers 0, 1 and so on. The block of the launch is the size of
    the threadgroup, which MSL does not contain. Raises AssembleError if spirv-cross is missing or
    refuses the module.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise AssembleError(
            f"{PROGRAM}, which translates {kernel} for Metal, is not installed; "
            f"apt install {PROGRAM}"
        )
    with temporary.folder() as folder:
        path = folder / "kernel.spv"
        path.write_bytes(module)
        options = ("--msl", "--msl-version", VERSION, "--msl-decoration-binding")
        done = subprocess.run([program, *options, str(path)], capture_output=True)
    if done.returncode:
        first = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise AssembleError(f"{PROGRAM} rejects {kernel}: {first}; build it for vulkan1.1")
    return done.stdout


def assemble(source: Source, plan: VulkanPlan) -> Assembled:
    """Return the module, which drivers compile for their device, or its translation; and its text.

    Raises AssembleError, also for a module whose workgroup size differs from the launch's.
    """
    limits = plan.target.limits
    module = assemble_spirv(source.text, (limits["spirv_major"], limits["spirv_minor"]))
    used, block = workgroup_usage(module), plan.launches[0].block
    if used.local_size != block:
        raise AssembleError(
            f"{source.entry_point}: LocalSize {used.local_size} differs from the launch's block "
            f"{block}"
        )
    if plan.target.has("msl"):
        compiled = Artifact(
            format="msl",
            extension="metal",
            role="portable",
            data=translate(module, source.entry_point),
            requires={name: plan.requires[name] for name in ("limits",) if name in plan.requires},
        )
    else:
        compiled = Artifact(
            format="spirv",
            extension=plan.extension,
            role="portable",
            data=module,
            requires=plan.requires,
        )
    return Assembled(
        artifacts=(
            compiled,
            Artifact(
                format="spirv-asm",
                extension=f"{plan.extension}asm",
                role="source",
                data=source.text.encode(),
            ),
        ),
        resources=Resources(shared_memory=used.shared_bytes, code_bytes=len(module)),
    )
